"""Certification: against numbers computed independently of flexctl on a 41-mode plant of the same arm, against direct
searches and runs, and by what must be so (a linear plant never parts from its linear prediction before a limit acts).
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import Crane

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.design.lqg import LqgWeights, lqg
from flexctl.judging.certify import requirements, robust, runs
from flexctl.judging.certify.loops import examine, growth, loop_poles, spillover
from flexctl.judging.scenario import robustness
from flexctl.judging.variations import changed
from flexctl.laws.blended import Blended
from flexctl.laws.linear_part import linear_law
from flexctl.linear.interconnect import closed_loop
from flexctl.motion.moves import quintic

script = fx.load_controller("tokhi_azad_lqg")

CONTROLLER = '''"""A PD for the tests: angle and rate, with a tight limit."""
from flexctl import LinearLaw
from flexctl.judging.scenario import Scenario
from flexctl.judging.scenario import robustness
from flexctl.motion.moves import quintic

PLANT = "tokhi_azad_1994"
DAMPED = {"model.sections": 8, "damping.kind": "modal", "damping.ratio": 0.01}
REQUIREMENTS = {"gain_margin": 1.2, "joint1_angle.max_error": 0.1}

def design(plant):
    gains = {"Dy": [[-0.4, -0.05]], "Dr": [[0.4, 0.05, 0.05]]}
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    return LinearLaw(1e-3, *names, **gains).limited(-0.3, 0.3)

def scenarios(plant):
    return [Scenario(f"{g} g", quintic(0.0, 0.1, 0.2), 0.4, {**DAMPED, "payload.mass": g / 1000}) for g in (0, 20)]
'''


@cache
def law():
    return script.design(fx.load_plant(script.PLANT)).law


@cache
def arm(mass: float = 0.010):
    return fx.load_plant(script.PLANT, overrides=script.SETTINGS, payload={"mass": mass})


@pytest.fixture(scope="module")
def found() -> fx.Certificate:
    """The LQG controller with payloads up to 25 g asked for."""
    move = fx.Scenario("5 deg", quintic(0.0, np.radians(5.0), 0.4), 2.5, {**script.SETTINGS, "payload.mass": 0.0})
    return fx.certify(script, scenarios=[move], payload=(0.0, 0.025), frequency=(-0.02, 0.02), bits=(12, 14, 16, 20))


class TestLqg:
    def test_it_is_unstable_at_25_g_and_the_certificate_says_so(self, found: fx.Certificate) -> None:
        nominal = {p.payload: p.stable for p in found.points if p.frequency == 0.0}
        assert nominal == {0.0: True, 0.00625: True, 0.0125: True, 0.01875: True, 0.025: False}
        assert not found.passed
        (verdict,) = (v for v in found.verdicts if v.name == "payload_kg")
        assert not verdict.passed
        assert "UNSTABLE at 0.025" in verdict.found
        assert "payload_kg" in str(found)

    def test_the_limit_of_the_payload_is_where_the_poles_leave_the_circle(self, found: fx.Certificate) -> None:
        (limit,) = (x for x in found.limits if x.what == "payload_kg")
        assert limit.reached
        assert 0.020 < limit.value < 0.025
        for mass, stable in ((limit.value - 5e-5, True), (limit.value + 5e-5, False)):
            z = closed_loop(arm(mass).linearise().discrete(1e-3), law().feedback()).poles()
            assert (np.abs(z).max() < 1.0) == stable

    def test_the_worst_point_is_an_unstable_one(self, found: fx.Certificate) -> None:
        assert found.worst is not None
        assert (found.worst.payload, found.worst.stable) == (0.025, False)

    @pytest.mark.parametrize(("bits", "ripple"), [(12, 0.3), (14, 0.1), (16, 0.025), (20, 0.0015)])
    def test_encoders(self, found: fx.Certificate, bits: int, ripple: float) -> None:
        """Computed independently: 12 bits limit-cycle at full torque, 14, 16, 20 bits leave 0.1, 0.025, 0.0015 N m."""
        (run,) = (q for q in found.quantised if q.bits == bits)
        assert run.quanta == {"joint1_angle": 2 * np.pi / 2**bits, "chord1_angle": 2 * np.pi / 2**bits}
        assert run.ripple["joint1_torque"] == pytest.approx(ripple, rel=0.1)
        assert found.still["joint1_torque"] < 1e-4

    def test_a_linear_plant_parts_from_the_prediction_at_the_torque_limit_only(self, found: fx.Certificate) -> None:
        valid = found.validity
        assert valid is not None
        assert np.all(valid.deviation[~valid.saturated] < 1e-5)
        assert not valid.saturated[0]
        assert valid.saturated[-1]
        assert valid.amplitudes[~valid.saturated].max() < valid.parting < valid.amplitudes[-1]

    def test_margins_and_saturation(self, found: fx.Certificate) -> None:
        """Computed independently: disk margin 0.30 at 0 g, peak torque 0.18 of 0.3 N m, 1 % at 0.437 s."""
        (loop,) = found.loops
        assert loop.stable
        assert loop.smallest("disk_margin") == pytest.approx(0.30, rel=0.1)
        assert loop.hidden > 20
        peak = found.runs["5 deg"]["joint1_torque.peak"]
        assert found.saturation["joint1_torque"] == pytest.approx(peak / 0.3, rel=1e-12)
        assert found.runs["5 deg"]["chord1_angle.settle_1pct_s"] == pytest.approx(0.437, rel=0.05)

    def test_everything_is_json(self, found: fx.Certificate) -> None:
        from flexctl.cli.common import as_text

        told = json.loads(as_text(found.to_dict()))
        assert told["passed"] is False
        assert told["plant"] == "tokhi_azad_1994"
        assert len(told["grid"]) == len(found.points)
        assert told["mu"]["largest"] > 1.0

    def test_the_picture(self, found: fx.Certificate, tmp_path: Path) -> None:
        from flexctl.io import plot

        figure = plot.certificate(found, path=tmp_path / "c.png")
        assert (tmp_path / "c.png").stat().st_size > 50_000
        for ax in figure.axes:
            assert ax.get_xlabel()
            assert ax.get_ylabel()
            assert ax.has_data()


def test_spillover_is_what_following_the_poles_gives() -> None:
    """The loop is closed in 400 small steps and every mode followed by continuity."""
    linear, feedback = arm().linearise(), law().feedback()
    plant, dt = linear.discrete(feedback.dt), feedback.dt
    flexible = np.asarray(linear.modes().poles)
    got = spillover(flexible, closed_loop(plant, feedback).poles(), dt)
    chosen = [4, 5, 6, 9, 20]
    at = np.exp(flexible[chosen] * dt)
    for k in np.linspace(0.0, 1.0, 401)[1:]:
        z = closed_loop(plant, replace(feedback, C=k * feedback.C, D=k * feedback.D)).poles()
        at = z[np.argmin(np.abs(z[None, :] - at[:, None]), axis=1)]
    decay = -np.log(np.abs(at)) / dt
    turn = np.where(flexible[chosen].imag * dt < np.pi, np.abs(np.angle(at)) / dt, flexible[chosen].imag)
    np.testing.assert_allclose(got.after[chosen], decay / np.hypot(decay, turn), rtol=1e-6)
    assert got.losing[0] == 4
    assert got.worst == 4
    assert got.after[4] == pytest.approx(0.00697, rel=0.01)


def test_spillover_without_a_law_is_none() -> None:
    linear = arm().linearise()
    flexible = np.asarray(linear.modes().poles)
    for dt, poles in ((0.0, linear.first_order().poles()), (1e-3, linear.discrete(1e-3).poles())):
        got = spillover(flexible, poles, dt)
        np.testing.assert_allclose(got.after, got.before, rtol=1e-6)
        assert got.losing == []


def test_the_two_link_arm_loop_by_loop_and_pose_by_pose() -> None:
    """Two loops with rigid modes and integrators: each margin is where the loop with that gain or delay is marginal."""
    damping = {"kind": "rayleigh", "beta": 6.4e-5}
    arm = fx.load_plant("planar_2r_flexible", overrides={"model.elements": 4, "damping": damping})
    joints, torques = ("joint1_angle", "joint2_angle"), ("joint1_torque", "joint2_torque")
    weights = LqgWeights(rate=1e-3, energy=1e-4, integral=25.0, command=3e-3, disturbance=0.1, noise=(1e-8, 1e-8))
    model = arm.model
    for elbow in (0.0, np.pi / 2):
        at = fx.OperatingPoint.at_rest(model, model.pose([0.0, elbow]))
        linear = arm.linearise(at)
        design = lqg(linear, weights, modes=2, sample_time=1e-3, measures=joints, drive=torques, follow=joints)
        loop = examine(linear, linear_law(design, model, at))
        assert loop.stable
        assert loop.decay == pytest.approx(-growth(loop_poles(linear, design), 1e-3), rel=1e-9)
        feedback, plant = design.feedback(), linear.discrete(1e-3)
        for i, torque in enumerate(torques):
            for factor, stable in ((0.999, True), (1.001, False)):
                k = np.ones(2)
                k[i] = factor * loop.margins[torque].gain_margin
                changed = replace(feedback, C=k[:, None] * feedback.C, D=k[:, None] * feedback.D)
                z = closed_loop(plant, changed).poles()
                assert (np.abs(z).max() < 1.0) == stable, (elbow, torque, factor)


def test_growth_is_that_of_a_run() -> None:
    """The unstable loop at 30 g: from the poles, and from how a run grows over ten periods."""
    plant = arm(0.030)
    z = loop_poles(plant.linearise(), law())
    rate = growth(z, 1e-3)
    assert rate > 3.0
    q = np.linspace(0.0, 1e-9, len(plant.model.coordinates))
    run = fx.simulate(
        plant, linear_law(law(), plant.model), quintic(0.0, 0.0, 1.0), duration=1.5, initial=(q, 0 * q), method="exact"
    )
    t, tip = run.t, np.abs(run["tip_displacement"])
    early, late = (tip[(t >= a) & (t < a + 0.1)].max() for a in (0.9, 1.4))
    assert math.log(late / early) / 0.5 == pytest.approx(rate, rel=0.05)


def test_the_linear_part_of_wrapped_and_scheduled_laws() -> None:
    plant = arm().model
    bare = linear_law(law(), plant).feedback()
    wrapped = fx.Noisy(fx.Quantised(fx.Saturated(law(), 0.1), {"joint1_angle": 1e-3}), {"joint1_angle": 1e-4})
    linear = linear_law(wrapped, plant)
    assert np.array_equal(linear.feedback().A, bare.A)
    assert np.isinf(linear.law.upper).all()
    scheduled = Blended((law().law, law().law), (-1.0, 1.0), "joint1_angle")
    blend, z = linear_law(fx.Delayed(scheduled), plant).feedback(), np.array([0.9 + 0.1j])
    assert np.abs(blend.transfer(z)) == pytest.approx(np.abs(bare.transfer(z)), rel=1e-9)

    class Own:
        pass

    with pytest.raises(fx.DefinitionError, match="Own is not a controller: it lacks sample_time"):
        linear_law(Own(), plant)


def test_a_scheduled_law_has_margins_in_the_table_of_its_runs() -> None:
    plant = arm()
    scheduled = fx.Delayed(Blended((law().law, law().law), (-1.0, 1.0), "joint1_angle"))
    item = fx.Scenario("move", quintic(0.0, 0.1, 0.2), 0.3)
    ((margins, stable),) = robustness(scheduled, plant, [item]).values()
    ((wanted, _),) = robustness(law(), plant, [item]).values()
    assert stable
    assert margins.disk_margin == pytest.approx(wanted.disk_margin, rel=1e-9)


def test_stability_limit_by_bisection() -> None:
    value, reached = robust.bisected(lambda x: x < 0.37, 0.1, 0.05, 10.0)
    assert reached
    assert value == pytest.approx(0.37, abs=5e-4)
    assert robust.bisected(lambda x: True, 0.0, 0.1, 2.0) == (2.0, False)
    value, reached = robust.bisected(lambda x: x > -0.2, 0.0, -0.01, -0.5)
    assert (reached, value) == (True, pytest.approx(-0.2, abs=3e-4))
    assert robust.bisected(lambda x: False, 0.1, 0.1, 1.0) == (0.1, True)


def test_stiffness_changes_all_frequencies_alike() -> None:
    plant = fx.load_plant("tokhi_azad_1994")
    softer = plant.with_(overrides=changed(plant, None, -0.1))
    ratio = softer.modes(5).frequencies_hz / plant.modes(5).frequencies_hz
    assert ratio == pytest.approx(np.full(5, 0.9), rel=1e-9)


def test_parting_is_where_the_deviation_passes_five_percent() -> None:
    """For a deviation a^2 / 100 it is sqrt(5)."""
    a = np.array([0.5, 1.0, 2.0, 4.0])
    none = np.zeros(4, bool)
    assert runs.LinearValidity(a, a**2 / 100, none).parting == pytest.approx(math.sqrt(5.0), rel=1e-12)
    assert runs.LinearValidity(a, 1e-9 * a, none).parting == math.inf
    assert runs.LinearValidity(a, a, none).parting == 0.5


class Swinging:
    """A crane in the role of a plant."""

    name, model = "crane", Crane()

    def linearise(self, at: fx.OperatingPoint | None = None) -> fx.SecondOrder:
        return fx.linearise(self.model, at)


def test_a_nonlinear_plant_parts_from_the_prediction_as_the_square_of_the_amplitude() -> None:
    """A crane is odd in its coordinates: the deviation is cubic in the move, quadratic in parts of it."""
    gains = {"Dy": [[-40.0, -20.0]], "Dr": [[40.0, 20.0, 0.0]]}
    pd = fx.LinearLaw(5e-3, ("cart", "cart_rate"), ("force",), ("cart",), **gains)
    item = fx.Scenario("move", quintic(0.0, 0.5, 0.6), 2.0, options={"step": 5e-3})
    prediction = runs.predicted(Swinging(), pd, item)
    found = runs.validity(prediction, [runs.scaled_run(Swinging(), pd, item, a) for a in (1.0, 0.5, 0.25)], pd)
    assert list(found.amplitudes) == [0.25, 0.5, 1.0]
    assert not found.saturated.any()
    rates = np.log2(found.deviation[1:] / found.deviation[:-1])
    assert rates == pytest.approx([2.0, 2.0], abs=0.15)


def test_encoders_take_the_place_of_those_of_the_law() -> None:
    """A law with encoders of 20 bits is examined with 12 bits, not with both."""
    plant, item = arm(), fx.Scenario("5 deg", quintic(0.0, math.radians(5.0), 0.4), 1.0, options={"method": "march"})
    fine = fx.Quantised(law(), {"joint1_angle": 2 * math.pi / 2**20})
    one, other = (runs.quantised(plant, x, item, 12) for x in (fine, law()))
    assert one.scores == other.scores


class TestScaled:
    def test_motions_keep_their_beginning(self) -> None:
        motion = quintic(0.3, 1.3, 1.0)
        scaled = runs.Scaled(motion, 0.5, 0.3)
        t = np.linspace(-0.5, 1.5, 41)
        assert scaled(t)[0] == pytest.approx(0.5 * (motion(t)[0] - 0.3), abs=1e-15)
        assert scaled(t)[2] == pytest.approx(0.5 * motion(t)[2])
        assert (scaled.target, scaled.duration) == (pytest.approx(0.5), motion.duration)

    def test_signals(self) -> None:
        signal = fx.bang_bang(0.1, 0.3)
        scaled = runs.ScaledSignal(signal, -2.0)
        assert scaled.breakpoints == signal.breakpoints
        assert scaled(0.1) == pytest.approx(-0.2)

    def test_limits_of_nested_laws(self) -> None:
        inner = fx.LinearLaw(1e-3, ("a",), ("u",), Dy=[[1.0]]).limited(-0.2, 0.4)
        assert runs.limits(inner) == {"u": 0.4}
        assert runs.limits(fx.Delayed(fx.Saturated(inner, 0.3))) == {"u": 0.3}
        assert runs.limits(fx.LinearLaw(1e-3, ("a",), ("u",), Dy=[[1.0]])) == {"u": math.inf}


class TestRequirements:
    @pytest.mark.parametrize(
        ("wanted", "message"),
        [
            ({"disc_margin": 0.3}, 'did you mean "disk_margin"'),
            ({"disk_margin": "a lot"}, "not a finite number"),
            ({"payload_kg": 0.02}, r"write \(low, high\)"),
            ({"payload_kg": (0.02, 0.01)}, "low <= high"),
            ({"payload_kg": (-0.1, 0.01)}, "0 <= low"),
            ({"ripple_at_bits": 0.1}, "bits and largest ripple"),
        ],
    )
    def test_wrong_ones_are_refused_before_anything_is_computed(self, wanted: dict, message: str) -> None:
        with pytest.raises(fx.DefinitionError, match=message):
            requirements.checked(wanted)

    def test_a_script_with_one_typo_costs_no_time(self, tmp_path: Path) -> None:
        path = tmp_path / "typo.py"
        path.write_text(CONTROLLER.replace("gain_margin", "gain_margins"))
        with pytest.raises(fx.DefinitionError, match='did you mean "gain_margin"'):
            fx.certify(path)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pd.py").write_text(CONTROLLER)
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, ["certify", *words])


class TestCommand:
    def test_exit_code_0_and_the_files(self, place: Path) -> None:
        result = call("pd.py", "--workers", "1", "-o", "out")
        assert result.exit_code == 0, result.stderr
        assert sorted(p.name for p in Path("out").iterdir()) == ["pd_certificate.json", "pd_certificate.png"]
        for word in ("Spill-over", "UNSTABLE" if "UNSTABLE" in result.stdout else "stable", "gain_margin", "met"):
            assert word in result.stdout
        told = json.loads(Path("out/pd_certificate.json").read_text())
        assert {v["name"] for v in told["requirements"]} == {"stable", "gain_margin", "joint1_angle.max_error"}
        assert told["quantisation"][0]["quanta"]["joint1_rate"] < 0.1, "twice the largest rate in 2^12 steps"

    def test_another_formulation(self, place: Path) -> None:
        """Designed on finite differences, examined on a nonlinear beam, in the words of the law."""
        result = call("pd.py", "--model", "timoshenko_planar", "--set", "model.sections=8", "--workers", "1", "--json")
        assert result.exit_code == 0, result.stderr
        told, own = json.loads(result.stdout), json.loads(call("pd.py", "--workers", "1", "--json").stdout)
        assert (told["model"], own["model"]) == ("timoshenko_planar", "finite_difference")
        assert set(told["scores"]) == set(own["scores"])
        for run, scores in told["scores"].items():
            assert scores["joint1_torque.peak"] == pytest.approx(own["scores"][run]["joint1_torque.peak"], rel=0.05)
        one, other = (next(iter(x["loops"].values()))["margins"]["joint1_torque"] for x in (told, own))
        assert one["phase_margin_deg"] == pytest.approx(other["phase_margin_deg"], rel=0.1)
        assert [limit["what"] for limit in told["limits"]] == [limit["what"] for limit in own["limits"]]
        assert told["quantisation"][0]["quanta"]["joint1_angle"] == pytest.approx(2 * math.pi / 2**12)
        assert 0.0 < told["linear_validity"]["deviation"][0] < 0.02

    def test_exit_code_1_when_a_requirement_fails(self, place: Path) -> None:
        result = call("pd.py", "--workers", "1", "--require", "phase_margin_deg=80", "--json")
        assert result.exit_code == 1
        told = json.loads(result.stdout)
        assert told["passed"] is False
        assert [v["name"] for v in told["requirements"] if not v["passed"]] == ["phase_margin_deg"]

    def test_exit_code_2_for_a_requirement_that_is_not_understood(self, place: Path) -> None:
        for words in (("--require", "phase=80"), ("--require", "nonsense"), ("--payload", "20g")):
            result = CliRunner().invoke(cli, ["certify", "pd.py", *words])
            assert result.exit_code == 2, words

    def test_an_unstable_loop_fails_without_any_requirement(self, place: Path) -> None:
        text = CONTROLLER.replace("-0.4, -0.05", "0.4, 0.05").replace("REQUIREMENTS", "UNUSED")
        Path("wrong.py").write_text(text)
        result = call("wrong.py", "--workers", "1", "--json")
        assert result.exit_code == 1
        told = json.loads(result.stdout)
        assert told["requirements"] == [told["requirements"][0]]
        assert "UNSTABLE" in told["requirements"][0]["found"]


def test_vibration_ratios_are_required_of_the_worst_run_or_run_by_run() -> None:
    ratios = {"a": {"strain": 12.0, "tip": 30.0}, "b": {"strain": 5.0}}
    found = SimpleNamespace(loops=(), runs=ratios, failures={"c": "diverged"}, plant="p", ratios=ratios)
    found.unsettled, found.no_loop, found.counterexample = {}, "", None
    found.points = found.posed = found.varied = found.drawn = ()
    found.errors = found.ratio_errors = {}

    def verdicts(bound: object) -> list[tuple[str, str, bool]]:
        checked = requirements.checked({"vibration_ratio": bound})
        return [(v.name, v.found, v.passed) for v in requirements.judged(found, checked)[1:]]

    assert verdicts(5) == [("vibration_ratio", "5", True)]
    assert verdicts(5.1) == [("vibration_ratio", "5", False)]
    assert verdicts({"a": 12, "b": 6, "c": 1}) == [
        ("vibration_ratio: a", "12", True), ("vibration_ratio: b", "5", False),
        ("vibration_ratio: c", "not examined", False),
    ]
    with pytest.raises(fx.DefinitionError, match="scenario of the requirement vibration_ratio"):
        verdicts({"aa": 1.0})
    with pytest.raises(fx.DefinitionError, match="not a finite number"):
        verdicts({"a": math.inf})
