"""One argument rule: whoever needs a model or a linear plant takes everything that stands for one, or says so."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.design_model import design_model
from flexctl.design.feedforward import rigid_feedforward
from flexctl.design.governor import governor
from flexctl.design.inversion import stable_inversion
from flexctl.design.joint_pid import joint_pids
from flexctl.design.loop_shaping import loop_shaping
from flexctl.design.lqg import lqg
from flexctl.design.lqg_regulator import lqg_regulator
from flexctl.design.lqg_servo import lqg_servo
from flexctl.design.mixed_sensitivity import hinf
from flexctl.design.pd import joint_pd
from flexctl.design.pid import pid, pid_gains
from flexctl.design.recipes import bryson, held_frequency, hinf_weights, shaping_gains
from flexctl.design.sampled_model import sampled_model
from flexctl.design.shaping import shaper_for
from flexctl.design.strain import strain_feedback
from flexctl.design.vibration import vibration_damping
from flexctl.frequency import grid, loop_gain, margins, series
from flexctl.frequency.structured import robust_bound
from flexctl.io.plot.linear import bode, mode_shapes, plant_poles, poles
from flexctl.io.plot.loci import migration
from flexctl.kernels.schemes import SCHEMES
from flexctl.linear.discrete import newmark_plant, scheme_plant

NAME = "tokhi_azad_1994"
PLANT = fx.load_plant(NAME, model={"sections": 4}, overrides={"damping.kind": "modal", "damping.ratio": 0.01})
LINEAR = PLANT.linearise()
LAW = fx.LinearLaw(4e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), Dy=np.array([[-0.9, -0.12]]))
TWO = fx.load_plant("planar_2r_flexible", model={"elements": 1})


def control_system() -> Any:
    return LINEAR.statespace()


def arguments(tmp_path: Path) -> dict[str, Any]:
    return {
        "plant": PLANT, "model": PLANT.model, "second order": LINEAR, "first order": LINEAR.first_order(),
        "python-control": control_system(), "saved": LINEAR.save(tmp_path / "plant.npz"), "name": NAME,
        "path": fx.find("plants") / f"{NAME}.toml", "path in words": str(fx.find("plants") / f"{NAME}.toml"),
    }


MOVE = fx.quintic(0.0, 0.2, 0.4)
LINEAR_PLANTS: dict[str, Callable[[Any], Any]] = {
    "modes": lambda x: fx.modes(x, 2),
    "response": lambda x: fx.frequency_response(x, [1.0, 2.0]),
    "grid": lambda x: grid(x, 1.0, 20.0, points=5),
    "margins": lambda x: margins(series(x, fx.from_matrices(A=[[-1.0]], B=[[1.0]], C=[[1.0]], inputs=["joint1_angle"],
                                                          outputs=["joint1_torque"]))),
    "loop_gain": lambda x: loop_gain(x, LAW),
    "balanced_truncation": lambda x: fx.balanced_truncation(x, 4),
    "modal_truncation": lambda x: fx.modal_truncation(x, 2),
    "modal_bounds": lambda x: fx.modal_bounds(x),
    "split_rigid": lambda x: fx.split_rigid(x),
    "zero_order_hold": lambda x: fx.zero_order_hold(x, 1e-3),
    "plot.poles": lambda x: (poles({"one": x}), poles(x)),
    "plot.bode": lambda x: (bode(x), bode({"one": x})),
    "plot.migration": lambda x: migration({0.0: x, 1.0: x}, "k"),
    "plant_poles": lambda x: plant_poles(x),
    "shaper_for": lambda x: shaper_for(x, "zv"),
    "sampled_model": lambda x: sampled_model(x, ("joint1_angle",), ("joint1_torque",), 4e-3),
}
SECOND_ORDER: dict[str, Callable[[Any], Any]] = {
    "lock": lambda x: fx.lock(x, ["theta"]),
    "scheme_plant": lambda x: scheme_plant(x, 1e-3, SCHEMES["trapezoidal"]()),
    "newmark_plant": lambda x: newmark_plant(x, 1e-3),
    "joint_pd": lambda x: joint_pd(x, kp=0.9, kd=0.12, filter_time=2e-3, sample_time=4e-3),
    "rigid_feedforward": lambda x: rigid_feedforward(
        x, sample_time=4e-3, drive="joint1_torque", follow="joint1_angle"
    ),
    "bryson": lambda x: bryson(
        x, bandwidth=1.0, measures=("joint1_angle",), drive="joint1_torque", follow="joint1_angle"
    ),
    "design_model": lambda x: design_model(x, 1, ("joint1_angle",), ("joint1_torque",), ("joint1_angle",)),
}
MODELS: dict[str, Callable[[Any], Any]] = {
    "linearise": lambda x: fx.linearise(x),
    "equilibrium": lambda x: fx.equilibrium(x, hold={"theta": 0.0}),
    "rest_point": lambda x: fx.rest_point(x),
    "simulate": lambda x: fx.simulate(x, inputs={"joint1_torque": fx.bang_bang(0.1, 0.01)}, duration=0.03, step=1e-3),
    "nonlinear": lambda x: fx.nonlinear(x),
    "compare_methods": lambda x: fx.compare_methods(
        x, duration=0.02, steps=[1e-3], methods=["trapezoidal"], outputs=["tip_displacement"],
        inputs={"joint1_torque": fx.bang_bang(0.1, 0.01)},
    ),
}


@pytest.mark.parametrize("name", LINEAR_PLANTS)
def test_a_linear_plant_is_whatever_has_one(name: str, tmp_path: Path) -> None:
    undamped = ("name", "path", "path in words") if name in ("balanced_truncation", "modal_bounds") else ()
    for what, given in arguments(tmp_path).items():
        if what in undamped:
            with pytest.raises(fx.DefinitionError, match="is undamped and has no Gramian"):
                LINEAR_PLANTS[name](given)
        else:
            assert LINEAR_PLANTS[name](given) is not None, what


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_second_order_is_asked_for_in_words(name: str, tmp_path: Path) -> None:
    for what, given in arguments(tmp_path).items():
        if what in ("first order", "python-control"):
            with pytest.raises(fx.DefinitionError, match="is not a linear plant of second order: give a Plant"):
                SECOND_ORDER[name](given)
        else:
            assert SECOND_ORDER[name](given) is not None, what


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_whatever_has_one(name: str, tmp_path: Path) -> None:
    for what, given in arguments(tmp_path).items():
        if what in ("first order", "python-control") and name != "simulate":
            with pytest.raises(fx.DefinitionError, match="is not a mechanical model: give a Plant"):
                MODELS[name](given)
        else:
            assert MODELS[name](given) is not None, what


def test_arms_and_spinning_plants() -> None:
    plant = fx.load_plant(NAME, overrides={"payload.mass": 0.01})
    for given in (plant, plant.arm, NAME, fx.find("plants") / f"{NAME}.toml"):
        assert fx.ExactBeam(given).length == plant.arm.links[0].length
        assert fx.TransferMatrixArm(given).inputs
        assert fx.build(given, "timoshenko_planar", elements=2).inputs
    for given in (TWO, TWO.model, "planar_2r_flexible"):
        assert fx.spinning_plant(given, [0.5, 0.0]).provenance["joint_rates"] == [0.5, 0.0]
        assert fx.steady_state(given, [0.5, 0.0]).v.any()
        assert fx.design_servos(given)
        assert fx.motion_driven(given, {"joint1_torque": "joint1"}).inputs[0].name == "joint1_acceleration"
    assert fx.spinning_plant(TWO, [0.5, 0.0]).provenance["plant"] == "planar_2r_flexible"


def test_a_plant_says_where_a_linear_plant_comes_from() -> None:
    for linear in (fx.linearise(PLANT), PLANT.linearise()):
        assert linear.provenance == PLANT.identity
    assert fx.linearise(PLANT.model).provenance == {"model": "finite_difference"}


def whatever_else(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a call with nothing for all other arguments, past their check: the plant is looked at first."""
    function = inspect.unwrap(function)
    others = list(inspect.signature(function).parameters.values())[1:]
    needed = [x for x in others if x.default is x.empty]
    return lambda x: function(
        x, *[None for p in needed if p.kind is not p.KEYWORD_ONLY],
        **{p.name: None for p in needed if p.kind is p.KEYWORD_ONLY},
    )


