"""The arm of a run in motion: points of its links over time, from what was recorded.

Where the states were recorded (`record_states=True`) and the coordinates are places of nodes, as in the beam and ANCF
models, these are what is drawn; of the finite differences the displacements of the sections. Otherwise an arm of one or
two links is drawn from its outputs: joints and tip where they are, links bent between them as cantilevers by their
deflections.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

from ...machine.arm import Arm
from ...model import FloatArray, names
from ...simulation.response import Response
from . import page

FRAMES = 240
NODES = 24
"""Most points of a link."""
CANTILEVER = 13
NODE = re.compile(r"link(\d+)_([xyz])(\d+)")


def film_of(run: Response, arm: Arm | None = None) -> dict[str, Any] | None:
    """Return the film of a run, or None where nothing of the arm's place is known.

    Parameters
    ----------
    run : Response
        The run.
    arm : Arm, optional
        Its arm, for lengths.
    """
    k = np.unique(np.linspace(0, run.t.size - 1, FRAMES).round().astype(int))
    links = _nodes(run, k)
    if links is None and arm is not None:
        links = _sections(run, arm, k)
        links = _from_outputs(run, arm, k) if links is None else links
    if links is None:
        return None
    every = np.concatenate([x.reshape(-1, x.shape[-1]) for x in links])
    low, high = (np.minimum(every.min(axis=0), 0.0), np.maximum(every.max(axis=0), 0.0))
    room = 0.05 * float((high - low).max())
    tip = links[-1][:, -1]
    length = sum(float(np.linalg.norm(x[0, -1] - x[0, 0])) for x in links)
    bar = float(f"{length / 5:.1g}")
    seconds = float(run.t[-1] - run.t[0])
    return {
        "title": "The arm", "label": "time [s]", "t": page.short(run.t[k]), "unit": "s",
        "links": [[_list(link[i]) for link in links] for i in range(k.size)], "tip": _list(tip),
        "low": page.short(low - room), "high": page.short(high + room), "bar": bar, "magnified": _magnified(links),
        "speed": max((s for s in (0.05, 0.1, 0.25, 0.5, 1.0) if s <= seconds / 4.0), default=0.05),
    }


def _list(x: FloatArray) -> list[list[float]]:
    return [[float(f"{v:.5g}") for v in row] for row in x.tolist()]


def _magnified(links: list[FloatArray]) -> float:
    """Return the factor that makes the largest deflection of a link look like a tenth of it; at least 1."""
    most = 0.0
    for x in links:
        s = np.linspace(0.0, 1.0, x.shape[1])[:, None]
        chord = x[:, :1] + s * (x[:, -1:] - x[:, :1])
        size = float(np.linalg.norm(x[0, -1] - x[0, 0])) or 1.0
        most = max(most, float(np.percentile(np.abs(x - chord).max(axis=(1, 2)), 95)) / size)
    return float(f"{min(max(0.1 / most, 1.0), 1000.0):.1g}") if most > 0.0 else 1.0


def _nodes(run: Response, k: Any) -> list[FloatArray] | None:
    """Return the nodes of every link from the recorded coordinates, each from the end of the one before."""
    if run.q is None:
        return None
    found: dict[int, dict[int, dict[str, int]]] = {}
    for column, name in enumerate(names(run.coordinates)):
        match = NODE.fullmatch(name)
        if match:
            found.setdefault(int(match[1]), {}).setdefault(int(match[3]), {})[match[2]] = column
    axes = "xyz" if any("z" in place for nodes in found.values() for place in nodes.values()) else "xy"
    if not found:
        return None
    links, begin = [], np.zeros((k.size, 1, len(axes)))
    for link in sorted(found):
        nodes = [place for _, place in sorted(found[link].items()) if set(axes) <= set(place)]
        if not nodes:
            return None
        own = np.stack([run.q[k][:, [place[axis] for axis in axes]] for place in nodes], axis=1)
        points = np.concatenate([begin, own], axis=1)
        links.append(points[:, _few(points.shape[1])])
        begin = points[:, -1:]
    return links


def _few(count: int) -> Any:
    return np.unique(np.linspace(0, count - 1, min(count, NODES)).round().astype(int))


def _sections(run: Response, arm: Arm, k: Any) -> list[FloatArray] | None:
    """Return the sections of the finite differences: displacements across the arm that turns with the hub."""
    known = names(run.coordinates)
    columns = [i for i, name in enumerate(known) if re.fullmatch(r"y\d+", name)]
    if run.q is None or "theta" not in known or not columns or len(arm.links) != 1:
        return None
    x = np.linspace(0.0, arm.links[0].length, len(columns) + 1)
    theta = run.q[k][:, [known.index("theta")]]
    across = np.concatenate([np.zeros((k.size, 1)), run.q[k][:, columns]], axis=1) - x * theta
    points = np.stack([np.cos(theta) * x - np.sin(theta) * across, np.sin(theta) * x + np.cos(theta) * across], axis=2)
    return [points[:, _few(x.size)]]


def _from_outputs(run: Response, arm: Arm, k: Any) -> list[FloatArray] | None:
    """Return one or two links in the plane from tip, first joint or chord, and deflections."""
    known, links = names(run.outputs), [link for link in arm.links if link.length > 0.0]
    shoulder = next((name for name in ("chord1_angle", "joint1_angle") if name in known), None)
    plane = all(j.kind == "revolute" for j in arm.joints) and not any(x.kink or x.twist for x in arm.links)
    if shoulder is None or not {"tip_x", "tip_y"} <= set(known) or "tip_z" in known or not plane:
        return None
    if len(links) != len(arm.links) or len(links) > 2:
        return None
    tip = np.column_stack([run["tip_x"][k], run["tip_y"][k]])
    ends = [np.zeros_like(tip)]
    if len(links) == 2:
        turn = run[shoulder][k]
        ends.append(links[0].length * np.column_stack([np.cos(turn), np.sin(turn)]))
    ends.append(tip)
    s = np.linspace(0.0, 1.0, CANTILEVER)
    shape = 0.5 * s**2 * (3.0 - s) - s
    found = []
    for i, (a, b) in enumerate(pairwise(ends), 1):
        name, along = f"link{i}_deflection", b - a
        bend = run[name][k] if name in known else np.zeros(k.size)
        across = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1, keepdims=True)
        straight = a[:, None] + s[:, None] * along[:, None]
        found.append(straight + (bend[:, None] * shape)[..., None] * across[:, None])
    return found
