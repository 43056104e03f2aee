"""Sampled plants and controllers against closed forms, and against time stepping written out here."""

from __future__ import annotations

from dataclasses import replace

import beams
import numpy as np
import pytest
import scipy.linalg as sla

from flexctl.errors import DefinitionError
from flexctl.kernels.schemes import Scheme, generalised_alpha
from flexctl.linear import FirstOrder, SecondOrder
from flexctl.linear.conversion import continued, discretise
from flexctl.linear.discrete import delay_outputs, newmark_plant, scheme_plant, zero_order_hold
from flexctl.linear.matrices import from_matrices
from flexctl.linear.realise import first_order
from flexctl.model import Signal, names


def run(plant: FirstOrder, u: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
    """Outputs of a sampled plant, one row per sample."""
    x = np.zeros(plant.A.shape[0]) if x is None else x
    y = []
    for now in u:
        y.append(plant.C @ x + plant.D @ now)
        x = plant.A @ x + plant.B @ now
    return np.array(y)


def double_integrator(inertia: float) -> SecondOrder:
    return from_matrices([[inertia]], None, [[0.0]], [[1.0]], inputs=["torque"], outputs=["angle"])


def notch(hertz: float, zeta: float, width: float) -> FirstOrder:
    w = 2 * np.pi * hertz
    A, B, C = [[0, w], [-w, -2 * width * w]], [0, w], [0, 2 * (zeta - width)]
    return from_matrices(A=A, B=B, C=C, D=1.0, inputs=["error"], outputs=["torque"])


def gain(plant: FirstOrder, z: np.ndarray) -> np.ndarray:
    I = np.eye(plant.A.shape[0])
    return np.array([(plant.C @ np.linalg.solve(x * I - plant.A, plant.B) + plant.D)[0, 0] for x in z])


# --- zero-order hold -------------------------------------------------------------------------------------------------


def test_double_integrator_is_exact():
    dt = 0.003
    sampled = zero_order_hold(double_integrator(1.0), dt)
    assert sampled.A.tolist() == [[1.0, dt], [0.0, 1.0]]
    assert sampled.B.tolist() == [[0.5 * dt * dt], [dt]]


@pytest.mark.parametrize("zeta", [0.0, 1e-4, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("omega_dt", [1e-4, 0.3, 3.0, 50.0, 2e4])
def test_one_mode_from_slow_to_far_above_the_sampling_rate(zeta, omega_dt):
    """Step and initial-rate response of eta'' + 2 zeta w eta' + w^2 eta = u in closed form, 80-bit."""
    dt = 1e-3
    w, t = np.longdouble(omega_dt / dt), np.longdouble(dt)
    d = np.sqrt(np.clongdouble(1.0 - np.longdouble(zeta) ** 2)) * w
    e = np.exp(-np.longdouble(zeta) * w * t)
    # cos and sin of a complex argument in exponentials that do not overflow
    grow, shrink = np.exp((1j * d - zeta * w) * t), np.exp((-1j * d - zeta * w) * t)
    cosine, sine = ((grow + shrink) / 2).real, (e * t if d == 0 else ((grow - shrink) / (2j * d)).real)
    step = (1 - cosine - zeta * w * sine) / w**2
    if omega_dt < 1e-3:  # the closed form cancels
        step = t * t / 2 * (1 - 2 * zeta * w * t / 3)
    plant = from_matrices([[1.0]], [[2 * zeta * omega_dt / dt]], [[(omega_dt / dt) ** 2]], [[1.0]])
    sampled = zero_order_hold(first_order(plant), dt)
    # states are (w eta, eta'); angles are known to eps times omega dt
    tolerance = 1e-14 * max(1.0, omega_dt)
    assert sampled.A[0, 1] == pytest.approx(float(w * sine), abs=tolerance)
    assert sampled.A[1, 1] == pytest.approx(float(cosine - zeta * w * sine), abs=tolerance)
    assert sampled.B[0, 0] * float(w) == pytest.approx(
        float(step * w**2), rel=1e-8 if omega_dt < 1e-3 else 1e-9, abs=tolerance
    )
    assert sampled.B[1, 0] == pytest.approx(float(sine), abs=tolerance * dt)


@pytest.mark.parametrize("form", ["modal", "energy", "physical"])
def test_two_short_steps_are_one_long_step(form):
    plant = beams.hub_beam(4, ratio=0.02)
    D = plant.D.copy()
    D[0, 0] += 0.01  # hub friction: not modal
    realised = first_order(replace(plant, D=D), form)
    short, long = zero_order_hold(realised, 1e-4), zero_order_hold(realised, 2e-4)
    assert np.abs(short.A @ short.A - long.A).max() < 1e-11 * np.abs(long.A).max()
    assert np.abs(short.A @ short.B + short.B - long.B).max() < 1e-11 * np.abs(long.B).max()


def test_blocks_and_whole_exponential_agree():
    plant = first_order(beams.hub_beam(6, ratio=0.01))
    sampled = zero_order_hold(plant, 2e-3)
    n, p = plant.B.shape
    Z = sla.expm(np.block([[plant.A, plant.B], [np.zeros((p, n + p))]]) * 2e-3)
    assert np.abs(sampled.A - Z[:n, :n]).max() < 1e-9
    assert np.abs(sampled.B - Z[:n, n:]).max() < 1e-11


def test_a_rigid_mode_that_a_flexible_one_pushes_keeps_its_drift_exact():
    A = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.5], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -100.0, -0.2]])
    states = tuple(Signal(name) for name in ("x", "v", "eta", "eta_rate"))
    plant = FirstOrder(A, np.eye(4)[:, [1]], np.eye(4), np.zeros((4, 1)), states, (Signal("force"),), states)
    sampled = zero_order_hold(plant, 0.01)
    Z = sla.expm(np.block([[A, plant.B], [np.zeros((1, 5))]]) * 0.01)
    assert sampled.A[:, :2].tolist() == [[1.0, 0.01], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(sampled.A, Z[:4, :4], rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(sampled.B, Z[:4, 4:], rtol=1e-12, atol=1e-16)


def test_coupled_rigid_mode_keeps_its_integrator_exact():
    plant = beams.hub_beam(5)
    D = plant.D.copy()
    D[0, 0] += 0.02
    sampled = zero_order_hold(first_order(replace(plant, D=D)), 1e-3)
    assert sampled.A[:, 0].tolist() == np.eye(sampled.A.shape[0])[0].tolist()


@pytest.mark.parametrize("delay", [0.0, 0.3, 1.0, 1.7, 3.0])
def test_delay_equals_a_late_staircase_on_a_fine_grid(delay):
    dt, fine = 1e-3, 10
    plant = first_order(beams.hub_beam(3, outputs=("hub", "tip", "tip_acceleration"), ratio=0.05))
    u = np.random.default_rng(0).standard_normal((30, 1))
    sampled = zero_order_hold(plant, dt, delay=delay * dt)
    late = np.concatenate([np.zeros((round(delay * fine), 1)), np.repeat(u, fine, axis=0)])[: 30 * fine]
    expected = run(zero_order_hold(plant, dt / fine), late)[::fine]
    # the fine grid reads feed-through after a jump that falls on a sample, like the delayed plant
    assert np.abs(run(sampled, u) - expected).max() < 1e-9 * np.abs(expected).max()
    assert [s for s in names(sampled.states) if "delay" in s] == [
        f"torque_delay{i}" for i in range(int(np.ceil(delay)), 0, -1)
    ]


def test_delay_states_are_named_from_the_latest_input_on():
    sampled = zero_order_hold(first_order(double_integrator(1.0)), 1.0, delay=2.0)
    assert names(sampled.states) == ["rigid1", "rigid1_rate", "torque_delay2", "torque_delay1"]
    after = run(sampled, np.array([[1.0], [0.0], [0.0], [0.0], [0.0]]))
    assert after[:, 0].tolist() == [0.0, 0.0, 0.0, 0.5, 1.5]


def test_outputs_of_a_controller_can_be_delayed():
    law = discretise(notch(32, 0.02, 0.5), 1e-3, "matched")
    late = delay_outputs(law, 2)
    u = np.random.default_rng(1).standard_normal((20, 1))
    assert run(late, u)[2:] == pytest.approx(run(law, u)[:-2], abs=1e-12)
    assert not run(late, u)[:2].any()
    assert names(late.states)[-2:] == ["torque_delay1", "torque_delay2"]
    assert names(late.outputs) == ["torque"]


@pytest.mark.parametrize("arguments", [(0.0,), (-1e-3,), (np.nan,), (np.inf,), (1e-3, -1e-3), (1e-3, np.nan)])
def test_impossible_times_are_refused(arguments):
    with pytest.raises(DefinitionError):
        zero_order_hold(first_order(double_integrator(1.0)), *arguments)


def test_sampled_plants_are_not_sampled_again():
    sampled = zero_order_hold(first_order(double_integrator(1.0)), 1e-3)
    with pytest.raises(DefinitionError, match="already sampled"):
        zero_order_hold(sampled, 1e-3)
    with pytest.raises(DefinitionError, match="discretise it first"):
        delay_outputs(first_order(double_integrator(1.0)), 1)


# --- controllers -----------------------------------------------------------------------------------------------------


def deepest(sampled: FirstOrder, dt: float) -> tuple[float, float]:
    """Frequency [Hz] and depth [dB] of the minimum between 28 and 34 Hz."""
    hertz = np.arange(28.0, 34.0, 0.002)
    size = np.abs(gain(sampled, np.exp(2j * np.pi * hertz * dt)))
    return hertz[size.argmin()], 20 * np.log10(size.min())


def test_notch_moves_under_tustin_and_hold_but_not_prewarped_or_matched():
    dt, law = 1e-3, notch(32.0, 0.02, 0.5)
    true_depth = 20 * np.log10(0.02 / 0.5)
    expected = {"tustin": 31.89, "prewarped": 32.00, "matched": 32.00, "zoh": 30.51}
    for method, hertz in expected.items():
        found, depth = deepest(discretise(law, dt, method, 2 * np.pi * 32 if method == "prewarped" else None), dt)
        assert found == pytest.approx(hertz, abs=0.006), method
        assert depth == pytest.approx(true_depth + (1.26 if method == "zoh" else 0.0), abs=0.01), method


@pytest.mark.parametrize(("hertz", "percent"), [(12.0, -0.047), (58.0, -1.09), (102.0, -3.23)])
def test_tustin_lowers_every_frequency_by_the_arc_tangent(hertz, percent):
    dt = 1e-3
    sampled = discretise(notch(hertz, 1e-3, 0.5), dt)
    zeros = sla.eigvals(sampled.A - sampled.B @ sampled.C / sampled.D[0, 0])
    moved = np.abs(np.log(zeros[0])) / (2 * np.pi * dt)
    assert 100 * (moved / hertz - 1) == pytest.approx(percent, abs=0.02)


def test_matched_keeps_every_pole_and_zero_and_the_gain():
    rng = np.random.default_rng(4)
    A = (
        np.diag([-3.0, -40.0, -5.0, -5.0, -0.3])
        + np.diag([0.0, 0.0, 70.0, 0.0], 1)
        - np.diag([0.0, 0.0, 70.0, 0.0], -1)
    )
    law = from_matrices(A=A, B=rng.standard_normal(5), C=rng.standard_normal(5), D=0.7, inputs=["e"], outputs=["u"])
    dt = 2e-3
    sampled = discretise(law, dt, "matched")
    expected = np.sort_complex(np.exp(sla.eigvals(A) * dt))
    assert np.sort_complex(sampled.poles()) == pytest.approx(expected, rel=1e-9)
    zeros = np.exp(sla.eigvals(A - law.B @ law.C / 0.7) * dt)
    moved = sla.eigvals(sampled.A - sampled.B @ sampled.C / sampled.D[0, 0])
    assert np.sort_complex(moved) == pytest.approx(np.sort_complex(zeros), rel=1e-7)
    assert gain(sampled, np.array([1.0])) == pytest.approx(gain(law, np.array([0.0])), rel=1e-10)
    assert (names(sampled.inputs), names(sampled.outputs)) == (["e"], ["u"])


@pytest.mark.parametrize("numerator", [0.0, 1.0])
def test_matched_keeps_the_gain_of_an_integrator_where_it_is_finite(numerator):
    # (0.2 + numerator s)/(s (1 + 0.01 s)): infinite at 0
    A, C = [[0.0, 1.0], [0.0, -100.0]], [20.0, 100.0 * numerator]
    law = from_matrices(A=A, B=[0.0, 1.0], C=C)
    sampled = discretise(law, 1e-3, "matched")
    omega = np.array([0.1, 1.0, 5.0])
    assert np.abs(gain(sampled, np.exp(1j * omega * 1e-3))) == pytest.approx(np.abs(gain(law, 1j * omega)), rel=1e-4)
    with pytest.raises(DefinitionError, match="another omega"):
        discretise(law, 1e-3, "matched", omega=0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1e-3, "tustn"), 'did you mean "tustin"'),
        ((1e-3, "prewarped"), "needs omega"),
        ((1e-3, "prewarped", 4000.0), "half the sampling rate"),
        ((0.0,), "positive"),
    ],
)
def test_conversion_refuses_what_cannot_be(arguments, message):
    with pytest.raises(DefinitionError, match=message):
        discretise(notch(32, 0.02, 0.5), *arguments)