WRONG = {
    "nothing": None, "a number": 3, "no such plant": "no_such_plant", "a law": LAW, "a list": [1.0], "a class": fx.Plant
}
ELSE: dict[str, Callable[[Any], Any]] = {
    "ExactBeam": fx.ExactBeam,
    "TransferMatrixArm": fx.TransferMatrixArm,
    "build": lambda x: fx.build(x, "ancf"),
    "steady_state": lambda x: fx.steady_state(x, [0.5]),
    "spinning_plant": lambda x: fx.spinning_plant(x, [0.5]),
    "with_servo": lambda x: fx.with_servo(x, {"joint1": fx.Servo(1.0, 1.0)}),
    "design_servos": fx.design_servos,
    "inverse_dynamics": lambda x: fx.inverse_dynamics(x, {"joint1": MOVE}, duration=0.1),
    "motion_driven": lambda x: fx.motion_driven(x, {"joint1_torque": "theta"}),
    "transfer_matrix_run": lambda x: fx.transfer_matrix_run(x, {"joint1": MOVE}, duration=0.1),
    "save_linear": lambda x: fx.save_linear(x, "never.npz"),
    "linear_validity": lambda x: fx.linear_validity(x, {"joint1_torque": fx.bang_bang(0.1, 0.1)}, duration=0.2),
    "compare": lambda x: fx.compare(["tokhi_azad_pd"], [x]),
    "mode_shapes": lambda x: mode_shapes(x, 2),
    "robust_bound": lambda x: robust_bound(x, LAW, []),
    "governor": lambda x: governor(LAW, x, modes=2, interval=4),
    "closed_loop": lambda x: fx.closed_loop(x, LAW.feedback()),
    "loop_poles": lambda x: fx.loop_poles(x, LAW.feedback()),
    "driven_joints": lambda x: fx.driven_joints(x, {}),
    "run_scenarios": lambda x: fx.run_scenarios(fx.load_controller("tokhi_azad_pd"), x),
    "robustness": lambda x: fx.robustness(LAW, x, []),
    "frequency_variations": lambda x: fx.frequency_variations(x, {}, [0.1]),
    "rest_references": lambda x: fx.rest_references(x, ["joint1_angle"], 1.0),
    "payload_bound": lambda x: fx.payload_bound(x, LAW, 0.0, 0.1),
    "stability_over_damping": whatever_else(fx.stability_over_damping),
    "tracking_scenario": lambda x: inspect.unwrap(fx.tracking_scenario)("move", x, None, LAW),
    "optimal_command": lambda x: fx.optimal_command(fx.load_controller("tokhi_azad_pd").design(PLANT), {"x": x},
                                                    {"chord1_angle": 0.1}, longest=1.0),
    "bound": lambda x: fx.bound({"x": x}, {"joint1_angle": 0.1}, drive="joint1_torque", limits={"joint1_torque": 0.3},
                                longest=1.0),
    "fastest_track": lambda x: fx.fastest_track(x, fx.Circle((0.5, 0.0), 0.1), {"joint1_torque": 1.0}),
    "fastest_along": lambda x: fx.fastest_along(LAW, x, fx.Circle((0.5, 0.0), 0.1), {"joint1_torque": 1.0}),
    "export_plant": lambda x: fx.export_plant(x, "never.fmu"),
    "identify.measure": lambda x: fx.identify.measure(x, fx.identify.doublets("joint1_torque [N m]", 0.1)),
    "identify.parameters": lambda x: fx.identify.parameters(x, [], []),
    "Track": lambda x: fx.Track(x, fx.Path(fx.Circle((0.5, 0.0), 0.1), fx.ConstantSpeed(0.2 * np.pi, 25.0))),
    "verify": fx.verify,
    "frequency_response": lambda x: fx.frequency_response(x, [1.0]),
    "transfer": lambda x: fx.transfer(x, np.array([1j])),
    "norm": lambda x: fx.norm(x, 2),
    "observer": lambda x: fx.observer(
        x, modes=1, measures="joint1_angle", drive="joint1_torque", estimates="chord1_angle", sample_time=1e-3,
        noise=1.0,
    ),
    "animate_mode": lambda x: fx.animate_mode(x, "never.gif"),
    "swing_stability": lambda x: fx.swing_stability(x, LAW, [1.0], by="joint1_angle", between=(0.0, 1.0)),
    "learn": lambda x: fx.learn(x, LAW, MOVE, models={"x": PLANT}, cutoff=10.0),
    "fixed_order": whatever_else(fx.fixed_order), "output_integral": whatever_else(fx.output_integral),
    "path_stability": whatever_else(fx.path_stability),
    "prescribed_response": whatever_else(fx.prescribed_response), "references": whatever_else(fx.references),
    "rigid_and_bending": whatever_else(fx.rigid_and_bending),
    **{
        function.__name__: whatever_else(function)
        for function in (
            design_model, rigid_feedforward, stable_inversion, joint_pids, loop_shaping, lqg, lqg_regulator, lqg_servo,
            hinf, pid_gains, pid, held_frequency, bryson, hinf_weights, shaping_gains, strain_feedback,
            vibration_damping,
        )
    },
}
EVERY = {**LINEAR_PLANTS, **SECOND_ORDER, **MODELS, **ELSE}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("what", WRONG)
def test_what_is_none_of_them_is_refused(name: str, what: str) -> None:
    with pytest.raises(fx.DefinitionError) as caught:
        EVERY[name](WRONG[what])
    said = str(caught.value)
    wanted = 'unknown plant "no_such_plant"' if what == "no such plant" else ": give a"
    assert wanted in said


