"""RALF (Lee, Huggins and Book 1988) with the identified parameters of `plants/ralf.toml`.

Reference numbers are those of an independent code of the same equations (Gauss points, other integrator) and of an own
frame FEM; the paper's tables stand beside them.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from servo_paths import ServoSine

from flexctl.catalogue import load_plant
from flexctl.kernels.schemes import generalised_alpha
from flexctl.linear import independent_basis, linearise
from flexctl.linear.equilibrium import accelerations, equilibrium
from flexctl.linear.modes import normal_modes
from flexctl.linear.steady import lock
from flexctl.model import names
from flexctl.models.assumed_modes.poses import rates
from flexctl.models.wrappers.motion_driven import motion_driven
from flexctl.simulation.rigid_prescribed import prescribed_response
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array

HERE = {"joint1": np.pi / 2, "joint2": np.pi / 6}
CONSTRAINED = [7.8310, 16.9412, 30.8172, 104.4269, 119.9812, 127.0935]


@cache
def ralf(**changes):
    """The arm without its cylinders, which `test_actuators` puts back."""
    torques = {"joint.1.drive": "torque", "joint.2.drive": "torque"}
    given = {key.replace("__", "."): value for key, value in changes.items()}
    return load_plant("ralf", overrides=torques | given).model


weightless = partial(ralf, gravity__y=0.0)


def locked(model, at=None) -> Array:
    return lock(linearise(model, at), list(HERE)).modes(6).frequencies_hz


def test_constrained_frequencies() -> None:
    """Equation (3.4); the paper's column 7.84 16.90 30.70 104 120 127 Hz is met within half a percent."""
    found = locked(weightless())
    np.testing.assert_allclose(found, CONSTRAINED, rtol=1e-5)
    np.testing.assert_allclose(found, [7.84, 16.90, 30.70, 104.0, 120.0, 127.0], rtol=5e-3)


def test_two_modes_per_link_are_enough() -> None:
    found = locked(weightless(model__modes=(8, 0, 8, 8)))
    np.testing.assert_allclose(found, [7.8310, 16.9412, 30.8170, 104.4252, 119.9788, 127.0797], rtol=1e-5)


@pytest.mark.parametrize(
    ("drive", "wanted"),
    [
        ("free", [8.2155, 17.0032, 29.8564, 104.4680, 119.4257, 126.7434]),  # theta3 against the base
        ("torque", [6.8457, 18.8576, 29.8564, 93.5309, 119.4257, 149.2521]),  # against the tangent of the lower tip
    ],
)
def test_unconstrained_frequencies(drive: str, wanted: list[float]) -> None:
    """Equation (3.3): elastic coordinates alone. The paper's 8.17 17.80 30.00 104 120 127.5 Hz need theta3 absolute."""
    model = weightless(joint__3__drive=drive)
    flexible = slice(4, None)
    q = model.reference()
    modes = normal_modes(model.mass(q)[flexible, flexible], model.tree.K[flexible, flexible])
    np.testing.assert_allclose(modes.omega / (2 * np.pi), wanted, rtol=1e-5)


def test_axial_stretch_explains_the_column_of_the_finite_elements() -> None:
    """FEM, with its true EA: 7.83 15.90 30.76 94.68 Hz; stretch of lower and actuating link lie in one chain of forces.

    The actuating link alone explains half of it.
    """
    both = locked(weightless(model__axial=(1, 0, 1, 1), model__modes=(8, 0, 8, 8)))
    np.testing.assert_allclose(both, [7.8250, 15.9080, 30.8067, 94.0222, 119.8265, 126.9523], rtol=3e-4)
    np.testing.assert_allclose(both[:4], [7.83, 15.90, 30.76, 94.68], rtol=8e-3)
    alone = locked(weightless(model__axial=(0, 0, 0, 1)))
    np.testing.assert_allclose(alone[[1, 3]], [16.4360, 101.2211], rtol=1e-5)


def test_matrices_of_the_reduced_arm() -> None:
    model = ralf()
    q = model.reference()
    N, kept = independent_basis(model.closure_jacobian(q), (), [0, 1])
    assert names(model.coordinates[i] for i in kept)[:3] == ["joint1", "joint2", "link1_w1"]
    M = (N.T @ model.mass(q) @ N)[:2, :2]
    np.testing.assert_allclose(M, [[251.217022, 11.167671], [11.167671, 19.655106]], rtol=1e-7)
    stiffness = [6.43821e4, 3.99468e8, 1.59221e4, 6.25324e5, 1.24477e5, 1.99163e6]
    np.testing.assert_allclose(np.diag(model.tree.K)[4:], stiffness, rtol=3e-6)


