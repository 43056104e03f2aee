"""Natural frequencies, damping, rigid modes: closed forms, convergence rates, and meshes where digits get lost."""

from __future__ import annotations

import json
from dataclasses import replace

import analytical_frequency as exact
import beams
import numpy as np
import pytest
import scipy.linalg as sla
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.errors import DefinitionError
from flexctl.linear import FirstOrder, SecondOrder
from flexctl.linear.modes import modal_damping, modes, normal_modes
from flexctl.model import Signal

SCALE = np.sqrt(beams.STIFFNESS / beams.DENSITY) / beams.LENGTH**2


def plant_of(M, D, K):
    n = len(M)
    coordinates = tuple(Signal(f"q{i}") for i in range(n))
    zero, one = np.zeros((1, n)), np.eye(1, n)
    return SecondOrder(
        np.array(M, float), np.array(D, float), np.array(K, float), one.T, one, zero, zero, np.zeros((1, 1)),
        coordinates, (Signal("u"),), (Signal("y"),),
    )


def test_clamped_beam_converges_at_fourth_order():
    errors = []
    for elements in (8, 16):
        omega = normal_modes(*beams.hermite(elements, hub=None)).omega[:3]
        errors.append(omega / [exact.clamped_free(k) ** 2 * SCALE for k in (1, 2, 3)] - 1.0)
    rate = np.log2(errors[0] / errors[1])
    assert np.all(errors[1] > 0.0)  # a conforming element is too stiff
    assert rate == pytest.approx(4.0, abs=0.15)


@pytest.mark.parametrize("elements", [64, 128, 200])
def test_fine_mesh_keeps_its_lowest_frequencies(elements):
    beta = [exact.pinned_free_hub(k, beams.LENGTH, beams.DENSITY, beams.HUB_INERTIA) for k in (1, 2, 3)]
    normal = normal_modes(*beams.hermite(elements))
    # beside the mesh error, (beta h)^4 / 1440: a pencil solver loses 1e-6 of omega_1 at 400 coordinates
    error = np.abs(normal.omega[1:4] / (np.square(beta) * SCALE) - 1.0)
    assert np.all(error < (np.array(beta) / elements) ** 4 / 1440 + 2e-10)
    assert normal.omega[1] / normal.omega[-1] < 1e-3


@pytest.mark.parametrize("elements", [1, 2, 5, 20, 64, 100, 200])
def test_rigid_mode_of_a_hub_driven_beam_is_exact(elements):
    M, K = beams.hermite(elements)
    normal = normal_modes(M, K)
    assert normal.rigid == 1
    assert normal.omega[0] == 0.0
    assert normal.eigenvalues[0] == 0.0
    assert np.all(normal.omega[1:] > 60.0)
    x = np.arange(elements + 1) * beams.LENGTH / elements
    rotation = np.column_stack([x, np.ones(elements + 1)]).ravel()[1:]
    shape = normal.shapes[:, 0] / normal.shapes[0, 0]
    assert shape == pytest.approx(rotation, abs=1e-8)
    assert np.abs(normal.shapes.T @ M @ normal.shapes - np.eye(len(M))).max() < 1e-10


@pytest.mark.parametrize("elements", [1, 10, 128])
def test_free_beam_has_two_rigid_modes(elements):
    normal = normal_modes(*beams.hermite(elements, free=True, hub=0.0))
    assert normal.rigid == 2
    assert np.array_equal(normal.omega[:2], [0.0, 0.0])
    assert np.all(normal.omega[2:] > 50.0)


@pytest.mark.parametrize("elements", [1, 10, 128])
def test_clamped_beam_has_none(elements):
    assert normal_modes(*beams.hermite(elements, hub=None)).rigid == 0


def test_a_soft_joint_is_not_a_rigid_mode():
    M, K = beams.hermite(20)
    K[0, 0] += 1e-5  # N m/rad, 1e-10 of the stiffest entry
    normal = normal_modes(M, K)
    J = beams.DENSITY / 3.0 + beams.HUB_INERTIA
    assert normal.rigid == 0
    assert normal.omega[0] == pytest.approx(np.sqrt(1e-5 / J), rel=1e-4)