def test_continued_is_what_tustin_made_it_from():
    plant = zero_order_hold(beams.hub_beam(3, outputs=("hub", "tip"), ratio=0.01), 1e-3, delay=1e-3)
    back = continued(plant)
    again = discretise(back, 1e-3)
    for key in "ABCD":
        np.testing.assert_allclose(getattr(again, key), getattr(plant, key), rtol=0, atol=1e-10)
    w = np.array([3.0, 40.0, 900.0])
    s = 2e3 * np.tan(0.5e-3 * w) * 1j  # the bilinear map turns the circle into the axis
    np.testing.assert_allclose(back.transfer(s), plant.transfer(np.exp(1e-3j * w)), rtol=1e-8)
    assert (back.dt, names(back.outputs)) == (0.0, names(plant.outputs))
    with pytest.raises(DefinitionError, match="continuous already"):
        continued(back)
    with pytest.raises(DefinitionError, match="z = -1"):
        continued(replace(plant, A=-np.eye(len(plant.A))))


def test_matched_is_for_single_channels():
    law = from_matrices(A=[[-1.0]], B=[[1.0, 2.0]], C=[1.0])
    with pytest.raises(DefinitionError, match="one input and one output"):
        discretise(law, 1e-3, "matched")


# --- the discrete system of a scheme ---------------------------------------------------------------------------------


