from __future__ import annotations

import itertools
from typing import Any

import analytical as ref
import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg as sla
from analytical import CASES, BangBang, tokhi_arm

from flexctl import errors
from flexctl.exact.euler_bernoulli import ExactBeam
from flexctl.machine.arm import Actuator, Damping, Payload, Sensor
from flexctl.model import names
from flexctl.models.finite_difference import FiniteDifference

Array = npt.NDArray[np.float64]
FORMS = ("paper", "slope")
BANG_BANG = BangBang()

# Tip [m] at 0.3, 0.6, 1.2 s of the mesh, exact in time (modal), 19, 40, 80 sections
TIP = {
    ("no hub", "slope"): ".0863728 .1757963 .1745710  .0866891 .1756335 .1756369  .0867738 .1757511 .1756293",
    ("no hub", "paper"): ".0863728 .1757963 .1745710  .0866891 .1756335 .1756369  .0867738 .1757511 .1756293",
    ("hub", "paper"): ".0842143 .1784490 .1775228  .0845527 .1782763 .1768751  .0846139 .1781627 .1775130",
    ("hub", "slope"): ".0847327 .1772156 .1774361  .0846536 .1778796 .1779700  .0846549 .1780121 .1781949",
    ("10 g", "paper"): ".0723464 .1461715 .1474017  .0723751 .1462945 .1467600  .0722650 .1463768 .1468459",
    ("10 g", "slope"): ".0722279 .1459526 .1472879  .0721752 .1463765 .1469738  .0721666 .1465056 .1471609",
    ("20 g", "paper"): ".0632550 .1264614 .1264860  .0632363 .1267204 .1265472  .0632952 .1266800 .1263725",
    ("20 g", "slope"): ".0633759 .1264805 .1265396  .0633981 .1266315 .1264064  .0633882 .1266531 .1264291",
}
# what a march at c = 0.2 may add [m]; the table itself is rounded to 1e-7
TIME_ERROR = {19: (2.6e-4, 6e-5), 40: (7e-5, 6e-6), 80: (3e-5, 4e-7)}

# largest |tip - exact| [mm] over 1.2 s for 0, 10, 20 g
DISTANCE = {
    ("no hub", "slope", 19): (1.7,),
    ("paper", 19): (2.8, 1.3, 0.5), ("paper", 40): (1.7, 0.7, 0.45), ("paper", 80): (1.3, 0.5, 0.35),
    ("slope", 19): (3.5, 0.95, 0.55), ("slope", 40): (1.3, 0.45, 0.13), ("slope", 80): (0.4, 0.15, 0.04),
}


def mesh(case: str = "hub", n: int = 19, form: str = "slope", **tables: Any) -> FiniteDifference:
    return FiniteDifference(tokhi_arm(*CASES[case], **tables), sections=n, form=form)


def rigid(m: FiniteDifference) -> Array:
    x = m.dx * np.arange(1, m.sections + 1)
    return np.concatenate([[1.0] * m.has_theta, x, [1.0] * m.has_phi])


def bending(m: FiniteDifference) -> Array:
    """R with K = R'R: the differences are taken first, since Y'K Y of a turned arm loses ten digits."""
    n, first = m.sections, int(m.has_theta)
    R = np.zeros((n + 1, len(m.coordinates)))
    for i in range(1, n):
        for node, factor in ((i - 1, 1.0), (i, -2.0), (i + 1, 1.0)):
            if node > 0:
                R[i - 1, first + node - 1] = factor
    if m.has_theta:
        R[n - 1, :2] = np.array([-m.dx, 1.0]) * 2**0.5
    if m.has_phi:
        R[n, -3:] = np.array([1.0, -1.0, m.dx]) * 2**0.5
    R *= (ref.EI / m.dx**3) ** 0.5
    assert np.abs(R.T @ R - m.K).max() < 1e-14 * np.abs(m.K).max()
    return R


@pytest.mark.parametrize(("case", "form"), TIP)
def test_tip_of_the_manoeuvre(case: str, form: str) -> None:
    """c = 0.2, whose step does not divide 0.3 s: only averages at the jumps keep within these bounds."""
    table = np.array(TIP[case, form].split(), float).reshape(3, 3)
    for n, expected in zip((19, 40, 80), table, strict=True):
        run = mesh(case, n, form).march(BANG_BANG, ref.step_of(0.2, n), duration=1.2001)
        tip = np.interp([0.3, 0.6, 1.2], run.t, run.tip_displacement)
        assert tip == pytest.approx(expected, abs=TIME_ERROR[n][case != "no hub"] + 0.6e-7)