def test_small_systems():
    assert normal_modes(np.eye(1), np.zeros((1, 1))).rigid == 1
    assert normal_modes(2.0 * np.eye(3), np.zeros((3, 3))).rigid == 3
    assert normal_modes(np.array([[2.0]]), np.array([[8.0]])).omega == pytest.approx([2.0])
    assert normal_modes(np.zeros((0, 0)), np.zeros((0, 0))).rigid == 0
    two = normal_modes(np.eye(2), np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert two.rigid == 1
    assert two.omega == pytest.approx([0.0, np.sqrt(2.0)])


def test_indefinite_stiffness_is_reported_not_hidden():
    normal = normal_modes(np.eye(3), np.diag([-4.0, 0.0, 9.0]))
    assert normal.rigid == 1
    assert normal.eigenvalues == pytest.approx([0.0, -4.0, 9.0], abs=1e-14)
    assert np.isnan(normal.omega[1])


@pytest.mark.parametrize("elements", [10, 128])
def test_inverted_pendulum_lists_its_real_poles(elements):
    M, K = beams.hermite(elements)
    K[0, 0] -= 0.5  # destabilising gravity moment, N m/rad
    found = modes(plant_of(M, 0 * M, K))
    assert found.rigid_modes == 0
    assert found.real_poles.size == 2
    assert found.real_poles[0] == pytest.approx(-found.real_poles[1])
    # the moment acts on a nearly rigid arm: static deflection changes the pole by about 7 %
    J = beams.DENSITY / 3.0 + beams.HUB_INERTIA
    assert found.real_poles[1] == pytest.approx(np.sqrt(0.5 / J), rel=0.1)
    assert found.frequencies_hz.size == len(M) - 1


def test_no_mass_is_refused():
    with pytest.raises(DefinitionError, match="not positive definite"):
        normal_modes(np.diag([1.0, 0.0]), np.eye(2))


@pytest.mark.parametrize("elements", [5, 100])
def test_modal_damping_damps_every_flexible_mode_and_no_rigid_one(elements):
    M, K = beams.hermite(elements)
    D = modal_damping(M, K, 0.01)
    found = modes(plant_of(M, D, K))
    rotation = np.column_stack([np.linspace(0.0, 1.0, elements + 1), np.ones(elements + 1)]).ravel()[1:]
    assert found.rigid_modes == 1
    assert found.real_poles.size == 0
    assert found.damping == pytest.approx(0.01, rel=1e-6)
    assert np.abs(D @ rotation).max() < 1e-9 * np.abs(D).max()
    assert found.frequencies_hz == pytest.approx(normal_modes(M, K).omega[1:] / (2 * np.pi))


@pytest.mark.parametrize("ratio", [-0.1, np.nan, np.inf])
def test_bad_damping_ratio_is_refused(ratio):
    with pytest.raises(DefinitionError, match="ratio"):
        modal_damping(np.eye(2), np.eye(2), ratio)


def test_coupled_damping_against_the_characteristic_polynomial():
    M, K = np.diag([2.0, 1.0]), np.array([[6.0, -2.0], [-2.0, 2.0]])
    D = np.array([[0.3, 0.0], [0.0, 0.0]])
    det = np.polysub(np.polymul([2.0, 0.3, 6.0], [1.0, 0.0, 2.0]), [4.0])
    roots = np.roots(det)
    upper = roots[roots.imag > 0][np.argsort(np.abs(roots[roots.imag > 0]))]
    found = modes(plant_of(M, D, K))
    assert found.poles == pytest.approx(upper, rel=1e-12)
    assert found.frequencies_hz == pytest.approx(np.abs(upper) / (2 * np.pi))
    assert found.damping == pytest.approx(-upper.real / np.abs(upper))
    for pole, psi in zip(found.poles, found.shapes.T, strict=True):
        assert np.abs((pole**2 * M + pole * D + K) @ psi).max() < 1e-12


def test_dashpot_on_a_fine_beam_satisfies_the_quadratic_problem():
    plant = beams.cantilever(256)
    found = modes(plant, 4)
    assert found.frequencies_hz.size == 4
    for pole, psi in zip(found.poles, found.shapes.T.astype(np.clongdouble), strict=True):
        m, d, k = (psi @ (X.astype(np.longdouble) @ psi) for X in (plant.M, plant.D, plant.K))
        # stationary in the shape, so that the pole is judged to eight digits of omega^2
        assert abs(pole**2 * m + pole * d + k) < 1e-8 * abs(k)


def test_overdamped_oscillator_lists_both_poles():
    found = modes(plant_of([[1.0]], [[5.0]], [[4.0]]))
    assert found.frequencies_hz.size == 0
    assert found.real_poles == pytest.approx([-4.0, -1.0])


def test_joint_friction_keeps_the_rigid_mode_and_lists_its_real_pole():
    J, d = 0.5, 0.25
    found = modes(plant_of([[J]], [[d]], [[0.0]]))
    assert found.rigid_modes == 1
    assert found.real_poles == pytest.approx([-d / J])
    beam = beams.hub_beam(30)
    D = beam.D.copy()
    D[0, 0] += 0.01
    found = modes(replace(beam, D=D))
    total = beams.DENSITY / 3.0 + beams.HUB_INERTIA
    assert found.rigid_modes == 1
    assert found.real_poles == pytest.approx([-0.01 / total], rel=1e-3)


def test_gyroscopic_pair_has_the_whirl_frequencies():
    # x'' - 2 W y' + w^2 x = 0, y'' + 2 W x' + w^2 y = 0: frequencies sqrt(w^2 + W^2) -+ W
    w, W = 10.0, 3.0
    found = modes(plant_of(np.eye(2), [[0.0, -2 * W], [2 * W, 0.0]], w**2 * np.eye(2)))
    assert 2 * np.pi * found.frequencies_hz == pytest.approx(np.hypot(w, W) + np.array([-W, W]))
    assert found.damping == pytest.approx(0.0, abs=1e-14)


def test_negative_damping_is_a_negative_ratio():
    found = modes(plant_of([[1.0]], [[-0.2]], [[1.0]]))
    assert found.damping == pytest.approx([-0.1])


def test_massless_coordinate_between_two_springs():
    # m x1'' + k1 (x1 - x2) = 0, 0 = k1 (x2 - x1) + k2 x2: springs in series
    k1, k2, m = 3.0, 6.0, 0.5
    found = modes(plant_of(np.diag([m, 0.0]), np.zeros((2, 2)), [[k1, -k1], [-k1, k1 + k2]]))
    assert 2 * np.pi * found.frequencies_hz == pytest.approx([np.sqrt(k1 * k2 / (k1 + k2) / m)])
    assert found.rigid_modes == 0


def test_circulatory_stiffness_flutters():
    # K = [[k, c], [-c, k]]: lambda^2 = -k +- j c
    found = modes(plant_of(np.eye(2), np.zeros((2, 2)), [[4.0, 1.0], [-1.0, 4.0]]))
    roots = np.sqrt(-4.0 + 1j * np.array([1.0, -1.0]))
    assert np.sort(found.damping) == pytest.approx(np.sort(np.abs(roots.real) / np.abs(roots) * [-1.0, 1.0]))


@pytest.mark.parametrize("form", ["modal", "energy", "physical"])
@pytest.mark.parametrize("elements", [3, 50])
def test_first_order_forms_have_the_same_modes(form, elements):
    plant = beams.hub_beam(elements, ratio=0.001)
    same, found = modes(plant, 5), modes(plant.first_order(form), 5)
    assert found.rigid_modes == 1
    assert found.shapes is None
    assert found.frequencies_hz == pytest.approx(same.frequencies_hz, rel=1e-6)
    assert found.damping == pytest.approx(same.damping, rel=1e-5)


def test_modes_of_a_sampled_plant_whose_entries_span_forty_decades():
    """Fast modes decay by e-38 within a period; LAPACK's divide and conquer finds no singular values of this one."""
    import flexctl as fx

    model = fx.load_plant("tian_2r_beam", overrides={"model.elements": 4}).model
    pose = (-2.0862105156410107, 2.3897244472985744)
    plant = fx.linearise(model, fx.OperatingPoint.at_rest(model, model.pose(pose)))
    found, sampled = modes(plant, 3), modes(plant.discrete(1e-3), 3)
    assert sampled.rigid_modes == 2
    assert sampled.frequencies_hz == pytest.approx(found.frequencies_hz, rel=1e-6)


def test_sampled_plant_has_the_poles_of_the_continuous_one():
    plant = beams.hub_beam(10, ratio=0.002)
    found, sampled = modes(plant, 4), modes(plant.discrete(1e-3, modes=4))
    assert sampled.rigid_modes == 1
    assert sampled.frequencies_hz == pytest.approx(found.frequencies_hz, rel=1e-6)
    assert sampled.damping == pytest.approx(found.damping, rel=1e-4)


def test_single_integrator_and_empty_system():
    def system(A):
        n = len(A)
        return FirstOrder(
            np.array(A, float).reshape(n, n), np.zeros((n, 0)), np.zeros((0, n)), np.zeros((0, 0)),
            tuple(Signal(f"x{i}") for i in range(n)), (), (),
        )

    assert modes(system([[0.0]])).rigid_modes == 1
    assert modes(system(np.zeros((0, 0)))).frequencies_hz.size == 0
    found = modes(system([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -2.0]]))
    assert (found.rigid_modes, list(found.real_poles)) == (1, [pytest.approx(-2.0)])