def test_certify_and_sweep_take_a_plant() -> None:
    for given in (3, LAW):
        with pytest.raises(fx.DefinitionError, match="is not a plant: give a Plant, the name of one"):
            fx.certify("tokhi_azad_pd", given)
        with pytest.raises(fx.DefinitionError, match="is not a plant: give a Plant, the name of one"):
            fx.sweep("tokhi_azad_pd", given, over={"payload.mass": [0.0]})


EXCUSED = {
    "Ancf": "a formulation takes an Arm; fx.build takes everything", "AssumedModes": "the same",
    "FiniteDifference": "the same", "FiniteSegment": "the same", "TimoshenkoPlanar": "the same",
    "TimoshenkoSpatial": "the same", "Plant": "made by load_plant", "LinearSystem": "made by load_plant",
    "Certificate": "a result", "Design": "a result", "Observer": "a result", "OptimalCommand": "a result",
    "PlannedCommand": "a result", "OptimalTorque": "a result", "identify.Identified": "a result",
    "identify.ModalFit": "a result", "identify.SubspaceFit": "a result", "plot.frequency_fit": "draws arrays",
    "identify.modal": "of frequency response data; systems are refused",
    "load_plant": "`model` is a kind", "certify": "tested below", "sweep": "tested below", "tune": "tested below",
    "filtered": "of a law: the filter", "smoothed": "of a law: the filter", "discretise": "of a law: its dynamics",
    "export_law": "of a law: the plant of its test", "single_precision": "of a law: the plant of its run",
    "load_command": "of a file: the arm as the law knows it",
    "report": "of a run: the arm that is drawn", "animate": "the same",
    "from_control": "a system of python-control becomes ours",
}
"""Public functions with an argument called or typed like a plant that the tables above do not try, and why."""


