"""Every kind of result goes to pandas, into files and into notebooks in the same way."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.io import loadmat

import flexctl as fx
from flexctl.design.learning_filter import LearningFilter
from flexctl.errors import DefinitionError, NotAvailable, WriteError
from flexctl.export.precision import Lost
from flexctl.judging.certify.requirements import Verdict
from flexctl.judging.compare import Compared
from flexctl.support import files
from flexctl.support.tabular import Column, Tabular, as_html

SUFFIXES = (".npz", ".csv", ".parquet", ".json", ".mat")
NASTY = '<b>&"x"</b>'


class Requirements(fx.Certificate):
    """A certificate of which only the requirements are asked."""

    def __init__(self) -> None:
        found = (Verdict("disk_margin", ">= 0.3", NASTY, True), Verdict("mu", "<= 1", "1.2", False))
        object.__setattr__(self, "verdicts", found)

    def to_dict(self) -> dict[str, Any]:
        return {"controller": "law"}

    def __repr__(self) -> str:
        return "Certificate(law)"

    holds = "nowhere"


def identified() -> dict[str, Tabular]:
    """Return results of identification, of a plant of one mode."""
    w = np.linspace(1.0, 30.0, 100)
    H = 1.0 / (100.0 - w**2 + 0.4j * w)
    response = fx.identify.measured_response(w, H, ["force [N]"], ["x [m]"], relative=0.01)
    rng = np.random.default_rng(1)
    u, y = rng.standard_normal(400), np.zeros(400)
    for k in range(2, 400):
        y[k] = 1.6 * y[k - 1] - 0.95 * y[k - 2] + 0.1 * u[k - 1]
    record = fx.identify.record(1.0, {"u [N]": u}, {"y [m]": y})
    arm = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01})
    pair = {"joint.1.hub_inertia": 1e-3, "payload.mass": 0.02}
    fits = {("data", "joint1_angle"): 99.0}
    return {
        "measured": response, "modal": fx.identify.modal(response, delay=0.0), "record": record,
        "spectra": fx.identify.spectra(record), "subspace": fx.identify.subspace(record, 2),
        "excitation": fx.identify.doublets("joint1_torque [N m]", width=0.05, amplitude=0.1, every=0.5, count=2),
        "identified": fx.identify.Identified(
            arm, pair, pair, pair, np.eye(2), 1, 0, 1.0, fits, fits, 10.0, ("a caution",), {}, pair, {}
        ),
    }


def judged() -> dict[str, Tabular]:
    """Return results of judging and design, as their functions make them."""
    none = cast(Any, None)
    one, two = np.array([1.0]), np.array([1.0, 2.0])
    signal = fx.Signal("joint1_angle", "rad")
    learning = LearningFilter(1e-3, 2, none, two, two, two, {"0 g": np.array([0.1, 0.2])})
    return {
        "swing": fx.SwingStability("joint2_angle", two, np.array([-3.0, np.nan]), two, ("stable", NASTY), 1.3),
        "tuned": fx.Tuned({"kp": 1.0}, none, {"mu": {NASTY: 0.5, "b": 0.6}}, {"mu": 1.0}, 0.6, (0.6, 0.7), 2, 40),
        "learnt": fx.Learnt(none, {}, 1.0, ("y",), ({"y": 1.0}, {"y": 0.1}), (1.0, 0.1), 1, "", learning, None, two),
        "validity": fx.LinearValidity(two, np.array([0.01, np.inf]), np.array([False, True]), {"y": two}, {2.0: NASTY}),
        "path": fx.PathStability(two, np.eye(2), -two, two, (np.array([-1.0 + 1.0j]), np.array([-2.0 + 0.0j]))),
        "precision": fx.SinglePrecision("move", {"u": Lost("N m", 1e-7, math.nan, 1.0)}, 1e-7, "at a limit"),
        "estimates": fx.Estimates(
            one, one[:, None], one[:, None], np.zeros((1, 0)), np.zeros((1, 2)), one[:, None], (signal,), (signal,), ()
        ),
    }


@cache
def results() -> dict[str, Tabular]:
    plant = fx.load_plant("tokhi_azad_1994")
    linear = plant.linearise()
    run = fx.simulate(plant, inputs={"joint1_torque": fx.bang_bang(0.1, 0.1)}, duration=0.3)
    runs = (Compared(NASTY, "5 deg", run, 0.3), Compared("b", "5 deg", None, None, "unstable"))
    return {
        "response": run, "frequency": linear.frequency_response([1.0, 20.0, 300.0]), "modes": linear.modes(3),
        "certificate": Requirements(), "comparison": fx.Comparison(runs),
        "table": fx.Table(("case", "scenario", "score"), ((0, NASTY, None), (1, "a,b", 2.5))),
        **identified(), **judged(),
    }


WITH_TEXT = ("certificate", "comparison", "table", "swing", "tuned", "validity")
KINDS = (
    "response", "frequency", "modes", "learnt", "path", "precision", "estimates", *WITH_TEXT,
    "measured", "modal", "record", "spectra", "subspace", "excitation", "identified",
)


def test_every_kind_of_result_is_tried() -> None:
    def below(kind: type) -> set[type]:
        return {kind}.union(*(below(k) for k in kind.__subclasses__()))

    tried = {base for found in results().values() for base in type(found).__mro__}
    public = {k for k in below(Tabular) if k.__module__.startswith("flexctl.")}
    assert sorted(k.__name__ for k in public - tried) == []
    assert set(results()) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_pandas_hold_the_same_columns(kind: str, tmp_path: Path) -> None:
    found = results()[kind]
    columns = found._table()
    paths = {suffix: found.save(tmp_path / f"x{suffix}") for suffix in SUFFIXES}
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(p.name for p in paths.values())
    with paths[".csv"].open(newline="") as stream:
        heads, *rows = csv.reader(line for line in stream if not line.startswith("#"))
    assert heads == [c.head for c in columns]
    text = json.loads(paths[".json"].read_text())
    whole = loadmat(paths[".mat"], squeeze_me=True)
    frame = found.to_pandas()
    frame = frame.reset_index() if found._index else frame
    assert list(frame.columns) == list(text["columns"]) == [c.name for c in columns]
    assert [str(x) for x in np.atleast_1d(whole["columns"])] == [c.name for c in columns]
    back = pytest.importorskip("pandas").read_parquet(paths[".parquet"])
    for k, column in enumerate(columns):
        plain = column.array.tolist()
        assert [row[k] for row in rows] == ["" if x is None else str(x) for x in as_list(column)]
        assert same(text["columns"][column.name], plain)
        assert same(frame[column.name].tolist(), plain)
        assert same(back[column.name].tolist(), plain)
        own = re.sub(r"\W+", "_", column.name).strip("_")
        (name,) = [n for n in whole if n in (own, f"x_{own}")]  # a word of MATLAB's, as "case", cannot be a variable
        assert same(np.atleast_1d(whole[name]).tolist(), plain)


def as_list(column: Column) -> list[Any]:
    return column.values.tolist() if isinstance(column.values, np.ndarray) else list(column.values)


def same(found: list[Any], wanted: list[Any]) -> bool:
    def key(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            x = x.tolist() or ""
        missing = x is None or x == "" or (isinstance(x, float) and not math.isfinite(x))
        return None if missing else x

    return len(found) == len(wanted) and all(key(a) == key(b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_another_suffix_is_refused_with_those_that_are_known(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r'"x\.cvs": unknown file type "\.cvs" \(did you mean "\.csv"\?\); use'):
        results()[kind].save(tmp_path / "x.cvs")
    with pytest.raises(DefinitionError, match=r"\.npz, \.csv, \.parquet, \.json, \.mat"):
        results()[kind].save(tmp_path / "x")
    with pytest.raises(DefinitionError, match=r"path = 3 \(int\) is of the wrong kind"):
        results()[kind].save(3)  # type: ignore[arg-type]
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_leaves_the_old_file(kind: str, suffix: str, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"old")

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(WriteError, match="No space left"):
        results()[kind].save(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", KINDS)
def test_notebooks_show_escaped_text(kind: str) -> None:
    text = results()[kind]._repr_html_()
    assert text.startswith("<table><caption>")
    assert "<b>" not in text
    assert ("&lt;b&gt;" in text) == (kind in WITH_TEXT)
    assert text.count("<tr>") == text.count("</tr>") > 1


def test_a_notebook_shows_both_ends_of_a_long_table() -> None:
    text = as_html([Column("k", list(range(1000)))], "long")
    assert re.findall(r"<td>(.*?)</td>", text) == [*map(str, range(6)), "…", *map(str, range(994, 1000))]


@pytest.mark.parametrize(("package", "suffix"), [("pandas", ".parquet"), ("pyarrow", ".parquet")])
def test_a_missing_package_is_named(package: str, suffix: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotAvailable, match=r"pip install 'flexctl\[parquet\]'"):
        results()["modes"].save(tmp_path / f"x{suffix}")
    assert not any(tmp_path.iterdir())


def test_names_that_matlab_cannot_take_stay_apart(tmp_path: Path) -> None:
    names = ("1st", "a b", "a:b", "columns", "y" * 80, "é")
    found = loadmat(fx.Table(names, ((1.0, 2.0, 3.0, 4.0, 5.0, 6.0),)).save(tmp_path / "x.mat"), squeeze_me=True)
    assert {key: float(found[key]) for key in ("x_1st", "a_b", "a_b_2", "columns_2", "y" * 58, "x_")} == {
        "x_1st": 1.0, "a_b": 2.0, "a_b_2": 3.0, "columns_2": 4.0, "y" * 58: 5.0, "x_": 6.0
    }
    assert [str(x) for x in found["columns"]] == list(names)
