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
from analytical import wedge_frequencies
from execute_notebooks import FOLDER, execute
from scipy.optimize import brentq

import flexctl as fx

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 2_000_000  # bytes
HIDDEN = {"jupyter": {"outputs_hidden": True, "source_hidden": True}, "tags": ["remove-cell"]}
"""Metadata of the last cell: its numbers are for the tests, not for who reads."""
FOLDED = {"jupyter": {"source_hidden": True}, "tags": ["hide-input"]}
"""Metadata of cells that write a page with a slider."""
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


def check_finite_segments(said: dict[str, Any]) -> None:
    """Li and Zhang's arms by independent implementations of their matrices, closed forms, and what must be so."""
    clamped = [6.09844, 38.21828, 107.01230]
    assert said["modulus_hz"] == near([1.9424, 12.1729, *clamped[:2]], rel=3e-5)
    closure = said["closure_hz"]
    assert closure["paper"] == near([7.6151, 6.7745, 6.4191, 6.2018, 6.1291], abs=6e-5)
    assert closure["base"] == near([5.9886, 6.0706, 6.0915, 6.0977, 6.0984], abs=6e-5)
    assert closure["half"] == near([6.1549, 6.1125, 6.1019, 6.0988, 6.0985], abs=6e-5)
    sixty = said["closure_60_hz"]
    assert [*sixty["paper"][1:], *sixty["base"][1:]] == near([38.8721, 108.8586, 38.2014, 106.9346], abs=6e-5)
    for name, order in {"paper": 1.0, "base": 2.0, "half": 2.0}.items():
        assert said["closure_order"][name] == near([order] * 3, abs=0.02)
    free = [26.74250, 86.66282, 180.81506]
    assert said["free_joint_hz"]["exact"] == near([*free, *clamped], rel=3e-7)
    assert said["free_joint_hz"]["paper, N = 20"][:3] == near(said["free_joint_hz"]["base, N = 20"][:3], rel=3e-6)
    link = said["figure_6"]
    assert link["base, small steps"][:5] == near([-3.8630, 0.1125, 3.6875, 0.3660, 6.0974], rel=1e-4)
    assert link["paper, small steps"][:5] == near([-3.7234, 0.1110, 3.4847, 0.3610, 6.2014], rel=1e-4)
    assert link["paper, 2 ms, 0.7/0.8"][:5] == near([-3.6684, 0.112, 3.3117, 0.362, 6.1925], rel=1.2e-3)
    assert link["base, 2 ms, 0.7/0.8"][:5] == near([-3.8058, 0.114, 3.5071, 0.368, 6.0889], rel=1.2e-3)
    assert [row[6] for row in link.values()] == near([1.173, 1.453, 0.986, 1.212, 1.022], rel=1.5e-3)
    assert [row[5] for row in link.values()] == near([0.0, 0.0, 0.0115, 0.0117, 0.0076], abs=6e-5)
    assert said["newmark"]["0.7/0.8"] == near([0.01147, 0.99857, 0.7559], abs=6e-5)
    assert said["newmark"]["0.8/0.7"] == near([0.00765, 0.99817, 0.8660], abs=6e-5)
    assert said["newmark"]["0.25/0.5"] == near([0.0, 0.99951, 1.0], abs=6e-6)
    errors = {
        "0.25/0.5/newton": [16.2, 4.34, 1.09, 0.280],
        "0.25/0.5/lagged": [17.3, 5.15, 1.52, 0.594],
        "0.7/0.51/lagged": [60.6, 16.9, 4.86, 1.80],
        "0.7/0.8/lagged": [304.0, 170.0, 89.3, 45.8],
        "0.8/0.7/lagged": [222.0, 118.0, 60.6, 30.7],
    }
    assert said["step_error_um"] == {key: near(row, rel=0.025) for key, row in errors.items()}
    assert said["step_order"] == near([2.0, 1.0, 1.0, 1.0, 1.0], abs=0.15)
    assert [said["growth"][i] for i in (0, 1, 3, 4, 6, 8)] == near([5.2, 7.4, 16.6, 23.4, 33.1, 42.8], abs=0.06)
    far = [1e6 * (math.tan(k) - 1.0) / k**3 for k in (100.0, 150.0, 200.0)]  # nothing is left of exp(-k)
    assert said["kL"] == [True, True, *(near(x, rel=1e-10) for x in far)]
    for what in (
        "product_right_at_1_ms", "product_wrong_at_0p1_ms", "product_refused", "diverged_after_the_jump",
        "sweep_is_linear", "sweep_is_fastest", "all_found",
    ):
        assert said[what], what
    rigid, flexible = (f"{kind} joints, " for kind in ("rigid", "flexible"))
    matrices = "transfer matrices, 1 ms, 0.7/0.51"
    peaks = {
        f"{rigid}base, converged": [-38.668, 36.628, -40.336, 19.211],
        f"{rigid}base, {matrices}": [-38.755, 36.708, -40.311, 19.298],
        f"{rigid}paper, converged": [-37.886, 35.336, -39.678, 18.687],
        f"{rigid}paper, {matrices}": [-37.955, 35.368, -39.655, 18.766],
        f"{flexible}base, converged": [-42.661, 41.581, -49.710, 27.068],
        f"{flexible}base, {matrices}": [-42.639, 41.554, -49.701, 27.189],
        f"{flexible}paper, converged": [-43.025, 41.913, -49.085, 26.569],
        f"{flexible}paper, {matrices}": [-43.002, 41.891, -49.073, 26.696],
    }
    assert {key: said["figure_8_mm"][key] for key in peaks} == {k: near(row, abs=1.5e-3) for k, row in peaks.items()}
    beams = said["figure_8_mm"][f"{rigid}beams, 128 geometrically exact elements per link"]
    assert beams == near([-38.660, 36.614, -40.330, 19.204], abs=0.02)
    assert said["y_min_by_segments_mm"][0] == near([-42.16, -45.94, -47.82, -49.07], abs=6e-3)
    assert said["y_min_by_segments_mm"][1] == near([-49.81, -49.73, -49.71, -49.70], abs=6e-3)
    assert said["figure_9"]["rigid joints"] == near([7.752, 3.268, 0.358, 0.0, 0.0, 0.0], rel=0.01)
    assert said["figure_9"]["flexible joints"] == near([6.955, 2.893, 0.346, 10.28, 4.99, 0.814], rel=3e-3)
    arm = said["three_links_hz"]
    assert arm[f"{rigid}straight, 60 segments, base"][:3] == near([5.1223, 31.012, 70.237], rel=2e-5)
    assert arm[f"{rigid}straight, 60 segments, paper"][:3] == near([5.1707, 31.457, 71.671], rel=2e-5)
    assert arm[f"{flexible}straight, 60 segments, base"][:3] == near([4.5088, 26.574, 59.479], rel=2e-5)
    assert arm[f"{flexible}straight, 60 segments, paper"][:3] == near([4.5417, 26.852, 60.308], rel=2e-5)
    assert arm[f"{rigid}straight, exact"][:3] == near([5.1224, 31.019, 70.266], rel=3e-4)
    assert arm[f"{flexible}straight, exact"][:3] == near([4.5089, 26.579, 59.494], rel=3e-4)
    (_, *_), (polynomial, _, softer, _), (cycloid, _, soft, _) = said["left_mm"]
    assert polynomial > 2.5 * cycloid
    assert soft > 3.0 * softer
    taper = said["taper_hz"]
    wedge = wedge_frequencies(3, 0.25) * 1.6 / (2 * math.pi * 0.252**2) * math.sqrt(69e9 / 2766.0 * 0.48e-3**2 / 12.0)
    assert taper["closed form"] == near([*wedge], rel=1e-9)
    short = [1.0 - taper[f"{n} segments"][0] / wedge[0] for n in (10, 20, 60)]
    assert [short[0] / short[1], short[1] / short[2]] == near([4.0, 9.0], rel=0.01)
    assert said["taper_gain"][0] == near(wedge[0] / clamped[0], rel=1e-3)
    assert said["taper_gain"][2] == near(2.0 / 1.25 * (4.0 - 3.0 * 0.75) / 4.0, rel=1e-6)
    assert said["counted"] == said["counted_by_elements"], "0 .. 5 kHz, 20 kHz"
    exact = said["arm_hz"]["exact, Timoshenko"]
    fine, coarse = (said["arm_hz"][f"{n} Timoshenko elements per link"] for n in (64, 16))
    richardson = [f - (c - f) / 15.0 for f, c in zip(fine, coarse, strict=True)]  # second order
    assert exact == near(richardson, rel=1e-4)
    hub, held = said["hub_zeros_hz"]
    assert hub == near(held, rel=1e-9)
    ahead, behind = said["tip_zeros_hz"][::2], said["tip_zeros_hz"][1::2]
    assert [-z for z in behind] == near(ahead, rel=1e-9)
    assert 0 < ahead[0] < exact[0]
    assert [*said["within_3_db"].values()] == [True, False, True, True, True, True, True]


