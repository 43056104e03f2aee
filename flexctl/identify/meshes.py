"""Meshes that are fine enough: how fine the data ask for, and the parameters on a finer one.

Where parameters hang on the mesh by more than `MESHED` and half of their deviation, the mesh is refined, as often as it
takes, up to `FINEST` coordinates; what the last one still leaves is part of the deviations. Where it can be, the model
is extrapolated to an infinitely fine mesh first (`mesh_limit`), which takes coarser ones.
"""

from __future__ import annotations

import time

import numpy as np

from ..model import FloatArray, names
from .mesh_limit import fine_enough, in_the_limit, mesh_of, on_mesh
from .problem import Problem, Setting, log_magnitude, responses_of, thinned
from .search import Say, cost_of, first_guess, fitted, weighted
from .trust import Trust, refined, trust, without_mesh

MESHED = 1e-3
"""Relative shift of a parameter on a mesh twice as fine that is left alone."""
WORSE = 2.0
"""Sum of squares on a finer mesh, in parts of that on one that explains the data, from which on it is not tried."""
COARSE = 5e-3
"""Part of its frequency by which a mode moves on a mesh twice as fine from which on an infinitely fine one is tried."""
CLEARLY = 2.0
"""By how many deviations an infinitely fine mesh must fit lines better than the plant's own to be begun with."""
FINEST = 330
"""Coordinates of the finest mesh that is taken without being asked for."""


def _times_allowed(how_far: Trust) -> float:
    """Return the largest shift on a mesh twice as fine as a part of what is left alone."""
    known = how_far.formal if how_far.explained.wrong else without_mesh(how_far)
    allowed = np.maximum(MESHED, 0.5 * known)
    return float(np.max(np.abs(how_far.mesh) / allowed, initial=0.0))


def refinement(found: Problem, how_far: Trust) -> int:
    """Return by how much the mesh must be finer so that no parameter hangs on it by 0.1 % and half of its deviation.

    Where the model does not explain the data, deviations hold what the mesh leaves: that of noise alone counts.
    """
    worst = _times_allowed(how_far)
    if worst <= 1.0:
        return 1
    size = len(found.plant.model.coordinates)
    times = 2 ** int(np.ceil(np.log(worst) / np.log(16.0 if found.limit else 4.0)))
    while times > 1 and times * size > FINEST:
        times //= 2
    return int(times)


def better(found: Problem, x: FloatArray, times: int) -> Problem | None:
    """Return the problem on an infinitely fine mesh where that can be extrapolated, else on one so many times as fine.

    None where the model has no mesh.
    """
    if found.full or found.limit:
        return refined(found, times)
    finer = 1
    while (base := refined(found, finer)) is not None and len(base.plant.model.coordinates) <= FINEST:
        if _has_limit(base, x):
            return base.changed(limit=True)
        finer *= 2
    return refined(found, times)


def at_first(found: Problem, told: list[str], say: Say) -> Problem:
    """Return the problem on an infinitely fine mesh where frequency responses fit that clearly better, and note it.

    A synthetic record may be that of the plant's own mesh.
    """
    data = responses_of(found)
    if found.full or not data:
        return found
    x = np.zeros(len(found.keys))
    finer = on_mesh(found.plant_at(x), 2)
    if finer is None:
        return found
    highest = max(float(one.omega[-1]) for one in data) / (2.0 * np.pi)
    own, other = (plant.linearise().modes().frequencies_hz for plant in (found.plant_at(x), finer))
    size = min(own.size, int(np.sum(other <= highest)))
    moves = own[:size] / other[:size] - 1.0
    if float(np.abs(moves).max(initial=0.0)) < COARSE:
        return found
    limit = better(found, x, 2)
    if limit is None or not limit.limit:
        return found
    misfits = []
    for one in (found, limit):
        y, _ = first_guess(one, x, say)
        misfits.append(np.concatenate([np.abs(log_magnitude(one, y, thinned(r))) for r in data]))
    gain = misfits[0] - misfits[1]  # line by line: what dry friction adds to them both have in common
    if not float(gain.sum()) > CLEARLY * float(gain.std()) * np.sqrt(gain.size):
        return found
    k = int(np.abs(moves).argmax())
    told.append(
        f"the mesh of {found.plant.name} is too coarse ({_mesh(found)}: its mode at {other[k]:.4g} Hz is "
        f"{moves[k]:+.2%} off that of one twice as fine); the parameters are those of {_mesh(limit)}; the plant that "
        f"is returned has {_mesh(returned(limit))}"
    )
    return limit


