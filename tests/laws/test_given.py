"""Raw systems of python-control: as laws, and as what the `feedback` of a law returns."""

from __future__ import annotations

import control
import numpy as np
import pytest

import flexctl as fx
from flexctl.judging.certify.loops import examine
from flexctl.laws.given import feedback_of
from flexctl.laws.linear_part import linear_law

ARM = fx.load_plant("tokhi_azad_1994", model={"sections": 4}, damping={"kind": "modal", "ratio": 0.02})
PD = control.ss([], [], [], [[-2.0, -0.2]], 1e-3, inputs=["joint1_angle", "joint1_rate"], outputs=["joint1_torque"])
OWN = fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), Dy=[[-2.0, -0.2]])


class Raw:
    """A law with a linear part in the words of python-control, its signals named or not."""

    sample_time, measures, drives, follows = 1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ()

    def __init__(self, system):
        self.system = system

    def initial(self):
        return 0

    def step(self, state, t, y, r):
        return np.array([-2.0 * y[0] - 0.2 * y[1]]), state

    def feedback(self):
        return self.system


NAMELESS = control.ss([], [], [], [[-2.0, -0.2]], 1e-3)
LAWS = {"raw": PD, "named": Raw(PD), "nameless": Raw(NAMELESS), "wrapped": fx.Saturated(Raw(NAMELESS), 5.0)}


@pytest.mark.parametrize("name", LAWS)
def test_a_raw_system_is_the_law_it_says(name) -> None:
    law, plant = LAWS[name], ARM.linearise()
    wanted = fx.loop_poles(plant, OWN.feedback())
    found = linear_law(law, ARM.model)
    assert np.sort_complex(fx.loop_poles(plant, feedback_of(found))) == pytest.approx(np.sort_complex(wanted))
    one, two = (examine(plant, law).margins["joint1_torque"] for law in (found, OWN))
    assert one.disk_margin == pytest.approx(two.disk_margin)


def test_delayed_raw_systems() -> None:
    one, two = (fx.Delayed(law, 2).feedback() for law in (Raw(NAMELESS), OWN))
    z = np.exp(1j * np.array([0.1, 1.0]))
    assert one.transfer(z) == pytest.approx(two.transfer(z))


def test_along_a_path() -> None:
    arm = fx.load_plant("tian_ancf_circle", model={"elements": 1})
    circle = fx.Circle((1.6, 0.0), 0.3)
    track = fx.Track(arm.arm, fx.Path(circle, fx.ConstantSpeed(circle.length, 25.0)))
    measures = ("joint1_angle", "joint1_rate", "joint2_angle", "joint2_rate")
    drives = ("joint1_torque", "joint2_torque")
    gains = np.array([[-900.0, -60.0, 0.0, 0.0], [0.0, 0.0, -400.0, -30.0]])
    raw = control.ss([], [], [], gains, inputs=measures, outputs=drives)
    own = fx.LinearLaw(0.0, measures, drives, Dy=gains)
    assert fx.path_stability(arm, raw, track, 2).growth == pytest.approx(fx.path_stability(arm, own, track, 2).growth)


@pytest.mark.parametrize(("system", "message"), [
    (control.ss([], [], [], [[-2.0]], 1e-3), "has inputs"),
    (control.ss([], [], [], [[-2.0, -0.2]], 2e-3), "has dt = 0.002 s, the law acts every 0.001 s"),
    (np.eye(2), "returned a ndarray"),
])
def test_a_linear_part_that_is_not_the_laws_is_refused(system, message) -> None:
    with pytest.raises(fx.DefinitionError, match=message):
        feedback_of(Raw(system))
