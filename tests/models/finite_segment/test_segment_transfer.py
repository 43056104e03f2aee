"""The paper's 7 x 7 transfer matrices: against the assembled chain, its printed runs, growth of the product, refusals.

Numbers for the paper's settings come from an implementation written independently of the library.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_finite_segment import ALUMINIUM, BAR
from test_segment_stepper import MOVE, TURN, single, three, tip

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.machine.arm import Arm, Damping, Joint, Link, Payload, Section
from flexctl.models.finite_segment import FiniteSegment
from flexctl.models.finite_segment import transfer_kernel as kernels
from flexctl.models.finite_segment.transfer import LIMIT, TransferRun, growth, transfer_matrix_run
from flexctl.motion.moves import Cycloid, Step, quintic
from flexctl.testing.differences import order

Array = npt.NDArray[Any]
TABLE = {  # largest tip difference to the assembled chain [m], steps of 2, 1, 0.5, 0.25 ms
    (0.25, 0.5, "newton"): (1.62e-5, 4.34e-6, 1.09e-6, 2.80e-7),
    (0.25, 0.5, "lagged"): (1.73e-5, 5.15e-6, 1.52e-6, 5.94e-7),
    (0.7, 0.51, "lagged"): (6.06e-5, 1.69e-5, 4.86e-6, 1.80e-6),
    (0.7, 0.8, "lagged"): (3.04e-4, 1.70e-4, 8.93e-5, 4.58e-5),
    (0.8, 0.7, "lagged"): (2.22e-4, 1.18e-4, 6.06e-5, 3.07e-5),
}
STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4)


@cache
def assembled() -> Array:
    """The assembled chain at 10 us: converged to 1e-9 m."""
    return tip(fx.simulate(single(segments=20), motions=TURN, duration=1.0, step=1e-5, method="trapezoidal"))


def difference(step: float, **options: Any) -> float:
    run = transfer_matrix_run(single(segments=20), TURN, duration=1.0, step=step, **options)
    return float(np.abs(run.tip - assembled()[:: round(step / 1e-5)]).max())


@pytest.mark.parametrize(("beta", "gamma", "method"), TABLE)
def test_transfer_matrices_and_assembled_chain_agree(beta: float, gamma: float, method: str) -> None:
    found = [difference(h, beta=beta, gamma=gamma, method=method) for h in STEPS]
    np.testing.assert_allclose(found, TABLE[beta, gamma, method], rtol=0.025)
    if gamma == 0.5 and method == "newton":
        assert order(found).min() > 1.85
        trapezoid = np.abs(
            tip(fx.simulate(single(segments=20), motions=TURN, duration=1.0, step=5e-4, method="trapezoidal"))
            - assembled()[::50]
        ).max()
        assert trapezoid == pytest.approx(1.086e-6, rel=0.03)
    if gamma > 0.6:
        assert order(found)[-1] == pytest.approx(1.0, abs=0.06)


def deflection(run: TransferRun, angle: Array) -> Array:
    """Tip from the tangent at the root [mm]."""
    return np.asarray(1e3 * (-np.sin(angle) * run.tip[:, 0] + np.cos(angle) * run.tip[:, 1]))


@pytest.mark.parametrize(
    ("closure", "beta", "gamma", "low", "high", "residual"),
    [("paper", 0.7, 0.8, (-3.6684, 0.112), (3.3117, 0.362), 1.212),
     ("base", 0.7, 0.8, (-3.8058, 0.114), (3.5071, 0.368), 0.986),
     ("base", 0.8, 0.7, (-3.8253, 0.114), (3.5684, 0.368), 1.022),
     ("base", 0.25, 0.5, (-3.8630, 0.112), (3.6906, 0.366), 1.165)],
)
def test_the_single_link_with_the_papers_settings(
    closure: str, beta: float, gamma: float, low: tuple[float, float], high: tuple[float, float], residual: float
) -> None:
    model = single(closure=closure)
    run = transfer_matrix_run(model, TURN, duration=1.5, step=2e-3, beta=beta, gamma=gamma)
    y = deflection(run, TURN["joint1"](run.t)[0])
    for (value, when), k in ((low, y.argmin()), (high, y.argmax())):
        assert y[k] == pytest.approx(value, rel=1.2e-3)
        assert run.t[k] == pytest.approx(when, abs=1e-9)
    assert y[run.t > 0.5].max() == pytest.approx(residual, rel=2e-3)


@pytest.mark.parametrize(("beta", "gamma", "zeta"), [(0.7, 0.8, 0.01147), (0.8, 0.7, 0.00765), (0.25, 0.5, 0.0)])
def test_what_the_algorithm_damps_is_no_property_of_the_link(beta: float, gamma: float, zeta: float) -> None:
    """Decay of the residual vibration, by the logarithm of its peaks: gamma - 1/2 and the step decide."""
    run = transfer_matrix_run(single(segments=10), TURN, duration=3.0, step=2e-3, beta=beta, gamma=gamma)
    t, y = run.t[run.t > 0.6], deflection(run, TURN["joint1"](run.t)[0])[run.t > 0.6]
    inner = np.flatnonzero((y[1:-1] > y[:-2]) & (y[1:-1] >= y[2:]) & (y[1:-1] > 0.1)) + 1
    curve = y[inner - 1] - 2.0 * y[inner] + y[inner + 1]
    peaks = y[inner] - (y[inner + 1] - y[inner - 1]) ** 2 / (8.0 * curve)
    ratio = np.polyfit(np.arange(peaks.size), np.log(peaks), 1)[0]
    assert t[inner].size > 10
    assert -ratio / (2.0 * np.pi) == pytest.approx(zeta, abs=4e-4)


@pytest.mark.parametrize(
    ("flexible", "closure", "peaks"),
    [(False, "base", (-38.755, 36.708, -40.311, 19.298)), (False, "paper", (-37.955, 35.368, -39.655, 18.766)),
     (True, "base", (-42.639, 41.554, -49.701, 27.189)), (True, "paper", (-43.002, 41.891, -49.073, 26.696))],
)
def test_the_three_link_arm_with_the_papers_settings(flexible: bool, closure: str, peaks: tuple[float, ...]) -> None:
    model = three(flexible, closure=closure)
    run = transfer_matrix_run(model, MOVE, duration=1.5, step=1e-3, beta=0.7, gamma=0.51)
    x, y = 1e3 * run.tip_error.T
    np.testing.assert_allclose([x.min(), x.max(), y.min(), y.max()], peaks, rtol=0, atol=1.5e-3)
    ours = fx.simulate(model, motions=MOVE, duration=1.5, step=5e-4, method="trapezoidal")
    gap = 1e3 * np.abs(run.tip_error - np.column_stack([ours["tip_error_x"], ours["tip_error_y"]])[::2]).max(axis=0)
    assert np.all(gap < (0.6, 0.25))


def test_newton_covers_weight_damping_pieces_payload_and_flexible_joints() -> None:
    """What the compiled sweep does by another route; both are of second order, so that the difference is too."""
    thin = Section(200e-6, 0.5e-8, 0.8, 0.01)
    joints = (
        Joint(0.1, "motion", 0.3, 3.0, stiffness=400.0, damping=2.0),
        Joint(0.05, "motion", 1.2, 0.5, 0.02, 0.03, stiffness=200.0),
    )
    arm = Arm("full", (BAR, Link(0.7, ALUMINIUM, BAR.section, (thin,), (0.4,))), joints, Payload(0.5, 0.01),
              Damping("rayleigh", alpha=0.3, beta=1e-3), (), (), (1.0, -9.81))
    motions = {"joint1": Cycloid(0.3, 1.4, 0.5), "joint2": Cycloid(1.2, -0.5, 0.5)}
    for closure in ("base", "half", "paper"):
        model = FiniteSegment(arm, segments=6, closure=closure)
        gaps = []
        for step in (2e-3, 1e-3, 5e-4):
            run = transfer_matrix_run(model, motions, duration=0.8, step=step, method="newton")
            ours = fx.simulate(model, motions=motions, duration=0.8, step=step, method="trapezoidal")
            gaps.append(np.abs(run.tip - tip(ours)).max())
        assert gaps[-1] < 3e-6
        assert order(gaps).min() > 1.8


def test_table_one_and_the_entries_of_the_rigid_segment() -> None:
    """The balances (7) of a segment hold for what its matrix makes of any state."""
    draw = np.random.default_rng(3).standard_normal
    settings = kernels.Settings(1e-3, 0.3, 0.6, 0.0, 1.5, -9.81, 1e-11, 20.0)
    r, v, a, B, D = (np.zeros((5, 1)) for _ in range(5))
    for x in (r, v, a):
        x[:, 0] = draw(5)
    kernels.table_one(settings, r, v, a, B, D)
    new = r + 1e-3 * v + 1e-6 * ((0.5 - 0.3) * a + 0.3 * 7.0)  # Newmark with the next acceleration 7
    A, C = 1.0 / (0.3 * 1e-6), 0.6 / (0.3 * 1e-3)
    np.testing.assert_allclose(A * new + B, 7.0, rtol=1e-6)
    np.testing.assert_allclose(C * new + D, v + 1e-3 * (0.4 * a + 0.6 * 7.0), rtol=1e-9)
    l, d, m, J, th = 0.3, 0.13, 0.7, 0.02, 0.4
    U, zero, h = np.zeros((7, 7)), np.zeros(5), B[:, 0].copy()
    c, s = np.cos(th), np.sin(th)
    kernels.rigid(settings, np.array([l, d, m, J]), h, zero, th, c + th * s, s - th * c, U)
    z = np.array([*draw(2), th, *draw(3), 1.0])
    x, y, theta, M, qx, qy, one = U @ z
    np.testing.assert_allclose([x, y, theta, one], [z[0] + l * c, z[1] + l * s, th, 1.0], rtol=1e-14)
    accelerations = A * np.array([z[0], z[1], th, z[0] + d * c, z[1] + d * s]) + h
    fx_, fy_ = m * 1.5, -m * 9.81
    np.testing.assert_allclose([z[4] - qx + fx_, z[5] - qy + fy_], m * accelerations[3:], rtol=1e-12)
    left = J * accelerations[2] + m * d * (c * accelerations[1] - s * accelerations[0])
    right = -z[3] + M + qx * l * s - qy * l * c - fx_ * d * s + fy_ * d * c
    assert left == pytest.approx(right, rel=1e-11)
    kernels.hinge(settings, 5.0, 0.0, 0.0, 0.0, U)
    assert (U @ z)[2] == pytest.approx(th + z[3] / 5.0)


def test_the_product_grows_and_the_riccati_form_does_not() -> None:
    """Growth is independent of the number of segments, and so is the error, about exp(growth) 2e-16."""
    model = single()
    for step, exponent in ((2e-3, 5.2), (1e-3, 7.4), (2e-4, 16.6), (1e-4, 23.4), (5e-5, 33.1), (3e-5, 42.8)):
        assert growth(model, step, 0.7) == pytest.approx(exponent, abs=0.06)
    assert growth(three(), 1e-3, 0.7) == pytest.approx(6.8, abs=0.06)
    move = {"joint1": quintic(0.0, 0.1, 0.1)}
    for segments in (10, 60, 200):
        one, other = (
            transfer_matrix_run(single(segments=segments), move, duration=0.1, beta=0.7, gamma=0.51, form=form).tip
            for form in ("product", "riccati")
        )
        assert 0.0 < np.abs(one - other).max() < 1e-12
    short = [
        transfer_matrix_run(model, move, duration=0.02, step=1.5e-4, beta=0.7, gamma=0.51, form=form).tip
        for form in ("product", "riccati")
    ]
    assert 1e-12 < np.abs(short[0] - short[1]).max() < 1e-6


def test_the_product_refuses_what_rounding_would_spoil() -> None:
    said = r"step = 3e-05 s .* exp\(42\.8\).* above 0\.000113 s, or form = .riccati"
    with pytest.raises(DefinitionError, match=said):
        transfer_matrix_run(single(), TURN, duration=0.1, step=3e-5, beta=0.7, gamma=0.8, form="product")
    least = 3e-5 * (growth(single(), 3e-5, 0.7) / LIMIT) ** 2
    transfer_matrix_run(single(), TURN, duration=0.01, step=1.001 * least, beta=0.7, gamma=0.8, form="product")
    run = transfer_matrix_run(single(segments=20), TURN, duration=0.02, step=2e-5)
    assert np.abs(run.tip - assembled()[: 2 * run.t.size : 2]).max() < 2e-8  # as printed, but in Riccati's form


class AsPrinted:
    """Equation (17) as printed: from pi/6 it falls to pi/12 within a step."""

    duration, target, breakpoints = 0.4, np.pi / 12.0, (0.0, 0.4)

    def __call__(self, t: npt.ArrayLike) -> tuple[Array, Array, Array]:
        value, rate, acceleration = MOVE["joint1"](t)
        return np.where(np.asarray(t) < 0.4, value, np.pi / 12.0), rate, acceleration


def test_equation_17_as_printed_cannot_be_followed() -> None:
    motions, model = dict.fromkeys(MOVE, AsPrinted()), three(segments=20)
    with pytest.raises(ConvergenceError, match=r"diverged at t = 0\.6") as caught:
        transfer_matrix_run(model, motions, duration=1.5, beta=0.7, gamma=0.51)
    assert caught.value.time > 0.4
    exact = transfer_matrix_run(model, motions, duration=1.5, beta=0.7, gamma=0.51, method="newton")
    np.testing.assert_allclose(1e3 * exact.tip_error.min(axis=0), [-333.0, -396.0], rtol=3e-3)


def test_plants_and_joints_driven_by_motion_are_taken() -> None:
    plant = fx.load_plant("li_zhang_three_link")
    move = {f"joint{i}": quintic(0.0, 0.3, 0.2) for i in (1, 2, 3)}
    runs = [transfer_matrix_run(m, move, duration=0.05) for m in (plant, plant.model, plant.model.inner)]
    assert np.abs(runs[0].tip_error[-1]).max() > 0
    for run in runs:
        np.testing.assert_array_equal(run.theta, runs[2].theta)
    assert repr(runs[0]) == f"TransferRun(51 points to 0.05 s, {runs[0].theta.shape[1]} bodies)"
    with pytest.raises(DefinitionError, match="finite_segment model; timoshenko_planar was given"):
        transfer_matrix_run(fx.load_plant("planar_2r_flexible"), move, duration=0.05)


def test_refusals() -> None:
    model = single(segments=5)
    with pytest.raises(DefinitionError, match='unknown method "newtn"'):
        transfer_matrix_run(model, TURN, duration=0.1, method="newtn")
    with pytest.raises(DefinitionError, match='unknown form "ricati"'):
        transfer_matrix_run(model, TURN, duration=0.1, form="ricati")
    with pytest.raises(DefinitionError, match="unstable"):
        transfer_matrix_run(model, TURN, duration=0.1, beta=0.2)
    with pytest.raises(DefinitionError, match=r"step = 0\.0 s must be positive"):
        transfer_matrix_run(model, TURN, duration=0.1, step=0.0)
    with pytest.raises(DefinitionError, match=r"duration = -1\.0 s must be positive"):
        transfer_matrix_run(model, TURN, duration=-1.0)
    with pytest.raises(NotAvailable, match="joint1 is not commanded"):
        transfer_matrix_run(model, {}, duration=0.1)
    with pytest.raises(DefinitionError, match='unknown commanded joint "joint7"'):
        transfer_matrix_run(model, {**TURN, "joint7": Step(0.0, 0.0)}, duration=0.1)
    modal = replace(model.arm, damping=Damping("modal", ratio=0.01))
    with pytest.raises(NotAvailable, match="no modal damping"):
        transfer_matrix_run(FiniteSegment(modal), TURN, duration=0.1)
