"""Animations of runs and modes: a GIF, an MP4, or one HTML file that needs nothing else.

A two-link arm whose tip follows a path is drawn from the recorded outputs, so that every model looks alike: the joints
and the tip stand where they are; between them each link is bent as a cantilever by its `link<i>_deflection` times a
stated factor, since the true one cannot be seen. Models without that output have straight links. All else is drawn from
the films of `films`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abilities import HasArm, IsLinear
from ..errors import DefinitionError, require
from ..linear import SecondOrder
from ..machine.given import ArmGiven, as_plant
from ..model import FloatArray, names
from ..motion.track import Track
from ..simulation.response import Response
from ..support.files import write_atomically
from . import films
from .film_files import checked, write_drawn, write_film

if TYPE_CHECKING:
    from ..catalogue import Plant

NO_OUTLINE = "the model of {} does not say where its links are: give its class a method outline(q) (abilities.Outlined)"

POINTS = 13
"""Points along each link."""


@dataclass(frozen=True, eq=False)
class Film:
    """The contents of an animation.

    Attributes
    ----------
    t : ndarray
        Times of the frames [s].
    links : ndarray
        Points along the links, frames x links x points x 2 [m].
    tip, wanted : ndarray
        Tip and where it should be, frames x 2 [m].
    error : ndarray
        Distance between them [mm].
    history : ndarray
        Time [s], error [mm] and both torques [N m] as rows, finer than the frames.
    magnified : float
        Factor of the deflections.
    """

    t: FloatArray
    links: FloatArray
    tip: FloatArray
    wanted: FloatArray
    error: FloatArray
    history: FloatArray
    magnified: float


def film(response: Response, track: Track, frames: int = 100, magnify: float | None = None) -> Film:
    """Return evenly spaced frames of a run.

    Parameters
    ----------
    response : Response
        A run with tip_x, tip_y and the angle of the first joint or chord.
    track : Track
        What its tip follows.
    frames : int
        Number of frames.
    magnify : float, optional
        Factor of the deflections; by default such that the largest looks like a tenth of the link.
    """
    require(frames >= 2, f"{frames} frames make no animation; give at least 2")
    outputs = names(response.outputs)
    shoulder = next((name for name in ("chord1_angle", "joint1_angle") if name in outputs), None)
    if shoulder is None or not {"tip_x", "tip_y"} <= set(outputs):
        raise DefinitionError(f"an animation needs tip_x, tip_y and joint1_angle; the run has {outputs}")
    k = np.unique(np.linspace(0, response.t.size - 1, frames).round().astype(int))
    tip = np.column_stack([response[f"tip_{axis}"][k] for axis in "xy"])
    turn = response[shoulder][k]
    elbow = track.rigid.lengths[0] * np.column_stack([np.cos(turn), np.sin(turn)])
    bend = np.zeros((k.size, 2))
    for i in range(2):
        if f"link{i + 1}_deflection" in outputs:
            bend[:, i] = response[f"link{i + 1}_deflection"][k]
    share = float(np.percentile(np.abs(bend / track.rigid.lengths), 95))
    factor = magnify if magnify is not None else float(f"{0.1 / share:.1g}") if share > 0 else 1.0
    ends = np.stack([np.zeros_like(elbow), elbow, tip], axis=1)
    wanted = track.path(response.t[k])[0]
    error = 1e3 * np.linalg.norm(tip - wanted, axis=1)
    return Film(response.t[k], _bent(ends, factor * bend), tip, wanted, error, _history(response, track), factor)


def _history(response: Response, track: Track) -> FloatArray:
    k = np.unique(np.linspace(0, response.t.size - 1, 600).round().astype(int))
    tip = np.column_stack([response[f"tip_{axis}"][k] for axis in "xy"])
    error = 1e3 * np.linalg.norm(tip - track.path(response.t[k])[0], axis=1)
    return np.array([response.t[k], error, *(response[f"joint{i}_torque"][k] for i in (1, 2))])


def _bent(ends: FloatArray, bend: FloatArray) -> FloatArray:
    """Return the links as cantilevers under a force at their end, both ends in place."""
    s = np.linspace(0.0, 1.0, POINTS)
    shape = 0.5 * s**2 * (3.0 - s) - s  # deflection against the chord for a deflection of 1 against the root's tangent
    begin, along = ends[:, :-1, None, :], np.diff(ends, axis=1)[:, :, None, :]
    across = np.stack([-along[..., 1], along[..., 0]], axis=-1) / np.linalg.norm(along, axis=-1, keepdims=True)
    return np.asarray(begin + s[:, None] * along + bend[:, :, None, None] * shape[:, None] * across)


def animate(
    response: Response, of: Track | Plant | None, path: str | Path, *, frames: int | None = None, seconds: float = 10.0,
    magnify: float | None = None, title: str = "",
) -> Path:
    """Write an animation of a run to .gif, .html or .mp4 (which needs ffmpeg).

    Parameters
    ----------
    response : Response
        The run; `record_states=True` shows every link where it is, else one or two links are drawn from the outputs.
    of : Track, Plant or None
        What the tip follows: its error and the torques are shown below. Or the plant of the run, for arms in the plane
        or in space of any number of links.
    path : path
        File to write.
    frames : int, optional
        Number of frames; 60 in a GIF, 400 in an HTML file by default.
    seconds : float
        How long the animation takes [s].
    magnify : float, optional
        Factor of the deflections; by default such that the largest looks like a tenth of the link.
    title : str
        Above the picture.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible", model={"elements": 2})
    >>> moves = {"joint1": fx.quintic(0.0, 1.0, 0.4), "joint2": fx.quintic(0.0, -1.0, 0.4)}
    >>> run = fx.simulate(arm, motions=moves, duration=0.5, record_states=True)
    >>> fx.animate(run, arm, "arm.gif", frames=10, seconds=2.0).name
    'arm.gif'
    """
    target = checked(path, seconds)
    suffix = target.suffix.lower()
    require(frames is None or frames >= 2, f"{frames} frames make no animation; give at least 2")
    count = frames if frames is not None else 400 if suffix == ".html" else 60
    if not isinstance(of, Track):
        return _of_arm(response, of, target, count, seconds, magnify, title)
    shown = film(response, of, count, magnify)
    if suffix == ".html":
        content = _html(shown, of, seconds, title)
        return write_atomically(target, lambda stream: stream.write(content))
    return write_drawn(lambda: (*_scene(shown, of, title), shown.t.size), target, seconds)


def _of_arm(
    response: Response, plant: Any, target: Path, frames: int, seconds: float, magnify: float | None, title: str
) -> Path:
    known = None if plant is None else as_plant(plant)
    is_linear = isinstance(known, IsLinear)
    arm = known if isinstance(known, HasArm) and not is_linear else None
    model = None if known is None or response.q is None else known.model
    made = films.film_of(response, None if arm is None else arm.arm, model, frames)
    if made is None:
        if known is not None and is_linear:
            reason = f"{known.name} is a linear plant: where its links are is not known, and there is nothing to draw"
        elif arm is not None and model is not None:
            reason = NO_OUTLINE.format(arm.name)
        else:
            reason = "the run does not record where its links are: run it with record_states=True, and give its plant"
        raise DefinitionError(reason)
    made = made if magnify is None else {**made, "magnified": float(magnify)}
    return write_film(made, target, seconds, title)


def animate_mode(
    plant: ArmGiven, path: str | Path, mode: int = 1, *, seconds: float = 2.0, title: str = ""
) -> Path:
    """Write one cycle of a mode of an arm about rest, not to scale, to .gif, .html or .mp4 (which needs ffmpeg).

    Parameters
    ----------
    plant : Plant, name or path
        The arm.
    path : path
        File to write.
    mode : int
        Number of the flexible mode, from 1.
    seconds : float
        How long a cycle takes in the animation [s].
    title : str
        Above the picture; by default number, frequency and damping.

    Examples
    --------
    >>> fx.animate_mode("tokhi_azad_1994", "mode2.gif", 2).name
    'mode2.gif'
    """
    target, known = checked(path, seconds), as_plant(plant)
    linear = known.linearise()
    if isinstance(known, IsLinear) or not isinstance(linear, SecondOrder):
        raise DefinitionError(f"{known.name} is a linear plant: what its modes look like is not known")
    made = films.mode_film(known.model, known.arm, linear, mode)
    if made is None:
        raise DefinitionError(NO_OUTLINE.format(known.name))
    return write_film(made, target, seconds, title)


def _scene(shown: Film, track: Track, title: str) -> tuple[Any, Any]:
    """Return the figure and the function that moves it to a frame."""
    from .plot import canvas

    figure = canvas.empty(8.0, 6.2, title)
    figure.set_dpi(80)
    grid: Any = figure.subplot_mosaic([["arm", "arm"], ["error", "torque"]], height_ratios=[1.6, 1.0])
    arm, error, torque = grid["arm"], grid["error"], grid["torque"]
    line = track.path.points(400)
    arm.plot(*line.T, ":", color="black", linewidth=1.2)
    (trace,) = arm.plot([], [], color=canvas.PALETTE[1], linewidth=1.6)
    links = [arm.plot([], [], color=canvas.PALETTE[0], linewidth=4.0, solid_capstyle="round")[0] for _ in range(2)]
    (joints,) = arm.plot([], [], "o", color="black", markersize=6)
    (point,) = arm.plot([], [], "o", color=canvas.PALETTE[1], markersize=5)
    (low, high), room = _limits(shown, line), 0.1
    arm.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    arm.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
    clock = arm.text(0.02, 0.97, "", transform=arm.transAxes, va="top")
    if shown.magnified != 1.0:
        arm.text(0.02, 0.03, f"deflections drawn {shown.magnified:g} times", transform=arm.transAxes, fontsize=8)
    t, distance, *torques = shown.history
    error.semilogy(t, np.maximum(distance, 1e-6), color=canvas.PALETTE[1], linewidth=1.1)
    error.set(ylabel="tip error [mm]", xlabel="time [s]", xlim=(t[0], t[-1]))
    error.set_ylim(bottom=0.3 * max(float(np.percentile(distance, 5)), 1e-6))
    for i in range(2):
        torque.plot(t, torques[i], linewidth=1.1, **canvas.style(i), label=("shoulder", "elbow")[i])
    torque.set(ylabel="torque [N m]", xlabel="time [s]", xlim=(t[0], t[-1]))
    torque.legend(loc="upper right")
    cursors = [ax.axvline(0.0, color=canvas.GREY, linewidth=1.0) for ax in (error, torque)]

    def update(k: int) -> None:
        for link, points in zip(links, shown.links[k], strict=True):
            link.set_data(*points.T)
        joints.set_data([0.0, shown.links[k, 0, -1, 0]], [0.0, shown.links[k, 0, -1, 1]])
        point.set_data([shown.tip[k, 0]], [shown.tip[k, 1]])
        trace.set_data(*shown.tip[: k + 1].T)
        clock.set_text(f"{shown.t[k]:.1f} s, error {round(shown.error[k], 6):.3g} mm")
        for cursor in cursors:
            cursor.set_xdata([shown.t[k]] * 2)

    return figure, update


def _limits(shown: Film, line: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of the box around arm and path."""
    points = np.concatenate([shown.links.reshape(-1, 2), line, np.zeros((1, 2))])
    return points.min(axis=0), points.max(axis=0)


def _html(shown: Film, track: Track, seconds: float, title: str) -> bytes:
    low, high = _limits(shown, track.path.points(400))
    data = {
        "t": _short(shown.t), "links": _short(shown.links), "tip": _short(shown.tip), "error": _short(shown.error, 6),
        "history": _short(shown.history, 6), "line": _short(track.path.points(200)), "low": _short(low),
        "high": _short(high), "seconds": seconds, "magnified": shown.magnified,
    }
    page = (Path(__file__).parent / "animation.html").read_text(encoding="utf-8")
    safe = (title or "Tip tracking").replace("&", "&amp;").replace("<", "&lt;")
    return page.replace("__TITLE__", safe).replace("__DATA__", json.dumps(data, separators=(",", ":"))).encode()


def _short(x: FloatArray, digits: int = 4) -> Any:
    return np.round(x, digits).tolist()
