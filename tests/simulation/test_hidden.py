"""What jumps of a law hide from a step: modes too fast for it, output by output."""

from __future__ import annotations

import numpy as np
import pytest
import toys
from accuracy_cases import CASES, sampled_pd

import flexctl as fx
from flexctl.kernels.schemes import SCHEMES
from flexctl.simulation.hidden import POSES, hidden_by_jumps

SCHEME = SCHEMES["trapezoidal"]()  # beta = 1/4, no means of accelerations


@pytest.mark.parametrize("stiffness", [1.0, 400.0, 4e7])
def test_an_oscillator_hides_what_it_cannot_follow(stiffness: float) -> None:
    """x = b du / (m + b k) of the displacement, of its rate no more than sqrt(k / m) times as much."""
    model, h, du = toys.Chain(1, k=stiffness, wall=True), 1e-2, 3.0
    m, b = float(model.M[0, 0]), 0.25 * h * h
    off = hidden_by_jumps(model, ["force"], np.array([du]), h, SCHEME)
    place, rate = (fx.names(model.outputs).index(name) for name in ("first", "first_rate"))
    x = b * du / (m + b * stiffness)
    assert off[place] == pytest.approx(POSES * x, rel=1e-9)
    assert off[rate] == pytest.approx(POSES * x * np.sqrt(stiffness / m), rel=1e-3)


def test_a_root_without_a_hub_hides_all_of_its_strain() -> None:
    model = CASES["K"].arm().model
    off = hidden_by_jumps(model, ["joint1_torque"], np.ones(1), 1e-3, SCHEME) / POSES
    link, name = model.arm.links[0], fx.names(model.outputs)
    held = link.section.outer_distance / link.bending_stiffness  # strain of one newton metre
    assert off[name.index("root_strain")] == pytest.approx(held, rel=0.2)
    assert off[name.index("elbow_strain")] < 1e-3 * held


def test_ralf_under_its_servos_is_taken_in_their_periods() -> None:
    """5 kHz: jumps are 0.9 % of the range of the commands, but no mode is so fast that a step of 0.2 ms misses it."""
    script = fx.load_controller("ralf_servo")
    plant = fx.load_plant("ralf")
    item = script.scenarios(plant)[0]
    law, given = script.design(plant), item.plant(plant)
    options = {"duration": 0.4}
    run = fx.simulate(given, law, item.motions(law.law), **options)
    assert run.provenance["steps"] == 2000
    exact = fx.simulate(given, law, item.motions(law.law), **options, rtol=1e-6)
    for name in ("strain_lower", "strain_upper", "link1_deflection", "tip_x", "joint1_rate"):
        off, extent = np.abs(run[name] - np.interp(run.t, exact.t, exact[name])).max(), np.ptp(run[name])
        assert off <= run.error[name] <= 0.01 * extent, name


@pytest.mark.filterwarnings("ignore::flexctl.AccuracyWarning")
def test_long_steps_claim_output_by_output_what_jumps_hide() -> None:
    """Commands jump by 90 % of their range: that does not make the chords wrong by so much."""
    law, reference = sampled_pd(kp=(10.0, 1.0), kv=(4.0, 0.4), time=0.006, period=2e-3)
    arm = CASES["K"].arm()
    run = fx.simulate(arm, law, reference, duration=0.4, step=2e-3)
    exact = fx.simulate(arm, law, reference, duration=0.4, step=5e-5, method="sdirk")
    for name in ("joint1_angle", "chord1_angle", "chord2_angle", "link1_deflection", "root_strain", "chord1_rate"):
        off = np.abs(run[name] - np.interp(run.t, exact.t, exact[name])).max()
        assert off <= run.error[name], name
    for name in ("chord1_angle", "chord2_angle"):
        assert run.error[name] < 0.05 * np.ptp(run[name]), name
    assert run.error["root_strain"] > 0.5 * np.ptp(run["root_strain"])


@pytest.mark.filterwarnings("error::flexctl.AccuracyWarning")
def test_shaped_commands_are_not_warned_of() -> None:
    """Jumps of 0.2 % would make the command of a stiff servo 6 % wrong, if the arm had modes that hide them."""
    script = fx.load_controller("ralf_shaped")
    plant = fx.load_plant("ralf")
    item = script.scenarios(plant)[0]
    law = script.design(plant).law
    run = fx.simulate(item.plant(plant), law, item.motions(law), duration=item.duration)
    assert run.provenance["steps"] == 16500
    assert run.error["joint2_valve"] < 0.02 * np.ptp(run["joint2_valve"])