def check_timoshenko_elements(said: dict[str, Any]) -> None:
    """Table I, statics and poles found by an independent assembly and by closed forms."""
    table = {key.replace("analytical", "closed"): row for key, row in said["table_1"].items()}
    assert table["exact 2"] == near([51.51816, 27.05507, 19.24536, 15.44599, 13.16410], abs=1e-5)
    assert table["exact 20"] == near([10.64985, 9.80982, 9.36724, 8.93283, 8.48608], abs=1e-5)
    assert table["reduced 2"] == near([13.68601, 13.21793, 12.55238, 11.79330, 11.01714], abs=1e-5)
    assert table["reduced 5"] == near([10.29143, 10.05157, 9.69370, 9.26201, 8.79551], abs=1e-5)
    assert table["reduced 20"] == near([9.82405, 9.60827, 9.28436, 8.89074, 8.46211], abs=1e-5)
    assert table["closed"] == near([9.79408, 9.57979, 9.25799, 8.86675, 8.44051], abs=1e-5)
    wrong = {"reduced 20 at 0.02": 9.82405 - 9.844, "analytical at 0.02": 9.79408 - 9.839}
    assert said["misprints"] == near(wrong, abs=1e-5)
    assert [said["one_element_reduced"][k] for k in (0, -1)] == near([173.2, 34.6], abs=0.05)
    assert said["order"] == near([2.0] * 4, abs=0.01)
    assert said["frame_in"] == near([3.5536, 3.5959, 3.6037, 3.61], abs=1e-4)
    assert said["frame_with_shear_in"] == near([3.5552, 3.5975, 3.6054], abs=1e-4)
    assert said["lag_um"][:5] == near([-119.581, -122.658, -123.509, -123.7274, -123.7823], abs=6e-4)
    assert said["lag_um"][5:] == near([-123.75, -123.7877, -123.8006], abs=1e-4)
    assert said["lag_run_um"] == near(said["lag_um"][:5], rel=1e-6)
    assert said["swing_over_static"][0] > 3.5
    assert said["swing_over_static"][1] == near(1.0, abs=0.01)
    assert [said["poles_hz"][n] for n in ("8", "16", "32")] == near([68.233, 67.103, 66.822], rel=1e-5)
    assert said["exact_hz"] == near([66.78625, 216.43024, 451.56442, 15.23014, 95.44568], rel=1e-6)
    assert said["elements_for_1_percent"] == [12, 24, 35]