def test_shapes_are_in_full_coordinates():
    basis = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    plant = replace(plant_of(np.eye(2), np.zeros((2, 2)), np.diag([1.0, 4.0])), basis=basis)
    assert modes(plant).shapes.shape == (3, 2)
    assert np.abs(modes(plant).shapes) == pytest.approx(np.abs(basis))


def test_what_is_not_a_linear_plant_is_refused():
    with pytest.raises(DefinitionError, match="ndarray is not a linear plant"):
        modes(np.eye(2))


def test_count_and_text():
    found = modes(beams.hub_beam(10, ratio=0.01), 3)
    assert found.frequencies_hz.size == found.damping.size == found.shapes.shape[1] == 3
    assert found.to_dict() == {
        "frequencies_hz": found.frequencies_hz.tolist(),
        "damping": found.damping.tolist(),
        "rigid_modes": 1,
        "real_poles": found.real_poles.tolist(),
        "undamped_hz": found.undamped_hz.tolist(),
        "owners": ["", "", ""],
        "real_owners": [""] * found.real_poles.size,
    }
    text = str(found)
    assert text.startswith("1 rigid mode\n")
    assert f"{found.frequencies_hz[0]:.6g}" in text
    with pytest.raises(DefinitionError, match="at least 1"):
        modes(beams.hub_beam(3), 0)


