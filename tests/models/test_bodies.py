"""Rigid bodies on links in every formulation with a mesh, against the exact arm and against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.exact.transfer_matrix import TransferMatrixArm
from flexctl.kernels.schemes import generalised_alpha
from flexctl.linear.steady import lock
from flexctl.machine.arm import Body
from flexctl.testing.checks import plain

BAR = fx.Link(0.8, fx.Material(7e10, 2700.0), fx.Section(4e-4, 3e-9))
BODIES = (
    Body(1, 0.0, 0.2, 1e-3), Body(1, 0.37, 0.4, 2e-3), Body(1, 1.0, 0.1, 1e-3), Body(2, 0.6, 0.3), Body(2, 1.0, 0.1),
)
MESH: dict[str, dict[str, Any]] = {
    "timoshenko_planar": {"elements": 40}, "timoshenko_spatial": {"elements": 24}, "finite_segment": {"segments": 60},
    "ancf": {"elements": 40}, "assumed_modes": {"modes": 8, "attachment": True},
}


def two_links(**tables: Any) -> fx.Arm:
    joints = (fx.Joint(0.01), fx.Joint(0.01, angle=0.4, mass=0.2, housing_inertia=1e-3))
    return fx.Arm("bodies", (BAR, BAR), joints, fx.Payload(0.2, 1e-3), bodies=BODIES, **tables)


@pytest.mark.parametrize("kind", MESH)
def test_frequencies_are_those_of_the_exact_arm(kind: str) -> None:
    exact = TransferMatrixArm(two_links()).natural_frequencies(3)
    without = TransferMatrixArm(fx.Arm("bare", *(getattr(two_links(), x) for x in ("links", "joints", "payload"))))
    assert np.abs(exact / without.natural_frequencies(3) - 1.0).min() > 0.05
    plant = fx.linearise(fx.build(two_links(), kind, **MESH[kind]))
    found = 2.0 * np.pi * plant.modes(12).frequencies_hz
    nearest = np.array([found[np.argmin(np.abs(found - x))] for x in exact])
    np.testing.assert_allclose(nearest, exact, rtol=6e-3 if kind == "assumed_modes" else 3e-3)


@pytest.mark.parametrize("form", ["slope", "paper"])
def test_finite_differences_carry_bodies_between_nodes(form: str) -> None:
    """Masses are of second order in the mesh, inertias of first."""
    bodies = (Body(1, 0.0, 0.1, 3e-4), Body(1, 0.37, 0.2, 1e-6), Body(1, 0.81, 0.05), Body(1, 1.0, 0.1, 1e-3))
    arm = fx.Arm("bar", (BAR,), (fx.Joint(0.01),), fx.Payload(0.05), bodies=bodies)
    exact = TransferMatrixArm(arm, theory="euler_bernoulli")
    far = []
    for sections in (40, 80):
        model = fx.FiniteDifference(arm, sections=sections, form=form)
        found = 2.0 * np.pi * fx.linearise(model).modes(2).frequencies_hz
        far.append(np.abs(found / exact.natural_frequencies(2) - 1.0).max())
        s = np.array([5j, 20j])
        H = fx.linearise(model).transfer(s)[fx.names(model.outputs).index("joint1_angle"), 0]
        assert np.abs(H / exact.transfer(s)[0, 0] - 1.0).max() < (4e-4 if form == "slope" else 1e-2)
    assert far[1] < (4e-4 if form == "slope" else 2e-2)
    assert far[1] < (0.27 if form == "slope" else 0.52) * far[0]
    push = {"joint1_torque": fx.Sine(0.1, 5.0)}
    runs = [fx.simulate(model, inputs=push, duration=0.02, method=m) for m in ("march", "exact")]
    ends = [run["tip_displacement"][-1] for run in runs]
    assert ends[0] == pytest.approx(ends[1], rel=1e-5)


def test_new_payloads_of_finite_differences_leave_bodies() -> None:
    arm = fx.Arm("bar", (BAR,), (fx.Joint(0.01),), bodies=(Body(1, 0.5, 0.2), Body(1, 1.0, 0.1, 1e-3)))
    model = fx.FiniteDifference(arm).with_payload(0.3, 2e-3)
    whole = fx.Arm("bar", (BAR,), (fx.Joint(0.01),), fx.Payload(0.4, 3e-3), bodies=(Body(1, 0.5, 0.2),))
    np.testing.assert_allclose(model.M, fx.FiniteDifference(whole).M, rtol=1e-14)


@pytest.mark.parametrize("kind", MESH)
def test_joints_bear_the_weight_of_the_bodies(kind: str) -> None:
    """Torques by statics of the rigid arm; deflections are small."""
    stiff = fx.Link(0.8, fx.Material(7e12, 2700.0), fx.Section(4e-4, 3e-7))
    joints = (fx.Joint(0.01), fx.Joint(0.01, mass=0.2))
    arm = fx.Arm("weight", (stiff, stiff), joints, fx.Payload(0.2), gravity=(0.0, -9.81), bodies=BODIES)
    at = fx.rest_point(fx.build(arm, kind, **MESH[kind]), pose=[0.0, 0.0])
    m, L = stiff.mass, 0.8
    second = m * L / 2 + 0.3 * 0.6 * L + (0.1 + 0.2) * L
    beyond = m + 0.3 + 0.1 + 0.2 + 0.2 + 0.1
    first = second + beyond * L + m * L / 2 + 0.4 * 0.37 * L
    np.testing.assert_allclose(at.u[:2], 9.81 * np.array([first, second]), rtol=1e-4)


@pytest.mark.parametrize("kind", [
    "timoshenko_planar", "ancf", "finite_segment", "assumed_modes",
    pytest.param("timoshenko_spatial", marks=pytest.mark.slow),
])
def test_compiled_runs_carry_the_bodies(kind: str) -> None:
    coarse = {"assumed_modes": {"modes": 2}, "finite_segment": {"segments": 6}}.get(kind, {"elements": 4})
    soft = fx.Link(0.8, fx.Material(1e5, 100.0), fx.Section(0.01, 1e-5))
    arm = fx.Arm("soft", (soft, soft), (fx.Joint(0.05), fx.Joint(0.03)), gravity=(0.0, -1.0), bodies=BODIES)
    model = fx.build(arm, kind, **coarse)
    scheme = generalised_alpha(tolerance=1e-14, iterations=60)
    fast, slow = (
        fx.simulate(x, inputs={"joint1_torque": fx.Sine(0.5, 2.0)}, duration=0.05, step=2e-3, scheme=scheme)
        for x in (model, plain(model))
    )
    assert np.abs(fast.y - slow.y).max() < 1e-10 * np.abs(slow.y).max()


@pytest.mark.parametrize(("body", "kind", "words"), [
    (Body(1, 1.2, 0.1), "timoshenko_planar", "no body on extension.*assumed_modes"),
    (Body(1, 1.2, 0.1), "finite_difference", "no body on extension.*assumed_modes"),
    (Body(3, 0.5, 0.1), "ancf", "the arm has 1"),
])
def test_bodies_that_cannot_be_carried_are_refused(body: Body, kind: str, words: str) -> None:
    with pytest.raises(fx.DefinitionError, match=words):
        fx.build(fx.Arm("bar", (BAR,), (fx.Joint(0.01),), bodies=(body,)), kind)


def test_a_mesh_too_coarse_for_its_bodies_is_refused() -> None:
    arm = fx.Arm("bar", (BAR,), (fx.Joint(0.01),), bodies=(Body(1, 0.3, 0.1), Body(1, 0.6, 0.1)))
    with pytest.raises(fx.DefinitionError, match=r"3 pieces \(between breaks and bodies\)"):
        fx.build(arm, "timoshenko_planar", elements=2)


def test_a_new_payload_leaves_the_bodies_where_they_are() -> None:
    model = fx.build(two_links(), "timoshenko_planar", elements=6)
    again = model.with_payload(0.2, 1e-3)
    np.testing.assert_array_equal(model.M, again.M)
    held = lock(fx.linearise(again), ["joint1", "joint2"])
    assert held.M.shape[0] == model.M.shape[0] - 2


def test_a_body_that_turns_converges_at_second_order_in_segments() -> None:
    """Its inertia was that of one segment, half a segment off its place: 0.8 % of a frequency with 60 segments."""
    link = fx.measured_link(0.6, bending_stiffness=10.0, mass_per_length=0.3)
    arm = fx.Arm("one", (link,), (fx.Joint(hub_inertia=0.01),), bodies=(Body(1, 0.4, 0.05, 1e-3),))
    exact = fx.TransferMatrixArm(arm, theory="euler_bernoulli").natural_frequencies(3)
    errors = []
    for segments in (20, 40):
        found = fx.linearise(fx.build(arm, "finite_segment", segments=segments)).modes(3).frequencies_hz
        errors.append(np.abs(2.0 * np.pi * found / exact - 1.0).max())
    assert errors[1] < 3e-3
    assert np.log2(errors[0] / errors[1]) > 1.8


TURNED = Body(1, 0.57, 0.6, 0.02)
"""A body within a link that turns with it: the bending moment jumps there."""


def within(modes: int, attachment: bool, link: fx.Link = BAR) -> np.ndarray:
    """Return the three lowest angular frequencies of a link with that body by assumed modes."""
    arm = fx.Arm("bar", (link,), (fx.Joint(0.01),), fx.Payload(0.05), bodies=(TURNED,))
    plant = fx.linearise(fx.build(arm, "assumed_modes", modes=modes, attachment=attachment))
    return 2.0 * np.pi * plant.modes(3).frequencies_hz


def test_a_body_that_turns_within_a_link_has_an_attachment_shape() -> None:
    """With modes alone its moment converges as 1 / modes."""
    arm = fx.Arm("bar", (BAR,), (fx.Joint(0.01),), fx.Payload(0.05), bodies=(TURNED,))
    exact = TransferMatrixArm(arm, theory="euler_bernoulli").natural_frequencies(3)
    far = {n: np.abs(within(n, True) / exact - 1.0).max() for n in (4, 8, 16)}
    assert far[4] < 2e-3
    assert far[8] < 0.2 * far[4]
    assert far[16] < 0.2 * far[8]
    assert np.abs(within(8, False) / exact - 1.0).max() > 0.01


def test_a_body_that_turns_on_a_link_of_pieces_has_one_too() -> None:
    pieces = fx.Link(0.8, BAR.material, BAR.section, next_sections=(fx.Section(3e-4, 1e-9),), breaks=(0.4,))
    arm = fx.Arm("bar", (pieces,), (fx.Joint(0.01),), fx.Payload(0.05), bodies=(TURNED,))
    exact = TransferMatrixArm(arm, theory="euler_bernoulli").natural_frequencies(3)
    np.testing.assert_allclose(within(8, True, pieces), exact, rtol=1e-3)
    assert np.abs(within(8, False, pieces) / exact - 1.0).max() > 0.01


def test_a_link_that_is_joined_within_another_bends_it_as_it_should() -> None:
    """Its motor turns the link that carries it at the station: that too is a moment there."""
    joints = (fx.Joint(0.01), fx.Joint(0.02, angle=0.7))
    arm = fx.Arm("branch", (BAR, fx.Link(0.8, BAR.material, BAR.section, parent=1, root=0.45)), joints)
    push = 2j * np.pi * np.array([3.0, 11.0])

    def gain(modes: int) -> np.ndarray:
        plant = fx.linearise(fx.build(arm, "assumed_modes", modes=modes, attachment=True))
        held = lock(plant, ["joint1"])
        return held.transfer(push)[fx.names(held.outputs).index("joint2_angle"), 0]

    np.testing.assert_allclose(gain(5), gain(20), rtol=2e-3)
