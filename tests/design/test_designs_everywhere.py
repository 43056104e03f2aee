"""Every design on every plant of the catalogue where it makes sense, with weights that know nothing of the plant.

Each pair goes the whole way: the exported linear plant, the design, stability of the sampled loop with one sample of
delay on the whole plant, a small move on the full nonlinear model, and that run against the linear prediction. Where a
design makes no sense on a plant it says why.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from everywhere import ARMS, FREE, Bench, bench, damped, from_start

import flexctl as fx
from flexctl.design import recipes
from flexctl.design.inversion import deviation, stable_inversion
from flexctl.design.joint_pid import joint_pids
from flexctl.design.loop_shaping import loop_shaping
from flexctl.design.lqg import lqg
from flexctl.design.mixed_sensitivity import hinf
from flexctl.design.pd import joint_pd
from flexctl.design.pid import pid
from flexctl.design.servo import design_servos, servo_law
from flexctl.design.shaping import shaped, shaper_for
from flexctl.design.strain import strain_feedback
from flexctl.design.valve import lead_servo, proportional_servo, valve_law
from flexctl.judging.certify.loops import growth, loop_poles
from flexctl.laws.combine import together
from flexctl.laws.linear_part import linear_law
from flexctl.laws.rigid_reference import references

SIZE = 1e-3  # rad or m


def by_pid(b: Bench, reset: float | None = None) -> tuple[fx.Design, float]:
    """Joint feedback alone: a tenth of the held frequency."""
    w = 0.1 * b.held
    wanted = {"crossover": w, "phase_margin_deg": 45.0, "sample_time": 1.0 / (60.0 * b.held), "spread": 5.0}
    if len(b.angles) > 1:
        return joint_pids(b.linear, reset=reset, **wanted), w
    joint = {"measure": b.angles[0], "drive": b.torques[0], "follow": b.angles[0]}
    return pid(b.linear, reset=reset, **wanted, **joint), w


def by_pd(b: Bench) -> tuple[fx.Design, float]:
    return by_pid(b)


def by_pid_with_integral(b: Bench) -> tuple[fx.Design, float]:
    return by_pid(b, reset=10.0)


def words(b: Bench) -> dict[str, tuple[str, ...]]:
    return {"measures": b.angles, "drive": b.torques, "follow": b.angles}


def by_lqg(b: Bench) -> tuple[fx.Design, float]:
    w = 0.3 * b.held
    weights = recipes.bryson(b.linear, bandwidth=w, **words(b))
    return lqg(b.linear, weights, modes=2, sample_time=1.0 / (40.0 * b.held), **words(b)), w


def by_hinf(b: Bench) -> tuple[fx.Design, float]:
    w = 0.5 * b.held
    weights, scales = recipes.hinf_weights(b.linear, bandwidth=w, **words(b))
    period = 1.0 / (60.0 * b.held)
    return hinf(b.linear, weights, scales, modes=2, sample_time=period, **words(b)), w


def by_loop_shaping(b: Bench) -> tuple[fx.Design, float]:
    w = 0.5 * b.held
    gains, roll_off = recipes.shaping_gains(b.linear, bandwidth=w, **words(b))
    return loop_shaping(
        b.linear, gains=gains, roll_off=roll_off, modes=2, sample_time=1.0 / (40.0 * b.held), **words(b)
    ), w


DESIGNS = {"PD": by_pd, "PID": by_pid_with_integral, "LQG": by_lqg, "H-infinity": by_hinf, "loop": by_loop_shaping}
LIGHT = {"spatial_3r": "loop", "spatial_rp": "LQG", "li_zhang_three_link": "loop"}
PAIRS = [
    pytest.param(arm, design, marks=[pytest.mark.slow] if arm in LIGHT and design != LIGHT[arm] else [])
    for arm in ARMS for design in DESIGNS
]


def certified(b: Bench, law: fx.Design) -> float:
    """Return the smallest disk margin of a loop that is stable on the whole plant with its delay."""
    assert growth(loop_poles(b.linear, law), law.sample_time) < 0.0
    assert law.stable
    return min(m.disk_margin for m in law.margins.values())


def predicted(b: Bench, law: fx.Design, moves: dict, duration: float) -> fx.Response:
    """Return the run on the linear plant, whose outputs count from the reference pose."""
    shifted = {name: fx.quintic(0.0, SIZE, move.duration) if name in b.angles else move
               for name, move in moves.items()}
    return fx.simulate(b.linear, linear_law(law.law, b.arm.model), shifted, duration=duration)


@pytest.mark.parametrize(("arm", "design"), PAIRS)
def test_from_the_linear_plant_to_the_nonlinear_run(arm: str, design: str) -> None:
    b = bench(arm)
    law, bandwidth = DESIGNS[design](b)
    assert certified(b, law) > 0.2
    duration = 10.0 / bandwidth
    moves = b.move(SIZE, 0.5 * duration)
    if set(law.follows) - set(moves):  # torques of the rigid arm, fed forward
        moves = references(b.arm, {name.split("_")[0]: move for name, move in moves.items()}, law)
        moves = {name: moves[name] for name in law.follows}
    # a quarter of the control period: strain-rate damping makes the high modes of a coarse mesh very stiff
    run = fx.simulate(b.arm, law, moves, duration=duration, step=0.25 * law.sample_time)
    linear = predicted(b, law, moves, duration)
    for name in b.angles:
        moved = from_start(run, name)
        wanted = np.interp(run.t, linear.t, from_start(linear, name))
        assert np.abs(moved - wanted).max() < 0.02 * SIZE, "the linear prediction holds"
        assert abs(moved[-1] - SIZE) < 0.05 * SIZE, "the move ends where it should"


@pytest.mark.parametrize("arm", ["tokhi_azad_1994", "rotating_link", "simo_vu_quoc_1986", "li_zhang_single_link"])
def test_joint_pd_by_its_gains(arm: str) -> None:
    """The gains of the PID that was shaped, given to the law with the quasi-static reference."""
    b = bench(arm)
    shaped_one, bandwidth = by_pd(b)
    found = shaped_one.found
    law = joint_pd(
        b.linear, kp=found["kp"], kd=found["kd"], filter_time=found["filter_time"], measure=b.angles[0],
        drive=b.torques[0], follow=b.angles[0], sample_time=shaped_one.sample_time,
    )
    assert growth(loop_poles(b.linear, law), law.sample_time) < 0.0
    duration = 12.0 / bandwidth
    run = fx.simulate(b.arm, law, b.move(SIZE, 0.5 * duration), duration=duration)
    assert abs(from_start(run, b.angles[0])[-1] - SIZE) < 0.05 * SIZE


SINGLE = ["tokhi_azad_1994", "rotating_link", "simo_vu_quoc_1986", "li_zhang_single_link"]


@pytest.mark.parametrize("arm", SINGLE)
def test_stable_inversion_moves_the_tip_of_every_single_link(arm: str) -> None:
    """Feedforward alone, on the nonlinear arm: the tip is where it is wanted, at all times within 1 % of the move."""
    b = bench(arm)
    duration = 15.0 / b.held
    move = fx.Polynomial(0.0, SIZE, duration, degree=9)
    room = 40.0 / b.held
    found = stable_inversion(
        b.linear, move, modes=4, drive=b.torques[0], follow=b.tip, step=duration / 1500.0, room=room, cut=1e-5
    )
    assert found.pre_actuation > 0.0, "the tip is not collocated: the torque begins before it moves"
    end = found.lead + duration
    run = fx.simulate(b.arm, inputs={b.torques[0]: found.torque}, duration=end, step=duration / 1500.0)
    wanted = move(np.clip(run.t - found.lead, 0.0, None))[0]
    assert np.abs(from_start(run, b.tip) - wanted).max() < 0.01 * SIZE
    assert np.abs(from_start(run, b.angles[0]) - wanted / wanted[-1] * SIZE).max() > 0.02 * SIZE, "the joint differs"


@pytest.mark.parametrize("arm", SINGLE[:2])
def test_inversion_under_feedback(arm: str) -> None:
    """The law that acts on deviations finds next to nothing to do where the plant is as it was thought to be."""
    b = bench(arm)
    law, _ = by_lqg(b)
    duration = 15.0 / b.held
    move = fx.Polynomial(0.0, SIZE, duration, degree=9)
    found = stable_inversion(
        b.linear, move, modes=4, drive=b.torques[0], follow=b.tip, measures=b.angles, step=duration / 1500.0,
        room=40.0 / b.held, cut=1e-5,
    )
    around = deviation(law)
    references = {name: found.references[name] for name in b.angles}
    run = fx.simulate(
        b.arm, around, references, inputs={b.torques[0]: found.torque}, duration=found.lead + duration,
        step=0.25 * law.sample_time,
    )
    wanted = move(np.clip(run.t - found.lead, 0.0, None))[0]
    assert np.abs(from_start(run, b.tip) - wanted).max() < 0.02 * SIZE


@pytest.mark.parametrize("arm", ["rotating_link", "li_zhang_single_link", "tokhi_azad_1994"])
def test_strain_feedback_beside_a_joint_law(arm: str) -> None:
    """Positive position feedback at the held frequency: the least damped mode near it gains damping, the loop stays."""
    b = bench(arm)
    linear, name = b.linear, "root_strain"
    plant = b.arm
    if arm == "tokhi_azad_1994":
        plant = plant.with_(overrides={"sensor": [{"name": name, "kind": "curvature", "position": 0.0}]})
        linear = plant.linearise()
    joint, bandwidth = by_pd(b)
    period = joint.sample_time
    # the strain that the torque of the joint law causes at rest sets the size
    bend = abs(linear.transfer(np.array([1e-3j]))[[s.name for s in linear.outputs].index(name), 0, 0])
    found = []
    for part in (0.0, 0.3, -0.3):
        added = strain_feedback(
            linear, gain=part / bend, frequency=b.held, damping=0.4, sample_time=period, measure=name,
            drive=b.torques[0], follow=b.angles[0],
        )
        law = fx.Delayed(together(joint.law.law, added))
        poles = np.log(loop_poles(linear, law).astype(complex)) / period
        slow = poles[(np.abs(poles) > 0.3 * b.held) & (np.abs(poles) < 5.0 * b.held) & (poles.imag > 0)]
        found.append((growth(loop_poles(linear, law), period) < 0.0, float((-slow.real / np.abs(slow)).min()), law))
    assert all(stable for stable, _, _ in found)
    best = max(found[1:], key=lambda entry: entry[1])
    assert best[1] > found[0][1]
    duration = 10.0 / bandwidth
    run = fx.simulate(plant, best[2], b.move(SIZE, 0.5 * duration), duration=duration, step=0.25 * period)
    assert abs(from_start(run, b.angles[0])[-1] - SIZE) < 0.05 * SIZE


SERVO = [
    pytest.param(arm, marks=[] if arm in ("rotating_link", "tian_2r_beam") else [pytest.mark.slow])
    for arm in ARMS if arm not in ("tokhi_azad_1994", "spatial_rp", "tian_ancf_circle")
]


@pytest.mark.parametrize("arm", SERVO)
def test_servo_compliance(arm: str) -> None:
    """Spring and damper at half the structural frequency, continuous: no rigid mode is left, and the run settles."""
    b = bench(arm)
    law = servo_law(design_servos(b.arm.model))
    closed = loop_poles(b.linear, law)
    assert closed.real.max() < 0.0
    duration = 25.0 / b.held
    moves = b.move(SIZE, 0.6 * duration)
    run = fx.simulate(b.arm, law, moves, duration=duration, step=duration / 200.0)
    linear = predicted_servo(b, law, moves, duration)
    for name in b.angles:
        wanted = np.interp(run.t, linear.t, from_start(linear, name))
        assert np.abs(from_start(run, name) - wanted).max() < 0.02 * SIZE


def predicted_servo(b: Bench, law: fx.LinearLaw, moves: dict, duration: float) -> fx.Response:
    shifted = {name: fx.quintic(0.0, SIZE, move.duration) for name, move in moves.items()}
    return fx.simulate(b.linear, law, shifted, duration=duration, step=duration / 200.0)


@pytest.mark.parametrize("arm", [arm for arm in ARMS if arm not in LIGHT])
def test_input_shaping_of_torques(arm: str) -> None:
    """A torque that turns the rigid arm from rest to rest leaves vibration; through a shaper of two modes far less."""
    b = bench(arm)
    first = 2.0 * np.pi * b.linear.modes(2).frequencies_hz[0]
    pulse = 2.5 / first  # half the command; not a multiple of the period
    inertia = recipes.bryson(b.linear, bandwidth=1.0, **words(b)).command
    sizes = {name: SIZE / pulse**2 / np.sqrt(R) for name, R in zip(b.torques, inertia, strict=True)}
    plain = {name: fx.bang_bang(size, pulse) for name, size in sizes.items()}
    by = shaper_for(b.linear, "zvd", 2)
    left = []
    for commands in (plain, {name: shaped(signal, by) for name, signal in plain.items()}):
        end = 2.0 * pulse + by.length
        run = fx.simulate(b.arm, inputs=commands, duration=end + 12.0 / first, step=min(0.02 / first, pulse / 300))
        late = run.t > end
        left.append(max(np.ptp(from_start(run, name)[late]) for name in b.angles))
    assert left[1] < left[0] / 10.0


def test_input_shaping_of_commanded_motions() -> None:
    """Joints driven by motion (three links of segments) and by hydraulic servos (RALF): the commands are shaped."""
    for name, joints, sensor in (
        ("li_zhang_three_link", ("joint1", "joint2", "joint3"), "tip_error_y"), ("ralf", ("joint1",), "strain_lower"),
    ):
        arm = fx.load_plant(name, overrides={"model.segments": 8} if name != "ralf" else {})
        linear = arm.linearise()
        lowest = float(linear.modes(1).frequencies_hz[0]) * 2.0 * np.pi
        by, left = shaper_for(linear, "zvd", 2), []
        begin = dict(zip(joints, (arm.arm.joints[int(j[-1]) - 1].angle for j in joints), strict=True))
        for shape in (False, True):
            moves = {j: fx.Cycloid(a, a + 0.01, 4.0 / lowest) for j, a in begin.items()}
            moves = {j: shaped(m, by) for j, m in moves.items()} if shape else moves
            end = 4.0 / lowest + by.length
            run = fx.simulate(arm, motions=moves, duration=end + 10.0 / lowest, step=0.02 / lowest)
            left.append(np.ptp(run[sensor][run.t > end]))
        assert left[1] < left[0] / 10.0, name


@pytest.mark.parametrize("servo", ["proportional", "lead"])
def test_hydraulic_servos(servo: str) -> None:
    """RALF's PD: valve servos by phase margin, and by crossover and phase margin, run on the whole nonlinear arm."""
    from flexctl.design.hydraulics import HydraulicActuator

    plant = fx.load_plant("ralf")
    actuators = [HydraulicActuator.of(joint) for joint in plant.arm.joints[:2]]
    designs = {
        f"joint{i + 1}": proportional_servo(a, 60.0) if servo == "proportional" else lead_servo(a, 22.0, 60.0)
        for i, a in enumerate(actuators)
    }
    law = fx.Delayed(valve_law(designs, 5e-4))
    open_loops = {f"joint.{i}.hydraulic_gain": 0.0 for i in (1, 2)}
    arm = plant.with_(overrides={**open_loops, "damping.kind": "modal", "damping.ratio": 0.01})
    linear = arm.linearise()
    assert growth(loop_poles(linear, law), 5e-4) < 0.0
    moves = {
        f"joint{i}_angle": fx.quintic(plant.arm.joints[i - 1].angle, plant.arm.joints[i - 1].angle + SIZE, 0.5)
        for i in (1, 2)
    }
    run = fx.simulate(arm, law, moves, duration=1.5)
    for name in moves:
        assert abs(from_start(run, name)[-1] - SIZE) < 0.01 * SIZE


