"""Central differences, method="march", on the finite-difference beam, and the paper's matrices of the same scheme."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import analytical as ref
import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg as sla
from analytical import CASES, tokhi_arm

import flexctl as fx
from flexctl import errors
from flexctl.exact.euler_bernoulli import ExactBeam
from flexctl.machine.arm import Actuator, Damping, Sensor
from flexctl.model import names
from flexctl.models.finite_difference import FiniteDifference

Array = npt.NDArray[np.float64]
FORMS = ("paper", "slope")
pytestmark = pytest.mark.filterwarnings("ignore::flexctl.models.ranges.BeyondModel")  # what is spun here knows no range
BANG_BANG = fx.bang_bang(0.1, 0.3)

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


def march(
    m: FiniteDifference, torque: Any, dt: float, *, steps: int = 0, duration: float = 0.0, **options: Any
) -> fx.Response:
    """The run of a signal, of one torque, or of one value per step, linear between them."""
    duration = duration or steps * dt
    inputs = {"joint1_torque": torque, **options.pop("forces", {})}
    for name, values in inputs.items():
        if isinstance(values, float | np.ndarray):
            rows = np.broadcast_to(values, (steps + 1,)) if np.ndim(values) == 0 else np.append(values, values[-1])
            inputs[name] = fx.Sampled(dt * np.arange(steps + 1), rows[: steps + 1])
    return fx.simulate(m, inputs=inputs, duration=duration, step=dt, method="march", record_states=True, **options)


@pytest.mark.parametrize(("case", "form"), TIP)
def test_tip_of_the_manoeuvre(case: str, form: str) -> None:
    """c = 0.2, whose step does not divide 0.3 s: only averages at the jumps keep within these bounds."""
    table = np.array(TIP[case, form].split(), float).reshape(3, 3)
    for n, expected in zip((19, 40, 80), table, strict=True):
        run = march(mesh(case, n, form), BANG_BANG, ref.step_of(0.2, n), duration=1.2001)
        tip = np.interp([0.3, 0.6, 1.2], run.t, run["tip_displacement"])
        assert tip == pytest.approx(expected, abs=TIME_ERROR[n][case != "no hub"] + 0.6e-7)


@pytest.mark.parametrize("key", DISTANCE)
def test_distance_from_the_exact_beam(key: tuple[Any, ...]) -> None:
    t = np.linspace(0.0, 1.2, 1201)
    *start, n = key
    cases = ("no hub",) if start[0] == "no hub" else ("hub", "10 g", "20 g")
    for case, bound in zip(cases, DISTANCE[key], strict=True):
        run = march(mesh(case, n, start[-1]), BANG_BANG, ref.step_of(0.2, n), duration=1.2001)
        exact = ExactBeam(tokhi_arm(*CASES[case])).time_response(t, [0.0, 0.3, 0.6], [0.1, -0.1, 0.0])[2]
        furthest = 1e3 * np.abs(np.interp(t, run.t, run["tip_displacement"]) - exact).max()
        assert 0.5 * bound < furthest <= bound


@pytest.mark.parametrize(("case", "form", "n"), list(itertools.product(CASES, FORMS, (19, 40))))
def test_final_rigid_angle(case: str, form: str, n: int) -> None:
    """0.009 N m s^2/J and no drift, although no step ends at a jump of the torque."""
    m = mesh(case, n, form)
    run = march(m, BANG_BANG, ref.step_of(0.2, n), duration=1.2)
    x = rigid(m)
    assert x @ m.M @ run.q[-1] / 0.009 == pytest.approx(1.0, abs=1e-9)
    assert x @ m.M @ run.v[-1] == pytest.approx(0.0, abs=1e-9 * 0.03)


@pytest.mark.parametrize("n", [10, 19, 40])
def test_hub_inertia_slows_the_arm_by_a_hundredth_not_three_times(n: int) -> None:
    """The paper says that without hub inertia the arm moves about three times as far: it is 1 + 3 Ih/(rho L^3)."""
    angles = []
    for case in ("no hub", "hub"):
        m = mesh(case, n)
        run = march(m, BANG_BANG, ref.step_of(0.2, n), duration=0.7)
        angles.append(rigid(m) @ m.M @ run.q[-1] / (rigid(m) @ m.M @ rigid(m)))
    assert angles[0] / angles[1] == pytest.approx(1.0119, abs=1e-4)


def test_after_ten_steps() -> None:
    dt = 0.3 / 1237
    assert march(mesh(form="paper"), 0.1, dt, steps=10).q[-1, :3] == pytest.approx(
        [2.142876368e-05, 2.279894716e-05, 1.477100301e-05], rel=1e-9
    )
    assert march(mesh("no hub", form="paper"), 0.1, dt, steps=10).q[-1, :3] == pytest.approx(
        [8.364171848e-05, 1.114976333e-04, 9.787611303e-05], rel=1e-9
    )
    assert march(mesh(), 0.1, dt, steps=10).q[-1, :3] == pytest.approx(
        [4.651759477e-04, 1.238705562e-05, 1.197512701e-05], rel=1e-9
    )


@pytest.mark.parametrize(("case", "form"), list(itertools.product(CASES, FORMS)))
def test_energy_is_conserved(case: str, form: str) -> None:
    """v'M v/2 + Y+'K Y/2 over 2e4 free steps from a bent start, without rigid-body momentum."""
    m, dt, x = mesh(case, 19, form), ref.step_of(0.2, 19), rigid(mesh(case, 19, form))
    slopes = np.array([q.unit == "rad" for q in m.coordinates])
    bent = 0.1 * np.where(slopes, 2 * ref.L * (np.arange(x.size) > 0), x**2)  # y = 0.1 x^2
    bent -= x * (x @ m.M @ bent) / (x @ m.M @ x)
    Y = march(m, 0.0, dt, steps=20_000, initial=(bent, np.zeros(x.size))).q
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
    run = march(m, torque, dt, steps=400)
    assert run.q == pytest.approx(Y, abs=1e-11 * np.abs(Y).max())
    assert run["tip_displacement"] == pytest.approx(Y[:, m.nodes.stop - 1], abs=1e-11 * np.abs(Y).max())
    angle = Y @ m.sensors.position[0] + m.sensors.input[0, 0] * np.append(torque, torque[-1])
    assert run["joint1_angle"] == pytest.approx(angle, abs=1e-11 * np.abs(angle).max())


@pytest.mark.parametrize("n", [3, 4, 5, 20, 33])
def test_march_on_any_mesh(n: int) -> None:
    """The compiled loop treats nodes 1, n-1, n apart; short meshes have nothing else."""
    for case, form in itertools.product(("no hub", "20 g, Ip"), FORMS):
        m = mesh(case, n, form)
        dt = min(ref.step_of(0.2, n), 0.9 * m.stability_limit())
        torque = np.cos(np.arange(60.0))
        A, B = m.scheme(dt)
        Y = ref.dense_march(A, B[:, 0], torque)
        run = march(m, torque, dt, steps=60)
        assert run.q == pytest.approx(Y, abs=1e-12 * np.abs(Y).max())


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
    run = march(m, u[:, 0], dt, steps=300, forces={"point": u[:, 2], "near": u[:, 1]})
    assert run.q[-1] == pytest.approx(Y[-1], abs=1e-12 * np.abs(Y).max())
    quiet = march(m, u[:, 0], dt, steps=300, forces={"near": 0.0})
    alone = march(m, u[:, 0], dt, steps=300)
    assert quiet["tip_displacement"] == pytest.approx(alone["tip_displacement"], abs=0)
    with pytest.raises(errors.DefinitionError, match=r'"pont" \(did you mean "point"\?\)'):
        march(m, 0.0, dt, steps=3, forces={"pont": 1.0})


@pytest.mark.parametrize("form", FORMS)
def test_payload_changes_during_the_run(form: str) -> None:
    """Against the dense scheme, Y and Y- kept: a payload is taken at the tip's own speed, half a step with either."""
    loads = [(0.02, 1e-4), (0.0, 3e-5), (0.03, 3e-5)]
    m, dt = mesh("20 g, Ip", 19, form), ref.step_of(0.2, 19)
    torque = 0.1 * np.cos(0.01 * np.arange(900.0))
    schemes = [m.with_payload(*load).scheme(dt) for load in loads]
    Y = np.zeros((901, len(m.coordinates)))
    Y[1] = schemes[0][1][:, 0] * torque[0] / 2
    for k in range(1, 900):
        before, after = (schemes[int(k > start) + int(k > start + 1)] for start in (300, 299))
        A, B = (0.5 * (x + y) for x, y in zip(before, after, strict=True))
        Y[k + 1] = A @ Y[k] - Y[k - 1] + B[:, 0] * torque[k]
    run = march(m, torque, dt, steps=900, payload=[(300 * dt, *loads[1]), (301 * dt, *loads[2])])
    assert run.q == pytest.approx(Y, abs=1e-11 * np.abs(Y).max())
    at_start = march(m, torque[:50], dt, steps=50, payload=[(0.0, *loads[2])])
    loaded = march(m.with_payload(*loads[2]), torque[:50], dt, steps=50)
    assert at_start["tip_displacement"] == pytest.approx(loaded["tip_displacement"], abs=0)