def check_flexible_2r_arm(said: dict[str, Any]) -> None:
    """Geometrically exact beams assembled independently; the beam of Simo and Vu-Quoc; elementary bounds."""
    assert said["locked_hz"] == near([3.8077, 23.908, 67.201], rel=2e-5)
    assert said["locked_60_hz"] == near([4.3077, 16.967], rel=3e-5)
    flexible = {
        "nonlinear": [-4.8888, 1.8862, -5.8937, 1.3118],
        "linear": [-4.8920, 1.8937, -5.8969, 1.3186],
        "quasi-static": [-4.3263, 1.6548, -5.5082, 1.1685],
    }
    stiff = {
        "nonlinear": [-3.4467, 1.4729, -5.9438, 0.4225],
        "linear": [-3.4472, 1.4716, -5.9438, 0.4227],
        "quasi-static": [-1.7899, 1.1592, -3.9177, 0.0065],
    }
    assert said["example_1_mm"] == {**said["example_1_mm"], **{k: near(v, abs=1.5e-4) for k, v in flexible.items()}}
    assert said["example_2_mm"] == {k: near(v, abs=3e-3 * 5.9438) for k, v in stiff.items()}
    assert max(said["nonlinear_from_linear"].values()) < 0.01
    assert said["counted_once_hz"] == near([3.8077, 23.908, 67.201], rel=2e-5)
    assert said["counted_twice_hz"][0] == near(2.764, abs=1e-3)
    assert said["one_of_them_hz"][0] == near(3.163, abs=1e-3)
    assert said["softer_x_ratio"] == near([0.9993, 0.992, 0.998, 0.93, 0.89], abs=0.004)
    assert said["softest_hz"] == near(3.8077 / math.sqrt(40), rel=1e-4)
    joint_1, joint_2 = said["torques"]
    assert joint_1 == near([-3.12587, 3.45337, -3.4926, 3.7339, 0.411, 0.138], abs=6e-4)
    assert joint_2 == near([-0.88607, 1.16656, -1.0190, 1.2799, 0.138, 0.047], abs=6e-4)
    by_rigid, by_flexible = (said["open_loop"][f"{name} arm's torques"].values() for name in ("rigid", "flexible"))
    assert [*by_flexible] == near([0.0, 6.04], abs=0.01)
    assert all(0.0 < x < bound for x, bound in zip(by_rigid, (0.2, 0.5), strict=True))
    assert said["free_hz"] == near(50.094, rel=2e-5)
    assert said["smooth_residual_mm"][0] > 8 * said["smooth_residual_mm"][1]
    assert said["servo_mm"]["A, nonlinear"] == near([-20.166, 9.325, -25.117, 4.492], abs=0.03)
    assert said["servo_mm"]["A, linear"] == near([-20.235, 9.504, -25.148, 4.560], abs=0.03)
    assert said["servo_mm"]["B, nonlinear"] == near([-36.354, 22.888, -49.057, 4.653], abs=0.03)
    assert said["spin_up"] == near([-0.5738, 6.76, 5.14e-4, 5.142857e-4], rel=2e-3)
    assert said["spinning"][3] == near(4.5116, rel=1e-4)
    assert said["spinning"][-1] == near(4.5116, rel=5e-4)