class TestRefusals:
    """Where a design makes no sense, the error says why, in the words of the plant."""

    @pytest.mark.parametrize("design", ["PD", "LQG", "H-infinity", "loop"])
    @pytest.mark.parametrize(
        ("plant", "torques", "message"),
        [
            ("ralf", ("joint1_command", "joint2_command"), "without mass, as hydraulic drives have.*laws.valve"),
            ("planar_2r_servo", ("joint1_command", "joint2_command"), "0 rigid-body modes.*drive = \"torque\""),
            ("li_zhang_three_link", ("joint1_torque",), 'no input "joint1_torque"|unknown input "joint1_torque"'),
            ("planar_2r_flexible", ("joint1_torque",), "2 rigid-body modes, 1 inputs"),
        ],
    )
    def test_plants_without_free_joints(
        self, plant: str, torques: tuple[str, ...], message: str, design: str
    ) -> None:
        arm = fx.load_plant(plant)
        angles = tuple(f"{name.split('_')[0]}_angle" for name in torques)
        wrong = Bench(arm, arm.linearise(), torques, angles, 20.0)
        if design == "PD" and len(torques) > 1:
            message = 'joint1 is not driven by a torque.*drive = "torque"'
        with pytest.raises(fx.DefinitionError, match=message):
            DESIGNS[design](wrong)

    def test_designs_for_one_input(self) -> None:
        b = bench("tian_2r_beam")
        with pytest.raises(fx.DefinitionError, match="rigid-body modes"):
            joint_pd(b.linear, kp=1.0, kd=1.0, filter_time=1e-2, sample_time=1e-3, measure="joint1_angle",
                     drive="joint1_torque", follow="joint1_angle")
        with pytest.raises(fx.DefinitionError, match="rigid-body modes"):
            stable_inversion(b.linear, fx.Polynomial(0.0, 1.0, 1.0, degree=9), modes=2, drive="joint1_torque",
                             follow="tip_y")
        with pytest.raises(fx.DefinitionError, match="rigid-body modes"):
            strain_feedback(b.linear, gain=1.0, frequency=10.0, damping=0.5, sample_time=1e-3, measure="joint2_angle",
                            drive="joint1_torque", follow="joint1_angle")

    def test_servos_of_joints_that_are_moved(self) -> None:
        with pytest.raises(fx.FlexctlError, match="torque-driven joints"):
            design_servos(fx.load_plant("planar_2r_servo").model)

    def test_shaping_what_does_not_vibrate(self) -> None:
        rigid = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.99})
        with pytest.raises(fx.DefinitionError, match="oscillating modes"):
            shaper_for(rigid.linearise(), "zvd", 2)

    def test_a_bandwidth_that_is_none(self) -> None:
        b = bench("rotating_link")
        for wrong in (0.0, -1.0, float("nan")):
            with pytest.raises(fx.DefinitionError, match="bandwidth"):
                recipes.bryson(b.linear, bandwidth=wrong, **words(b))
        with pytest.raises(fx.DefinitionError, match="moves freely"):
            recipes.held_frequency(bench("tian_2r_beam").linear, ("joint1_angle",))