@pytest.mark.parametrize("key", DISTANCE)
def test_distance_from_the_exact_beam(key: tuple[Any, ...]) -> None:
    t = np.linspace(0.0, 1.2, 1201)
    *start, n = key
    cases = ("no hub",) if start[0] == "no hub" else ("hub", "10 g", "20 g")
    for case, bound in zip(cases, DISTANCE[key], strict=True):
        run = mesh(case, n, start[-1]).march(BANG_BANG, ref.step_of(0.2, n), duration=1.2001)
        exact = ExactBeam(tokhi_arm(*CASES[case])).time_response(t, [0.0, 0.3, 0.6], [0.1, -0.1, 0.0])[2]
        furthest = 1e3 * np.abs(np.interp(t, run.t, run.tip_displacement) - exact).max()
        assert 0.5 * bound < furthest <= bound


@pytest.mark.parametrize(("case", "form", "n"), list(itertools.product(CASES, FORMS, (19, 40))))
def test_final_rigid_angle(case: str, form: str, n: int) -> None:
    """0.009 N m s^2/J and no drift, although no step ends at a jump of the torque."""
    m = mesh(case, n, form)
    run = m.march(BANG_BANG, ref.step_of(0.2, n), duration=1.2)
    x = rigid(m)
    assert x @ m.M @ run.position / 0.009 == pytest.approx(1.0, abs=1e-9)
    assert x @ m.M @ run.rate == pytest.approx(0.0, abs=1e-9 * 0.03)


@pytest.mark.parametrize("n", [10, 19, 40])
def test_hub_inertia_slows_the_arm_by_a_hundredth_not_three_times(n: int) -> None:
    """The paper says that without hub inertia the arm moves about three times as far: it is 1 + 3 Ih/(rho L^3)."""
    angles = []
    for case in ("no hub", "hub"):
        m = mesh(case, n)
        run = m.march(BANG_BANG, ref.step_of(0.2, n), duration=0.7)
        angles.append(rigid(m) @ m.M @ run.position / (rigid(m) @ m.M @ rigid(m)))
    assert angles[0] / angles[1] == pytest.approx(1.0119, abs=1e-4)


def test_after_ten_steps() -> None:
    dt = 0.3 / 1237
    assert mesh(form="paper").march(0.1, dt, steps=10).position[:3] == pytest.approx(
        [2.142876368e-05, 2.279894716e-05, 1.477100301e-05], rel=1e-9
    )
    assert mesh("no hub", form="paper").march(0.1, dt, steps=10).position[:3] == pytest.approx(
        [8.364171848e-05, 1.114976333e-04, 9.787611303e-05], rel=1e-9
    )
    assert mesh().march(0.1, dt, steps=10).position[:3] == pytest.approx(
        [4.651759477e-04, 1.238705562e-05, 1.197512701e-05], rel=1e-9
    )


@pytest.mark.parametrize(("case", "form"), list(itertools.product(CASES, FORMS)))
def test_energy_is_conserved(case: str, form: str) -> None:
    """v'M v/2 + Y+'K Y/2 over 2e4 free steps from a bent start, without rigid-body momentum."""
    m, dt, x = mesh(case, 19, form), ref.step_of(0.2, 19), rigid(mesh(case, 19, form))
    slopes = np.array([q.unit == "rad" for q in m.coordinates])
    bent = 0.1 * np.where(slopes, 2 * ref.L * (np.arange(x.size) > 0), x**2)  # y = 0.1 x^2
    bent -= x * (x @ m.M @ bent) / (x @ m.M @ x)
    Y = m.march(0.0, dt, steps=20_000, initial=(bent, np.zeros(x.size)), stride=1).coordinates
    v, bend = np.diff(Y, axis=0) / dt, Y @ bending(m).T
    energy = 0.5 * np.sum(v * (v @ m.M), axis=1) + 0.5 * np.sum(bend[1:] * bend[:-1], axis=1)
    assert np.abs(energy / energy[0] - 1).max() < 1e-10
    assert len(Y) == 20_001
    assert energy[0] == pytest.approx(m.energy(bent, 0 * bent).total, rel=0.1)


