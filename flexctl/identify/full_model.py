"""Records on the full model: large turns, play, stiffening joints, limits of an amplifier.

A run takes a fixed number of steps in a sample, so that it moves smoothly with the parameters that are searched; how
many is found once, at the start.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Caution, ConvergenceError
from ..model import FloatArray, LinearMechanics, names
from ..models.wrappers.driven_joints import DrivenJoints
from ..motion.signals import Sampled
from ..simulation.given_steps import uncompared
from ..simulation.simulate import simulate
from .experiment import held
from .record import Record

if TYPE_CHECKING:
    from ..catalogue import Plant

FINEST = 16
"""Most steps in a sample."""
CLOSE = 1e-3
"""Change of an output, as a part of its range, at which steps are short enough."""
TOLD, TRIED, FEW, MOST = 0.3, 500, 4, 1500
"""Where the full model is compared with the linear one: change of their distance by halves of the steps, as a part of
it, up to which these are short enough; samples on which that is tried; steps in a sample that are few, and samples that
are looked at where it takes more."""


def reasons(plant: Plant) -> list[str]:
    """Return what of a plant the model linear about rest leaves out, whatever the record."""
    return _found(plant, lambda joint, motor: {
        "play": joint.backlash, "a stiffening spring": joint.cubic_stiffness,
        "a gear that loses power by direction": motor and motor.directed_efficiency < 1.0,
    })


def limits(plant: Plant) -> list[str]:
    """Return what it leaves out where a record goes that far."""
    known = _found(plant, lambda joint, motor: {
        "a limit of the voltage": motor and motor.max_voltage, "a limit of the current": motor and motor.max_current,
    })
    return [*known, *(["large turns"] if _turns(plant) else [])]


def _found(plant: Plant, parts: Callable[[Any, Any], dict[str, Any]]) -> list[str]:
    model: Any = plant.model
    drives = model.drives.values() if isinstance(model, DrivenJoints) else ()
    return list(dict.fromkeys(word for j in drives for word, value in parts(j, j.motor).items() if value))


def _turns(plant: Plant) -> bool:
    """Whether an arm has a full model that large turns take away from the linear one."""
    model: Any = plant.model
    return not isinstance(model.inner if isinstance(model, DrivenJoints) else model, LinearMechanics)


def outputs_of(plant: Plant, data: Record, count: int, substeps: int) -> FloatArray:
    """Return the outputs of the full model at the first samples of a record, from rest, the input undelayed.

    As sensors read before the input jumps; with `substeps` 0 the steps are chosen as the run needs them.

    Raises
    ------
    ConvergenceError
        Where the run fails, or ends early.
    """
    t = np.asarray(data.dt * np.arange(count), float)
    as_signal = held if data.held else Sampled
    drives = {name: as_signal(t, data.u[:count, k]) for k, name in enumerate(names(data.inputs))}
    with warnings.catch_warnings(), uncompared():
        warnings.simplefilter("ignore", Caution)  # of steps, which are chosen here, and of what the search passes by
        how: dict[str, Any] = {"step": data.dt / substeps} if substeps else {"rtol": CLOSE}
        run = simulate(plant, inputs=drives, duration=float(t[-1]), **how)
    y = np.column_stack([np.interp(t, run.t, run[name]) for name in names(data.outputs)])
    if not np.isfinite(y).all():
        raise ConvergenceError(f"{plant.name} does not stay bounded under the inputs of the record")
    return np.asarray(y, float)


def enough_steps(plant: Plant, data: Record, count: int) -> int:
    """Return the number of steps in a sample from which on twice as many change no output by more than `CLOSE`."""
    steps, before = 1, None
    while before is None:
        try:
            before = outputs_of(plant, data, count, steps)
        except ConvergenceError:  # Newton fails where friction turns within a step
            if steps >= FINEST:
                raise
            steps *= 2
    while steps < FINEST:
        now = outputs_of(plant, data, count, 2 * steps)
        if float((np.abs(now - before) / np.maximum(np.ptp(now, axis=0), 1e-300)).max()) < CLOSE:
            return 2 * steps
        steps, before = 2 * steps, now
    return FINEST


def away(plant: Plant, data: Record, linear: FloatArray, begin: int) -> FloatArray:
    """Return the outputs of the full model under a record less those of the linear one.

    In steps so short that twice as many change no output by more than a part of that, `TOLD`, as found on the samples
    up to `TRIED` after `begin`; where friction asks for many, the first `MOST` samples after it are looked at.

    Raises
    ------
    ConvergenceError
        Where the full model can be run neither in steps of a part of a sample nor in steps of its own.
    """
    count = min(len(linear), begin + TRIED)
    steps, before = 2, None
    while steps <= FINEST:
        try:
            now = outputs_of(plant, data, count, steps)
        except ConvergenceError:
            steps *= 2
            continue
        if before is not None and bool((_rms(now - before) < TOLD * _rms(now - linear[:count])).all()):
            break
        steps, before = 2 * steps, now
    if before is None:
        return np.asarray(outputs_of(plant, data, len(linear), 0) - linear)
    steps = min(steps, FINEST)
    count = len(linear) if steps <= FEW else min(len(linear), begin + MOST)
    return np.asarray(outputs_of(plant, data, count, steps) - linear[:count])


def _rms(e: FloatArray) -> FloatArray:
    """Return the root mean square of each column without its mean."""
    return np.asarray(e.std(axis=0))
