"""Sweeps: the right cases, the same numbers as a run by hand, failures as rows, nothing lost when something dies."""

from __future__ import annotations

import csv
import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexctl as fx
from flexctl.cli import sweep as command
from flexctl.judging.sweep import Span, sweep
from flexctl.judging.sweep.case import Case, Study, perform
from flexctl.judging.sweep.samples import as_values, drawn

ROOT = Path(__file__).resolve().parents[2]

def by_hand(place: Path, mass: float, **gains: float) -> dict[str, float]:
    """Return the scores of "move", run without the sweep."""
    script = fx.load_controller(place / "pd.py")
    script.GAINS = script.Gains(**gains)
    plant = fx.load_plant("tokhi_azad_1994")
    item = script.scenarios(plant)[0]
    return dict(fx.Scenario("m", item.reference, item.duration, {**script.SETTINGS, "payload.mass": mass}).run(
        script.design(plant), plant).scores)


class TestSamples:
    def test_a_grid_is_every_combination(self) -> None:
        cases = drawn({"a": (1, 2), "b": Span(0.0, 1.0, 3), "c": Span(1e-2, 1.0, 3, True)}, "grid", None, 0)
        assert len(cases) == 18
        assert {case["b"] for case in cases} == {0.0, 0.5, 1.0}
        assert sorted({case["c"] for case in cases}) == pytest.approx([0.01, 0.1, 1.0])
        assert len({tuple(case.values()) for case in cases}) == 18

    def test_a_latin_hypercube_has_one_point_in_every_part_of_every_range(self) -> None:
        n = 17
        cases = drawn({"a": Span(-1.0, 1.0), "b": Span(1.0, 1e4, 0, True), "c": ("x", "y")}, "lhs", n, 3)
        a = np.array([case["a"] for case in cases])
        b = np.log([case["b"] for case in cases]) / np.log(1e4)
        assert sorted(np.floor((a + 1) / 2 * n).astype(int)) == list(range(n))
        assert sorted(np.floor(b * n).astype(int)) == list(range(n))
        assert [case["c"] for case in cases].count("x") in (8, 9)
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.9

    def test_random_points_are_the_same_for_the_same_seed_and_fill_the_range(self) -> None:
        over = {"a": Span(2.0, 3.0)}
        one, other = drawn(over, "random", 200, 1), drawn(over, "random", 200, 1)
        assert one == other != drawn(over, "random", 200, 2)
        a = np.array([case["a"] for case in one])
        assert a.min() < 2.05
        assert a.max() > 2.95
        assert a.mean() == pytest.approx(2.5, abs=0.06)

    @pytest.mark.parametrize(
        ("over", "method", "count", "message"),
        [
            ({"a": Span(0.0, 1.0)}, "grid", None, "number of points"),
            ({"a": (1,)}, "grid", 5, "leave the count out"),
            ({"a": (1,)}, "lhs", None, "say how many"),
            ({"a": (1,)}, "latin", 3, "unknown way to sample"),
            ({}, "grid", None, "nothing to sweep over"),
        ],
    )
    def test_what_makes_no_sense(self, over: dict, method: str, count: int | None, message: str) -> None:
        with pytest.raises(fx.DefinitionError, match=message):
            drawn(over, method, count, 0)

    def test_ranges(self) -> None:
        for arguments in ((1.0, 1.0), (0.0, math.inf), (0.0, 1.0, 1), (0.0, 1.0, 0, True)):
            with pytest.raises(fx.DefinitionError):
                Span(*arguments)
        for wrong in ("0,1", 3.0, []):
            with pytest.raises(fx.DefinitionError, match="sweep over a"):
                as_values("a", wrong)

    def test_words_of_the_command_line(self) -> None:
        assert command.values("payload.mass=0,10g,20g") == ("payload.mass", [0, 0.01, 0.02])
        assert command.values("model.sections=8,16") == ("model.sections", [8, 16])
        assert command.values("model.form=slope,paper") == ("model.form", ["slope", "paper"])
        assert command.values("payload.mass=0..20g/5") == ("payload.mass", Span(0.0, 0.02, 5))
        assert command.values("a=1e-6..1e-2/5log") == ("a", Span(1e-6, 1e-2, 5, True))
        assert command.values("a=-2..-1") == ("a", Span(-2.0, -1.0))
        with pytest.raises(fx.DefinitionError, match="not understood"):
            command.values("payload.mass")