@pytest.mark.parametrize(("case", "form"), list(itertools.product(CASES, FORMS)))
def test_march_is_the_dense_scheme(case: str, form: str) -> None:
    m, dt = mesh(case, 19, form), ref.step_of(0.2, 19)
    torque = np.random.default_rng(0).standard_normal(400)
    A, B = m.scheme(dt)
    Y = ref.dense_march(A, B[:, 0], torque)
    run = m.march(torque, dt, steps=400, stride=1)
    assert run.coordinates == pytest.approx(Y, abs=1e-11 * np.abs(Y).max())
    assert run.tip_displacement == pytest.approx(Y[:, m.nodes.stop - 1], abs=1e-11 * np.abs(Y).max())
    angle = Y @ m.sensors.position[0] + m.sensors.input[0, 0] * np.append(torque, torque[-1])
    assert run.joint1_angle == pytest.approx(angle, abs=1e-11 * np.abs(angle).max())


@pytest.mark.parametrize("n", [3, 4, 5, 20, 33])
def test_march_on_any_mesh(n: int) -> None:
    """The compiled loop treats nodes 1, n-1, n apart; short meshes have nothing else."""
    for case, form in itertools.product(("no hub", "20 g, Ip"), FORMS):
        m = mesh(case, n, form)
        dt = min(ref.step_of(0.2, n), 0.9 * m.stability_limit())
        torque = np.cos(np.arange(60.0))
        A, B = m.scheme(dt)
        Y = ref.dense_march(A, B[:, 0], torque)
        run = m.march(torque, dt, steps=60, stride=7)
        assert run.coordinates == pytest.approx(Y[::7], abs=1e-12 * np.abs(Y).max())
        assert run.position == pytest.approx(Y[-1], abs=1e-12 * np.abs(Y).max())


@pytest.mark.parametrize("form", FORMS)
def test_distributed_forces(form: str) -> None:
    actuators = (Actuator("near", 0.0, 0.4), Actuator("point", 0.93, 0.93))
    m, dt = mesh("20 g, Ip", 19, form, actuators=actuators), ref.step_of(0.2, 19)
    rng = np.random.default_rng(3)
    u = rng.standard_normal((300, 3))
    A, B = m.scheme(dt)
    Y = np.zeros((301, len(m.coordinates)))
    Y[1] = B @ u[0] / 2
    for k in range(1, 300):
        Y[k + 1] = A @ Y[k] - Y[k - 1] + B @ u[k]
    run = m.march(u[:, 0], dt, steps=300, forces={"point": u[:, 2], "near": u[:, 1]})
    assert run.position == pytest.approx(Y[-1], abs=1e-12 * np.abs(Y).max())
    quiet = m.march(u[:, 0], dt, steps=300, forces={"near": 0.0})
    assert quiet.tip_displacement == pytest.approx(m.march(u[:, 0], dt, steps=300).tip_displacement, abs=0)
    with pytest.raises(errors.DefinitionError, match=r'"pont" \(did you mean "point"\?\)'):
        m.march(0.0, dt, steps=3, forces={"pont": 1.0})


@pytest.mark.parametrize("form", FORMS)
def test_payload_changes_during_the_run(form: str) -> None:
    """Against the dense scheme whose A is swapped, and Y, Y- kept: a payload is taken at the tip's own speed."""
    loads = [Payload(0.02, 1e-4), Payload(0.0, 3e-5), Payload(0.03, 3e-5)]
    m, dt = mesh("20 g, Ip", 19, form), ref.step_of(0.2, 19)
    torque = 0.1 * np.cos(0.01 * np.arange(900.0))
    Y = np.zeros((901, len(m.coordinates)))
    Y[1] = m.scheme(dt)[1][:, 0] * torque[0] / 2
    for k in range(1, 900):
        load = loads[0 if k < 300 else 1 if k < 301 else 2]
        A, B = m.with_payload(load.mass, load.inertia).scheme(dt)
        Y[k + 1] = A @ Y[k] - Y[k - 1] + B[:, 0] * torque[k]
    run = m.march(torque, dt, steps=900, payload=[(300 * dt, loads[1]), (301.2 * dt, loads[2])], stride=1)
    assert run.coordinates == pytest.approx(Y, abs=1e-11 * np.abs(Y).max())
    at_start = m.march(torque[:50], dt, steps=50, payload=[(0.0, loads[2])])
    loaded = m.with_payload(0.03, 3e-5).march(torque[:50], dt, steps=50)
    assert at_start.tip_displacement == pytest.approx(loaded.tip_displacement, abs=0)


