"""One vocabulary: an output of one name has one unit, one sign and one meaning in every formulation of an arm."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.models import REGISTRY

MESH: dict[str, dict[str, Any]] = {
    "finite_difference": {"sections": 60}, "finite_segment": {"segments": 24}, "assumed_modes": {"modes": 4},
    "timoshenko_planar": {"elements": 20}, "timoshenko_spatial": {"elements": 20}, "ancf": {"elements": 8},
}
PLANAR = {
    "joint1_angle": "rad", "joint1_rate": "rad/s", "chord1_angle": "rad", "chord1_rate": "rad/s",
    "link1_deflection": "m", "tip_x": "m", "tip_y": "m", "tip_error_x": "m", "tip_error_y": "m",
}
SENSORS = [
    fx.Sensor(f"{kind}_{at * 100:.0f}", kind, position=at)
    for kind in ("displacement", "acceleration", "curvature", "strain") for at in (0.45, 0.7)
]
REFERENCE = "timoshenko_planar"


def arm() -> fx.Arm:
    own = fx.load_plant("tokhi_azad_1994").arm
    joint = replace(own.joints[0], hub_inertia=0.05)
    return replace(
        own, joints=(joint,), payload=fx.Payload(0.05, 0.0), sensors=tuple(SENSORS),
        damping=fx.Damping("rayleigh", beta=2e-3),
    )


@cache
def swung(kind: str) -> tuple[fx.MechanicalModel, Any]:
    """The model and its run: the hub is turned to and fro, gently for the modes, through 0.4 rad."""
    model = fx.build(arm(), kind, **MESH[kind])
    t = np.linspace(0.0, 0.8, 81)
    push = fx.Sampled(t, 0.45 * np.sin(2.5 * np.pi * t) * np.sin(1.25 * np.pi * t))
    return model, fx.simulate(model, duration=0.8, inputs={"joint1_torque": push}, step=2e-3)


def units(model: fx.MechanicalModel) -> dict[str, str]:
    return {s.name: s.unit for s in model.outputs}


@pytest.mark.parametrize("kind", REGISTRY)
def test_every_formulation_has_the_words_of_the_plane(kind: str) -> None:
    model = swung(kind)[0]
    wanted = PLANAR | {s.name: units(swung(REFERENCE)[0])[s.name] for s in SENSORS}
    assert wanted.items() <= units(model).items()
    assert {s.name: s.unit for s in model.inputs}["joint1_torque"] == "N m"


@pytest.mark.parametrize("kind", [kind for kind in REGISTRY if kind != REFERENCE])
def test_an_output_reads_the_same_in_every_formulation(kind: str) -> None:
    """Within 3 % of the range that it goes through; of vectors that of the larger component.

    What a bent link shortens is of second order, and assumed modes do not have it.
    """
    (model, run), (reference, truth) = swung(kind), swung(REFERENCE)
    shared = [name for name in units(model) if name in units(reference)]
    assert len(shared) >= len(PLANAR) + len(SENSORS)
    for name in shared:
        assert units(model)[name] == units(reference)[name]
        wanted, found = truth[name], np.interp(truth.t, run.t, run[name])
        vector = [truth[f"{name[:-1]}{axis}"] for axis in "xy"] if name.endswith(("_x", "_y")) else [wanted]
        off = np.abs(found - wanted).max() / np.ptp(vector, axis=1).max()
        assert off < 0.03, f"{kind}: {name} is off by {off:.1%} of its range"


def test_tip_of_finite_differences_in_every_engine() -> None:
    """tip_x, tip_y are no linear outputs: each engine, the wrappers and laws must read them as the model says."""
    model, _ = swung("finite_difference")
    length = model.arm.links[0].length  # type: ignore[attr-defined]
    led = fx.motion_driven(model, {"joint1_torque": "theta"})
    for wrapped, push, methods in ((model, 0.5, ("exact", "generalised_alpha", "march")), (led, 2.0, ("exact",))):
        for method in methods:
            inputs = {wrapped.inputs[0].name: fx.Sampled([0.0, 0.2, 0.4], [0.0, push, 0.0])}
            step = None if method == "march" else 1e-3
            run = fx.simulate(wrapped, duration=0.4, inputs=inputs, step=step, method=method)
            theta, psi = run["joint1_angle"], run["chord1_angle"]
            assert np.ptp(psi) > 0.02
            assert np.abs(run["tip_x"] - length * np.cos(psi)).max() < 1e-12
            assert np.abs(run["tip_error_y"] - length * (np.sin(psi) - np.sin(theta))).max() < 1e-12


@pytest.mark.parametrize("sample_time", [0.0, 2e-3])
def test_a_law_brings_the_tip_of_finite_differences_to_a_height(sample_time: float) -> None:
    """L sin psi = 0.4 m, and not L psi = 0.4 m as in a linear plant; continuous and sampled."""
    arm = fx.load_plant("tokhi_azad_1994").arm
    model = fx.build(replace(arm, damping=fx.Damping("rayleigh", alpha=0.2, beta=2e-3)), "finite_difference")
    gains = {"Dy": [[-0.8, -0.5]], "Dr": [[0.8, 0.0, 0.0]]}
    law = fx.LinearLaw(sample_time, ("tip_y", "joint1_rate"), ("joint1_torque",), ("tip_y",), **gains)
    run = fx.simulate(model, law, {"tip_y": fx.Cycloid(0.0, 0.4, 1.0)}, duration=8.0, step=2e-3)
    assert run["tip_y"][-1] == pytest.approx(0.4, abs=1e-3)
    assert run["chord1_angle"][-1] == pytest.approx(np.arcsin(0.4 / arm.links[0].length), abs=1e-3)


SPRING = fx.Joint(hub_inertia=0.05, rotor_inertia=0.08, stiffness=40.0, damping=0.05, friction=0.1)
READ = ("joint1_angle", "joint1_motor_angle", "joint1_motor_rate", "chord1_angle", "tip_y", "tip_error_y")


@pytest.mark.parametrize("kind", [*REGISTRY, "transfer_matrix"])
def test_the_angle_of_a_flexible_joint_is_that_of_its_link(kind: str) -> None:
    """Segments and transfer matrices read the motor's, where the arm had no motor or friction law as well."""
    flexible = replace(arm(), joints=(SPRING,))
    s = 1j * np.array([2.0, 8.0, 15.0])

    def read(model: Any, H: Any) -> Any:
        return H[[fx.names(model.outputs).index(name) for name in READ], 0]

    def linear(kind: str) -> Any:
        model = fx.build(flexible, kind, **(MESH | {"ancf": {"elements": 20}})[kind])
        return read(model, fx.linearise(model).transfer(s))

    exact = fx.TransferMatrixArm(flexible)
    found = read(exact, exact.transfer(s)) if kind == "transfer_matrix" else linear(kind)
    assert found == pytest.approx(linear(REFERENCE), rel=3e-2)
    assert abs(found[0] / found[1] - 1.0).max() > 0.2  # the two sides are apart