class TestCases:
    def test_the_numbers_are_those_of_a_run_by_hand(self, place: Path) -> None:
        over = {"payload.mass": [0.0, 0.02], "controller.GAINS.angle": [0.3, 0.4]}
        table = sweep("pd.py", over=over, scenarios=["move"], workers=1)
        assert table["status"] == ["ok"] * 4
        for i in range(4):
            wanted = by_hand(place, table["payload.mass"][i], angle=table["controller.GAINS.angle"][i])
            assert {key: table[key][i] for key in wanted} == wanted

    def test_scenarios_that_differ_in_nothing_but_what_is_swept_are_named(self, place: Path) -> None:
        script = place / "pd.py"
        first = 'quintic(0.0, 0.1, 0.2), 0.3, SETTINGS), Scenario("20 g", quintic(0.0, 0.1, 0.2), 0.3, '
        script.write_text(script.read_text().replace(
            "quintic(0.0, 0.1, 0.2), 0.3, SETTINGS), ", first + 'SETTINGS | {"payload.mass": 0.02}), ', 1
        ))
        over = {"payload.mass": [0.0]}
        with pytest.warns(fx.Caution, match='payload.mass: what is swept .*"20 g"; choose scenarios'):
            sweep("pd.py", over=over, scenarios=["move", "20 g"], workers=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error", fx.Caution)
            sweep("pd.py", over=over, scenarios=["20 g", "long"], workers=1)

    def test_arguments_of_design_and_fields_of_the_scenario(self, place: Path) -> None:
        over = {"controller.limit": [0.05, 0.3], "scenario.duration": [0.3, 0.6], "scenario.method": ["march"]}
        table = sweep("pd.py", over=over, scenarios=["move"], workers=1)
        columns = (table[name] for name in ("controller.limit", "scenario.duration", "joint1_torque.peak"))
        peaks = {(limit, duration): peak for limit, duration, peak in zip(*columns, strict=True)}
        assert peaks[0.05, 0.3] == 0.05
        assert peaks[0.3, 0.3] == peaks[0.3, 0.6] > 0.05
        assert table["joint1_angle.final_error"][0] != table["joint1_angle.final_error"][1]

    def test_the_design_does_not_know_what_changes_unless_it_is_told(self, place: Path) -> None:
        """The feedforward gain of this controller is the payload's mass."""
        over = {"payload.mass": [0.0, 0.02]}
        blind, told = (sweep("pd.py", over=over, redesign=r, scenarios=["move"], workers=1) for r in (False, True))
        assert blind["joint1_torque.rms"][0] == told["joint1_torque.rms"][0]
        assert blind["joint1_torque.rms"][1] != told["joint1_torque.rms"][1]

    def test_all_scenarios_and_the_linear_loop(self, place: Path) -> None:
        table = sweep("pd.py", over={"payload.mass": [0.01]}, linear=True, workers=1)
        assert table["scenario"] == ["move", "long"]
        script = fx.load_controller("pd.py")
        plant = fx.load_plant("tokhi_azad_1994", payload={"mass": 0.01}, overrides=script.SETTINGS)
        loop = fx.loop_gain(plant.linearise(), script.design(fx.load_plant("tokhi_azad_1994")))
        assert table["loop.disk_margin"][0] == pytest.approx(fx.margins(loop).disk_margin, rel=1e-9)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("payload.mass", -1.0, "must be zero or more"),
            ("payload.mas", 0.01, 'did you mean "payload.mass"'),
            ("controller.LIMITS", 1.0, "unknown parameter of pd.py"),
            ("controller.GAINS.angel", 1.0, 'did you mean "angle"'),
            ("controller.PLANT.x", 1.0, "has no fields"),
            ("controller.limit", -0.1, "limits"),
            ("scenario.length", 1.0, "unknown parameter of the scenario"),
            ("controller.GAINS.angle", "many", "line"),
            ("scenario.step", 1e9, ""),
        ],
    )
    def test_a_case_that_fails_is_a_row_with_its_reason(
        self, place: Path, name: str, value: object, message: str
    ) -> None:
        rows = perform(Case(Study(str(place / "pd.py"), "tokhi_azad_1994", (), ("move",)), ((name, value),)))
        if name == "scenario.step":
            assert rows[0]["status"] == "ok"
            return
        assert [row["status"] for row in rows] == ["failed"]
        assert message in rows[0]["reason"]

    def test_a_diverging_run_is_a_row_too(self, place: Path) -> None:
        table = sweep("pd.py", over={"controller.GAINS.angle": [0.4, -3e5], "controller.limit": [1e9]},
                      scenarios=["move"], workers=1)
        assert table["status"] == ["ok", "failed"]
        assert "diverge" in table["reason"][1]
        assert table["joint1_torque.peak"][1] is None

    def test_what_is_wrong_with_the_whole_study_is_said_at_once(self, place: Path) -> None:
        for arguments, message in (
            ({"scenarios": ["mov"]}, 'did you mean "move"'), ({"plant": "tokhi"}, "unknown plant"),
            ({"path": "out.xls"}, "use one of"), ({"path": "nowhere/out.csv"}, "not an existing folder"),
            ({"workers": 0}, "at least one process"),
        ):
            with pytest.raises(fx.DefinitionError, match=message):
                sweep("pd.py", over={"payload.mass": [0.0]}, **arguments)

    def test_a_worker_with_another_file_refuses(self, place: Path) -> None:
        study = Study(str(place / "pd.py"), "tokhi_azad_1994", digest="0123")
        assert "is not the same file here" in perform(Case(study, ()))[0]["reason"]