def test_payload_inertia_that_comes_and_goes() -> None:
    """In the paper's form it is no coordinate of its own; in the other one that is refused."""
    m, dt = mesh("hub", 19, "paper"), ref.step_of(0.2, 19)
    load = [(400 * dt, 0.02, 1e-4), (700 * dt, 0.0, 0.0)]
    run = march(m, 0.1, dt, steps=900, payload=load)
    first = march(m, 0.1, dt, steps=400)
    second = march(m.with_payload(0.02, 1e-4), 0.1, dt, steps=300, initial=(first.q[-1], first.v[-1]))
    third = march(m, 0.1, dt, steps=200, initial=(second.q[-1], second.v[-1]))
    whole = np.concatenate([first["tip_displacement"], second["tip_displacement"][1:], third["tip_displacement"][1:]])
    assert run["tip_displacement"] == pytest.approx(whole, abs=1e-12)
    with pytest.raises(errors.NotAvailable, match="adds or removes a coordinate"):
        march(mesh("hub", 19), 0.1, dt, steps=900, payload=load)


def test_payload_slows_but_does_not_stop_the_tip() -> None:
    m, dt = mesh(), 0.1 / 413  # divides all the times
    run = march(m, BANG_BANG, dt, duration=1.2, payload=[(0.8, 0.02, 0.0)])
    change = round(0.8 / dt)
    speed = np.diff(run["tip_displacement"])[change - 3 : change + 3] / dt
    assert np.abs(np.diff(speed)).max() < 1.1 * np.abs(np.diff(speed)[:2]).max()  # no impact
    heavy = m.with_payload(0.02)
    spectrum = [np.sqrt(sla.eigvalsh(x.K, x.M)[1]) / (2 * np.pi) for x in (m, heavy)]
    t, tip = run.t[change:], run["tip_displacement"][change:]
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
        run = march(m, 0.2 * np.cos(w * dt * np.arange(steps + 1)), dt, steps=steps, initial=(q0, v0))
        wrong.append((np.abs(run.q[-1] - exact[:N]).max(), np.abs(run.v[-1] - exact[N : 2 * N]).max()))
    assert np.log2(np.array(wrong[0]) / wrong[1]) == pytest.approx(2.0, abs=0.1)


