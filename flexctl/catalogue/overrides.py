"""Overrides: other values for some keys of a plant file, by dotted key.

    payload.mass = 0.02        link.1.length = 1.2        material.aluminium.density = 2700        model.sections = 40

Arrays count from 1. A whole array is replaced by a list of tables, `sensor=[{...}]`. Another `model.kind` drops the
options of the kind in the file.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DefinitionError, require, unknown
from ..machine.arm import Arm
from ..machine.schema import shown
from ..models import outside
from .definition import TABLES, Definition, Tree, flatten, parsed, read_definition

EXAMPLE = "write KEY=VALUE, for example payload.mass=0.02"


def parse_override(text: str) -> tuple[str, Any]:
    """Return (dotted key, value) of a command-line override such as `payload.mass=0.02` or `model.form=paper`."""
    key, equals, value = (part.strip() for part in text.partition("="))
    require(bool(key and equals and value), f"override {shown(text)} is not understood; {EXAMPLE}")
    if re.fullmatch(r"[A-Za-z_][\w-]*", value) and value not in ("true", "false", "nan", "inf"):
        return key, value
    try:
        content = parsed(f"value = {value}")
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, DefinitionError) else "write plain SI numbers, without the unit"
        raise DefinitionError(f"override {key}: {shown(value)} is not a value; {reason}") from error
    require(set(content) == {"value"}, f"override {shown(text)} is not understood; {EXAMPLE}")
    return key, content["value"]


def merge(
    overrides: Mapping[str, Any] | None, model: str | Mapping[str, Any] | None, tables: Mapping[str, Any]
) -> dict[str, Any]:
    """Return one flat dictionary of dotted keys from the three ways in which `load_plant` takes overrides."""
    kind = {"kind": model} if isinstance(model, str) else model or {}
    given = {key: table for key, table in {"model": kind, **tables}.items()
             if not (isinstance(table, Mapping) and not table)}
    flat = {**dict(flatten(overrides or {})), **dict(flatten(given))}
    found = {key: value.item() if _is_one_number(value) else value for key, value in flat.items()}
    if isinstance(found.get("model.kind"), str):
        found["model.kind"] = outside.absolute(found["model.kind"], Path.cwd())
    return found


def _is_one_number(value: Any) -> bool:
    return isinstance(value, np.generic | np.ndarray) and value.size == 1


def combine(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Return both; a later whole array or solver takes the earlier overrides inside it away."""
    replaced = [f"{key}." for key in later if key in TABLES] + ["model."] * ("model.kind" in later)
    return {key: value for key, value in earlier.items() if not key.startswith(tuple(replaced))} | dict(later)


def overridden(tree: Tree, name: str, overrides: Mapping[str, Any]) -> Definition:
    """Return the definition of a file with other values: whole arrays first, then the keys inside them."""
    definition = filed = read_definition(tree, name)
    for whole in (True, False):
        chosen = {key: value for key, value in overrides.items() if (key in TABLES) == whole}
        if chosen:
            tree = _apply(tree, definition, chosen)
            definition = read_definition(tree, name)
    return replace(definition, arm=_assembled_as(filed.arm, definition.arm))


def _assembled_as(filed: Arm, arm: Arm) -> Arm:
    """Return an arm with loops put together where its file puts them together, though driven joints stand elsewhere.

    The file's angles of free joints belong to its angles of driven ones.
    """
    pairs = list(zip(filed.joints, arm.joints, strict=False))
    same = len(filed.joints) == len(arm.joints) and all(a.angle == b.angle for a, b in pairs if b.drive == "free")
    moved = any(a.angle != b.angle for a, b in pairs)
    if not (arm.closures and same and moved):
        return arm
    return replace(arm, assembled=tuple(joint.angle for joint in filed.joints))


def _apply(tree: Tree, definition: Definition, overrides: Mapping[str, Any]) -> Tree:
    """Return a copy of the tables with other values; their provenance is an override from now on."""
    keys = [row.key for row in definition.rows] + [table.name for table in TABLES.values() if table.shape == "array"]
    tree = copy.deepcopy(tree)
    replaced = list(overrides)
    if overrides.get("model.kind", definition.kind) != definition.kind:
        tree["model"] = {}
        replaced.append("model")
    for key, value in overrides.items():
        option = key.startswith("model.") and key.count(".") == 1
        if key not in keys and not option:
            raise unknown("override", key, keys)
        _assign(tree, key.split("."), value)
    entries = dict(flatten(tree.get("provenance", {})))
    kept = {key: text for key, text in entries.items() if not any(f"{key}.".startswith(f"{r}.") for r in replaced)}
    given = {key: "chosen: override" for key in overrides if key not in TABLES}
    return {**tree, "provenance": {**kept, **given}}


def _assign(tree: Tree, path: list[str], value: Any) -> None:
    node: Any = tree
    for part in path[:-1]:
        node = node[int(part) - 1] if isinstance(node, list) else node.setdefault(part, {})
    node[path[-1]] = value