def test_a_row_has_the_error_of_what_it_scores(place: Path) -> None:
    found = sweep("pd.py", over={"payload.mass": [0.01]}, scenarios=["move"], workers=1)
    claimed = {name.rpartition(".")[0]: found[name][0] for name in found.columns if name.endswith(".estimated_error")}
    scored = {name.rpartition(".")[0] for name in found.columns if name.endswith((".peak", ".max_error"))}
    assert "joint1_torque" in scored
    assert scored <= set(claimed)
    script, plant = fx.load_controller(place / "pd.py"), fx.load_plant("tokhi_azad_1994")
    item = script.scenarios(plant)[0]
    overrides = {**script.SETTINGS, "payload.mass": 0.01}
    run = fx.Scenario("m", item.reference, item.duration, overrides).run(script.design(plant), plant)
    assert claimed == {name: pytest.approx(run.error[name], rel=1e-9) for name in claimed}
    assert claimed["joint1_torque"] > 0.0  # steps are exact, the input between its samples is not


class TestTable:
    @pytest.fixture
    def table(self, place: Path) -> fx.Table:
        return sweep("pd.py", over={"payload.mass": [0.0, -1.0, 0.01]}, scenarios=["move"], workers=1)

    def test_csv(self, table: fx.Table, place: Path) -> None:
        rows = list(csv.DictReader(table.save("a.csv").open()))
        assert list(rows[0]) == list(table.columns)
        assert [float(row["payload.mass"]) for row in rows] == [0.0, -1.0, 0.01]
        assert float(rows[2]["joint1_torque.rms"]) == table["joint1_torque.rms"][2]
        assert rows[1]["joint1_torque.rms"] == ""
        assert rows[1]["reason"] == table["reason"][1]

    def test_netcdf(self, table: fx.Table, place: Path) -> None:
        from scipy.io import netcdf_file

        with netcdf_file(table.save("a.nc"), mmap=False) as data:
            assert data.variables["payload.mass"][:].tolist() == [0.0, -1.0, 0.01]
            assert math.isnan(data.variables["joint1_torque.rms"][1])
            assert data.variables["joint1_torque.rms"][2] == table["joint1_torque.rms"][2]
            texts = [b"".join(row).decode().rstrip("\0") for row in data.variables["reason"][:]]
        assert texts == table["reason"]

    def test_parquet(self, table: fx.Table, place: Path) -> None:
        import pyarrow.parquet

        found = pyarrow.parquet.read_table(table.save("a.parquet")).to_pydict()
        assert list(found) == list(table.columns)
        assert found["payload.mass"] == [0.0, -1.0, 0.01]
        assert found["reason"] == table["reason"]
        assert found["joint1_torque.rms"] == table["joint1_torque.rms"]

    def test_a_sweep_writes_parquet(self, place: Path) -> None:
        import pyarrow.parquet

        made = sweep("pd.py", over={"payload.mass": [0.0, 0.01]}, scenarios=["move"], workers=1, path="a.parquet")
        found = pyarrow.parquet.read_table("a.parquet").to_pydict()
        assert found == {name: made[name] for name in made.columns}

    def test_parquet_needs_a_package(
        self, table: fx.Table, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(fx.NotAvailable, match="pyarrow"):
            table.save("a.parquet")
        with pytest.raises(fx.NotAvailable, match="pyarrow"):
            sweep("pd.py", over={"payload.mass": [0.0]}, path="a.parquet")
        assert not Path("a.parquet").exists()

    def test_pandas(self, table: fx.Table) -> None:
        frame = table.to_pandas()
        assert list(frame.columns) == list(table.columns)
        assert frame["status"].tolist() == ["ok", "failed", "ok"]
