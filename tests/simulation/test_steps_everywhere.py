"""Every method, kind of law and damping on every formulation: in compiled steps, and of the order that is claimed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.kernels.schemes import SCHEMES, Scheme, broyden, generalised_alpha, trapezoidal
from flexctl.laws.controller import LinearLaw
from flexctl.laws.scheduled import ScheduledLaw
from flexctl.motion.signals import PiecewiseConstant, Sine
from flexctl.simulation import engines
from flexctl.testing.differences import order

FREE = {f"joint.{i}.drive": "torque" for i in (1, 2, 3)}
RAYLEIGH = {"damping.kind": "rayleigh", "damping.beta": 2e-4}
MODAL = {"damping.kind": "modal", "damping.ratio": 0.02}
TWO = {"model.modes": [2, 2]}
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "finite_difference": ("tokhi_azad_1994", {"model.sections": 12}),
    "planar": ("planar_2r_flexible", {"model.elements": 2}),
    "spatial": ("spatial_3r", {"model.elements": 2, "gravity.z": 0.0}),
    "segments": ("li_zhang_three_link", {**FREE, "model.segments": 4}),
    "assumed_modes": ("planar_2r_flexible", {"model.kind": "assumed_modes", **TWO}),
    "ralf": ("ralf", {}),
    "ancf": ("tian_ancf_circle", {"model.elements": 2}),
}
OWN_DAMPING = ("ralf",)
FORCES = {
    "finite_difference": 0.1, "planar": 0.2, "spatial": 40.0, "segments": 0.01, "assumed_modes": 0.2, "ralf": 0.02,
    "ancf": 8.0,
}
HEAVY = [pytest.param("spatial", marks=pytest.mark.slow)]
EVERY = [*(name for name in SMALL if name != "spatial"), *HEAVY]


@cache
def arm(name: str, modal: bool = False) -> fx.Plant:
    plant, overrides = SMALL[name]
    damping = {} if name in OWN_DAMPING else MODAL if modal else RAYLEIGH
    return fx.load_plant(plant, overrides={**overrides, **damping})


def drive(name: str) -> str:
    return arm(name).model.inputs[0].name


def angle(name: str) -> str:
    known = [s.name for s in arm(name).model.outputs]
    return next(found for found in ("joint1_angle", "joint1_angle", "chord1_angle") if found in known)


def jumping(name: str) -> dict[str, Any]:
    """Return a force that jumps where the grid has a point, and one that is smooth in between."""
    size = FORCES[name]
    found: dict[str, Any] = {drive(name): PiecewiseConstant((0.0, 0.016), (0.0, size, -size))}
    second = [s.name for s in arm(name).model.inputs if s.name == "joint2_torque"]
    return found | {key: Sine(0.2 * size, 10.0) for key in second}


@pytest.fixture(autouse=True)
def only_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the plain engine nor the loop in which a continuous law is a part of the model may be used."""

    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("not a compiled step")

    monkeypatch.setattr(engines, "plain", refuse)
    monkeypatch.setattr(import_module("flexctl.simulation.simulate"), "analog_loop", refuse)


def quietly(name: str, law: Any = None, modal: bool = False, **options: Any) -> fx.Response:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "scheme" not in options and "method" not in options:
            options["method"] = "generalised_alpha"
        return fx.simulate(arm(name, modal), law, **options)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("method", sorted(SCHEMES))
def test_every_method_gives_the_same_motion(name: str, method: str) -> None:
    """In steps so short that the methods agree, but for a light root within 1 ms of a jump.

    The first two steps after each jump are of first order in "settled".
    """
    step = 5e-5 if method == "settled" else 1e-4
    one, other = (
        quietly(name, inputs=jumping(name), duration=0.04, step=step, method=m) for m in (method, "trapezoidal")
    )
    output, later = angle(name), ((one.t > 0.001) & (one.t < 0.016)) | (one.t > 0.017)
    extent = np.ptp(other[output])
    assert extent > 0.0
    assert np.abs(one[output] - other[output])[later].max() < 5e-3 * extent


@pytest.mark.parametrize("name", ["planar", "spatial", "segments", "ancf"])
@pytest.mark.parametrize("modal", [False, True])
def test_kept_factors_lead_to_the_same_motion_in_few_corrections(name: str, modal: bool) -> None:
    """Of a kept elimination of segments and of spatial arms: a wrong one would take many corrections, or not end."""
    runs = {}
    for newton in ("full", "modified"):
        scheme = replace(generalised_alpha(tolerance=1e-11), newton=newton)
        runs[newton] = quietly(name, modal=modal, inputs=jumping(name), duration=0.05, step=5e-4, scheme=scheme)
    full, kept = runs["full"], runs["modified"]
    for signal in full.outputs:
        if "acceleration" not in signal.name and np.ptp(full[signal.name]) > 1e-9:
            off = np.abs(full[signal.name] - kept[signal.name]).max()
            assert off < 1e-6 * np.ptp(full[signal.name]) + 1e-12, signal.name  # rounding of places
    work = kept.provenance
    assert work["factorisations"] < 0.5 * work["iterations"]  # ANCF makes them anew where that takes less time
    if not modal:  # whose tangent leaves the coupling out
        assert work["iterations"] < 4.0 * work["steps"]


