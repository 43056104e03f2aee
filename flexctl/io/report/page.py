"""One page of HTML that needs nothing else: texts, tables that sort, charts one can zoom and read off, arms that move.

The charts and arms are our own: a canvas and 400 lines of script, 26 kB in a page, where a library would bring half a
megabyte or more into each (docs/reports.md has the measurement). Everything is put into the page as data and shown as
text: a title or a name from a plant file is never taken for HTML.
"""

from __future__ import annotations

import base64
import html
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...model import FloatArray
from ...support.files import write_atomically
from ...support.tabular import Tabular
from ..plot.canvas import PALETTE

HERE = Path(__file__).parent
POINTS = 1200
"""Most points of a curve: more than a screen has columns."""
DIGITS = 5
SOME = 30
"""Points from which on a curve is written as 32-bit floats."""
LIMIT = 1_400_000
"""Bytes of data from which on curves and films are thinned."""
THINNED = (
    (1200, 120), (800, 100), (600, 60), (500, 40), (400, 40), (300, 40), (200, 40), (120, 30), (80, 30), (50, 20)
)
"""Points of a curve and frames of a film that are tried one after the other."""
Block = dict[str, Any]


def heading(text: str) -> Block:
    """Return a heading."""
    return {"kind": "heading", "text": text}


def text(words: str, mood: str = "") -> Block:
    """Return a paragraph; mood: "", "quiet", "good" or "bad"."""
    return {"kind": "text", "text": words, "mood": mood}


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Block:
    """Return a table; columns whose heading ends with "<" are aligned left. A cell is a number, a text or a `cell`."""
    heads = [{"name": name.removesuffix("<"), "left": name.endswith("<")} for name in columns]
    return {"kind": "table", "title": title, "columns": heads, "rows": [[_cell(x) for x in row] for row in rows]}


def cell(words: str, mood: str) -> dict[str, Any]:
    """Return a cell with a mood, "good" or "bad"."""
    return {"text": words, "mood": mood}


def tabular(title: str, result: Tabular, leave: Sequence[str] = ()) -> Block:
    """Return a result that is a table; columns in which nothing stands are left out."""
    columns = [c for c in result._table() if c.name not in leave]
    columns = [c for c in columns if any(_there(x) for x in list(c.values))]
    left = [any(isinstance(x, str) for x in c.values) for c in columns]
    heads = [
        re.sub("[.:]", "\n", c.name.replace("_", " ")) + (f"\n[{c.unit}]" if c.unit else "") + ("<" if on_left else "")
        for c, on_left in zip(columns, left, strict=True)
    ]
    return table(title, heads, zip(*(list(c.values) for c in columns), strict=True))


def axis(label: str, unit: str = "", *, log: bool = False, step: float = 0.0) -> dict[str, Any]:
    """Return an axis; `step`: ticks at multiples of it."""
    return {"label": f"{label} [{unit}]" if unit else label, "unit": unit, "log": log, "step": step}