def test_both_frequencies_are_named_where_damping_couples_the_modes():
    """A damper between two masses on springs: |lambda| of the poles, and sqrt(k/m) without it."""
    M, K = np.diag([1.0, 2.0]), np.array([[3.0, -1.0], [-1.0, 5.0]])
    plant = fx.from_matrices(M, np.diag([1.2, 0.0]), K, np.eye(2)[:, :1], np.eye(2)[:1])
    found = plant.modes()
    poles = np.roots(np.polysub(np.polymul([1.0, 1.2, 3.0], [2.0, 0.0, 5.0]), [1.0]))
    upper = np.sort_complex(poles[poles.imag > 0])
    assert found.frequencies_hz * 2 * np.pi == pytest.approx(np.sort(np.abs(upper)), rel=1e-9)
    assert found.damped_hz * 2 * np.pi == pytest.approx(found.poles.imag)
    undamped = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    assert found.undamped_hz * 2 * np.pi == pytest.approx(np.sort(undamped), rel=1e-9)
    assert found.damping_shifts
    assert "without damping [Hz]" in str(found)
    assert not beams.hub_beam(10, ratio=0.01).modes().damping_shifts


def test_a_damper_in_a_joint_is_no_part_of_the_undamped_frequency():
    """A flexible joint with a heavy damper: the mode rings far above the frequency of the arm without it."""
    quiet, damped = (
        fx.load_plant("li_zhang_three_link_flexible_joints", overrides={"joint.1.damping": d}).modes()
        for d in (0.0, 50.0)
    )
    assert damped.undamped_hz == pytest.approx(quiet.undamped_hz, rel=1e-9)
    assert quiet.undamped_hz[:3] == pytest.approx(quiet.frequencies_hz[:3], rel=1e-9)
    assert np.abs(damped.frequencies_hz[0] / quiet.frequencies_hz[0] - 1.0) > 0.01 or damped.real_poles.size


def test_poles_of_cylinders_are_marked():
    found = fx.load_plant("ralf").modes(6)
    assert [found.owner(i) for i in range(6)] == ["", "", "joint1", "", "joint2", ""]
    assert dict(zip(found.real_owners, np.round(found.real_poles), strict=True)) == {"joint1": -191.0, "joint2": -211.0}
    assert found.undamped_hz[:3] == pytest.approx(found.frequencies_hz[[0, 1, 3]], rel=1e-6)
    assert "18.7949      118.092        47.89  actuator of joint1" in str(found)
    assert not fx.load_plant("ralf").modes().damping_shifts
    assert not found.damping_shifts


@pytest.mark.parametrize("drives", [("motion", "motion"), ("torque", "motion"), ("torque", "torque")])
@pytest.mark.parametrize(
    "model", ["timoshenko_planar", "timoshenko_spatial", "finite_segment", "ancf", "assumed_modes"]
)
def test_modal_damping_has_its_ratio_however_the_joints_are_driven(model, drives):
    """A joint that follows a motion is held in the modes: 0.05 % in place of 1 % where it counted as free."""
    changes = {"damping.kind": "modal", "damping.ratio": 0.01, "joint.2.angle": 0.7}
    changes |= {f"joint.{i}.drive": drive for i, drive in enumerate(drives, 1)}
    found = fx.load_plant("planar_2r_flexible", model=model, overrides=changes).modes(6)
    assert found.rigid_modes == 2
    np.testing.assert_allclose(found.damping, 0.01, rtol=1e-6)