def test_equilibrium() -> None:
    model = ralf()
    at = equilibrium(model, hold=HERE)
    np.testing.assert_allclose(at.u, [0.0, 48.5302, 0.0, 0.0, 0.0], rtol=1e-6, atol=1e-9)
    assert at.q[6] == pytest.approx(-1.226096e-3, rel=1e-6)
    y = dict(zip(names(model.outputs), model.output(at.q, at.v, at.a, at.u), strict=True))
    assert y["strain_upper"] == pytest.approx(-9.977e-6, abs=1e-9)
    assert abs(y["strain_lower"]) < 1e-12
    np.testing.assert_allclose(
        locked(model, at), [7.83403, 16.94125, 30.81762, 104.42688, 119.98123, 127.09352], rtol=1e-6
    )


def test_poles_with_torques() -> None:
    """Both links are inverted pendulums."""
    plant = linearise(ralf(), equilibrium(ralf(), hold=HERE))
    poles = plant.first_order().poles()
    real = np.sort(poles.real[np.abs(poles.imag) < 1e-6])
    np.testing.assert_allclose(real, [-1.917721, -1.183498, 1.183498, 1.917721], rtol=1e-6)
    hertz = np.sort(poles.imag[poles.imag > 1.0]) / (2 * np.pi)
    np.testing.assert_allclose(hertz, [30.14452, 55.07990, 82.19386, 120.35332, 127.04877, 465.54463], rtol=1e-6)
    still = linearise(weightless()).modes()
    assert still.rigid_modes == 2
    np.testing.assert_allclose(
        still.frequencies_hz, [30.14377, 55.07529, 82.14113, 120.35366, 127.04248, 465.3394], rtol=1e-6
    )
    gain = plant.transfer(np.array([0j]))[:, :2, 0].real
    rows = [names(plant.outputs).index(f"joint{i}_angle") for i in (1, 2)]
    np.testing.assert_allclose(gain[rows], np.diag([-1.127278e-3, -3.572090e-2]), rtol=1e-6, atol=1e-12)


def test_poles_with_the_joints_led() -> None:
    """The flexible poles of the servo model, and two double integrators."""
    model = motion_driven(ralf(), ralf().joints)
    plant = linearise(model, equilibrium(model, hold=HERE))
    poles = plant.first_order().poles()
    flexible = np.sort(poles.imag[poles.imag > 1.0])
    np.testing.assert_allclose(flexible, [49.2226, 106.445, 193.633, 656.133, 753.864, 798.552], rtol=2e-6)
    assert np.sum(np.abs(poles) < 1e-2) == 4
    # what the free joints bring of the led ones' inertia is taken off by whole rows: the poles stay, M is symmetric
    led = [plant.coordinates.index(s) for s in plant.coordinates if s.name in ("joint1", "joint2")]
    rest = np.setdiff1d(np.arange(len(plant.M)), led)
    assert np.abs(plant.M[np.ix_(rest, led)]).max() <= 1e-9 * np.abs(plant.M).max()
    np.testing.assert_allclose(plant.M, plant.M.T, atol=1e-9 * np.abs(plant.M).max())


@pytest.mark.parametrize(
    ("length", "wanted"), [(9.8 * 0.3048, (-8.67777, 8.32266)), (3.048, (-8.0459123, 10.610589586))]
)
def test_signs_of_the_equations(length: float, wanted: tuple[float, float]) -> None:
    """With (2.21)'s last sign flipped: -7.98766, 3.61252 rad/s^2 for 9.8 ft; a parallelogram shows nothing."""
    model = ralf(link__4__length=length)
    q, v = model.pose(np.radians([80.0, 10.0])), np.zeros(10)
    v[:2] = 2.0, -3.0
    a, _ = accelerations(model, q, rates(model, q, v), np.zeros(5))
    np.testing.assert_allclose(a[:2], wanted, rtol=1e-5)


def test_null_space_turns_unless_the_loop_is_a_parallelogram() -> None:
    """(2.20), q = V2 z + C: exact for straight links of a parallelogram, 2.3 mm off after 10 degrees with 9.8 ft."""
    for length, gap in ((3.048, 0.0), (9.8 * 0.3048, 2.31e-3)):
        model = ralf(link__4__length=length)
        q = model.reference()
        N, _ = independent_basis(model.closure_jacobian(q), (), [0, 1])
        turns = [np.radians(10.0) * sign * N[:, k] for k in (0, 1) for sign in (1, -1)]
        opened = [np.hypot(*model.closure(q + turn)) for turn in turns]
        assert max(opened) == pytest.approx(gap, abs=1e-12 if gap == 0 else 2e-5)


