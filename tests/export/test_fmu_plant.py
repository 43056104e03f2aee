"""FMU of linear plants: what importers see, exact steps, derivatives, saved states, refusals."""

from __future__ import annotations

import ctypes
import io
import os
import subprocess
import zipfile
from dataclasses import replace
from decimal import Decimal, getcontext
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as sla

import flexctl as fx
from flexctl.export.fmu import package
from flexctl.export.fmu.description import distinct
from flexctl.export.fmu.exchange import GAIN, POWER, expected_error, tolerance_for
from flexctl.export.fmu.linear import RUNTIME, source
from flexctl.export.fmu.nominal import nominals
from flexctl.export.fmu.units import base_unit
from flexctl.linear import FirstOrder
from flexctl.linear.discrete import zero_order_hold

fmpy = pytest.importorskip("fmpy", reason="FMPy, an importer of FMUs, is not installed: pip install 'flexctl[fmu]'")
needs_compiler = pytest.mark.skipif(
    package.find_compiler() is None or package.binary_folder() is None,
    reason="no C compiler on 64-bit Linux: no binary",
)

from units import opened  # noqa: E402

STEPS = 200


def arm(modes: int | None = 4) -> FirstOrder:
    return fx.load_plant("tokhi_azad_1994").linearise().first_order("modal", modes)


