"""The linear model on an infinitely fine mesh: beside Hermite elements of another code, its order, what has none."""

from __future__ import annotations

import numpy as np
import pytest
from one_link import FREE, OUTPUTS, matrices

import flexctl as fx
from flexctl.identify import mesh_limit
from flexctl.identify.mesh_limit import in_the_limit
from flexctl.identify.sampled import Sampled, sampled

NYQUIST = np.pi / 2e-3
SEEN = [head.split(" ")[0] for head in OUTPUTS]
KINDS = {"finite_difference": "sections = 30", "timoshenko_planar": "elements = 32", "finite_segment": "segments = 40"}
TWO_LINKS = """\
[material.steel]
youngs_modulus = 2.0e11
density = 7850.0
[section.strip]
area = 4.0e-5
second_moment = 6.0e-12
[[link]]
length = 0.5
material = "steel"
section = "strip"
[[link]]
length = 0.4
material = "steel"
section = "strip"
[[joint]]
hub_inertia = 2e-3
[[joint]]
hub_inertia = 1e-3
[payload]
mass = 0.05
inertia = 1e-6
[damping]
kind = "modal"
ratio = 0.01
[model]
kind = "timoshenko_planar"
elements = 12
"""


def arm_of(folder, kind: str, mesh: str) -> fx.Plant:
    text = FREE[: FREE.index("[model]")] + f'[model]\nkind = "{kind}"\n{mesh}\n'
    (folder / "arm.toml").write_text(text)
    return fx.load_plant(folder / "arm.toml")


def gains(model: Sampled, omega: np.ndarray) -> np.ndarray:
    """Return the responses from the torque to the outputs."""
    A, B, C, D = model.plant.A, model.plant.B[:, :1], model.plant.C[: model.ny], model.plant.D[: model.ny, :1]
    return np.array([(C @ np.linalg.solve(1j * w * np.eye(len(A)) - A, B) + D)[:, 0] for w in omega])


@pytest.mark.parametrize("kind", KINDS)
def test_a_coarse_mesh_tells_the_arm(kind: str, tmp_path) -> None:
    """Beside the second and third mode a mesh is off by several per cent; the limit by what beam theories differ."""
    arm = arm_of(tmp_path, kind, KINDS[kind])
    A, B, C, D = matrices(14, 60)
    modes = np.sort(np.abs(np.linalg.eigvals(A).imag))[::2]
    modes = modes[modes > 1.0][:3]
    omega = np.concatenate([0.96 * modes, 1.04 * modes])
    exact = np.array([(C[:3] @ np.linalg.solve(1j * w * np.eye(len(A)) - A, B) + D[:3])[:, 0] for w in omega])
    limit = in_the_limit(arm, ["joint1_torque"], SEEN, NYQUIST)
    assert limit is not None
    plain = gains(sampled(arm, ["joint1_torque"], SEEN, NYQUIST), omega)
    off, plainly = np.abs(gains(limit, omega) / exact - 1.0).max(), np.abs(plain / exact - 1.0).max()
    assert off < 0.01
    assert plainly > 10.0 * off


def test_its_error_falls_at_least_with_the_fourth_power_of_the_mesh(tmp_path) -> None:
    omega = np.array([5.0, 60.0, 150.0])
    found = []
    for sections in (20, 40, 160):
        limit = in_the_limit(
            arm_of(tmp_path, "finite_difference", f"sections = {sections}"), ["joint1_torque"], SEEN[::2], NYQUIST
        )
        assert limit is not None
        found.append(gains(limit, omega))
    first, second = (np.abs(one / found[2] - 1.0).max() for one in found[:2])
    assert first / second > 12.0


def test_rigid_modes_of_two_links_are_turned_into_each_other(tmp_path) -> None:
    """Any two combinations are normal modes; what both meshes have in common is what torques and angles see."""
    (tmp_path / "two.toml").write_text(TWO_LINKS)
    between = ["joint1_torque", "joint2_torque"], ["joint1_angle", "joint2_angle"]
    arm = fx.load_plant(tmp_path / "two.toml")
    limit = in_the_limit(arm, *between, 300.0)
    fine = in_the_limit(arm.with_({"model.elements": 48}), *between, 300.0)
    assert limit is not None
    assert fine is not None
    omega = np.array([1.0, 20.0, 60.0])
    plain = gains(sampled(arm, *between, 300.0), omega)
    off = np.abs(gains(limit, omega) / gains(fine, omega) - 1.0).max()
    assert off < 2e-3
    assert np.abs(plain / gains(fine, omega) - 1.0).max() > 10.0 * off


def test_there_is_none_of_a_mesh_that_lacks_a_mode_of_the_record(tmp_path) -> None:
    assert in_the_limit(arm_of(tmp_path, "timoshenko_planar", "elements = 4"), ["joint1_torque"], SEEN, NYQUIST) is None
    assert in_the_limit(arm_of(tmp_path, "finite_difference", "sections = 30"), ["joint1_torque"], SEEN, np.inf) is None


def test_the_plant_that_is_returned_has_a_mesh_that_is_fine_enough(tmp_path) -> None:
    arm = arm_of(tmp_path, "timoshenko_planar", "elements = 16")
    fine = mesh_limit.fine_enough(arm, 330)
    finer = fine.with_({"model.elements": 2 * len(fine.model.coordinates) // 3})
    one, two = (plant.linearise().modes().frequencies_hz[:3] for plant in (arm, finer))
    assert np.abs(one / two - 1.0).max() > 1e-2
    assert np.abs(fine.linearise().modes().frequencies_hz[:3] / two - 1.0).max() < 3e-3
