"""Paths of the tip: derivatives, arc length, corners, time laws, distance, refusal of what cannot be reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_kinematics import arm

from flexctl.errors import DefinitionError
from flexctl.motion.moves import Cycloid, Trapezoid, quintic
from flexctl.motion.paths import Circle, ConstantSpeed, Path, Polyline, Spline, by_sides, eased_sides, square
from flexctl.motion.track import Track

LOOP = Spline([(1.3, 0.0), (1.5, 0.3), (1.8, 0.1), (1.6, -0.3)], closed=True)
CURVES = {
    "circle": Circle((1.6, 0.0), 0.3),
    "clockwise": Circle((1.6, 0.1), 0.2, 1.0, -0.7),
    "square": square((1.6, 0.0), 0.4),
    "open": Polyline([(1.4, -0.2), (1.8, 0.1), (1.5, 0.3)]),
    "loop": LOOP,
    "arc": Spline([(1.3, 0.0), (1.5, 0.3), (1.8, 0.1)]),
}
LAWS = {
    "constant": lambda c: ConstantSpeed(c.length, 5.0),
    "eased": lambda c: ConstantSpeed(c.length, 5.0, 1.2, 0.7),
    "quintic": lambda c: quintic(0.0, c.length, 5.0),
    "cycloid": lambda c: Cycloid(0.0, c.length, 5.0),
    "trapezoid": lambda c: Trapezoid(0.0, c.length, 5.0, 1.0),
    "sides": lambda c: by_sides(c, 5.0),
    "eased sides": lambda c: eased_sides(c, 5.0, 0.2),
    "half and half": lambda c: eased_sides(c, 5.0, 0.5 * 5.0 / c.length * min(np.diff([0.0, *c.corners, c.length]))),
}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("law", LAWS)
def test_velocity_and_acceleration_are_derivatives(curve: str, law: str) -> None:
    path = Path(CURVES[curve], LAWS[law](CURVES[curve]))
    h, t = 1e-5, np.linspace(0.0007, 4.9987, 211)
    t = t[np.min(np.abs(t[:, None] - np.array(path.breakpoints)), axis=1) > 2 * h]
    (p1, v1, _), (_, v, a), (p0, v0, _) = path(t + h), path(t), path(t - h)
    np.testing.assert_allclose((p1 - p0) / (2 * h), v, atol=2e-9)
    np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=2e-8)


@pytest.mark.parametrize("curve", CURVES)
def test_the_parameter_is_the_arc_length(curve: str) -> None:
    """Speed 1 everywhere at constant speed 1, and the length is that of a fine chain of chords, error as 1/n^2."""
    c = CURVES[curve]
    path = Path(c, ConstantSpeed(c.length, c.length))
    v = path(np.linspace(0.0, 0.999 * c.length, 500))[1]
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1.0, atol=1e-9)
    chain = float(np.linalg.norm(np.diff(path.points(4001), axis=0), axis=1).sum())
    assert chain <= c.length * (1 + 1e-12)
    assert c.length == pytest.approx(chain, rel=1e-5)


def test_the_circle_is_a_circle() -> None:
    path = Path(CURVES["circle"], ConstantSpeed(2 * np.pi * 0.3, 25.0))
    t = np.linspace(0.0, 24.9, 50)
    angle = 2 * np.pi * t / 25.0
    p, v, a = path(t)
    np.testing.assert_allclose(p, np.column_stack([1.6 + 0.3 * np.cos(angle), 0.3 * np.sin(angle)]), atol=1e-14)
    np.testing.assert_allclose(v, 0.3 * 2 * np.pi / 25 * np.column_stack([-np.sin(angle), np.cos(angle)]), atol=1e-14)
    np.testing.assert_allclose(a, -((2 * np.pi / 25) ** 2) * (p - [1.6, 0.0]), atol=1e-14)


def test_the_square_has_its_corners_at_their_times() -> None:
    path = Path(square((1.6, 0.0), 0.4), ConstantSpeed(1.6, 20.0))
    assert path.corner_times == pytest.approx((5.0, 10.0, 15.0), abs=1e-12)
    corners = path(np.array([0.0, *path.corner_times, 20.0]))[0]
    np.testing.assert_allclose(corners, [(1.4, -0.2), (1.8, -0.2), (1.8, 0.2), (1.4, 0.2), (1.4, -0.2)], atol=1e-14)
    b = path.corner_times[0]
    np.testing.assert_allclose(path(b)[1], [0.0, 0.08], atol=1e-15)  # right limit
    np.testing.assert_allclose(path(np.nextafter(b, 0.0))[1], [0.08, 0.0], atol=1e-15)


def test_stops_in_every_corner() -> None:
    path = Path(square((1.6, 0.0), 0.4), by_sides(square((1.6, 0.0), 0.4), 20.0))
    assert path.corner_times == pytest.approx((5.0, 10.0, 15.0), abs=1e-9)
    for t in (0.0, *path.corner_times, 20.0):
        _, v, a = path(t)
        assert np.abs([v, a]).max() < 1e-12
    assert np.linalg.norm(path(2.5)[1]) == pytest.approx(15 / 8 * 0.4 / 5.0)  # the quintic's top speed


def test_eased_corners() -> None:
    """Each side takes 5 s; V = side / (5 s - ramp) but for the ramps, where the speed is V (3 z^2 - 2 z^3)."""
    curve, ramp = square((1.6, 0.0), 0.4), 0.1
    path, top = Path(curve, eased_sides(curve, 20.0, ramp)), 0.4 / (5.0 - ramp)
    assert path.corner_times == pytest.approx((5.0, 10.0, 15.0), abs=1e-12)
    z = np.array([0.0, 0.25, 0.5, 0.9, 1.0])
    for corner in (0.0, 5.0, 10.0, 15.0):
        after = np.linalg.norm(path(corner + ramp * z)[1], axis=-1)
        before = np.linalg.norm(path(corner + 5.0 - ramp * z)[1], axis=-1)
        np.testing.assert_allclose(after, top * z**2 * (3.0 - 2.0 * z), atol=1e-13)
        np.testing.assert_allclose(before, after, atol=1e-13)
    np.testing.assert_allclose(path(np.array([0.1, 2.5, 4.9]))[1], [[top, 0.0]] * 3, atol=1e-14)
    np.testing.assert_allclose(path(2.5)[0], [1.6, -0.2], atol=1e-14)
    assert np.abs(path(np.array([4.9999999, 5.0000001]))[2]).max() < 1e-5  # the acceleration does not jump
    assert float(path.law(20.0)[0]) == curve.length


def test_unequal_sides_share_the_time_by_length() -> None:
    c = Polyline([(0.0, 0.0), (3.0, 0.0), (3.0, 1.0)])
    assert Path(c, by_sides(c, 8.0)).corner_times == pytest.approx((6.0,), abs=1e-12)


def test_an_eased_start_reaches_the_speed_and_the_end() -> None:
    law = ConstantSpeed(2.0, 10.0, 2.0)
    assert law.speed == pytest.approx(2.0 / 9.0)
    assert [float(x) for x in law(0.0)] == [0.0, 0.0, 0.0]
    assert float(law(1.0)[1]) == pytest.approx(law.speed / 2)
    assert float(law(2.0)[0]) == pytest.approx(law.speed)  # half of what constant speed would have covered
    assert float(law(10.0)[0]) == pytest.approx(2.0)
    assert np.abs(np.diff(law(np.linspace(0, 3, 3001))[2])).max() < 1e-3  # the acceleration does not jump


def test_distance_from_the_path() -> None:
    ring = Path(CURVES["circle"], ConstantSpeed(2 * np.pi * 0.3, 25.0))
    rng = np.random.default_rng(1)
    points = np.array([1.6, 0.0]) + rng.normal(size=(200, 2))
    exact = np.abs(np.linalg.norm(points - [1.6, 0.0], axis=1) - 0.3)
    np.testing.assert_allclose(ring.distance(points), exact, atol=5e-9)
    box = Path(square((0.0, 0.0), 2.0), ConstantSpeed(8.0, 8.0))
    inside = rng.uniform(-1, 1, (100, 2))
    np.testing.assert_allclose(box.distance(inside), 1 - np.abs(inside).max(axis=1), atol=1e-12)
    near = np.array([[-1.0, -1.0 + 1e-5], [-1.0 + 1e-5, -1.0], [-1.0 - 3e-6, -1.0 - 4e-6]])  # begin and end meet here
    np.testing.assert_allclose(box.distance(near), [0.0, 0.0, 5e-6], atol=1e-12)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Circle((0.0, 0.0), -1.0), "radius = -1.0 m must be positive"),
    (lambda: Circle((0.0, 0.0), 1.0, 0.0, 0.0), "turns = 0 makes no path"),
    (lambda: Polyline([(0.0, 0.0)]), "1 points given; at least 2"),
    (lambda: Polyline([(0.0, 0.0), (0.0, 0.0)]), r"points 1 and 2 are both \(0, 0\) m"),
    (lambda: Polyline([(0.0, np.inf), (0.0, 0.0)]), "must be finite"),
    (lambda: Spline([(0.0, 0.0), (1.0, 0.0)]), "at least 3"),
    (lambda: square((0.0, 0.0), 0.0), "side = 0.0 m"),
    (lambda: ConstantSpeed(1.0, 0.0), "time = 0.0 s must be positive"),
    (lambda: ConstantSpeed(1.0, 1.0, 0.6, 0.6), "must fit into 1.0 s"),
    (lambda: Path(Circle((0.0, 0.0), 1.0), ConstantSpeed(1.0, 1.0)), "the curve from 0 to 6.28319 m"),
    (lambda: by_sides(square((0.0, 0.0), 1.0), 0.0), "time = 0.0 s"),
    (lambda: eased_sides(square((0.0, 0.0), 1.0), 20.0, 0.0), "ramp = 0.0 s must be positive"),
    (lambda: eased_sides(square((0.0, 0.0), 1.0), 20.0, 2.6), r"ramp = 2.6 s .* at most half the move, 2.5 s: shorten"),
    (lambda: eased_sides(square((0.0, 0.0), 1.0), 20.0, np.nan), "ramp = nan s"),
])
def test_nonsense_is_refused(make: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        make()


def track(curve: Any, time: float = 10.0, **more: Any) -> Track:
    return Track(arm(), Path(curve, ConstantSpeed(curve.length, time)), **{"settled": 1.0, **more})


def test_a_path_out_of_reach_is_refused_with_its_first_point() -> None:
    with pytest.raises(DefinitionError, match=r"\(2, .*\) m of the path, t = .* s, is 2 m from .* reaches 1.2 to 2 m"):
        track(Polyline([(1.5, 0.0), (2.3, 0.0)]))
    with pytest.raises(DefinitionError, match="of the path"):
        track(Circle((1.6, 0.0), 0.41))
    assert track(Circle((1.6, 0.0), 0.3)).margin == pytest.approx(0.1, abs=1e-9)


def test_angles_go_on_around_the_base_and_belong_to_the_path() -> None:
    """A circle about the base itself: the shoulder turns by two revolutions, without a jump of 2 pi."""
    where = track(Circle((0.0, 0.0), 1.5, 0.3, 2.0))
    t = np.linspace(0.0, 10.0, 777)
    angles, rates, _ = where.joints(t)
    assert angles[-1, 0] - angles[0, 0] == pytest.approx(4 * np.pi)
    np.testing.assert_allclose(where.rigid.tip(angles), where.path(t)[0], atol=1e-12)
    np.testing.assert_allclose(rates[:-1], np.broadcast_to([4 * np.pi / 10, 0.0], (776, 2)), atol=1e-12)
    assert where.joints(3.3).angles == pytest.approx(where.joints(np.array([3.3])).angles[0])


def test_the_range_of_angles_on_the_circle() -> None:
    """theta_1 in -2.340 .. -0.636 and theta_2 in 0.802 .. 2.506 rad (independent code)."""
    angles = track(Circle((1.6, 0.0), 0.3)).poses(2001)
    assert [angles[:, 0].min(), angles[:, 0].max()] == pytest.approx([-2.340, -0.636], abs=5.1e-4)
    assert [angles[:, 1].min(), angles[:, 1].max()] == pytest.approx([0.802, 2.506], abs=5.1e-4)


def test_settled_lies_within_the_path() -> None:
    with pytest.raises(DefinitionError, match=r"settled = 10\.0 s must lie within the path's 10 s"):
        track(Circle((1.6, 0.0), 0.3), settled=10.0)
