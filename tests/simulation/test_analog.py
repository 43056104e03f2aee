"""Continuous laws, integrated together with the plant: against closed loops written by hand and other integrators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import control
import numpy as np
import pytest
import scipy.linalg as sla
import toys
from analytical import tokhi_arm
from toys import Called

import flexctl as fx
from flexctl.errors import NotAvailable
from flexctl.laws.controller import LinearLaw, Saturated
from flexctl.linear import FirstOrder
from flexctl.machine.arm import Actuator
from flexctl.model import Signal
from flexctl.models import build
from flexctl.motion.moves import Sine, Step, quintic
from flexctl.simulation.analog import AnalogLoop, LinearLoop, analog_loop
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array, Motion, assert_same, check_closures, check_tangent, order, some_motion

MOVE = quintic(0.0, 0.4, 0.3)
LEAD = LinearLaw(
    0.0, ("first", "first_rate"), ("force",), ("first",), A=[[-40.0]], By=[[30.0, 1.0]], Br=[[-30.0, 0.0, 0.0]],
    C=[[20.0]], Dy=[[-60.0, -3.0]], Dr=[[60.0, 3.0, 0.5]],
)


def closed(chain: toys.Chain) -> tuple[Array, Array, Array, Array]:
    """A, B from r = (value, rate, acceleration), C of first and last, and the command's row, written out by hand."""
    n, Mi = chain.n, np.linalg.inv(chain.M)
    Cy = np.zeros((2, 2 * n))
    Cy[0, 0] = Cy[1, n] = 1.0
    A = np.block([
        [np.zeros((n, n)), np.eye(n), np.zeros((n, 1))],
        [-Mi @ chain.K, -Mi @ chain.D, Mi @ chain.B @ LEAD.C],
        [LEAD.By @ Cy, LEAD.A],
    ])
    A[n : 2 * n, : 2 * n] += Mi @ chain.B @ LEAD.Dy @ Cy
    B = np.vstack([np.zeros((n, 3)), Mi @ chain.B @ LEAD.Dr, LEAD.Br])
    u = np.hstack([LEAD.Dy @ Cy, LEAD.C])
    return A, B, np.eye(2 * n + 1)[[0, n - 1]], u


def test_eigenvalues_of_the_analog_loop_are_those_of_the_closed_loop() -> None:
    chain = toys.Chain(3, d=0.3)
    loop = analog_loop(chain, LEAD, {"first": MOVE}, {})
    assert isinstance(loop, LinearLoop)
    n = len(loop.M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-loop.K, -loop.D]])
    found = sla.eigvals(A, sla.block_diag(np.eye(n), loop.M))
    wanted = np.linalg.eigvals(closed(chain)[0])
    for pole in wanted:
        assert np.abs(found - pole).min() < 1e-9 * abs(pole)
    assert np.sum(np.abs(found) < 1e-6) == 1  # the law's coordinate z, of which only the rate has a meaning


def test_analog_step_response_is_the_matrix_exponential() -> None:
    chain = toys.Chain(3, d=0.3)
    found = simulate(chain, LEAD, Step(0.0, 1.0), duration=1.0, step=0.05)
    A, B, C, command = closed(chain)
    steady = -np.linalg.solve(A, B[:, 0])
    for k in (0, 3, 11, 20):
        x = steady - sla.expm(A * found.t[k]) @ steady
        np.testing.assert_allclose([found["first"][k], found["last"][k]], C @ x, atol=1e-11)
        assert found["force"][k] == pytest.approx((command @ x)[0] + 60.0, abs=1e-8)
    assert [s.name for s in found.inputs] == ["force"]
    assert [s.name for s in found.outputs] == ["first", "first_rate", "last", "shake"]
    assert found.scores["force.peak"] == pytest.approx(np.abs(found["force"]).max())
    assert not [key for key in found.scores if "analog" in key]


