"""Films in files: .gif, .mp4 (where there is ffmpeg), .html that needs nothing else."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DefinitionError, NotAvailable, require
from ..model import FloatArray
from ..support.files import write_atomically

SUFFIXES = (".gif", ".html", ".mp4")
COLOURS, DOTS = 48, 80
AROUND, ABOVE = -0.9, 0.45
"""From where an arm in space is seen [rad], as in `page.js`."""
Drawn = tuple[Any, Callable[[int], None], int]
"""A figure, what moves it to a frame, and the number of frames."""


def checked(path: str | Path, seconds: float) -> Path:
    """Return the file of a film, or refuse it before anything is computed."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise DefinitionError(f'"{target.name}" has the suffix "{target.suffix}"; use .gif, .html or .mp4')
    require(bool(np.isfinite(seconds) and seconds > 0), f"seconds = {seconds} must be positive and finite")
    if target.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise NotAvailable(f"{target.name}: .mp4 needs the program ffmpeg, which is not there; write a .gif")
    return target


def write_film(film: dict[str, Any], path: str | Path, seconds: float, title: str = "") -> Path:
    """Write a film of `films`; `seconds`: how long it takes."""
    target = checked(path, seconds)
    if target.suffix.lower() == ".html":
        from .report import page

        shown = film.get("title", "")
        return page.write(target, title or shown, [page.charts([], film=film)])
    return write_drawn(lambda: scene(film, title), target, seconds)


def write_drawn(make: Callable[[], Drawn], target: Path, seconds: float) -> Path:
    """Write what a figure shows frame by frame as .gif or .mp4."""
    from .plot import canvas

    with canvas.styled():
        drawn = make()
        content = _gif(drawn, seconds) if target.suffix.lower() == ".gif" else _mp4(drawn, seconds)
    return write_atomically(target, lambda stream: stream.write(content))


def _gif(drawn: Drawn, seconds: float) -> bytes:
    from PIL import Image

    figure, update, count = drawn
    images = []
    for k in range(count):
        update(k)
        figure.canvas.draw()
        figure.set_layout_engine("none")  # laid out once: it takes longer than the drawing
        image = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3].copy())
        images.append(image.quantize(COLOURS, dither=Image.Dither.NONE))
    stream = io.BytesIO()
    milliseconds = max(20, round(1e3 * seconds / len(images)))
    images[0].save(stream, "GIF", save_all=True, append_images=images[1:], duration=milliseconds, loop=0)
    return stream.getvalue()


def _mp4(drawn: Drawn, seconds: float) -> bytes:
    from matplotlib.animation import FFMpegWriter

    figure, update, count = drawn
    even = "crop=trunc(iw/2)*2:trunc(ih/2)*2"  # of what the format takes
    writer = FFMpegWriter(fps=max(1, round(count / seconds)), extra_args=["-pix_fmt", "yuv420p", "-vf", even])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "film.mp4"
        with writer.saving(figure, str(place), DOTS):
            for k in range(count):
                update(k)
                writer.grab_frame()
        return place.read_bytes()