def swing():
    """The free motion: bent, thrown, and left to itself."""
    model = ralf()
    q, v = model.pose(np.radians([60.0, 10.0])), np.zeros(10)
    q[4] = q[6] = 0.02
    free = [2, 3]
    for _ in range(20):
        q[free] -= np.linalg.solve(model.closure_jacobian(q)[:, free], model.closure(q))
    v[:2] = 1.0, -1.0
    return model, q, rates(model, q, v)


def flow(model, q: Array, v: Array, until: float) -> tuple[Array, Array]:
    """The same equations as an ordinary differential equation, by order 8: M a + h + G^T lam = 0, G a = -bias."""
    c, n, m = model.compiled(), q.size, 2
    r, S, i = np.empty(n), np.empty((3 * n - 2, n)), np.arange(n)
    parts = [np.empty(shape) for shape in (m, m, (m, n), (m, n), (n, m))]
    kkt, u, rest = np.zeros((n + m, n + m)), np.zeros(7), np.zeros(n)

    def slope(t: float, x: Array) -> Array:
        q, v = x[:n].copy(), x[n:].copy()
        c.residual(0.0, q, v, rest, u, c.reals, c.ints, r)
        c.tangent(0.0, q, v, rest, u, 1.0, 0.0, 0.0, c.reals, c.ints, S)
        c.closure(q, v, c.reals, c.ints, *parts)
        kkt[:n, :n] = S[2 * (n - 1) + i[:, None] - i, i]
        kkt[:n, n:], kkt[n:, :n] = parts[4], parts[2]
        return np.concatenate([v, np.linalg.solve(kkt, np.concatenate([-r, -parts[1]]))[:n]])

    x = solve_ivp(slope, (0.0, until), np.concatenate([q, v]), method="DOP853", rtol=1e-9, atol=1e-12).y[:, -1]
    return x[:n], x[n:]


def test_free_motion() -> None:
    model, q, v = swing()
    energy = model.energy(q, v)
    assert energy.total == pytest.approx(917.310906, rel=1e-9)
    end, rate = flow(model, q, v, 0.5)
    np.testing.assert_allclose(end[:4], [1.3756001, -0.5258694, -0.5258284, 1.3790101], atol=1e-6)
    wanted = [1.025561e-2, 1.32061e-4, 6.40431e-4, -7.11155e-4, 5.49154e-4, 6.68985e-5]
    np.testing.assert_allclose(end[4:], wanted, atol=1e-7)
    assert abs(model.energy(end, rate).total - energy.total) < 1e-8 * energy.kinetic


def test_run_follows_the_free_motion_at_second_order_and_keeps_closures_and_energy() -> None:
    model, q, v = swing()
    end = flow(model, q, v, 0.05)[0]
    errors = []
    for h in (5e-5, 2.5e-5, 1.25e-5):
        run = simulate(model, duration=0.05, step=h, initial=(q, v), method="trapezoidal", record_states=True)
        errors.append(np.abs(run.q[-1] - end).max())
        places = [np.abs(model.closure(x)).max() for x in run.q[::20]]
        drifts = [np.abs(model.closure_jacobian(x) @ y).max() for x, y in zip(run.q[::20], run.v[::20], strict=True)]
        assert max(places) < 1e-10
        assert max(drifts) < 1e-8
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.1)
    drift = model.energy(run.q[-1], run.v[-1]).total - model.energy(q, v).total
    assert abs(drift) < 1e-5 * model.energy(q, v).kinetic


def paths(lower: float, upper: float) -> dict[str, ServoSine]:
    return {"joint1": ServoSine(HERE["joint1"], lower, "joint1"), "joint2": ServoSine(HERE["joint2"], upper, "joint2")}


def strains(run) -> Array:
    return 1e6 * np.array([run["strain_lower"], run["strain_upper"]])


def peaks(run) -> Array:
    """Largest and smallest change from static up to 1 s, both links [microstrain]."""
    change = strains(run) - strains(run)[:, :1]
    first = change[:, run.t <= 1.0 + 1e-9]
    return np.array([first.max(axis=1), first.min(axis=1)])


