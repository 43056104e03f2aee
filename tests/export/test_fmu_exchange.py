"""Model exchange: what importers' solvers do to oscillations that hardly decay, and what the unit does about it.

The importer is FMPy with CVode. Its class for CVode also integrates plants written here in Python, without any unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla

import flexctl as fx
from flexctl.export.fmu import package
from flexctl.export.fmu.exchange import GAIN, POWER, departs, expected_error, tolerance_for
from flexctl.linear import FirstOrder
from flexctl.linear.discrete import zero_order_hold

fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed: pip install 'flexctl[fmu]'")
pytestmark = pytest.mark.skipif(
    package.find_compiler() is None or package.binary_folder() is None,
    reason="no C compiler on 64-bit Linux: no binary",
)

POINTS = 200


def undamped() -> FirstOrder:
    """Two modes, 8 and 31 Hz, each a group of its own."""
    return _plant(np.zeros((2, 2)), "modal")


def coupled() -> FirstOrder:
    """The same a little damped at one mass, which couples all states; one group of four."""
    return _plant(np.diag([0.02, 0.0]), "physical")


def _plant(D: Any, form: str) -> FirstOrder:
    K = (2.0 * np.pi * 10.0) ** 2 * np.array([[5.0, -4.0], [-4.0, 5.0]])
    return fx.from_matrices(
        np.eye(2), D, K, B=[[1.0, 0.0], [0.0, 1.0]], C=np.eye(2), Cv=[[1.0, 0.0], [0.0, 1.0]],
        inputs=["push", "pull"], outputs=["left", "right"],
    ).first_order(form)


class Python:
    """x' = A x + b as an importer sees a unit."""

    def __init__(self, A: Any, b: Any, nominal: Any) -> None:
        self.A, self.b, self.nominal, self.x = A, b, nominal, np.zeros(len(A))

    def solver(self, tolerance: float, stop: float) -> Any:
        from fmpy.sundials import CVodeSolver

        def view(pointer: Any, n: int) -> Any:
            return np.ctypeslib.as_array(pointer, (n,))

        return CVodeSolver(
            nx=len(self.x), nz=0, input=None, startTime=0.0, maxStep=stop / 50.0, relativeTolerance=tolerance,
            get_x=lambda p, n: view(p, n).__setitem__(slice(None), self.x),
            set_x=lambda p, n: self.x.__setitem__(slice(None), view(p, n)),
            get_dx=lambda p, n: view(p, n).__setitem__(slice(None), self.A @ self.x + self.b),
            get_z=lambda p, n: None, set_time=lambda t: None,
            get_nominals=lambda p, n: view(p, n).__setitem__(slice(None), self.nominal),
        )

    def run(self, C: Any, tolerance: float, stop: float, restarts: int = 0) -> Any:
        """Outputs at POINTS + 1 times; a restart is a time event, so many between two of them."""
        solver, found, parts = self.solver(tolerance, stop), [C @ self.x], max(restarts, 1) * POINTS
        for k in range(1, parts + 1):
            solver.step((k - 1) * stop / parts, k * stop / parts)
            if restarts:
                solver.reset(k * stop / parts)
            if k % max(restarts, 1) == 0:
                found.append(C @ self.x)
        return np.array(found)


def held(plant: FirstOrder, inputs: Any, stop: float, x: Any = None) -> Any:
    """Outputs at POINTS + 1 times under inputs (POINTS, p) that are held between them."""
    exact, x, y = zero_order_hold(plant, stop / POINTS), np.zeros(len(plant.A)) if x is None else x, []
    for u in inputs:
        y.append(exact.C @ x + exact.D @ u)
        x = exact.A @ x + exact.B @ u
    return np.array([*y, exact.C @ x + exact.D @ inputs[-1]])


def worst(found: Any, wanted: Any) -> float:
    return float((np.abs(np.asarray(found) - wanted).max(axis=0) / np.abs(wanted).max(axis=0)).max())


MADE: dict[Any, Any] = {}


def exported(plant: FirstOrder, folder: Any, **options: Any) -> Any:
    """Return the export and the path of its unit, which is made once."""
    key = (plant.A.tobytes(), plant.B.tobytes(), plant.C.tobytes(), tuple(options.items()))
    if key not in MADE:
        made = fx.export_plant(plant, folder / "out", "fmu", name="unit", **options)
        MADE[key] = made, str(folder / "out" / "unit.fmu")
    return MADE[key]


