"""Where exported code comes from: law, plant, version, date, margins, a fingerprint of the numbers."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..abilities import Identified, provenance_of
from ..design.design import Design
from ..errors import DefinitionError, FlexctlError
from ..laws.abilities import DesignedForRange
from ..laws.controller import layers
from .program import Program

if TYPE_CHECKING:
    from . import Request
    from .c_source import Sizes


def design_of(law: Any) -> Design | None:
    """Return the design that a law stands in, if it does."""
    return next((layer for layer in layers(law) if isinstance(layer, Design)), None)


def date() -> str:
    """Return the time of the export; SOURCE_DATE_EPOCH [s] in its place makes exports repeat to the byte."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    try:
        return datetime.datetime.fromtimestamp(int(given), datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError) as error:
        raise DefinitionError(f'SOURCE_DATE_EPOCH = "{given}" is not a number of seconds') from error


@dataclass(frozen=True)
class Provenance:
    """Where an export comes from."""

    title: str
    plant: str
    date: str
    digest: str
    margins: tuple[str, ...]
    certificate: str
    assumptions: tuple[str, ...]
    designed_for: str = ""
    """Range of the readings for which the law was designed, empty where it states none."""

    def lines(self, program: Program, taken: Sizes, notes: Sequence[str]) -> list[str]:
        """Return the text of a header file; the first three lines name law, plant, version and date."""
        limits = [
            f"{s.name} {low:g} .. {high:g} {s.unit}".rstrip()
            for s, low, high in zip(program.drives, *bounds(program), strict=True)
            if np.isfinite(low) or np.isfinite(high)
        ]
        quanta = [
            f"{s.name} {q:.9g} {s.unit}".rstrip()
            for step in program.quanta for s, q in zip(program.measures, step, strict=True) if q > 0
        ]
        return [
            f"{self.title}: sampled control law, made by flexctl {__version__} on {self.date}",
            f"plant: {self.plant}",
            f"sha256 of the numbers: {self.digest}",
            "",
            f"sample time: {program.sample_time:.9g} s; delay of the command: {program.delay} periods",
            f"limits: {'; '.join(limits) or 'none'}",
            f"quanta of the readings: {'; '.join(quanta) or 'none'}",
            *([f"designed for: {self.designed_for}"] if self.designed_for else []),
            *self.margins,
            f"certificate: {self.certificate}",
            f"state: {taken.state} bytes (single precision {taken.state_float}); constants: {taken.constants} bytes",
            f"operations in a period, at most: {taken.multiply_adds} multiply-adds, {taken.other} others",
            *(f"note: {note}" for note in notes),
            "",
            "compile with -std=c99 -ffp-contract=off, never with -ffast-math",
        ]


def bounds(program: Program) -> tuple[Any, Any]:
    """Return the least and largest command that any part of a law lets pass."""
    lower = np.min([law.lower for law in program.laws], axis=0)
    upper = np.max([law.upper for law in program.laws], axis=0)
    return np.maximum(lower, -program.limit), np.minimum(upper, program.limit)


def provenance(request: Request, program: Program) -> Provenance:
    """Return where a request comes from."""
    design = design_of(request.thing)
    plant = request.plant if request.plant is not None or design is None else design.plant
    margins, assumptions = tuple(_margins(design)), tuple(_assumptions(design))
    if program.about:  # sampled for this export
        margins = tuple(f"before it was sampled: {line}" for line in margins)
    verdict = certified(request, plant)
    return Provenance(
        request.title or request.name, plant_text(plant), date(), digest(program), margins, verdict, assumptions,
        _designed_for(request.thing, program),
    )


def _designed_for(law: Any, program: Program) -> str:
    """Return for which readings a law was designed, and that it goes on beyond them without a word."""
    units = {s.name: s.unit for s in program.measures}
    ranges = [x.designed_for for x in layers(law) if isinstance(x, DesignedForRange)]
    told = [f"{y} {low:g} .. {high:g} {units.get(y, '')}".rstrip() for x in ranges for y, (low, high) in x.items()]
    beyond = "; outside it acts as at the nearest design, and nothing is known of that loop"
    return f"{'; '.join(dict.fromkeys(told))}{beyond}" if told else ""


