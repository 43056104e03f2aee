"""FMU of sampled laws: the numbers of the law in Python to the last bit, alone and in the loop with a plant's FMU."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

import flexctl as fx
from flexctl import export as exports
from flexctl.export.c import program_for
from flexctl.export.fmu import package
from flexctl.laws.controller import initial_at
from flexctl.linear.discrete import zero_order_hold

fmpy = pytest.importorskip("fmpy", reason="FMPy, an importer of FMUs, is not installed: pip install 'flexctl[fmu]'")
if package.find_compiler() is None or package.binary_folder() is None:
    pytest.skip("no C compiler on 64-bit Linux: no binary", allow_module_level=True)

from units import opened  # noqa: E402


def linear(seed: int = 0, nx: int = 5, drives: tuple[str, ...] = ("joint1_torque",)) -> fx.LinearLaw:
    rng = np.random.default_rng(seed)
    nu = len(drives)
    A = rng.standard_normal((nx, nx))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    return fx.LinearLaw(
        1e-3, ("joint1_angle", "tip_displacement"), drives, ("joint1_angle",), A=A, By=rng.standard_normal((nx, 2)),
        Br=rng.standard_normal((nx, 3)), Bu=0.1 * rng.standard_normal((nx, nu)), C=rng.standard_normal((nu, nx)),
        Dy=rng.standard_normal((nu, 2)), Dr=rng.standard_normal((nu, 3)), start=rng.standard_normal((nx, 2)),
    ).limited(-2.0, 3.0)


LAWS = {
    "linear": linear,
    "wrapped": lambda: fx.Delayed(fx.Saturated(fx.Quantised(linear(1), {"tip_displacement": 1e-2}), 1.5), 2),
    "two": lambda: fx.Delayed(linear(2, drives=("a", "b")), 1),
    "proportional": lambda: fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]]),
}


@pytest.mark.parametrize("name", LAWS)
def test_law_in_the_unit_is_the_law_bit_for_bit(tmp_path, name):
    from fmpy.validation import validate_fmu

    law = LAWS[name]()
    fx.export_law(law, tmp_path / "out", "fmu", name=name)
    path = tmp_path / "out" / f"{name}.fmu"
    assert validate_fmu(str(path)) == []
    rng = np.random.default_rng(5)
    with opened(path, tmp_path / "unpacked") as unit:
        inputs, outputs = unit.group("input"), unit.group("output")
        ny = len(law.measures)
        y0 = rng.standard_normal(ny)
        unit.begin(dict(zip(law.measures, y0, strict=True)))
        state = law.initial_at(y0)
        for k in range(2000):
            y, r = rng.standard_normal(ny), rng.standard_normal(3 * len(law.follows))
            unit.put(inputs, [*y, *r])
            unit.step(1e-3)
            u, state = law.step(state, k * 1e-3, y, r)
            assert np.array_equal(unit.get(outputs), u)


def test_variables_have_names_units_and_limits(tmp_path):
    fx.export_law(linear(), tmp_path / "out", "fmu", name="law", plant="tokhi_azad_1994")
    found = fmpy.read_model_description(str(tmp_path / "out" / "law.fmu"))
    told = {v.name: (v.causality, v.variability, v.unit, v.min, v.max) for v in found.modelVariables}
    assert told["joint1_angle"] == ("input", "discrete", "rad", None, None)
    assert told["joint1_angle_reference_acceleration"][2] == "rad/s^2"
    assert told["joint1_torque"][:3] == ("output", "discrete", "N m")
    assert [float(value) for value in told["joint1_torque"][3:]] == [-2.0, 3.0]
    assert found.modelExchange is None
    assert found.coSimulation.canHandleVariableCommunicationStepSize is False
    assert float(found.defaultExperiment.stepSize) == 1e-3


def test_several_periods_in_one_step_hold_the_inputs_and_other_steps_are_refused(tmp_path):
    law = linear(3)
    fx.export_law(law, tmp_path / "out", "fmu", name="law")
    with opened(tmp_path / "out" / "law.fmu", tmp_path / "unpacked") as unit:
        unit.begin()
        y, r = np.array([0.3, -0.2]), np.array([0.1, 0.0, 0.2])
        unit.put(unit.group("input"), [*y, *r])
        unit.step(4e-3)
        state = law.initial_at(np.zeros(2))
        for _ in range(4):
            u, state = law.step(state, 0.0, y, r)
        assert np.array_equal(unit.get(["joint1_torque"]), u)
        for wrong in (0.4e-3, 1.5e-3):
            with pytest.raises(Exception, match="fmi2DoStep"):
                unit.step(wrong)
        saved, time = unit.slave.getFMUstate(), unit.time
        unit.step(1e-3)
        first = unit.get(["joint1_torque"])
        unit.slave.setFMUstate(saved)
        unit.time = time
        unit.step(1e-3)
        assert np.array_equal(unit.get(["joint1_torque"]), first)


def test_readings_that_are_no_numbers_hold_the_command(tmp_path):
    law = linear(4)
    fx.export_law(law, tmp_path / "out", "fmu", name="law")
    with opened(tmp_path / "out" / "law.fmu", tmp_path / "unpacked") as unit:
        unit.begin()
        unit.put(unit.group("input"), [0.1, 0.2, 0.0, 0.0, 0.0])
        unit.step(1e-3)
        before = unit.get(["joint1_torque"])
        unit.put(["tip_displacement"], [np.nan])
        unit.step(1e-3)  # fmi2Warning
        assert np.array_equal(unit.get(["joint1_torque"]), before)
        assert np.isfinite(before).all()


def test_law_and_plant_coupled_are_the_loop(tmp_path):
    """The catalogue's LQG with its plant, against a loop in Python over the exactly sampled plant."""
    script = fx.load_controller("tokhi_azad_lqg")
    design = script.design(fx.load_plant("tokhi_azad_1994"))
    plant = fx.load_plant("tokhi_azad_1994").linearise()
    fx.export_law(design, tmp_path / "law", "fmu", name="law")
    fx.export_plant(plant, tmp_path / "plant", "fmu", name="arm")
    law, T = design.law, design.sample_time
    exact = zero_order_hold(plant, T)
    reads = [fx.index_of("output", name, plant.outputs) for name in law.measures]
    x, state, found, wanted = np.zeros(len(exact.states)), None, [], []
    with (
        opened(tmp_path / "law" / "law.fmu", tmp_path / "a") as control,
        opened(tmp_path / "plant" / "arm.fmu", tmp_path / "b") as arm,
    ):
        arm.begin()
        control.begin()
        state = initial_at(law, np.zeros(len(law.measures)))
        references = [name for name in control.group("input") if "_reference" in name]
        for k in range(1000):
            r = np.zeros(len(references))
            r[0] = 0.5
            control.put(list(law.measures), arm.get(list(law.measures)))
            control.put(references, r)
            control.step(T)
            arm.put(["joint1_torque"], control.get(["joint1_torque"]))
            arm.step(T)
            u, state = law.step(state, k * T, exact.C[reads] @ x, r)
            x = exact.A @ x + exact.B @ u
            found.append([*arm.get(["joint1_angle", "tip_displacement"]), *control.get(["joint1_torque"])])
            wanted.append([*(exact.C @ x)[[0, 2]], *u])
    error = np.abs(np.array(found) - wanted).max(axis=0)
    assert np.all(error <= 1e-9 * np.abs(wanted).max(axis=0))
    assert np.ptp(np.array(wanted)[:, 0]) > 0.1


