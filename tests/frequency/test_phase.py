"""Phase against a sum of angles over poles and zeros, and against what the physics of a beam prescribes."""

from __future__ import annotations

import analytical_frequency as exact
import beams
import numpy as np
import pytest
import scipy.linalg as sla
from hypothesis import given
from hypothesis import strategies as st

from flexctl.frequency import FrequencyResponse, frequency_response
from flexctl.linear import FirstOrder
from flexctl.linear.modes import modes
from flexctl.model import Signal

CHANNELS = (("torque",), ("hub", "tip"))


def zeros_and_poles(plant):
    A, B, C, D = plant.A, plant.B, plant.C, plant.D
    pencil, identity = np.block([[A, B], [C, D]]), np.diag(np.append(np.ones(len(A)), 0.0))
    zeros = sla.eigvals(pencil, identity)
    return zeros[np.isfinite(zeros) & (np.abs(zeros) < 1e6)], np.linalg.eigvals(A)


def realise(zeros, poles, gain):
    """gain prod(s - z)/prod(s - p) as a companion form."""
    a, b = (np.real(np.atleast_1d(np.poly(roots))) for roots in (poles, zeros))
    b = gain * b
    n = len(poles)
    b = np.append(np.zeros(n + 1 - b.size), b)
    A = np.vstack([-a[1:], np.eye(n - 1, n)])
    return FirstOrder(
        A, np.eye(n, 1), (b[1:] - b[0] * a[1:])[None], np.array([[b[0]]]),
        tuple(Signal(f"x{i}") for i in range(n)), (Signal("u"),), (Signal("y"),),
    )


def test_double_integrator_starts_at_minus_180():
    H = frequency_response(realise([], [0, 0], 3.0), np.geomspace(0.1, 10.0, 20))
    assert H.phase_deg() == pytest.approx(-180.0)


@pytest.mark.parametrize(("zeros", "poles", "gain", "start"), [
    ([], [-1.0], -2.0, -180.0), ([0.0], [-1.0, -2.0], 1.0, 90.0), ([], [0.0, -5.0], 1.0, -90.0),
    ([], [0.0, 0.0], -1.0, 0.0), ([], [0.0, 0.0, 0.0], 1.0, -270.0), ([], [1.0], 1.0, -180.0),
])
def test_low_frequency_phase(zeros, poles, gain, start):
    phase = frequency_response(realise(zeros, poles, gain), np.array([1e-4, 1e-3])).phase_deg()
    assert phase[0, 0, 0] == pytest.approx(start, abs=0.1)