def simulated(path: str, plant: FirstOrder, stop: float, tolerance: float | None, **words: Any) -> Any:
    rows = fmpy.simulate_fmu(
        path, fmi_type="ModelExchange", relative_tolerance=tolerance, stop_time=stop, output_interval=stop / POINTS,
        output=[s.name for s in plant.outputs], record_events=False, **words,
    )
    return np.array([list(row)[1:] for row in rows])


# --- what solvers do -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_the_solver_is_off_by_as_much_without_a_unit(tmp_path, tolerance):
    """The same plant written in Python, with the nominals of the unit: the error is the solver's, not the unit's."""
    plant, stop = undamped(), 2.0
    made, path = exported(plant, tmp_path, stop=stop, plain_states=True)
    assert made.facts["departures"] is False
    description = fmpy.read_model_description(path)
    nominal = [float(v.derivative.nominal) for v in description.modelVariables if v.derivative is not None]
    wanted = held(plant, np.tile([1.0, 0.0], (POINTS, 1)), stop)
    alone = worst(Python(plant.A, plant.B[:, 0], nominal).run(plant.C, tolerance, stop), wanted)
    unit = worst(simulated(path, plant, stop, tolerance, start_values={"push": 1.0}), wanted)
    assert unit == pytest.approx(alone, rel=0.02)
    assert 0.1 < alone / expected_error(plant, stop, tolerance) < 12.0
    assert alone > 20.0 * tolerance


def test_restarts_at_time_events_make_it_worse():
    """A solver that begins anew takes steps of low order, whose errors are as large as it allows."""
    plant, stop = undamped(), 2.0
    wanted = held(plant, np.tile([1.0, 0.0], (POINTS, 1)), stop)
    nominal = 1e-3 * np.ones(4)
    plain, restarted = (
        worst(Python(plant.A, plant.B[:, 0], nominal).run(plant.C, 1e-4, stop, restarts), wanted)
        for restarts in (0, 5)
    )
    assert restarted > 2.0 * plain > 1e-3


def test_the_expected_error_counts_the_periods_that_are_seen():
    """k x(t) = 1 - exp(-s t) (cos w t + s/w sin w t): its amplitude beside the first peak, one period a second."""
    for damping, lasting in ((0.0, 10.0), (4.0, 0.5)):
        plant = fx.from_matrices([[1.0]], [[damping]], [[4.0 * np.pi**2 + 0.25 * damping**2]], B=[[1.0]], C=[[1.0]])
        part = np.hypot(1.0, damping / (4.0 * np.pi)) / (1.0 + np.exp(-0.25 * damping))
        swing = expected_error(plant.first_order("physical"), 10.0, 1e-6) / (GAIN * 1e-6**POWER)
        assert swing == pytest.approx(part * lasting, rel=0.06)
    rigid = fx.from_matrices([[1.0]], [[0.0]], [[0.0]], B=[[1.0]], C=[[1.0]]).first_order("physical")
    assert tolerance_for(rigid, 1.0) == 1e-6
    assert not departs(rigid, 1e-3, 1.0)


# --- what the unit does ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [undamped, coupled])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, None])
def test_held_inputs_are_followed_exactly_at_any_tolerance(tmp_path, make, tolerance):
    plant, stop = make(), 5.0
    made, path = exported(plant, tmp_path, stop=stop)
    assert made.facts["departures"]
    assert any("_departure" in note for note in made.notes)
    for j, signal in enumerate(plant.inputs):
        u = np.tile(np.eye(2)[j], (POINTS, 1))
        found = simulated(path, plant, stop, tolerance, start_values={signal.name: 1.0})
        assert worst(found, held(plant, u, stop)) < 1e-10


@pytest.mark.parametrize("name", ["ralf", "planar_2r_flexible", "tokhi_azad_1994"])
def test_arms_of_the_catalogue(tmp_path, name):
    """Of planar_2r_flexible CVode gave up in 0.3 ms, with plain states."""
    plant = fx.load_plant(name).linearise().first_order("modal")
    made, path = exported(plant, tmp_path)
    stop, u = made.facts["stop"], np.zeros((POINTS, len(plant.inputs)))
    u[:, 0] = 0.1
    wanted = held(plant, u, stop)
    shown = np.abs(wanted).max(axis=0) > 1e-9 * np.abs(wanted).max()
    for tolerance, limit in ((1e-4, 1e-3), (None, 1e-6)):
        found = simulated(path, plant, stop, tolerance, start_values={plant.inputs[0].name: 0.1})
        assert worst(found[:, shown], wanted[:, shown]) < 1e-3 * limit


