"""What is said after a run: designs left, unstable loops, and of a failure whether the motion was growing."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.cli.warned import telling_warnings
from flexctl.design.pd import joint_pd
from flexctl.laws.blended import Blended
from flexctl.linear.decay import decays, grows, state_of
from flexctl.machine.arm import Arm, Joint, Link, Material, Section
from flexctl.model import names
from flexctl.models import build
from flexctl.models.ranges import ARC, BENDING, CHORD, turns
from flexctl.simulation.cautions import BeyondModel, OutsideDesign, driven
from flexctl.simulation.growth import LOOP_BLAMED, SMALLER, growth, told
from flexctl.simulation.path_stability import HiddenInstability


def backward_pd(kp: float, kd: float, period: float, joints: int) -> fx.Delayed:
    """Return a PD of every joint angle with the rate as a difference, one sample late."""
    eye, zero = np.eye(joints), np.zeros((joints, joints))
    angles, torques = ([f"joint{i + 1}_{what}" for i in range(joints)] for what in ("angle", "torque"))
    law = fx.LinearLaw(
        period, angles, torques, angles, A=zero, By=eye, C=kd / period * eye, Dy=-(kp + kd / period) * eye,
        Dr=np.kron(kp * eye, [[1.0, 0.0, 0.0]]),
    )
    return fx.Delayed(law, 1)


def test_a_diverging_loop_that_steps_can_follow_is_warned_of():
    """At the default the steps follow the motion until the links are bent beyond what elements can be."""
    arm = fx.load_plant("planar_2r_flexible")
    with pytest.warns(BeyondModel, match="turn of an element of link"), pytest.warns(fx.AccuracyWarning):
        fx.simulate(arm, backward_pd(20.0, 2.0, 2e-3, 2), fx.quintic(0.0, 1.0, 1.0), duration=1.3)


@pytest.mark.parametrize("step", [5e-4, 1.25e-4])
def test_a_failure_says_that_the_motion_was_growing_whatever_the_step(step):
    """PD at 2 ms with one delay: the loop diverges, and a smaller step does not help."""
    arm = fx.load_plant("planar_2r_flexible")
    with pytest.raises(fx.ConvergenceError, match="the motion was growing before") as caught:
        fx.simulate(arm, backward_pd(20.0, 2.0, 2e-3, 2), fx.quintic(0.0, 1.0, 1.0), duration=1.5, step=step)
    assert "use a smaller step" not in str(caught.value)
    assert 0.05 < caught.value.time < 0.5
    assert caught.value.growing in str(caught.value)
    assert " grew " in caught.value.growing


@cache
def sliding_arm():
    return fx.load_plant("spatial_rp")


@pytest.mark.parametrize("kind", ["pushed in", "pulled by a motion"])
def test_without_a_loop_none_is_blamed(kind):
    """A slide that is pushed into its guide: the force did it, or the motion that was asked for."""
    driven_by = {
        "pushed in": {"inputs": {"joint2_force": fx.bang_bang(-400.0, 4.0)}},
        "pulled by a motion": {"motions": {"joint2": fx.Cycloid(0.5, -0.2, 1.0)}},
    }[kind]
    with pytest.raises(fx.ConvergenceError, match=r"has retracted to .* change the motion or the load") as caught:
        fx.simulate(sliding_arm(), duration=1.5, **driven_by)
    for word in ("loop", "Design.poles", "not growing", "smaller step"):
        assert word not in str(caught.value)


def test_a_loop_that_shakes_a_slide_into_its_guide_is_blamed():
    """The extension fed back with the wrong sign."""
    law = fx.LinearLaw(1e-3, ["joint2_extension"], ["joint2_force"], Dy=[[2e3]])
    with pytest.raises(fx.ConvergenceError, match=r"has retracted to .* growing before.*Look for an unstable loop"):
        fx.simulate(sliding_arm(), law, duration=2.0, inputs={"joint2_force": fx.bang_bang(-1001.0, 8.0)})


def test_what_is_said_of_growth_with_and_without_a_loop():
    t = np.linspace(0.0, 1.0, 2001)
    grows, rests = (np.exp(30.0 * t) * np.sin(300.0 * t))[:, None], np.zeros((t.size, 1))
    newton, diverged = "Newton did not converge; use a smaller step (e.g. 1e-4 s)", f"the run diverged; {LOOP_BLAMED}"
    for message in (newton, diverged):
        assert "Look for an unstable loop" in told(message, t, grows, ["x"], looped=True)
        without = told(message, t, grows, ["x"], looped=False)
        assert "loop" not in without
        assert "the motion was growing before: x grew" in without
        assert told(message, t, rests, ["x"], looped=False).endswith("; the motion was not growing before")
    assert SMALLER not in told(newton, t, grows, ["x"], looped=True)
    assert SMALLER in told(newton, t, grows, ["x"], looped=False)
    assert told("joint2 has retracted", t, rests, ["x"], looped=True) == "joint2 has retracted"


def test_growth_is_found_with_its_rate():
    t = np.linspace(0.0, 1.0, 2001)
    move = fx.quintic(0.0, 1.0, 1.0)(t)[0]
    for rate, wave in ((20.0, np.sin(2 * np.pi * 80.0 * t)), (35.0, 1.0)):
        found = growth(t, np.column_stack([move, move + 1e-9 * np.exp(rate * t) * wave]), ["a", "b"])
        assert found is not None
        assert found.name == "b"
        assert found.rate == pytest.approx(rate, rel=0.05)
        assert found.oscillates == (np.ndim(wave) == 1)


@pytest.mark.parametrize("what", ["rest", "move", "ramp", "decay", "steady", "jump", "short", "beat"])
def test_what_does_not_grow_is_not_called_growing(what):
    t = np.linspace(0.0, 1.0, 2001)
    wave = np.sin(2 * np.pi * 40.0 * t)
    x = {
        "rest": 0.0 * t, "move": fx.quintic(0.0, 1.0, 1.0)(t)[0][:1000], "ramp": t**3, "decay": wave * np.exp(-t),
        "steady": wave, "jump": 1.0 * (t > 0.9), "short": np.exp(50.0 * t[:5]), "beat": wave * np.sin(2 * np.pi * t),
    }[what]
    assert growth(t[: x.size], x[:, None], ["x"]) is None


def test_growth_before_a_sensor_reads_no_number():
    t = np.linspace(0.0, 1.0, 2001)
    x = np.exp(60.0 * t) * np.sin(300.0 * t)
    x[1500:] = np.nan
    found = growth(t, x[:, None], ["x"])
    assert found is not None
    assert found.end < t[1500]


@cache
def single_link():
    arm = fx.load_plant("tokhi_azad_1994", overrides={"damping": {"kind": "modal", "ratio": 0.01}})
    return arm, arm.linearise()


def pd_design(sign: float) -> fx.Design:
    """Return a PD with the sign of its feedback, clipped: its run is bounded in any case."""
    _, plant = single_link()
    law = joint_pd(plant, kp=6.8, kd=0.034, filter_time=0.16e-3, sample_time=1e-3, limit=0.05)
    return fx.Design(replace(law, Dy=sign * law.Dy, C=sign * law.C), plant)


def test_a_run_of_an_unstable_design_is_warned_of():
    arm, _ = single_link()
    with pytest.warns(HiddenInstability, match=r"unstable on its own linear plant: \+"):
        fx.simulate(arm, pd_design(-1.0), fx.quintic(0.0, 0.1, 0.5), duration=0.2)
    with pytest.warns(HiddenInstability):  # inside a wrapper too
        fx.simulate(arm, fx.Quantised(pd_design(-1.0), {"joint1_angle": 1e-5}), fx.quintic(0.0, 0.1, 0.5), duration=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fx.simulate(arm, pd_design(1.0), fx.quintic(0.0, 0.1, 0.5), duration=0.2)


def test_growth_of_poles_rounding_apart():
    assert grows(np.array([1e-3 + 0j, -1e3]))
    assert not grows(np.array([1e-8 + 0j, -1e3]))
    assert not grows(np.array([1e-5 + 0j, -1e3, -np.inf]), 1e-3)  # a double z = 1
    assert not grows(np.zeros(0, complex))


def position_law(gain: float) -> fx.LinearLaw:
    return fx.LinearLaw(1e-3, ["p"], ["u"], Dy=[[-gain]])


def sliding_mass() -> fx.SecondOrder:
    """Return 1 kg on a damper, position p measured."""
    return fx.from_matrices([[1.0]], [[2.0]], [[0.0]], [[1.0]], [[1.0]], inputs=["u"], outputs=["p"])


@pytest.mark.parametrize("wrap", [lambda law: law, lambda law: fx.Delayed(law, 1)])
def test_a_law_that_leaves_its_range_says_which_value_and_range(wrap):
    law = wrap(Blended((position_law(1.0), position_law(2.0)), (0.0, 0.5), "p"))
    start = (np.array([-0.3]), np.zeros(1))
    with pytest.warns(OutsideDesign, match=r"p = -0\.3 .* at t = 0 s is outside 0 to 0\.5"):
        fx.simulate(sliding_mass(), law, duration=0.1, initial=start)


def test_a_mirrored_law_serves_both_sides():
    law = Blended((position_law(1.0), position_law(2.0)), (0.0, 0.5), "p", mirrored=True)
    assert law.weights(-0.25) == pytest.approx([0.5, 0.5])
    assert law.frozen(-0.5).Dy[0, 0] == -2.0
    assert law.designed_for == {"p": (-0.5, 0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fx.simulate(sliding_mass(), law, duration=0.1, initial=(np.array([-0.505]), np.zeros(1)))
    with pytest.warns(OutsideDesign, match=r"p = -0\.6 .* outside -0\.5 to 0\.5"):
        fx.simulate(sliding_mass(), law, duration=0.1, initial=(np.array([-0.6]), np.zeros(1)))
    with pytest.raises(fx.DefinitionError, match="at 0 and above"):
        Blended((position_law(1.0), position_law(2.0)), (-0.5, 0.5), "p", mirrored=True)


def elastica(force: float) -> float:
    """Return the tip deflection, in lengths, of a clamped beam under a force at its end, F L^2 / EI."""
    from scipy.integrate import solve_bvp

    s = np.linspace(0.0, 1.0, 201)
    ends = lambda a, b: np.array([a[0], b[1], a[2]])  # noqa: E731
    bend = lambda s, y: np.array([y[1], -force * np.cos(y[0]), np.sin(y[0])])  # noqa: E731
    found = solve_bvp(bend, ends, s, np.zeros((3, s.size)), tol=1e-10, max_nodes=20000)
    return float(found.y[2, -1])


@pytest.mark.parametrize("force", [0.2, 0.5, 1.0])
def test_cost_of_small_bending_is_that_of_the_elastica(force):
    actual = elastica(force)
    assert BENDING * (force / 2.0) ** 2 == pytest.approx((force / 3.0 - actual) / actual, rel=0.08)


@pytest.mark.parametrize(("force", "cost"), [(0.2, None), (1.0, r"11 %"), (10.0, r"1.1e\+03 %")])
def test_an_equilibrium_beyond_small_bending_is_warned_of(force, cost):
    """Under F L^2 / EI = 10 the tip of the linear beam is at 3.33 L, and nobody was told."""
    strip = Link(1.0, Material(70e9, 2700.0), Section(1e-4, 1e-9))
    model = build(Arm("strip", (strip,), (Joint(),)), "assumed_modes", modes=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at = fx.equilibrium(model, hold={"joint1": 0.0}, load={"tip_force_y": force * strip.bending_stiffness})
    assert model.output(at.q, 0 * at.q, 0 * at.q, at.u)[names(model.outputs).index("tip_y")] > 0.3 * force
    told = [str(w.message) for w in caught if issubclass(w.category, BeyondModel)]
    assert len(told) == (cost is not None)
    if cost:
        assert re.search(f"of link 1 is .* rad in this equilibrium, .* costs about {cost} of the deflection", told[0])


def test_the_command_line_tells_it_in_a_line():
    from click.testing import CliRunner

    from flexctl.__main__ import cli

    words = ["modes", "planar_2r_flexible", "--model", "assumed_modes", "--load", "tip_force_y=400", "--count", "1"]
    result = CliRunner().invoke(cli, words)
    assert re.search(r"^warning: assumed_modes: bending angle of link 1 is 0.6\d* rad in this equ", result.stderr, re.M)
    assert ".py" not in result.stderr


def bar() -> Link:
    return Link(1.0, Material(70e9, 2700.0), Section(350e-6, 1e-8, 0.8864, 0.0106))


@cache
def spinning_frequency(spin: float) -> float:
    """Return omega^2 of the clamped beam in its plane of rotation."""
    model = build(Arm("beam", (bar(),), (Joint(),)), "timoshenko_planar", elements=24)
    plant = fx.spinning_plant(model, [spin]) if spin else fx.linearise(model)
    return float((2 * np.pi * fx.lock(plant, ["joint1"]).modes(1).frequencies_hz[0]) ** 2)


def test_cost_of_leaving_axial_forces_out():
    still, first = spinning_frequency(0.0), float(np.sqrt(spinning_frequency(0.0)))
    for part in (0.1, 0.3):
        gained = spinning_frequency(part * first) - still
        assert gained == pytest.approx(ARC * (part * first) ** 2, rel=0.03)


def test_cost_of_straight_elements():
    turn = 0.3
    assert CHORD * turn**2 == pytest.approx(1.0 - 2.0 * np.sin(turn / 2.0) / turn, rel=0.01)


def test_turns_of_chords():
    angle = np.linspace(0.0, 0.9, 10)
    steps = np.stack([np.cos(angle), np.sin(angle), np.zeros(10)], axis=1)
    places = np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])[None]
    assert turns(places, neighbours=False)[0] == pytest.approx(angle[1:], abs=1e-12)
    assert turns(places, neighbours=True)[0] == pytest.approx(np.diff(angle), abs=1e-12)


def test_turns_of_neighbours_do_not_depend_on_the_first():
    """A link that bends to and fro: where its chords pass the direction of the first, the turn is as large."""
    angle = np.array([0.0, 0.2, -0.2, -0.3])
    steps = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    places = np.vstack([np.zeros(2), np.cumsum(steps, axis=0)])[None]
    assert turns(places, neighbours=True)[0] == pytest.approx([0.2, 0.4, 0.1], abs=1e-12)


def pulse(size: float, time: float) -> fx.PiecewiseConstant:
    return fx.PiecewiseConstant((time,), (size, 0.0))


def pushed(kind: str, torque: float, joint: Joint | None = None, **options) -> fx.Response:
    model = build(Arm("one", (bar(),), (joint or Joint(hub_inertia=0.05),)), kind, **options)
    name = model.inputs[0].name
    return fx.simulate(model, inputs={name: pulse(torque, 0.05)}, duration=0.1)


@pytest.mark.parametrize("kind", ["finite_difference", "assumed_modes"])
def test_models_of_small_bending_say_how_far_they_were_bent(kind):
    gentle, wild = 40.0, 800.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = pushed(kind, gentle)
    assert run.q is None  # recorded to look at, and not asked for
    told = run.provenance["driven"]["bending angle of link 1"]
    assert 0.005 < told["value"] < 0.2
    assert told["bound"] == pytest.approx(1.0 / 3.0, rel=0.01)
    with pytest.warns(BeyondModel, match=r"bending angle of link 1 reached .* rad at t = .* use model = timoshenko"):
        far = pushed(kind, wild)
    # both are linear in the torque, or nearly so
    assert far.provenance["driven"]["bending angle of link 1"]["value"] > 10.0 * told["value"]


def test_spin_without_foreshortening_is_warned_of():
    model = build(Arm("one", (bar(),), (Joint(),)), "assumed_modes")
    short = build(Arm("one", (bar(),), (Joint(),)), "assumed_modes", foreshortening=True)
    start = lambda m: (m.reference(), np.array([40.0] + [0.0] * (len(m.coordinates) - 1)))  # noqa: E731
    with pytest.warns(BeyondModel, match=r"spin of link 1 reached 40 rad/s .* foreshortening = true"):
        run = fx.simulate(model, duration=0.01, step=1e-3, initial=start(model))
    first = np.sqrt(spinning_frequency(0.0))
    cost = run.provenance["driven"]["spin of link 1"]["cost"]
    assert cost == pytest.approx(1.193 * (40.0 / first) ** 2, rel=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = fx.simulate(short, duration=0.01, step=1e-3, initial=start(short))
    assert list(other.provenance["driven"]) == ["bending angle of link 1"]


@pytest.mark.parametrize(("time", "warned"), [(2.0, False), (0.25, True)])
def test_a_linear_analysis_of_a_fast_move_is_warned_of(time, warned):
    """In 0.25 s the links bend by a radian: strains are off by half, deflections of the outer link by three."""
    move = fx.quintic(0.0, np.pi / 2, time)
    runs = {}
    for analysis in ("linear", "nonlinear"):
        arm = fx.load_plant("planar_2r_flexible", overrides={"model.elements": 4, "model.analysis": analysis})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            runs[analysis] = fx.simulate(arm, motions={"joint1": move, "joint2": move}, duration=time, step=time / 1000)
        assert bool([w for w in caught if w.category is BeyondModel]) == (warned and analysis == "linear")
    linear, exact = (runs[key]["root_strain"] for key in ("linear", "nonlinear"))
    off = np.abs(linear - exact).max() / np.abs(exact).max()
    assert (off > 0.05) == warned
    assert "bending angle of all links" in runs["linear"].provenance["driven"]
    assert "turn of an element of link 1" in runs["nonlinear"].provenance["driven"]


def test_coarse_elements_are_warned_of():
    model = build(Arm("one", (bar(),), (Joint(),)), "finite_segment", segments=2)
    q = np.array([[0.0, 1.5], [0.0, 0.1]])
    (one,) = model.assumptions(np.hstack([q, np.zeros((2, len(model.coordinates) - 2))]), 0.0 * q)
    assert one.cost > 0.05
    assert one.sample == 0


def test_formulations_agree_on_how_far_their_elements_turn():
    """Of chords, of slopes, of segments: the same bending, seen half an element apart."""
    found = []
    for kind, count in (("timoshenko_planar", "elements"), ("ancf", "elements"), ("finite_segment", "segments")):
        told = pushed(kind, 300.0, **{count: 10}).provenance["driven"]
        assert len(told) == 1
        found += [one["value"] for one in told.values()]
    assert found[0] > 0.01
    assert found[1:] == pytest.approx([found[0]] * 2, rel=0.2)


def test_stiffening_without_effect_is_refused():
    with pytest.raises(fx.DefinitionError, match='no effect with analysis = "nonlinear"'):
        fx.load_plant("planar_2r_flexible", overrides={"model.stiffening": False}).model  # noqa: B018
    with pytest.raises(fx.DefinitionError, match='no effect with analysis = "nonlinear"'):
        build(Arm("one", (bar(),), (Joint(),)), "timoshenko_planar", stiffening=False)


def test_cylinders_and_motions_are_looked_through():
    ralf = fx.load_plant("ralf")
    run = fx.simulate(ralf, inputs={"joint1_command": pulse(0.02, 0.05)}, duration=0.1, step=1e-3, record_states=True)
    assert run.q is not None
    assert {one.what for one in driven(ralf.model, run)} == set(run.provenance["driven"])
    assert "bending angle of link 1" in run.provenance["driven"]


def test_of_many_warnings_of_a_kind_the_first_are_told_and_the_others_counted(capsys):
    with telling_warnings():
        for number in range(9):
            warnings.warn(f"run {number}", fx.AccuracyWarning, stacklevel=1)
        warnings.warn("of another kind", BeyondModel, stacklevel=1)
    told = capsys.readouterr().err.splitlines()
    assert told == [*(f"warning: run {n}" for n in range(5)), "warning: and 4 more like these",
                    "warning: of another kind"]


def test_the_command_line_tells_warnings_in_a_line():
    from click.testing import CliRunner

    from flexctl.__main__ import cli

    words = ["simulate", "tokhi_azad_1994", "--torque", "bang-bang:3,0.1", "--duration", "0.3"]
    told = CliRunner().invoke(cli, words)
    assert told.exit_code == 0
    lines = [line for line in told.stderr.splitlines() if line.startswith("warning: ")]
    assert any("finite_difference: bending angle of link 1 reached" in line for line in lines)
    assert "BeyondModel" not in told.stderr


@pytest.mark.parametrize(("poles", "period", "told"), [
    ([-1.0, -1e-3, -1e4], 0.0, "stable"),
    ([-1.0, -7e-12 + 400j], 0.0, "MARGINAL"),  # a mode without damping that the law does not see, to either side
    ([-1.0, 7e-12 + 400j], 0.0, "MARGINAL"),
    ([-1.0, 1e-11], 1e-3, "MARGINAL"),
    ([-1.0, -1e-4, -np.inf], 1e-3, "stable"),
    ([-1.0, 1e-3 + 1j], 1e-3, "UNSTABLE"),
    ([], 0.0, "stable"),
])
def test_poles_on_the_axis_are_neither_stable_nor_unstable(poles, period, told):
    assert state_of(np.array(poles, complex), period) == told
    assert decays(np.array(poles, complex), period) == (told == "stable")


def test_an_undamped_mode_that_the_law_does_not_see_leaves_a_design_marginal():
    """Two masses apart; rounding alone decided between stable and unstable."""
    parts = {"B": [[1.0], [0.0]], "inputs": ["u"], "outputs": ["p", "other"]}
    told = {}
    for damping in (0.0, 1e-3):
        plant = fx.from_matrices(np.eye(2), np.diag([2.0, damping]), np.diag([0.0, 4e4]), **parts)
        told[damping] = fx.Design(position_law(1.0), plant).state
    assert told == {0.0: "MARGINAL", 1e-3: "stable"}
    assert fx.Design(position_law(-1.0), plant).state == "UNSTABLE"


def test_a_loop_that_fails_within_a_few_steps_is_named_as_unstable():
    """At the default step Newton failed after seven of them: "use a smaller step .. not growing", at +1624 1/s."""
    arm = fx.load_plant("li_zhang_single_link", overrides={"damping.kind": "modal", "damping.ratio": 0.01})
    follows = ("joint1_angle",)
    gains = {"Dy": [[-5.0, -0.8]], "Dr": [[5.0, 0.8, 0.0]]}
    law = fx.Delayed(fx.LinearLaw(2e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), follows, **gains), 1)
    wanted = r"linear loop where the arm rests is unstable: \+1.62e\+03"
    with pytest.raises(fx.ConvergenceError, match=wanted) as caught:
        fx.simulate(arm, law, fx.quintic(0.0, 0.3, 0.2), duration=1.0)
    for word in ("not growing", "use a smaller step"):
        assert word not in str(caught.value)
    t = np.linspace(0.0, 1e-3, 5)
    early = told("Newton did not converge; use a smaller step", t, np.zeros((5, 1)), ["x"], looped=False)
    assert early.endswith("failed too early to say whether the motion was growing")