def test_exports_repeat_to_the_byte(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    for place in ("a", "b"):
        fx.export_law(linear(), tmp_path / place, "fmu", name="law")
    assert (tmp_path / "a/law.fmu").read_bytes() == (tmp_path / "b/law.fmu").read_bytes()
    names = zipfile.ZipFile(io.BytesIO((tmp_path / "a/law.fmu").read_bytes())).namelist()
    assert {"sources/law.c", "sources/law.h", "sources/law_fmu.c", "binaries/linux64/law.so"} <= set(names)


def test_refusals(tmp_path):
    class Own:
        sample_time, measures, drives, follows = 1e-3, ("y",), ("u",), ()

        def initial(self):
            return 0

        def step(self, state, t, y, r):
            return -y, state

    with pytest.raises(fx.NotAvailable, match="Own"):
        fx.export_law(Own(), tmp_path / "out", "fmu")
    continuous = fx.LinearLaw(0.0, ("y",), ("u",), A=[[-1.0]], By=[[1.0]], C=[[1.0]])
    with pytest.raises(fx.FlexctlError, match="sample"):
        fx.export_law(continuous, tmp_path / "out", "fmu")
    assert not (tmp_path / "out").exists()
    made = fx.export_law(continuous, tmp_path / "out", "fmu", sample_time=1e-3, method="tustin")
    assert made.facts["sample_time_s"] == 1e-3
    noisy = fx.Noisy(fx.LinearLaw(1e-3, ("y",), ("u",), Dy=[[-1.0]]), {"y": 1e-3})
    assert any("noise" in note for note in fx.export_law(noisy, tmp_path / "noisy", "fmu").notes)


def test_blended_laws_and_references_known_in_advance(tmp_path):
    designs = [linear(seed, 4).limited(-np.inf, np.inf) for seed in (6, 7, 8)]
    law = fx.blended([fx.Delayed(one, 1) for one in designs], [-1.0, 0.2, 1.5], "tip_displacement")
    fx.export_law(law, tmp_path / "blend", "fmu", name="blend")
    rng = np.random.default_rng(9)
    with opened(tmp_path / "blend" / "blend.fmu", tmp_path / "a") as unit:
        unit.begin()
        state, ny = initial_at(law, np.zeros(len(law.measures))), len(law.measures)
        for k in range(500):
            y, r = 2.0 * rng.standard_normal(ny), rng.standard_normal(3)
            unit.put(unit.group("input"), [*y, *r])
            unit.step(1e-3)
            u, state = law.step(state, k * 1e-3, y, r)
            assert np.array_equal(unit.get(["joint1_torque"]), u)
    motion = fx.quintic(0.0, 0.7, 0.05)
    one = linear(3)
    request = exports.Request(one, "known", options={"references": {"joint1_angle": motion}})
    table = program_for(request).table
    fx.export_law(one, tmp_path / "known", "fmu", name="known", references={"joint1_angle": motion})
    with opened(tmp_path / "known" / "known.fmu", tmp_path / "b") as unit:
        assert unit.group("input") == ["joint1_angle", "tip_displacement"]
        unit.begin()
        state = one.initial_at(np.zeros(2))
        assert table[-1] == pytest.approx([0.7, 0.0, 0.0], abs=1e-9)
        for k in range(80):
            y = rng.standard_normal(2)
            unit.put(["joint1_angle", "tip_displacement"], y)
            unit.step(1e-3)
            u, state = one.step(state, k * 1e-3, y, table[min(k, len(table) - 1)])
            assert np.array_equal(unit.get(["joint1_torque"]), u)


def test_the_range_that_a_law_was_designed_for_stands_in_code_and_fmu(tmp_path):
    """Beyond its designs a scheduled law goes on, in a program that warns of nothing."""
    script = fx.load_controller("planar_2r_scheduled")
    design = script.design(fx.load_plant(script.PLANT))
    told = "joint2_angle -2.61799 .. 2.61799 rad; outside it acts as at the nearest design"
    fx.export_law(design, tmp_path / "code", name="code")
    assert f"designed for: {told}" in (tmp_path / "code" / "code.h").read_text()
    fx.export_law(design, tmp_path / "out", "fmu", name="unit")
    with zipfile.ZipFile(tmp_path / "out" / "unit.fmu") as unit:
        assert f"Designed for: {told}" in unit.read("modelDescription.xml").decode()
    fx.export_law(linear(), tmp_path / "plain", name="plain")
    assert "designed for:" not in (tmp_path / "plain" / "plain.h").read_text()