def test_leapfrog_frequencies() -> None:
    """The march shows (2/dt) asin(w dt/2): eigenvalues of its plant, and the simulated tip after the manoeuvre."""
    m, dt = mesh(), ref.step_of(0.2, 19)
    w = np.sqrt(sla.eigvalsh(m.K, m.M)[1:])
    poles = m.scheme_plant(dt).poles()
    seen = np.sort(np.angle(poles[poles.imag > 1e-6])) / dt
    assert seen == pytest.approx(2 / dt * np.arcsin(w * dt / 2), rel=1e-9)
    assert np.abs(poles).max() == pytest.approx(1.0, abs=1e-6)
    run = march(m, BANG_BANG, dt, duration=1.6)
    after = run.t > 0.6
    leap = 2 / dt * np.arcsin(w[:6] * dt / 2)

    def misfit(f: Array) -> float:
        angles = np.outer(run.t[after], np.concatenate([f, leap[3:]]))
        basis = np.column_stack([np.ones(after.sum()), run.t[after], np.cos(angles), np.sin(angles)])
        solution = np.linalg.lstsq(basis, run["tip_displacement"][after], rcond=None)[0]
        return float(np.linalg.norm(basis @ solution - run["tip_displacement"][after]))

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
    run = march(m, torque, dt, steps=200)
    x, y = np.zeros(len(plant.states)), []
    for k, u in enumerate(torque):
        u = 0.5 * (1 + 0.5 * alpha * dt) * u if k == 0 else u  # the second-order start
        y.append(plant.C @ x + plant.D[:, 0] * u)
        x = plant.A @ x + plant.B[:, 0] * u
    got, Y = np.array(y)[1:], run.q
    c, v, a = m.sensors, (Y[2:] - Y[:-2]) / (2 * dt), (Y[2:] - 2 * Y[1:-1] + Y[:-2]) / dt**2
    expected = Y[1:-1] @ c.position.T + v @ c.rate.T + a @ c.acceleration.T + np.outer(torque[1:], c.input[:, 0])
    size = np.where(expected.any(axis=0), np.abs(expected).max(axis=0), 1.0)  # along the link the tip stays, linearly
    assert got / size == pytest.approx(expected / size, abs=1e-9)
    assert got[:, 2] == pytest.approx(run["tip_displacement"][1:-1], abs=1e-12)