def test_analog_loop_around_a_nonlinear_model_against_an_independent_integration() -> None:
    model, start = toys.ElasticPendulum(c_theta=0.05), (np.array([0.9, 0.6]), np.array([0.2, 0.0]))
    law = LinearLaw(0.0, ("angle", "rate"), ("torque",), A=[[-25.0]], By=[[3.0, 0.4]], C=[[-9.0]], Dy=[[-2.0, -0.3]])
    wind = Sine(0.8, 1.7)

    class Whole:
        """Plant and law as five first-order equations in the form that `toys.flow` takes."""

        def mass(self, q: Array) -> Array:
            return sla.block_diag(model.mass(q), 1.0)

        def input_matrix(self, q: Array) -> Array:
            return np.array([[0.0], [1.0], [0.0]])

        def force(self, q: Array, v: Array, t: float = 0.0) -> Array:
            y = np.array([q[1], v[1]])
            u = (law.C @ v[2:] + law.Dy @ y)[0]
            return np.append(model.force(q[:2], v[:2]) - [0.0, u], -(law.A @ v[2:] + law.By @ y))

    q, v = toys.flow(Whole(), np.append(start[0], 0.0), np.append(start[1], 0.0), 0.6, lambda t: np.array([wind(t)]))

    def miss(step: float) -> float:
        found = simulate(
            model, law, duration=0.6, step=step, initial=start, inputs={"torque": wind}, record_states=True
        )
        assert found.q.shape[1] == 2
        return float(np.abs([found.q[-1] - q[:2], found.v[-1] - v[:2]]).max())

    errors = [miss(h) for h in (0.01, 0.005, 0.0025)]
    assert errors[-1] < 1e-3
    assert order(errors)[-1] == pytest.approx(2.0, abs=0.15)


def test_analog_loop_is_the_limit_of_fast_sampling() -> None:
    """A hold delays by half a period: the sampled loop comes closer at first order."""
    chain = toys.Chain(2, d=0.3)
    law = LinearLaw(0.0, ("first", "first_rate"), ("force",), ("first",), Dy=[[-60.0, -3.0]], Dr=[[60.0, 3.0, 0.0]])
    wanted = simulate(chain, law, MOVE, duration=0.8, step=1e-4)["last"]

    def miss(k: int) -> float:
        sampled = simulate(chain, replace(law, sample_time=1e-4 * k), MOVE, duration=0.8)["last"]
        return float(np.abs(sampled - wanted[::k]).max())

    errors = [miss(k) for k in (40, 20, 10)]
    assert errors[-1] < 0.01 * np.abs(wanted).max()
    assert order(errors)[-1] == pytest.approx(1.0, abs=0.1)


NO_HUB = build(tokhi_arm(0.0), "finite_difference", sections=4)  # its hub angle has a feed-through


@pytest.mark.parametrize("inner", [toys.Crane(), toys.RodPendulum(), toys.Chain(3), NO_HUB], ids=lambda m: m.kind)
def test_derivatives_of_analog_loops(inner: Any) -> None:
    """With sensors that read positions and rates, and others that see the inputs directly."""
    names = {
        "crane": ("load", "cart_rate"), "rod pendulum": ("angle", "rate"), "chain": ("first", "first_rate"),
        "finite_difference": ("tip_displacement", "joint1_rate"),
    }
    law = LinearLaw(
        0.0, names[inner.kind], (inner.inputs[0].name,), (names[inner.kind][0],), A=[[-3.0, 1.0], [0.4, -2.0]],
        By=[[1.0, 0.2], [0.3, -0.7]], Br=[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], C=[[2.0, -1.0]], Dy=[[-5.0, -0.7]],
        Dr=[[5.0, 0.7, 0.2]],
    )
    loop = AnalogLoop(inner, law, tuple(Signal(f"r{i}") for i in range(3)))
    x: Motion = some_motion(loop)
    check_tangent(loop, x)
    check_closures(loop, x)


def test_feedback_of_its_own_command_is_folded_into_a_continuous_law() -> None:
    fed = LinearLaw(0.0, ("first",), ("force",), A=[[-8.0]], By=[[1.0]], Bu=[[0.5]], C=[[-20.0]], Dy=[[-30.0]])
    plain = LinearLaw(0.0, ("first",), ("force",), A=[[-18.0]], By=[[-14.0]], C=[[-20.0]], Dy=[[-30.0]])
    start = (np.array([0.1, 0.1]), np.zeros(2))
    one, other = (simulate(toys.Chain(2, d=0.3), law, duration=0.5, initial=start) for law in (fed, plain))
    assert_same(one, other, 1e-13)