@pytest.mark.parametrize("words", [("spatial_rp", "--set", "gravity.z=-9.81"), ("simo_vu_quoc_1986", "--spin", "6")])
def test_an_arm_without_damping_has_none(words: tuple[str, ...]) -> None:
    """Eigenvalues of the first-order form left damping ratios of +-1e-14, which said that a mode grows."""
    told = json.loads(CliRunner().invoke(cli, ["modes", *words, "--json"]).stdout)
    assert len(told["damping"]) > 10
    assert not any(told["damping"][:10])


def test_long_lists_of_poles_and_modes_say_what_they_leave_out() -> None:
    """Damping in proportion to stiffness makes every fast mode two real poles."""
    damped = ["--set", "damping.kind=rayleigh", "--set", "damping.beta=1e-3"]
    told = CliRunner().invoke(cli, ["modes", "planar_2r_flexible", *damped]).stdout
    (line,) = (line for line in told.replace("\n", " ").split("real poles")[1:])
    assert " faster, down to -" in line
    assert line.count(",") < 12
    few = CliRunner().invoke(cli, ["modes", "planar_2r_flexible"]).stdout
    assert "the lowest 10 modes; --count" in few
    assert "--count" not in CliRunner().invoke(cli, ["modes", "planar_2r_flexible", "--count", "3"]).stdout


def test_of_many_known_names_the_nearest_are_told() -> None:
    told = CliRunner().invoke(cli, ["modes", "planar_2r_flexible", "--hold", "joint1=10deg"]).stderr
    assert 'did you mean "joint1"?' in told
    assert "joint2" in told
    assert len(told) < 400
    assert " more" in told


def test_a_motor_with_inductance_is_no_actuator_of_a_straight_arm() -> None:
    """Of a straight arm only the stretch is not coupled to the winding: all that bends was taken for an actuator."""
    material, section = fx.Material(2.1e11, 7850.0), fx.Section(4e-5, 1.3e-11)
    motor = fx.Motor(gear_ratio=60.0, torque_constant=0.02, resistance=2.0, inductance=1e-3, rotor_inertia=1e-6)
    joint = fx.Joint(hub_inertia=1e-3, drive="voltage", motor=motor, friction=0.01, stiffness=80.0, damping=0.05)
    arm = fx.Arm(
        "straight", (fx.Link(0.5, material, section), fx.Link(0.4, material, section)),
        (joint, fx.Joint(hub_inertia=1e-3)), damping=fx.Damping("rayleigh", beta=3e-4),
    )
    plant = fx.linearise(fx.build(arm, "timoshenko_planar", elements=6))
    n = len(plant.coordinates)
    left = np.block([[np.zeros((n, n)), np.eye(n)], [-plant.K, -plant.D]])
    right = np.block([[np.eye(n), np.zeros((n, n))], [np.zeros((n, n)), plant.M]])
    wanted = sla.eigvals(left, right)
    wanted = wanted[np.isfinite(wanted) & (wanted.imag > 1.0)]
    wanted = wanted[np.argsort(np.abs(wanted))][:4]
    modes = plant.modes(4)
    assert modes.rigid_modes == 2
    np.testing.assert_allclose(2.0 * np.pi * modes.frequencies_hz, np.abs(wanted), rtol=1e-4)
    np.testing.assert_allclose(modes.damping, -wanted.real / np.abs(wanted), rtol=1e-3)
    assert plant.first_order().poles().real.max() < 1e-6


def test_a_mode_so_soft_that_it_mixes_with_rigid_ones_stays_normal() -> None:
    overrides = {
        "joint.1.hub_inertia": 0.19, "joint.2.hub_inertia": 9e-4, "link.1.length": 1.3, "link.2.length": 0.92,
        "payload.mass": 0.02, "joint.2.angle": 1e-6, "material.aluminium.youngs_modulus": 7e9,
        "section.bar.area": 6.2e-4, "section.bar.second_moment": 6.8e-10, "model.elements": 4,
    }  # fmt: skip
    arm = fx.load_plant("planar_2r_flexible", model="timoshenko_spatial", damping={"kind": "none"}, overrides=overrides)
    plant = arm.linearise()
    found = fx.normal_modes(plant.M, plant.K)
    gram = found.shapes.T @ plant.M @ found.shapes
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-10)
    plant.first_order()  # is compared with the plant