@pytest.mark.parametrize("zeta", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("elements", [3, 64])
def test_collocated_channel_stays_between_minus_180_and_0(zeta, elements):
    plant = beams.hub_beam(elements, *CHANNELS)
    H = frequency_response(plant.with_modal_damping(zeta) if zeta else plant)
    phase = H.phase_deg()[0, 0][np.abs(H.channel("hub")) > 1e-10]  # the zeros are part of the grid
    assert phase[0] == pytest.approx(-180.0, abs=0.1)
    assert phase.max() < 1e-6
    assert phase.min() > -180.0 - 1e-6
    if zeta == 0.0:
        assert np.all((np.abs(phase) < 1e-6) | (np.abs(phase + 180.0) < 1e-6))
        steps = np.diff(phase)
        steps = steps[np.abs(steps) > 90.0]
        assert np.allclose(np.abs(steps), 180.0)
        assert np.all(steps[:-1] * steps[1:] < 0.0)  # zeros and poles alternate, a zero first
        assert steps[0] > 0.0


@pytest.mark.parametrize("zeta", [0.0, 1e-4, 1e-3])
def test_tip_channel_loses_180_degrees_at_each_mode(zeta):
    plant = beams.hub_beam(16, *CHANNELS)
    H = frequency_response(plant.with_modal_damping(zeta) if zeta else plant)
    phase = H.phase_deg()[1, 0]
    poles = modes(plant, 10).poles.imag
    between = np.sqrt(poles[:-1] * poles[1:])
    expected = -180.0 * np.arange(2, 11)  # rigid body, then one turn a mode: the tip zeros are real, in +- pairs
    assert np.interp(between, H.omega, phase) == pytest.approx(expected, abs=100 * zeta**0.5 + 1e-3)
    assert phase[0] == pytest.approx(-180.0, abs=1e-2)


@pytest.mark.parametrize("zeta", [1e-3, 1e-2, 5e-2])
@pytest.mark.parametrize("output", ["hub", "tip", "slopes"])
def test_beam_against_the_sum_of_angles(zeta, output):
    plant = beams.hub_beam(4, ("torque",), (output,)).with_modal_damping(zeta)
    zeros, poles = zeros_and_poles(plant.first_order("modal"))
    H = frequency_response(plant)
    expected = exact.factored_phase(zeros, poles, output != "slopes", H.omega)
    assert H.phase_deg()[0, 0] == pytest.approx(expected, abs=1e-2)


roots = st.lists(
    st.tuples(st.floats(0.05, 20.0), st.floats(0.003, 0.9), st.booleans(), st.booleans()), min_size=1, max_size=3
)


@given(roots, roots, st.booleans())
def test_random_systems_against_the_sum_of_angles(numerator, denominator, negative):
    def spread(factors, at):
        pairs = []
        for k, (_, zeta, right, real) in enumerate(factors):
            w = 2.0 ** (2 * k + at)  # apart from each other, so that the companion form keeps its digits
            side = 1.0 if right else -1.0
            pairs += [side * w] if real else [w * (side * zeta + 1j * np.sqrt(1 - zeta**2) * sign) for sign in (1, -1)]
        return np.array(pairs, complex)

    zeros, poles = spread(numerator, 0), spread(denominator, 1)
    zeros = zeros[: 0 if zeros.size > poles.size else zeros.size]
    system = realise(zeros, poles, -1.0 if negative else 1.0)
    omega = np.geomspace(0.05, 300.0, 40)
    phase = frequency_response(system, omega).phase_deg()[0, 0]
    at_zero = np.real(np.prod(-zeros) / np.prod(-poles)) * (-1.0 if negative else 1.0)
    assert phase == pytest.approx(exact.factored_phase(zeros, poles, at_zero > 0, omega), abs=1e-5)


def test_right_half_plane_zero_loses_phase_smoothly():
    # (3 - s)/(s + 3): all-pass from 0 to -180
    H = frequency_response(realise([3.0], [-3.0], -1.0), np.geomspace(0.01, 1e3, 100))
    phase = H.phase_deg()[0, 0]
    assert np.all(np.diff(phase) < 0.0)
    assert phase == pytest.approx(-2 * np.degrees(np.arctan(H.omega / 3.0)))


def test_phase_does_not_depend_on_where_the_grid_begins_or_how_fine_it_is():
    plant = beams.hub_beam(8, *CHANNELS).with_modal_damping(1e-4)
    whole = frequency_response(plant)
    fine = np.flatnonzero(whole.omega > 500.0)
    for chosen in (fine, fine[::25]):
        part = frequency_response(plant, whole.omega[chosen])
        assert part.phase_deg() == pytest.approx(whole.phase_deg()[:, :, chosen], abs=1e-6)


def test_sampled_plant():
    sampled = beams.hub_beam(4, *CHANNELS, ratio=0.01).discrete(1e-3)
    phase = frequency_response(sampled).phase_deg()
    assert phase[0, 0, 0] == pytest.approx(-180.0, abs=1.0)
    assert np.all(np.isfinite(phase))
    # a zero-order hold at low frequency is a delay of half a sample
    continuous = frequency_response(beams.hub_beam(4, *CHANNELS, ratio=0.01), [10.0]).phase_deg()[0, 0, 0]
    delay = np.degrees(10.0 * 0.5e-3)
    assert frequency_response(sampled, [10.0]).phase_deg()[0, 0, 0] == pytest.approx(continuous - delay, abs=1e-3)


def test_data_without_a_model_are_unwrapped():
    omega = np.linspace(1.0, 20.0, 200)
    data = FrequencyResponse(omega, np.exp(-1j * omega)[None, None], (Signal("u"),), (Signal("y"),))
    assert data.phase_deg()[0, 0] == pytest.approx(-np.degrees(omega))


def test_zero_channel_and_exact_pole_have_a_finite_phase():
    H = frequency_response(realise([], [2j, -2j], 1.0), [1.0, 2.0, 3.0])
    assert np.isinf(H.response[0, 0, 1])
    assert H.phase_deg()[0, 0, [0, 2]] == pytest.approx([0.0, -180.0])
    assert -180.0 <= H.phase_deg()[0, 0, 1] <= 0.0
    assert frequency_response(realise([], [-1.0], 0.0), [1.0]).phase_deg() == pytest.approx(0.0)