def laws(name: str, kind: str) -> Any:
    """Return proportional feedback of one angle with a filter, sampled, continuous, or in two phases."""
    gain = FORCES[name] * 10.0
    period = 0.0 if "continuous" in kind else 1e-3
    A, By = (-200.0, 200.0) if period == 0.0 else (0.8, 0.2)

    def one(k: float) -> LinearLaw:
        return LinearLaw(period, (angle(name),), (drive(name),), A=[[A]], By=[[By]], C=[[-k]])

    return ScheduledLaw((0.02,), (one(gain), one(2.0 * gain))) if "scheduled" in kind else one(gain)


@pytest.mark.parametrize("name", [n for n in EVERY if n != "finite_difference"])
@pytest.mark.parametrize("kind", ["sampled", "continuous", "sampled scheduled", "continuous scheduled"])
@pytest.mark.parametrize("modal", [False, True], ids=["rayleigh", "modal"])
def test_every_law_acts_in_compiled_steps_with_every_damping(name: str, kind: str, modal: bool) -> None:
    run = quietly(name, laws(name, kind), modal, inputs=jumping(name), duration=0.04, step=5e-4)
    free = quietly(name, None, modal, inputs=jumping(name), duration=0.04, step=5e-4)
    assert np.isfinite(run.y).all()
    assert np.abs(run[drive(name)] - free[drive(name)]).max() > 0.0
    assert run.provenance["steps"] >= 80


@pytest.mark.parametrize("method", ["auto", "generalised_alpha", "trapezoidal"])
def test_a_continuous_law_in_phases_acts_on_a_linear_model_too(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was refused by every method; with the same law in both phases it is that law, of which steps are exact."""
    name, step = "finite_difference", None if method == "auto" else 1e-4
    law = laws(name, "continuous")
    phased = quietly(
        name, ScheduledLaw((0.02,), (law, law)), inputs=jumping(name), duration=0.04, method=method, step=step,
    )
    monkeypatch.undo()  # as a part of the model, which stays linear
    exact = quietly(name, law, inputs=jumping(name), duration=0.04, method="exact", step=1e-4)
    near = np.searchsorted(phased.t, exact.t[:: 10] - 1e-9)
    for output in ("joint1_angle", "link1_deflection", drive(name)):
        wanted = exact[output][::10]
        assert np.abs(phased[output][near] - wanted).max() < 0.01 * np.ptp(wanted), output
    with pytest.raises(fx.NotAvailable, match="leave method out"):
        quietly(name, ScheduledLaw((0.02,), (law, law)), duration=0.04, method="sdirk")


def final(name: str, scheme: Scheme, step: float) -> np.ndarray:
    run = quietly(name, inputs=jumping(name), duration=0.04, step=step, scheme=scheme, record_states=True)
    assert run.q is not None
    return run.q[-1]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("closures", ["projected", "baumgarte"])
def test_second_order_across_jumps(name: str, closures: str) -> None:
    if closures == "baumgarte" and not arm(name).model.closures:
        pytest.skip("no closures")
    scheme = generalised_alpha(0.6, tolerance=1e-12) if closures == "projected" else broyden(tolerance=1e-12)
    exact = final(name, trapezoidal(tolerance=1e-13), 0.04 / 12800)
    found = [float(np.abs(final(name, scheme, 0.04 / n) - exact).max()) for n in (400, 800, 1600)]
    assert order(found)[-1] == pytest.approx(2.0, abs=0.35), found


@pytest.mark.parametrize("name", EVERY)
def test_a_smaller_tolerance_is_met_across_jumps(name: str) -> None:
    """The error of the sensors follows rtol; ten times less is at least four times less error."""
    outputs = [s.name for s in arm(name).model.outputs if s.unit in ("m", "rad", "1")]
    fine = quietly(name, inputs=jumping(name), duration=0.04, step=0.04 / 12800, scheme=trapezoidal(tolerance=1e-13))
    extent = {output: float(np.ptp(fine[output])) for output in outputs}
    worst = []
    for rtol in (1e-2, 1e-3):
        run = quietly(name, inputs=jumping(name), duration=0.04, rtol=rtol)
        place = np.searchsorted(fine.t, run.t - 1e-9)
        off = {o: float(np.abs(run[o] - fine[o][place]).max()) for o in outputs if extent[o] > 1e-9}
        assert all(off[o] <= 2.0 * rtol * extent[o] for o in off), off
        assert all(off[o] <= run.error[o] + 1e-4 * extent[o] for o in off), off
        worst.append(max(off[o] / extent[o] for o in off))
    assert worst[1] <= max(worst[0] / 4.0, 2e-4), worst
