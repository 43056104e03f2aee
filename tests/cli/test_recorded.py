"""Signals from files: what flexctl has written reads back as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flexctl as fx
from flexctl.cli.recorded import recorded
from flexctl.errors import DefinitionError

ARM = "tokhi_azad_1994"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "torque", [fx.bang_bang(0.1, 0.13), fx.Sine(0.05, 3.0), fx.PiecewiseConstant((0.0101, 0.05), (0.0, 0.02, -0.1))]
)
def test_a_run_driven_by_its_own_record_is_the_same_run(tmp_path: Path, torque: fx.InputSignal) -> None:
    arm = fx.load_plant(ARM)
    first = fx.simulate(arm, inputs={"joint1_torque": torque}, duration=0.4)
    again = recorded(first.save(tmp_path / "r.csv"), "joint1_torque", "N m")
    second = fx.simulate(arm, inputs={"joint1_torque": again}, duration=0.4)
    smooth = isinstance(torque, fx.Sine)
    assert isinstance(again, fx.Sampled if smooth else fx.PiecewiseConstant)
    wanted, found = (np.interp(np.linspace(0.0, 0.4, 999), run.t, run["tip_displacement"]) for run in (first, second))
    assert found == pytest.approx(wanted, abs=(1e-4 if smooth else 1e-9) * abs(wanted).max())


def test_units_are_converted_and_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "time [ms],joint1_torque [mNm] +- 1e-3\n0,100\n500,300\n")
    found = recorded(path, "joint1_torque", "N m")
    assert found(np.array([0.0, 0.25, 0.5])) == pytest.approx([0.1, 0.2, 0.3])
    wrong = write(tmp_path / "b.csv", "time [s],joint1_torque [rad]\n0,1\n1,2\n")
    with pytest.raises(DefinitionError, match=r'b\.csv, column "joint1_torque \[rad\]": .* is not in N m'):
        recorded(wrong, "joint1_torque", "N m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("time [s],u [N m]\n", "holds no numbers"),
        ("x,u\n0,1\n", 'no column is the time; its header is "time'),
        ("t,a,b\n0,1,2\n", r'unknown column of .*"u".*known: a, b'),
        ("t,u\n0,1\n1\n", "line 3: has 1 columns, not 2"),
        ("t,u\n0,1\n1,one\n", 'line 3: "one" is not a number'),
        ("t,u\n1,1\n0,2\n", "times must ascend"),
        ("0,1,2\n", "line 1: has 3 columns, not 2"),
        ("t,u\n0,nan\n1,2\n", "finite"),
    ],
)
def test_what_is_no_signal_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        recorded(write(tmp_path / "u.csv", text), "u", "N m")


def test_a_table_without_a_head_is_linear_in_between(tmp_path: Path) -> None:
    found = recorded(write(tmp_path / "u.csv", "# t,u\n0,0\n0.5,1\n1,0\n"), "u", "N m")
    assert found(np.array([0.25, 0.75])) == pytest.approx([0.5, 0.5])
