"""The notebooks run from begin to end, their headline numbers are right, and what is stored is what a run gives."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import nbformat
import pytest
from execute_notebooks import FOLDER, execute

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 2_000_000  # bytes
PATHS = re.compile(r"(?<![\w.])/(?:root|home|Users|tmp|work|usr|opt|var|private)/|[A-Za-z]:\\\\|site-packages")


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def headline(notebook: Any) -> dict[str, Any]:
    """The JSON that the last code cell prints."""
    (output,) = code(notebook)[-1].outputs
    numbers: dict[str, Any] = json.loads(output.text)
    return numbers


def flat(value: Any, key: str = "") -> dict[str, Any]:
    """Numbers and words by dotted key."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for name, inner in items for k, v in flat(inner, f"{key}.{name}").items()}
    return {key: value}


def written(cell: Any) -> str:
    """Everything a cell has stored but its pictures."""
    parts = []
    for output in cell.outputs:
        shown = {kind: text for kind, text in output.get("data", {}).items() if not kind.startswith("image/")}
        parts += [output.get("text", ""), *map(str, shown.values())]
    return "\n".join(parts)


def near(expected: Any, **tolerance: float) -> Any:
    return pytest.approx(expected, **{"rel": 0.0, "abs": 0.0} | tolerance)


def check_finite_difference_arm(said: dict[str, Any]) -> None:
    """Numbers of the exact beam and of the scheme, found by closed forms and independent eigenvalue solvers."""
    assert said["frequencies_exact_hz"] == near([11.80151261, 32.15406765, 58.29328935], rel=1e-9)
    assert said["frequencies_slope_19_hz"] == near([11.741194, 31.862054, 57.011173], rel=1e-7)
    assert said["frequencies_paper_form_19_hz"] == near([11.756221, 32.899300, 61.898973], rel=1e-7)
    assert said["order_slope"] == near([2.0, 2.0], abs=0.01)
    assert all(0.9 < order < 1.0 for order in said["order_paper"])
    assert said["hub_row"] == near([1.96458787, 0.02832971, -0.00708243], abs=6e-9)
    assert said["B1"] == near(4.8975581741e-06, rel=1e-10)
    assert said["step_19_us"] == near(242.666, abs=6e-4)
    assert said["limit_19_us"] == near(math.sqrt(0.25319965 / 0.2) * 242.66598, rel=1e-7)
    # what a march shows: (2/dt) asin(w dt/2)
    dt = 0.3e6 / 1237 * 1e-6
    leapfrog = [math.asin(math.pi * f * dt) / (math.pi * dt) for f in (11.741194, 31.862054)]
    assert said["measured_hz"] == near(leapfrog, rel=2e-4)
    assert said["tip_m"] == near([0.0847327, 0.1772156, 0.1774361], abs=6e-5)
    assert all(0 < e < bound for e, bound in zip(said["tip_error_mm"].values(), (1.7, 3.5, 0.95, 0.55), strict=True))
    assert said["final_angle_error"] < 1e-9
    assert said["ratio_of_angles"] == near(1.011914, abs=5e-7)
    assert said["ratio_of_peaks"] == near(0.17896325 / 0.17935136, rel=1e-6)
    assert said["hub_for_theory"] == near([3.973e-4, 2.754e-4], rel=2e-4)
    assert said["mode_1_left_mm"] == near([4.913, 2.011, 0.102], abs=6e-4)
    assert said["mode_1_left_march_mm"] == near([4.913, 2.011, 0.102], abs=0.05)
    assert said["largest_bending_mm"] == near([26.1, 19.5, 16.4], abs=0.06)
    assert said["hub_zeros_hz"] == near([2.856733869, 17.902845560, 50.128485965], rel=1e-9)
    assert said["tip_zeros_rad_s"] == near([57.1082257572, 308.6081481235, 762.0685370708], rel=1e-10)
    assert said["grid_error_control_db"] > 6.0
    assert said["grid_error_flexctl_db"] < 0.1