def scene(film: dict[str, Any], title: str = "") -> Drawn:
    """Return the arm of a film alone; in space seen from one side, as the page shows it at first."""
    from .plot import canvas

    figure = canvas.empty(7.0, 5.0, title or film["title"])
    figure.set_dpi(DOTS)
    ax: Any = figure.subplots()
    frames = [[flat(_bent(np.array(points), film["magnified"])) for points in links] for links in film["links"]]
    tip = flat(np.array(film["tip"]))
    still = [flat(np.array(points)) for points in film.get("still", [])]
    ground, shadows = _ground(film, ax)
    for points in still:
        ax.plot(*points.T, ":", color="black", linewidth=1.0)
    (trace,) = ax.plot([], [], color=canvas.PALETTE[1], linewidth=1.4)
    lines = [ax.plot([], [], color=canvas.PALETTE[0], linewidth=4.0, solid_capstyle="round")[0] for _ in frames[0]]
    (joints,) = ax.plot([], [], "o", color="black", markersize=5)
    places = [tip, *(points for links in frames for points in links), *still, *ground, np.zeros((1, 2))]
    every = np.concatenate(places)
    low, high = every.min(axis=0), every.max(axis=0)
    room = 0.06 * float((high - low).max())
    ax.set(aspect="equal", xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
    ax.set(xlabel="x [m]", ylabel="y [m]")
    if ground:
        _triad(film, ax, low - room)
    clock = ax.text(0.02, 0.96, "", transform=ax.transAxes, va="top")
    drawn = f"\ndeflections drawn {film['magnified']:g} times" if film["magnified"] != 1.0 else ""

    def update(k: int) -> None:
        for line, points in zip(lines, frames[k], strict=True):
            line.set_data(*points.T)
        for shadow, points in zip(shadows, film["links"][k], strict=False):
            shadow.set_data(*flat(_fallen(points, film)).T)
        joints.set_data(*np.array([points[0] for points in frames[k]]).T)
        trace.set_data(*tip[: k + 1].T)
        clock.set_text(f"{film['t'][k]:.3g} {film['unit']}{drawn}")

    return figure, update, len(frames)


def _ground(film: dict[str, Any], ax: Any) -> tuple[list[FloatArray], list[Any]]:
    """Draw the floor under an arm in space, squares as long as the bar of `page.js`; return it, and a shadow a link."""
    if "floor" not in film:
        return [], []
    bar, z = film["bar"], film["floor"]
    x, y = (
        bar * np.arange(np.floor(film["low"][d] / bar), np.ceil(film["high"][d] / bar) + 1) for d in (0, 1)
    )
    lines = [[(a, y[0], z), (a, y[-1], z)] for a in x] + [[(x[0], b, z), (x[-1], b, z)] for b in y]
    drawn = [flat(np.array(points)) for points in lines]
    for points in drawn:
        ax.plot(*points.T, color="#dddddd", linewidth=0.7)
    return drawn, [ax.plot([], [], color="#cccccc", linewidth=4.0, solid_capstyle="round")[0] for _ in film["links"][0]]


def _triad(film: dict[str, Any], ax: Any, corner: FloatArray) -> None:
    """Draw the axes of the base and a bar of known length, in place of ticks: a picture of space has no one scale."""
    ax.set_axis_off()
    bar, (x, y) = film["bar"], corner
    ax.plot([x, x + bar], [y, y], color="black", linewidth=2.0)
    ax.text(x + 1.1 * bar, y, f"{bar:g} m", va="center", fontsize=8)
    ends = flat(0.6 * bar * np.eye(3))
    for name, end in zip("xyz", ends, strict=True):
        ax.plot([0.0, end[0]], [0.0, end[1]], color="#555555", linewidth=1.0)
        ax.annotate(name, end, (3, 3), textcoords="offset points", color="#555555", fontsize=8)


def _fallen(points: Any, film: dict[str, Any]) -> FloatArray:
    """Return the shadow of a link on the floor, from straight above."""
    bent = _bent(np.array(points), film["magnified"])
    bent[:, 2] = film["floor"]
    return bent


def flat(points: FloatArray) -> FloatArray:
    """Return places in the plane of the picture."""
    if points.shape[-1] == 2:
        return points
    c, s, e, f = np.cos(AROUND), np.sin(AROUND), np.cos(ABOVE), np.sin(ABOVE)
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    return np.stack([c * x + s * y, e * z + f * (c * y - s * x)], axis=-1)


def _bent(points: FloatArray, factor: float) -> FloatArray:
    """Return a link with what it is off the chord between its ends magnified."""
    s = np.linspace(0.0, 1.0, len(points))[:, None]
    straight = points[:1] + s * (points[-1:] - points[:1])
    return np.asarray(straight + factor * (points - straight))
