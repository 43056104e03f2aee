"""Meshes that are fine enough: how fine the data ask for, and the parameters on a finer one.

Where parameters hang on the mesh by more than `MESHED` and half of their deviation, the mesh is refined, as often as it
takes, up to `FINEST` coordinates; what the last one still leaves is part of the deviations.
"""

from __future__ import annotations

import time

import numpy as np

from ..model import FloatArray
from .problem import Problem, Setting
from .search import Say, cost_of, fitted, weighted
from .trust import Trust, mesh_of, refined, trust, without_mesh

MESHED = 1e-3
"""Relative shift of a parameter on a mesh twice as fine that is left alone."""
WORSE = 2.0
"""Sum of squares on a finer mesh, in parts of that on one that explains the data, from which on it is not tried."""
FINEST = 330
"""Coordinates of the finest mesh that is taken without being asked for."""


def _times_allowed(how_far: Trust) -> float:
    """Return the largest shift on a mesh twice as fine as a part of what is left alone."""
    part = 0.0 if how_far.explained.wrong else 0.5
    allowed = np.maximum(MESHED, part * without_mesh(how_far))
    return float(np.max(np.abs(how_far.mesh) / allowed, initial=0.0))


def refinement(found: Problem, how_far: Trust) -> int:
    """Return by how much the mesh must be finer so that no parameter hangs on it by 0.1 % and half of its deviation.

    Where the model does not explain the data, their deviations hold what the mesh leaves, and allow nothing.
    """
    worst = _times_allowed(how_far)
    if worst <= 1.0:
        return 1
    size = len(found.plant.model.coordinates)
    times = 2 ** int(np.ceil(np.log(worst) / np.log(4.0)))
    while times > 1 and times * size > FINEST:
        times //= 2
    return int(times)


def words(found: Problem, finer: Problem, how_far: Trust) -> str:
    """Return that the mesh was too coarse, and which one was taken."""
    key, own, new, moves = _told(found, finer, how_far)
    return (
        f"the mesh of {found.plant.name} is too coarse ({key} = {own}: {moves}); the parameters are those of "
        f"{key} = {new}, which is in the plant that is returned"
    )


def _told(found: Problem, finer: Problem, how_far: Trust) -> tuple[str, object, object, str]:
    """Return the key of the mesh, its value on both, and what moves most."""
    key = str(mesh_of(finer))
    own, new = ({row.key: row.value for row in p.plant.rows}[key] for p in (found, finer))
    worst = int(np.argmax(np.abs(how_far.mesh)))
    return key, own, new, f"{found.keys[worst]} moves by {how_far.mesh[worst]:+.2%} on one twice as fine"


def on_finer_meshes(
    found: Problem, x: FloatArray, at: Setting, how_far: Trust, told: list[str], say: Say
) -> tuple[Problem, FloatArray, Trust]:
    """Return problem, parameters and their trust on a mesh that is fine enough, and tell which one was taken."""
    begin, coarse = found, how_far
    while (times := refinement(found, how_far)) > 1 and time.monotonic() < found.deadline:
        finer = refined(found, times)
        if finer is None:
            break
        before, _ = cost_of(found, x, at, 0)
        # noise is all that is left, which a finer mesh cannot leave: a synthetic record of this very mesh, say
        kept = how_far.explained.explains and how_far.finer_cost > WORSE * before
        y, cost = (x, np.inf) if kept else fitted(finer, x, at, 0, 6, say, "a finer mesh")
        if cost > before:
            key, own, new, moves = _told(found, finer, how_far)
            told.append(
                f"the mesh of {found.plant.name} ({key} = {own}) is coarse: {moves}. The data fit it better than "
                f"{key} = {new}, so that it is kept; the parameters belong to it"
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
        key, value, _, moves = _told(found, found, how_far)
        told.append(
            f"what is left over may be the mesh's: with {key} = {value} {moves}; try more, or a formulation whose "
            "error falls faster"
        )
    return found, x, how_far
