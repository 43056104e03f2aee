"""The search for the worst plant between the points of the grids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.errors import NotAvailable
from flexctl.frequency.disk import one_at_a_time
from flexctl.judging.certify.between import CLOSEST, WAY, Space, between, searched
from flexctl.judging.certify.jobs import varied_ranges
from flexctl.judging.certify.loops import Loop, Spillover, frequencies
from flexctl.judging.certify.robust import Point, moved
from flexctl.judging.certify.task import prepared
from flexctl.linear.interconnect import closed_loop
from flexctl.linear.seen import as_seen
from flexctl.model import names

POSES = [(0.0, 0.0), (0.0, 1.0), (0.5, 1.0)]
NOTHING = Loop("", "stable", np.array([-1.0 + 0j]), {}, Spillover(np.zeros(0), np.zeros(0), np.zeros(0)), np.nan, 0)


class Valley(Space):
    """A space whose disk margin is least at 30 g and a way of 1.4, and which has no pose beyond 1.9."""

    def loop(self, part: Any, with_margins: bool = False) -> Loop:
        at, way = self.point(part), 2.0 * part[WAY]
        if way > 1.9:
            raise NotAvailable("cannot be reached")
        disk = 0.1 + abs((at.payload or 0.0) - 0.03) * 5.0 + abs(way - 1.4) * 0.2
        if disk < self.item:  # where it is unstable
            return replace(NOTHING, state="UNSTABLE", poles=np.array([10.0 * (self.item - disk) + 0j]))
        return replace(NOTHING, disk=disk)


def space(unstable: float = 0.0) -> Space:
    some: Any = None, None, unstable
    return Valley(*some, {"payload_kg": (0.0, 0.05), WAY: (0.0, 2.0)}, POSES)


def test_the_bottom_between_the_points_is_found() -> None:
    found = between(space(), False)
    assert found.point is not None
    assert found.point.loop is not None
    assert found.point.loop.disk < 0.16, "the corners have 0.27 and more"
    assert found.point.payload == pytest.approx(0.03, abs=0.01)
    assert found.tried <= 30


def test_the_search_begins_at_the_worst_of_the_grids_too() -> None:
    """A pit beside one pose of the grid, which no point that is spread comes near."""

    class Pit(Valley):
        def loop(self, part: Any, with_margins: bool = False) -> Loop:
            at = self.point(part)
            deep = 2.0 * (abs(2.0 * part[WAY] - 1.03) < 0.05) * ((at.payload or 0.0) > 0.048)
            return replace(NOTHING, disk=2.1 - deep)

    some: Any = None, None, 0.0
    pit = Pit(*some, {"payload_kg": (0.0, 0.05), WAY: (0.0, 2.0)}, POSES)
    known = pit.part(Point(0.05, 0.0, None, pose="the second"), 1.0)
    assert known == {"payload_kg": 1.0, WAY: 0.5}
    blind, found = between(pit, False).point, between(pit, False, [known]).point
    disks = [x.loop.disk for x in (blind, found) if x is not None and x.loop is not None]
    assert disks == pytest.approx([2.1, 0.1])


def test_points_that_are_none_of_a_space_are_left_out() -> None:
    around = space()
    assert around.part(Point(0.06, 0.0, None), 0.0) is None, "heavier"
    assert around.part(Point(0.02, 0.05, None), 0.0) is None, "stiffer, and frequencies do not vary here"
    assert around.part(Point(None, 0.0, None), 0.0) is None
    assert around.part(Point(0.02, 0.0, None, values={"damping 0.1 %": {}}), 0.0) is None


def test_an_unstable_plant_is_worse_than_any_margin() -> None:
    found = between(space(0.14), False)
    assert found.point is not None
    assert found.point.state == "UNSTABLE"


def test_what_cannot_be_computed_is_told() -> None:
    class Nowhere(Valley):
        def loop(self, part: Any, with_margins: bool = False) -> Loop:
            raise NotAvailable("cannot be reached")

    some: Any = None, None, 0.0
    found = between(Nowhere(*some, {WAY: (0.0, 2.0)}, POSES), False)
    assert found.point is None
    assert found.failed.startswith("the plant as it is") or "joints at" in found.failed
    assert "cannot be reached" in found.failed


def test_the_way_goes_from_pose_to_pose() -> None:
    assert space().pose(0.5) == pytest.approx([0.0, 0.5])
    assert space().pose(1.4) == pytest.approx([0.2, 1.0])
    assert space().point({"payload_kg": 0.5, WAY: 0.25}).where() == "25 g, joints at 0, 28.65 deg"


def test_the_search_ends_where_nothing_is_worse() -> None:
    part, worst, count = searched(lambda p: -abs(p["x"] - 0.3), [{"x": 0.8}, {"x": 0.5}], 40)
    assert part["x"] == pytest.approx(0.3, abs=CLOSEST)
    assert worst == pytest.approx(-abs(part["x"] - 0.3))
    assert count < 40


def test_disk_margins_one_at_a_time_are_those_of_the_loops() -> None:
    """Two torques and two encoders; the others stay closed."""
    arm = fx.load_plant("planar_2r_rigid")
    script = fx.joint_pids(arm.linearise(), crossover=12.0, phase_margin_deg=60.0, sample_time=1e-3)
    law, linear = script.law, script.plant
    feedback = law.feedback()
    view = as_seen(linear, feedback.dt, names(feedback.inputs))
    poles = closed_loop(view, feedback).poles()
    wanted = min(m.disk_margin for m in script.margins.values())
    found = one_at_a_time(view, feedback, frequencies(linear, poles, feedback.dt))
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("plant", "key", "value"),
    [
        ("quanser_flexible_joint", "joint.1.stiffness", 1.8),
        ("tokhi_azad_1994", "material.aluminium.youngs_modulus", 66e9),
        ("quanser_flexible_link", "link.1.clamped_frequency_hz", 4.0),
    ],
)
def test_frequencies_change_of_the_plant_that_varies(plant: str, key: str, value: float) -> None:
    """A stiffness that varies, and the change of the frequencies beside it, which acts on the same stiffness."""
    base = fx.load_plant(plant)
    arm = moved(base, Point(None, 0.05, None, values={key: value}))
    alone = moved(base, Point(None, 0.0, None, values={key: value}))
    flexible = [np.abs(np.asarray(x.linearise().modes(2).poles)) for x in (alone, arm)]
    given = float(arm.overrides[key])
    assert given == pytest.approx(value * (1.05 if key.endswith("hz") else 1.05**2))
    assert flexible[1] == pytest.approx(1.05 * flexible[0], rel=0.01)


def test_frequencies_vary_with_every_parameter() -> None:
    stated = {"frequency_change": (-0.1, 0.1), "vary": {"joint.1.stiffness": (0.5, 2.0)}}
    about = prepared("quanser_joint_lqg", None, stated, None, None, None)
    assert varied_ranges(about) == {"joint.1.stiffness": (0.5, 2.0), "frequency_change": (-0.1, 0.1)}
    stiff = replace(about, requirements={**stated, "vary": {"material.steel.youngs_modulus": (1e11, 2e11)}})
    assert "frequency_change" in varied_ranges(stiff)
