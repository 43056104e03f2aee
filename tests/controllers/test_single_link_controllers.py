"""The controllers of the 0.96 m arm: what each promises, held against numbers computed independently of flexctl.

The independent plant has 41 modes of the same arm. Settling times are asserted to 5 %, residuals and margins to 10 %,
unless a test says otherwise.
"""

from __future__ import annotations

import json
import re
import resource
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import control as ct
import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.design.feedforward import rigid_feedforward
from flexctl.design.inversion import deviation
from flexctl.design.pd import joint_pd
from flexctl.design.shaping import shaped
from flexctl.judging.certify import requirements, robust, runs
from flexctl.judging.certify.loops import examine, growth, loop_poles
from flexctl.judging.scenario import robustness
from flexctl.laws.linear_part import linear_law
from flexctl.linear.modes import normal_modes
from flexctl.motion.moves import quintic

NAMES = [name for name in fx.list_controllers() if name.startswith("tokhi_azad")]
SETTINGS = {"model.sections": 40, "damping": {"kind": "modal", "ratio": 0.01}}
GRAMS = (0, 10, 20)
MOVES = ("5 deg", "60 deg")


@cache
def arm(mass: float = 0.0, change: float = 0.0):
    plain = fx.load_plant("tokhi_azad_1994", overrides=SETTINGS)
    return plain.with_(overrides=robust.changed(plain, mass, change))


@cache
def linear(mass: float = 0.0, change: float = 0.0):
    return arm(mass, change).linearise()


@cache
def script(name: str):
    return fx.load_controller(f"tokhi_azad_{name}")


@cache
def law(name: str):
    return script(name).design(fx.load_plant("tokhi_azad_1994"))


@cache
def items(name: str):
    return {item.name: item for item in script(name).scenarios(fx.load_plant("tokhi_azad_1994"))}


@cache
def scores(name: str, scenario: str):
    item = items(name)[scenario]
    if name not in ("pd", "ppf", "shaped"):  # settled long before the end
        item = replace(item, duration=1.2 if scenario.startswith("5 deg") else 1.8)
    return item.run(law(name), fx.load_plant("tokhi_azad_1994")).scores


def settling(name: str, scenario: str, band: str = "1pct") -> float:
    return scores(name, scenario)[f"chord1_angle.settle_{band}_s"]