def test_weights_by_bandwidth_are_those_of_the_tuned_arm() -> None:
    """At its bandwidth the recipe gives the weights that were tuned by hand on the FD arm, to a factor of 2."""
    tuned = fx.load_controller("tokhi_azad_lqg").WEIGHTS
    linear = fx.load_plant("tokhi_azad_1994", payload={"mass": 0.01}).linearise()
    found = recipes.bryson(linear, bandwidth=45.0, measures=("joint1_angle", "chord1_angle"), drive="joint1_torque",
                           follow="chord1_angle")
    for key in ("rate", "energy", "integral", "disturbance"):
        assert 0.5 < getattr(found, key) / getattr(tuned, key) < 2.0, key
    assert 0.5 < found.command[0] / tuned.command < 2.0
    assert 0.5 < found.noise[0] / tuned.noise[0] < 2.0


def test_a_law_begins_where_the_arm_stands() -> None:
    """Far from zero the observer is told where: nothing moves, where it would else start with a jump."""
    b = bench("tian_2r_beam")
    law, _ = by_lqg(b)
    still = {name: replace(move, end=move.begin) for name, move in b.move(0.0, 1.0).items()}
    run = fx.simulate(b.arm, law, still, duration=0.1, step=0.25 * law.sample_time)
    assert max(np.abs(from_start(run, name)).max() for name in b.angles) < 1e-9
    blind = replace(law.law, law=replace(law.law.law, start=0.0 * law.law.law.start))
    jumped = fx.simulate(b.arm, blind, still, duration=0.1, step=0.25 * law.sample_time)
    assert max(np.abs(from_start(jumped, name)).max() for name in b.angles) > 1e-2


def test_torque_driven_joints_are_one_override_away() -> None:
    arm = damped(fx.load_plant("li_zhang_three_link", overrides={**FREE, "model.segments": 4}))
    assert [s.name for s in arm.linearise().inputs][:3] == ["joint1_torque", "joint2_torque", "joint3_torque"]


@pytest.mark.parametrize("name", ["quanser_link_pd", "quanser_link_lqg"])
def test_a_winding_is_left_to_the_loop(name: str) -> None:
    """PD told of a mass matrix, LQG of hydraulic drives."""
    plant = fx.load_plant("quanser_flexible_link", overrides={"motor.srv02.inductance": 1.8e-4})
    with pytest.raises(fx.DefinitionError, match=r"as windings have \(joint1_current\); design for motors without ind"):
        fx.load_controller(name).design(plant)
