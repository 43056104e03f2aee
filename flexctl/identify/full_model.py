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


def distance(plant: Plant, data: Record, linear: FloatArray) -> FloatArray:
    """Return how far the full model is from the linear one under a record, rms of each output without its mean.

    Raises
    ------
    ConvergenceError
        Where the full model can be run neither in steps of half a sample nor in steps of its own.
    """
    try:
        full = outputs_of(plant, data, len(linear), 2)
    except ConvergenceError:
        full = outputs_of(plant, data, len(linear), 0)
    e = full - linear
    return np.asarray(np.sqrt(np.mean((e - e.mean(axis=0)) ** 2, axis=0)))
