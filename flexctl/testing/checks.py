"""The checks of `flexctl.testing`: each takes a `Case` and raises `AssertionError` where the model breaks its word."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abilities import MassEntering, steps_itself
from ..kernels.schemes import generalised_alpha, trapezoidal
from ..laws.controller import LinearLaw
from ..linear import SecondOrder, linearise
from ..linear.equilibrium import accelerations, equilibrium
from ..linear.linear_model import LinearModel
from ..linear.modes import normal_modes
from ..model import LinearMechanics, MechanicalModel, names
from ..motion.moves import bang_bang, quintic
from ..simulation.simulate import simulate
from .abilities import check_abilities
from .differences import Array, check_closures, check_compiled, check_tangent, claim, order, slope, some_motion

if TYPE_CHECKING:
    from . import Case


def free_directions(G: Array) -> Array:
    """Return an orthonormal basis of the null space of G."""
    _, s, vh = np.linalg.svd(G)
    return np.asarray(vh[s.size :].T)


def _inflow(model: Any, q: Array, v: Array) -> float:
    return float(model.inflow(q, v)) if isinstance(model, MassEntering) else 0.0


def _transfer(plant: SecondOrder, s: complex, pair: tuple[str, str]) -> complex:
    """Return the transfer function from input to output, straight from the definition."""
    j, i = names(plant.inputs).index(pair[0]), names(plant.outputs).index(pair[1])
    q = np.linalg.solve(s**2 * plant.M + s * plant.D + plant.K, plant.B[:, j])
    return complex((plant.Cq[i] + s * plant.Cv[i] + s**2 * plant.Ca[i]) @ q + plant.Du[i, j])


def shapes_and_labels(case: Case) -> None:
    """Check that every method returns arrays of floats of its shape, and that names are unique and have units."""
    model = case.model
    claim(isinstance(model, MechanicalModel), f"a {type(model).__name__} is not a flexctl.MechanicalModel")
    n, p, ny, m = len(model.coordinates), len(model.inputs), len(model.outputs), len(model.closures)
    q, v, a, u, lam = some_motion(model)
    found: dict[str, tuple[Any, tuple[int, ...]]] = {
        "mass": (model.mass(q), (n, n)), "input_matrix": (model.input_matrix(q), (n, p)),
        "reference": (model.reference(), (n,)), "force": (model.force(q, v), (n,)),
        "closure": (model.closure(q), (m,)), "closure_bias": (model.closure_bias(q, v), (m,)),
        "closure_jacobian": (model.closure_jacobian(q), (m, n)), "output": (model.output(q, v, a, u), (ny,)),
        **{f"tangent, {key}": (x, (n, n)) for key, x in model.tangent(q, v, a, u, lam)._asdict().items()},
        **{
            f"output_tangent, {key}": (x, (ny, p if key == "input" else n))
            for key, x in model.output_tangent(q, v, a, u)._asdict().items()
        },
    }
    for name, (array, shape) in found.items():
        claim(np.shape(array) == shape, f"{name} has shape {np.shape(array)}, not {shape}")
        claim(array.dtype == float, f"{name} is an array of {array.dtype}, not of floats")
    for signals in (model.coordinates, model.inputs, model.outputs):
        claim(len(set(names(signals))) == len(signals), f"a name stands twice in {names(signals)}")
        claim(all(s.name and s.unit for s in signals), f"a name or unit is empty in {list(map(str, signals))}")
    claim(len(set(model.closures)) == m, f"a name stands twice in {model.closures}")
    np.testing.assert_allclose(model.closure(model.reference()), 0.0, atol=1e-12)


def arguments_left_alone(case: Case) -> None:
    """Check that no method writes into its arguments."""
    model, x = case.model, some_motion(case.model)
    kept = [part.copy() for part in x]
    model.mass(x.q), model.force(x.q, x.v), model.input_matrix(x.q), model.energy(x.q, x.v), model.closure(x.q)
    model.tangent(*x), model.output(x.q, x.v, x.a, x.u), model.output_tangent(x.q, x.v, x.a, x.u)
    for part, copy in zip(x, kept, strict=True):
        np.testing.assert_array_equal(part, copy)


def mass_symmetric_and_positive(case: Case) -> None:
    """Check M on the directions that the closures leave free."""
    model, x = case.model, some_motion(case.model)
    M, N = model.mass(x.q), free_directions(model.closure_jacobian(x.q))
    np.testing.assert_allclose(M, M.T, rtol=0, atol=1e-13 * np.abs(M).max())
    least = np.linalg.eigvalsh(N.T @ M @ N)[0]
    claim(least > 0.0, f"the mass matrix has the eigenvalue {least:.3g} on the free directions")


def derivatives_against_differences(case: Case) -> None:
    """Check the tangents and the closures at two states."""
    for seed in (1, 2):
        x = some_motion(case.model, seed=seed)
        check_tangent(case.model, x)
        check_closures(case.model, x)


def power_is_change_of_energy(case: Case) -> None:
    """Check that what all forces do is the change of the energy, less what damping takes."""
    model, x = case.model, some_motion(case.model)
    forces = model.mass(x.q) @ x.a + model.force(x.q, x.v)
    gain = float(slope(lambda s: model.energy(x.q + s * x.v, x.v + s * x.a).total))
    claim(gain != 0.0, "the energy does not change along a motion")
    lost = float(x.v @ forces) + _inflow(model, x.q, x.v) - gain
    if case.damped:
        claim(lost > 1e-6 * abs(gain), f"a damped model loses {lost:.3g} W of {gain:.3g} W")
    else:
        claim(abs(lost) <= 1e-9 * abs(x.v) @ abs(forces), f"an undamped model loses {lost:.3g} W of {gain:.3g} W")


def trapezoidal_rule_keeps_energy(case: Case) -> None:
    """Check that the energy of a free motion is kept at second order in the step; exactly by a linear model."""
    model = case.model
    draw = np.random.default_rng(3).standard_normal(len(model.coordinates))
    start = case.start(model) if case.start else (model.reference(), draw)

    def drift(step: float) -> float:
        run = simulate(
            model, duration=10 * case.period, step=step, scheme=trapezoidal(tolerance=1e-14, iterations=60),
            initial=start, record_states=True,
        )
        states = list(zip(*_states(run), strict=True))
        energy = np.array([model.energy(q, v).total for q, v in states])
        power = np.array([_inflow(model, q, v) for q, v in states])
        entered = np.append(0.0, np.cumsum(0.5 * np.diff(run.t) * (power[:-1] + power[1:])))
        return float(np.abs(energy - energy[0] - entered).max() / model.energy(*start).kinetic)

    if isinstance(model, LinearMechanics):
        found = drift(case.period / 10)
        claim(found < 1e-9, f"the energy of a linear model drifts by {found:.3g}")
        return
    errors = [drift(case.period / k) for k in (16, 32, 64)]
    claim(errors[-1] > 1e-10, "the energy does not drift at all: the start is too small to show a rate")
    claim(order(errors).min() > 1.9, f"the energy drifts at the orders {order(errors)}, not 2")


def _states(run: Any) -> tuple[Array, Array]:
    if run.q is None or run.v is None:
        raise AssertionError("a run with record_states has no states")
    return run.q, run.v


def damping_takes_energy(case: Case) -> None:
    """Check that the energy of a free motion falls all the time."""
    model = case.model
    v = 0.1 * np.random.default_rng(3).standard_normal(len(model.coordinates))
    N = free_directions(model.closure_jacobian(model.reference()))
    run = simulate(
        model, duration=20 * case.period, step=case.period / 20, method="trapezoidal",
        initial=(model.reference(), N @ N.T @ v), record_states=True,
    )
    energy = np.array([model.energy(q, v).total for q, v in zip(*_states(run), strict=True)])
    claim(np.diff(energy).max() < 1e-6 * (energy[0] - energy[-1]), "a damped model gains energy")


def equilibrium_is_at_rest(case: Case) -> None:
    """Check that nothing accelerates at the equilibrium."""
    model, at = case.model, equilibrium(case.model)
    a, lam = accelerations(model, at.q, at.v, at.u)
    K = model.tangent(at.q, at.v, at.v, at.u, at.lam).stiffness
    M, scale = model.mass(at.q), np.abs(model.force(at.q, at.v)).max() + 1e-6 * (1.0 + np.abs(K).max())
    claim(np.abs(M @ a).max() < 1e-8 * scale, f"inertia forces of {np.abs(M @ a).max():.3g} at the equilibrium")
    np.testing.assert_allclose(lam, at.lam, atol=1e-8 * scale)


def rigid_modes_are_counted(case: Case) -> None:
    """Check the number of rigid-body modes of the linear plant."""
    plant = linearise(case.model, equilibrium(case.model))
    found = {normal_modes(plant.M, plant.K).rigid, plant.modes().rigid_modes}
    claim(found == {case.rigid}, f"{sorted(found)} rigid-body modes, {case.rigid} claimed")


def plant_is_symmetric_and_reciprocal(case: Case) -> None:
    """Check the symmetry of M, D, K, and that the twin channels are equal."""
    plant = linearise(case.model, equilibrium(case.model))
    claim(plant.symmetric, "M, D or K of the linear plant is not symmetric")
    for s in (3.0j, 2.0 + 40.0j, 5.0 + 300.0j) if case.twins else ():
        one, other = (_transfer(plant, s, pair) for pair in case.twins or ())
        equal = one != 0.0 and abs(one - other) < 1e-9 * abs(one)
        claim(equal, f"{case.twins} differ, or are zero, at s = {s}: {one:.9g}, {other:.9g}")


def collocated_is_positive_real(case: Case) -> None:
    """Check that the transfer function from the drive to the rate at its place has a positive real part."""
    plant = linearise(case.model, equilibrium(case.model))
    for omega in np.geomspace(0.1, 1e4, 300):
        value = _transfer(plant, (0.02 + 1j) * omega, (case.drive, case.rate))
        claim(value.real > 0.0, f"{case.drive} -> {case.rate} is {value:.3g} at {omega:.3g} rad/s")


def every_input_acts_and_every_sensor_reads(case: Case) -> None:
    """Check for zero columns of B and zero rows of C and D.

    What a sensor reads may be level at rest, as where the tip is along a straight arm: its row counts away from there.
    """
    plant = linearise(case.model, equilibrium(case.model))
    idle = [s.name for s, most in zip(plant.inputs, np.abs(plant.B).max(axis=0), strict=True) if most == 0.0]
    x = some_motion(case.model)
    away = case.model.output_tangent(x.q, x.v, x.a, x.u)
    rows = np.abs(np.hstack([plant.Cq, plant.Cv, plant.Ca, plant.Du, *away])).max(axis=1)
    blind = [s.name for s, most in zip(plant.outputs, rows, strict=True) if most == 0.0]
    claim(not idle, f"inputs {idle} act on nothing")
    claim(not blind, f"outputs {blind} read nothing")


def small_motions_are_linear(case: Case) -> None:
    """Check that the linear plant predicts small motions, with an error that falls as the amplitude squared."""
    model, at = case.model, equilibrium(case.model)
    linear = LinearModel(linearise(model, at))
    rest = model.output(at.q, at.v, at.a, at.u)
    period = 10 * case.period

    def error(amplitude: float) -> float:
        push = {case.drive: bang_bang(amplitude, period / 4)}
        full, small = (
            simulate(m, inputs=push, duration=period, step=case.period / 8, method="generalised_alpha", initial=start)
            for m, start in ((model, (at.q, at.v)), (linear, None))
        )
        return float(np.abs(full.y - rest - small.y).max())

    errors = [error(case.push * factor) for factor in (0.1, 0.05, 0.025)]
    claim(errors[-1] > 1e-9, f"push = {case.push} is too small to show what is not linear")
    claim(order(errors).min() > 1.9, f"the error of the linear plant falls at the orders {order(errors)}, not 2")


def _pd(case: Case) -> LinearLaw:
    kp, kd = case.gains
    Dy, Dr = np.array([[-kp, -kd]]), np.array([[kp, kd, 0.0]])
    return LinearLaw(case.period, (case.angle, case.rate), (case.drive,), (case.angle,), Dy=Dy, Dr=Dr)


def closed_loop_is_second_order(case: Case) -> None:
    """Check that a sampled loop converges at second order in the step."""
    model, law, move = case.model, _pd(case), quintic(0.0, 0.1, 8 * case.period)

    def angles(substeps: int) -> Array:
        step = case.period / substeps
        run = simulate(model, law, move, duration=20 * case.period, step=step, method="generalised_alpha")
        return np.asarray(run[case.angle][::substeps])

    runs = [angles(k) for k in (4, 8, 16, 32)]
    errors = [float(np.abs(a - b).max()) for a, b in pairwise(runs)]
    claim(errors[-1] > 1e-11, "the runs do not differ: the move is too small to show a rate")
    claim(1.85 < order(errors)[-1] < 2.3, f"the loop converges at the order {order(errors)[-1]:.3g}, not 2")


def plain(model: MechanicalModel) -> Any:
    """Return the model without its compiled form and without being known as linear."""

    def passed(name: str) -> property:
        return property(lambda self: getattr(model, name))

    public = {name: passed(name) for name in dir(model) if not name.startswith("_")}
    return type("Plain", (), {**public, "own_stepper": False, "compiled": lambda self: None})()


def compiled_functions_are_the_plain_methods(case: Case) -> None:
    """Check the compiled functions against the methods."""
    check_compiled(case.model, some_motion(case.model))


def compiled_run_is_the_plain_run(case: Case) -> None:
    """Check two methods and two step sizes; the long run has several calls of the law within one compiled call.

    Both solve their steps and jumps well beyond what is compared. What rounding leaves of a correction is larger with
    closures: a step that is not solved to its tolerance for it is taken again with more care, and then meets closures
    along other directions. That is another solution of the same order, and a law that pushes 4e-16 harder may find it.
    """
    model, law, move = case.model, _pd(case), quintic(0.0, 0.3, 8 * case.period)
    solved = 1e-12 if model.closures else 1e-14
    for scheme in (generalised_alpha(tolerance=solved, iterations=60), trapezoidal(tolerance=solved, iterations=60)):
        for periods, substeps in ((12, 3), (60, 1)):
            run = partial(
                simulate, controller=law, reference=move, duration=periods * case.period,
                step=case.period / substeps, scheme=scheme, record_states=True,
                inputs={case.drive: bang_bang(case.push, 1.7 * case.period, 0.4 * case.period)},
            )
            fast, slow = run(model), run(plain(model))
            claim(slow.provenance["method"] == fast.provenance["method"], "the two runs take different methods")
            # rounding of places is larger in accelerations, and grows along a long run
            rough = np.array([signal.unit.endswith("/s^2") for signal in model.outputs], bool)
            bounds = np.where(rough, 1e-9, 1e-10 if periods == 12 else 1e-9)
            apart = np.abs(fast.y - slow.y).max(axis=0) / np.abs(slow.y).max()
            worst = int(np.argmax(apart / bounds))
            claim(
                bool(apart[worst] <= bounds[worst]),
                f"{names(model.outputs)[worst]} differs by {apart[worst]:.2g} of the largest output",
            )
            for one, other in ((fast.u, slow.u), *zip(_states(fast), _states(slow), strict=True)):
                atol = (1e-10 if periods == 12 else 1e-9) * np.abs(other).max()
                np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def mesh_converges(case: Case) -> None:
    """Check the order at which the second exact frequency is approached."""
    if case.frequencies is None:
        raise AssertionError(f"{case.name}: an order of the mesh needs the exact frequencies")
    exact, errors = case.frequencies()[1], []
    for mesh in case.meshes:
        plant = linearise(case.build(mesh))
        errors.append(abs(normal_modes(plant.M, plant.K).omega[case.rigid + 1] / exact - 1.0))
    found = order(errors)[-1]
    claim(abs(found - case.order) <= 0.2, f"the mesh converges at the order {found:.3g}, {case.order} is claimed")


def exact_frequencies(case: Case) -> None:
    """Check the frequencies of a model that claims no order of its mesh: they are exact."""
    plant = linearise(case.model, equilibrium(case.model))
    exact = np.asarray([] if case.frequencies is None else case.frequencies())
    found = normal_modes(plant.M, plant.K).omega[case.rigid :]
    np.testing.assert_allclose(found[: exact.size], exact, rtol=1e-8)


def abilities(case: Case) -> None:
    """Check every ability of `flexctl.abilities` that the model has."""
    check_abilities(case.model)


def _not_linear(case: Case) -> bool:
    return not isinstance(case.model, LinearMechanics)


def _compiled(case: Case) -> bool:
    return case.model.compiled() is not None


CHECKS = (
    (shapes_and_labels, None),
    (arguments_left_alone, None),
    (mass_symmetric_and_positive, None),
    (derivatives_against_differences, None),
    (power_is_change_of_energy, None),
    (trapezoidal_rule_keeps_energy, lambda case: not case.damped),
    (damping_takes_energy, lambda case: case.damped),
    (equilibrium_is_at_rest, None),
    (rigid_modes_are_counted, None),
    (plant_is_symmetric_and_reciprocal, None),
    (collocated_is_positive_real, None),
    (every_input_acts_and_every_sensor_reads, None),
    (small_motions_are_linear, _not_linear),
    (closed_loop_is_second_order, None),
    (compiled_functions_are_the_plain_methods, _compiled),
    (compiled_run_is_the_plain_run, lambda case: _compiled(case) or steps_itself(case.model)),
    (mesh_converges, lambda case: case.order > 0),
    (exact_frequencies, lambda case: case.order == 0 and case.frequencies is not None),
    (abilities, None),
)
"""Each check, and for which cases it is; None: for all."""
