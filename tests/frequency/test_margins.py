"""Margins against closed forms, against brute force on dense grids, and against the closed loop's own poles."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import beams
import control as ct
import numpy as np
import pytest
from scipy.optimize import brentq

import flexctl as fx
from flexctl.errors import DefinitionError
from flexctl.frequency import evaluate, loop_gain, margins, series, transfer
from flexctl.frequency.disk import simultaneous
from flexctl.io.python_control import from_control
from flexctl.kernels import resolvent_pivoted
from flexctl.laws.controller import Delayed, LinearLaw
from flexctl.linear import FirstOrder
from flexctl.linear.interconnect import loop_poles
from flexctl.linear.matrices import from_matrices
from flexctl.model import Signal


def system(numerator, denominator, dt=0.0, names=("u", "y")):
    """Companion form of a scalar transfer function."""
    a, b = np.array(denominator, float) / denominator[0], np.array(numerator, float) / denominator[0]
    n = a.size - 1
    b = np.append(np.zeros(n + 1 - b.size), b)
    A = np.vstack([-a[1:], np.eye(n - 1, n)]) if n else np.zeros((0, 0))
    return FirstOrder(
        A, np.eye(n, 1), (b[1:] - b[0] * a[1:])[None], np.array([[b[0]]]), tuple(Signal(f"x{i}") for i in range(n)),
        (Signal(names[0]),), (Signal(names[1]),), dt,
    )


def lead(gain, zero, pole, measured="hub"):
    """gain (1 + s/zero)/(1 + s/pole) from the hub angle error to the torque."""
    return system([gain / zero, gain], [1.0 / pole, 1.0], names=(measured, "torque"))


def brute(L, omega):
    """Gain, phase, delay, disk margins read from a dense response, crossings interpolated linearly."""
    H = L(omega)
    k = np.flatnonzero((np.abs(H[1:]) > 1) != (np.abs(H[:-1]) > 1))
    t = np.log(np.abs(H[k])) / (np.log(np.abs(H[k])) - np.log(np.abs(H[k + 1])))
    w = omega[k] + t * (omega[k + 1] - omega[k])
    angle = np.angle(-L(w))
    k = np.flatnonzero((np.sign(H.imag[1:]) != np.sign(H.imag[:-1])) & (H.real[1:] < 0) & (H.real[:-1] < 0))
    factor = 1.0 / np.abs(L(omega[k] - H[k].imag * (omega[k + 1] - omega[k]) / (H[k + 1].imag - H[k].imag)))
    up, down = factor[factor > 1], factor[factor < 1]
    return {
        "gain_margin": up.min(initial=np.inf),
        "gain_reduction": down.max(initial=0.0),
        "phase_margin_deg": np.degrees(np.abs(angle).min(initial=np.pi)),
        "delay_margin": (np.mod(angle, 2 * np.pi) / w).min(initial=np.inf),
        "disk_margin": np.min(np.abs(2 * (1 + H) / (1 - H))),
    }


# ---- closed forms --------------------------------------------------------------------------------------------------


def test_third_order_loop():
    # k/(s (s + 1)(s + 2)): negative real at sqrt 2, where |L| = k/6
    k = 1.5
    found = margins(system([k], [1.0, 3.0, 2.0, 0.0]))
    assert found.gain_margin == pytest.approx(6.0 / k, rel=1e-9)
    assert found.gain_margin_frequency == pytest.approx(np.sqrt(2.0), rel=1e-9)
    assert found.gain_margin_db == pytest.approx(20 * np.log10(6.0 / k))
    assert found.gain_reduction == 0.0
    crossing = brentq(lambda w: k - w * np.sqrt(w * w + 1) * np.sqrt(w * w + 4), 0.1, 3.0, xtol=1e-14)
    phase = 90.0 - np.degrees(np.arctan(crossing) + np.arctan(crossing / 2))
    assert found.phase_margin_frequency == pytest.approx(crossing, rel=1e-9)
    assert found.phase_margin_deg == pytest.approx(phase, rel=1e-9)
    assert found.delay_margin == pytest.approx(np.radians(phase) / crossing, rel=1e-9)


def test_conditionally_stable_loop_has_two_sides():
    # K (s + 1)^2 / s^3: closed loop s^3 + K s^2 + 2 K s + K stable for 2 K^2 > K, so K = 1 may fall to 1/2
    found = margins(system([1.0, 2.0, 1.0], [1.0, 0.0, 0.0, 0.0]))
    assert found.gain_reduction == pytest.approx(0.5, rel=1e-9)
    assert found.gain_reduction_frequency == pytest.approx(1.0, rel=1e-9)
    assert found.gain_margin == np.inf
    assert np.isnan(found.gain_margin_frequency)


def test_disk_margin_of_a_constant_and_an_integrator():
    assert margins(system([0.5], [1.0]), lo=1.0, hi=2.0).disk_margin == pytest.approx(2 * 1.5 / 0.5)
    found = margins(system([1.0], [1.0, 0.0]))  # S - 1/2 = (s - 1)/(2 (s + 1)): all-pass, disk margin 2
    assert found.disk_margin == pytest.approx(2.0, rel=1e-12)
    assert found.disk_gain_margin > 1e9
    assert found.disk_phase_margin_deg == pytest.approx(90.0)
    assert found.phase_margin_deg == pytest.approx(90.0)


def test_one_loop_alone_has_the_simultaneous_disk_margin_of_its_own():
    plant, none = system([1.5], [1.0, 3.0, 2.0, 0.0]), np.zeros((0, 0))
    law = FirstOrder(none, none.reshape(0, 1), none.reshape(1, 0), np.array([[-1.0]]), (), plant.outputs, plant.inputs)
    found, own = simultaneous(plant, law, np.geomspace(0.05, 20.0, 300)), margins(plant)
    for key in ("inputs", "sensors"):
        assert found[key].margin == pytest.approx(own.disk_margin, rel=1e-5)
        assert found[key].frequency == pytest.approx(own.disk_margin_frequency, rel=1e-2)


def test_rigid_arm_with_rate_feedback_crosses_far_below_or_above_its_poles():
    for k in (1e-8, 1.0, 1e8):
        found = margins(system([k], [1.0, 0.0]))
        assert found.gain_crossings == pytest.approx([k], rel=1e-9)


def test_negative_static_gain_counts_at_zero_frequency():
    found = margins(system([-0.4], [1.0, 1.0]))
    assert found.gain_margin == pytest.approx(2.5)
    assert found.gain_margin_frequency == 0.0


def test_feedthrough_counts_at_infinite_frequency():
    # L = -0.5 (s + 4)/(s + 8): -0.25 at zero, -0.5 at infinity
    found = margins(system([-0.5, -2.0], [1.0, 8.0]))
    assert found.gain_margin == pytest.approx(2.0, rel=1e-6)
    assert found.gain_margin_frequency == np.inf


def test_loop_on_the_stability_boundary():
    # an undamped spring: L = k/(m s^2) passes -1 with no phase margin at all
    found = margins(system([4.0], [1.0, 0.0, 0.0]))
    assert found.phase_margin_deg == pytest.approx(0.0, abs=1e-9)
    assert found.gain_margin == found.gain_reduction == 1.0
    assert found.gain_margin_frequency == pytest.approx(2.0)
    assert found.delay_margin == pytest.approx(0.0, abs=1e-9)


def test_no_crossing_at_all():
    found = margins(system([0.5], [1.0, 1.0]))
    assert (found.phase_margin_deg, found.delay_margin, found.gain_margin) == (180.0, np.inf, np.inf)
    assert np.isnan(found.phase_margin_frequency)


# ---- flexible loops ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measured", ["hub", "tip"])
def test_thirty_mode_beam_with_a_lead_against_brute_force(measured):
    zeta = 1e-3
    plant = beams.hub_beam(30, ("torque",), ("hub", "tip")).with_modal_damping(zeta).first_order("modal", modes=30)
    control = lead(0.5, 5.0, 500.0, measured)
    found = margins(loop_gain(plant, control))

    # independent: modal sum over the 30 modes, dense grid with points packed around every mode
    modal = plant.modes()
    omega = [np.geomspace(1e-2, 1e5, 300_000)]
    for w in 2 * np.pi * modal.frequencies_hz:
        omega += [w * (1 + zeta * np.linspace(-40, 40, 20_001))]
    omega = np.unique(np.concatenate(omega))
    row = ["hub", "tip"].index(measured)
    b, c = plant.B[:, 0], plant.C[row]

    def L(w):
        s = 1j * w
        H = b[1] * c[0] / s**2  # states (eta, eta') of the rigid mode, then (omega eta, eta') of each flexible one
        for k in range(2, len(b), 2):
            wk = plant.A[k, k + 1]
            H = H + b[k + 1] * c[k] * wk / (s**2 + 2 * zeta * wk * s + wk**2)
        return H * 0.5 * (1 + s / 5.0) / (1 + s / 500.0)

    for name, value in brute(L, omega).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-4), name


def test_fine_mesh_gives_the_margins_of_its_modes():
    plant = beams.hub_beam(128, ("torque",), ("hub",), ratio=0.002)
    control = lead(0.5, 5.0, 500.0)
    full, some = margins(loop_gain(plant, control)), margins(loop_gain(plant.first_order("modal", modes=30), control))
    for name in ("phase_margin_deg", "delay_margin", "disk_margin"):
        assert getattr(full, name) == pytest.approx(getattr(some, name), rel=1e-3)


def test_undamped_beam_has_a_crossing_on_each_side_of_every_pole_that_matters():
    plant = beams.hub_beam(10, ("torque",), ("hub",))
    found = margins(loop_gain(plant, lead(0.5, 5.0, 500.0)))
    poles = plant.modes().poles.imag
    for pole in poles[:8]:
        near = found.gain_crossings[np.abs(found.gain_crossings / pole - 1) < 0.2]
        assert np.any(near < pole)
        assert np.any(near > pole)


@pytest.mark.parametrize("side", ["gain_margin", "gain_reduction", "delay_margin"])
def test_the_closed_loop_really_is_on_the_boundary(side):
    plant = beams.hub_beam(10, ("torque",), ("tip",)).with_modal_damping(0.001).first_order("modal", modes=5)
    control = lead(0.5, 5.0, 500.0, "tip")
    found = margins(loop_gain(plant, control))
    value = getattr(found, side)
    assert np.isfinite(value)
    assert value != 0.0
    if side == "delay_margin":
        s = 1j * found.delay_margin_frequency
        L = (transfer(plant, s) * transfer(control, s))[0, 0, 0] * np.exp(-s * value)
        assert abs(L + 1.0) < 1e-8
        return
    k = value * np.vstack([np.hstack([plant.B @ control.D @ -plant.C, plant.B @ control.C])])
    A = np.block([[plant.A, np.zeros((len(plant.A), 1))], [np.zeros((1, len(plant.A))), control.A]])
    A[: len(plant.A)] += k
    A[len(plant.A) :, : len(plant.A)] -= control.B @ plant.C
    assert np.abs(np.linalg.eigvals(A).real).min() < 1e-7


# ---- sampled loops -------------------------------------------------------------------------------------------------


def sampled_pd(kp, kd, dt):
    """u = -kp y - kd (y[k] - y[k-1])/dt as a control law."""
    return LinearLaw(
        dt, ("hub",), ("torque",), A=np.zeros((1, 1)), By=np.ones((1, 1)), C=np.array([[kd / dt]]),
        Dy=np.array([[-kp - kd / dt]]),
    )


@pytest.mark.parametrize("delay", [0, 1])
def test_sampled_loop_against_brute_force(delay):
    dt = 1e-3
    plant = beams.hub_beam(10, ("torque",), ("hub",)).with_modal_damping(0.005).first_order("modal", modes=6)
    law = sampled_pd(0.29, 0.01, dt)
    loop = loop_gain(plant, Delayed(law, delay) if delay else law)
    assert loop.dt == dt
    found = margins(loop)
    sampled = beams.hub_beam(10, ("torque",), ("hub",)).with_modal_damping(0.005).discrete(dt, modes=6)

    def L(w):
        z = np.exp(1j * w * dt)
        P = np.concatenate([
            [(sampled.C @ np.linalg.solve(v * np.eye(len(sampled.A)) - sampled.A, sampled.B))[0, 0] for v in part]
            for part in np.array_split(z, 50)
        ])
        return P * (0.29 + 0.01 / dt * (1 - 1 / z)) * z ** (-delay)

    omega = [np.geomspace(1e-1, np.pi / dt, 10_000)]
    for w in 2 * np.pi * plant.modes().frequencies_hz:
        omega += [w * (1 + np.linspace(-0.1, 0.1, 1500))]
    omega = np.unique(np.concatenate(omega))
    right = brute(L, omega[omega <= np.pi / dt])
    nyquist = L(np.array([np.pi / dt]))[0]
    if nyquist.real < 0:  # the curve ends on the negative axis there without crossing it
        right["gain_margin"] = min(right["gain_margin"], 1 / abs(nyquist))
    for name, value in right.items():
        assert getattr(found, name) == pytest.approx(value, rel=2e-3), name


def test_gain_margin_at_nyquist():
    # P = 1/(z - 1/2), proportional gain: z = 1/2 - k leaves the circle at -1 for k = 3/2
    found = margins(system([1.0], [1.0, -0.5], dt=0.1))
    assert found.gain_margin == pytest.approx(1.5, rel=1e-9)
    assert found.gain_margin_frequency == pytest.approx(np.pi / 0.1)


def test_sampled_controller_samples_a_second_order_plant():
    plant = beams.hub_beam(3, ("torque",), ("hub",), ratio=0.01)
    loop = loop_gain(plant, sampled_pd(0.29, 0.01, 1e-3))
    z = np.exp(1j * 1e-3 * np.array([3.0, 50.0]))
    right = transfer(plant.discrete(1e-3), z)[0, 0] * (0.29 + 10.0 * (1 - 1 / z))
    assert loop.transfer(z)[0, 0] == pytest.approx(right)


# ---- composition ---------------------------------------------------------------------------------------------------


def test_a_law_acts_on_the_measurement_and_a_transfer_function_on_the_error():
    plant = beams.hub_beam(3, ("torque", "force"), ("tip", "hub"), ratio=0.01)
    s = 1j * np.array([1.0, 20.0])
    P = transfer(plant, s)[1, 0]
    law = LinearLaw(0.0, ("hub",), ("torque",), Dy=np.array([[-3.0]]))
    assert loop_gain(plant, law).transfer(s)[0, 0] == pytest.approx(3.0 * P)
    gain = system([3.0], [1.0], names=("hub", "torque"))
    assert loop_gain(plant, gain).transfer(s)[0, 0] == pytest.approx(3.0 * P)


def test_series_matches_names():
    plant = beams.hub_beam(3, ("torque",), ("tip", "hub"), ratio=0.01)
    filtered = series(plant, system([1.0], [0.1, 1.0], names=("hub", "filtered")))
    s = 1j * np.array([1.0, 20.0])
    assert filtered.transfer(s)[0, 0] == pytest.approx(transfer(plant, s)[1, 0] / (1 + 0.1 * s))
    assert [o.name for o in filtered.outputs] == ["filtered"]
    with pytest.raises(DefinitionError, match=r'unknown output "hubb" .*did you mean "hub"'):
        series(plant, system([1.0], [1.0, 1.0], names=("hubb", "y")))
    with pytest.raises(DefinitionError, match='unknown plant input "motor"'):
        loop_gain(plant, system([1.0], [1.0, 1.0], names=("hub", "motor")))


def test_two_sample_times_must_be_multiples():
    plant = beams.hub_beam(3, ("torque",), ("hub",), ratio=0.01)
    with pytest.raises(DefinitionError, match=r"every 0\.0015 s, the plant is sampled every 0\.001 s: .*multiple"):
        loop_gain(plant.discrete(1e-3), sampled_pd(1.0, 0.1, 1.5e-3))
    twice, direct = (loop_gain(plant.discrete(dt), sampled_pd(1.0, 0.1, 2e-3)) for dt in (1e-3, 2e-3))
    z = np.exp(1j * np.array([0.01, 0.7, 3.0]))
    assert twice.transfer(z) == pytest.approx(direct.transfer(z), rel=1e-9)


def test_a_sampled_law_reads_before_its_command_acts():
    """An acceleration fed back at once, u[k] = -g a, with a = u[k-1]/m before the jump: unstable beyond g = m."""
    plant = from_matrices([[1.0]], [[0.2]], [[100.0]], [[1.0]], Ca=[[1.0]], inputs=["f"], outputs=["a"])
    laws = {gain: LinearLaw(1e-3, ("a",), ("f",), Dy=[[-gain]]) for gain in (0.5, 0.95, 1.05)}
    growing = {gain: bool(loop_poles(plant, law.feedback()).real.max() > 0.0) for gain, law in laws.items()}
    assert growing == {0.5: False, 0.95: False, 1.05: True}
    found = margins(loop_gain(plant, laws[0.5]))
    # the loop turns negative at the Nyquist frequency, two decades above the poles of the plant
    assert found.gain_margin == pytest.approx(2.0, rel=1e-3)
    assert found.gain_margin_frequency == pytest.approx(np.pi / 1e-3)


def test_one_of_two_loops_with_the_other_closed():
    # P = [[1/(s+1), 1/(s+2)], [0.5/(s+1), 1/(s+3)]], K = diag(8, 3)/(0.3 s + 1): break the first, close the second
    one = FirstOrder(
        np.diag([-1.0, -2.0, -1.0, -3.0]), np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]]),
        np.array([[1.0, 1, 0, 0], [0, 0, 0.5, 1]]), np.zeros((2, 2)), tuple(Signal(f"x{i}") for i in range(4)),
        (Signal("u1"), Signal("u2")), (Signal("y1"), Signal("y2")),
    )
    gains = FirstOrder(
        -np.eye(2) / 0.3, np.eye(2) / 0.3, np.diag([8.0, 3.0]), np.zeros((2, 2)), (Signal("k1"), Signal("k2")),
        (Signal("y1"), Signal("y2")), (Signal("u1"), Signal("u2")),
    )
    loop = loop_gain(one, gains)
    found = margins(loop, "u1")

    def broken(w):
        s = 1j * w
        direct, across, back, own = 1 / (s + 1), 1 / (s + 2), 0.5 / (s + 1), 1 / (s + 3)
        lag = 1 / (0.3 * s + 1)
        return 8 * lag * (direct - across * 3 * lag * back / (1 + 3 * lag * own))

    right = brute(broken, np.geomspace(1e-3, 1e3, 400_000))
    assert found.phase_margin_deg == pytest.approx(right["phase_margin_deg"], rel=1e-6)
    assert found.disk_margin == pytest.approx(right["disk_margin"], rel=1e-6)
    assert found.disk_margin < 1.0
    with pytest.raises(DefinitionError, match="name the channel"):
        margins(loop)
    with pytest.raises(DefinitionError, match='unknown channel "u3"'):
        margins(loop, "u3")


def test_two_loops_that_both_integrate_twice():
    """A free arm with two joints under PD: at s = 0 there are only infinities, which decide nothing."""
    J = np.array([[2.52, 0.7875], [0.7875, 0.315]])
    zero, one = np.zeros((2, 2)), np.eye(2)
    arm = FirstOrder(
        np.block([[zero, one], [zero, zero]]), np.vstack([zero, np.linalg.inv(J)]), np.eye(4), np.zeros((4, 2)),
        tuple(Signal(f"x{i}") for i in range(4)), (Signal("t1"), Signal("t2")),
        tuple(Signal(name) for name in ("q1", "q2", "v1", "v2")),
    )
    kp, kv = np.diag([360.0, 720.0]), np.diag([60.0, 30.0])
    law = LinearLaw(0.0, ("q1", "q2", "v1", "v2"), ("t1", "t2"), Dy=np.hstack([-kp, -kv]))
    found = margins(loop_gain(arm, law), "t1")

    def broken(w):
        s = 1j * w
        L = np.linalg.inv(J * (s**2)[:, None, None]) @ (kp + kv * s[:, None, None])
        return 1.0 / np.linalg.inv(np.eye(2) + L.swapaxes(1, 2))[:, 0, 0] - 1.0

    right = brute(broken, np.geomspace(1e-2, 1e4, 200_000))
    assert found.phase_margin_deg == pytest.approx(right["phase_margin_deg"], rel=1e-5)
    assert found.disk_margin == pytest.approx(right["disk_margin"], rel=1e-5)


def test_what_is_not_a_loop_is_refused():
    plant = beams.hub_beam(3, ("torque",), ("hub", "tip"))
    with pytest.raises(DefinitionError, match="not square"):
        margins(plant)


def test_a_python_control_system_is_taken_as_it_is():
    gain = ct.ss([], [], [], [[1.0]], inputs=["hub"], outputs=["torque"])
    plant, at = beams.hub_beam(3, ("torque",), ("hub", "tip")), np.array([30.0j])
    for given in (gain, from_control(gain)):
        np.testing.assert_array_equal(loop_gain(plant, given).transfer(at)[0], plant.transfer(at)[0])


def test_unknown_poles_need_a_range():
    class Delay:
        inputs = outputs = (Signal("u"),)

        def transfer(self, s):
            return (0.5 * np.exp(-s))[None, None]

    with pytest.raises(DefinitionError, match="give lo and hi"):
        margins(Delay())
    found = margins(Delay(), lo=0.01, hi=10.0)
    assert found.gain_margin == pytest.approx(2.0)
    assert found.phase_crossings == pytest.approx(np.pi * np.array([1, 3]))


def test_text_and_dictionary():
    found = margins(system([1.5], [1.0, 3.0, 2.0, 0.0]))
    text = str(found)
    assert "gain margin     4 (12 dB)" in text
    assert text.splitlines()[6:] == ["closed loop     stable"]
    assert "peak of S       1.904" in text
    values = found.to_dict()
    assert json.loads(json.dumps(values))["gain_margin"] == pytest.approx(4.0)
    assert values["gain_crossings"] == found.gain_crossings.tolist()
    assert replace(found, gain_margin=2.0).gain_margin_db == pytest.approx(6.0206)


@pytest.mark.parametrize("gain", [0.5, 7.9, 8.1, 50.0])
def test_margins_say_on_which_side_of_the_boundary_they_are(gain: float) -> None:
    """k / (s + 1)^3 closes stable up to k = 8."""
    found = margins(ct.tf([gain], [1.0, 3.0, 3.0, 1.0]))
    assert found.stable is (gain < 8.0)
    assert ("UNSTABLE" in str(found)) is (gain > 8.0)
    assert found.to_dict()["stable"] is (gain < 8.0)


@pytest.mark.parametrize(("rate", "stable"), [(4.0, True), (-4.0, False), (250.0, False)])
@pytest.mark.parametrize("period", [0.0, 1e-2])
def test_the_side_is_that_of_the_loop_closed_by_its_law(period: float, rate: float, stable: bool) -> None:
    """A mass on a spring by hand: damped by its rate, or not; sampled, a rate of more than 2/T overshoots."""
    plant = from_matrices([[1.0]], K=[[9.0]], B=[[1.0]], C=[[1.0], [0.0]], Cv=[[0.0], [1.0]],
                          inputs=["u"], outputs=["y", "rate"])
    law = LinearLaw(period, ("y", "rate"), ("u",), Dy=[[-5.0, -rate]])
    assert margins(loop_gain(plant, law)).stable is (stable or (period == 0.0 and rate > 0.0))


def test_a_loop_solves_for_its_own_channels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a plant with nine inputs and seventeen outputs a loop of one joint needs one of each."""
    plant = fx.load_plant("spatial_3r", overrides={"model.elements": 1}).linearise()
    law = fx.LinearLaw(1e-3, ("joint2_angle", "joint2_rate"), ("joint2_torque",), Dy=[[-400.0, -60.0]])
    loop = fx.loop_gain(plant, law)
    s = np.exp(1e-3j * np.linspace(1.0, 3000.0, 7))
    solved: list[int] = []

    def told(T: Any, z: Any, x: Any, whole: Any = resolvent_pivoted.triangular) -> None:
        solved.append(x.shape[1])
        whole(T, z, x)

    evaluator = evaluate.prepared(loop)
    monkeypatch.setattr(resolvent_pivoted, "triangular", told)
    L = evaluator(s)
    assert solved == [7, 7], "and one step of refinement"
    whole = evaluate.evaluator(loop.first)(s)
    rows, column = [fx.names(loop.first.outputs).index(name) for name in law.measures], 1
    assert fx.names(loop.first.inputs)[column] == "joint2_torque"
    np.testing.assert_allclose(L[0, 0], np.array([400.0, 60.0]) @ whole[rows, column], rtol=1e-9)