def clamped(ratio: float) -> float:
    """First root k of 1 + cos k cosh k = ratio k (sin k cosh k - cos k sinh k); `ratio` of the mass at the free end."""

    def characteristic(k: float) -> float:
        bend = math.cos(k) * math.sinh(k) - math.sin(k) * math.cosh(k)
        return 1.0 + math.cos(k) * math.cosh(k) + ratio * k * bend

    return float(brentq(characteristic, 0.3, 2.0))


def clamped_with_tip_mass(mass: float) -> float:
    """First frequency [Hz] of the slender arm, clamped and stretched."""
    return clamped(mass / 1.89) ** 2 / 4.0 * math.sqrt(700.0 / 0.945) / (2.0 * math.pi)


def check_planar_arm_control(said: dict[str, Any]) -> None:
    """Frequencies and poles found by another code, a closed form of the payload, and what must be so."""
    assert said["held_hz"][:2] == [near([3.8077, 23.908], rel=2e-5), near([4.3077, 16.967], rel=3e-5)]
    assert said["free_hz"][0] == near([50.094, 86.721], rel=2e-5)
    assert said["free_hz"][1] == near(said["free_hz"][2], rel=1e-9), "a hinged link is symmetric about 90 degrees"
    assert said["zeros_are_deep"]
    assert [row[0] for row in said["payload_hz"]] == near([clamped_with_tip_mass(m) for m in (0.0, 0.5, 2.0)], rel=2e-3)
    for (kp, kv, J, f0), inertia, frequency in zip(
        said["servo"].values(), (2.52, 0.315), (3.8084, 15.2445), strict=True
    ):
        assert (J, f0) == (near(inertia, rel=1e-4), near(frequency, rel=1e-3))
        assert (kp, kv) == (near(J * (math.pi * f0) ** 2, rel=1e-9), near(2 * J * math.pi * f0, rel=1e-9))
    slow = [complex(*pole) for pole in said["poles_by_rule"]]
    assert slow == [near(s, rel=2e-3) for s in (-8.684, -9.266 + 14.860j, -32.296)]
    assert said["best_ratio"] == near(0.5, rel=0.08)
    assert said["stiff_ends_at_hz"] == near(3.8077, rel=0.03)
    decay, damping = zip(*said["migrated"], strict=True)
    assert decay[0] > decay[1] > decay[2] > 0.0
    assert min(damping) > 0.25
    assert said["largest_distance_mm"] == sorted(said["largest_distance_mm"], reverse=True)
    assert said["left_mm"][3] > 100 * said["left_mm"][1]
    assert 25.1 < said["catalogue_tip_mm"][0] < math.hypot(20.2, 25.2)
    assert said["catalogue_tip_mm"] == sorted(said["catalogue_tip_mm"])
    assert min(said["disk_margin"]) > 1.0
    assert min(said["hub_disk_margin"]) > 0.5
    _, torque, difference, error, missed = said["strain"]
    assert torque == near(3.7339, abs=2e-4)
    assert difference < 1e-3
    assert missed < 2e-3 * error
    still, *_, fast = said["spin_hz"]
    assert still == near([3.8077, 4.3077], rel=3e-5)
    assert fast[0] > still[0]
    assert said["spin_without_hz"] < still[0]