@pytest.mark.parametrize("make", [undamped, coupled])
@pytest.mark.parametrize("events", [True, False])
def test_inputs_that_change_at_events_or_at_ends_of_steps(tmp_path, make, events):
    plant, stop = make(), 1.0
    _, path = exported(plant, tmp_path, stop=stop)
    u = np.repeat(np.random.default_rng(1).standard_normal((POINTS // 10, 2)), 10, axis=0)
    h, kind = stop / POINTS, [("time", float), ("push", float), ("pull", float)]
    if events:  # two values at one time are an event of FMPy
        rows = [row for k in range(POINTS) for row in ((k * h, *u[k]), ((k + 1) * h, *u[k]))]
    else:  # it sets inputs between steps, without an event
        rows = [(k * h, *u[min(k, POINTS - 1)]) for k in range(POINTS + 1)]
    found = simulated(path, plant, stop, 1e-3, input=np.array(rows, dtype=kind))
    assert worst(found[:: len(found) // POINTS][: POINTS + 1], held(plant, u, stop)) < 1e-10


class Exchange:
    """An importer that sets inputs whenever it asks for rates, u(t, y)."""

    def __init__(self, path: str, folder: Any, u: Callable[..., Any]) -> None:
        from fmpy.fmi2 import FMU2Model

        self.description = fmpy.read_model_description(path)
        found = self.description.modelVariables
        self.place = {v.name: v.valueReference for v in found}
        self.inputs, self.outputs = ([v.valueReference for v in found if v.causality == c] for c in ("input", "output"))
        self.model = FMU2Model(
            guid=self.description.guid, unzipDirectory=fmpy.extract(path, folder), instanceName="one",
            modelIdentifier=self.description.modelExchange.modelIdentifier,
        )
        self.u, self.events = u, 0
        self.model.instantiate()

    def begin(self, start: dict[str, float] | None = None) -> Exchange:
        self.model.setupExperiment(startTime=0.0)
        self.model.enterInitializationMode()
        for name, value in (start or {}).items():
            self.model.setReal([self.place[name]], [value])
        self.at(0.0)
        self.model.exitInitializationMode()
        self.model.newDiscreteStates()
        self.model.enterContinuousTimeMode()
        return self

    def at(self, t: float) -> None:
        self.model.setReal(self.inputs, list(self.u(t, self.model.getReal(self.outputs))))

    def rates(self, pointer: Any, n: int) -> None:
        self.at(self.now)
        self.model.getDerivatives(pointer, n)

    def set_time(self, t: float) -> None:
        self.now = t
        self.model.setTime(t)

    def event(self) -> None:
        self.events += 1
        self.model.enterEventMode()
        self.model.newDiscreteStates()
        self.model.enterContinuousTimeMode()

    def run(self, tolerance: float, stop: float) -> Any:
        from fmpy.sundials import CVodeSolver

        model, found = self.model, []
        solver = CVodeSolver(
            nx=self.description.numberOfContinuousStates, nz=0, input=None, startTime=0.0, maxStep=stop / 50.0,
            relativeTolerance=tolerance, get_x=model.getContinuousStates, set_x=model.setContinuousStates,
            get_dx=self.rates, get_z=model.getEventIndicators, set_time=self.set_time, maxNumSteps=100000,
            get_nominals=model.getNominalsOfContinuousStates,
        )
        found.append(model.getReal(self.outputs))
        for k in range(POINTS):
            solver.step(k * stop / POINTS, (k + 1) * stop / POINTS)
            self.set_time((k + 1) * stop / POINTS)
            self.at(self.now)
            if model.completedIntegratorStep()[0]:
                self.event()
                solver.reset(self.now)
            found.append(model.getReal(self.outputs))
        return np.array(found)

    def close(self) -> None:
        self.model.terminate()
        self.model.freeInstance()


@pytest.mark.parametrize("make", [undamped, coupled])
def test_inputs_that_change_within_steps_are_as_exact_as_the_tolerance_asked_for(tmp_path, make):
    """One event, and the solver integrates the states themselves, with the tolerance that the unit asks for."""
    plant, stop, w = make(), 1.0, 2.0 * np.pi * 3.0
    made, path = exported(plant, tmp_path, stop=stop)
    importer = Exchange(path, tmp_path / "unit", lambda t, y: [np.cos(w * t), 0.0]).begin()
    found = importer.run(made.facts["tolerance"], stop)
    A = sla.block_diag(plant.A, [[0.0, w], [-w, 0.0]])
    A[:4, 4] = plant.B[:, 0]
    step, x, wanted = sla.expm(A * stop / POINTS), np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]), []
    for _ in range(POINTS + 1):
        wanted.append(plant.C @ x[:4])
        x = step @ x
    assert worst(found, wanted) < 1e-6
    assert importer.events == 1
    importer.close()


def test_feedback_within_steps_keeps_the_digits_of_a_plant_that_runs_away(tmp_path):
    """x'' = 9 x + u, u = 1 at first, and then -34 x - 6 x': without it the plant goes to exp(30) of where it is."""
    plant = fx.from_matrices(
        np.diag([1.0, 1.0]), np.zeros((2, 2)), np.diag([-9.0, 4e4]), B=[[1.0], [1e-3]],
        C=[[1.0, 0.0], [0.0, 0.0]], Cv=[[0.0, 0.0], [1.0, 0.0]], inputs=["u"], outputs=["place", "rate"],
    ).first_order("physical")
    stop = 10.0
    made, path = exported(plant, tmp_path, stop=stop, step=0.2)  # six periods of the fast mode
    assert made.facts["departures"]
    k = np.array([[34.0, 6.0]])
    start = dict(zip([s.name for s in plant.states], [0.1, 0.0, 0.0, 0.0], strict=True))
    importer = Exchange(path, tmp_path / "unit", lambda t, y: -k @ np.array(y)).begin(start)
    found = importer.run(1e-8, stop)
    step, x = sla.expm((plant.A - plant.B @ k @ plant.C) * stop / POINTS), np.array([0.1, 0.0, 0.0, 0.0])
    wanted = []
    for _ in range(POINTS + 1):
        wanted.append(plant.C @ x)
        x = step @ x
    assert worst(found, wanted) < 1e-5
    importer.close()


def test_states_are_shown_and_departures_begin_with_them(tmp_path):
    plant = coupled()
    _, path = exported(plant, tmp_path, stop=1.0)
    names = [s.name for s in plant.states]
    start = dict(zip(names, [0.1, -0.2, 3.0, 4.0], strict=True))
    importer = Exchange(path, tmp_path / "unit", lambda t, y: [1.0, 0.0]).begin(start)
    states = [importer.place[name] for name in names]
    integrated = [importer.place[f"{name}_departure"] for name in names]
    importer.set_time(0.3)
    h, saved = 0.3, importer.model.getFMUstate()
    exact, x = zero_order_hold(plant, h), np.array(list(start.values()))
    wanted = exact.A @ x + exact.B[:, 0]
    assert importer.model.getReal(states) == pytest.approx(wanted, rel=1e-12)
    assert importer.model.getReal(integrated) == [0.0] * 4
    importer.model.setReal(importer.inputs, [5.0, 0.0])  # between steps: another motion from here on
    importer.model.completedIntegratorStep()
    importer.set_time(0.6)
    later = exact.A @ wanted + 5.0 * exact.B[:, 0]
    assert importer.model.getReal(states) == pytest.approx(later, rel=1e-11)
    importer.set_time(0.3 - 0.1)  # an importer that interpolates within the step before
    early = zero_order_hold(plant, 0.2)
    assert importer.model.getReal(states) == pytest.approx(early.A @ x + early.B[:, 0], rel=1e-11)
    importer.set_time(0.4)
    importer.event()
    importer.set_time(0.35)
    with pytest.raises(Exception, match="fmi2GetReal"):
        importer.model.getReal(states)
    importer.model.setFMUstate(saved)
    assert importer.model.getReal(states) == pytest.approx(wanted, rel=1e-12)
    importer.model.freeFMUstate(saved)
    importer.close()


def test_what_cannot_be_is_refused():
    plant = undamped()
    with pytest.raises(fx.DefinitionError, match="plain_states is of model exchange"):
        fx.export_plant(zero_order_hold(plant, 1e-3), "never", "fmu", plain_states=True)
    with pytest.raises(fx.DefinitionError, match="plain_states has no effect on a nonlinear arm"):
        fx.export_plant("planar_2r_flexible", "never", "fmu", nonlinear=True, plain_states=True)