def one_of(k: int) -> dict[str, Any]:
    """Return colour and dashes of the k-th of many curves: no two look alike."""
    return {"colour": PALETTE[k % len(PALETTE)], "dash": k // len(PALETTE)}


def curve(
    name: str, x: npt.ArrayLike, y: npt.ArrayLike, colour: str, *, dash: int = 0, held: bool = False
) -> dict[str, Any]:
    """Return a curve; `held`: it stays where it is until the next point; `dash`: 1 or more: which kind of dashes."""
    x, y = (np.asarray(a, float) for a in (x, y))
    keep = kept(y)
    return {"name": name, "x": short(x[keep]), "y": short(y[keep]), "colour": colour, "dash": dash, "held": held}


def points(
    name: str, x: npt.ArrayLike, y: npt.ArrayLike, colour: str, texts: Sequence[str], mark: str = "x"
) -> dict[str, Any]:
    """Return points with what is said of each; mark: "x", "o" or "dot"."""
    return {
        "name": name, "x": short(np.asarray(x, float)), "y": short(np.asarray(y, float)), "colour": colour,
        "texts": list(texts), "mark": mark,
    }


def chart(title: str, x: Mapping[str, Any], y: Mapping[str, Any], series: Sequence[Any], **more: Any) -> dict[str, Any]:
    """Return a chart; more: points, equal, lines, as `page.js` has them."""
    return {"title": title, "x": dict(x), "y": dict(y), "series": list(series), **more}


def films(found: Sequence[Any]) -> Block:
    """Return films beside each other, each by itself."""
    return {"kind": "films", "films": list(found)}


def charts(found: Sequence[Any], *, linked: bool = True, film: Any = None) -> Block:
    """Return charts beside each other; linked ones share zoom and cursor, and the film's time."""
    return {"kind": "charts", "charts": list(found), "linked": linked, "film": film}


def kept(y: FloatArray, most: int = POINTS) -> npt.NDArray[np.intp]:
    """Return which points of a curve are drawn: the least and the largest of each of many parts."""
    if y.size <= most:
        return np.arange(y.size)
    edges = np.linspace(0, y.size, most // 2 + 1).astype(int)
    found = {0, y.size - 1}
    for a, b in pairwise(edges):
        found |= {a + int(np.argmin(y[a:b])), a + int(np.argmax(y[a:b]))}
    return np.array(sorted(found))


def short(x: FloatArray) -> list[float | None]:
    """Return numbers with as many digits as a picture shows; None for what is not a number."""
    return [float(f"{v:.{DIGITS + 1}g}") if math.isfinite(v) else None for v in x.ravel().tolist()]


def write(path: str | Path, title: str, blocks: Sequence[Block]) -> Path:
    """Write the page."""
    data = _fitting(list(blocks))
    safe = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    shown = html.escape(title)
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{shown}</title>
<style>
{_read("page.css")}</style>
</head>
<body>
<main id="main">
<h1>{shown}</h1>
</main>
<script id="data" type="application/json">{safe}</script>
<script>
{_read("page.js")}
{_read("film.js")}
{_read("show.js")}</script>
</body>
</html>
"""
    return write_atomically(path, lambda stream: stream.write(page.encode("utf-8", "replace")))


def _fitting(blocks: list[Block]) -> str:
    """Return the data of the page, of many runs with fewer points and frames, which is said."""
    data = _told(blocks)
    for most, frames in THINNED:
        if len(data) <= LIMIT:
            break
        told = f"So that the page stays small, curves have at most {most} points, extremes kept, films {frames} frames."
        thin = [text(told, "quiet"), *(_thinned(block, most, frames) for block in blocks)]
        data = _told(thin)
    return data


def _told(blocks: Sequence[Block]) -> str:
    """Return blocks as JSON, their curves and films as 32-bit floats in base 64: half as long as digits."""
    return json.dumps({"blocks": [_packed(block) for block in blocks]}, allow_nan=False, separators=(",", ":"))


def _packed(block: Block) -> Block:
    if block["kind"] == "films":
        return {**block, "films": [_packed_film(film) for film in block["films"]]}
    if block["kind"] != "charts":
        return block
    drawn = [{**chart, "series": [_packed_curve(one) for one in chart["series"]]} for chart in block["charts"]]
    return {**block, "charts": drawn, "film": _packed_film(block["film"])}


def _packed_curve(series: Mapping[str, Any]) -> Mapping[str, Any]:
    if "texts" in series or len(series["x"]) < SOME:
        return series
    return {**series, "x": floats(series["x"]), "y": floats(series["y"])}


def _packed_film(film: Any) -> Any:
    if not film:
        return film
    counts = [len(points) for points in film["links"][0]]
    flat = [x for frame in film["links"] for points in frame for place in points for x in place]
    return {**film, "links": floats(flat), "counts": counts, "tip": floats([x for place in film["tip"] for x in place])}


def floats(values: Sequence[float | None]) -> str:
    """Return numbers, None for what is not a number, as `page.js` reads many of them."""
    whole = np.array([math.nan if x is None else x for x in values], "<f4")
    return base64.b64encode(whole.tobytes()).decode()


def _thinned(block: Block, most: int, frames: int) -> Block:
    """Return a block of charts with fewer points and frames; any other as it is."""
    if block["kind"] != "charts":
        return block
    drawn = [{**chart, "series": [_fewer(one, most) for one in chart["series"]]} for chart in block["charts"]]
    film = block["film"]
    if film and len(film["t"]) > frames:
        k = np.unique(np.linspace(0, len(film["t"]) - 1, frames).round().astype(int)).tolist()
        film = {**film, **{key: [film[key][i] for i in k] for key in ("t", "links", "tip")}}
    return {**block, "charts": drawn, "film": film}


def _fewer(series: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    """Return a curve with fewer points; points that say something of themselves stay."""
    if "texts" in series or len(series["x"]) <= most:
        return series
    k = kept(np.array([math.nan if y is None else y for y in series["y"]]), most)
    return {**series, "x": [series["x"][i] for i in k], "y": [series["y"][i] for i in k]}


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _there(x: Any) -> bool:
    return not (x is None or x == "" or (isinstance(x, float) and math.isnan(x)))


def _cell(x: Any) -> Any:
    if isinstance(x, bool | np.bool_):
        return "yes" if x else "no"
    if isinstance(x, int | float | np.number):
        value = float(x)
        if math.isfinite(value):
            return value
        return None if math.isnan(value) else {"text": "∞" if value > 0 else "-∞", "key": math.copysign(1e308, value)}
    return x if x is None or isinstance(x, Mapping) else str(x)