@pytest.mark.parametrize("form", FORMS)
def test_payload_inertia_that_comes_and_goes(form: str) -> None:
    """From no inertia to some, phi becomes a coordinate: the run is the two runs joined, with phi the last slope."""
    m, dt = mesh("hub", 19, form), ref.step_of(0.2, 19)
    load = Payload(0.02, 1e-4)
    run = m.march(0.1, dt, steps=900, payload=[(400 * dt, load), (700 * dt, Payload())])
    first = m.march(0.1, dt, steps=400)
    carried = m.with_payload(load.mass, load.inertia)

    def with_phi(y: Array) -> Array:
        return np.append(y, (y[-1] - y[-2]) / m.dx) if carried.has_phi else y

    # the increments, not the rates, continue: half of what the forces add belongs to the side of the change
    def pull(model: FiniteDifference, q: Array) -> Array:
        return dt * np.linalg.solve(model.M, model.B[:, 0] * 0.1 - model.K @ q)

    increment = first.rate - 0.5 * pull(m, first.position)  # over the last step, per dt
    q = with_phi(first.position)
    second = carried.march(0.1, dt, steps=300, initial=(q, with_phi(increment) + 0.5 * pull(carried, q)))
    assert run.tip_displacement[400:701] == pytest.approx(second.tip_displacement, abs=1e-12)
    increment = second.rate - 0.5 * pull(carried, second.position)
    keep = slice(0, len(m.coordinates))
    q = second.position[keep]
    third = m.march(0.1, dt, steps=200, initial=(q, increment[keep] + 0.5 * pull(m, q)))
    assert run.tip_displacement[700:] == pytest.approx(third.tip_displacement, abs=1e-12)
    assert run.position == pytest.approx(third.position, abs=1e-12)


def test_payload_slows_but_does_not_stop_the_tip() -> None:
    m, dt = mesh(), ref.step_of(0.2, 19)
    run = m.march(BANG_BANG, dt, duration=1.2, payload=[(0.8, Payload(0.02))])
    change = round(0.8 / dt)
    speed = np.diff(run.tip_displacement)[change - 3 : change + 3] / dt
    assert np.abs(np.diff(speed)).max() < 1.1 * np.abs(np.diff(speed)[:2]).max()  # no impact
    heavy = m.with_payload(0.02)
    spectrum = [np.sqrt(sla.eigvalsh(x.K, x.M)[1]) / (2 * np.pi) for x in (m, heavy)]
    t, tip = run.t[change:], run.tip_displacement[change:]
    crossings = np.flatnonzero(np.diff(np.sign(tip - np.polyval(np.polyfit(t, tip, 1), t))))
    period = 2 * np.diff(t[crossings]).mean()
    assert abs(1 / period - spectrum[1]) < 0.5 * abs(spectrum[0] - spectrum[1])


@pytest.mark.parametrize("form", FORMS)
def test_second_order_in_time(form: str) -> None:
    """Start with displacement and speed, smooth torque; against the matrix exponential of the same mesh."""
    m = mesh("20 g", 8, form, damping=Damping("rayleigh", alpha=3.0))
    N, T, w = len(m.coordinates), 0.08, 40.0
    q0, v0 = 0.02 * rigid(m) ** 2, 0.3 * rigid(m)
    # augmented with the oscillator that makes the torque 0.2 cos(w t)
    system = np.zeros((2 * N + 2, 2 * N + 2))
    system[:N, N : 2 * N] = np.eye(N)
    system[N : 2 * N, :N] = -np.linalg.solve(m.M, m.K)
    system[N : 2 * N, N : 2 * N] = -3.0 * np.eye(N)
    system[N : 2 * N, 2 * N] = np.linalg.solve(m.M, m.B[:, 0])
    system[-2, -1], system[-1, -2] = -w, w
    exact = sla.expm(system * T) @ np.concatenate([q0, v0, [0.2, 0.0]])
    wrong = []
    for steps in (400, 800):
        dt = T / steps
        run = m.march(0.2 * np.cos(w * dt * np.arange(steps + 1)), dt, steps=steps, initial=(q0, v0))
        wrong.append((np.abs(run.position - exact[:N]).max(), np.abs(run.rate - exact[N : 2 * N]).max()))
    assert np.log2(np.array(wrong[0]) / wrong[1]) == pytest.approx(2.0, abs=0.1)