def takers(module: Any, prefix: str = "") -> set[str]:
    """Names of public functions with an argument that is called or typed like a plant, model, arm or linear plant."""
    found = set()
    for name in dir(module):
        thing = getattr(module, name)
        if inspect.ismodule(thing) and not prefix and name in ("plot", "identify"):
            found |= takers(thing, f"{name}.")
        elif callable(thing) and str(getattr(thing, "__module__", "")).startswith("flexctl") and name[0] != "_":
            found |= {f"{prefix}{name}"} if any(map(_like_a_plant, _parameters(thing))) else set()
    return found


def _parameters(thing: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return []


def _like_a_plant(parameter: inspect.Parameter) -> bool:
    words = (
        "ModelGiven", "LinearGiven", "ArmGiven", "SystemGiven", "MechanicalModel", "SecondOrder", "FirstOrder", "Plant",
        "Arm",
    )
    named = parameter.name in ("plant", "plants", "model", "models", "arm", "linear", "system")
    return named or any(word in str(parameter.annotation) for word in words)


def test_every_public_function_that_takes_a_plant_is_tried() -> None:
    tried = {name.removeprefix("plot.") for name in EVERY} | set(EVERY)
    missing = {name for name in takers(fx) - set(EXCUSED) if name.removeprefix("plot.") not in tried}
    assert missing == set()
    assert set(EXCUSED) <= takers(fx)


def test_tune_takes_a_plant() -> None:
    with pytest.raises(fx.DefinitionError, match="is not a plant: give a Plant"):
        fx.tune(lambda: LAW, {"k": 1.0}, over={}, minimise={}, plant=3)  # type: ignore[arg-type]