def check_tip_tracking(said: dict[str, Any]) -> None:
    """Independent code of the same elements and loops; a frame of Euler beams for what does not lock."""
    wanted = {"omar": 36.495, "pstress": 34.415, "split": 33.320}
    assert {law: said["frequencies_hz"][law] for law in wanted} == near(wanted, rel=3e-5)
    assert said["frequencies_hz"]["split"] == near(32.455, rel=0.03)
    growth = said["growth"]
    assert growth["chord, 1 rad/s"][:2] == near([1859.0, 1.87], rel=0.003)
    assert growth["chord, 4 rad/s"][:3] == near([7414.0, 13.8, 8.8], rel=0.004)
    assert max(*growth["joint, 8 rad/s"], *growth["chord, 1 rad/s"][2:], *growth["chord, 4 rad/s"][3:]) < 1e-3
    errors = said["errors_mm"]
    assert errors["PD"] == near([0.0843, 0.7953, 0.0536, 0.3825, 0.566, 6.556], rel=1.2e-3)
    assert errors["and tip integral"][2:4] == near([0.0002, 0.0022], rel=0.02, abs=2e-4)
    assert max(errors["and tip integral"][2:4]) < 0.01
    for row in said["agreement"].values():
        assert row[:2] == near(said["agreement"]["timoshenko_planar"][:2], rel=0.012)
    assert errors["PD, steps by tolerance"] == near(errors["PD"], rel=1e-3)
    *fixed, (last, free) = said["method_error_m"].items()
    assert last.startswith("by tolerance")
    assert free < 1e-6
    assert all(1e-6 < error < 1e-4 for _, error in fixed)


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