class TestShaped:
    """Two modes, impulses split between samples: ratios of the sum of all tip amplitudes without and with shaper."""

    @staticmethod
    @cache
    def left(scenario: str) -> float:
        """Sum of the tip amplitudes of all modes at the end of the command [m], from coordinates and rates."""
        item = items("shaped")[scenario]
        end = item.reference.duration + 2e-3
        recorded = replace(item, duration=end, options={**item.options, "record_states": True})
        run, plant = recorded.run(law("shaped"), fx.load_plant("tokhi_azad_1994")), item.plant(arm()).linearise()
        normal, k = normal_modes(plant.M, plant.K), int(np.searchsorted(run.t, item.reference.duration - 1e-9))
        eta, rate = (normal.shapes.T @ plant.M @ x for x in (run.q[k], run.v[k]))
        tip = plant.Cq[[y.name for y in plant.outputs].index("tip_displacement")] @ normal.shapes
        w, zeta = normal.omega[1:], 0.01
        amplitude = np.hypot(eta[1:], (rate[1:] + zeta * w * eta[1:]) / (w * np.sqrt(1 - zeta**2)))
        return float(np.sum(amplitude * np.abs(tip[1:])))

    @pytest.mark.parametrize(
        ("kind", "ratios"), [("ZVD", (1200.0, 1190.0, 162.0)), ("ZV", (238.0, 158.0, 50.0))]
    )
    def test_more_than_fifty_times_less_with_every_payload(self, kind: str, ratios: tuple[float, ...]) -> None:
        found = [self.left(f"unshaped, {g} g") / self.left(f"{kind}, {g} g") for g in GRAMS]
        assert found == pytest.approx(ratios, rel=0.02)
        assert min(found) > 50

    def test_without_a_shaper(self) -> None:
        assert [1e3 * self.left(f"unshaped, {g} g") for g in GRAMS] == pytest.approx([4.70, 1.81, 0.294], rel=5e-3)

    def test_two_mode_zvd_tolerates_ten_percent_of_frequency_and_zv_does_not(self) -> None:
        def ratio(kind: str, change: str) -> float:
            return self.left(f"unshaped at {change}, 0 g") / self.left(f"{kind} at {change}, 0 g")

        assert [ratio("ZVD", c) for c in ("-10 %", "+10 %")] == pytest.approx([27, 44], rel=0.02)
        assert [ratio("ZV", c) for c in ("-10 %", "+10 %")] == pytest.approx([6.4, 12], rel=0.05)

    def test_the_score_says_the_same(self) -> None:
        """Largest deviation once the command has ended: a little less than the sum of the amplitudes."""
        for name in ("ZVD, 0 g", "unshaped, 10 g"):
            largest, left = 0.96 * scores("shaped", name)["chord1_angle.residual"], self.left(name)
            assert 0.7 * left < largest < left

    def test_the_page_of_laws_has_the_ratios_of_the_scores_that_are_printed(self) -> None:
        def ratio(change: str, grams: int) -> float:
            without, shaped = (scores("shaped", f"{kind}{change}, {grams} g") for kind in ("unshaped", "ZVD"))
            return float(without["chord1_angle.residual"] / shaped["chord1_angle.residual"])

        page = (Path(__file__).parents[2] / "docs" / "laws.md").read_text(encoding="utf-8")
        row = next(line for line in page.splitlines() if line.startswith("| `tokhi_azad_shaped`"))
        told = [float(x) for x in re.findall(r"\d+(?= / | times)", row.partition("residual")[2])]
        assert told == pytest.approx([*(ratio("", g) for g in GRAMS), ratio(" at -10 %", 0)], rel=0.02)

    def test_one_mode_is_not_enough(self) -> None:
        item, plant = items("shaped")["ZVD, 0 g"], fx.load_plant("tokhi_azad_1994")
        move = items("shaped")["unshaped, 0 g"].reference
        single = replace(item, reference=shaped(move, script("shaped").shaper(plant, "zvd", 0.0, modes=1)))
        one, two = single.run(law("shaped"), plant).scores, scores("shaped", "ZVD, 0 g")
        assert one["chord1_angle.residual"] / two["chord1_angle.residual"] > 15

    def test_a_law_that_measures_nothing_has_no_loop(self) -> None:
        found = law("shaped")
        assert (found.measures, found.drives, found.margins) == ((), ("joint1_torque",), {})
        with pytest.raises(fx.NotAvailable, match="measures nothing"):
            linear_law(found, arm().model)
        assert robustness(found, arm(), list(items("shaped").values())[:1]) == {}
        assert scores("shaped", "ZVD, 10 g")["joint1_torque.peak"] == pytest.approx(0.1, rel=1e-9)
        assert found.found["inertia"] == pytest.approx(0.0498, rel=2e-3)  # rho A L^3 / 3 and the hub
        with pytest.raises(fx.DefinitionError, match="sample_time"):
            rigid_feedforward(linear(), sample_time=0.0, drive="joint1_torque", follow="chord1_angle")


class TestRobust:
    RANGE = tuple((1e-3 * g, x) for g in (0, 5, 10, 15, 20) for x in (-0.05, 0.0, 0.05))

    def test_disk_margin_over_the_range_with_and_without_five_percent_of_frequency(self) -> None:
        found = {at: examine(linear(*at), law("robust").linear) for at in self.RANGE}
        assert all(loop.stable for loop in found.values())
        disks = {at: loop.smallest("disk_margin") for at, loop in found.items()}
        assert min(disks.values()) > 0.3
        assert min(disk for (_, change), disk in disks.items() if change == 0.0) > 0.55

    def test_bound_with_the_payload_as_real_parameter(self) -> None:
        """The payload as it stands, so that mu is 30 % of the largest |T| of all payloads; the plain LQG has 0.989."""
        bound = robust.payload_bound(arm(), law("robust").law, 0.0, 0.020)
        assert bound.largest == pytest.approx(0.536, rel=0.01)
        assert bound.lower <= bound.largest <= 1.01 * bound.lower
        beyond = robust.payload_bound(arm(), law("robust").law, 0.0, 0.025)
        assert beyond.largest < 1 < robust.payload_bound(arm(), law("lqg").law, 0.0, 0.025).largest

    def test_the_plain_law_is_lost_where_this_one_is_not(self) -> None:
        for at in ((0.025, 0.0), (0.0, 0.05), (0.020, -0.05)):
            rates = [growth(loop_poles(linear(*at), law(name)), 1e-3) for name in ("lqg", "robust")]
            assert rates[0] > 0 > rates[1], at
        item = fx.Scenario("still", fx.quintic(0.0, 0.0, 0.4), 0.5)
        limit = robust.stability_limit(arm(), law("robust"), item, "payload_kg", (0.0, 0.02, 0.2), "")
        assert limit.reached
        assert limit.value == pytest.approx(0.088, rel=0.02)

    def test_what_it_costs(self) -> None:
        """Time on the small move: at most 10 % to 1 %, 6 % to 0.1 %; still within the goals of 0.5 and 0.8 s."""
        assert max(scores("robust", f"{move}, {g} g")["joint1_torque.peak"] for move in MOVES for g in GRAMS) < 0.3
        for grams in GRAMS:
            for band, most, goal in (("1pct", 1.11, 0.5), ("0p1pct", 1.06, 0.8)):
                slow, fast = (settling(name, f"5 deg, {grams} g", band) for name in ("robust", "lqg"))
                assert slow <= min(goal, most * fast)
        assert settling("robust", "5 deg, 0 g") == pytest.approx(0.450, rel=0.01)
        assert max(settling("robust", f"60 deg, {g} g") for g in GRAMS) < 1.15
        assert max(settling("robust", f"60 deg, {g} g", "0p1pct") for g in GRAMS) < 1.3