def march(plant: SecondOrder, u: np.ndarray, h: float, substeps: int, scheme: Scheme) -> np.ndarray:
    """Generalised-alpha as Arnold and Brüls print it; inputs held over a sample, accelerations recomputed at jumps."""
    n = plant.M.shape[0]
    q, v, a, shifted, y = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), []
    am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
    for now in u:
        jumped = np.linalg.solve(plant.M, plant.B @ now - plant.D @ v - plant.K @ q)
        shifted, a = shifted + jumped - a, jumped
        y.append(plant.Cq @ q + plant.Cv @ v + plant.Ca @ a + plant.Du @ now)
        for _ in range(substeps):
            # unknowns (q, v, a, shifted) at the end of the step, solved together
            I, O = np.eye(n), np.zeros((n, n))
            left = np.block([
                [I, O, O, -h * h * beta * I],
                [O, I, O, -h * gamma * I],
                [O, O, -(1 - af) * I, (1 - am) * I],
                [plant.K, plant.D, plant.M, O],
            ])
            right = np.concatenate([
                q + h * v + h * h * (0.5 - beta) * shifted, v + h * (1 - gamma) * shifted,
                af * a - am * shifted, plant.B @ now,
            ])
            q, v, a, shifted = np.split(np.linalg.solve(left, right), 4)
    return np.array(y)


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize(
    "scheme", [Scheme(0, 0, 0.25, 0.5), Scheme(0, 0, 0.3025, 0.6), generalised_alpha(0.8), generalised_alpha(0.0)]
)
def test_scheme_plant_is_the_marching_scheme(scheme, substeps):
    plant = beams.hub_beam(3, outputs=("hub", "tip", "tip_acceleration"), ratio=0.01)
    u = np.random.default_rng(5).standard_normal((40, 1))
    sampled = scheme_plant(plant, 1e-3, scheme, substeps)
    expected = march(plant, u, 1e-3 / substeps, substeps, scheme)
    assert np.abs(run(sampled, u) - expected).max(axis=0) == pytest.approx(0.0, abs=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("beta", "gamma", "order"), [(0.25, 0.5, 2), (0.0, 0.5, 2), (0.3025, 0.6, 1)])
