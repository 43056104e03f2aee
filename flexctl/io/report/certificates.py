"""A certificate as blocks of a page: the verdict and its set first, then what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...judging.certify.certificate import Certificate
from ...model import names
from ...simulation.score_words import column, idle
from ..plot.canvas import PALETTE, words
from . import page
from .plants import pole_map
from .runs import MOST

BANDS = ("settle_1pct_s", "settle_0p1pct_s")


def of_certificate(found: Certificate) -> list[page.Block]:
    """Return everything that `flexctl certify` prints, with pole map and curves."""
    passed = found.passed
    blocks = [
        page.text("Every requirement is met.", "good") if passed else page.text("A requirement is not met.", "bad"),
        page.text(found.holds), page.heading("Requirements"), _verdicts(found),
    ]
    missing = [note for note in (found.no_loop, *found.notes) if note]
    blocks += [page.text(f"Not examined: {note}") for note in missing]
    if found.loops:
        blocks += [page.heading("Linear loops on the whole plant"), _loops(found)]
        blocks.append(page.charts([pole_map({x.variant or "nominal": x.poles for x in found.loops[:7]})], linked=False))
    if found.points:
        blocks += [page.heading("Other payloads and stiffnesses"), _grid(found)]
        drawn = _disk(found)
        if drawn is not None:
            blocks.append(page.charts([drawn], linked=False))
    between = (found.between.point,) if found.between is not None and found.between.point is not None else ()
    for title, members in (
        ("Between the points of the set, the worst that a search found", between), ("Other poses", found.posed),
        ("Other dampings", found.dampings), ("Ranges", found.varied),
    ):
        if members:
            rows = [
                [p.where(), _state(p), *((p.loop.decay, p.loop.least_damped[0], p.loop.smallest("disk_margin"))
                                         if p.loop else (None, None, None))]
                for p in members
            ]
            heads = ["plant<", "loop<", "slowest\n[1/s]", "least\ndamping", "disk\nmargin"]
            blocks += [page.heading(title), page.table("", heads, rows)]
    blocks += _limits(found) + _loads(found) + _events(found) + _encoders(found) + _runs(found)
    return blocks


def _verdicts(found: Certificate) -> page.Block:
    rows = [[v.name, v.bound, v.found, page.cell(v.word, "good" if v.passed else "bad")] for v in found.verdicts]
    return page.table("", ["requirement<", "bound<", "found<", "verdict<"], rows)


def _state(point: Any) -> Any:
    return point.state if point.stable else page.cell(point.state, "bad")


def _loops(found: Certificate) -> page.Block:
    heads = [
        "plant<", "loop<", "slowest\n[1/s]", "least\ndamping", "at\n[Hz]", "gain\nmargin", "gain\nreduction",
        "phase\nmargin [deg]", "delay\nmargin [ms]", "disk\nmargin",
    ]
    rows = []
    for loop in found.loops:
        zeta, hertz = loop.least_damped
        for drive, m in loop.margins.items():
            numbers = (m.gain_margin, m.gain_reduction, m.phase_margin_deg, 1e3 * m.delay_margin, m.disk_margin)
            state = words(drive) if loop.stable else page.cell(f"{words(drive)}: {loop.state}", "bad")
            rows.append([
                loop.variant or "nominal", state, loop.decay, zeta, hertz, *(numbers if loop.stable else [None] * 5)
            ])
    return page.table("", heads, rows)


def _grid(found: Certificate) -> page.Block:
    keys = [k for k in next((p.scores for p in found.points if p.scores), {}) if k.endswith(BANDS)]
    heads = [f"{words(k.rpartition('.')[0])}\nto {'1' if k.endswith(BANDS[0]) else '0.1'} %\n[s]" for k in keys]
    rows = []
    for p in found.points:
        disk = p.loop.smallest("disk_margin") if p.loop and p.loop.stable else None
        mass = None if p.payload is None else 1e3 * p.payload
        scores = [p.scores.get(k) for k in keys]
        rows.append([mass, 100.0 * p.frequency, _state(p), disk, *scores, "worst" if p is found.worst else ""])
    return page.table("", ["payload\n[g]", "frequencies\n[%]", "loop<", "disk\nmargin", *heads, "<"], rows)


def _disk(found: Certificate) -> Any:
    """Return the disk margin over the payload, a curve for each stiffness."""
    every: dict[float, list[tuple[float, float]]] = {}
    for p in found.points:
        if p.payload is not None and p.loop is not None:
            disk = p.loop.smallest("disk_margin") if p.loop.stable else 0.0
            every.setdefault(p.frequency, []).append((1e3 * p.payload, disk))
    rows = {change: np.array(sorted(x)) for change, x in every.items() if len(x) > 1}
    if not rows:
        return None
    series = [
        page.curve(f"frequencies {100 * change:+.3g} %", x[:, 0], x[:, 1], **page.one_of(k))
        for k, (change, x) in enumerate(sorted(rows.items()))
    ]
    return page.chart("Disk margin; 0: unstable", page.axis("payload", "g"), page.axis("disk margin"), series)


def _limits(found: Certificate) -> list[page.Block]:
    rows = []
    for limit in found.limits:
        mass = limit.what == "payload_kg"
        value, unit = (1e3 * limit.value, "g") if mass else (100.0 * limit.value, "%")
        end = "unstable beyond" if limit.reached else "searched no further"
        rows.append(["payload" if mass else "natural frequencies", limit.variant or "", value, unit, end])
    blocks: list[page.Block] = []
    if rows:
        heads = ["what<", "plant<", "stable to", "unit<", "<"]
        blocks += [page.heading("Limits of stability"), page.table("", heads, rows)]
    for pose, bound in found.bounds.items():
        told = f"not examined: {bound}" if isinstance(bound, str) else str(bound)
        where = pose or "where it begins"
        blocks.append(page.text(f"30 % / mu at every command, whatever the payload ({where}): {told}"))
    return blocks


def _units(found: Certificate) -> dict[str, str]:
    return {s.name: s.unit for run in found.responses.values() for s in (*run.outputs, *run.inputs)}


def _loads(found: Certificate) -> list[page.Block]:
    units = _units(found)
    rows = [
        [x.variant or "nominal", words(x.drive), x.size, units.get(x.drive, ""), words(x.output), x.peak, x.left,
         units.get(x.output, ""), {"text": "not in this run", "key": 1e308} if np.isinf(x.recovery) else x.recovery]
        for x in found.loads if not x.failure
    ]
    heads = [
        "plant<", "load at<", "size", "unit<", "gives way<", "largest", "left at\nthe end", "unit<",
        "back to\n0.1 % [s]",
    ]
    title = "A constant load that sets in while the arm holds still"
    return [page.heading(title), page.table("", heads, rows)] if rows else []


def _events(found: Certificate) -> list[page.Block]:
    told = {x.name: f"{x.name} ({x.about})" if x.about else x.name for x in found.events}
    rows = [[told[x.name], x.time, words(x.output), x.largest, x.left] for x in found.events if not x.failure]
    heads = ["what<", "at\n[s]", "followed<", "largest error\n[fraction of the move]", "at the end"]
    grown = [page.text(x.told) for x in found.events if x.told]
    shown = [page.table("", heads, rows)] if rows else []
    return [page.heading("When something happens on the way"), *shown, *grown] if rows or grown else []


def _encoders(found: Certificate) -> list[page.Block]:
    driven = list(next((q.ripple for q in found.quantised if q.ripple), {}))
    rows: list[Sequence[Any]] = [[q.bits, *(q.ripple[n] for n in driven)] for q in found.quantised if not q.failure]
    heads = ["bits", *(f"ripple of\n{words(n)}" for n in driven)]
    return [page.heading("Encoders"), page.table("", heads, rows)] if rows else []


def _runs(found: Certificate) -> list[page.Block]:
    blocks: list[page.Block] = []
    if found.runs:
        units = _units(found)
        every = dict.fromkeys(key for scores in found.runs.values() for key in scores)
        values = {key: [scores.get(key) for scores in found.runs.values()] for key in every}
        rows: list[Sequence[Any]] = [
            [column(key, units).replace("\n", " "), *row] for key, row in values.items() if not idle(key, row)
        ]
        blocks += [page.heading("Runs on the full model"), page.table("", ["score<", *found.runs], rows)]
    if found.responses:
        blocks += [page.heading(f"{found.scenario}: full model and linear prediction"), _both(found.responses)]
    return blocks


def _both(responses: Mapping[str, Any]) -> page.Block:
    full = responses["full"] if "full" in responses else next(iter(responses.values()))
    drawn = []
    for name in [s.name for s in (*full.outputs, *full.inputs)][:MOST]:
        series = []
        for k, (label, run) in enumerate(responses.items()):
            known = names(run.outputs)
            if name in known or name in names(run.inputs):
                # the prediction counts from the operating point, at which the run begins
                shift = full[name][0] - run[name][0] if name in known else 0.0
                series.append(page.curve(label, run.t, run[name] + shift, PALETTE[k], dash=int(k > 0)))
        if np.ptp(full[name]) > 0.0:
            drawn.append(page.chart(words(name), page.axis("time", "s"), page.axis("", full.unit(name)), series))
    return page.charts(drawn)
