"""Arms of massless links that carry bodies: rigid-link benchmarks, as plant files, against closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexctl as fx
from flexctl.model import names

M1, M2, J2, L1, L2, G = 2.0, 1.5, 0.01, 1.0, 0.7, 9.81  # kg, kg m^2, m, m/s^2
FILE = f"""
title = "Double pendulum: a point mass at the end of link 1, a body at the end of link 2"
reference = "closed form"

[[link]]
kind = "massless"
length = {L1}

[[link]]
kind = "massless"
length = {L2}

[[joint]]
angle = -1.5707963267948966
[[joint]]

[[body]]
link = 1
position = 1.0
mass = {M1}

[[body]]
link = 2
position = 1.0
mass = {M2}
inertia = {J2}

[gravity]
y = -{G}

[model]
kind = "assumed_modes"
"""


@pytest.fixture
def pendulum(tmp_path: Path) -> fx.Plant:
    path = tmp_path / "pendulum.toml"
    path.write_text(FILE)
    return fx.load_plant(path)


def inertia(turn: float) -> Any:
    """Mass matrix in the angles of the links against the base, the second link turned against the first."""
    c = M2 * L1 * L2 * np.cos(turn)
    return np.array([[(M1 + M2) * L1**2, c], [c, M2 * L2**2 + J2]])


def test_hanging_frequencies(pendulum: fx.Plant) -> None:
    stiffness = np.diag([(M1 + M2) * G * L1, M2 * G * L2])
    wanted = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(inertia(0.0), stiffness)))) / (2.0 * np.pi)
    assert pendulum.modes().frequencies_hz == pytest.approx(wanted, rel=1e-12)
    assert pendulum.modes().rigid_modes == 0
    weightless = pendulum.with_({"gravity.y": 0.0})
    assert weightless.modes().rigid_modes == 2


def test_torques_that_hold_it(pendulum: fx.Plant) -> None:
    at = fx.rest_point(pendulum, {"joint1": 0.3, "joint2": 0.4})
    second = M2 * G * L2 * np.cos(0.7)
    assert at.u[:2] == pytest.approx([(M1 + M2) * G * L1 * np.cos(0.3) + second, second], rel=1e-12)


def test_fall_from_the_horizontal(pendulum: fx.Plant) -> None:
    """Against the equations of the double pendulum by another integrator."""
    def fall(_: float, x: Any) -> Any:
        (one, two), (v1, v2) = x[:2], x[2:]
        s = M2 * L1 * L2 * np.sin(one - two)
        forces = [-s * v2**2 - (M1 + M2) * G * L1 * np.cos(one), s * v1**2 - M2 * G * L2 * np.cos(two)]
        return [v1, v2, *np.linalg.solve(inertia(one - two), forces)]

    arm = pendulum.with_({"joint.1.angle": 0.0, "joint.2.angle": 0.2})
    run = fx.simulate(arm, duration=0.8, step=2e-4)
    exact = solve_ivp(fall, (0.0, 0.8), [0.0, 0.2, 0.0, 0.0], rtol=1e-11, atol=1e-12, t_eval=[0.4, 0.8])
    for k, t in enumerate(exact.t):
        i = int(np.argmin(np.abs(run.t - t)))
        one, two = exact.y[:2, k]
        assert run["tip_x"][i] == pytest.approx(L1 * np.cos(one) + L2 * np.cos(two), abs=2e-6)
        assert run["tip_y"][i] == pytest.approx(L1 * np.sin(one) + L2 * np.sin(two), abs=2e-6)


def test_a_payload_alone_is_enough(pendulum: fx.Plant) -> None:
    arm = pendulum.with_({"body": [], "payload.mass": 0.8, "payload.inertia": 0.002, "joint.1.hub_inertia": 0.01})
    assert "tip_x" in names(arm.model.outputs)
    assert arm.modes().frequencies_hz.size == 2


def test_what_has_no_mass_or_too_much_is_refused(pendulum: fx.Plant) -> None:
    with pytest.raises(fx.DefinitionError, match="neither mass, damping nor stiffness"):
        pendulum.with_({"body": [], "gravity.y": 0.0}).modes()
    with pytest.raises(fx.DefinitionError, match=r"hub_inertia = 9999 .* times the inertia of the links and bodies"):
        pendulum.with_({"joint.1.hub_inertia": 9999.0, "body.1.mass": 0.01, "body.2.mass": 0.01})
    with pytest.raises(fx.DefinitionError, match=r"\[payload\]: mass = 200 kg is 57.1 times"):
        pendulum.with_({"payload.mass": 200.0})
