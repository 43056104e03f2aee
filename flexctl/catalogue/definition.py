"""The plant file: TOML -> tables -> `Arm`. Every complaint names file, table and key.

    title = "..."                   reference = "..."
    [material.NAME]  [section.NAME]                 named, referred to by links
    [motor.NAME]  [friction.NAME]                   named, referred to by joints
    [[link]]  [[joint]]                             from the base outwards
    [payload]  [damping]  [gravity]  [[sensor]]  [[actuator]]  [[body]]  [[closure]]
    [model]        kind = "...", the rest are options of that kind
    [provenance]   "link.1.length" = "published: ..."
    [uncertainty]  standard deviations and correlation of some numbers (`flexctl.catalogue.uncertainty`)
    [[expected]]   values that the built plant must reproduce (`flexctl.catalogue.expected`)

The keys of a table are the fields of its data class in `flexctl.machine.arm`. Numbers are plain SI numbers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import models
from ..errors import DefinitionError, caution, require, unknown
from ..machine import arm as machine
from ..machine import drives
from ..machine.measured import Measured, link_of
from ..machine.plausible import check_plausible
from ..machine.schema import Ascending, Choice, Field, Name, Quantity, schema, shown
from ..models import REGISTRY, outside
from ..support.checks import table
from .expected import Expected
from .uncertainty import Uncertainty, read_uncertainty

Tree = dict[str, Any]
MATRICES = "matrices"
"""The model.kind of a plant file that names matrices, see `flexctl.catalogue.matrices`."""
LARGEST = 1_000_000
"""Bytes of a plant file; the largest of the catalogue has 9,000."""
DEEPEST = 32
"""Parts of a dotted key; a plant has keys of three."""
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART}){{{DEEPEST}}}")
GROUNDS = ("published", "identified", "derived", "chosen")
"""With what a provenance entry begins: printed in the source, fitted to data, computed from these, or ours."""


def of_matrices(tree: Tree) -> bool:
    """Whether the tables of a plant file are those of a linear plant."""
    model = tree.get("model")
    return isinstance(model, dict) and model.get("kind") == MATRICES


@dataclass(frozen=True)
class Table:
    """One kind of table of the file: a single `[name]`, an array `[[name]]` or named ones `[name.NAME]`."""

    name: str
    shape: str
    holds: Callable[..., Any]
    text: str
    also: Callable[..., Any] | None = None
    """A class with more keys, which are resolved with references."""

    @property
    def fields(self) -> dict[str, Field]:
        """The keys of the table."""
        return {**schema(self.holds), **({} if self.also is None else schema(self.also))}

    def label(self, which: str | int | None) -> str:
        """Return how the file writes the table, for a message."""
        if which is None:
            return f"[{self.name}]"
        return f"[[{self.name}]] {which}" if self.shape == "array" else f"[{self.name}.{which}]"

    def dotted(self, which: str | int | None, key: str) -> str:
        """Return the dotted key of an override."""
        return f"{self.name}.{key}" if which is None else f"{self.name}.{which}.{key}"


TABLES = {
    table.name: table
    for table in (
        Table("material", "named", machine.Material, "an isotropic elastic material"),
        Table("section", "named", machine.Section, "a beam cross section"),
        Table("motor", "named", drives.Motor, "a motor with its gear and amplifier"),
        Table("friction", "named", drives.Friction, "a law of dry friction"),
        Table("link", "array", machine.Link, "a flexible link, from the base outwards", Measured),
        Table("joint", "array", machine.Joint, "the joint at the root of the link of the same number"),
        Table("payload", "single", machine.Payload, "a rigid body at the tip"),
        Table("damping", "single", machine.Damping, "structural damping"),
        Table("gravity", "single", machine.Gravity, "free fall"),
        Table("sensor", "array", machine.Sensor, "an extra sensor on a link"),
        Table("actuator", "array", machine.Actuator, "a force or moment on a link"),
        Table("body", "array", machine.Body, "a rigid body fixed to a link"),
        Table("closure", "array", machine.Closure, "a pin that closes a loop of links"),
    )
}
MEASURED = {"bending_stiffness", "mass_per_length", "clamped_frequency_hz"}
"""Keys of a link that may stand in place of material and section."""
OTHERS = ("title", "reference", "model", "provenance", "uncertainty", "expected")


@dataclass(frozen=True)
class Row:
    """One key of a plant with all that is known about it; what `flexctl show` prints.

    Attributes
    ----------
    key, value, unit, text
        Dotted key, value, unit and meaning.
    given : bool
        Whether the file gives it; otherwise it is the default.
    physical : bool
        Whether it is a number about the machine, which must have a source.
    provenance : str
        Where the value comes from; empty when the file does not say.
    """

    key: str
    value: Any
    unit: str
    text: str
    given: bool
    physical: bool
    provenance: str = ""


@dataclass(frozen=True)
class Definition:
    """The contents of a plant file."""

    title: str
    reference: str
    arm: machine.Arm
    kind: str
    options: Mapping[str, Any]
    expected: tuple[Expected, ...]
    rows: tuple[Row, ...]
    uncertainty: Uncertainty | None = None


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put the place in front of every `DefinitionError` from inside."""
    try:
        yield
    except DefinitionError as error:
        raise DefinitionError(f"{where}: {error}") from error.__cause__
    except RecursionError as error:
        raise DefinitionError(f"{where}: tables are nested too deeply") from error


