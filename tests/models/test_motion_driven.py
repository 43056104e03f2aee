"""Joints driven by motion, against direct formulas and elimination by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sla
import toys
from analytical import tokhi_arm
from scipy.integrate import solve_ivp

from flexctl.errors import DefinitionError, NotAvailable
from flexctl.linear import linearise
from flexctl.machine.arm import Actuator
from flexctl.model import LinearMechanics, MechanicalModel, names
from flexctl.models import build
from flexctl.models.wrappers.motion_driven import motion_driven
from flexctl.motion.moves import Sampled, Sine, acceleration_of, quintic
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array, check_closures, check_tangent, order, some_motion

MOVE = quintic(0.0, 0.5, 1.0)
COMMAND = acceleration_of(MOVE)


def arm(sections: int = 6, **tables) -> MechanicalModel:
    return build(tokhi_arm(**tables), "finite_difference", sections=sections)


DRIVEN = {
    "crane": lambda: motion_driven(toys.Crane(), {"force": "x"}),
    "arm": lambda: motion_driven(arm(), {"joint1_torque": "theta"}),
    "chain": lambda: motion_driven(toys.Chain(3, d=0.4), {"force": "x1"}),
}
driven = pytest.mark.parametrize("make", DRIVEN.values(), ids=DRIVEN)


@driven
def test_derivatives_and_names(make) -> None:
    model = make()
    assert isinstance(model, MechanicalModel)
    assert isinstance(model, LinearMechanics) == (model.kind != "crane")
    x = some_motion(model)
    check_tangent(model, x)
    check_closures(model, x)
    assert model.inputs[0].name == f"{model.coordinates[0].name}_acceleration"
    assert model.inputs[0].unit == f"{model.coordinates[0].unit}/s^2"
    assert model.outputs[-1].name in ("force", "joint1_torque")


@driven
def test_the_driven_coordinate_accelerates_as_commanded(make) -> None:
    model = make()

    def miss(step: float) -> float:
        inputs = {model.inputs[0].name: COMMAND}
        run = simulate(model, inputs=inputs, duration=1.2, step=step, record_states=True)
        value, rate, _ = MOVE(run.t)
        return float(np.abs([run.q[:, 0] - value, run.v[:, 0] - rate]).max())

    errors = [miss(h) for h in (0.02, 0.01, 0.005)]
    assert errors[-1] < 1e-4
    assert order(errors)[-1] > 1.9


def test_crane_swings_as_its_formula_says() -> None:
    """Theta'' = -(x'' cos theta + g sin theta)/l with x prescribed, integrated by itself."""
    model = toys.Crane()

    def swing(t: float, y: Array) -> list[float]:
        push = float(MOVE(t)[2])
        return [y[1], -(push * np.cos(y[0]) + model.g * np.sin(y[0])) / model.l]

    exact = solve_ivp(swing, (0.0, 1.0), [0.0, 0.0], rtol=1e-11, atol=1e-12).y[:, -1]

    def miss(step: float) -> float:
        run = simulate(
            DRIVEN["crane"](), inputs={"x_acceleration": COMMAND}, duration=1.0, step=step,
            method="trapezoidal", record_states=True,
        )
        return float(np.abs([run.q[-1, 1] - exact[0], run.v[-1, 1] - exact[1]]).max())

    errors = [miss(h) for h in (0.02, 0.01, 0.005)]
    assert order(errors)[-1] == pytest.approx(2.0, abs=0.1)
    assert errors[-1] < 1e-3 * abs(exact).max()


def test_drive_force_is_what_the_free_crane_needs_for_the_same_motion() -> None:
    """Feed the drive force found into the crane driven by force: it must move as commanded."""
    step = 2e-3
    inputs = {"x_acceleration": COMMAND, "wind": Sine(0.3, 2.0)}
    run = simulate(DRIVEN["crane"](), inputs=inputs, duration=0.8, step=step, method="trapezoidal")
    force = {"force": Sampled(run.t, run["force"]), "wind": Sine(0.3, 2.0)}
    free = simulate(toys.Crane(), inputs=force, duration=0.8, step=step, method="trapezoidal")
    np.testing.assert_allclose(free["cart"], run["cart"], atol=1e-9)
    np.testing.assert_allclose(free["swing"], run["swing"], atol=1e-9)


def test_drive_force_of_a_stiff_chain_is_mass_times_acceleration() -> None:
    stiff = toys.Chain(3, m=0.5, k=1e6, d=500.0)
    run = simulate(motion_driven(stiff, {"force": "x1"}), inputs={"x1_acceleration": COMMAND}, duration=1.0)
    # jerk jumps at the start and leaves an oscillation that lasts some milliseconds
    wanted = 1.5 * MOVE(run.t)[2]
    np.testing.assert_allclose(run["force"], wanted, atol=1e-2 * np.abs(wanted).max())


def test_linear_plant_is_elimination_by_hand() -> None:
    """With x_p prescribed, Z_fp x_p drives the rest, and the force is the residual of the first row."""
    inner = toys.Chain(4, d=0.4)
    plant = linearise(motion_driven(inner, {"force": "x1"}))
    f = np.arange(1, 4)
    for s in (0.3 + 2.0j, 1.0 + 30.0j):
        Z = s**2 * inner.M + s * inner.D + inner.K
        x_f = -np.linalg.solve(Z[np.ix_(f, f)], Z[f, 0])  # for x_p = 1
        x = np.concatenate([[1.0], x_f])
        force = Z[0] @ x
        wanted = {"first": x[0], "last": x[-1], "first_rate": s * x[0], "shake": s**2 * x[-1], "force": force}
        q = np.linalg.solve(s**2 * plant.M + s * plant.D + plant.K, plant.B[:, 0])
        y = (plant.Cq + s * plant.Cv + s**2 * plant.Ca) @ q + plant.Du[:, 0]
        for name, value in zip(names(plant.outputs), y, strict=True):
            assert value == pytest.approx(wanted[name] / s**2, rel=1e-10)


def test_poles_are_the_clamped_arm_and_a_double_integrator() -> None:
    inner = arm(12)
    plant = linearise(motion_driven(inner, {"joint1_torque": "theta"}))
    n = len(plant.M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [np.linalg.solve(plant.M, -plant.K), np.zeros((n, n))]])
    found = np.sort(np.abs(sla.eigvals(A)))
    clamped = np.sqrt(sla.eigh(inner.K[1:, 1:], inner.M[1:, 1:], eigvals_only=True))
    np.testing.assert_allclose(found[:2], 0.0, atol=1e-4)
    np.testing.assert_allclose(found[2:], np.repeat(clamped, 2), rtol=1e-6)


@pytest.mark.parametrize("name", ["arm", "chain"])
def test_both_wrappers_and_all_methods_agree(name: str) -> None:
    """The linear wrapper as a linear model, and the general one around the same model."""
    model = DRIVEN[name]()
    general = model._wrapped
    inputs = {model.inputs[0].name: Sine(3.0, 1.5)}
    runs = [
        simulate(m, inputs=inputs, duration=0.4, step=1e-3, method="trapezoidal").y for m in (model, general)
    ]
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-9 * np.abs(runs[0]).max())
    smooth = names(model.outputs).index(model.outputs[0].name)
    exact = simulate(model, inputs=inputs, duration=0.4, step=1e-3).y[:, smooth]
    np.testing.assert_allclose(runs[0][:, smooth], exact, atol=1e-5 * np.abs(exact).max())


def test_inputs_that_stay_still_act() -> None:
    model = arm(actuators=(Actuator("puff", 0.5, 0.5),))
    plant = linearise(motion_driven(model, {"joint1_torque": "theta"}))
    assert names(plant.inputs) == ["theta_acceleration", "puff"]
    np.testing.assert_array_equal(plant.B[1:, 1], model.B[1:, 1])
    assert plant.B[0, 1] == 0.0


@pytest.mark.parametrize("name", ["crane", "arm"])
def test_the_payload_changes_inside_the_wrapper(name: str) -> None:
    heavy = DRIVEN[name]().with_payload(0.9, 0.0)
    inner = toys.Crane(m=0.9) if name == "crane" else arm().with_payload(0.9)
    joints = {"force": "x"} if name == "crane" else {"joint1_torque": "theta"}
    x, wanted = some_motion(heavy), motion_driven(inner, joints)
    np.testing.assert_allclose(heavy.mass(x.q), wanted.mass(x.q))
    np.testing.assert_allclose(heavy.output(x.q, x.v, x.a, x.u), wanted.output(x.q, x.v, x.a, x.u))


def test_what_cannot_be_driven_is_refused() -> None:
    with pytest.raises(DefinitionError, match="no joint"):
        motion_driven(toys.Crane(), {})
    with pytest.raises(DefinitionError, match='unknown coordinate "z"'):
        motion_driven(toys.Crane(), {"force": "z"})
    with pytest.raises(DefinitionError, match="one by one"):
        motion_driven(toys.Crane(), {"force": "theta"})
    with pytest.raises(DefinitionError, match="one by one"):
        motion_driven(TurnedRod(), {"torque": "x"})
    with pytest.raises(NotAvailable, match="chain cannot change its payload"):
        DRIVEN["chain"]().with_payload(0.1, 0.0)


class TurnedRod(toys.RodPendulum):
    """The torque acts on both coordinates."""

    def reference(self) -> Array:
        return self.at(0.5)[0]
