"""A run as an object: columns, conversion, files."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toys

from flexctl.cli.tables import of_runs
from flexctl.errors import DefinitionError, NotAvailable
from flexctl.io import plot
from flexctl.laws.controller import LinearLaw
from flexctl.model import Signal
from flexctl.motion.moves import Step
from flexctl.simulation.response import Response
from flexctl.simulation.simulate import simulate

LAW = LinearLaw(0.01, ("angle", "rate"), ("torque",), ("angle",), Dy=[[-4.0, -0.8]], Dr=[[4.0, 0.0, 0.0]])


@pytest.fixture(scope="module")
def run() -> Response:
    return simulate(toys.ElasticPendulum(), LAW, Step(0.0, 0.3), duration=0.5, step=0.005, record_states=True)


def test_columns_by_name(run: Response) -> None:
    np.testing.assert_array_equal(run["angle"], run.y[:, 0])
    np.testing.assert_array_equal(run["torque"], run.u[:, 0])
    np.testing.assert_array_equal(run["reference:angle"], 0.3)
    np.testing.assert_array_equal(run["theta"], run["angle"])
    assert [run.unit(name) for name in ("angle", "torque", "r", "reference:angle")] == ["rad", "N m", "m", "rad"]
    assert repr(run) == "Response(101 points to 0.5 s, ['torque'] -> ['angle', 'rate', 'tip', 'pull'])"


@pytest.mark.parametrize("ask", [Response.__getitem__, Response.unit])
def test_unknown_columns_are_refused_with_the_nearest(run: Response, ask) -> None:
    with pytest.raises(DefinitionError, match=r'unknown time series "angel" \(did you mean "angle"\?\)'):
        ask(run, "angel")


@pytest.mark.parametrize("states", [True, False])
def test_files_give_back_the_same_run(tmp_path: Path, states: bool) -> None:
    run = simulate(toys.ElasticPendulum(), LAW, Step(0.0, 0.3), duration=0.1, record_states=states)
    path = run.save(tmp_path / "run.npz")
    back = Response.load(path)
    for name in ("t", "y", "u", "r", "q", "v"):
        one, other = getattr(run, name), getattr(back, name)
        assert (one is None) == (other is None) == (name in "qv" and not states)
        if one is not None:
            np.testing.assert_array_equal(one, other)
    for name in ("outputs", "inputs", "references", "coordinates"):
        assert getattr(run, name) == getattr(back, name)
    assert back.scores == run.scores
    assert back.provenance == run.provenance
    assert np.isinf(list(back.scores.values())).any()  # infinite settling times survive
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_a_folder_that_is_not_there_is_refused(run: Response, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="cannot write"):
        run.save(tmp_path / "nowhere" / "run.npz")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 cut off"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(DefinitionError, match="not a run written by flexctl"):
        Response.load(path)


def test_foreign_and_truncated_archives_are_refused(run: Response, tmp_path: Path) -> None:
    np.savez(tmp_path / "foreign.npz", t=np.zeros(3))
    whole = run.save(tmp_path / "run.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    for name in ("foreign", "half"):
        with pytest.raises(DefinitionError, match="not a run written by flexctl"):
            Response.load(tmp_path / f"{name}.npz")
    with pytest.raises(DefinitionError, match="no such file"):
        Response.load(tmp_path / "nothing.npz")


def test_pandas(run: Response) -> None:
    pytest.importorskip("pandas")
    table = run.to_pandas()
    np.testing.assert_array_equal(table.index, run.t)
    np.testing.assert_array_equal(table["tip"], run["tip"])
    np.testing.assert_array_equal(table["reference:angle"], run["reference:angle"])
    assert list(table.columns) == ["angle", "rate", "tip", "pull", "torque", "reference:angle", "r", "theta"]
    assert table.attrs["units"]["torque"] == "N m"
    assert table.attrs["model"] == "elastic pendulum"


def test_without_pandas_the_remedy_is_told(run: Response, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NotAvailable, match=r"pip install flexctl\[pandas\]"):
        run.to_pandas()


@pytest.mark.parametrize("states", [True, False])
def test_python_control(states: bool) -> None:
    run = simulate(toys.ElasticPendulum(), LAW, Step(0.0, 0.3), duration=0.1, record_states=states)
    data = run.to_control()
    np.testing.assert_array_equal(data.time, run.t)
    np.testing.assert_array_equal(data.outputs, run.y.T)
    np.testing.assert_array_equal(np.atleast_2d(data.inputs), run.u.T)
    assert list(data.output_labels) == ["angle", "rate", "tip", "pull"]
    assert list(data.input_labels) == ["torque"]
    if states:
        np.testing.assert_array_equal(data.states, run.q.T)
        assert list(data.state_labels) == ["r", "theta"]
    else:
        assert np.size(data.states) == 0


def test_inputs_that_act_are_told_from_those_that_stay_at_zero(run: Response) -> None:
    u = np.column_stack([np.zeros(run.t.size), run.u[:, 0]])
    idle = replace(run, u=u, inputs=(Signal("push", "N"), run.inputs[0]))
    assert idle.acting == [run.inputs[0].name]
    still = replace(idle, u=0.0 * idle.u)
    assert still.acting == ["push", run.inputs[0].name]
    scored = replace(idle, scores={"push.peak": 0.0, f"{run.inputs[0].name}.peak": 1.0})
    heads = [column.header for column in of_runs({"one": scored}).columns]
    assert not any("push" in str(head) for head in heads)
    labels = [ax.get_ylabel() for ax in plot.compare({"one": scored}).axes]
    assert any(run.inputs[0].name.replace("_", " ") in text for text in labels)
    assert not any("push" in text for text in labels)


def test_damaged_files_raise_only_our_own_error(run: Response, tmp_path: Path) -> None:
    """Bytes changed, lost and added, anywhere: refused, or the run as it was."""
    path = run.save(tmp_path / "run.npz")
    good, rng, refused = path.read_bytes(), np.random.default_rng(3), 0
    for kind in range(300):
        bad, at = bytearray(good), int(rng.integers(len(good)))
        if kind % 3 == 0:
            bad[at] ^= int(rng.integers(1, 256))
        elif kind % 3 == 1:
            del bad[at : at + int(rng.integers(1, 2000))]
        else:
            bad[at:at] = rng.bytes(9)
        path.write_bytes(bytes(bad))
        try:
            back = Response.load(path)
        except DefinitionError:
            refused += 1
            continue
        for name in ("t", "y", "u", "r", "q", "v"):
            np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
        assert back.outputs == run.outputs
    assert refused > 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros((3, 4))}, "y has shape"), ({"t": np.zeros((2, 2))}, "times of shape"),
        ({"u": np.zeros((101, 1), complex)}, "not numbers"), ({"extra": np.zeros(3)}, "has no argument 'extra'"),
        ({"meta": np.array("[]")}, "damaged"), ({"meta": np.array("{")}, "damaged"), ({"meta": None}, "meta"),
        ({"r": np.zeros((101, 0))}, "r has shape"), ({"meta": np.array("[" * 99999)}, "damaged"),
    ],
)
def test_archives_that_are_no_runs(run: Response, tmp_path: Path, change: dict, message: str) -> None:
    path = run.save(tmp_path / "run.npz")
    with np.load(path) as data:
        arrays = {**data, **change}
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    with pytest.raises(DefinitionError, match=message):
        Response.load(path)


def test_other_files_are_no_runs(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    (tmp_path / "b.npz").write_text("text")
    (tmp_path / "empty.npz").touch()
    for name in ("a.npy", "b.npz", "empty.npz", "none.npz", "."):
        with pytest.raises(DefinitionError):
            Response.load(tmp_path / name)