def test_payload_changes_in_an_analog_loop() -> None:
    arm = build(tokhi_arm(), "finite_difference", sections=4)
    law = LinearLaw(
        0.0, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",),
        Dy=[[-0.9, -0.1]], Dr=[[0.9, 0.1, 0.0]],
    )
    whole = simulate(arm, law, Step(0.0, 0.2), duration=0.4, payload=[(0.2, 0.02, 0.0)], record_states=True)
    tail = simulate(
        arm.with_payload(0.02), law, Step(0.2, 0.2), duration=0.2, initial=(whole.q[200], whole.v[200])
    )
    np.testing.assert_allclose(whole["tip_displacement"][200:], tail["tip_displacement"], atol=1e-12)


@pytest.mark.parametrize(("law", "message"), [
    (LEAD.limited(-1.0, 1.0), "limits on a continuous law are not available; sample the law"),
    (Saturated(LEAD, 1.0), "a continuous Saturated cannot be integrated"),
    (Called(LEAD), "a continuous Called cannot be integrated"),
    (replace(LEAD, measures=("first", "shake")), "algebraic loop"),
])
def test_continuous_laws_that_cannot_be_integrated_say_why(law: Any, message: str) -> None:
    with pytest.raises(NotAvailable, match=message):
        simulate(toys.Chain(2), law, MOVE, duration=0.1)


def test_a_continuous_python_control_system_is_integrated() -> None:
    system = control.ss([[-30.0]], [[600.0]], [[1.0]], [[-24.0]], inputs=["angle"], outputs=["torque"])
    pendulum, start = toys.ElasticPendulum(c_theta=0.1), (np.array([0.8, 0.5]), np.zeros(2))
    law = LinearLaw(0.0, ("angle",), ("torque",), A=[[-30.0]], By=[[600.0]], C=[[1.0]], Dy=[[-24.0]])
    one = simulate(pendulum, system, duration=0.5, initial=start)
    assert one.y.shape == (501, 4)
    assert_same(one, simulate(pendulum, law, duration=0.5, initial=start))


def test_first_order_systems_are_controllers_with_their_names() -> None:
    lag = FirstOrder(
        np.array([[-5.0]]), np.array([[1.0]]), np.array([[-40.0]]), np.zeros((1, 1)), (Signal("x"),),
        (Signal("first", "m"),), (Signal("force", "N"),),
    )
    start = (np.array([0.1]), np.zeros(1))
    found = simulate(toys.oscillator(3.0), lag, duration=0.7, initial=start)
    A = np.array([[0.0, 1.0, 0.0], [-9.0, 0.0, -40.0], [1.0, 0.0, -5.0]])
    assert found["first"][-1] == pytest.approx((sla.expm(A * 0.7) @ [0.1, 0.0, 0.0])[0], rel=1e-10)


@pytest.mark.parametrize(("kind", "links"), [("timoshenko_planar", 2), ("timoshenko_spatial", 1)])
def test_references_of_a_continuous_law_reach_joints_beside_loads_of_the_arm(kind: str, links: int) -> None:
    """Under SDIRK4 they acted on the moments at the tip: the arm moved otherwise, without a word."""
    link = fx.Link(0.45, fx.Material(2.1e11, 7850.0), fx.Section(3e-5, 5.625e-12))
    damping = fx.Damping("rayleigh", beta=2e-4)
    push = Actuator("push", 0.2, 0.6)
    arm = fx.Arm("arm", (link,) * links, (fx.Joint(hub_inertia=4e-3),) * links, damping=damping, actuators=(push,))
    model = fx.build(arm, kind, elements=3)
    names = [f"joint{i + 1}" for i in range(links)]
    law = LinearLaw(
        0.0, tuple(f"{name}_{of}" for name in names for of in ("angle", "rate")),
        tuple(f"{name}_torque" for name in names), tuple(names), Dy=np.kron(np.eye(links), [[-3.0, -0.3]]),
        Dr=np.kron(np.eye(links), [[3.0, 0.3, 0.0]]),
    )
    moves = dict.fromkeys(names, fx.quintic(0.0, 0.4, 0.2))
    inputs = {"push": fx.Sine(0.5, 4.0)}
    one, other = (
        fx.simulate(model, law, moves, inputs=inputs, duration=0.2, step=5e-4, method=method)
        for method in ("sdirk", "trapezoidal")
    )
    for name in [f"{name}_angle" for name in names] + [f"{name}_torque" for name in names]:
        assert np.abs(one[name] - other[name]).max() < 1e-3 * np.ptp(other[name]), name
