"""The linear part of laws of which only `step` is known: against the matrices they were made of."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.judging.certify.loops import loop_poles
from flexctl.laws.linear_part import linear_law
from flexctl.laws.realised import realised

DT = 1e-3


class OnlyStep:
    """A law that shows nothing but its step; its state is passed."""

    def __init__(self, law: Any) -> None:
        self._inside = law
        self.sample_time, self.measures, self.drives, self.follows = (
            law.sample_time, law.measures, law.drives, law.follows,
        )

    def initial(self) -> Any:
        return self._inside.initial()

    def step(self, state: Any, t: float, y: Any, r: Any) -> Any:
        return self._inside.step(state, t, y, r)


class Hidden(OnlyStep):
    """The same with its state in the object, where nobody sees it."""

    def __init__(self, law: Any) -> None:
        super().__init__(law)
        self.state = law.initial()

    def initial(self) -> None:
        return None

    def step(self, state: Any, t: float, y: Any, r: Any) -> Any:
        u, self.state = self._inside.step(self.state, t, y, r)
        return u, None


class Static:
    """u = f(y), of one angle."""

    sample_time, measures, drives, follows = DT, ("joint1_angle",), ("joint1_torque",), ("joint1_angle",)

    def __init__(self, f: Any) -> None:
        self.f = f

    def initial(self) -> None:
        return None

    def step(self, state: None, t: float, y: Any, r: Any) -> Any:
        return np.array([self.f(float(y[0]))]), None


@cache
def case(name: str) -> tuple[fx.Plant, Any]:
    script = fx.load_controller(name)
    plant = fx.load_plant(script.PLANT)
    arm = plant.with_(overrides={**script.SETTINGS, "payload.mass": 0.01})
    return arm, script.design(plant).law


@pytest.mark.parametrize("name", ["tokhi_azad_lqg", "tokhi_azad_robust", "tokhi_azad_hinf", "tokhi_azad_loop_shaping"])
@pytest.mark.parametrize("kind", [OnlyStep, Hidden])
def test_closed_loop_poles_are_those_of_the_matrices(name: str, kind: type) -> None:
    """Slow poles matter most: -0.4242 1/s of the LQG to four decimals."""
    arm, law = case(name)
    linear = arm.linearise()
    found = linear_law(kind(law), arm.model)
    poles, wanted = (np.log(loop_poles(linear, x)[:, None]) / DT for x in (found, linear_law(law, arm.model)))
    shown = wanted[(np.abs(wanted.real) < 400.0)]
    assert shown.size > 10
    for pole in shown:
        assert np.abs(poles - pole).min() < 1e-4 * max(1.0, abs(pole)), pole
    assert np.abs(poles.real.max() - wanted.real.max()) < 1e-4
    z = np.exp(1j * np.array([1.0, 30.0, 250.0, 900.0]) * DT)
    H, wanted = found.feedback().transfer(z), law.feedback().transfer(z)
    assert np.abs(H - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_the_law_itself_is_left_alone() -> None:
    arm, law = case("tokhi_azad_lqg")
    hidden = Hidden(law)
    linear_law(hidden, arm.model)
    assert all(np.all(np.asarray(x) == 0.0) for x in (hidden.state[0], *hidden.state[1]))


def test_references_are_realised_too() -> None:
    """The feedforward of the value, rate and acceleration, and a limit that does not act about rest."""
    gains = {"Dy": [[-0.4, -0.05]], "Dr": [[0.4, 0.05, 0.06]]}
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    law = fx.LinearLaw(DT, *names, **gains).limited(-0.3, 0.3)
    found = realised(OnlyStep(law), [0.7, 0.0], [0.7])
    assert found.Dr == pytest.approx(law.Dr, rel=1e-9)
    assert found.Dy == pytest.approx(law.Dy, rel=1e-9)
    assert found.A.size == 0


def test_smooth_laws_are_linearised_where_they_rest() -> None:
    found = realised(Static(lambda x: 0.3 * np.sin(x)), [1.0], [1.0])
    assert found.Dy[0, 0] == pytest.approx(0.3 * np.cos(1.0), rel=1e-6)


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (np.sign, "does not respond in proportion"),
        (lambda x: 0.01 * np.floor(x / 1e-4 + 0.5), "rounded, or has a dead zone"),
        (lambda x: x - np.clip(x, -1e-3, 1e-3), "rounded, or has a dead zone"),
    ],
)
def test_what_is_not_linear_about_rest_is_refused(f: Any, why: str) -> None:
    with pytest.raises(fx.NotAvailable, match=why):
        realised(Static(f), [0.0], [0.0])


def test_a_law_that_depends_on_time_is_refused() -> None:
    class Timed(Static):
        def step(self, state: None, t: float, y: Any, r: Any) -> Any:
            return np.array([(1.0 + t) * y[0]]), None

    with pytest.raises(fx.NotAvailable, match="depends on time"):
        realised(Timed(None), [0.0], [0.0])


def test_limits_far_from_rest_do_not_hide_the_linear_part() -> None:
    assert realised(Static(lambda x: float(np.clip(50.0 * x, -0.3, 0.3))), [0.0], [0.0]).Dy == pytest.approx(50.0)


def after(count: int) -> type:
    """A law that counts its calls in the object and turns its gain round after so many."""

    class Counting(Static):
        calls = 0

        def initial(self) -> None:
            self.calls = 0

        def step(self, state: None, t: float, y: Any, r: Any) -> Any:
            self.calls += 1
            return np.array([self.f(float(y[0])) * (1.0 if self.calls < count else -1.0)]), None

    return Counting


def test_a_gain_that_changes_after_seconds_is_found_out() -> None:
    with pytest.raises(fx.NotAvailable, match="after 4001 samples at rest its response is another one"):
        realised(after(1500)(lambda x: 0.3 * x), [0.0], [0.0])

    class Switched(Static):
        def step(self, state: None, t: float, y: Any, r: Any) -> Any:
            return np.array([(0.3 if t < 12.0 else -0.3) * y[0]]), None

    with pytest.raises(fx.NotAvailable, match="depends on time"):
        realised(Switched(None), [0.0], [0.0])


class Alone(Static):
    """u = 0.3 x and something that the law does by itself, of its time and of the sum of its own past."""

    def initial(self) -> float:
        return 0.0

    def step(self, state: float, t: float, y: Any, r: Any) -> Any:
        return np.array([0.3 * y[0] + self.f(t, state)]), state + 1.0


@pytest.mark.parametrize("f", [
    lambda t, n: 1e-6 * n, lambda t, n: 1e-9 * n, lambda t, n: 1e-8 * t, lambda t, n: 1e-4 * np.sin(30.0 * t),
    lambda t, n: 1e-5 * 1.0001**n,
])
def test_a_law_that_drifts_or_swings_where_nothing_moves_is_refused(f: Any) -> None:
    """A torque that grew by 1 mN m each second was certified: its loop is that of the law without it."""
    with pytest.raises(fx.NotAvailable, match="at rest joint1_torque goes on by itself"):
        realised(Alone(f), [0.0], [0.0])


@pytest.mark.parametrize("f", [
    lambda t, n: 0.1, lambda t, n: 0.1 * 0.998**n, lambda t, n: 0.1 * np.sin(t) if t < 5.0 else 0.02,
])
def test_offsets_what_fades_and_motions_that_end_are_no_drift(f: Any) -> None:
    assert realised(Alone(f), [0.0], [0.0]).Dy == pytest.approx(0.3)


class Stating(Static):
    """It states a linear part of gain 0.3, and does what f is."""

    def feedback(self) -> fx.FirstOrder:
        names = {"inputs": list(self.measures), "outputs": list(self.drives)}
        found = fx.from_matrices(A=[[0.5]], B=[[0.0]], C=[[0.0]], D=[[0.3]], dt=DT, **names)
        assert isinstance(found, fx.FirstOrder)
        return found


def test_what_a_law_states_must_be_what_its_step_does() -> None:
    """Encoders and limits are no part of it."""
    arm = fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 4})
    for f in (
        lambda x: 0.3 * x,
        lambda x: np.clip(0.3 * x, -1e-3, 1e-3),
        lambda x: 0.3 * 1e-2 * np.floor(x / 1e-2 + 0.5),
    ):
        assert linear_law(Stating(f), arm.model).feedback().D[0, 0] == pytest.approx(0.3)
    with pytest.raises(fx.NotAvailable, match=r"otherwise than its feedback\(\) says \(off by 0.12, of 0.3\)"):
        linear_law(Stating(lambda x: 0.42 * x), arm.model)


def test_a_law_is_linear_where_it_holds_the_arm_not_where_it_commands_nothing() -> None:
    """A cubic spring carries the weight some way below: its gain there is not that at no load."""
    y, r, held = [0.0], [0.0], [0.05]
    with pytest.raises(fx.NotAvailable, match=r"0\.05 hold the arm at rest, where it commands 0; .* its gains differ"):
        realised(Static(lambda x: 0.3 * x + 0.8 * x**3), y, r, held)
    assert realised(Static(lambda x: 0.3 * x + 0.8 * x**3), y, r, [0.0]).Dy[0, 0] == pytest.approx(0.3)
    assert realised(Static(lambda x: 0.3 * x), y, r, held).Dy[0, 0] == pytest.approx(0.3)


def test_thresholds_far_below_what_is_tried_first() -> None:
    with pytest.raises(fx.NotAvailable, match="dead zone, near"):
        realised(Static(lambda x: x if abs(x) > 1e-7 else 0.0), [0.0], [0.0])


def test_readings_that_multiply_one_another_are_no_linear_law() -> None:
    """Each alone does nothing, all at once do."""

    class Product(Static):
        measures = ("joint1_angle", "joint1_rate")

        def step(self, state: None, t: float, y: Any, r: Any) -> Any:
            return np.array([0.3 * y[0] + y[1] * (y[0] * y[1] > 0.0)]), None

    with pytest.raises(fx.NotAvailable, match="not the sum"):
        realised(Product(None), [0.0, 0.0], [0.0])


def test_a_law_that_cannot_be_copied() -> None:
    law = Static(lambda x: 0.3 * x)
    law.lock = threading.Lock()  # type: ignore[attr-defined]
    assert realised(law, [0.0], [0.0]).Dy == pytest.approx(0.3)


def test_a_delay_line_in_the_object() -> None:
    class Line(Static):
        def initial(self) -> None:
            self.line = [0.0] * 12

        def step(self, state: None, t: float, y: Any, r: Any) -> Any:
            self.line.append(0.3 * y[0])
            return np.array([self.line.pop(0)]), None

    found = realised(Line(None), [0.0], [0.0])
    z = np.exp(1j * np.array([3.0, 300.0, 2000.0]) * DT)
    assert len(found.A) == 12
    assert found.feedback().transfer(z)[0, 0] == pytest.approx(0.3 * z**-12, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "value"),
    [("sample_time", "x"), ("sample_time", None), ("sample_time", [1e-3]), ("sample_time", 1j), ("sample_time", np.nan),
     ("measures", None), ("drives", 5), ("follows", "joint1_angle"), ("measures", ("joint1_angle", 3))],
)
def test_laws_whose_period_or_signals_are_something_else_are_refused(name: str, value: object) -> None:
    """A period "x" ended `flexctl certify` with a traceback."""
    law = fx.LinearLaw(DT, ("joint1_angle",), ("joint1_torque",), ("joint1_angle",), Dy=[[-1.0]], Dr=[[1.0, 0.0, 0.0]])
    odd = OnlyStep(law)
    setattr(odd, name, value)
    plant = fx.load_plant("tokhi_azad_1994")
    for use in (
        lambda: fx.realised(odd, [0.0]),
        lambda: fx.simulate(plant, odd, fx.quintic(0.0, 0.1, 0.1), duration=0.01),
    ):
        with pytest.raises(fx.DefinitionError, match=name):
            use()
