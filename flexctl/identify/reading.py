"""Measured data from files: .csv with units in the head, .npz, .mat, .json, and universal files (.uff, .unv, dataset
58).

    time [s],joint1_torque [N m],joint1_angle [deg],root_strain [ustrain]       .csv: lines of # are skipped
    0.000,0.012,0.031,-4.1

A head may also say "angle (deg)" or "angle/deg", or have the units in a row of their own below it; columns may be
separated by semicolons or tabs, and then numbers may have decimal commas. Lines of % are skipped too.

    .npz .mat .json     a vector for each signal, "time" or "t" among them (or "dt"), with "units" {name: unit} as JSON
                        text, or "name [unit]" as names; or matrices u, y (and r) with lists "inputs" and "outputs" of
                        "name [unit]"; what flexctl writes itself (`Record.save`, `flexctl simulate -o`) is of this kind

What is an input is said by the file (flexctl's own do), by the argument, or else by the unit: torques, forces, voltages
and currents are inputs.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DefinitionError, NotAvailable, require, unknown
from ..model import FloatArray
from ..support.files import check_kind
from ..support.tabular import matlab_name
from ..support.units import is_unit
from . import quality
from .reading_csv import Columns, json_object, read_table
from .record import Record, parsed_head, record

SUFFIXES = (".csv", ".npz", ".mat", ".json", ".uff", ".unv")
TIMES = ("time", "t")
DRIVING = ("N m", "N", "V", "A")
"""Units of what is taken for an input where nobody says what is one."""
FAULTS = "faults of columns"
"""Key of what a file tells under which columns that cannot be used are kept, until one is."""
TOLD = ("units", "about", "columns", "dt", "period", "period_samples", "held", "seed")


def read_record(
    path: str | Path,
    *,
    inputs: Sequence[str] = (),
    references: Sequence[str] = (),
    outputs: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    period: float | None = None,
    held: bool | None = None,
    rename: Mapping[str, str] | None = None,
) -> Record:
    """Return the record of a file; the module says what files may look like.

    Parameters
    ----------
    path : str or Path
        A .csv, .npz, .mat, .json, .uff or .unv file.
    inputs, references : sequence of str
        Names of the columns that are inputs and references; by default what the file says, else by their units.
    outputs : sequence of str
        Names of the columns that are outputs, after renaming as all names here; other columns are left out. By default
        all that are neither inputs nor references.
    units : mapping, optional
        Name -> unit, for files that state none.
    period, held : optional
        As for `record`.
    rename : mapping, optional
        Name in the file -> name of the plant's signal.

    Examples
    --------
    >>> made = fx.identify.record(1e-3, {"torque [N m]": [0.0, 0.1] * 8}, {"joint1_angle [rad]": np.arange(16) * 1e-3})
    >>> fx.identify.read_record(made.save("record.csv"))
    Record(16 samples of 0.001 s, ['torque'] -> ['joint1_angle'], 8 periods of 2)
    """
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix not in SUFFIXES:
        raise DefinitionError(f'"{source.name}": unknown file type "{source.suffix}"; use one of {", ".join(SUFFIXES)}')
    try:
        columns, stated, about = _tables(source, suffix)
        columns, stated = _renamed(columns, stated, rename or {}, about)
        for name in units or {}:
            if name not in columns:
                raise unknown("signal in units", name, columns)
        stated = {**stated, **(units or {})}
        return _assembled(columns, stated, about, (inputs, references, outputs), period, held, source.name)
    except DefinitionError as error:
        raise DefinitionError(f"{source}: {error}") from error


def signals_of(path: str | Path) -> tuple[Columns, dict[str, str], dict[str, Any]]:
    """Return the signals of a file by name, their units as stated and what else it tells."""
    source = Path(path)
    try:
        columns, stated, about = _tables(source, source.suffix.lower())
        raise_faults(about, columns)
    except DefinitionError as error:
        raise DefinitionError(f"{source}: {error}") from error
    return columns, stated, about


def names_in(path: str | Path) -> list[str]:
    """Return the names of the signals of a file, usable or not."""
    source = Path(path)
    try:
        return list(_tables(source, source.suffix.lower())[0])
    except DefinitionError as error:
        raise DefinitionError(f"{source}: {error}") from error


def raise_faults(about: Mapping[str, Any], used: Iterable[str]) -> None:
    """Refuse columns that cannot be used: the first fault of them in the file."""
    faults = about.get(FAULTS, {})
    for name in faults:
        if name in used:
            raise DefinitionError(faults[name])


def _tables(source: Path, suffix: str) -> tuple[Columns, dict[str, str], dict[str, Any]]:
    """Return signals by name, their units as stated, and what else the file tells."""
    if suffix == ".csv":
        table = read_table(source)
        columns, stated = _split_heads(table.columns, len(table.columns))
        faults = {head.partition("[")[0].strip(): fault for head, fault in table.faults.items()}
        return columns, stated, {**table.about, **({FAULTS: faults} if faults else {})}
    if suffix in (".uff", ".unv"):
        from .uff import time_signals

        return time_signals(source)
    return _from_arrays(_arrays(source, suffix))


def _split_heads(table: Mapping[str, Any], count: int) -> tuple[Columns, dict[str, str]]:
    """Return columns by bare name, and the units that stand in brackets."""
    columns, stated = {}, {}
    for head, values in table.items():
        name, _, rest = head.partition("[")
        columns[name.strip()] = values
        if rest:
            stated[name.strip()] = rest.partition("]")[0].strip()
    require(len(columns) == count, f"two columns have one name; there are {', '.join(columns)}")
    return columns, stated


def _arrays(source: Path, suffix: str) -> dict[str, Any]:
    """Return everything in a file of arrays."""
    try:
        data = source.read_bytes()
    except OSError as error:
        raise DefinitionError(f"cannot read it: {error.strerror or error}") from error
    check_kind(data, suffix)
    try:
        if suffix == ".npz":
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files}
        if suffix == ".json":
            told = json.loads(data.decode("utf-8"))
            require(isinstance(told, dict), "does not hold one JSON object")
            return {**told, **told.pop("columns", {})} if isinstance(told.get("columns"), dict) else told
        from ..io.hdf5 import is_hdf5, read_hdf5
        from ..io.matfile import read_mat

        return _by_own_names(dict(read_hdf5(data) if is_hdf5(data) else read_mat(data)))
    except (DefinitionError, NotAvailable):
        raise
    except Exception as error:  # whatever a decoder raises on bytes that are not its own
        raise DefinitionError(f"cannot read it, damaged or not a {suffix} file: {error}") from error


def _by_own_names(content: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of a file that flexctl wrote by the names that they have here, not by those for MATLAB."""
    taken: list[str] = [key for key in ("units", "about", "columns") if key in content]
    listed = content.get("columns", [])
    for name in listed if isinstance(listed, list) else [listed]:
        written = matlab_name(str(name), taken)
        taken.append(written)
        if written in content:
            content[str(name)] = content.pop(written)
    return content


