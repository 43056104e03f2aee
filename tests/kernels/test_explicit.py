"""Exact steps of modes by themselves and of the whole plant; outputs that are turned after a run and within it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import flexctl as fx
from flexctl.kernels import explicit
from flexctl.laws.controller import LinearLaw
from flexctl.machine.arm import Damping
from flexctl.models.finite_difference import FiniteDifference
from flexctl.simulation import engines
from flexctl.simulation.engines import quadratic_hold

TORQUE = {"joint1_torque": fx.Sine(0.1, 2.0)}
pytestmark = pytest.mark.filterwarnings("ignore::flexctl.AccuracyWarning")


def model(sections: int = 12, damping: Damping | None = None) -> FiniteDifference:
    arm = fx.load_plant("tokhi_azad_1994").arm
    return FiniteDifference(replace(arm, damping=damping) if damping else arm, sections=sections)


def close(one: np.ndarray, other: np.ndarray, part: float) -> None:
    """Check that readings agree to a part of their ranges."""
    assert np.all(np.abs(one - other).max(axis=0) <= part * (np.ptp(other, axis=0) + 1e-12))


@pytest.mark.parametrize("sections", [3, 4, 12])  # four modes have a Phi of four rows and columns either way
def test_modes_by_themselves_move_as_the_whole_plant_does(monkeypatch, sections):
    plant = model(sections, Damping("rayleigh", alpha=0.1, beta=1e-4))
    options = {"inputs": TORQUE, "duration": 0.3, "step": 2e-3, "method": "exact"}
    shapes = []
    made = explicit.exact

    def noted(Phi, *others):
        shapes.append(Phi.shape)
        return made(Phi, *others)

    monkeypatch.setattr(explicit, "exact", noted)
    each = fx.simulate(plant, **options)
    monkeypatch.setattr(engines, "_is_diagonal", lambda matrix: False)
    whole = fx.simulate(plant, **options)
    n = len(plant.coordinates)
    assert {shapes[0], shapes[-1]} == {(4, n), (2 * n, 2 * n)}
    close(each.y, whole.y, 1e-9)


def test_modes_that_dampers_couple_are_not_taken_apart(monkeypatch):
    plant, shapes, made = model(6), [], explicit.exact
    plant.D = plant.D.copy()
    plant.D[0, 0] += 0.05  # a damper at the hub alone
    monkeypatch.setattr(explicit, "exact", lambda Phi, *others: (shapes.append(Phi.shape), made(Phi, *others))[1])
    options = {"inputs": TORQUE, "duration": 0.2}
    exact = fx.simulate(plant, method="exact", step=1e-3, **options)
    assert shapes[0] == (2 * len(plant.M),) * 2
    fine = fx.simulate(plant, method="march", step=2e-4, **options)
    assert np.abs(fine["joint1_angle"][::5] - exact["joint1_angle"]).max() < 2e-3 * np.ptp(exact["joint1_angle"])


def test_the_hold_of_many_plants_is_that_of_each():
    A = np.array([[[0.0, 3.0], [-3.0, -0.1]], [[0.0, 40.0], [-40.0, -2.0]]])
    B = np.array([[[0.0, 0.1], [1.0, 2.0]], [[0.0, 0.0], [0.5, -1.0]]])
    many = quadratic_hold(A, B, 0.01)
    for k in range(2):
        for part, one in zip(many, quadratic_hold(A[k], B[k], 0.01), strict=True):
            assert part[k] == pytest.approx(one, rel=1e-13, abs=1e-16)


@pytest.mark.parametrize("method", ["march", "exact"])
@pytest.mark.parametrize("looped", [False, True])
def test_turned_outputs_are_those_of_the_angles_at_all_points(method, looped):
    plant = model(12)
    law = LinearLaw(2e-3, ("tip_x", "joint1_rate"), ("joint1_torque",), ("tip_x",), Dy=[[0.5, -0.1]], Dr=[[-0.5, 0, 0]])
    given = {"controller": law, "reference": fx.quintic(0.9, 0.6, 0.3)} if looped else {"inputs": TORQUE}
    run = fx.simulate(plant, duration=0.4, step=2e-4, method=method, **given)
    names, expected = [one.name for one in run.outputs], run.y.copy()
    for row, sine, angle, less, radius in plant.turned:
        part = np.sin if sine else np.cos
        away = part(run.y[:, less]) if less >= 0 else 0.0
        expected[:, row] = radius * (part(run.y[:, angle]) - away)
    assert {"tip_x", "tip_y", "tip_error_x"} <= {names[row] for row, *_ in plant.turned}
    assert run.y == pytest.approx(expected, rel=1e-13, abs=1e-15)
    assert np.ptp(run["tip_y"]) > 1e-3
    if looped:  # the law read them as they are recorded
        read = run.u[10, 0] - (0.5 * run["tip_x"][10] - 0.1 * run["joint1_rate"][10])
        assert read == pytest.approx(-0.5 * run.r[10, 0], rel=1e-9)


def test_bending_of_a_link_is_the_largest_angle_against_its_hub():
    plant = model(9)
    q = np.random.default_rng(3).normal(size=(50, len(plant.coordinates)))
    y = np.column_stack([np.zeros(50), q[:, plant.nodes]])
    slopes, hub = np.diff(y, axis=1) / plant.dx, q[:, 0] if plant.has_theta else q[:, 0] / plant.dx
    assert plant.assumptions(q, 0.0 * q)[0].value == pytest.approx(np.abs(slopes - hub[:, None]).max(), rel=1e-12)