def test_mass_damping_decays_the_rigid_motion() -> None:
    m, dt = mesh(damping=Damping("rayleigh", alpha=2.0)), ref.step_of(0.2, 19)
    run = march(m, 0.0, dt, duration=0.5, initial=(np.zeros(20), rigid(m)))
    assert run.v[-1] == pytest.approx(np.exp(-2 * run.t[-1]) * rigid(m), rel=1e-6)
    assert run["joint1_angle"][-1] == pytest.approx((1 - np.exp(-2 * run.t[-1])) / 2, rel=1e-6)
    with pytest.raises(errors.NotAvailable, match="no place for damping"):
        m.scheme(dt)


@pytest.mark.parametrize("form", FORMS)
def test_a_run_continues_where_it_ended(form: str) -> None:
    m, dt = mesh("20 g", 19, form, damping=Damping("rayleigh", alpha=1.0)), ref.step_of(0.2, 19)
    torque = 0.1 * np.cos(0.02 * np.arange(501.0))
    whole = march(m, torque, dt, steps=500)
    first = march(m, torque[:201], dt, steps=200)
    second = march(m, torque[200:], dt, steps=300, initial=(first.q[-1], first.v[-1]))
    assert second["tip_displacement"] == pytest.approx(whole["tip_displacement"][200:], abs=1e-13)
    assert second.v[-1] == pytest.approx(whole.v[-1], abs=1e-10)


def test_unstable_steps_are_refused_with_the_number() -> None:
    m = mesh(form="paper")
    expected = (
        r"dt = 300 us is above the stability limit 273\.27 us of this mesh \(19 sections\); "
        r"use dt <= 273 us or fewer sections"
    )
    with pytest.raises(errors.DefinitionError, match=expected):
        m.scheme_plant(300e-6)
    m.scheme(300e-6)  # the matrices themselves are not refused
    with pytest.raises(errors.DefinitionError, match=r"step = 300 us is above the stability limit 273\.27\d us"):
        march(m, 0.1, 300e-6, steps=10)
    loaded, between = mesh("20 g", form="paper"), ref.step_of(0.2537, 19)  # limits 0.25375 with 20 g, 0.25363 without
    march(loaded, 0.1, between, steps=100)
    with pytest.raises(errors.DefinitionError, match="stability limit"):
        march(loaded, 0.1, between, steps=100, payload=[(50 * between, 0.0, 0.0)])
    limit = m.stability_limit()
    run = march(m, np.where(np.arange(20_000) < 100, 0.1, 0.0), 0.9999 * limit, steps=20_000)
    bent = run.q - np.outer(run.q @ m.M @ rigid(m) / (rigid(m) @ m.M @ rigid(m)), rigid(m))
    assert np.abs(bent[10_000:]).max() < 3 * np.abs(bent[:10_000]).max()