def check_controller_synthesis(said: dict[str, Any]) -> None:
    """The same designs by independent code; what is only found here must lie between bounds that are."""
    assert said["tip_zero_rad_s"] == near([57.108] * 3, rel=2e-3)  # of the exact beam
    assert said["bound_60_deg"] == near([0.834, 0.908, 0.976], abs=6e-4)
    shaping = [0.28, 0.77, 0.67]
    wanted = {"PD": [0.26] * 3, "LQG": [0.30, 0.40, 0.43], "H-infinity": [0.28, 0.81, 0.41], "loop shaping": shaping}
    for name, margins in wanted.items():
        assert said["disk_margin"][name] == near(margins, rel=0.1)
    assert 20.0 < said["stable_to_g"]["LQG"] < 25.0
    # 0.3 max|T|, plant by cont2discrete: PD at 20 g, the others at 0 g, where the damping is not that of 10 g
    attained = {"PD": 1.2553, "LQG": 0.9892, "H-infinity": 1.0022, "loop shaping": 1.0359}
    for name, (lower, bound) in said["mu"].items():
        assert lower == near(attained[name], abs=2e-4)
        assert lower <= bound <= 1.01 * lower
    assert said["mu"]["LQG"][1] < 1.0
    settled = said["settled"]
    assert [*chain(*list(settled["LQG"].values())[:3])] == near([0.437, 0.652, 0.399, 0.524, 0.435, 0.611], rel=0.05)
    assert settled["H-infinity"]["60 deg, 20 g"] == near([1.090, 1.326], rel=0.05)
    assert settled["loop shaping"]["60 deg, 0 g"] == near([1.149, 1.386], rel=0.05)
    assert said["pd_60_deg_1pct"] == near([1.18, 1.13, 1.10], rel=0.05)
    assert min(said["shaping_ratio"]["ZVD"]) > 50
    assert min(said["shaping_ratio"]["ZV"]) > 25  # by the largest deflection; by the sum of the modes 50
    assert said["inversion"]["peak"] < 0.3
    assert 60 < said["inversion"]["pre_actuation_ms"] < 90
    assert max(said["inversion"]["settled"].values()) < 0.5
    for (time, torque), bound in zip(said["governor"].values(), said["bound_60_deg"], strict=True):
        assert bound < time < 1.3 * bound
        assert torque < 0.3
    assert said["lqg_alone_degrees_short"] > 5.0
    for finite, timoshenko in said["truth"].values():
        assert finite == near(timoshenko, rel=5e-3)


def check_your_own_arm(said: dict[str, Any]) -> None:
    """What was to be found is found, as well as it claims, and serves another record and a law."""
    modes, real = said["modes_hz"]
    assert modes == near(real, rel=1e-3)
    for ratio, sigma in said["found"].values():
        assert abs(ratio - 1.0) < max(3.0 * sigma, 1e-6) < 1e-2
    assert said["delay"] == 2
    assert min(said["fit_percent"]) > 99.5
    count, disk, stable = said["drawn"]
    assert (count, stable) == (24, True)
    assert disk == near(0.285, abs=5e-3)
    assert said["settle_s"] == near(0.398, abs=5e-3)


