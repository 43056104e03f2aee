"""Plant files of linear plants: the matrices stand in the file, or in others beside it.

    title = "..."                     reference = "..."
    [model]
    kind = "matrices"
    M = "arm_M.mtx"                   a Matrix Market file, a .csv of rows, or NAME in a .mat, .npz or .json file:
    K = "fem.mat:Kred"                FILE:NAME
    B = [[1.0], [0.0]]                rows; a vector for one input or output
    inputs = ["torque [N m]"]         outputs, coordinates, states likewise
    damping_ratio = 0.01              modal damping in place of D
    [provenance]
    "model.K" = "identified: ..."

The names of the matrices are those of `fx.from_matrices`: M, D, K, B, Cq (or C), Cv, Ca, Du, G, or A, B, C, D, dt. With
``file = "plant.mat"`` all come from one file, and what else is given here replaces what is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DefinitionError, require, unknown
from ..linear import LinearPlant, SecondOrder
from ..linear.matrices import from_matrices
from ..machine.schema import shown
from ..model import Signal
from .definition import Tree, flatten, located
from .linear_plant import LinearSystem

NAMES = ("M", "D", "K", "B", "C", "Cq", "Cv", "Ca", "Du", "G", "A")
LABELS = ("coordinates", "states", "inputs", "outputs")
KEYS = ("kind", "file", *NAMES, *LABELS, "dt", "damping_ratio")
TABLES = ("title", "reference", "model", "provenance")
_LABEL = re.compile(r"\s*(.*?)\s*(?:\[(.*)\])?\s*")


def matrix_plant(tree: Tree, path: Path, source: str, overrides: Mapping[str, Any]) -> LinearSystem:
    """Return the linear plant of a plant file with overrides."""
    with located(source):
        extra = [key for key in tree if key not in TABLES]
        if extra:
            told = f'[{extra[0]}] beside model.kind = "matrices": a linear plant has no joints, links or payload'
            raise DefinitionError(f"{told}; its file has {', '.join(TABLES)}")
        texts = {key: tree.get(key, "") for key in ("title", "reference")}
        for key, text in texts.items():
            require(isinstance(text, str), f"{key} = {shown(text)} is not a text")
        linear = _linear(tree["model"], path.parent)
        entries = dict(flatten(tree.get("provenance", {})))
        for key in entries:
            require(key.removeprefix("model.") in KEYS, f'[provenance] "{key}": {path.name} has no such key')
        linear = replace(linear, provenance={**linear.provenance, "plant": path.stem, "given": entries})
    found = LinearSystem(
        linear, path.stem, str(path), {}, texts["title"], texts["reference"], tuple(files_of(tree, path))
    )
    if not overrides:
        return found
    changes = ", ".join(f"{key} = {value}" for key, value in overrides.items())
    with located(f"{source} with {changes}"):
        require("model.kind" not in overrides, "a linear plant has no other model: leave --model out")
        return found.with_(overrides)


def files_of(tree: Tree, path: Path) -> list[Path]:
    """Return the files that a plant file names; these are not read."""
    model = tree["model"]
    words = [model.get(key) for key in ("file", *NAMES)]
    return [_place(word, path.parent)[0] for word in words if isinstance(word, str)]


def _linear(model: Mapping[str, Any], folder: Path) -> LinearPlant:
    for key in model:
        if key not in KEYS:
            raise unknown("key of [model]", key, KEYS)
    given: dict[str, Any] = {}
    if "file" in model:
        given |= _whole(model["file"], folder)
    given |= {key: _matrix(f"model.{key}", model[key], folder) for key in NAMES if key in model}
    given |= {key: _labels(f"model.{key}", model[key]) for key in LABELS if key in model}
    if "dt" in model:
        given["dt"] = _number("model.dt", model["dt"])
    ratio = model.get("damping_ratio")
    require(ratio is None or "D" not in given, "model.damping_ratio and model.D are both given; keep one")
    require(ratio is None or "A" not in given, "model.damping_ratio needs M and K; A has its own damping")
    plant = from_matrices(**given, provenance={"plant": "matrices"})
    if ratio is None or not isinstance(plant, SecondOrder):
        return plant
    return plant.with_modal_damping(_number("model.damping_ratio", ratio))


def _whole(file: Any, folder: Path) -> dict[str, Any]:
    """Return everything in a file of matrices, by the names of `from_matrices`."""
    from ..io.python_control import given_in

    require(isinstance(file, str), f"model.file = {shown(file)} is not the name of a file")
    return given_in(_place(file, folder)[0])


def _place(word: str, folder: Path) -> tuple[Path, str]:
    """Return the file and the name in it that a text says."""
    found = re.fullmatch(r"(.+\.(?:mat|npz|json)):(\w+)", word, re.IGNORECASE)
    return (folder / found[1], found[2]) if found else (folder / word, "")


def _matrix(key: str, value: Any, folder: Path) -> Any:
    if not isinstance(value, str):
        return _rows(key, value)
    file, name = _place(value, folder)
    require(file.is_file(), f"{key} = {shown(value)}: there is no file {file}")
    suffix = file.suffix.lower()
    if suffix == ".mtx":
        from ..io.market import read_matrix

        return read_matrix(file)
    if suffix in (".csv", ".txt"):
        try:
            return np.atleast_2d(np.loadtxt(file, delimiter="," if suffix == ".csv" else None, ndmin=2))
        except (ValueError, OSError) as error:
            raise DefinitionError(f"{key}: {file} is not a table of numbers: {error}") from error
    if suffix not in (".mat", ".npz", ".json"):
        known = "a .mtx, .csv or .txt file, or FILE:NAME of a .mat, .npz or .json"
        raise DefinitionError(f"{key} = {shown(value)}: give {known}")
    from ..io.records import read_record

    record = read_record(file)
    wanted = name or key.removeprefix("model.")
    if wanted not in record:
        raise unknown(f"{key}: matrix in {file.name}", wanted, record)
    return record[wanted]


def _rows(key: str, value: Any) -> Any:
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError) as error:
        told = f"{key} = {shown(value)} is no matrix"
        raise DefinitionError(f"{told}: write rows of numbers, or the name of a file") from error


def _labels(key: str, value: Any) -> list[Signal]:
    texts = [value] if isinstance(value, str) else value
    proper = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    require(proper, f'{key} = {shown(value)} is not a list of names; write ["torque [N m]", ..]')
    found = [_LABEL.fullmatch(text) for text in texts]
    return [Signal(p[1], p[2] or "1") for p in found if p]


def _number(key: str, value: Any) -> float:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    require(real, f"{key} = {shown(value)} is not a number")
    return float(value)