def read_tree(path: Path) -> Tree:
    """Return the tables of a TOML file; any failure is a `DefinitionError` with the line where there is one."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)  # a device or a pipe may never end, and says no size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DefinitionError(f"cannot read the file: {reason}") from error
    require(len(content) <= LARGEST, f"it has more than the {LARGEST} bytes of a plant file; is it one?")
    try:
        return parsed(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DefinitionError(f"line {line}: not UTF-8 text (byte 0x{content[error.start]:02x})") from error
    except DefinitionError:
        raise
    except ValueError as error:  # TOMLDecodeError, and integers of more than 4300 digits
        raise DefinitionError(f"not valid TOML: {error}") from error


def parsed(text: str) -> Tree:
    """Return the tables of a text in TOML; a key of very many parts is refused, which takes Python minutes to read."""
    found = _LONG_KEY.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise DefinitionError(f"line {line}: nested too deeply, a key of more than {DEEPEST} parts: {found[0][:20]}...")
    return tomllib.loads(text)


def read_definition(tree: Tree, name: str) -> Definition:
    """Return the checked definition of the tables of a plant file."""
    for key in tree:
        if key not in TABLES and key not in OTHERS:
            raise unknown("table or key", _printable(key), [*TABLES, *OTHERS])
    rows: list[Row] = []
    parts = {table.name: _read_table(table, tree.get(table.name), rows) for table in TABLES.values()}
    kind, options = _read_model(tree.get("model"), rows)
    arm = _assemble(name, parts)
    check_plausible(arm)
    rows = _with_provenance(rows, tree.get("provenance", {}))
    expected = _read_expected(tree.get("expected", []))
    title, reference = (_text(tree, key) for key in ("title", "reference"))
    with located("[uncertainty]"):
        uncertainty = read_uncertainty(tree.get("uncertainty"), rows)
    return Definition(title or name, reference, arm, kind, options, expected, tuple(rows), uncertainty)


def _assemble(name: str, parts: Mapping[str, Any]) -> machine.Arm:
    """Resolve the names of materials and sections and build the arm."""
    links = []
    for i, link in enumerate(parts["link"], 1):
        with located(f"[[link]] {i}"):
            needed = () if link.get("kind") == "massless" or link.keys() & MEASURED else ("material", "section")
            for key in ("material", "section"):
                text = schema(machine.Link)[key].spec.text
                require(key in link or key not in needed, f'missing key "{key}" ({text}); add it')
                if key in link and link[key] not in parts[key]:
                    raise unknown(key, _printable(link[key]), parts[key])
            for name in link.get("next_sections", ()):
                if name not in parts["section"]:
                    raise unknown("section", _printable(name), parts["section"])
            found: Tree = {key: parts[key][link[key]] for key in ("material", "section") if key in link}
            if "next_sections" in link:
                found["next_sections"] = tuple(parts["section"][name] for name in link["next_sections"])
            links.append(link_of({**link, **found}))
    joints = []
    for i, joint in enumerate(parts["joint"], 1):
        with located(f"[[joint]] {i}"):
            named = {"motor": "motor", "friction_law": "friction"}
            for key, table in named.items():
                if key in joint and joint[key] not in parts[table]:
                    raise unknown(table, _printable(joint[key]), parts[table])
            found = {key: parts[table][joint[key]] for key, table in named.items() if key in joint}
            joints.append(machine.Joint(**{**joint, **found}))
    for key, table in (("motor", "motor"), ("friction_law", "friction")):
        for unused in sorted(parts[table].keys() - {joint.get(key) for joint in parts["joint"]}):
            caution(
                f"[{table}.{unused}] has no effect: no joint names it; "
                f'write {key} = "{unused}" in a [[joint]], or leave it out',
                drives.DriveCaution,
            )
    return machine.Arm(
        name, tuple(links), tuple(joints), parts["payload"], parts["damping"],
        tuple(parts["sensor"]), tuple(parts["actuator"]), parts["gravity"],
        tuple(parts["body"]), tuple(parts["closure"]),
    )


def _read_table(table: Table, content: Any, rows: list[Row]) -> Any:
    """Return the object of a single table, the list of an array, the dictionary of named tables."""
    if table.shape == "single":
        return _read_one(table, None, {} if content is None else content, rows)
    if table.shape == "array":
        content = [] if content is None else content
        require(isinstance(content, list), f"[[{table.name}]] is an array of tables; write it in double brackets")
        return [_read_one(table, i, item, rows) for i, item in enumerate(content, 1)]
    content = {} if content is None else content
    ok = isinstance(content, dict) and all(isinstance(item, dict) for item in content.values())
    require(ok, f"[{table.name}.NAME] is a named table; give it a name, for example [{table.name}.main]")
    for which in content:
        Name(table.text).check(f"[{table.name}.NAME]: NAME", which)
    return {which: _read_one(table, which, item, rows) for which, item in content.items()}


def _read_one(table: Table, which: str | int | None, content: Any, rows: list[Row]) -> Any:
    """Return the object of one table. Links and joints stay dictionaries until their references are resolved."""
    with located(table.label(which)):
        require(isinstance(content, dict), f"{shown(content)} is not a table")
        values = _read_fields(table.fields, content)
        for key, field in table.fields.items():
            value, physical = values.get(key, field.default), isinstance(field.spec, Quantity | Ascending)
            rows.append(Row(table.dotted(which, key), value, field.spec.unit, field.spec.text, key in values, physical))
        return values if table.name in ("link", "joint") else table.holds(**values)


def _read_fields(fields: Mapping[str, Field], content: Tree) -> Tree:
    """Return the checked values of the keys that are given; unknown and missing ones are refused."""
    for key in content:
        if key not in fields:
            raise unknown("key", _printable(key), fields)
    for key, field in fields.items():
        unit = f" [{field.spec.unit}]" if field.spec.unit else ""
        ok = key in content or not field.required
        require(ok, f'missing key "{key}" ({field.spec.text}{unit}); add it')
    return {key: fields[key].spec.read(key, value) for key, value in content.items()}


def _read_model(content: Any, rows: list[Row]) -> tuple[str, dict[str, Any]]:
    with located("[model]"):
        require(content is None or isinstance(content, dict), f"{shown(content)} is not a table")
        options = dict(content or {})
        require("kind" in options, f'missing key "kind", one of: {", ".join(sorted(REGISTRY))}')
        kind = options.pop("kind")
        if not isinstance(kind, str) or not outside.is_outside(kind):
            built_in = isinstance(kind, str) and kind in REGISTRY  # a list cannot be looked up
            Choice(tuple(REGISTRY if built_in else models.kinds()), "the solver").check("kind", kind)
        defaults = models.options(kind)
        for key, value in options.items():
            if key not in defaults:
                raise unknown(f"option of {kind}", _printable(key), defaults)
            _check_option(key, value, defaults[key])
        rows.append(Row("model.kind", kind, "", "the solver", True, False))
        for key, default in defaults.items():
            rows.append(Row(f"model.{key}", options.get(key, default), "", f"option of {kind}", key in options, False))
        return kind, options


def _check_option(key: str, value: Any, default: Any) -> None:
    """Raise `DefinitionError` unless the value is of the kind of the default; the model checks what it means.

    The default of an option that is given once, or once for each link, is a tuple. Elements may always be counted link
    by link: `elements = [2, 4]`.
    """
    each = default if isinstance(default, tuple) else (default,) if key == "elements" else ()
    if each and (isinstance(default, tuple) or isinstance(value, list)):
        require(value != [], f"{key} = [] is empty; give a value for each link")
        for item in value if isinstance(value, list | tuple) else [value]:
            _check_option(f"{key} of each link", item, each[0])
        return
    for kind, words in ((bool, "true or false"), (int, "a whole number"), (float, "a number"), (str, "a word")):
        if isinstance(default, kind):
            ok = isinstance(value, int | float if kind is float else kind) and isinstance(value, bool) == (kind is bool)
            require(ok, f"{key} = {shown(value)} is not {words}")
            return
    require(isinstance(value, int | float | str), f"{key} = {shown(value)} is not a number, a word, true or false")


def _with_provenance(rows: list[Row], content: Any) -> list[Row]:
    """Return the rows with what the file says about their origin; every entry must speak of a key that exists."""
    with located("[provenance]"):
        require(isinstance(content, dict), f"{shown(content)} is not a table")
        entries = dict(flatten(content))
        keys = [row.key for row in rows]
        for key, text in entries.items():
            if key not in keys:
                raise unknown("key", _printable(key), keys)
            ok = isinstance(text, str) and text.partition(":")[0] in GROUNDS and bool(text.partition(":")[2].strip())
            require(ok, f'"{key}" = {shown(text)} must read "GROUND: where", GROUND one of {", ".join(GROUNDS)}')
    defaults = {row.key: "" if row.given else "default" for row in rows}
    return [replace(row, provenance=entries.get(row.key, defaults[row.key])) for row in rows]


def _read_expected(content: Any) -> tuple[Expected, ...]:
    require(isinstance(content, list), "[[expected]] is an array of tables; write [[expected]] in double brackets")
    found = []
    for i, item in enumerate(content, 1):
        with located(f"[[expected]] {i}"):
            require(isinstance(item, dict), f"{shown(item)} is not a table")
            found.append(Expected(**_read_fields(schema(Expected), item)))
    return tuple(found)


def flatten(tables: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, value) of nested tables; an empty inner table is a value."""
    table("overrides", tables, '{"payload.mass": 0.02}')
    for key, value in tables.items():
        dotted = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping) and value:
            yield from flatten(value, dotted)
        else:
            yield dotted, value


def _text(tree: Tree, key: str) -> str:
    value = tree.get(key, "")
    require(isinstance(value, str), f"{key} = {shown(value)} is not a string")
    return str(value)


def _printable(key: str) -> str:
    return key if key.isprintable() and len(key) <= 60 else shown(key)
