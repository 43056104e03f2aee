"""Arms in motion: points of their links over time, of runs and of modes.

Where the states were recorded (`record_states=True`) the links are where they put them: by the model's own outline, by
the places of nodes, as in the beam and ANCF models, or by the displacements of the sections of finite differences.
Otherwise an arm of one or two links is drawn from its outputs: joints and tip where they are, links bent between them
as cantilevers by their deflections.

A mode moves the points by what a small displacement along its shape moves them, as much as can be seen.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from ..abilities import Outlined, innermost
from ..errors import require
from ..linear import SecondOrder
from ..linear.modes import Modes, modes
from ..machine.arm import Arm
from ..model import ComplexArray, FloatArray, MechanicalModel, Signal, names
from ..simulation.response import Response

FRAMES = 240
NODES = 17
"""Most points of a link."""
CANTILEVER = 13
CYCLE = 49
"""Frames of a cycle of a mode."""
SMALL, SEEN = 1e-6, 0.12
"""Displacement from which that of a mode is taken, and the part of the arm's length that is shown of it."""
DIGITS = 6
NODE = re.compile(r"link(\d+)_([xyz])(\d+)")


@dataclass(frozen=True)
class Still:
    """States without a run."""

    t: FloatArray
    q: FloatArray
    coordinates: tuple[Signal, ...]
    outputs: tuple[Signal, ...] = ()

    def __getitem__(self, name: str) -> FloatArray:
        raise KeyError(name)


Recorded: TypeAlias = "Response | Still"


def film_of(
    run: Recorded, arm: Arm | None = None, model: Any = None, frames: int = FRAMES
) -> dict[str, Any] | None:
    """Return the film of a run, or None where nothing of the arm's place is known.

    Parameters
    ----------
    run : Recorded
        The run, with or without states.
    arm : Arm, optional
        Its arm, for lengths.
    model : MechanicalModel, optional
        Its model, for the outline.
    frames : int
        Most frames.
    """
    k = np.unique(np.linspace(0, run.t.size - 1, frames).round().astype(int))
    links = links_of(run, k, arm, model)
    if links is None:
        return None
    seconds = float(run.t[-1] - run.t[0])
    speed = max((s for s in (0.05, 0.1, 0.25, 0.5, 1.0) if s <= seconds / 4.0), default=0.05)
    told = {"label": "time [s]", "unit": "s", "speed": speed, "tip": _rounded(_tip(links, arm), _span(links))}
    made = film("The arm", run.t[k], links, told)
    return {**made, "magnified": _magnified(links)}


def _tip(links: list[FloatArray], arm: Arm | None) -> FloatArray:
    """Return where the tip is, (frames, 2 or 3)."""
    return links[len(links) - 1 if arm is None or arm.tip_link >= len(links) else arm.tip_link][:, -1]


def film(title: str, t: FloatArray, links: list[FloatArray], told: dict[str, Any]) -> dict[str, Any]:
    """Return a film of links (frames, points, 2 or 3) as `page.js` and `animate` show it."""
    every = np.concatenate([x.reshape(-1, x.shape[-1]) for x in links])
    low, high = (np.minimum(every.min(axis=0), 0.0), np.maximum(every.max(axis=0), 0.0))
    room = 0.05 * float((high - low).max())
    length, fine = sum(float(np.linalg.norm(x[0, -1] - x[0, 0])) for x in links), _span(links)
    told = {**told, "floor": _short(low[2:])[0]} if low.size == 3 else told
    return {
        "title": title, "t": _short(t), "links": [[_rounded(link[i], fine) for link in links] for i in range(t.size)],
        "low": _short(low - room), "high": _short(high + room),
        "bar": float(f"{length / 5:.1g}"), "magnified": 1.0, **told,
    }