@pytest.mark.parametrize("damping", [Damping("modal", ratio=0.01), Damping("rayleigh", alpha=1.0, beta=1e-5)])
def test_damping_that_couples_the_nodes_runs_but_is_not_in_the_paper(damping: Damping) -> None:
    m, dt = mesh(damping=damping), 1e-4
    for call in (lambda: m.scheme(dt), lambda: m.scheme_plant(dt)):
        with pytest.raises(errors.NotAvailable, match="no place for damping"):
            call()
    push = {"joint1_torque": BANG_BANG}
    exact = fx.simulate(m, inputs=push, duration=0.3, step=dt, method="exact", record_states=True).q[-1]
    off = [np.abs(march(m, BANG_BANG, h, duration=0.3).q[-1] - exact).max() for h in (0.5 * dt, 0.25 * dt)]
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.05)
    assert off[1] < 1e-4 * np.abs(exact).max()


def test_an_overflow_is_reported_with_its_time() -> None:
    with pytest.raises(errors.ConvergenceError, match="diverged at t") as caught:
        march(mesh(), 1e306, 2e-4, steps=5000)
    assert 0 < caught.value.time < 1.0


class TestErrors:
    """Errors of a march are told by exact steps; it follows no tolerance, and says so."""

    @staticmethod
    def law() -> Any:
        plant = fx.load_plant("tokhi_azad_1994").linearise()
        return fx.joint_pd(plant, kp=6.8, kd=0.034, filter_time=0.16e-3, sample_time=1e-3, limit=0.3)

    PUSH: ClassVar = {"joint1_torque": fx.bang_bang(0.1, 0.1)}

    def test_are_what_exact_steps_tell(self) -> None:
        arm = fx.load_plant("tokhi_azad_1994").model
        run = fx.simulate(arm, inputs=self.PUSH, duration=0.4, method="march")
        true = fx.simulate(arm, inputs=self.PUSH, duration=0.4, method="exact", step=run.t[1])
        off = dict(zip(names(arm.outputs), np.abs(true.y - run.y).max(axis=0), strict=True))
        looked = 1.25 * np.abs(true.y - run.y)[::4].max(axis=0)  # each millisecond
        told = dict(zip(names(arm.outputs), looked, strict=True))
        assert {name: run.error[name] for name in off} == pytest.approx(told, rel=1e-6)
        assert all(run.error[name] > off[name] for name in off)
        assert off["joint1_rate"] > 1e-2, "nothing to tell"
        assert run.error["joint1_torque"] == 0.0, "it was given"

    def test_a_tolerance_that_is_missed_is_warned_of_with_a_remedy_that_serves(self) -> None:
        arm = fx.load_plant("tokhi_azad_1994").model
        with pytest.warns(errors.AccuracyWarning, match=r'joint1_rate .*; the march does not follow rtol: .*"exact"'):
            fx.simulate(arm, inputs=self.PUSH, duration=0.4, method="march", rtol=1e-4)

    def test_of_a_loop_count_what_the_law_makes_of_them(self) -> None:
        arm = fx.load_plant("tokhi_azad_1994").model
        law = self.law()
        move = fx.quintic(0.0, 0.1, 0.2)
        run = fx.simulate(arm, law, move, duration=0.4, method="march")
        true = fx.simulate(arm, law, move, duration=0.4, method="exact", step=run.t[1], rtol=1e-2)
        assert run.error["joint1_angle"] == pytest.approx(
            1.25 * np.abs(true["joint1_angle"] - run["joint1_angle"])[::5].max(), rel=1e-6
        )
        assert run.error["joint1_torque"] == pytest.approx(np.abs(true["joint1_torque"] - run["joint1_torque"]).max())
        assert run.error["joint1_torque"] > 0.0

    def test_of_a_law_in_python_are_not_known_and_the_run_says_why(self) -> None:
        arm = fx.load_plant("tokhi_azad_1994").model
        law = InPython(self.law())
        run = fx.simulate(arm, law, fx.quintic(0.0, 0.1, 0.2), duration=0.4, method="march")
        assert np.isnan(run.error["joint1_angle"])
        assert "march estimates no errors" in str(run.provenance["not_estimated"])


class InPython:
    """A law that no loop compiles, since its kind is not known."""

    def __init__(self, law: Any) -> None:
        self.law = law

    def __getattr__(self, name: str) -> Any:
        return getattr(self.law, name)