class TestInversion:
    @pytest.mark.parametrize(
        ("move", "peak", "lead", "to_1", "to_0p1"),
        [("5 deg, fast, 0 g", 0.322, 0.083, 0.249, 0.270), ("60 deg, fast, 0 g", 0.306, 0.019, 1.037, 1.122)],
    )
    def test_known_payload(self, move: str, peak: float, lead: float, to_1: float, to_0p1: float) -> None:
        """Peak torque, pre-actuation, times counted from the start of the tip."""
        angle, time, _, _ = script("inversion").MOVES[move.removesuffix(", 0 g")]
        path = script("inversion").inverse(fx.load_plant("tokhi_azad_1994"), 0.0, angle, time)
        assert path.pre_actuation == pytest.approx(lead, abs=2e-3)
        found = scores("inversion", move)
        assert found["joint1_torque.peak"] == pytest.approx(peak, rel=0.01)
        times = [found[f"chord1_angle.settle_{band}_s"] - path.lead for band in ("1pct", "0p1pct")]
        assert times == pytest.approx([to_1, to_0p1], abs=3e-3)
        assert 0.96 * found["chord1_angle.max_error"] < 4e-6

    def test_torque_stays_below_the_limit_of_the_other_controllers(self) -> None:
        slow = [name for name in items("inversion") if "fast" not in name]
        assert len(slow) == 10
        assert max(scores("inversion", name)["joint1_torque.peak"] for name in slow) < 0.3

    def test_a_stiff_pd_in_place_of_the_lqg_fights_the_bending(self) -> None:
        """Payload unknown: the LQG on deviations is more than 3 times faster than the PD and nearer the path."""
        pd = deviation(joint_pd(linear(0.010), kp=6.8, kd=0.034, filter_time=0.16e-3, sample_time=1e-3, limit=0.3))
        for name in ("5 deg, unknown, 0 g", "5 deg, unknown, 20 g"):
            item = items("inversion")[name]
            other = item.run(fx.Delayed(pd), fx.load_plant("tokhi_azad_1994")).scores
            mine = scores("inversion", name)
            assert other["chord1_angle.settle_1pct_s"] > 3 * mine["chord1_angle.settle_1pct_s"]
            assert other["chord1_angle.max_error"] > 3 * mine["chord1_angle.max_error"]


BEST_PD = (0.6701, 0.05174, 0.2291e-3)
"""Gains [N m/rad], [N m s/rad] and time of the rate filter [s] of the best joint PD for all payloads."""
TUNED_PD = {0: (1.455, 0.06669, 0.3409e-3), 10: (0.5981, 0.05425, 8.735e-3), 20: (0.0533, 0.03021, 3.125e-3)}
"""The same for one payload [g] each, disk margin at least 0.29."""


