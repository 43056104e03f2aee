"""Laws, motions and sample times that are no real numbers, or not as many as needed: our own errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.design import feedforward, lqg, pd
from flexctl.motion.moves import Cycloid, Polynomial, Step, Tabulated, Trapezoid, quintic

PLANT = fx.load_plant("tokhi_azad_1994", model={"sections": 8})
SIGNALS = (1e-3, ("joint1_angle",), ("joint1_torque",), ("joint1_angle",))
WRONG_TIMES = ["x", None, 1e-3j, [1e-3], np.array([1e-3, 1e-3]), True, float("nan"), float("inf"), -1e-3]


@pytest.mark.parametrize("key", ["A", "By", "Br", "Bu", "C", "Dy", "Dr", "start"])
def test_complex_law_matrices_are_refused(key: str) -> None:
    """The imaginary part used to be dropped with a warning of NumPy at most."""
    shapes = {"A": (1, 1), "By": (1, 1), "Br": (1, 3), "Bu": (1, 1), "C": (1, 1), "Dy": (1, 1), "Dr": (1, 3)}
    good: dict[str, Any] = {"A": np.zeros((1, 1)), "C": np.ones((1, 1)), "start": np.zeros((1, 1))}
    for wrong in (np.full(shapes.get(key, (1, 1)), 1j), np.full(shapes.get(key, (1, 1)), 1 + 0j)):
        for given in (wrong, wrong.tolist()):
            with pytest.raises(fx.DefinitionError, match=f"law matrix {key} is complex"):
                fx.LinearLaw(*SIGNALS, **{**good, key: given})
    for text in ("x", [["x"]], [[None]], object()):
        with pytest.raises(fx.DefinitionError, match=f"law matrix {key}|^{key} = .* is of the wrong kind"):
            fx.LinearLaw(*SIGNALS, **{**good, key: text})


def test_complex_limits_and_systems() -> None:
    with pytest.raises(fx.DefinitionError, match="limit upper is complex"):
        fx.LinearLaw(*SIGNALS, Dy=[[1.0]], upper=np.array(1j))
    with pytest.raises(fx.DefinitionError, match=r"is not positive|limit = 1j .*: give a real number"):
        fx.Saturated(fx.LinearLaw(*SIGNALS, Dy=[[1.0]]), 1j)
    with pytest.raises(fx.DefinitionError, match="give a whole number"):
        fx.Delayed(fx.LinearLaw(*SIGNALS, Dy=[[1.0]]), 1.5)


@pytest.mark.parametrize("period", WRONG_TIMES, ids=str)
def test_wrong_sample_times(period: Any) -> None:
    with pytest.raises(fx.DefinitionError, match="sample_time"):
        fx.LinearLaw(period, *SIGNALS[1:], Dy=[[1.0]])
    plant, names = PLANT.linearise(), {"drive": "joint1_torque", "follow": "joint1_angle", "sample_time": period}
    for make in (
        lambda: pd.joint_pd(plant, kp=1.0, kd=0.1, filter_time=1e-2, **names),
        lambda: feedforward.rigid_feedforward(plant, **names),
        lambda: lqg.lqg(plant, None, modes=2, measures="joint1_angle", **names),  # type: ignore[arg-type]
    ):
        with pytest.raises(fx.DefinitionError, match="sample_time"):
            make()


class Law:
    measures, drives, follows = ("joint1_angle",), ("joint1_torque",), ("joint1_angle",)

    def __init__(self, period: Any) -> None:
        self.sample_time = period

    def initial(self) -> None:
        return None

    def step(self, state: Any, t: float, y: Any, r: Any) -> Any:
        return np.zeros(1), None


@pytest.mark.parametrize("period", WRONG_TIMES, ids=str)
def test_wrong_sample_times_of_a_users_law(period: Any) -> None:
    with pytest.raises(fx.DefinitionError, match="sample_time"):
        fx.simulate(PLANT, Law(period), quintic(0.0, 0.1, 0.2), duration=0.1)


class Motion:
    duration, target, breakpoints = 1.0, 1.0, (0.0,)

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, t: Any) -> Any:
        return self.answer(np.asarray(t, float))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda t: t, "returned array"), (lambda t: (t, t), "return value, rate and acceleration"),
        (lambda t: (t, t, np.zeros(7)), r"acceleration .* has shape \(7,\)"),
        (lambda t: (np.zeros((2, 3)), t, t), r"value .* has shape \(2, 3\)"),
        (lambda t: (t, 1j * t, t), "rate .* is complex"),
        (lambda t: (t, ["a", "b", "c"], t), "rate .* is not an array"), (lambda t: None, "returned None"),
        (lambda t: (float(t), 0.0, 0.0), "cannot be asked for 4 times"), (lambda t: (t[None], t, t), r"shape \(1, 4\)"),
    ],
)
def test_motions_of_the_wrong_shape(answer: Any, message: str) -> None:
    with pytest.raises(fx.DefinitionError, match=message):
        fx.simulate(PLANT, Law(1e-3), Motion(answer), duration=0.1)
    arm = fx.load_plant("planar_2r_flexible")
    with pytest.raises(fx.DefinitionError, match=message):
        fx.simulate(arm, motions={"joint1": Motion(answer)}, duration=0.1)


@pytest.mark.parametrize("wrong", ["x", [1.0, 2.0], np.ones(3), 1j, None, float("nan")], ids=str)
def test_moves_to_what_is_no_number(wrong: Any) -> None:
    for make in (
        lambda: quintic(0.0, wrong, 1.0), lambda: Polynomial(wrong, 1.0, 1.0), lambda: Cycloid(0.0, 1.0, wrong),
        lambda: Trapezoid(0.0, wrong, 1.0, 0.2), lambda: Step(0.0, wrong), lambda: Step(0.0, 1.0, wrong),
        lambda: Tabulated([0.0, 1.0], [wrong, 0.0], [0.0, 0.0], [0.0, 0.0]),
    ):
        with pytest.raises(fx.DefinitionError):
            make()


WRONG_ANYWHERE: dict[str, Callable[[], Any]] = {
    "frequencies": lambda: fx.frequency_response(arm().linearise(), np.array([1j])),
    "frequency words": lambda: fx.frequency_response(arm().linearise(), ["a"]),
    "initial": lambda: fx.simulate(arm(), duration=0.01, inputs=PUSH, initial=(np.full(7, 1j), np.zeros(7))),
    "payload": lambda: fx.simulate(arm(), duration=0.01, inputs=PUSH, payload=[(0.005, 1j, 0.0)]),  # type: ignore[list-item]
    "hold": lambda: fx.equilibrium(arm(), hold={"theta": 1j}),  # type: ignore[dict-item]
    "hold word": lambda: fx.equilibrium(arm(), hold={"theta": "a"}),  # type: ignore[dict-item]
    "load": lambda: fx.equilibrium(arm(), hold={"theta": 0.0}, load={"joint1_torque": "a"}),  # type: ignore[dict-item]
    "bits": lambda: fx.certify("tokhi_azad_pd", bits=(-1,)),
    "half a bit": lambda: fx.certify("tokhi_azad_pd", bits=(12.5,)),  # type: ignore[arg-type]
    "bits required": lambda: fx.certify("tokhi_azad_pd", requirements={"ripple_at_bits": {"a": 1.0}}),
}
PUSH = {"joint1_torque": fx.bang_bang(0.1, 0.1)}


def arm() -> fx.Plant:
    return fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 6})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("what", WRONG_ANYWHERE)
def test_what_is_no_real_number_is_refused_wherever_it_is_given(what: str) -> None:
    """Neither a raw TypeError, nor an imaginary part that is lost with a warning of numpy."""
    with pytest.raises(fx.DefinitionError, match=r"complex|not a number|real|whole number"):
        WRONG_ANYWHERE[what]()


def test_a_damaged_file_is_refused_without_advice_to_run_it(tmp_path: Path) -> None:
    """NumPy takes random bytes for a pickle and says how to load it unsafely."""
    path = tmp_path / "run.npz"
    path.write_bytes(bytes(range(200, 250)))
    for load in (fx.Response.load, fx.load_linear):
        with pytest.raises(fx.DefinitionError, match=r"damaged") as caught:
            load(path)
        assert "pickle.load" not in str(caught.value)
        assert "unsafely" not in str(caught.value)


BROKEN = '''"""A law that breaks down on its way."""
import numpy as np
import flexctl as fx
PLANT = "rotating_link"

class Law:
    sample_time, measures, drives, follows = 1e-3, ("joint1_angle",), ("joint1_torque",), ("joint1_angle",)
    def initial(self):
        return 0.0
    def step(self, state, t, y, r):
        if t > 0.02:
            raise RuntimeError("gone")
        return np.array([r[0] - y[0]]), state

def design(plant):
    return Law()

def scenarios(plant):
    return SCENARIOS
'''


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_law_that_raises_is_told_with_its_line(tmp_path: Path, workers: str) -> None:
    """Whatever process it ran in; certify ended with a traceback."""
    law = tmp_path / "law.py"
    law.write_text(BROKEN.replace("SCENARIOS", '[fx.Scenario("move", fx.quintic(0.0, 0.2, 0.3), 0.4)]'))
    found = CliRunner().invoke(cli, ["certify", str(law), "--workers", workers, "--set", "model.elements=2"])
    assert found.exit_code == 2, found.stderr
    assert "law.py, line 12: RuntimeError: gone" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("answer", ["5", "None", '"move"', "{}"])
def test_scenarios_of_the_wrong_kind_are_refused(tmp_path: Path, answer: str) -> None:
    law = tmp_path / "law.py"
    law.write_text(BROKEN.replace("SCENARIOS", answer))
    found = CliRunner().invoke(cli, ["run", str(law)])
    assert found.exit_code == 2
    assert "return a list of Scenario objects" in found.stderr
