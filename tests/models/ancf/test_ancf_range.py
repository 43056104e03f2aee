"""How far an ANCF arm may be bent: sections that are linear along an element, against the elastica."""

from __future__ import annotations

import warnings

import pytest

import flexctl as fx
from flexctl.models.ranges import in_range

LENGTH, EI = 0.5, 70e9 * 1.3333e-11


def strip(elements: int) -> fx.MechanicalModel:
    """A strip of aluminium, 20 mm x 2 mm: its elements are 30 times as long as high."""
    section = fx.Section(area=40e-6, second_moment=1.3333e-11, outer_distance=1e-3)
    link = fx.Link(LENGTH, fx.Material(70e9, 2700.0), section)
    return fx.build(fx.Arm("strip", (link,), (fx.Joint(hub_inertia=1e-3),)), "ancf", elements=elements)


def tip(model, load):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        point = fx.equilibrium(model, hold={"joint1": 0.0}, load={"tip_force_y": load * EI / LENGTH**2})
    (driven,) = in_range(model, point.q[None], 0.0 * point.q[None])
    read = model.output(point.q, point.v, point.a, point.u)[fx.index_of("output", "tip_y", model.outputs)]
    return float(read) / LENGTH, driven, [w for w in caught if issubclass(w.category, fx.BeyondModel)]


@pytest.mark.parametrize(("elements", "load", "exact"), [(8, 1.0, 0.30172), (16, 1.0, 0.30172), (8, 0.3, 0.09899)])
def test_what_a_coarse_strip_costs_is_told(elements: int, load: float, exact: float) -> None:
    """The elastica is at 0.30172 L under P = 1, and eight elements at 0.26: 14 % off, without a word."""
    found, driven, warned = tip(strip(elements), load)
    off = 1.0 - found / exact
    assert off > 0.0
    assert 0.5 * off < driven.cost / (1.0 + driven.cost) < 2.0 * off
    assert bool(warned) == (driven.cost > 0.05)


def test_many_elements_follow_without_a_word() -> None:
    found, _, warned = tip(strip(32), 1.0)
    assert found == pytest.approx(0.30172, rel=2e-3)
    assert not warned