class TestPd:
    def test_gains_are_parameters_of_a_sweep(self) -> None:
        gains = (6.8, 12.6)
        table = fx.sweep(
            "tokhi_azad_pd", over={"controller.kp": gains, "scenario.duration": [0.6]},
            scenarios=["60 deg, 0 g"], workers=1,
        )
        plant = fx.load_plant("tokhi_azad_1994")
        item = replace(items("pd")["60 deg, 0 g"], duration=0.6)
        wanted = [item.run(script("pd").design(plant, kp=kp), plant).scores["chord1_angle.rms_error"] for kp in gains]
        assert list(table["chord1_angle.rms_error"]) == wanted
        assert wanted[0] != wanted[1]

    @staticmethod
    def time(gains: tuple[float, float, float], grams: int) -> float:
        """Time to 1 % of 5 deg with a PD at the rate, delay and limit of the LQG."""
        kp, kd, filter_time = gains
        pd = joint_pd(linear(0.010), kp=kp, kd=kd, filter_time=filter_time, sample_time=1e-3, limit=0.3)
        move = quintic(0.0, np.radians(5.0), 0.4)
        run = fx.simulate(arm(1e-3 * grams), fx.Delayed(pd), move, duration=2.6, method="march")
        return run.scores["chord1_angle.settle_1pct_s"]

    def test_lqg_is_three_times_faster_than_the_best_joint_pd(self) -> None:
        """The PD with the shortest time over all payloads that a search found, disk margin at least 0.25: 2.4 s."""
        times = [self.time(BEST_PD, g) for g in GRAMS]
        assert times == pytest.approx([2.19, 2.29, 2.36], rel=0.02)
        assert all(t > 3 * settling("lqg", f"5 deg, {g} g") for t, g in zip(times, GRAMS, strict=True))
        assert max(times) > 5 * max(settling("lqg", f"5 deg, {g} g") for g in GRAMS)

    def test_a_pd_tuned_for_one_payload_that_it_knows(self) -> None:
        """Comes nearer at 10 g only, where it is 2.65 times slower; with another payload it never gets there."""
        times = {g: self.time(gains, g) for g, gains in TUNED_PD.items()}
        ratios = [times[g] / settling("lqg", f"5 deg, {g} g") for g in GRAMS]
        assert ratios == pytest.approx([4.76, 2.65, 5.3], rel=0.02)
        assert self.time(TUNED_PD[10], 0) > 2.4

    def test_margins_to_four_digits(self) -> None:
        """kp 15.7, kd 0.049, 0.4 ms, 10 g: disk margin 0.0829, phase margin 4.75 deg, computed independently.

        python-control agrees on a grid with fans round every pole, and not on 100 logarithmic points: 0.17.
        """
        plant = linear(0.010)
        pd = fx.Delayed(joint_pd(plant, kp=15.7, kd=0.049, filter_time=0.4e-3, sample_time=1e-3))
        found = fx.margins(fx.loop_gain(plant, pd))
        assert found.disk_margin == pytest.approx(0.0829, abs=1e-4)
        assert found.phase_margin_deg == pytest.approx(4.75, abs=0.01)
        K, P = pd.feedback().statespace(), plant.discrete(1e-3).statespace()
        loop = -(K * P[list(pd.measures), ["joint1_torque"]])
        poles = examine(plant, pd, with_margins=False).poles
        fans = np.concatenate([np.abs(p) + abs(p.real) * np.linspace(-6, 6, 121) for p in poles[:12]])
        omega = np.unique(np.concatenate([np.geomspace(0.1, 3141.0, 2000), fans[(fans > 0.1) & (fans < 3141.0)]]))
        assert found.disk_margin == pytest.approx(ct.disk_margins(loop, omega)[0], rel=5e-4)
        assert ct.disk_margins(loop, np.geomspace(0.1, 3141.0, 100))[0] > 1.5 * found.disk_margin


class TestEncoders:
    """Ripple of the torque by resolution of hub and tip, one turn in 2^bits steps."""

    @staticmethod
    @cache
    def run(name: str, bits: int) -> runs.QuantisedRun:
        return runs.quantised(fx.load_plant("tokhi_azad_1994"), law(name), items(name)["5 deg, 0 g"], bits)

    @pytest.mark.parametrize(("bits", "ripple"), [(14, 0.1), (16, 0.025), (20, 0.0015)])
    def test_lqg(self, bits: int, ripple: float) -> None:
        """The 1 % time stands from 14 bits on; 0.1 % of 5 deg needs 20."""
        found = self.run("lqg", bits)
        assert found.ripple["joint1_torque"] == pytest.approx(ripple, rel=0.1)
        assert found.scores["chord1_angle.settle_1pct_s"] == pytest.approx(0.437, rel=0.01)
        assert (found.scores["chord1_angle.settle_0p1pct_s"] < 1.0) == (bits == 20)

    def test_twelve_bits_limit_cycle_at_full_torque(self) -> None:
        found = self.run("lqg", 12)
        assert found.ripple["joint1_torque"] == pytest.approx(0.3, rel=1e-9)
        assert found.scores["chord1_angle.settle_1pct_s"] > 2.0

    def test_the_robust_law_leaves_half(self) -> None:
        for bits in (14, 16, 20):
            one, other = (self.run(name, bits).ripple["joint1_torque"] for name in ("robust", "lqg"))
            assert 0.4 < one / other < 0.6