def test_strains_when_both_links_move() -> None:
    """2 degrees at 0.5 Hz through both servos, full nonlinear arm; paper, Fig. 4.5: lower-link vibration dominates."""
    run = simulate(ralf(), motions=paths(*np.radians([2.0, 2.0])), duration=2.5, step=5e-5, method="trapezoidal")
    at = [int(np.argmin(np.abs(run.t - t))) for t in (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)]
    wanted = [
        [0.0, -157.609, 143.462, 138.739, 164.295, 153.276], [-9.977, -1.792, 4.436, -2.438, -17.286, 31.273]
    ]
    np.testing.assert_allclose(strains(run)[:, at], wanted, atol=0.05)
    np.testing.assert_allclose(peaks(run), [[173.491, 42.220], [-158.475, -35.641]], rtol=5e-3)
    change = np.abs(strains(run) - strains(run)[:, :1])
    np.testing.assert_allclose(change.max(axis=1), [276.752, 55.864], rtol=5e-3)
    np.testing.assert_allclose([run["tip_x"][at[4]], run["tip_y"][at[4]]], [2.471579, 4.659649], atol=2e-6)


def test_strains_when_the_upper_link_moves() -> None:
    """Fig. 4.6: the upper link hardly shakes the lower one."""
    run = simulate(ralf(), motions=paths(0.0, np.radians(2.0)), duration=1.0, step=5e-5, method="trapezoidal")
    np.testing.assert_allclose(peaks(run), [[12.042, 33.431], [-11.249, -31.584]], rtol=5e-3)
    half = int(np.argmin(np.abs(run.t - 0.5)))
    np.testing.assert_allclose(strains(run)[:, half], [11.091, -39.046], atol=0.05)


@pytest.mark.parametrize(
    ("projected", "wanted"),
    [(True, [[173.553, 41.144], [-158.647, -38.745]]), (False, [[163.506, 42.315], [-153.317, -38.123]])],
)
def test_strains_by_prescribed_acceleration(projected: bool, wanted: list[list[float]]) -> None:
    """(4.3) projected and as printed, where the first mode is at 8.2155 instead of 7.831 Hz."""
    run = prescribed_response(
        ralf(), paths(*np.radians([2.0, 2.0])), duration=1.0, step=1e-3, projected=projected
    )
    np.testing.assert_allclose(peaks(run), wanted, rtol=5e-3)


def test_foreshortening_takes_away_the_false_double_frequency() -> None:
    """The elbow on a straight line and the actuating link on an arc turn the upper root by w^2/(2 L4 a sin 60 deg)."""
    turned = []
    for option in (False, True):
        model = weightless(model__foreshortening=option)
        q, free = model.reference(), [2, 3]
        q[4] = 0.03
        for _ in range(20):
            q[free] -= np.linalg.solve(model.closure_jacobian(q)[:, free], model.closure(q))
        turned.append(q[2] - np.pi / 6)
    assert abs(turned[0]) == pytest.approx(0.03**2 / (2 * 3.048 * 0.4572 * np.sin(np.pi / 3)), rel=0.05)
    assert abs(turned[1]) < 0.3 * abs(turned[0])


def test_outline_of_the_arm() -> None:
    model, q = ralf(), ralf().reference()
    q[4], q[6] = 0.02, -0.01
    lower, cross, upper, rod = model.outline(q, 5)
    np.testing.assert_allclose(cross[[0, -1]], [rod[0], lower[0]], atol=1e-12)
    tip = [names(model.outputs).index(f"tip_{axis}") for axis in "xy"]
    np.testing.assert_allclose(upper[-1], model.output(q, 0 * q, 0 * q, np.zeros(5))[tip], atol=1e-12)
    np.testing.assert_allclose(lower[-1] - 0.4572 * np.array([np.cos(q[2]), np.sin(q[2])]), upper[0], atol=1e-12)
    np.testing.assert_allclose(rod[-1] - upper[0], model.closure(q), atol=1e-12)


def test_modal_damping_of_one_percent() -> None:
    model = ralf(damping__kind="modal", damping__ratio=0.01)
    plant = linearise(model, equilibrium(model, hold=HERE))
    np.testing.assert_allclose(plant.modes().damping, 0.01, rtol=0.02)


def test_a_long_step_is_dissipated_or_reported() -> None:
    run = simulate(ralf(), motions=paths(0.0, 0.01), duration=0.2, step=5e-3, scheme=generalised_alpha(0.5))
    assert np.abs(strains(run)).max() < 200.0
