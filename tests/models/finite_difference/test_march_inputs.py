from __future__ import annotations

from typing import Any

import analytical as ref
import numpy as np
import numpy.typing as npt
import pytest
from analytical import CASES, BangBang, tokhi_arm

from flexctl import errors
from flexctl.machine.arm import Damping, Payload
from flexctl.models.finite_difference import FiniteDifference
from flexctl.models.finite_difference.inputs import step_averages

Array = npt.NDArray[np.float64]
FORMS = ("paper", "slope")
BANG_BANG = BangBang()


def mesh(case: str = "hub", n: int = 19, form: str = "slope", **tables: Any) -> FiniteDifference:
    return FiniteDifference(tokhi_arm(*CASES[case], **tables), sections=n, form=form)


def rigid(m: FiniteDifference) -> Array:
    x = m.dx * np.arange(1, m.sections + 1)
    return np.concatenate([[1.0] * m.has_theta, x, [1.0] * m.has_phi])


def test_averages_keep_impulse_and_moment() -> None:
    """Sum f_k dt and sum t_k f_k dt of any piecewise linear signal, jumps anywhere."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        dt, steps = 0.1, 40
        jumps = np.sort(rng.uniform(0, 3.9, 6))
        level, slope = rng.standard_normal(7), rng.standard_normal(7)

        class Signal:
            breakpoints = tuple(jumps)

            def __call__(self, t: Array, jumps: Array = jumps, level: Array = level, slope: Array = slope) -> Array:
                i = np.searchsorted(jumps, t)
                return np.where(t < 3.9, level[i] + slope[i] * t, 0.0)

        Signal.breakpoints += (3.9,)
        f = step_averages(Signal(), dt, steps)
        weight = np.where(np.arange(steps + 1) == 0, 0.5, 1.0)  # the first is the average over half a hat
        edges = np.concatenate([[0.0], jumps, [3.9]])
        a, b = edges[:-1], edges[1:]
        impulse = level @ (b - a) + slope @ (b**2 - a**2) / 2
        moment = level @ (b**2 - a**2) / 2 + slope @ (b**3 - a**3) / 3
        assert dt * f @ weight == pytest.approx(impulse, abs=1e-12)
        # the moment of the half hat is lost at t = 0 and found at t_1
        assert dt**2 * f @ np.arange(steps + 1.0) == pytest.approx(moment, abs=1e-12)


def test_forms_of_torque() -> None:
    m, dt = mesh(n=8), ref.step_of(0.2, 8)
    flat = m.march(0.3, dt, steps=20).tip_displacement
    functions = (lambda t: 0.3, lambda t: 0.3 + 0 * t, lambda t: 0.3 if t < 9 else 0.0)
    for torque in (np.full(20, 0.3), np.full(21, 0.3), *functions):
        assert m.march(torque, dt, steps=20).tip_displacement == pytest.approx(flat, rel=1e-12)
    assert m.march(0.3, dt, duration=20.4 * dt).t.size == 21
    sine = step_averages(np.sin, 0.01, 100)
    assert sine[1:] == pytest.approx(np.sin(0.01 * np.arange(1, 101)) * (1 - 0.01**2 / 12), abs=1e-9)


def test_unstable_steps_are_refused_with_the_number() -> None:
    m = mesh(form="paper")
    expected = (
        r"dt = 300 us is above the stability limit 273\.27 us of this mesh \(19 sections\); "
        r"use dt <= 273 us or fewer sections"
    )
    with pytest.raises(errors.DefinitionError, match=expected):
        m.march(0.1, 300e-6, steps=10)
    with pytest.raises(errors.DefinitionError, match="stability limit"):
        m.scheme_plant(300e-6)
    m.scheme(300e-6)  # the matrices themselves are not refused
    loaded, between = mesh("20 g", form="paper"), ref.step_of(0.2537, 19)  # limits 0.25375 with 20 g, 0.25363 without
    loaded.march(0.1, between, steps=100)
    with pytest.raises(errors.DefinitionError, match="stability limit"):
        loaded.march(0.1, between, steps=100, payload=[(0.01, Payload())])
    limit = m.stability_limit()
    run = m.march(np.where(np.arange(20_000) < 100, 0.1, 0.0), 0.9999 * limit, steps=20_000, stride=50)
    bent = run.coordinates - np.outer(run.coordinates @ m.M @ rigid(m) / (rigid(m) @ m.M @ rigid(m)), rigid(m))
    assert np.abs(bent[200:]).max() < 3 * np.abs(bent[:200]).max()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dt": 0.0}, "dt = 0.0 s"),
        ({"dt": float("nan")}, "dt = nan"),
        ({"steps": None}, "duration or steps"),
        ({"duration": 1.0}, "duration or steps"),
        ({"steps": 0}, "positive whole number"),
        ({"steps": 2.5}, "a whole number"),
        ({"steps": None, "duration": 1e-9}, "below one step"),
        ({"torque": float("nan")}, "joint1_torque has values that are not finite"),
        ({"torque": np.zeros(7)}, "joint1_torque has shape"),
        ({"torque": lambda t: np.zeros(3)}, "shape"),
        ({"initial": (np.zeros(3), np.zeros(3))}, r"not \(20,\)"),
        ({"payload": [(0.5, Payload())]}, "payload change at 0.5 s"),
        ({"payload": [(2e-3, Payload()), (1e-3, Payload())]}, "times must rise"),
        ({"payload": [(float("nan"), Payload())]}, "payload change"),
        ({"forces": {"hub_force": 1.0}}, "unknown actuator"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    given = {"torque": 0.1, "dt": 2e-4, "steps": 20, **arguments}
    with pytest.raises(errors.DefinitionError, match=message):
        mesh().march(given.pop("torque"), given.pop("dt"), **given)


def test_numerical_failure_is_reported_with_its_time() -> None:
    with pytest.raises(errors.ConvergenceError, match="overflowed at t") as caught:
        mesh().march(1e306, 2e-4, steps=5000)
    assert 0 < caught.value.time < 1.0


@pytest.mark.parametrize("damping", [Damping("modal", ratio=0.01), Damping("rayleigh", alpha=1.0, beta=1e-5)])
def test_damping_that_couples_the_nodes_is_refused(damping: Damping) -> None:
    m = mesh(damping=damping)
    for call in (lambda: m.march(0.1, 2e-4, steps=3), lambda: m.scheme(2e-4), lambda: m.scheme_plant(2e-4)):
        with pytest.raises(errors.NotAvailable, match="implicit"):
            call()
