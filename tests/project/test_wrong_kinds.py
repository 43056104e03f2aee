"""What is of the wrong kind is refused in words, not by whatever Python meets first: a number for a list, a text for a
number, None, an array of the wrong shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flexctl as fx

ARM = fx.load_plant("rotating_link", overrides={"model.elements": 2})
LINEAR = ARM.linearise()
LAW = fx.LinearLaw(
    1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",),
    Dy=[[-40.0, -9.0]], Dr=[[40.0, 9.0, 0.0]],
)
MOVE = fx.quintic(0.0, 0.1, 0.1)
ITEM = fx.Scenario("move", MOVE, 0.05)


def run(**options: Any) -> Any:
    return fx.simulate(ARM, LAW, MOVE, **{"duration": 0.02, **options})


def certify(**options: Any) -> Any:
    return fx.certify(LAW, ARM, **{"scenarios": [ITEM], "workers": 1, **options})


CALLS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "servo": (fx.servo_law, (ARM, "joint1", [1, 2], {"joint1": 3.0}, np.eye(2))),
    "valve": (fx.valve_law, (ARM, "joint1", [1, 2], {"joint1": 3.0}, np.eye(2))),
    "added": (fx.with_added, (None, ARM, 3, [LAW])),
    "arm": (fx.TimoshenkoPlanar, (ARM, "rotating_link", None, 3)),
    "duration": (lambda x: run(duration=x), (None, "1 s", 1j)),
    "initial": (lambda x: run(initial=x), (0.0, [], [1, 2, 3], np.ones((1, 1)))),
    "payload": (lambda x: run(payload=x), (0.02, None, [(0.01, [], 0.0)], [(0.0, 1.0)])),
    "method": (lambda x: run(method=x), ([], 1, None)),
    "scheme": (lambda x: run(scheme=x), ("trapezoidal", 1.0)),
    "point": (lambda x: fx.linearise(ARM, x), ([0.1], "x", 0.1)),
    "count": (LINEAR.modes, ("3", 2.5, np.inf, [1])),
    "s": (LINEAR.transfer, (np.nan, np.inf, "1j", {}, [[1j]])),
    "omega": (LINEAR.frequency_response, ([], "x", np.nan)),
    "lo": (lambda x: fx.grid(LINEAR, x), ("1", [1.0], 1j)),
    "hold": (lambda x: fx.equilibrium(ARM, hold=x), (["joint1"], "joint1", 0.5)),
    "coordinates": (lambda x: fx.lock(LINEAR, x), ("joint1", 1)),
    "rates": (lambda x: fx.spinning_plant(ARM, x), (6.0, "6", [[6.0]], None)),
    "order": (lambda x: fx.balanced_truncation(LINEAR, x), ("4", 2.5, [4])),
    "modes": (lambda x: fx.modal_truncation(LINEAR, x), ("4", 2.5, [4])),
    "quanta": (lambda x: fx.Quantised(LAW, x), (1e-4, {"joint1_angle": "fine"}, {"joint1_angle": np.inf})),
    "deviations": (lambda x: fx.Noisy(LAW, x), (1e-4, {"joint1_angle": "x"}, {"joint1_angle": np.inf})),
    "frequencies": (lambda x: fx.shaper("zvd", x), ("2", [[2.0]], None)),
    "kind": (lambda x: fx.shaper(x, [2.0]), (None, [], 2.0)),
    "damping": (lambda x: fx.shaper("zv", [2.0, 3.0], x), ([0.1, 0.2, 0.3], "x")),
    "corner": (fx.low_pass, ("100", np.nan, None)),
    "half time": (lambda x: fx.bang_bang(0.1, x), ("0.3", None, [0.3])),
    "input at times": (fx.bang_bang(0.1, 0.3), ("x", None, {}, [0.1, "x"], 1j)),
    "move at times": (MOVE, ("x", None, {}, [0.1, "x"], 1j)),
    "point of a curve": (lambda s: fx.Circle((0.0, 0.0), 1.0)(s, np.zeros(1, int)), ("x", None, {})),
    "side of a jump": (lambda x: fx.bang_bang(0.1, 0.3)(0.1, x), ("left", None, 1)),
    "sine": (lambda x: fx.Sine(x, 1.0), ("1", 1j, None)),
    "centre": (lambda x: fx.Circle(x, 0.3), (1.0, "xy", (1.0, 2.0, 3.0), (1.0, "y"), b"xy")),
    "radius": (lambda x: fx.Circle((0.0, 0.0), x), ("1", None, np.nan)),
    "track": (lambda x: fx.tip_tracking(x, fx.pd_gains((1.0, 1.0), 1.0)), (None, "x")),
    "motions": (lambda x: fx.inverse_dynamics(ARM, x, duration=0.1), (None, MOVE)),
    "matrix": (lambda x: fx.from_matrices(x, K=[[1.0]], B=[[1.0]]), (np.nan, np.inf, "x")),
    "plant": (fx.load_plant, (None, 3, {"kind": "x"})),
    "verified": (fx.verify, (None, 3)),
    "overrides": (lambda x: fx.load_plant("rotating_link", overrides=x), ("payload.mass=1", ["payload.mass"], 3)),
    "law": (lambda x: fx.export_law(x, "nowhere"), (None, 3)),
    "scenario": (lambda x: fx.Scenario(x, MOVE, 0.1), (None, 3)),
    "scenario's overrides": (lambda x: fx.Scenario("x", MOVE, 0.1, x), ("payload.mass=1", 3)),
    "scenarios": (lambda x: certify(scenarios=x), (ITEM, "move", [MOVE])),
    "bits": (lambda x: certify(bits=x), (16, "16")),
    "poses": (lambda x: certify(poses=x), ((0.0, 1.57), 1.0, ["x"], "x")),
    "loads": (lambda x: certify(loads=x), (0.05, {"joint1_torque": "x"}, {"joint1_torque": [1.0]})),
    "requirements": (lambda x: certify(requirements=x), ("disk_margin=0.3", 0.3)),
}


@pytest.mark.parametrize("what", CALLS)
def test_the_wrong_kind_is_refused(what: str) -> None:
    call, wrong = CALLS[what]
    for value in wrong:
        with pytest.raises(fx.DefinitionError) as error:
            call(value)
        assert len(str(error.value)) > 15, value


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert LINEAR.modes(2.0).frequencies_hz.size == 2
    sizes = {len(fx.modal_truncation(LINEAR, count).states) for count in (2, 2.0, np.int64(2))}
    assert len(sizes) == 1
