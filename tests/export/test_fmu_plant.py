"""FMU of linear plants: what importers see, exact steps, derivatives, saved states, refusals."""

from __future__ import annotations

import ctypes
from decimal import Decimal, getcontext

import numpy as np
import pytest
import scipy.linalg as sla

import flexctl as fx
from flexctl.export.fmu import package
from flexctl.export.fmu.nominal import nominals
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
        x = unit.integrated()
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
def test_nominals_in_description_and_function_are_the_same(exported):
    from fmpy.fmi2 import FMU2Model

    path, folder = exported("arm", arm())
    description = fmpy.read_model_description(path)
    if not folder.exists():
        fmpy.extract(path, folder)
    told = [float(v.derivative.nominal) for v in description.modelVariables if v.derivative is not None]
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