def mode_film(model: Any, arm: Arm | None, linear: SecondOrder, number: int) -> dict[str, Any] | None:
    """Return one cycle of a flexible mode (from 1), or None where nothing of the arm's place is known."""
    found = modes(linear, number)
    count = found.frequencies_hz.size
    require(1 <= number <= count, f"mode {number}: there are {count} flexible modes")
    point = linear.operating_point
    rest = model.reference() if point is None else point.q
    shape = mode_shape(linear, found, number)
    small = SMALL / np.abs(shape).max()
    q = np.array([rest, rest + small * shape.real, rest + small * shape.imag])
    known = Still(np.arange(3.0), q, model.coordinates)
    links = links_of(known, np.arange(3), arm, model)
    if links is None:
        return None
    real, imaginary = ([(x[i] - x[0]) / small for x in links] for i in (1, 2))
    most = max(float(np.hypot(np.abs(a), np.abs(b)).max()) for a, b in zip(real, imaginary, strict=True))
    length = sum(float(np.linalg.norm(np.diff(x[0], axis=0), axis=1).sum()) for x in links)
    size, turn = SEEN * length / most, np.linspace(0.0, 2.0 * np.pi, CYCLE)[:, None, None]
    moved = [
        x[0] + size * (a * np.cos(turn) - b * np.sin(turn)) for x, a, b in zip(links, real, imaginary, strict=True)
    ]
    hertz, zeta = found.frequencies_hz[number - 1], found.damping[number - 1]
    title = f"Mode {number}: {hertz:.4g} Hz, damping {zeta:.3g}"
    still, tip = [_rounded(x[0], _span(links)) for x in links], _rounded(_tip(moved, arm), _span(links))
    told = {"label": "part of a cycle", "unit": "cycle", "speed": 0.5, "still": still, "tip": tip}
    return film(title, turn.ravel() / (2.0 * np.pi), moved, told)


def mode_shape(linear: SecondOrder, found: Modes, number: int) -> ComplexArray:
    """Return the shape of a flexible mode (from 1) in the full coordinates of the model."""
    if found.shapes is not None:
        return np.asarray(found.shapes[:, number - 1], complex)
    s = found.poles[number - 1]
    reduced = np.linalg.svd(s**2 * linear.M + s * linear.D + linear.K)[2][-1].conj()
    return np.asarray(reduced if linear.basis is None else linear.basis @ reduced, complex)


def links_of(run: Recorded, k: Any, arm: Arm | None, model: Any) -> list[FloatArray] | None:
    """Return the points of every link, (frames, points, 2 or 3), at samples k of a run; None where none are known."""
    links = _outlined(run, k, model)
    links = _nodes(run, k) if links is None else links
    if links is None and arm is not None:
        links = _sections(run, arm, k)
        links = _from_outputs(run, arm, k) if links is None else links
    return links


def _outlined(run: Recorded, k: Any, model: Any) -> list[FloatArray] | None:
    """Return the links as the model outlines them."""
    inner = innermost(model)
    if run.q is None or not isinstance(inner, Outlined) or not isinstance(inner, MechanicalModel):
        return None
    known, outputs = names(run.coordinates), names(run.outputs)
    columns = []
    for name in names(inner.coordinates):
        led = f"{name}_angle"  # a joint that follows a motion is no coordinate of the run
        if name not in known and led not in outputs:
            return None
        columns.append(run.q[k, known.index(name)] if name in known else run[led][k])
    frames = [inner.outline(row) for row in np.column_stack(columns)]
    return [np.stack([frame[i] for frame in frames])[:, _few(len(frames[0][i]))] for i in range(len(frames[0]))]


def _short(x: FloatArray) -> list[float]:
    return [float(f"{v:.{DIGITS}g}") for v in np.ravel(x).tolist()]


def _span(links: list[FloatArray]) -> float:
    """Return the largest coordinate there is [m]."""
    return max(float(np.abs(x).max()) for x in links)


def _rounded(x: FloatArray, span: float) -> list[list[float]]:
    """Return places to 1e-7 of the span: what is left of deflections that are drawn a thousand times their size."""
    found: list[list[float]] = np.round(x, 7 - math.ceil(math.log10(span or 1.0))).tolist()
    return found


def _magnified(links: list[FloatArray]) -> float:
    """Return the factor that makes the largest deflection of a link look like a tenth of it; at least 1."""
    most = 0.0
    for x in links:
        s = np.linspace(0.0, 1.0, x.shape[1])[:, None]
        chord = x[:, :1] + s * (x[:, -1:] - x[:, :1])
        size = float(np.linalg.norm(x[0, -1] - x[0, 0])) or 1.0
        most = max(most, float(np.percentile(np.abs(x - chord).max(axis=(1, 2)), 95)) / size)
    return float(f"{min(max(0.1 / most, 1.0), 1000.0):.1g}") if most > 0.0 else 1.0


def _nodes(run: Recorded, k: Any) -> list[FloatArray] | None:
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


def _sections(run: Recorded, arm: Arm, k: Any) -> list[FloatArray] | None:
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


def _from_outputs(run: Recorded, arm: Arm, k: Any) -> list[FloatArray] | None:
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