def test_newmark_plant_approaches_the_exact_one_at_its_order(beta, gamma, order):
    plant = from_matrices([[2.0]], [[0.8]], [[300.0]], [[1.0]])
    u = np.sin(np.arange(40.0))[:, None]
    exact = run(zero_order_hold(first_order(plant), 0.02), u)
    errors = [np.abs(run(newmark_plant(plant, 0.02, beta, gamma, k), u) - exact).max() for k in (16, 32)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_central_differences_lose_stability_at_two_over_omega():
    plant = beams.hub_beam(6)
    limit = 2.0 / np.sqrt(sla.eigvalsh(plant.K, plant.M)[-1])
    stable, unstable = (newmark_plant(plant, f * limit, 0.0, 0.5) for f in (0.99, 1.01))
    assert np.abs(stable.poles()).max() < 1.0 + 1e-5
    assert np.abs(unstable.poles()).max() > 1.1


def test_scheme_plants_keep_names_and_refuse_singular_mass():
    plant = beams.hub_beam(2)
    sampled = newmark_plant(plant, 1e-3)
    assert names(sampled.states) == [*names(plant.coordinates), *(f"{c}_rate" for c in names(plant.coordinates))]
    assert (names(sampled.inputs), names(sampled.outputs)) == (["torque"], ["hub", "tip"])
    assert sampled.provenance["scheme"]["beta"] == 0.25
    with pytest.raises(DefinitionError, match="mass matrix is singular"):
        newmark_plant(from_matrices(np.diag([1.0, 0.0]), None, np.eye(2), np.ones(2)), 1e-3, 0.0, 0.5)