def _has_limit(found: Problem, x: FloatArray) -> bool:
    plant, items = found.plant_at(x), [(r.inputs, r.outputs, r.dt) for r in found.records]
    items += [(r.inputs, r.outputs, r.dt) for r in found.responses]
    return all(
        in_the_limit(plant, names(u), names(y), np.pi / dt if dt > 0.0 else np.inf) is not None for u, y, dt in items
    )


def returned(found: Problem) -> Problem:
    """Return the problem with a plant whose own mesh is fine enough, where it was fitted on an infinitely fine one."""
    return found.changed(plant=fine_enough(found.plant, FINEST), limit=False) if found.limit else found


def words(found: Problem, finer: Problem, how_far: Trust) -> str:
    """Return that the mesh was too coarse, and which one was taken."""
    also = f"; the plant that is returned has {_mesh(returned(finer))}" if finer.limit else ""
    return (
        f"the mesh of {found.plant.name} is too coarse ({_mesh(found)}: {_moves(found, how_far)}); the parameters are "
        f"those of {_mesh(finer)}{also or ', which is in the plant that is returned'}"
    )


def _moves(found: Problem, how_far: Trust) -> str:
    """Return which parameter moves most on a finer mesh."""
    worst = int(np.argmax(np.abs(how_far.mesh)))
    return f"{found.keys[worst]} moves by {how_far.mesh[worst]:+.2%} on one twice as fine"


def _mesh(found: Problem) -> str:
    """Return the key of the mesh and its value."""
    key = str(mesh_of(found.plant))
    value = {row.key: row.value for row in found.plant.rows}[key]
    if not found.limit:
        return f"{key} = {value}"
    return f"an infinitely fine mesh, extrapolated from {key} = {value} and twice as many"


def on_finer_meshes(
    found: Problem, x: FloatArray, at: Setting, how_far: Trust, told: list[str], say: Say
) -> tuple[Problem, FloatArray, Trust]:
    """Return problem, parameters and their trust on a mesh that is fine enough, and tell which one was taken."""
    begin, coarse = found, how_far
    while (times := refinement(found, how_far)) > 1 and time.monotonic() < found.deadline:
        finer = better(found, x, times)
        if finer is None:
            break
        before, _ = cost_of(found, x, at, 0)
        # noise is all that is left, which a finer mesh cannot leave: a synthetic record of this very mesh, say
        kept = how_far.explained.explains and how_far.finer_cost > WORSE * before
        y, cost = (x, np.inf) if kept else fitted(finer, x, at, 0, 6, say, "a finer mesh")
        if cost > before:
            told.append(
                f"the mesh of {found.plant.name} ({_mesh(found)}) is coarse: {_moves(found, how_far)}. The data fit it "
                f"better than {_mesh(finer)}, so that it is kept; the parameters belong to it"
            )
            how_far = how_far._replace(sigma=without_mesh(how_far), mesh=np.zeros(x.size))
            break
        x, _ = weighted(finer, y, at, say)
        found = finer
        say("deviations", 0.0)
        how_far = trust(found, x, at)
    if found is not begin:
        told.append(words(begin, found, coarse))
    if how_far.explained.wrong and _times_allowed(how_far) > 1.0:
        told.append(
            f"what is left over may be the mesh's: with {_mesh(found)} {_moves(found, how_far)}; try more elements, "
            "or a formulation whose error falls faster"
        )
    return found, x, how_far
