"""Shapes of links of pieces and with a taper: conditions at the ends, and frequencies with few modes."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx
from flexctl.models.assumed_modes import pieces, shapes

ALLOY = fx.Material(7e10, 2700.0)
THICK, THIN = (fx.Section(0.02 * h, 0.02 * h**3 / 12.0, outer_distance=h / 2.0) for h in (2e-3, 1e-3))
STATIONS = np.linspace(0.0, 1.0, 9)


def stepped(at: float = 0.4, end: fx.Section = THIN) -> fx.Link:
    return fx.Link(0.5, ALLOY, THICK, next_sections=(end,), breaks=(at,))


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_pieces_that_are_the_same_have_the_shapes_of_a_uniform_link(shape: str) -> None:
    found = pieces.PieceShapes(stepped(end=THICK), shape, 3, 0.7, attached=False)
    for derivative in range(3):
        wanted = shapes.bending(shape, 3, STATIONS, derivative, 0.7)
        assert found(STATIONS, derivative) == pytest.approx(wanted, rel=3e-3, abs=3e-3 * np.abs(wanted).max())
        scale = found(np.array([0.3]), 0) / shapes.bending(shape, 3, np.array([0.3]), 0, 0.7)
        assert found(STATIONS, derivative) == pytest.approx(scale * wanted, abs=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("attached", [False, True])
@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_the_ends_of_a_link_of_pieces_are_held_as_the_shape_says(shape: str, attached: bool) -> None:
    found = pieces.PieceShapes(stepped(), shape, 2, 0.7, attached)
    ends = np.array([0.0, 1.0])
    value, slope, curvature = (found(ends, k)[:, :2] for k in range(3))
    zero = pytest.approx(0.0, abs=1e-9)
    root, end = shape.split("_")
    assert value[0] == zero
    assert (curvature[0] if root == "pinned" else slope[0]) == zero
    if end in ("clamped", "pinned"):
        assert value[1] == zero
        assert (slope[1] if end == "clamped" else curvature[1] * THIN.second_moment / THICK.second_moment) == zero
    else:
        assert value[1] == pytest.approx(1.0)
        assert curvature[1] == pytest.approx(0.0, abs=1e-9 * np.abs(found(STATIONS, 2)).max())
    inside = np.array([0.4 - 1e-9, 0.4])  # the moment is smooth there, the curvature is not
    assert found(inside, 2)[1] == pytest.approx(8.0 * found(inside, 2)[0], rel=1e-5, abs=1e-5)
    h = 1e-5
    assert (found(STATIONS[1:-1] + h, 0) - found(STATIONS[1:-1] - h, 0)) / (2 * h) == pytest.approx(
        found(STATIONS[1:-1], 1), rel=1e-6, abs=1e-6
    )


@pytest.mark.parametrize("link", [stepped(), stepped(0.7), fx.measured_link(
    0.5, bending_stiffness=2.0, mass_per_length=0.1, taper=0.25, taper_width=0.6
)])
def test_two_modes_are_enough_for_the_first_frequency(link: fx.Link) -> None:
    """Uniform shapes: 20 % high with two modes, 4 % with eight, on the first of these links."""
    arm = fx.Arm("stepped", (link,), (fx.Joint(hub_inertia=0.01),))
    judge = fx.lock(fx.linearise(fx.build(arm, "timoshenko_planar", elements=80)), ["joint1"])
    wanted = judge.modes(2).frequencies_hz
    for more in ({"modes": 2}, {"modes": 3, "attachment": True}):
        found = fx.lock(fx.linearise(fx.build(arm, "assumed_modes", **more)), ["joint1"]).modes(2).frequencies_hz
        assert found == pytest.approx(wanted, rel=2e-3)
