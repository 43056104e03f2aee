"""Closed (or open) loop on the full model: one function for every model and every law.

The time grid is uniform, divides the control period, and contains every jump of the inputs. A linear law with any of
the wrappers of `laws.controller` is compiled into the loop, so that the run is one call; any other controller is called
once per control period. A continuous linear law is integrated together with the plant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from ..abilities import (
    Analysed,
    ContinuousLoop,
    HasArm,
    Identified,
    PayloadChecking,
    has_kinks,
    innermost,
    kind_of,
    provenance_of,
)
from ..errors import (
    AccuracyWarning,
    ConvergenceError,
    DefinitionError,
    NotAvailable,
    caution,
    did_you_mean,
    require,
    unknown,
)
from ..kernels.schemes import SCHEMES, Scheme
from ..laws.compiled import acts_within_steps
from ..laws.controller import with_references
from ..laws.fingerprint import check_made_for
from ..laws.given import as_law
from ..laws.motion_command import MotionCommand
from ..linear.state_model import StateModel
from ..machine.given import as_runnable, as_simulated, is_control
from ..model import FloatArray, LinearMechanics, MechanicalModel, index_of, names
from ..motion.moves import InputSignal, Motion, check_motion
from ..motion.optimal import MadeForLaw
from ..motion.track import track_of
from ..support.checks import real_array, several
from ..support.kinds import LawGiven, SystemGiven
from ..support.memory import room_for
from .analog import analog_loop
from .cautions import after_run, explained, followed, watched, with_range
from .commanded import commanded
from .curved import compare_exact, compare_halves
from .defaults import DEFAULT, LEAST_RTOL
from .path_stability import warn_if_unstable
from .pilot import smooth
from .response import Response
from .run import Run, Setup

SMALL_RTOL = 3e-3
"""Below this SDIRK4 takes less time than generalised-alpha, for most arms, and is far more accurate."""
SLOW = 5e-4
"""Of closed arms under a law with this period [s] or a longer one too; one step of the other serves shorter ones."""
METHODS = ("auto", "exact", "march", *SCHEMES)
STILL = 33
"""At so many times a signal whose breakpoints lie beyond a run is looked at, whether it is zero there."""


def simulate(
    system: SystemGiven,
    controller: LawGiven = None,
    reference: Motion | Mapping[str, Motion] | None = None,
    *,
    duration: float,
    step: float | None = None,
    rtol: float = DEFAULT,
    method: str = "auto",
    scheme: Scheme | None = None,
    inputs: Mapping[str, InputSignal] | None = None,
    motions: Mapping[str, Motion] | None = None,
    initial: tuple[FloatArray, FloatArray] | FloatArray | Callable[[Any], tuple[FloatArray, FloatArray]] | None = None,
    payload: Sequence[tuple[float, float, float]] = (),
    record_states: bool = False,
    progress: bool | Callable[[float], None] = False,
) -> Response:
    """Run a controller on a model.

    Parameters
    ----------
    system : Plant, MechanicalModel, SecondOrder, FirstOrder or control.StateSpace
        What is controlled. A linear plant is propagated exactly; one that is sampled in its own periods, in which an
        input acts from the next sample on and y[k] = C x[k] + D u[k] is read.
    controller : Controller, FirstOrder, control.StateSpace or control.TransferFunction, optional
        The law; without one only `inputs` act. A linear system must have inputs named like plant outputs and outputs
        named like plant inputs; it acts as u = K y, sampled if it is discrete, continuous otherwise.
    reference : motion or mapping, optional
        What the law's channels follow, by channel name; a single motion goes to all channels. Outputs that the law does
        not follow may be named too: they are scored against it.
    duration : float
        Length of the run [s]; with a sampled law the run ends at the first step that is not before it.
    step : float, optional
        Fixed integration step [s]; by default steps follow `rtol`. What is recorded comes once per step, by default
        once per control period or 1 ms.
    rtol : float
        The error that any displacement (angle, place, deflection, strain) may have, as a part of its range in the run;
        rates are as good where they are smooth. See `Response.error` for what became of it.
    method : str
        "exact" (linear models; the default for them, and the only one for plants in states), "march" (central
        differences of linear models, in steps below their `stability_limit`), "generalised_alpha" (the default
        otherwise), "sdirk" (of fourth order; the default for rtol below 3e-3, and for closures unless a law acts more
        often than every 0.5 ms, where no joint has dry friction, play or limits, at whose kinks it does not see its
        error), "newmark", "trapezoidal", and with other iterations or steps "modified_newton", "broyden",
        "settled" (backward Euler steps after jumps); see `flexctl.kernels.schemes`.
    scheme : Scheme, optional
        Parameters of the implicit method, e.g. ``flexctl.kernels.schemes.generalised_alpha(rho=0.8)``.
    inputs : mapping, optional
        Signals added to named inputs: open-loop torques, disturbances.
    motions : mapping, optional
        Motions that joints are commanded, by coordinate: ``{"joint1": Cycloid(0.0, 1.0, 2.5)}``. A joint follows
        exactly, and its torque input shows what this takes; a servo joint is pulled along. Of a linear plant, by input:
        the input follows the value of the motion.
    initial : tuple of ndarray, or function of the model, optional
        Coordinates and rates at t = 0; the reference pose at rest by default (with `motions`: where they begin, bent by
        the weight if every joint is commanded). Closures must be met. Of a plant in states: the states alone.
    payload : sequence of (time [s], mass [kg], inertia [kg m^2])
        Changes of the payload during the run; coordinates and rates are continuous, as when a body that moves with the
        tip is gripped.
    record_states : bool
        Record coordinates and rates too; of a plant in states these.
    progress : bool or callable
        True shows a bar; a callable receives the fraction done.

    Returns
    -------
    Response
        Time series, scores and provenance.

    Raises
    ------
    ConvergenceError
        When the run diverges or Newton fails; never a partial result. It says whether the motion was growing before.

    Warns
    -----
    AccuracyWarning
        When the estimated error of any signal is above `rtol` of its range, or a jump excites modes that nothing
        damps: the message names the outputs, the estimate or the band, and what to do.
    HiddenInstability
        When the tip follows a path (`flexctl.motion.track`) and the linear loop is unstable there although the run is
        bounded; when the loop of a `Design` is unstable on its own plant.
    BeyondModel
        When the motion went where the assumptions of the model cost more than 5 %; how far it went is in the
        provenance, "driven".
    OutsideDesign
        When a law leaves the range that it states in `designed_for`, output -> (low, high).

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994")
    >>> run = fx.simulate(arm, inputs={"joint1_torque": fx.bang_bang(0.1, 0.3)}, duration=1.2)
    >>> print(f"{run['tip_displacement'].max():.3f} m")
    0.179 m
    """
    # what was given: model, law, inputs, references, payload, initial state
    system = as_runnable(system)
    plant, law = as_simulated(system), as_law(controller)
    inputs = {} if inputs is None else inputs
    require(isinstance(inputs, Mapping), f"inputs is a {type(inputs).__name__}; give a mapping from name to signal")
    check_settings(duration, step, rtol, method, scheme)
    references = None
    if isinstance(law, MotionCommand):
        references = _references(plant, law, reference)
        motions = {**law.motions(references), **(motions or {})}
        law = None
    for name, motion in (motions or {}).items():
        if isinstance(motion, Motion):
            check_motion(name, motion)
    plant, commands, driving, start = commanded(plant, law, motions, inputs)
    check_law_fits(plant, law)
    _check_inputs(plant, inputs)
    if references is None:  # a name that is wrong in the law explains more than the reference that it then lacks
        references = _references(plant, law, reference)
    check_made_for(law, {name: m.made_for for name, m in references.items() if isinstance(m, MadeForLaw)})
    law = with_references(law, references)
    looped = bool(law is not None and law.measures) or _has_own_loops(system)
    signals, changes = {**driving, **inputs}, _payload(payload, duration)
    _say_what_comes_late(inputs, changes, duration)
    if isinstance(system, PayloadChecking):  # a plant of the catalogue knows what is plausible on its arm
        for _, mass, inertia in changes:
            system.check_payload(mass, inertia)
    begins: Any = start if initial is None else initial(plant) if callable(initial) else initial
    model = plant
    if isinstance(plant, StateModel):
        begins = _states(begins)
    # a continuous law acts within the steps of the compiled loop; elsewhere it becomes a part of the model
    chosen = scheme or SCHEMES.get(method, SCHEMES["generalised_alpha"])()
    implicit = (method == "auto" or method in SCHEMES) and chosen.stages == 1
    if law is not None and law.sample_time == 0 and not (implicit and acts_within_steps(law, plant)):
        model, law = analog_loop(plant, law, references, signals), None
    # the method and the step that serve model and law
    given = method
    if isinstance(model, StateModel):
        if method not in ("auto", "exact") or scheme is not None:
            told = f'{model.kind} is a plant in states, which is propagated exactly'
            raise NotAvailable(f'{told}: leave method = "{method}" and scheme out')
        method = "exact"
    elif method == "auto":
        slow = law is None or not law.measures or law.sample_time >= SLOW
        small = step is None and (rtol < SMALL_RTOL or (bool(model.closures) and slow))
        small = small and not (law is not None and law.sample_time == 0)
        small = small and not has_kinks(model)
        exact = scheme is None and _exact_serves(model) and not (law is not None and law.sample_time == 0)
        method = "exact" if exact else _implicit_method(model, scheme, small)
        chosen = scheme or SCHEMES.get(method, SCHEMES["generalised_alpha"])()
    if chosen.stages > 1 and has_kinks(model):
        caution(
            f"{model.kind} has joints with dry friction, play, limits or a gear with losses: SDIRK4 does not see its "
            'error at their kinks and claims too small a one; use method="generalised_alpha"',
            AccuracyWarning,
        )
    h = _period(model, law, step) or _step(model, step, None if law is None else law.sample_time or None, method)
    follows = 0 if record_states or method not in SCHEMES else followed(model)
    keep = record_states or (not follows and watched(plant, duration, h))
    tight = given == "auto" and scheme is None and method == "sdirk" and rtol < SMALL_RTOL
    setup = Setup(
        plant, model, law, references, signals, duration, h, method, chosen, changes, begins, keep, commands,
        0.0 if step is not None else rtol, follows,
    )
    # the run, and what is said after it
    started = time.perf_counter()
    with _room(setup):
        run = Run(setup)
        try:
            with _bar(progress, duration) as report:
                run.watched = bool(progress)
                led = smooth(setup, report) if tight else None
                if led is None:
                    run.go(report)
                run = led or run
                compare_halves(run, report)
                compare_exact(run, report)
        except ConvergenceError as error:
            raise explained(error, controller, run.t, run.record.y, plant, looped) from error
        response = run.response(_provenance(plant if is_control(system) else system), time.perf_counter() - started)
    response = with_range(plant, response, record_states, run.record if follows else None)
    track = track_of(references.values())
    if track is not None:
        warn_if_unstable(plant, controller, track, f"{method}, step {h:.3g} s")
    after_run(controller, response)
    return response


def _has_own_loops(system: Any) -> bool:
    """Whether servos or cylinders of an arm close loops of their own."""
    inner: Any = innermost(as_simulated(system))
    joints = inner.arm.joints if isinstance(inner, HasArm) else ()
    return any(joint.drive in ("servo", "hydraulic") for joint in joints)


def check_settings(
    duration: float, step: float | None = None, rtol: float = DEFAULT, method: str = "auto",
    scheme: Scheme | None = None,
) -> None:
    """Raise `DefinitionError` for a length, step, tolerance or method with which nothing can be run."""
    part = isinstance(rtol, int | float | np.number) and not isinstance(rtol, bool) and LEAST_RTOL <= rtol <= 1.0
    require(part, f"rtol = {rtol!r} must be a number from {LEAST_RTOL:g} to 1, a part of the range of each output")
    for name, value in (("duration", duration), ("step", step)):
        given = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        require(given or (value is None and name == "step"), f"{name} = {value!r} is not a number; give seconds")
    require(bool(np.isfinite(duration) and duration > 0), f"duration = {duration} s must be positive and finite")
    proper = step is None or bool(np.isfinite(step) and step > 0)
    require(proper, f"step = {step} s must be positive and finite")
    if not isinstance(method, str) or method not in METHODS:
        raise unknown("method", str(method), METHODS)
    known = scheme is None or isinstance(scheme, Scheme)
    require(known, f"scheme = {scheme!r} is not a scheme; give fx.trapezoidal() and the like, or its name as method")
    used = scheme is None or method in ("auto", *SCHEMES)
    require(used, f'scheme has no effect with method = "{method}"; leave one of them out')


def check_law_fits(plant: MechanicalModel, law: Any) -> None:
    """Raise `DefinitionError` where a plant does not have what a law measures or drives."""
    if law is not None:
        for name in law.measures:
            index_of(f"output of {plant.kind} measured by the law,", name, plant.outputs)
        for name in law.drives:
            index_of(f"input of {plant.kind} driven by the law,", name, plant.inputs)


def _check_inputs(plant: MechanicalModel, inputs: Mapping[str, InputSignal]) -> None:
    for name, signal in inputs.items():
        index_of(f"input of {plant.kind}", name, plant.inputs)
        given: object = signal  # a motion has all that the protocol can be checked for
        if isinstance(given, Motion) or not isinstance(given, InputSignal):
            raise DefinitionError(
                f'inputs["{name}"] is a {type(signal).__name__}; give an input signal such as fx.bang_bang, '
                "fx.PiecewiseConstant, fx.Sine or fx.Sampled (motions are for references and motions)"
            )


def _say_what_comes_late(signals: Mapping[str, InputSignal], changes: Sequence[Sequence[float]], end: float) -> None:
    """Warn of what is asked for and begins when the run has ended."""
    for name, signal in signals.items():
        first = min(signal.breakpoints, default=0.0)
        if first >= end and not np.any(signal(np.linspace(0.0, end, STILL, endpoint=False))):
            caution(f"{name} is zero in the whole run: its signal begins at {first:g} s, the run ends at {end:g} s")
    for row in changes:
        if row[0] >= end:
            caution(f"the payload change at {row[0]:g} s has no effect: the run ends then")


def _references(plant: MechanicalModel, law: Any, reference: Any) -> dict[str, Motion]:
    follows = () if law is None else tuple(law.follows)
    if reference is None:
        require(not follows, f"the law follows {list(follows)}: give a reference for it")
        return {}
    table = dict(reference) if isinstance(reference, Mapping) else dict.fromkeys(follows, reference)
    require(bool(table), "a reference is given but the controller follows nothing")
    for name in follows:
        if name not in table:
            outputs = names(plant.outputs)
            strange = [word for word in (*table, name) if word not in outputs and (word == name or word not in follows)]
            hint = did_you_mean(strange[0], outputs) if strange else ""
            raise DefinitionError(f'no reference for channel "{name}"; given: {sorted(table)}{hint}')
    for name, motion in table.items():
        if name not in follows:
            index_of("reference channel", name, plant.outputs)
        if not isinstance(motion, Motion):
            kind = type(motion).__name__
            raise DefinitionError(f'the reference of "{name}" is a {kind}; give a motion of flexctl.motion.moves')
        check_motion(name, motion)
    return table


def _states(initial: Any) -> tuple[FloatArray, FloatArray] | None:
    """Return the states with which a plant in states begins, which may come alone, in the place of coordinates."""
    if initial is None:
        return None
    alone = not isinstance(initial, tuple) or len(initial) != 2 or np.ndim(initial[0]) == 0
    x = np.array(initial if alone else initial[0], float)
    return x, np.zeros_like(x)


def _period(model: MechanicalModel, law: Any, step: float | None) -> float | None:
    """Return the step of a run of a sampled plant [s], None for any other."""
    if not isinstance(model, StateModel) or model.dt == 0:
        return None
    from .states import check_sampled

    return check_sampled(model, law, step)


def _size(row: Any) -> int:
    flat = isinstance(row, Sequence | np.ndarray) and all(np.ndim(x) == 0 for x in row)
    return len(row) if flat else 0


def _payload(rows: Sequence[Sequence[float]], duration: float) -> tuple[tuple[float, float, float], ...]:
    for row in several("payload", rows, "[(time, mass, inertia), ...]"):
        triple = _size(row) == 3 and bool(np.isfinite(real_array("payload change", row)).all())
        wanted = "time [s], mass [kg], inertia [kg m^2]"
        require(triple, f"payload change {row!r} must be three finite numbers: {wanted}")
        require(0 <= row[0] <= duration, f"payload change at {row[0]} s lies outside the run, 0 to {duration:g} s")
    return tuple(sorted((float(row[0]), float(row[1]), float(row[2])) for row in rows))


def _exact_serves(model: MechanicalModel) -> bool:
    from .engines import is_symmetric

    return isinstance(model, LinearMechanics) and is_symmetric(model.M) and model.M.size > 0


def _implicit_method(model: MechanicalModel, scheme: Scheme | None, small: bool) -> str:
    """Return the implicit method that serves: SDIRK4 for `small` tolerances, where the model has steps of it."""
    if scheme is not None:
        return "sdirk" if scheme.stages > 1 else "generalised_alpha"
    resting = isinstance(model, Analysed) and model.analysis == "quasi_static"
    serves = small and not (resting or isinstance(model, ContinuousLoop))
    return "sdirk" if serves else "generalised_alpha"


def _step(model: MechanicalModel, step: float | None, period: float | None, method: str) -> float:
    longest = step or period or 1e-3
    if method == "march" and step is None and isinstance(model, LinearMechanics):
        longest = min(longest, 0.9 * model.stability_limit())
    if period is None:
        return longest
    return period / max(1, int(np.ceil(period / longest - 1e-9)))


def _room(setup: Setup) -> AbstractContextManager[None]:
    """Refuse a run whose record does not fit into memory."""
    model, steps = setup.model, setup.duration / setup.step
    signals = 4 * len(model.inputs) + 2 * len(model.outputs) + 9 * len(setup.references)
    states = 4 * len(model.coordinates) if setup.record_states else 0
    what = f"the record of {setup.duration:g} s in steps of {setup.step:g} s"
    return room_for(steps * (6 + signals + states), what, "use a longer step, a shorter run or fewer sensors")


def _provenance(system: Any) -> dict[str, Any]:
    record = system.identity if isinstance(system, Identified) else provenance_of(system)
    return dict(record or {"model": kind_of(system)})


@contextmanager
def _bar(progress: bool | Callable[[float], None], duration: float) -> Iterator[Callable[[float], None]]:
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda fraction: None
    else:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(transient=True, console=Console(stderr=True)) as bar:
            task = bar.add_task(f"simulating {duration:g} s", total=1.0)
            yield lambda fraction: bar.update(task, completed=fraction)