@pytest.mark.parametrize(
    ("name", "scenario", "band", "wanted"),
    [
        ("hinf", "5 deg, 20 g", "0p1pct", 0.821),
        ("loop_shaping", "5 deg, 10 g", "0p1pct", 0.80),
        ("ppf", "60 deg, 10 g", "0p1pct", 1.18),
    ],
)
def test_settling_times_within_ten_percent(name: str, scenario: str, band: str, wanted: float) -> None:
    """Those that `test_controllers` does not assert to 5 %."""
    assert settling(name, scenario, band) == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize(("name", "mine", "wanted"), [("hinf", 0.388, 0.479), ("loop_shaping", 0.431, 0.480)])
def test_two_designs_are_faster_than_the_independent_ones(name: str, mine: float, wanted: float) -> None:
    """More than 10 % on one number: a swing of about 1 % of the move decides whether the next one counts."""
    assert settling(name, "5 deg, 10 g") == pytest.approx(mine, rel=0.02)
    assert settling(name, "5 deg, 10 g") < wanted


def test_goals_of_the_arm() -> None:
    """5 deg within 0.5 and 0.8 s, 60 deg within 1.15 and 1.3 s; the rigid bang-bang bound is 0.83, 0.91, 0.98 s."""
    for grams, bound in zip(GRAMS, (0.834, 0.908, 0.976), strict=True):
        assert settling("lqg", f"5 deg, {grams} g") < 0.5
        assert settling("lqg", f"5 deg, {grams} g", "0p1pct") < 0.8
        assert bound < settling("lqg", f"60 deg, {grams} g") < 1.15
        assert settling("lqg", f"60 deg, {grams} g", "0p1pct") < 1.3
        J = 1.0 / float((s := normal_modes((p := linear(1e-3 * grams)).M, p.K)).shapes[:, 0] @ p.B[:, 0]) ** 2
        assert 2 * np.sqrt(np.radians(60) * J / 0.3) == pytest.approx(bound, rel=1e-3), s.rigid


JUDGED_BY = {"pd": "60 deg, 20 g", "ppf": "60 deg, 20 g", "shaped": "ZVD, 10 g", "inversion": "5 deg, known, 0 g"}


class TestOtherTruths:
    """Designed on finite differences, run on other formulations of the same arm, nonlinear ones."""

    def compared(self, name: str, *models: str, only: str = "") -> None:
        """The first and any other model."""
        move = only or JUDGED_BY.get(name, "5 deg, 20 g")
        found = fx.compare([f"tokhi_azad_{name}"], models=models, only=[move], workers=1)
        assert [run.failure for run in found.runs] == [""] * len(models)
        first, *others = (run.response.scores for run in found.runs)
        for other in others:
            self.agree(other, first)
        for run in found.runs[1:] if name != "shaped" else ():
            assert run.disk_margin > 0.1  # coarse meshes are stiff in the third mode; fine ones: see below

    @pytest.mark.parametrize("name", ["lqg", "robust", "hinf", "loop_shaping", "pd", "ppf", "inversion", "shaped"])
    def test_absolute_nodal_coordinates(self, name: str) -> None:
        plant, item = fx.load_plant("tokhi_azad_1994"), items(name)[JUDGED_BY.get(name, "5 deg, 20 g")]
        other = item.in_formulation("ancf", plant)
        run, wanted = other.run(law(name), plant), scores(name, item.name)
        assert other.plant(plant).kind == "ancf"
        self.agree(run.scores, wanted)

    @staticmethod
    def agree(found: dict[str, float], wanted: dict[str, float]) -> None:
        """Settling to 1 % and peak torque within 2 %, to 0.1 % within 10 %."""
        for score, close in (("chord1_angle.settle_1pct_s", 0.02), ("joint1_torque.peak", 0.02),
                             ("chord1_angle.settle_0p1pct_s", 0.10)):
            assert found[score] == pytest.approx(wanted[score], rel=close), score

    @pytest.mark.parametrize("name", ["lqg"])
    def test_segments(self, name: str) -> None:
        """And Timoshenko elements in `test_compare`."""
        self.compared(name, "finite_difference", "finite_segment")

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["lqg", "robust", "hinf", "loop_shaping", "pd", "ppf", "inversion", "shaped"])
    def test_segments_timoshenko_elements_and_nodal_coordinates(self, name: str) -> None:
        self.compared(name, "finite_difference", "finite_segment", "timoshenko_planar", "ancf")

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["lqg", "robust", "hinf", "loop_shaping"])
    def test_the_large_move(self, name: str) -> None:
        models = ("finite_difference", "finite_segment", "timoshenko_planar", "ancf")
        self.compared(name, *models, only="60 deg, 0 g")

    def test_margins_agree_on_fine_meshes(self) -> None:
        """H-infinity at 0 g is stable to +4.4 % of frequency; coarse meshes are up to 5 % stiff in the third mode.

        16 Timoshenko elements 2.5 %, 8 nodal ones (absolute nodal coordinates) 5 %, 16 of them 1.2 %.
        """
        disks = []
        for kind, mesh in (("finite_difference", {"sections": 160}), ("timoshenko_planar", {"elements": 64}),
                           ("timoshenko_planar", {"elements": 16}), ("ancf", {"elements": 16}),
                           ("ancf", {"elements": 8})):
            plant = arm().with_(model=kind).with_(model=mesh)
            disks.append(examine(plant.linearise(), law("hinf")).smallest("disk_margin"))
        assert disks[0] == pytest.approx(disks[1], rel=0.03)
        assert disks == pytest.approx([0.263, 0.257, 0.175, 0.235, 0.157], rel=0.01)


