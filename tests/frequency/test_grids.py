"""Grids: no peak lost, notches seen, poles avoided, sensible ranges, and models whose poles are not known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import beams
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import flexctl as fx
from flexctl.errors import DefinitionError
from flexctl.frequency import frequency_response, grid, transfer
from flexctl.linear import SecondOrder
from flexctl.linear.linear_model import LinearModel
from flexctl.linear.modes import modes
from flexctl.model import ComplexArray, Signal

CHANNELS = (("torque",), ("hub", "tip", "slopes"))


@dataclass(frozen=True)
class Opaque:
    """A frequency model that tells nothing but its response."""

    plant: SecondOrder

    @property
    def inputs(self) -> tuple[Signal, ...]:
        return self.plant.inputs

    @property
    def outputs(self) -> tuple[Signal, ...]:
        return self.plant.outputs

    def transfer(self, s: ComplexArray) -> ComplexArray:
        return transfer(self.plant, s)


def lost(plant, omega, gain, channel, centre, half):
    """dB between the true extremum of |H| next to `centre` and the best grid point."""
    f = lambda w: -abs(transfer(plant, 1j * w)[channel, 0, 0])  # noqa: E731
    best = minimize_scalar(f, bounds=(centre - half, centre + half), method="bounded", options={"xatol": 1e-9 * centre})
    near = np.abs(omega - centre) <= half
    return 20 * np.log10(-best.fun / gain[channel, 0, near].max())


@pytest.mark.parametrize("zeta", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("known", [True, False])
def test_peaks_of_a_ten_mode_beam(zeta, known):
    plant = beams.hub_beam(10, *CHANNELS).with_modal_damping(zeta)
    poles = modes(plant, 10).poles
    omega = grid(plant) if known else grid(Opaque(plant), 0.1 * abs(poles[0]), 1.3 * abs(poles[9]))
    assert omega.size < 5000
    gain = frequency_response(plant, omega).magnitude()
    for pole in poles[abs(poles) < omega[-1]]:
        for channel in range(3):
            assert lost(plant, omega, gain, channel, pole.imag, 2 * zeta * pole.imag) < 0.1


def test_grid_contains_the_poles_and_fans():
    plant = beams.hub_beam(10).with_modal_damping(1e-4)
    omega = grid(plant)
    for pole in modes(plant, 10).poles:
        assert np.any(omega == pole.imag)
        for k in (0.5, 1.0, 4.0):
            for side in (-1, 1):
                target = pole.imag + side * k * abs(pole.real)
                assert np.abs(omega - target).min() < 1e-9 * target


def test_notches_are_seen():
    # collocated zeros are the poles with the hub held: clamped frequencies
    plant = beams.hub_beam(10, ("torque",), ("hub",)).with_modal_damping(1e-4)
    found = frequency_response(plant)
    M, K = beams.hermite(10, hub=None)
    clamped = np.sqrt(
        np.linalg.eigvalsh(np.linalg.solve(np.linalg.cholesky(M), np.linalg.solve(np.linalg.cholesky(M), K).T))
    )
    gain = found.magnitude()[0, 0]
    for omega in clamped[:5]:
        k = np.argmin(np.abs(found.omega - omega))
        assert abs(found.omega[k] / omega - 1) < 1e-4
        floor = minimize_scalar(
            lambda w: abs(transfer(plant, 1j * w)[0, 0, 0]), bounds=(omega * 0.999, omega * 1.001), method="bounded",
            options={"xatol": 1e-9 * omega},
        ).fun
        near = np.abs(found.omega / omega - 1) < 1e-3
        assert 20 * np.log10(gain[near].min() / floor) < 0.1


def test_undamped_poles_are_approached_but_not_evaluated():
    plant = beams.hub_beam(10, *CHANNELS)
    found = frequency_response(plant)
    assert np.all(np.isfinite(found.response))
    for pole in modes(plant, 10).poles:
        distance = np.abs(found.omega - pole.imag).min() / pole.imag
        assert 0.9e-5 < distance < 1.1e-5


def test_an_undamped_pole_that_is_not_known_is_not_evaluated_either():
    plant = beams.hub_beam(10, *CHANNELS)
    omega = grid(Opaque(plant), 10.0, 3000.0)
    for pole in modes(plant, 8).poles:
        assert 1e-8 < np.abs(omega / pole.imag - 1).min() < 1e-5


def test_neighbours_are_close_everywhere():
    found = frequency_response(beams.hub_beam(10, *CHANNELS).with_modal_damping(1e-3))
    H = found.response[:, 0]
    step = np.abs(np.log(H[:, 1:] / H[:, :-1]))
    wide = np.diff(found.omega) > 2e-6 * found.omega[1:]
    assert np.all(step[:, wide] < 0.36)


def test_default_range_shows_every_mode_of_matrices_and_ten_of_a_discretised_arm():
    """Of matrices nobody else knows which mode matters; the highest modes of an arm are those of its mesh."""
    plant = beams.hub_beam(30, *CHANNELS)
    flexible = 2 * np.pi * modes(plant).frequencies_hz
    omega = grid(plant)
    assert omega[0] == pytest.approx(0.1 * flexible[0])
    assert omega[-1] == pytest.approx(1.3 * flexible[-1])
    omega = grid(replace(plant, provenance={"model": "timoshenko_planar"}))
    assert omega[0] == pytest.approx(0.1 * flexible[0])
    assert flexible[9] < omega[-1] < flexible[10]
    few = beams.hub_beam(1)
    assert grid(few)[-1] == pytest.approx(1.3 * 2 * np.pi * modes(few).frequencies_hz[-1])


def test_range_of_a_sampled_plant_ends_at_nyquist():
    sampled = beams.hub_beam(10, ratio=0.01).discrete(0.01)
    omega = grid(sampled)
    assert omega[-1] <= np.pi / 0.01
    assert grid(sampled, hi=1e6)[-1] == pytest.approx(np.pi / 0.01)


def test_given_range_and_points():
    omega = grid(beams.cantilever(10), 2.0, 50.0, points=50)
    assert (omega[0], omega[-1]) == (2.0, 50.0)
    assert omega.size > 50
    assert np.all(np.diff(omega) > 0)


def test_purely_rigid_plant_has_a_grid():
    one = np.eye(1)
    plant = SecondOrder(one, 0 * one, 0 * one, one, one, 0 * one, 0 * one, 0 * one, *((Signal(c),) for c in "quy"))
    found = frequency_response(plant)
    assert found.channel("y") == pytest.approx(-1.0 / found.omega**2)


def test_a_mechanical_model_is_linearised():
    M, K = beams.hermite(4, hub=None)
    plant = beams.plant(M, 0.001 * K, K, ("force",), ("tip",))
    model = LinearModel(plant)
    wanted = frequency_response(plant, [1.0, 2.0]).response
    assert frequency_response(model, [1.0, 2.0]).response == pytest.approx(wanted)


@pytest.mark.parametrize(("lo", "hi"), [(2.0, 1.0), (-1.0, 1.0), (0.0, 1.0), (np.nan, 1.0), (1.0, np.inf)])
def test_bad_ranges_are_refused(lo, hi):
    with pytest.raises(DefinitionError, match="lo"):
        grid(beams.cantilever(10), lo, hi)


def test_unknown_poles_need_a_range():
    with pytest.raises(DefinitionError, match="give lo and hi"):
        grid(Opaque(beams.cantilever(10)))


def test_channels_of_rounding_do_not_refine_the_grid():
    """A straight arm in space: half of its channels are zero but for 1e-20; their changes mean nothing."""
    arm = fx.load_plant("spatial_3r", overrides={"model.elements": 2})
    plant = arm.linearise()
    found = plant.frequency_response()
    assert found.omega.size < 8000
    peaks = plant.modes(10).frequencies_hz * 2 * np.pi
    nearest = np.abs(found.omega[:, None] / peaks - 1.0).min(axis=0)
    assert nearest.max() < 2e-5


def test_undamped_zeros_of_many_channels_cost_few_points():
    # every zero was approached to 1e-6 of its frequency on both sides: 15,500 points, and minutes where links are fine
    plant = fx.load_plant("li_zhang_three_link", overrides={"model.segments": 5}).linearise()
    kept = [k for k, signal in enumerate(plant.inputs) if signal.name != "tip_torque"]  # the 15,500 were without it
    forces = replace(plant, B=plant.B[:, kept], Du=plant.Du[:, kept], inputs=tuple(plant.inputs[k] for k in kept))
    assert frequency_response(forces).omega.size < 8000
    assert frequency_response(plant).omega.size < 8000 * len(plant.inputs) / len(kept)


def test_undamped_zeros_are_found_where_they_are():
    plant = beams.hub_beam(10, ("torque",), ("hub",))
    found = frequency_response(plant)
    M, K = beams.hermite(10, hub=None)
    half = np.linalg.inv(np.linalg.cholesky(M))
    clamped = np.sqrt(np.linalg.eigvalsh(half @ K @ half.T))
    for zero in clamped[:8]:
        assert np.abs(found.omega - zero).min() < 1e-7 * zero


def test_a_response_within_a_range_is_that_on_its_grid():
    plant = beams.hub_beam(4).with_modal_damping(1e-3)
    found = frequency_response(plant, lo=2.0, hi=200.0, points=100)
    assert np.array_equal(found.omega, grid(plant, 2.0, 200.0, 100))
    assert np.allclose(found.response, frequency_response(plant, found.omega).response, rtol=1e-12)
    with pytest.raises(DefinitionError, match="leave lo and hi out"):
        frequency_response(plant, [1.0, 2.0], lo=1.0)