def certified(request: Request, plant: Any) -> str:
    """Return the verdict of the certificate that was given with a request; one of another law or plant is refused."""
    path = request.options.get("certificate")
    if path is None:
        return "none was given; flexctl certify -o FILE.json makes one"
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        holds, passed = str(found["holds"]), bool(found["passed"])
        about = {key: str(found[key]) for key in ("controller", "plant", "version")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DefinitionError(f"{path} is not a certificate: {error}; give the .json of flexctl certify -o") from error
    record = _record(plant)
    changed = {str(k): str(v) for k, v in dict(record.get("overrides") or {}).items()}
    theirs = {str(k): str(v) for k, v in dict(found.get("overrides") or {}).items()}
    own = {"controller": request.title, "plant": str(record.get("plant") or ""), "overrides": changed}
    for key, mine in own.items():
        other = theirs if key == "overrides" else about[key]
        if mine != other:
            raise DefinitionError(f"{path} is the certificate of another {key}: {other}, here {mine}")
    if about["version"] != __version__:
        raise DefinitionError(f"{path} was made by flexctl {about['version']}, this is {__version__}: certify again")
    return f"{'passed' if passed else 'NOT PASSED'}: {' '.join(holds.split())}"


def plant_text(plant: Any) -> str:
    """Return name, model and overrides of a plant in a line."""
    if plant is None:
        return "not stated"
    record = _record(plant)
    changes = ", ".join(f"{key} = {value}" for key, value in dict(record.get("overrides") or {}).items())
    name, model = str(record.get("plant") or "not named"), str(record.get("model") or "")
    return f"{name}{f' ({model})' if model else ''}{f', {changes}' if changes else ''}"


def _record(plant: Any) -> dict[str, Any]:
    """Return what a plant says of itself."""
    return dict((plant.identity if isinstance(plant, Identified) else provenance_of(plant)) or {})


def digest(program: Program) -> str:
    """Return the fingerprint of all numbers of a program."""
    found = hashlib.sha256()
    for law in program.laws:
        for key in ("A", "By", "Br", "Bu", "C", "Dy", "Dr", "lower", "upper", "start"):
            found.update(np.ascontiguousarray(getattr(law, key), "<f8").tobytes())
    rest = [np.array([program.sample_time, program.limit, program.delay]), np.array(program.switches, float)]
    rest += program.quanta
    rest += [] if program.blend is None else [np.array(program.blend.points)]
    rest += [] if program.table is None else [program.table]
    for numbers in rest:
        found.update(np.ascontiguousarray(numbers, "<f8").tobytes())
    return found.hexdigest()


def _margins(design: Design | None) -> list[str]:
    """Return what is known of the loop on the plant of the design."""
    if design is None:
        return ["margins: not known (the law was given without its design)"]
    if not design.law.measures:
        return ["the law measures nothing: there is no loop"]
    try:
        slowest = float(design.poles.real.max(initial=-np.inf))
        lines = [
            f"loop at {drive}: gain margin {m.gain_margin:.4g}, phase margin {m.phase_margin_deg:.4g} deg, "
            f"delay margin {1e3 * m.delay_margin:.4g} ms, disk margin {m.disk_margin:.4g}"
            for drive, m in design.margins.items()
        ]
    except FlexctlError as error:
        return [f"margins: not known ({error})"]
    state = design.state
    return [f"closed loop on the plant of the design: {state}, slowest pole {slowest:.4g} 1/s", *lines]


def _assumptions(design: Design | None) -> list[str]:
    if design is None:
        return []
    return [f"{key}: {value}" for key, value in (*design.assumptions.items(), *design.found.items())]
