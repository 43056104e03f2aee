"""Laws of a fixed structure: their transfer functions against the formula, the integral, limits, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx
from flexctl.linear.interconnect import closed_loop

NAMES = {"measures": ("joint1_angle", "chord1_angle"), "drive": "joint1_torque", "follow": "chord1_angle"}
GAINS = {
    "direct": (3.0, 0.5), "frequencies": (40.0,), "dampings": (0.6,), "pair_gains": (0.7, -0.2, 1.1, 0.4),
    "poles": (90.0,), "pole_gains": (-2.0, 0.3), "integral": 2.5,
}


def plant():
    return fx.load_plant(
        "tokhi_azad_1994", overrides={"model.sections": 10, "damping": {"kind": "modal", "ratio": 0.01}}
    ).linearise()


def test_the_response_is_that_of_the_formula() -> None:
    T = 1e-5  # so fine that Tustin's rule and the sum are the continuous filters
    law = fx.fixed_order(plant(), **GAINS, **NAMES, sample_time=T).law.law
    s = 1j * np.array([3.0, 30.0, 300.0])
    found = law.feedback().transfer(np.exp(s * T))[0]
    w, p, Q = 40.0, 90.0, s**2 + 2.0 * 0.6 * 40.0 * s + 40.0**2
    hub = 3.0 + (0.7 * w**2 - 0.2 * w * s) / Q - 2.0 * p / (s + p)
    tip = 0.5 + (1.1 * w**2 + 0.4 * w * s) / Q + 0.3 * p / (s + p) + 2.5 / s
    np.testing.assert_allclose(found, -np.array([hub, tip]), rtol=2e-3)
    assert len(law.A) == 4


def test_a_pd_with_a_filtered_rate_is_one_of_them() -> None:
    """The joint PD of the library, written as a direct part and a pole, in the same loop."""
    kp, kd, tf, T = 1.0, 0.05, 4e-3, 1e-5
    own = fx.fixed_order(
        plant(), direct=(kp + kd / tf,), poles=(1.0 / tf,), pole_gains=(-kd / tf,), sample_time=T,
        **{**NAMES, "measures": "joint1_angle"},
    ).law.law.feedback()
    pd = fx.joint_pd(plant(), kp=kp, kd=kd, filter_time=tf, sample_time=T).feedback()
    z = np.exp(1j * np.array([1.0, 30.0, 300.0]) * T)
    np.testing.assert_allclose(own.transfer(z), pd.transfer(z), rtol=2e-3)


def test_no_load_is_left_with_the_integral_of_the_tip_and_it_does_not_wind_up() -> None:
    arm = fx.load_plant("tokhi_azad_1994", overrides={"damping": {"kind": "modal", "ratio": 0.01}})
    pd = fx.joint_pd(arm.linearise(), kp=0.5, kd=0.04, filter_time=4e-3, sample_time=1e-3)
    tip = fx.output_integral(
        arm.linearise(), gain=0.5, measure="chord1_angle", drive="joint1_torque", sample_time=1e-3
    )
    law = fx.together(pd, tip, limit=0.3)
    loop = closed_loop(fx.zero_order_hold(arm.linearise(), 1e-3), law.feedback())
    rest = loop.transfer(np.array([1.0 + 1e-9]))[fx.names(loop.outputs).index("chord1_angle"), 0, 0]
    assert abs(rest) < 1e-5
    whole = fx.fixed_order(arm.linearise(), direct=(0.0, 0.0), integral=0.5, **NAMES, sample_time=1e-3, limit=0.3)
    state, r = whole.initial(), np.array([1.0, 0.0, 0.0])
    for k in range(5000):  # the arm is held: the sum stops where the limit is
        u, state = whole.step(state, 1e-3 * k, np.zeros(2), r)
    assert u[0] == pytest.approx(0.3)
    assert 0.5 * state[0][0] < 0.31


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"direct": (1.0,)}, "1 numbers for direct"), ({"poles": (-3.0,)}, "poles"), ({"dampings": ()}, "dampings"),
        ({"pair_gains": (1.0, 2.0)}, "pair_gains"), ({"sample_time": 0.0}, "sample_time"),
        ({"direct": (np.nan, 0.0)}, "finite"), ({"measures": ("joint1_angle",), "direct": (1.0,)}, "numbers"),
    ],
)
def test_wrong_gains_are_refused(change, told) -> None:
    with pytest.raises(fx.DefinitionError, match=told):
        fx.fixed_order(plant(), **{**GAINS, **NAMES, "sample_time": 1e-3, **change})


def test_the_integral_of_what_is_not_measured_is_refused() -> None:
    with pytest.raises(fx.DefinitionError, match="needs it measured"):
        fx.fixed_order(
            plant(), direct=(1.0,), integral=1.0, sample_time=1e-3, **{**NAMES, "measures": "joint1_angle"}
        )


def test_tuning_finds_better_gains_of_a_pd_with_notch_and_integral() -> None:
    arm = plant()

    def design(kp: float, kd: float, notch: float, integral: float):
        pd = fx.filtered(
            fx.joint_pd(arm, kp=kp, kd=kd, filter_time=1e-3, sample_time=1e-3), fx.notch(notch, 0.5, depth=0.3)
        )
        tip = fx.output_integral(arm, gain=integral, measure="chord1_angle", drive="joint1_torque", sample_time=1e-3)
        return fx.Delayed(fx.together(pd, tip))

    start = {"kp": 0.5, "kd": 0.03, "notch": 400.0, "integral": 0.1}
    found = fx.tune(design, start, over={"": arm}, minimise={"disk_margin": 0.5}, evaluations=60, workers=1)
    first = fx.tune(design, start, over={"": arm}, minimise={"disk_margin": 0.5}, evaluations=1, workers=1)
    assert found.worst("disk_margin") > 1.05 * first.worst("disk_margin")