def coupled() -> FirstOrder:
    """Two masses between a rigid motion and a stiff damped one, all coupled, two inputs, feed-through."""
    M, K = np.diag([1.0, 0.5, 2.0]), np.array([[40.0, -40.0, 0.0], [-40.0, 140.0, -100.0], [0.0, -100.0, 100.0]])
    D = 0.02 * K + np.diag([0.0, 3.0, 0.0])
    plant = fx.from_matrices(
        M, D, K, B=[[1.0, 0.0], [0.0, 0.3], [0.0, 1.0]], C=[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        Ca=[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        inputs=["push", "pull"], outputs=["left", "right"],
    )
    return plant.first_order("physical")


def overdamped() -> FirstOrder:
    """Pairs of every kind beside each other: integrator, fast decay, double pole, oscillation, unstable."""
    blocks = [
        [[0.0, 1.0], [0.0, 0.0]], [[0.0, 900.0], [-900.0, -5e4]], [[-30.0, 1.0], [0.0, -30.0]],
        [[0.0, 77.0], [-77.0, -1.0]], [[0.0, 2.0], [2.0, 0.0]], [[-7.0]],
    ]
    A = sla.block_diag(*blocks)
    n = len(A)
    return fx.from_matrices(A=A, B=np.ones((n, 1)), C=np.eye(n), D=0.5 * np.ones((n, 1)), inputs=["u"])


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Return a function from a plant to its FMU and a folder to unpack it in."""
    made = {}

    def export(name, plant):
        if name not in made:
            place = tmp_path_factory.mktemp(name)
            fx.export_plant(plant, place / "out", "fmu", name=name)
            made[name] = place / "out" / f"{name}.fmu", place / "unpacked"
        return made[name]

    return export


PLANTS = {"arm": arm, "coupled": coupled, "overdamped": overdamped}


@needs_compiler
@pytest.mark.parametrize("name", PLANTS)
def test_importers_find_nothing_wrong(exported, name):
    from fmpy.validation import validate_fmu

    path, _ = exported(name, PLANTS[name]())
    assert validate_fmu(str(path)) == []


@needs_compiler
@pytest.mark.parametrize("h", [1e-3, 0.37e-4, 0.0213])
@pytest.mark.parametrize("name", PLANTS)
def test_co_simulation_is_exact_at_any_step(exported, name, h):
    plant = PLANTS[name]()
    exact, x = zero_order_hold(plant, h), np.zeros(len(plant.states))
    rng, y, wanted = np.random.default_rng(3), [], []
    with opened(*exported(name, plant)) as unit:
        unit.begin()
        inputs, outputs = unit.group("input"), unit.group("output")
        for _ in range(STEPS):
            u = rng.standard_normal(len(inputs))
            unit.put(inputs, u)
            unit.step(h)
            x = exact.A @ x + exact.B @ u
            y.append(unit.get(outputs))
            wanted.append(exact.C @ x + exact.D @ u)
    error = np.abs(np.array(y) - wanted).max(axis=0)
    assert np.all(error <= 1e-12 * np.abs(wanted).max(axis=0))


@needs_compiler
def test_unequal_steps_make_the_same_way(exported):
    """The exponential property: three unequal steps end where one does; more lengths than are kept come and go."""
    plant = coupled()
    lengths = np.array([1e-4, 3e-3, 2e-2, 5e-4, 1e-4, 7e-3, 2e-2, 1e-3, 3e-3])
    found = []
    for steps in (lengths, [lengths.sum()]):
        with opened(*exported("coupled", plant)) as unit:
            unit.begin()
            unit.put(["push", "pull"], [1.0, -2.0])
            for h in steps:
                unit.step(float(h))
            found.append(unit.get(unit.group("local")))
    assert found[0] == pytest.approx(found[1], rel=1e-11, abs=1e-13)


@needs_compiler
def test_stiff_coupled_states_keep_their_digits(tmp_path):
    """A joint commanded in rate, 1e8 1/s over 1 ms. The slow part is known: the fast state follows at once."""
    A = np.array([[0.0, 1.0, 0.0], [-100.0, -0.2, 1e4], [0.0, -1e4, -1e8]])
    plant = fx.from_matrices(A=A, B=[[0.0], [1.0], [0.0]], C=np.eye(3), inputs=["u"])
    getcontext().prec = 60
    h, n = Decimal("0.001"), 4
    W = [[Decimal(float(value)) * h for value in row] for row in np.block([[A, plant.B], [np.zeros((1, 4))]])]
    small = [[value / (Decimal(2) ** 40) for value in row] for row in W]
    total = [[Decimal(int(i == j)) for j in range(n)] for i in range(n)]
    term = [row[:] for row in total]
    for k in range(1, 12):
        term = [[sum(term[i][m] * small[m][j] for m in range(n)) / k for j in range(n)] for i in range(n)]
        total = [[total[i][j] + term[i][j] for j in range(n)] for i in range(n)]
    for _ in range(40):
        total = [[sum(total[i][m] * total[m][j] for m in range(n)) for j in range(n)] for i in range(n)]
    exact = np.array([[float(value) for value in row] for row in total])
    fx.export_plant(plant, tmp_path / "out", "fmu", name="stiff")
    with opened(tmp_path / "out" / "stiff.fmu", tmp_path / "unpacked") as unit:
        unit.begin()
        unit.put(["u"], [1.0])
        x = np.zeros(3)
        for _ in range(100):
            unit.step(1e-3)
            x = exact[:3, :3] @ x + exact[:3, 3]
        assert unit.get(["x1", "x2", "x3"]) == pytest.approx(x, rel=1e-12)


@needs_compiler
def test_sampled_plants_step_by_their_sample_time(tmp_path):
    plant = zero_order_hold(arm(), 2e-3)
    fx.export_plant(plant, tmp_path / "out", "fmu", name="sampled")
    with opened(tmp_path / "out" / "sampled.fmu", tmp_path / "unpacked") as unit:
        assert unit.description.modelExchange is None
        unit.begin()
        unit.put(["joint1_torque"], [0.2])
        x = np.zeros(len(plant.states))
        for periods in (1, 3, 2):
            unit.step(periods * 2e-3)
            for _ in range(periods):
                x = plant.A @ x + plant.B[:, 0] * 0.2
            assert unit.get(unit.group("output")) == pytest.approx(plant.C @ x, rel=1e-13)
        with pytest.raises(Exception, match="fmi2DoStep"):
            unit.step(3e-3)


@needs_compiler
@pytest.mark.parametrize("name", PLANTS)
def test_directional_derivatives_are_the_matrices(exported, name):
    plant = PLANTS[name]()
    with opened(*exported(name, plant)) as unit:
        unit.begin()
        u, y = unit.group("input"), unit.group("output")
        x = unit.group("local")
        rates = [f"der({state})" for state in x]
        for matrix, unknown, known in ((plant.A, rates, x), (plant.B, rates, u), (plant.C, y, x), (plant.D, y, u)):
            for j, one in enumerate(known):
                found = unit.slave.getDirectionalDerivative(
                    [unit.place[name] for name in unknown], [unit.place[one]], [1.0]
                )
                assert np.array_equal(found, matrix[:, j])


@needs_compiler
def test_a_saved_state_is_taken_up_bit_for_bit(exported):
    with opened(*exported("coupled", coupled())) as unit:
        unit.begin()

        def run() -> np.ndarray:
            return np.array([(unit.put(["push"], [np.sin(k)]), unit.step(1e-3), unit.get(unit.group("output")))[2]
                             for k in range(100)])

        run()
        saved, time = unit.slave.getFMUstate(), unit.time
        data = unit.slave.serializeFMUstate(saved)
        first = run()
        unit.slave.setFMUstate(saved)
        unit.time = time
        assert np.array_equal(run(), first)
        unit.slave.setFMUstate(unit.slave.deSerializeFMUstate(data))
        unit.time = time
        assert np.array_equal(run(), first)
        unit.slave.freeFMUstate(saved)


@needs_compiler
def test_instances_do_not_disturb_each_other_and_reset_begins_anew(exported):
    path, folder = exported("coupled", coupled())
    with opened(path, folder, "a") as one, opened(path, folder, "b") as other:
        one.begin()
        other.begin()
        alone = []
        for k in range(50):
            one.put(["push"], [1.0])
            other.put(["push"], [-float(k)])
            one.step(1e-3)
            other.step(2e-3)
            alone.append(one.get(["left", "right"]))
        one.slave.reset()
        one.begin()
        for wanted in alone:
            one.put(["push"], [1.0])
            one.step(1e-3)
            assert np.array_equal(one.get(["left", "right"]), wanted)


@needs_compiler
def test_model_exchange_with_the_importers_defaults(tmp_path):
    """Without nominals the hub rate is wrong by 213 % at a relative tolerance of 1e-4."""
    plant = fx.load_plant("tokhi_azad_1994").linearise()
    fx.export_plant(plant, tmp_path / "out", "fmu", name="arm")
    path = str(tmp_path / "out" / "arm.fmu")
    first = plant.first_order()
    for tolerance, limit in ((1e-4, 1e-3), (None, 1e-6)):
        found = fmpy.simulate_fmu(
            path, fmi_type="ModelExchange", start_values={"joint1_torque": 0.1}, relative_tolerance=tolerance,
            stop_time=0.2, output_interval=1e-3, output=["joint1_angle", "joint1_rate", "tip_displacement"],
        )
        exact, x, wanted = zero_order_hold(first, 1e-3), np.zeros(len(first.states)), []
        for _ in range(len(found)):
            wanted.append((exact.C @ x)[:3])
            x = exact.A @ x + exact.B[:, 0] * 0.1
        error = np.abs(np.array([list(row)[1:] for row in found]) - wanted).max(axis=0)
        assert np.all(error <= limit * np.abs(wanted).max(axis=0))
    description = fmpy.read_model_description(path)
    assert float(description.defaultExperiment.tolerance) <= 1e-6


@needs_compiler
def test_the_tolerance_of_the_unit_serves_undamped_links(tmp_path):
    """RALF, 64 periods of its fastest mode: 1e-6 takes a relative tolerance of 1e-10, at 1e-4 it is told to be off."""
    first = fx.load_plant("ralf").linearise().first_order("modal")
    made = fx.export_plant(first, tmp_path / "out", "fmu", name="arm")
    assert any("relative tolerance of 1e-4" in note for note in made.notes)
    stop, outputs = made.facts["stop"], [s.name for s in first.outputs]
    exact = zero_order_hold(first, stop / 500)
    for j, signal in enumerate(first.inputs):
        found = fmpy.simulate_fmu(
            str(tmp_path / "out" / "arm.fmu"), fmi_type="ModelExchange", start_values={signal.name: 0.1},
            stop_time=stop, output_interval=stop / 500, output=outputs,
        )
        x, wanted = np.zeros(len(first.states)), []
        for _ in range(len(found)):
            wanted.append(exact.C @ x + exact.D[:, j] * 0.1)
            x = exact.A @ x + exact.B[:, j] * 0.1
        error = np.abs(np.array([list(row)[1:] for row in found]) - wanted).max(axis=0)
        assert np.all(error <= 1e-6 * np.abs(wanted).max(axis=0))


def test_the_expected_error_counts_the_periods_that_are_seen():
    """k x(t) = 1 - exp(-s t) (cos w t + s/w sin w t): its amplitude beside the first peak, one period a second."""
    for damping, lasting in ((0.0, 10.0), (4.0, 0.5)):
        plant = fx.from_matrices([[1.0]], [[damping]], [[4.0 * np.pi**2 + 0.25 * damping**2]], B=[[1.0]], C=[[1.0]])
        part = np.hypot(1.0, damping / (4.0 * np.pi)) / (1.0 + np.exp(-0.25 * damping))
        swing = expected_error(plant.first_order("physical"), 10.0, 1e-6) / (GAIN * 1e-6**POWER)
        assert swing == pytest.approx(part * lasting, rel=0.06)
    rigid = fx.from_matrices([[1.0]], [[0.0]], [[0.0]], B=[[1.0]], C=[[1.0]]).first_order("physical")
    assert tolerance_for(rigid, 1.0) == 1e-6


@needs_compiler
def test_nominals_in_description_and_function_are_the_same(exported):
    from fmpy.fmi2 import FMU2Model

    path, folder = exported("arm", arm())
    description = fmpy.read_model_description(path)
    if not folder.exists():
        fmpy.extract(path, folder)
    told = [float(v.nominal) for v in description.modelVariables if v.causality == "local" and v.derivative is None]
    model = FMU2Model(
        guid=description.guid, unzipDirectory=str(folder), instanceName="me",
        modelIdentifier=description.modelExchange.modelIdentifier,
    )
    model.instantiate()
    values = np.zeros(len(told))
    model.getNominalsOfContinuousStates(values.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), len(told))
    assert values.tolist() == told
    model.freeInstance()


def test_nominals_follow_the_unit_step_of_an_oscillator():
    """x'' + 4 x = u from rest: x peaks at 2 / 4, v at 1 / 2; a thousandth of it for the states."""
    plant = fx.from_matrices([[1.0]], K=[[4.0]], B=[[1.0]], C=[[1.0]]).first_order("physical")
    states, outputs = nominals(plant, 10.0)
    assert outputs == pytest.approx([0.5], rel=0.06)
    assert states == pytest.approx([5e-4, 5e-4], rel=0.06)


@needs_compiler
def test_a_second_importer(tmp_path):
    cosim = pytest.importorskip("libcosimpy", reason="libcosimpy, a second importer, is not installed")
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimManipulator import CosimManipulator
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    assert cosim is not None
    plant = coupled()
    fx.export_plant(plant, tmp_path / "out", "fmu", name="coupled")
    run = CosimExecution.from_step_size(step_size=1_000_000)  # [ns]
    index = run.add_local_slave(CosimLocalSlave(str(tmp_path / "out" / "coupled.fmu"), "one"))
    observer, manipulator = CosimObserver.create_last_value(), CosimManipulator.create_override()
    run.add_observer(observer)
    run.add_manipulator(manipulator)
    exact, x, found, wanted = zero_order_hold(plant, 1e-3), np.zeros(6), [], []
    for k in range(STEPS):
        u = [np.sin(0.1 * k), np.cos(0.3 * k)]
        manipulator.slave_real_values(index, [0, 1], u)
        assert run.step()
        found.append(observer.last_real_values(index, [2, 3]))
        wanted.append(exact.C @ x + exact.D @ u)
        x = exact.A @ x + exact.B @ u
        wanted[-1] = exact.C @ x + exact.D @ u
    error = np.abs(np.array(found) - wanted).max(axis=0)
    assert np.all(error <= 1e-12 * np.abs(wanted).max(axis=0))


# --- the files -------------------------------------------------------------------------------------------------------


def archive(folder: Path, name: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO((folder / f"{name}.fmu").read_bytes()))


@needs_compiler
def test_two_exports_are_the_same_bytes_and_the_guid_is_that_of_the_content(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    first = fx.export_plant(arm(), tmp_path / "a", "fmu", name="arm")
    second = fx.export_plant(arm(), tmp_path / "b", "fmu", name="arm")
    assert (tmp_path / "a/arm.fmu").read_bytes() == (tmp_path / "b/arm.fmu").read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    dated = fx.export_plant(arm(), tmp_path / "c", "fmu", name="arm", binary=False)
    described = archive(tmp_path / "c", "arm").read("modelDescription.xml")
    assert b'generationDateAndTime="2023-11-14T22:13:20Z"' in described
    other = fx.export_plant(arm(3), tmp_path / "d", "fmu", name="arm", binary=False)
    guids = [made.facts["guid"] for made in (first, second, dated, other)]
    assert guids[0] == guids[1] == guids[2] != guids[3]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(fx.DefinitionError, match="SOURCE_DATE_EPOCH"):
        fx.export_plant(arm(), tmp_path / "e", "fmu", name="arm")
    assert not (tmp_path / "e").exists()


@needs_compiler
def test_the_binary_shows_the_interface_alone_and_no_path(tmp_path):
    fx.export_plant(arm(), tmp_path / "out", "fmu", name="arm")
    data = archive(tmp_path / "out", "arm").read("binaries/linux64/arm.so")
    (tmp_path / "arm.so").write_bytes(data)
    listed = subprocess.run(["nm", "-D", "--defined-only", "arm.so"], cwd=tmp_path, capture_output=True, text=True)
    if listed.returncode == 0:
        shown = [line.split()[-1] for line in listed.stdout.splitlines()]
        assert len(shown) == 44
        assert all(name.startswith("fmi2") for name in shown)
    assert os.fsencode(str(tmp_path.parent)) not in data


@needs_compiler
def test_sources_compile_without_a_warning_also_with_a_prefix(tmp_path):
    fx.export_plant(coupled(), tmp_path / "out", "fmu", name="coupled")
    archive(tmp_path / "out", "coupled").extractall(tmp_path)
    strict = [
        "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes",
        "-Wmissing-prototypes", "-Wundef", "-Werror", "-DFMI2_FUNCTION_PREFIX=coupled_", "-c", "coupled.c", "-o", "c.o",
    ]
    words = [package.find_compiler(), *strict]
    run = subprocess.run(words, cwd=tmp_path / "sources", capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    words = ["nm", "--defined-only", "-g", "c.o"]
    listed = subprocess.run(words, cwd=tmp_path / "sources", capture_output=True, text=True)
    if listed.returncode == 0:
        assert all(line.split()[-1].startswith("coupled_fmi2") for line in listed.stdout.splitlines())


def test_without_a_compiler_the_fmu_has_sources_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    made = fx.export_plant(arm(), tmp_path / "out", "fmu", name="arm")
    assert any("no C compiler" in note for note in made.notes) or package.binary_folder() is None
    assert made.facts["binary"] is False
    names = archive(tmp_path / "out", "arm").namelist()
    assert "sources/flexctl_linear.c" in names
    assert not any(name.startswith("binaries/") for name in names)


@pytest.mark.skipif(package.binary_folder() is None, reason="binaries are built on 64-bit Linux alone")
def test_a_compiler_that_fails_is_told_and_nothing_is_left(tmp_path, monkeypatch):
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho 'no license' >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CC", str(fake))
    with pytest.raises(fx.NotAvailable, match=r"(?s)code 3.*no-binary.*no license"):
        fx.export_plant(arm(), tmp_path / "out", "fmu", name="arm")
    assert not (tmp_path / "out").exists()
    made = fx.export_plant(arm(), tmp_path / "out", "fmu", name="arm", binary=False)
    assert made.facts["binary"] is False


def test_source_says_every_matrix_entry_exactly():
    plant = coupled()
    text = source(plant, "x", "x */ y", np.ones(6))
    assert "x * / y" in text
    for value in plant.A[plant.A != 0]:
        assert float(value).hex() in text
    assert set(package.runtime(RUNTIME)) == set(RUNTIME)


# --- names and units -------------------------------------------------------------------------------------------------


def test_names_of_different_groups_stay_apart_and_twins_are_refused(tmp_path):
    A = np.array([[-1.0]])
    plant = fx.from_matrices(A=A, B=[[1.0]], C=[[1.0]], inputs=["v"], outputs=["v_output"], states=["s"])
    same = replace(plant, outputs=(fx.Signal("v"),), states=(fx.Signal("v"),))
    made = fx.export_plant(same, tmp_path / "out", "fmu", name="same", binary=False)
    assert any('the output "v" is called "v_output"' in note for note in made.notes)
    assert any('the state "v" is called "v_state"' in note for note in made.notes)
    twins = replace(same, inputs=(fx.Signal("w"), fx.Signal("w")), B=np.ones((1, 2)), D=np.zeros((1, 2)))
    with pytest.raises(fx.DefinitionError, match='two inputs are called "w"'):
        fx.export_plant(twins, tmp_path / "twins", "fmu", name="twins")
    assert not (tmp_path / "twins").exists()


def test_a_new_name_is_not_one_that_exists():
    found, notes = distinct([("input", ["a"]), ("output", ["a", "a_output"]), ("state", ["a_output", "b"])])
    assert found == [["a"], ["a_output2", "a_output"], ["a_output_state", "b"]]
    assert len(notes) == 2


def test_strange_names_and_texts_are_still_valid(tmp_path):
    from fmpy.validation import validate_fmu

    plant = fx.from_matrices(A=[[-1.0]], B=[[1.0]], C=[[1.0]], inputs=["u"], outputs=["y"])
    odd = replace(
        plant, outputs=(fx.Signal('tip <&> "left" 100%', "rad/s²", 'déjà "vu" \x01'),),
        inputs=(fx.Signal("a b", "furlong"),),
    )
    fx.export_plant(odd, tmp_path / "out", "fmu", name="odd", binary=False)
    assert validate_fmu(str(tmp_path / "out" / "odd.fmu")) == []
    described = archive(tmp_path / "out", "odd").read("modelDescription.xml").decode()
    assert 'variableNamingConvention="flat"' in described


@pytest.mark.parametrize(
    ("unit", "factor", "exponents"),
    [
        ("rad", 1.0, {"rad": 1}), ("N m", 1.0, {"kg": 1, "m": 2, "s": -2}), ("rad/s^2", 1.0, {"s": -2, "rad": 1}),
        ("N m s/rad", 1.0, {"kg": 1, "m": 2, "s": -1, "rad": -1}), ("m/s²", 1.0, {"m": 1, "s": -2}), ("1", 1.0, {}),
        ("1/s", 1.0, {"s": -1}), ("deg", np.pi / 180, {"rad": 1}), ("mm/s", 1e-3, {"m": 1, "s": -1}),
        ("kg m^2", 1.0, {"kg": 1, "m": 2}), ("Pa", 1.0, {"kg": 1, "m": -1, "s": -2}),
    ],
)
def test_units_in_base_units(unit, factor, exponents):
    found = base_unit(unit)
    assert found is not None
    assert found.factor == pytest.approx(factor)
    assert found.exponents == exponents


@pytest.mark.parametrize("unit", ["J^0.5", "furlong", "kg^0.5 m", "?"])
def test_units_that_fmi_cannot_say(unit):
    assert base_unit(unit) is None


# --- wrong calls and wrong input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": 4}, "first order already"), ({"step": 0.0}, "step = 0.0 s"), ({"stop": -1.0}, "stop = -1.0 s"),
        ({"sample_time": 1e-3}, "sample_time has no effect"), ({"setp": 1.0}, "setp"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    with pytest.raises(fx.DefinitionError, match=message):
        fx.export_plant(coupled(), tmp_path / "out", "fmu", name="x", **options)
    assert not (tmp_path / "out").exists()


@needs_compiler
def test_the_unit_refuses_what_it_cannot_do(exported):
    with opened(*exported("coupled", coupled())) as unit:
        unit.begin(stop=0.01)
        unit.put(["push"], [np.nan])
        with pytest.raises(Exception, match="fmi2DoStep"):
            unit.step(1e-3)
        unit.put(["push"], [0.0])
        unit.step(1e-3)
        with pytest.raises(Exception, match="fmi2DoStep"):
            unit.slave.doStep(0.5, 1e-3)
        with pytest.raises(Exception, match="fmi2DoStep"):
            unit.step(0.02)
        with pytest.raises(Exception, match="fmi2SetReal"):
            unit.put(["left"], [1.0])
        with pytest.raises(Exception, match="fmi2SetReal"):
            unit.put([unit.group("local")[0]], [1.0])
        with pytest.raises(Exception, match="fmi2SetupExperiment"):
            unit.slave.setupExperiment(startTime=0.0)
        unit.step(1e-3)