def _from_arrays(content: Mapping[str, Any]) -> tuple[Columns, dict[str, str], dict[str, Any]]:
    about = json_object(content.get("about", "{}"), "about")
    for key in ("period", "period_samples", "held", "seed"):
        if key in content:
            about.setdefault(key, np.asarray(content[key]).item())
    units = json_object(content.get("units", "{}"), "units")
    table: dict[str, Any] = {}
    matrices = [key for key in ("u", "y", "r") if key in content and _listed(content, key)]
    for key in matrices:
        labels = _listed(content, key)
        block = np.asarray(content[key], float)
        block = block.reshape(-1, 1) if block.ndim == 1 else block
        require(block.ndim == 2, f"{key} has {block.ndim} dimensions; it needs a row for each sample")
        block = block.T if block.shape[1] != len(labels) and block.shape[0] == len(labels) else block
        require(block.shape[1] == len(labels), f"{key} has {block.shape[1]} columns for {len(labels)} names")
        table |= {label: block[:, i] for i, label in enumerate(labels)}
        about[{"u": "inputs", "y": "outputs", "r": "references"}[key]] = [x.partition("[")[0].strip() for x in labels]
    used = {*matrices, *(key for key in content if key.endswith(("puts", "_names", "_units", "references")))}
    lost = []
    for key, value in content.items():
        numbers = np.asarray(value) if key not in (*TOLD, *used) else np.zeros(0)
        real = numbers.real if numbers.dtype.kind == "c" and not numbers.imag.any() else numbers
        if numbers.size < 2 or numbers.dtype.kind in "USO":
            continue  # remarks and settings
        if real.dtype.kind in "fiub" and real.ndim in (1, 2) and max(real.shape) == real.size:
            table[key] = real.ravel().astype(float)
        else:
            lost.append(f"{key} ({_said(numbers)})")
    if lost:
        quality.tell([f"left out, since a signal is one row or column of real numbers: {', '.join(lost)}"])
    if "dt" in content and not any(name.partition("[")[0].strip() in TIMES for name in table):
        count = max((len(x) for x in table.values()), default=0)
        table["time [s]"] = np.arange(count) * float(np.asarray(content["dt"]).item())
    columns, stated = _split_heads(table, len(table))
    seconds = {name: "s" for name in TIMES if name in columns}  # unless they say otherwise
    return columns, {**seconds, **{str(k): str(v) for k, v in units.items()}, **stated}, about


def _said(numbers: Any) -> str:
    """Return what an array is, in words."""
    return f"{' x '.join(map(str, numbers.shape))} {'complex ' if numbers.dtype.kind == 'c' else ''}numbers"