class TestCertificates:
    def test_every_script_states_requirements_that_are_understood(self) -> None:
        for name in NAMES:
            stated = requirements.checked(fx.load_controller(name).REQUIREMENTS)
            assert "disk_margin" in stated or name == "tokhi_azad_shaped"

    def test_lqg_with_25_g_fails_by_name_and_exit_code(self) -> None:
        words = ["--payload", "0,25g", "--frequency", "0,0", "--json"]
        result = CliRunner().invoke(cli, ["certify", "tokhi_azad_lqg", *words])
        assert result.exit_code == 1
        told = json.loads(result.stdout)
        wrong = {v["name"]: v["found"] for v in told["requirements"] if not v["passed"]}
        assert "UNSTABLE at 0.025" in wrong["payload_kg"]
        assert {"payload_kg", "mu"} <= set(wrong)
        assert wrong["disk_margin"].startswith("0 (")  # of the set: none is left at 25 g
        assert not any("settle" in name for name in wrong)
        assert told["elapsed_s"] < 120

    @pytest.mark.slow
    @pytest.mark.parametrize("name", NAMES)
    def test_requirements_are_met_in_less_than_forty_seconds_of_processor_time(self, name: str) -> None:
        """On two idle cores that is less than 20 s; measured 10 s of processor time."""
        def spent() -> float:
            return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

        before = spent()
        found = fx.certify(name)
        assert found.passed, str(found)
        assert spent() - before < 40.0

    def test_a_requirement_may_speak_of_one_scenario(self) -> None:
        def judged(name: str, bound: float) -> requirements.Verdict:
            table = {"5 deg, 0 g": {"y.time": 1.0}, "5 deg, 20 g": {"y.time": 2.0}, "50 deg, 0 g": {"y.time": 9.0}}
            none = dict.fromkeys(("points", "posed", "varied", "drawn", "loops", "events"), ())
            known = {"failures": {}, "unsettled": {}, "errors": {}}
            empty = SimpleNamespace(**none, **known, runs=table, no_loop="", counterexample=None)
            return requirements.judged(empty, requirements.checked({name: bound}))[-1]

        assert judged("5 deg: y.time", 2.0).passed
        assert judged("5 deg: y.time", 1.9).found == "2 (5 deg, 20 g)"
        assert judged("5 deg, 0 g: y.time", 1.0).passed
        assert not judged("y.time", 2.0).passed
        with pytest.raises(fx.DefinitionError, match='scenario "5 deg, 1 g" \\(did you mean "5 deg, 0 g"'):
            requirements.check_scenarios({"5 deg, 1 g: y.time": 1.0}, ["5 deg, 0 g", "50 deg, 0 g"])
        with pytest.raises(fx.DefinitionError, match="score"):
            judged("5 deg: y.times", 1.0)