def test_leapfrog_frequencies() -> None:
    """The march shows (2/dt) asin(w dt/2): eigenvalues of its plant, and the simulated tip after the manoeuvre."""
    m, dt = mesh(), ref.step_of(0.2, 19)
    w = np.sqrt(sla.eigvalsh(m.K, m.M)[1:])
    poles = m.scheme_plant(dt).poles()
    seen = np.sort(np.angle(poles[poles.imag > 1e-6])) / dt
    assert seen == pytest.approx(2 / dt * np.arcsin(w * dt / 2), rel=1e-9)
    assert np.abs(poles).max() == pytest.approx(1.0, abs=1e-6)
    run = m.march(BANG_BANG, dt, duration=1.6)
    after = run.t > 0.6
    leap = 2 / dt * np.arcsin(w[:6] * dt / 2)

    def misfit(f: Array) -> float:
        angles = np.outer(run.t[after], np.concatenate([f, leap[3:]]))
        basis = np.column_stack([np.ones(after.sum()), run.t[after], np.cos(angles), np.sin(angles)])
        solution = np.linalg.lstsq(basis, run.tip_displacement[after], rcond=None)[0]
        return float(np.linalg.norm(basis @ solution - run.tip_displacement[after]))

    best = misfit(leap[:3])
    for i, shift in ((0, 3e-5), (1, 3e-5)):
        for sign in (-1, 1):
            other = leap[:3].copy()
            other[i] *= 1 + sign * shift
            assert misfit(other) > best


@pytest.mark.parametrize(("form", "alpha"), [("paper", 0.0), ("slope", 0.0), ("slope", 5.0)])
def test_scheme_plant_is_the_march(form: str, alpha: float) -> None:
    stations = {"middle": ("displacement", 0.4), "push": ("acceleration", 0.6), "bend": ("curvature", 0.1)}
    sensors = tuple(Sensor(name, *what) for name, what in stations.items())
    damping = Damping("rayleigh", alpha=alpha) if alpha else Damping()
    m, dt = mesh("20 g, Ip", 12, form, sensors=sensors, damping=damping), ref.step_of(0.2, 12)
    plant = m.scheme_plant(dt)
    assert plant.dt == dt
    assert len(plant.states) == 2 * len(m.coordinates)
    assert plant.outputs == m.outputs
    assert names(plant.outputs)[-3:] == ["middle", "push", "bend"]
    assert str(plant.states[-1]) == ("phi_rate [rad/s]" if form == "slope" else "y12_rate [m/s]")
    torque = np.sin(0.3 * np.arange(200.0))
    torque[0] = 1.0
    run = m.march(torque, dt, steps=200, stride=1)
    x, y = np.zeros(len(plant.states)), []
    for k, u in enumerate(torque):
        u = 0.5 * (1 + 0.5 * alpha * dt) * u if k == 0 else u  # the second-order start
        y.append(plant.C @ x + plant.D[:, 0] * u)
        x = plant.A @ x + plant.B[:, 0] * u
    got, Y = np.array(y)[1:], run.coordinates
    c, v, a = m.sensors, (Y[2:] - Y[:-2]) / (2 * dt), (Y[2:] - 2 * Y[1:-1] + Y[:-2]) / dt**2
    expected = Y[1:-1] @ c.position.T + v @ c.rate.T + a @ c.acceleration.T + np.outer(torque[1:], c.input[:, 0])
    size = np.where(expected.any(axis=0), np.abs(expected).max(axis=0), 1.0)  # along the link the tip stays, linearly
    assert got / size == pytest.approx(expected / size, abs=1e-9)
    assert got[:, 2] == pytest.approx(run.tip_displacement[1:-1], abs=1e-12)


def test_mass_damping_decays_the_rigid_motion() -> None:
    m, dt = mesh(damping=Damping("rayleigh", alpha=2.0)), ref.step_of(0.2, 19)
    run = m.march(0.0, dt, duration=0.5, initial=(np.zeros(20), rigid(m)))
    assert run.rate == pytest.approx(np.exp(-2 * run.t[-1]) * rigid(m), rel=1e-6)
    assert run.joint1_angle[-1] == pytest.approx((1 - np.exp(-2 * run.t[-1])) / 2, rel=1e-6)
    with pytest.raises(errors.NotAvailable, match="no place for damping"):
        m.scheme(dt)


@pytest.mark.parametrize("form", FORMS)
def test_a_run_continues_where_it_ended(form: str) -> None:
    m, dt = mesh("20 g", 19, form, damping=Damping("rayleigh", alpha=1.0)), ref.step_of(0.2, 19)
    torque = 0.1 * np.cos(0.02 * np.arange(501.0))
    whole = m.march(torque, dt, steps=500)
    first = m.march(torque[:201], dt, steps=200)
    second = m.march(torque[200:], dt, steps=300, initial=(first.position, first.rate))
    assert second.tip_displacement == pytest.approx(whole.tip_displacement[200:], abs=1e-13)
    assert second.rate == pytest.approx(whole.rate, abs=1e-10)