def check_first_lesson(said: dict[str, Any]) -> None:
    """A clamped beam with a mass at its end in closed form; zeros go with the root of the stiffness; the verdicts."""
    zeros, held = said["zeros_hz"]
    assert zeros == near(held, rel=1e-4)
    assert said["payload_hz"][:2] == near([clamped_frequency(0.0), clamped_frequency(0.01)], rel=5e-3)
    assert said["payload_hz"][2] == near(11.741194, rel=1e-6)  # 19 sections, as in finite_difference_arm
    assert said["payload_hz"][3] < said["payload_hz"][2]
    slow, fast = said["first_positive_rad_s"]
    assert fast == near(2.0 * slow, rel=1e-3)
    left, right = said["tip_zeros_rad_s"][1:3]
    assert -left == near(right, rel=0.03)  # 1 % damping parts them
    assert 0.5 < said["dip_mrad"] < 1.5
    assert 30.0 < said["back_ms"] < 60.0
    assert said["late"] == [True, True, True, False]
    margins, times, torques = zip(*said["weights"], strict=True)
    assert sorted(margins[:6]) == list(margins[:6])
    assert [margins[2], times[2]] == near([0.42, 0.435], rel=0.02)
    assert 1.5 * times[2] < times[-1]
    assert max(torques) <= 0.3
    assert said["passed"]
    assert "UNSTABLE beyond 24.79 g" in said["holds"]
    assert "UNSTABLE beyond frequencies -2.41 % (payload.mass = 0.02)" in said["holds"]


def check_frontier(said: dict[str, Any]) -> None:
    """Bounds of the page of the control frontier, measured independently; what the laws reach lies above them."""
    assert said["bound"] == near([0.746, 0.815, 0.880], rel=1.5e-2)
    assert said["rigid"] == near([0.834, 0.908, 0.976], rel=2e-3)
    settled = said["settled"]
    assert min(one[0] for one in settled.values()) > said["bound"][2]
    assert settled["LQG"] == near([1.117, 1.249], abs=5e-3)
    assert settled["optimised command"] == near([0.971, 1.100], abs=5e-3)
    one, tenth = settled["optimised, frequencies known"]
    assert one <= 0.94
    assert tenth <= 1.06
    assert said["back"]["loads in the observer"] < 0.3
    assert said["back"]["LQG"] > 4.0
    assert all(errors[5] < 0.04 for errors in said["learnt"].values())


def clamped_frequency(payload: float) -> float:
    """First frequency [Hz] of the strip of Tokhi and Azad, its root held, with a mass [kg] at its end."""
    arm = fx.load_plant("tokhi_azad_1994").arm
    link, line = arm.links[0], arm.links[0].mass / arm.links[0].length
    stiffness = link.material.youngs_modulus * link.section.second_moment
    k = clamped(payload / link.mass)
    return (k / link.length) ** 2 * math.sqrt(stiffness / line) / (2 * math.pi)


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    name.removeprefix("check_"): function for name, function in list(globals().items()) if name.startswith("check_")
}


def test_every_notebook_has_its_check() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(CHECKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_its_numbers_are_right(path: Path) -> None:
    fresh = headline(execute(path))
    CHECKS[path.stem](fresh)
    stored, now = flat(headline(nbformat.read(path, as_version=4))), flat(fresh)
    words = {key for key, value in now.items() if isinstance(value, str)}  # pytest has no tolerance for them
    assert {key: stored.get(key) for key in words} == {key: now[key] for key in words}, "stale: run `make notebooks`"
    stored, now = ({k: v for k, v in each.items() if k not in words} for each in (stored, now))
    assert stored == near(now, rel=1e-3, abs=1e-6), "stale: run `make notebooks`"


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
        wanted = HIDDEN if cell is cells[-1] else FOLDED if "<script>" in cell.source else {}
        assert cell.metadata == wanted, f"{cell.metadata} in\n{cell.source}"
    assert sum("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs) >= 5
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("text", ["/" + "root/x", "in /home/me/y.py", '"C:\\\\Users\\\\me"', "lib/site-packages/numpy"])
def test_a_local_path_is_noticed(text: str) -> None:
    assert PATHS.search(text)


@pytest.mark.parametrize("text", ["1/root", "m/(N m)", "plants/tokhi_azad_1994.toml", "</home>", "rad/s"])
def test_a_unit_is_no_path(text: str) -> None:
    assert not PATHS.search(text)
