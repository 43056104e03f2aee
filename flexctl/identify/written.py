"""A plant file written back with identified values: the file as it was, comments and all, with other numbers.

Where the text cannot be edited safely (inline tables, dotted keys), the tables are written anew, without comments.
Either way the new text is read again and compared before it replaces anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalogue.definition import TABLES, parsed, read_definition
from ..errors import DefinitionError, require
from ..support.files import write_atomically

if TYPE_CHECKING:
    from .grey_box import Identified

_HEAD = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?")


def write_plant(found: Identified, path: str | Path) -> Path:
    """Write the plant file of an identified plant; see the module."""
    target = Path(path)
    require(target.parent.is_dir(), f"cannot write {target}: {target.parent} is not an existing folder; make it first")
    text = plant_text(found)
    return write_atomically(target, lambda stream: stream.write(text.encode()))


def plant_text(found: Identified) -> str:
    """Return the text of the plant file."""
    plant = found.plant
    values = dict(plant.overrides)
    note = f"identified: {found.provenance['identified'].removeprefix('identified: ')}"
    origins = {key: note if key in found.values else "chosen: override" for key in values if "." in key}
    uncertain = _uncertainty(found, note)
    wanted = plant.rows
    for make in (_edited, _anew):
        try:
            text = make(found, values, origins, uncertain)
            made = read_definition(parsed(text), plant.name)
        except (DefinitionError, ValueError, KeyError, IndexError, OSError):
            continue
        if {r.key: r.value for r in made.rows} == {r.key: r.value for r in wanted}:
            return text
    raise DefinitionError(
        f"{plant.source} cannot be written back with its new values; save the table of parameters instead"
    )


def _uncertainty(found: Identified, note: str) -> dict[str, Any]:
    keys = [k for k in found.values if found.sigma[k] < float("inf")]
    at = [list(found.values).index(k) for k in keys]
    if not keys:
        return {}
    c = found.correlation[at][:, at]
    return {
        "parameters": keys,
        "sigma": [float(f"{found.sigma[k]:.6g}") for k in keys],
        "correlation": [[float(f"{x:.6f}") if i != j else 1.0 for j, x in enumerate(row)] for i, row in enumerate(c)],
        "source": note + (f"; the model leaves {found.unexplained:.3g} times the noise" if found.unexplained else ""),
    }


def _edited(
    found: Identified, values: Mapping[str, Any], origins: Mapping[str, str], uncertain: Mapping[str, Any]
) -> str:
    from ..catalogue import locate

    path, _ = locate("plants", found.plant.place)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if found.plant.overrides.get("model.kind", found.plant.kind) != read_kind(found):
        raise ValueError("another kind of model drops options")
    for key, value in values.items():
        if "." not in key:
            raise ValueError("a whole array is replaced")
        lines = _set(lines, key, _toml(value))
    for key, text in origins.items():
        lines = _set_in(lines, "provenance", 0, f'"{key}"', json.dumps(text), quoted=key)
    lines = _drop(lines, "uncertainty")
    lines += ["", *_table("uncertainty", uncertain)] if uncertain else []
    return "\n".join(lines) + "\n"


def read_kind(found: Identified) -> str:
    """Return the kind of model of the file, without overrides."""
    return str(found.plant.tables.get("model", {}).get("kind", ""))


def _set(lines: list[str], key: str, text: str) -> list[str]:
    first, *rest = key.split(".")
    table = TABLES.get(first)
    if first == "model" or (table is not None and table.shape == "single"):
        return _set_in(lines, first, 0, ".".join(rest), text)
    if table is not None and table.shape == "array":
        return _set_in(lines, first, int(rest[0]), ".".join(rest[1:]), text)
    return _set_in(lines, f"{first}.{rest[0]}", 0, ".".join(rest[1:]), text)


def _set_in(lines: list[str], table: str, number: int, key: str, text: str, quoted: str = "") -> list[str]:
    """Return the lines with a key of a table set; number counts [[table]]s from 1, 0 is a [table]."""
    begin, end = _span(lines, table, number)
    if begin < 0:
        if number:
            raise ValueError(f"no [[{table}]] {number}")
        return [*lines, "", f"[{table}]", f"{key} = {text}"]
    names = {key, f'"{quoted or key}"', quoted or key}
    for i in range(begin + 1, end):
        name, equals, rest = lines[i].partition("=")
        if equals and name.strip() in names:
            if rest.count("[") != rest.count("]") or '"""' in rest:
                raise ValueError("a value of several lines")
            return [*lines[:i], f"{name.rstrip()} = {text}", *lines[i + 1 :]]
    last = end
    while last > begin + 1 and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1
    return [*lines[:last], f"{key} = {text}", *lines[last:]]


def _span(lines: list[str], table: str, number: int) -> tuple[int, int]:
    """Return where a table begins and ends, (-1, -1) without it."""
    begin, seen = -1, 0
    for i, line in enumerate(lines):
        head = _HEAD.fullmatch(line)
        if head is None:
            continue
        if begin >= 0:
            return begin, i
        if head[2].replace(" ", "") == table and (head[1] == "[[") == (number > 0):
            seen += 1
            if number in (0, seen):
                begin = i
    return (begin, len(lines)) if begin >= 0 else (-1, -1)


def _drop(lines: list[str], table: str) -> list[str]:
    begin, end = _span(lines, table, 0)
    return lines if begin < 0 else [*lines[:begin], *lines[end:]]


def _anew(
    found: Identified, values: Mapping[str, Any], origins: Mapping[str, str], uncertain: Mapping[str, Any]
) -> str:
    from ..catalogue.overrides import _apply

    plant = found.plant
    tree: Any = dict(plant.tables)
    for whole in (True, False):
        chosen = {k: v for k, v in values.items() if (k in TABLES) == whole}
        if chosen:
            tree = _apply(tree, read_definition(tree, plant.name), chosen)
    provenance = dict(_flat(tree.get("provenance", {})))
    tree = {**tree, "provenance": {**provenance, **origins}}
    tree.pop("uncertainty", None)
    lines = [f"{key} = {_toml(value)}" for key, value in tree.items() if not isinstance(value, dict | list)]
    for key, value in tree.items():
        if isinstance(value, dict):
            named = key in TABLES and TABLES[key].shape == "named"
            for which, content in value.items() if named else [("", value)]:
                lines += ["", *_table(f"{key}.{which}" if which else key, content)]
        elif isinstance(value, list):
            for content in value:
                lines += ["", f"[[{key}]]", *(f"{_key(k)} = {_toml(v)}" for k, v in content.items())]
    lines += ["", *_table("uncertainty", uncertain)] if uncertain else []
    return "\n".join(lines) + "\n"


def _flat(tables: Mapping[str, Any], prefix: str = "") -> Any:
    for key, value in tables.items():
        dotted = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping):
            yield from _flat(value, dotted)
        else:
            yield dotted, value


def _table(name: str, content: Mapping[str, Any]) -> list[str]:
    return [f"[{name}]", *(f"{_key(key)} = {_toml(value)}" for key, value in content.items())]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key) else json.dumps(key)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return repr(float(value)) if isinstance(value, float) else str(int(value))
