"""FMU of nonlinear arms: the run of `simulate` with the same fixed step, saved states, failures, refusals."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.export.fmu import package
from flexctl.machine.given import as_simulated

fmpy = pytest.importorskip("fmpy", reason="FMPy, an importer of FMUs, is not installed: pip install 'flexctl[fmu]'")
if package.find_compiler() is None or package.binary_folder() is None:
    pytest.skip("no C compiler on 64-bit Linux: no binary", allow_module_level=True)

from fmpy.fmi1 import FMICallException  # noqa: E402
from units import opened  # noqa: E402

AMPLIFIED = ("acceleration", "tip_error")
"""Outputs in which rounding grows: `simulate` itself moves them by as much when its input changes in the last digit."""


def beams(**overrides: Any) -> Any:
    return fx.load_plant("planar_2r_flexible", model={"elements": 3}, **overrides)


def heavy() -> Any:
    return beams(**{"gravity": {"y": -9.81}, "payload.mass": 0.4})


def ralf(**overrides: Any) -> Any:
    return fx.load_plant("ralf", **overrides)


INPUTS = len(as_simulated(heavy()).inputs)


def commands(count: int, inputs: int, size: float, seed: int = 0) -> np.ndarray:
    """Random values that jump every few steps."""
    values = np.random.default_rng(seed).standard_normal((count // 5 + 1, inputs))
    return size * np.repeat(values, 5, axis=0)[:count]


def simulated(plant: Any, u: np.ndarray, period: float, step: float, **options: Any) -> np.ndarray:
    model = as_simulated(plant)
    inputs = {}
    for j, signal in enumerate(model.inputs):
        jumps = [0, *(k + 1 for k, (a, b) in enumerate(pairwise(u[:, j])) if a != b)]
        values = (0.0, *(u[k, j] for k in jumps))
        inputs[signal.name] = fx.PiecewiseConstant(tuple(k * period for k in jumps), values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = fx.simulate(plant, inputs=inputs, duration=len(u) * period, step=step, **options)
    return np.array([run[s.name] for s in model.outputs]).T[:: round(period / step)]


def check_equal(
    plant: Any, path: Path, folder: Path, u: np.ndarray, times: int = 1, limit: float = 1e-8, amplified: float = 1e-5
) -> None:
    """Compare a unit with `simulate`, both with inner steps of 1 ms, `times` of them in a communication step."""
    model = as_simulated(plant)
    inputs, outputs = [s.name for s in model.inputs], [s.name for s in model.outputs]
    with opened(path, folder) as unit:
        unit.begin()
        found = [unit.get(outputs)]
        for values in u:
            unit.put(inputs, values)
            unit.step(1e-3 * times)
            found.append(unit.get(outputs))
    wanted = simulated(plant, u, 1e-3 * times, 1e-3)
    peak = np.abs(wanted).max(axis=0)
    error = np.abs(np.array(found) - wanted).max(axis=0)
    allowed = np.array([amplified if any(word in name for word in AMPLIFIED) else limit for name in outputs])
    assert np.all(peak[: len(inputs)] > 0.0)
    bad = {n: e / p for n, e, p, a in zip(outputs, error, peak, allowed, strict=True) if e > a * p}
    assert not bad


def exported(plant: Any, folder: Path, **options: Any) -> tuple[Path, Path]:
    fx.export_plant(plant, folder / "out", "fmu", name="arm", nonlinear=True, **options)
    return folder / "out" / "arm.fmu", folder / "unpacked"


@pytest.fixture(scope="module")
def unit_of_beams(tmp_path_factory):
    return exported(heavy(), tmp_path_factory.mktemp("beams"))


def test_planar_beams_are_the_run_of_simulate(unit_of_beams):
    check_equal(heavy(), *unit_of_beams, commands(60, INPUTS, 0.3), times=2)


def test_assumed_modes_with_closure_and_cylinders(tmp_path):
    count = len(as_simulated(ralf()).inputs)
    check_equal(ralf(), *exported(ralf(), tmp_path), commands(60, count, 0.02), limit=1e-10, amplified=1e-10)


OTHERS: dict[str, tuple[Any, float]] = {
    "servos": (lambda: fx.load_plant("planar_2r_servo", model={"elements": 3}), 0.1),
    "modal": (lambda: beams(damping={"kind": "modal", "ratio": 0.02}), 0.2),
    "rayleigh": (lambda: beams(damping={"kind": "rayleigh", "alpha": 0.3, "beta": 1e-4}), 0.2),
    "modes": (lambda: fx.load_plant("planar_2r_flexible", model="assumed_modes"), 0.2),
    "segments": (lambda: fx.load_plant("planar_2r_flexible", model="finite_segment"), 0.2),
    "ancf": (lambda: fx.load_plant("planar_2r_flexible", model={"kind": "ancf", "elements": 3}), 0.2),
    "spatial": (lambda: fx.load_plant("spatial_3r"), 0.2),
    "spring": (lambda: fx.load_plant("quanser_flexible_joint"), 0.05),
    "motor": (lambda: fx.load_plant("quanser_flexible_link"), 0.05),
    "motor on modes": (lambda: fx.load_plant("quanser_flexible_link", model="assumed_modes"), 0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_every_compiled_formulation(tmp_path, name):
    make, size = OTHERS[name]
    plant = make()
    u = commands(50, len(as_simulated(plant).inputs), size)
    check_equal(plant, *exported(plant, tmp_path), u, amplified=1e-4)


def run(unit: Any, steps: int, torque: float = 0.3) -> np.ndarray:
    found = []
    for k in range(steps):
        unit.put(["joint1_torque"], [torque if k < steps // 2 else -torque])
        unit.step(1e-3)
        found.append(unit.get(unit.group("output")))
    return np.array(found)


def test_importers_accept_it(unit_of_beams):
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(unit_of_beams[0])) == []
    found = fmpy.read_model_description(str(unit_of_beams[0]))
    assert found.modelExchange is None
    assert found.coSimulation.canGetAndSetFMUstate
    assert found.coSimulation.canSerializeFMUstate
    told = {v.name: (v.causality, v.unit) for v in found.modelVariables}
    assert told["joint1_torque"] == ("input", "N m")
    assert told["joint2"] == ("local", "rad")
    assert told["joint2_rate"] == ("output", "rad/s")
    assert told["joint2_rate_rate"] == ("local", "rad/s")


def test_saved_states_reset_and_two_instances(unit_of_beams):
    with opened(*unit_of_beams) as one, opened(*unit_of_beams, "two") as two:
        one.begin()
        two.begin()
        run(one, 10)
        state = one.slave.getFMUstate()
        data = one.slave.serializeFMUstate(state)
        here = one.time
        wanted = run(one, 10)
        run(two, 7, -0.8)  # does not disturb the other
        one.slave.setFMUstate(state)
        one.time = here
        assert np.array_equal(run(one, 10), wanted)
        moved = two.slave.deSerializeFMUstate(data)
        two.slave.setFMUstate(moved)
        two.time = here
        assert np.array_equal(run(two, 10), wanted)
        for unit in (one, two):
            unit.slave.reset()
        assert np.array_equal(run(two.begin(), 10), run(one.begin(), 10))


def test_coordinates_may_begin_elsewhere(unit_of_beams):
    """As `simulate(initial=)`, thrown from a bent pose."""
    plant = heavy()
    model = as_simulated(plant)
    q, v = model.rigid_motion(np.array([0.3, -0.4]), np.array([0.5, 0.2]), np.zeros(2))[:2]
    with opened(*unit_of_beams) as unit:
        names = [s.name for s in model.coordinates]
        rates = unit.group("local")[len(names):]
        unit.begin(dict(zip([*names, *rates], [*q, *v], strict=True)))
        found = [unit.get(unit.group("output"))]
        for _ in range(30):
            unit.step(1e-3)
            found.append(unit.get(unit.group("output")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = fx.simulate(plant, duration=0.03, step=1e-3, initial=(q, v))
    for i, name in enumerate(s.name for s in model.outputs):
        error = np.abs(np.array(found)[:, i] - run[name]).max()
        assert error <= (1e-5 if any(word in name for word in AMPLIFIED) else 1e-8) * np.abs(run[name]).max(), name


@pytest.mark.slow
def test_a_pose_is_held_by_its_inputs(tmp_path):
    pose = {"joint1": 0.4, "joint2": -0.6}
    at = fx.rest_point(heavy(), pose)
    with opened(*exported(heavy(), tmp_path, pose=pose)) as unit:
        unit.begin()
        assert unit.get(unit.group("input")) == pytest.approx(at.u, rel=1e-12)
        assert unit.get(["joint1_angle", "joint2_angle"]) == pytest.approx([0.4, -0.6], rel=1e-12)
        begun = unit.get(["tip_x", "tip_y"])
        for _ in range(50):
            unit.step(1e-3)
        assert unit.get(["tip_x", "tip_y"]) == pytest.approx(begun, abs=1e-7)
        assert unit.get(["joint1_rate"]) == pytest.approx([0.0], abs=1e-5)


def test_a_step_of_any_length_is_divided(unit_of_beams):
    """7.3 inner steps are taken as 8 equal ones: as `simulate` with that step."""
    u = np.array([[0.2, -0.1, *[0.0] * (INPUTS - 2)]] * 5)
    with opened(*unit_of_beams) as unit:
        unit.begin()
        found = [unit.get(["joint1_angle"])]
        for values in u:
            unit.put(unit.group("input"), values)
            unit.step(7.3e-3)
            found.append(unit.get(["joint1_angle"]))
    wanted = simulated(heavy(), u, 7.3e-3, 7.3e-3 / 8)[:, 0]
    assert np.array(found)[:, 0] == pytest.approx(wanted, rel=1e-8, abs=1e-8 * np.abs(wanted).max())


def test_a_step_that_fails_is_discarded_and_leaves_the_state(unit_of_beams, capfd):
    with opened(*unit_of_beams) as unit:
        unit.begin()
        run(unit, 5)
        before = unit.get([*unit.group("output"), *unit.group("local")])
        unit.put(["joint1_torque"], [1e7])
        with pytest.raises(FMICallException) as caught:
            unit.slave.doStep(unit.time, 1e-3)
        assert caught.value.status == 2  # fmi2Discard
        assert np.array_equal(unit.get([*unit.group("output"), *unit.group("local")]), before)
        unit.put(["joint1_torque"], [0.1])
        unit.step(1e-3)
        unit.put(["joint1_torque"], [np.nan])
        with pytest.raises(FMICallException):
            unit.slave.doStep(unit.time, 1e-3)
    told = capfd.readouterr().out
    assert "Newton did not converge at t = 0.006 s" in told
    assert "--step" in told
    assert "input 1 is nan" in told


def test_a_second_importer(unit_of_beams):
    pytest.importorskip("libcosimpy", reason="libcosimpy, a second importer, is not installed")
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimManipulator import CosimManipulator
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    u = commands(40, INPUTS, 0.3, seed=3)
    wanted = simulated(heavy(), u, 1e-3, 1e-3)
    execution = CosimExecution.from_step_size(step_size=1_000_000)  # [ns]
    index = execution.add_local_slave(CosimLocalSlave(str(unit_of_beams[0]), "one"))
    observer, manipulator = CosimObserver.create_last_value(), CosimManipulator.create_override()
    execution.add_observer(observer)
    execution.add_manipulator(manipulator)
    found = []
    for values in u:
        manipulator.slave_real_values(index, list(range(INPUTS)), [float(x) for x in values])
        assert execution.step()
        found.append(observer.last_real_values(index, list(range(INPUTS, INPUTS + 4))))  # joint angles, rates
    error = np.abs(np.array(found) - wanted[1:, :4]).max(axis=0)
    assert np.all(error <= 1e-8 * np.abs(wanted[:, :4]).max(axis=0))


def test_two_exports_are_the_same_bytes(tmp_path):
    for name in "ab":
        fx.export_plant(beams(), tmp_path / name, "fmu", name="arm", nonlinear=True, binary=False)
    assert (tmp_path / "a/arm.fmu").read_bytes() == (tmp_path / "b/arm.fmu").read_bytes()


@pytest.mark.parametrize(
    ("plant", "options", "told"),
    [
        (lambda: "tokhi_azad_1994", {}, "is linear: leave --nonlinear out"),
        (lambda: beams(damping={"kind": "modal", "ratio": 0.9}), {}, "no compiled time loop here"),
        (beams, {"modes": 2}, "modes has no effect on a nonlinear arm"),
        (beams, {"step": -1.0}, "step = -1.0 s must be positive"),
        (beams, {"pose": {"elbow": 1.0}}, "elbow"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, plant, options, told):
    with pytest.raises((fx.DefinitionError, fx.NotAvailable), match=told):
        fx.export_plant(plant(), tmp_path / "out", "fmu", name="arm", nonlinear=True, **options)
    assert not (tmp_path / "out").exists()


def test_a_linear_export_takes_no_pose(tmp_path):
    with pytest.raises(fx.DefinitionError, match="pose is for nonlinear=True"):
        fx.export_plant(beams(), tmp_path / "out", "fmu", pose={"joint1": 0.1})
