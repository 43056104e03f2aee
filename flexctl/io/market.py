"""Matrix Market files (.mtx), a matrix each, as ANSYS, Abaqus, SuiteSparse and others export them.

A plant is a group of them in one folder, named alike but for what each is: ``arm_M.mtx`` and ``arm_K.mtx``, or
``mass.mtx`` and ``stiffness.mtx``. One of them is given; the others are found beside it. Names may come along as texts
with one "name [unit]" a line, ``arm_coordinates.txt``, ``arm_inputs.txt``, ``arm_outputs.txt``, ``arm_states.txt``; or
as the mapping of ANSYS, ``arm.mapping``, with lines "equation node degree-of-freedom".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..support.memory import room_for

MATRICES = ("M", "D", "K", "B", "C", "Cq", "Cv", "Ca", "Du", "G", "A")
WORDS = {
    "mass": "M", "stiffness": "K", "stiff": "K", "stif": "K", "damping": "D", "damp": "D", "input": "B", "load": "B",
    "output": "C", "closure": "G", "state": "A",
}
LABELS = {"coordinates": "coordinate", "inputs": "input", "outputs": "output", "states": "state"}
_UNIT = re.compile(r"(.*?)\s*(?:\[(.*)\])?\s*")
_MAPPED = re.compile(r"\s*(\d+)\s+(\d+)\s+([A-Za-z]\w*)\s*")
_DOF_UNITS = {"UX": "m", "UY": "m", "UZ": "m", "ROTX": "rad", "ROTY": "rad", "ROTZ": "rad"}


def read_group(path: Path) -> dict[str, Any]:
    """Return the matrices and labels of the group to which a file belongs, by the names of `from_matrices`."""
    prefix, own = _parts(path.stem)
    if own is None:
        known = ", ".join(MATRICES)
        raise DefinitionError(
            f'{path}: which matrix is it? Call it {path.stem}_K.mtx, with one of {known} at the end, or '
            f"name it in a plant file: [model] kind = \"matrices\", K = \"{path.name}\""
        )
    found: dict[str, Any] = {}
    for file in sorted(path.parent.iterdir()):
        start, name = _parts(file.stem)
        if file.suffix.lower() != path.suffix.lower() or start.lower() != prefix.lower() or name is None:
            continue
        require(name not in found, f"{path.parent}: two files hold {name} of {prefix or 'the plant'}; keep one")
        found[name] = read_matrix(file)
    for word in LABELS:
        for joint in _joints(prefix):
            labels = _labels(path.parent / f"{prefix}{joint}{word}.txt")
            if labels:
                found[word], found[f"{LABELS[word]}_units"] = map(list, zip(*labels, strict=True))
    if "coordinates" not in found and "A" not in found:
        mapped = _mapping(path.parent, prefix, path.stem)
        if mapped:
            found["coordinates"], found["coordinate_units"] = map(list, zip(*mapped, strict=True))
    return found


def read_matrix(path: Path) -> np.ndarray[Any, Any]:
    """Return the matrix of a file, in full."""
    from scipy.io import mminfo, mmread
    from scipy.sparse import issparse

    try:
        rows, columns, *_ = mminfo(str(path))
        what = f"{path.name}, {rows} x {columns} in full"
        with room_for(float(rows) * float(columns), what, "reduce the model first"):
            found = mmread(str(path))
    except (ValueError, OverflowError, StopIteration, EOFError) as error:
        raise DefinitionError(f"{path}: damaged, or not a Matrix Market file ({error})") from error
    except OSError as error:
        raise DefinitionError(f"cannot read {path}: {error.strerror or error}") from error
    matrix = np.asarray(found.toarray() if issparse(found) else found)
    require(matrix.dtype.kind != "c" or not np.any(matrix.imag), f"{path}: the matrix is complex; plants are real")
    return np.ascontiguousarray(matrix.real, dtype=float)


def _parts(stem: str) -> tuple[str, str | None]:
    """Return what files of a plant share in their names, and which matrix this one is; None where that is not said."""
    for name in sorted(MATRICES, key=len, reverse=True):
        found = re.fullmatch(rf"(.*?)(?:^|[_\-.]){name}(?:mat)?", stem, re.IGNORECASE if len(name) == 1 else 0)
        if found:
            return found[1], name
    for word, name in WORDS.items():
        found = re.fullmatch(rf"(.*?)(?:^|[_\-.]){word}(?:[_\-.]?mat(?:rix)?|\d)?", stem, re.IGNORECASE)
        if found:
            return found[1], name
    return stem, None


def _joints(prefix: str) -> tuple[str, ...]:
    return ("_", "-", ".") if prefix else ("",)


def _labels(path: Path) -> list[tuple[str, str]]:
    """Return names and units of a text with one a line, empty without such a file."""
    if not path.is_file():
        return []
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    parts = [_UNIT.fullmatch(line.strip()) for line in lines]
    return [(p[1], p[2] or "1") for p in parts if p]


def _mapping(folder: Path, prefix: str, stem: str) -> list[tuple[str, str]]:
    """Return the coordinates of a mapping of ANSYS, in the order of the equations; empty without one."""
    places = [folder / f"{name}.mapping" for name in (prefix, stem) if name]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        return []
    rows = [_MAPPED.fullmatch(line) for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    found = {int(r[1]): (f"node{r[2]}_{r[3].upper()}", _DOF_UNITS.get(r[3].upper(), "1")) for r in rows if r}
    require(sorted(found) == list(range(1, len(found) + 1)), f"{file}: the equations are not numbered 1, 2, 3, ..")
    return [found[i] for i in sorted(found)]