def _listed(content: Mapping[str, Any], key: str) -> list[str]:
    """Return the names of the columns of u, y or r."""
    word = {"u": "input", "y": "output", "r": "reference"}[key]
    found = next((content[k] for k in (f"{word}s", f"{word}_names") if k in content), None)
    if found is None:
        return []
    names = [str(x).strip() for x in np.atleast_1d(np.asarray(found)).ravel()]
    units = content.get(f"{word}_units")
    if units is None:
        return names
    stated = [str(x).strip() for x in np.atleast_1d(np.asarray(units)).ravel()]
    require(len(stated) == len(names), f"{len(stated)} {word}_units for {len(names)} {word}s")
    return [f"{name.partition('[')[0].strip()} [{unit}]" for name, unit in zip(names, stated, strict=True)]


def _renamed(
    columns: Columns, stated: Mapping[str, str], rename: Mapping[str, str], about: dict[str, Any]
) -> tuple[Columns, dict[str, str]]:
    for old in rename:
        if old not in columns:
            raise unknown("signal to rename", old, columns)
    for key in ("inputs", "outputs", "references"):
        if key in about:
            about[key] = [rename.get(name, name) for name in about[key]]
    if FAULTS in about:
        about[FAULTS] = {rename.get(name, name): fault for name, fault in about[FAULTS].items()}
    return ({rename.get(k, k): v for k, v in columns.items()}, {rename.get(k, k): v for k, v in stated.items()})


def _assembled(
    columns: Columns,
    stated: Mapping[str, str],
    about: Mapping[str, Any],
    chosen: tuple[Sequence[str], Sequence[str], Sequence[str]],
    period: float | None,
    held: bool | None,
    name: str,
) -> Record:
    inputs, references, outputs = chosen
    time = next((key for key in columns if key.lower() in TIMES), None)
    if time is None:
        raise DefinitionError(
            'no column is the time: call it "time [s]", or rename one, Zeit=time; there are '
            + (", ".join(columns) or "none")
        )
    require(time in stated, f'the time has no unit: write "{time} [s]"')
    signal, factor = parsed_head(f"{time} [{stated[time]}]")
    require(signal.unit == "s", f'the time is in "{stated.get(time)}", which is not a unit of time; write "time [s]"')
    signals = [key for key in columns if key != time]
    given = about.get("outputs")
    if given is not None and not inputs:  # other columns of flexctl's own files (estimated states, say) are left out
        signals = [key for key in signals if key in {*about.get("inputs", ()), *given, *about.get("references", ())}]
    for wanted in (*inputs, *references, *outputs):
        if wanted not in signals:
            raise unknown("signal of the file", wanted, signals)
    twice = sorted({w for w in outputs if w in (*inputs, *references)})
    require(not twice, f"{', '.join(twice)}: chosen as an output, and as an input or a reference too")
    if outputs:  # columns that are not chosen need no unit
        kept = {*outputs, *references, *(inputs or [key for key in signals if stated.get(key)])}
        quality.tell(_driving_left_out([key for key in signals if key not in kept], columns, stated))
        signals = [key for key in signals if key in kept]
    raise_faults(about, (time, *signals))
    heads = {key: f"{key} [{stated[key]}]" if stated.get(key) else key for key in signals}
    referred = list(references) or [key for key in about.get("references", ()) if key in signals]
    referred += [key for key in signals if key.startswith("reference:") and key not in referred]
    driven = list(inputs) or [key for key in about.get("inputs", ()) if key in signals]
    if not driven:
        driven = [key for key in signals if key not in referred and parsed_head(heads[key])[0].unit in DRIVING]
        told = "no column has the unit of a torque, force, voltage or current"
        require(
            bool(driven), f"which column is the input? {told}; say inputs = [...] (on the command line --input NAME)"
        )
    measured = list(outputs) or [key for key in signals if key not in (*driven, *referred)]
    require(bool(measured), f"all columns ({', '.join(signals)}) are inputs: there is no output")
    return record(
        factor * columns[time],
        *({heads[key]: columns[key] for key in group} for group in (driven, measured, referred)),
        period=period if period is not None else _told_period(about, factor * columns[time]),
        held=bool(about.get("held", True)) if held is None else held,
        provenance={**{key: value for key, value in about.items() if key != FAULTS}, "file": name},
    )


def _driving_left_out(left: Sequence[str], columns: Columns, stated: Mapping[str, str]) -> list[str]:
    """Return a word on each column that drives the arm and is not chosen."""
    return [
        f'"{key}" [{stated[key]}] is not chosen, though it moves: what it does to the outputs is taken for noise, or '
        "for what the chosen inputs do"
        for key in left
        if stated.get(key) and _unit(stated[key]) in DRIVING and np.any(columns[key] != 0.0)
    ]


def _unit(text: str) -> str:
    return parsed_head(f"signal [{text}]")[0].unit if is_unit(text) else ""


def _told_period(about: Mapping[str, Any], t: FloatArray) -> float | None:
    """Return the period [s] that the file states, if any."""
    if "period_samples" in about:
        return float(about["period_samples"]) * float((t[-1] - t[0]) / max(t.size - 1, 1))
    return None
