"""Whatever stands in a plant file or an override, only `DefinitionError` comes out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import flexctl as fx
from flexctl.catalogue.definition import OTHERS, TABLES
from flexctl.catalogue.overrides import parse_override
from flexctl.machine.schema import schema

MANY = settings(max_examples=max(250, settings().max_examples))
VALID = (fx.find("plants") / "tokhi_azad_1994.toml").read_text()
PLANT = fx.load_plant("tokhi_azad_1994")
KEYS = sorted({key for table in TABLES.values() for key in schema(table.holds)})
WORDS = [*TABLES, *OTHERS, *KEYS, "quantity", "values"]
TOKENS = [
    "nan", "-inf", "true", '""', "'steel'", "-1", "0", "1e400", "9" * 400, "[]", "{}", "[[1]]", "[{}]", "{a.b.c = 1}",
    "1979-05-27", "07:32:00", "0x7f", "1e-300", "\u00e9", "[", "]]", "=", "[link]", "[[payload]]", "material.x = 1",
    "\0",
]

scalars = (
    st.none().map(lambda _: math.nan)
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["finite_difference", "torque", "aluminium", "published: x", "slope"])
)
keys = st.sampled_from(WORDS) | st.text(max_size=6)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
trees = st.dictionaries(keys, values, max_size=8)


def as_toml(value: Any) -> str:
    """Write a value the way TOML does, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_toml(str(key))} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], fx.Plant | None]:
    path: Path = tmp_path_factory.mktemp("fuzz") / "arm.toml"

    def load(content: bytes) -> fx.Plant | None:
        path.write_bytes(content)
        try:
            plant = fx.load_plant(path)
            assert plant.model is not None
        except fx.DefinitionError as error:
            message = str(error)
        else:
            return plant
        assert message.startswith(f"{path}: "), f"no place in: {message}"
        return None

    return load


Attempt = Callable[[bytes], fx.Plant | None]


@given(st.binary(max_size=200))
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf")
@example(b"[" * 100_000)
@example(b"a = 1" + b"0" * 5000)
@example(b"a" + b".a" * 5000 + b" = 1")
def test_random_bytes(attempt: Attempt, content: bytes) -> None:
    assert attempt(content) is None


@given(trees)
@MANY
def test_random_tables(attempt: Attempt, tree: dict[str, Any]) -> None:
    content = "\n".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in tree.items())
    assert attempt(content.encode("utf-8", "replace")) is None


@given(st.sampled_from(WORDS), values)
@MANY
def test_one_table_of_a_valid_file_replaced(attempt: Attempt, key: str, value: Any) -> None:
    blocks = ("\n" + VALID).split("\n[")
    kept = [block for block in blocks if not block.lstrip("[").startswith((f"{key}]", f"{key}."))]
    content = f"{as_toml(key)} = {as_toml(value)}\n" + "\n[".join(kept)
    attempt(content.encode("utf-8", "replace"))


@given(st.data())
@MANY
def test_a_mutated_valid_file(attempt: Attempt, data: st.DataObject) -> None:
    lines = VALID.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        i = data.draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[i].partition("=")
        lines[i : i + 1] = data.draw(
            st.sampled_from([[], [lines[i]] * 2, [key + equals], [equals + lines[i]]])
            | st.sampled_from(TOKENS).map(lambda token: [f"{key}= {token}", token])  # noqa: B023
            | scalars.map(lambda value: [f"{key}= {as_toml(value)}"])  # noqa: B023
        )
    attempt("\n".join(lines).encode("utf-8", "replace"))


@given(st.data())
@MANY
def test_random_overrides(data: st.DataObject) -> None:
    known = st.sampled_from([row.key for row in PLANT.rows])
    dotted = st.lists(keys | st.integers(-1, 3).map(str), max_size=4).map(".".join)
    overrides = data.draw(st.dictionaries(known | dotted, values, min_size=1, max_size=3))
    try:
        message = f"{PLANT.source} accepts {PLANT.with_(overrides).overrides}"
    except fx.DefinitionError as error:
        message = str(error)
    assert message.startswith(PLANT.source)


@given(st.text(max_size=20) | st.tuples(st.sampled_from(["payload.mass=", "a="]), st.text(max_size=12)).map("".join))
@example("a=1\n[b]")
@example("a=" + "[" * 5000)
def test_random_command_line_overrides(text: str) -> None:
    try:
        key, _ = parse_override(text)
    except fx.DefinitionError:
        return
    assert key
    assert "=" not in key