@pytest.mark.parametrize("kind", [*REGISTRY, "transfer_matrix"])
def test_a_stiff_joint_is_a_rigid_one(kind: str) -> None:
    """Damping by mass acts on a rotor beyond the spring too."""
    damping = fx.Damping("rayleigh", alpha=3.0)
    s, answers = np.array([2j]), []
    for spring in ({}, {"stiffness": 1e7}):
        made = replace(arm(), joints=(fx.Joint(hub_inertia=0.05, rotor_inertia=0.8, **spring),), damping=damping)
        model = fx.TransferMatrixArm(made) if kind == "transfer_matrix" else fx.build(made, kind, **MESH[kind])
        plant = model if kind == "transfer_matrix" else fx.linearise(model)
        answers.append(plant.transfer(s)[fx.names(model.outputs).index("joint1_rate"), 0, 0])
    assert answers[1] == pytest.approx(answers[0], rel=1e-4)


def test_springs_of_joints_that_a_modal_ratio_leaves_out_are_told() -> None:
    made = replace(arm(), joints=(replace(SPRING, damping=0.0),), damping=fx.Damping("modal", ratio=0.01))
    with pytest.warns(fx.Caution, match="without the springs of its joints.*joint 1 are damped less"):
        fx.build(made, "timoshenko_planar", elements=4)


@pytest.mark.parametrize(("kind", "side"), [("finite_segment", "motor's"), ("timoshenko_planar", "link's")])
def test_a_flexible_joint_that_follows_a_motion_says_which_side_it_is(kind: str, side: str) -> None:
    led = replace(arm(), joints=(replace(SPRING, drive="motion"),))
    outputs = {s.name: s for s in fx.build(led, kind, **MESH[kind]).outputs}
    assert f"{side} side" in outputs["joint1_angle"].description
    assert ("joint1_motor_angle" in outputs) == (side == "link's")