def check_bode_to_controller(said: dict[str, Any]) -> None:
    """Times and margins of the same designs, found by another simulation."""
    assert said["stable"]
    assert said["disk_margin"]["LQG"] == near([0.30, 0.40, 0.43], rel=0.1)
    assert said["disk_margin"]["PD"] == near([0.26] * 3, rel=0.1)
    assert [*chain(*said["lqg_5_deg"])] == near([0.437, 0.652, 0.399, 0.524, 0.435, 0.611], rel=0.05)
    assert [*chain(*said["lqg_60_deg"])] == near([1.117, 1.197, 1.108, 1.167, 1.099, 1.250], rel=0.05)
    assert said["pd_60_deg_1pct"] == near([1.18, 1.13, 1.10], rel=0.05)
    assert not said["pd_5_deg_0p1pct_reached"]
    assert said["bound_60_deg"] == near([0.834, 0.908, 0.976], abs=6e-4)
    assert 0.2 < said["peak_torque"] <= 0.3
    pd, lqg = (said["largest_error_deg"][name].values() for name in ("PD", "LQG"))
    assert all(5 * small < large for small, large in zip(lqg, pd, strict=True))


def check_ralf(said: dict[str, Any]) -> None:
    """Numbers of an independent code of the same arm, a finite-element frame, and the cubics of the actuators."""
    assert said["constrained_hz"] == near([7.8310, 16.9412, 30.8172, 104.4269, 119.9812, 127.0935], rel=1e-5)
    assert said["unconstrained_hz"] == near([8.2155, 17.0032, 29.8564, 104.4680, 119.4257, 126.7434], rel=1e-5)
    assert said["stretch_hz"] == near([7.8250, 15.9080, 30.8067, 94.0222], rel=1e-3)
    assert said["eight_modes_change"] < 2e-4
    assert said["energy_percent"] == near([98, 99, 99, 99.5, 94, 94], abs=0.6)
    assert said["K"] == near([74.9045, 86.1371], rel=1e-5)
    assert said["bandwidth_hz"] == near([21.660, 24.941], abs=1e-3)
    assert said["phase_margin_deg"] == near([54.596, 65.189], abs=1e-3)
    assert all(lead > 1.5 * paper for lead, paper in zip(said["lead_bandwidth_hz"], said["bandwidth_hz"], strict=True))
    assert all(abs(k / table - 1) > 0.1 for k, table in zip(said["asked_K"], (79.6, 51.7), strict=True))
    assert said["tip_x_gain"] == near([-3.052351, -1.523302], rel=1e-6)
    assert said["strain_gain"] == near([8.91691e-5, 5.76037e-6], rel=2e-6)
    assert [said["peaks_full"][f"both links {w}"] for w in ("lower", "upper")] == near([276.752, 55.864], rel=5e-3)
    assert [said["peaks_full"][f"upper link {w}"] for w in ("lower", "upper")] == near([16.150, 33.431], rel=5e-3)
    assert [said["left_full"][f"both links {w}"] for w in ("lower", "upper")] == near([276.9, 57.6], rel=3e-3)
    assert said["left_linear_both"] == near([275.7, 43.8], rel=3e-3)
    assert said["small_lower_error"] < 1e-4
    assert max(said["small_odd_errors"]) < 1e-4
    assert said["eq43_printed"] == near([163.506, 42.315, 301.170, 32.373], rel=5e-3)
    assert said["eq43_projected"] == near([173.553, 41.144, 278.517, 42.859], rel=5e-3)
    # sampled at 5 kHz; continuous: 173.9 and 32.6
    assert said["servo_left"] == near([173.9, 32.6], rel=1e-2)
    assert 0.8 < said["lead_left"][0] / said["servo_left"][0] < 1.0


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "finite_difference_arm": check_finite_difference_arm,
    "bode_to_controller": check_bode_to_controller,
    "ralf": check_ralf,
}


def test_every_notebook_has_its_check() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(CHECKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_its_numbers_are_right(path: Path) -> None:
    fresh = headline(execute(path))
    CHECKS[path.stem](fresh)
    stored = flat(headline(nbformat.read(path, as_version=4)))
    assert stored == near(flat(fresh), rel=1e-3, abs=1e-6), "stale: run `make notebooks`"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_executed_and_clean(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = code(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        kinds = [output.get("name", output.output_type) for output in cell.outputs]
        assert not {"error", "stderr"} & set(kinds), f"{kinds} in\n{cell.source}"
        assert not PATHS.search(written(cell)), f"a local path in the output of\n{cell.source}"
        assert not cell.metadata, f"{cell.metadata} in\n{cell.source}"
    assert sum("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs) >= 5
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("text", ["/root/x", "see /home/me/y.py", '"C:\\\\Users\\\\me"', "lib/site-packages/numpy"])
def test_a_local_path_is_noticed(text: str) -> None:
    assert PATHS.search(text)


@pytest.mark.parametrize("text", ["1/root", "m/(N m)", "plants/tokhi_azad_1994.toml", "</home>", "rad/s"])
def test_a_unit_is_no_path(text: str) -> None:
    assert not PATHS.search(text)
