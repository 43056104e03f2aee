"""`flexctl identify`: which columns of which file are inputs, outputs and references."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli

GAINS = np.array([[1.0, 0.5], [-0.3, 2.0]])
HEAD = "time [s],a [N],b [N],x [m],y [m],temperature"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """one.csv is driven at a, two.csv at b, both.csv at both."""
    place, rng = tmp_path_factory.mktemp("choice"), np.random.default_rng(0)
    for name, driven in (("one", [1.0, 0.0]), ("two", [0.0, 1.0]), ("both", [1.0, 1.0])):
        u = np.tile(rng.standard_normal((256, 2)), (4, 1)) * driven
        rows = np.column_stack([np.arange(len(u)) * 0.1, u, u @ GAINS.T, np.full(len(u), 20.0)])
        np.savetxt(place / f"{name}.csv", rows, delimiter=",", header=HEAD, comments="", fmt="%.9g")
    return place


def said(folder, *words, code=0):
    words = tuple(str(folder / w) if w.endswith(".csv") and "=" not in w and ":" not in w else w for w in words)
    found = CliRunner().invoke(cli, ["identify", *words])
    assert found.exit_code == code, found.output + str(found.exception)
    return found


def frf(folder, *words):
    return json.loads(said(folder, "frf", *words, "--json").stdout)


def test_each_record_has_its_own_input(folder) -> None:
    for file, name, column in (("one.csv", "a", 0), ("two.csv", "b", 1)):
        found = frf(folder, file, "--input", f"{file}:{name}", "--output", "y", "--output", "x")
        assert (found["inputs"], found["outputs"]) == ([name], ["y", "x"])
        real = np.array(found["response"]["real"])[:, 0]
        assert real == pytest.approx(np.repeat(GAINS[::-1, [column]], real.shape[1], axis=1), abs=1e-6)
    # a name under that of a file stands for this file alone, before what is said of all
    words = ("one.csv", "--input", "b", "--input", "one.csv:a", "--output", "two.csv:y", "--output", "x")
    assert "two.csv is not among the files given, one.csv" in said(folder, "frf", *words, code=2).output
    assert frf(folder, *words[:5], "--output", "x")["inputs"] == ["a"]


def test_a_response_is_chosen_from_too(folder, tmp_path) -> None:
    omega = np.linspace(1.0, 30.0, 60)
    H = (1.0 / (100.0 - omega**2 + 0.4j * omega))[None, None] * GAINS[:, :, None]
    data = fx.identify.measured_response(omega, H, ["a [N]", "b [N]"], ["x [m]", "y [m]"], relative=0.01)
    place = data.save(tmp_path / "frf.npz")
    assert data.choose(inputs=["b"]).response == pytest.approx(H[:, 1:])
    made = CliRunner().invoke(cli, ["identify", "modal", str(place), "--input", "b", "--output", "y", "--json", "-o",
                                    str(tmp_path / "m.npz")])
    assert made.exit_code == 0, made.output
    plant = fx.load_linear(tmp_path / "m.npz")
    assert (fx.names(plant.inputs), fx.names(plant.outputs)) == (["b"], ["y"])
    with pytest.raises(fx.DefinitionError, match="the response has no input c; it has a, b"):
        data.choose(inputs=["c"])


def test_what_is_not_chosen(folder) -> None:
    read = fx.identify.read_record
    with pytest.raises(fx.DefinitionError, match=r'input "b" is zero all the time: .*leave it out'):
        read(folder / "one.csv", units={"temperature": "1"}, outputs=["x"])
    with pytest.raises(fx.DefinitionError, match='signal "temperature" has no unit'):
        read(folder / "one.csv", inputs=["a"])
    with pytest.raises(fx.DefinitionError, match='unknown signal of the file "z"'):
        read(folder / "one.csv", outputs=["z"])
    with pytest.raises(fx.DefinitionError, match="a: chosen as an output, and as an input or a reference too"):
        read(folder / "one.csv", inputs=["a"], outputs=["a"])
    found = read(folder / "one.csv", inputs=["a"], outputs=["x"])  # neither temperature, nor b, which rests
    assert repr(found).startswith("Record(1024 samples of 0.1 s, ['a'] -> ['x'], 4 periods")
    with pytest.warns(fx.DataWarning, match=r'"b" \[N\] is not chosen, though it moves'):
        read(folder / "both.csv", inputs=["a"], outputs=["x"])
    referred = read(folder / "both.csv", inputs=["a"], outputs=["x"], references=["b"])
    assert fx.names(referred.references) == ["b"]
