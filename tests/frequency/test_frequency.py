"""Transfer matrices: every method against an independent solve, at poles, at rest, and on meshes that lose digits."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import analytical_frequency as exact
import beams
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexctl.errors import DefinitionError
from flexctl.frequency import FrequencyResponse, evaluate, frequency_response, transfer
from flexctl.kernels import bands
from flexctl.linear import FirstOrder, SecondOrder
from flexctl.model import Signal

CHANNELS = (("torque", "force"), ("hub", "tip", "joint1_rate", "tip_acceleration"))


def error(found, right):
    return float(np.max(np.abs(found - right) / np.abs(right)))


def direct(plant, s):
    """One dense solve per frequency."""
    H = [
        (plant.Cq + z * plant.Cv + z * z * plant.Ca) @ np.linalg.solve(plant.K + z * (plant.D + z * plant.M), plant.B)
        for z in s
    ]
    return np.stack(H, axis=2) + plant.Du[:, :, None]


def oscillator(m, d, k, ca=0.0, du=0.0):
    one = np.eye(1)
    return SecondOrder(
        m * one, d * one, k * one, one, one, 0 * one, ca * one, du * one,
        (Signal("q"),), (Signal("u"),), (Signal("y"),),
    )


# ---- accuracy on fine meshes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dof", [20, 100, 300])
@pytest.mark.parametrize("channels", [(("force",), ("tip",)), (("torque",), ("tip",)), CHANNELS])
def test_fine_cantilever_against_extended_precision(dof, channels):
    plant = beams.cantilever(dof, *channels)
    s = 1j * np.geomspace(3.0, 2e4, 150)
    # the lowest peak (14.04 rad/s, zeta 0.4 %) is the hard part: 1e-8 of omega costs 1e-5 of H there
    s = np.append(s, 1j * 14.04 * np.linspace(0.99, 1.01, 51))
    assert error(transfer(plant, s), exact.extended_response(plant, s)) < 1e-6


@pytest.mark.parametrize("ratio", [0.0, 0.001])
def test_hub_driven_beam_against_extended_precision(ratio):
    plant = beams.hub_beam(128, *CHANNELS, ratio=ratio)  # 2^7 elements: K and its rigid mode are exact numbers
    s = 1j * np.geomspace(1.0, 1e4, 200)
    assert error(transfer(plant, s), exact.extended_response(plant, s)) < 1e-6


@pytest.mark.parametrize("elements", [16, 128])
def test_rigid_motion_is_not_polluted_at_low_frequency(elements):
    plant = beams.hub_beam(elements, ("torque",), ("hub", "tip", "slopes"))
    J = beams.DENSITY / 3.0 + beams.HUB_INERTIA
    s = 1j * np.array([1e-6, 1e-4, 1e-3])
    H = transfer(plant, s)[:, 0] * s**2
    assert H[0] == pytest.approx(1.0 / J, rel=1e-7)
    assert H[1] == pytest.approx(1.0 / J, rel=1e-7)  # tip = angle times 1 m
    # free rigid acceleration loads the link by rho x a: slope difference = (a / EI) int_0^L int_x^L rho (y - x) y dy dx
    load = beams.DENSITY * beams.LENGTH**4 / (8.0 * beams.STIFFNESS)
    assert H[2] / s**2 == pytest.approx(-load / J, rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 12))
def test_random_banded_plants(seed, width, n):
    rng = np.random.default_rng(seed)
    width = min(width, n - 1)

    def positive():
        G = np.tril(np.triu(rng.normal(size=(n, n)), -width)) * (rng.random((n, n)) < 0.8)
        return G @ G.T

    M = positive() + 0.1 * np.eye(n)
    D, K = 0.1 * positive(), positive()
    p, ny = rng.integers(1, 4, size=2)
    plant = SecondOrder(
        M, D, K, rng.normal(size=(n, p)), *rng.normal(size=(3, ny, n)), rng.normal(size=(ny, p)),
        tuple(Signal(f"q{i}") for i in range(n)), tuple(Signal(f"u{i}") for i in range(p)),
        tuple(Signal(f"y{i}") for i in range(ny)),
    )
    s = 1j * np.geomspace(0.3, 10.0, 7) + rng.random(7)
    right = direct(plant, s)
    assert np.abs(transfer(plant, s) - right).max() < 1e-7 * np.abs(right).max()
    assert transfer(plant, s.conj()) == pytest.approx(transfer(plant, s).conj(), rel=1e-9)


# ---- the method follows the structure ------------------------------------------------------------------------------


def spy(monkeypatch, name):
    calls = []
    original = getattr(evaluate, name)
    monkeypatch.setattr(evaluate, name, lambda *a: calls.append(name) or original(*a))
    return calls


def test_scrambled_coordinates_are_put_in_order(monkeypatch):
    plant = beams.cantilever(60, *CHANNELS)
    order = np.random.default_rng(3).permutation(60)
    mixed = replace(
        plant, **{k: getattr(plant, k)[np.ix_(order, order)] for k in "MDK"}, B=plant.B[order],
        **{k: getattr(plant, k)[:, order] for k in ("Cq", "Cv", "Ca")},
    )
    calls = spy(monkeypatch, "_banded")
    s = 1j * np.geomspace(3.0, 1e4, 40)
    assert error(transfer(mixed, s), exact.extended_response(plant, s)) < 1e-7
    assert calls


def test_modal_sum_for_full_matrices(monkeypatch):
    calls = spy(monkeypatch, "_modal")
    plant = beams.hub_beam(64, *CHANNELS)
    s = 1j * np.geomspace(0.5, 1e4, 60)
    damped = plant.with_modal_damping(0.01)
    right = direct(replace(damped), s[s.imag > 20])
    assert error(transfer(damped, s)[:, :, s.imag > 20], right) < 1e-6
    low = transfer(damped, s)[0, 0, 0] * s[0] ** 2
    assert low == pytest.approx(transfer(plant, s)[0, 0, 0] * s[0] ** 2, rel=1e-5)
    assert len(calls) == 2


def test_full_matrices_with_coupled_damping():
    plant = beams.hub_beam(20, *CHANNELS).with_modal_damping(0.01)
    D = plant.D.copy()
    D[0, 0] += 0.01
    D[-2, -2] += 0.02
    s = 1j * np.geomspace(1.0, 1e4, 60)
    coupled = replace(plant, D=D)
    assert error(transfer(coupled, s), direct(coupled, s)) < 1e-7


@pytest.mark.parametrize("where", ["D", "K", "M"])
@pytest.mark.parametrize("elements", [3, 40])
def test_unsymmetric_matrices(where, elements):
    plant = beams.cantilever(2 * elements, *CHANNELS)
    X = getattr(plant, where).copy()
    X[3, 4] *= 1.5
    X[4, 3] *= -0.5
    skew = replace(plant, **{where: X})
    s = 1j * np.geomspace(3.0, 1e3, 40)
    assert error(transfer(skew, s), exact.extended_response(skew, s)) < 1e-6


def test_full_unsymmetric_matrices():
    rng = np.random.default_rng(5)
    n = 30
    plant = beams.cantilever(n)
    skew = replace(plant, D=plant.D + 1e-3 * rng.normal(size=(n, n)))
    s = 1j * np.geomspace(3.0, 1e3, 20)
    assert error(transfer(skew, s), direct(skew, s)) < 1e-7


def test_a_vanishing_pivot_falls_back_on_row_interchanges():
    # at omega = 1 the first pivot k - omega^2 m is exactly zero although the matrix is regular
    K = np.array([[1.0, -2.0, 0.0], [-2.0, 6.0, -2.0], [0.0, -2.0, 5.0]])
    one = np.eye(3)
    plant = SecondOrder(
        one, 0 * one, K, one, one, 0 * one, 0 * one, 0 * one,
        *(tuple(Signal(f"{c}{i}") for i in range(3)) for c in "quy"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        H = transfer(plant, np.array([1j, 1j * (1 + 1e-14)]))
    right = np.linalg.inv(K - one)
    assert H[:, :, 0] == pytest.approx(right, abs=1e-14)
    assert H[:, :, 1] == pytest.approx(right, abs=1e-12)


def test_singular_mass():
    # an actuated massless joint between two springs: k1 k2/(k1 + k2) to the mass
    k1, k2, m = 3.0, 6.0, 0.5
    one = np.eye(2)
    plant = SecondOrder(
        np.diag([m, 0.0]), 0 * one, np.array([[k1, -k1], [-k1, k1 + k2]]), one, one, 0 * one, 0 * one, 0 * one,
        *(tuple(Signal(f"{c}{i}") for i in range(2)) for c in "quy"),
    )
    s = np.array([0.0, 0.7j, 5j, 1 + 2j])
    assert transfer(plant, s)[0, 0] == pytest.approx(1.0 / (m * s**2 + k1 * k2 / (k1 + k2)))


def test_a_wide_band_and_a_diagonal_one():
    rng = np.random.default_rng(2)
    n = 120
    G = np.tril(np.triu(rng.normal(size=(n, n)), -18)) + 10 * np.eye(n)
    plant = replace(beams.cantilever(n, *CHANNELS), K=1e4 * G @ G.T, M=np.eye(n), D=np.eye(n))
    s = 1j * np.geomspace(10.0, 5e3, 150)
    assert bands.profile(plant.M, plant.D, plant.K) == (18, True)
    assert error(transfer(plant, s), direct(plant, s)) < 1e-8
    loose = replace(plant, K=np.diag(np.arange(n) * 100.0), D=0.1 * np.eye(n))
    q = 1.0 / (s**2 + 0.1 * s + 100.0 * (n - 2))
    assert transfer(loose, s)[1, 1] == pytest.approx(q, rel=1e-12)


# ---- first order ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["modal", "energy", "physical"])
def test_first_order_forms_agree_with_the_second_order_plant(form):
    plant = beams.cantilever(60, *CHANNELS)
    s = 1j * np.geomspace(3.0, 1e4, 60)
    assert error(transfer(plant.first_order(form), s), transfer(plant, s)) < 1e-6


def test_more_inputs_than_outputs_and_none_dynamic():
    rng = np.random.default_rng(0)
    A, B, C, D = rng.normal(size=(4, 4)), rng.normal(size=(4, 3)), rng.normal(size=(2, 4)), rng.normal(size=(2, 3))
    names = [tuple(Signal(f"{c}{i}") for i in range(k)) for c, k in (("x", 4), ("u", 3), ("y", 2))]
    s = 1j * np.geomspace(0.1, 10.0, 9)
    right = np.stack([C @ np.linalg.solve(z * np.eye(4) - A, B) + D for z in s], axis=2)
    assert transfer(FirstOrder(A, B, C, D, *names), s) == pytest.approx(right, rel=1e-10)
    gain = FirstOrder(np.zeros((0, 0)), np.zeros((0, 3)), np.zeros((2, 0)), D, (), *names[1:])
    assert transfer(gain, s) == pytest.approx(np.repeat(D[:, :, None], 9, axis=2))


def test_sampled_double_integrator_is_a_function_of_z():
    dt = 1e-3
    plant = FirstOrder(
        np.array([[1.0, dt], [0.0, 1.0]]), np.array([[dt**2 / 2], [dt]]), np.array([[1.0, 0.0]]), np.zeros((1, 1)),
        (Signal("q"), Signal("v")), (Signal("u"),), (Signal("y"),), dt,
    )
    z = np.exp(1j * dt * np.geomspace(1e-2, np.pi / dt, 50))
    assert transfer(plant, z)[0, 0] == pytest.approx(dt**2 / 2 * (z + 1) / (z - 1) ** 2, rel=1e-9)
    omega = np.array([1.0, 10.0])
    found = frequency_response(plant, omega).channel("y")
    assert found == pytest.approx(transfer(plant, np.exp(1j * omega * dt))[0, 0])


# ---- at a pole -----------------------------------------------------------------------------------------------------


def test_an_undamped_pole_gives_inf_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(transfer(oscillator(1.0, 0.0, 4.0), 2j)[0, 0, 0])
        assert np.isinf(transfer(oscillator(1.0, 0.0, 4.0).first_order(), 2j)[0, 0, 0])
        assert np.isinf(transfer(oscillator(1.0, 0.0, 0.0), 0.0)[0, 0, 0])
        assert np.isinf(transfer(oscillator(1.0, 2.0, 0.0), 0.0)[0, 0, 0])
        damped = transfer(oscillator(1.0, 0.1, 4.0), 2j)
    assert damped[0, 0, 0] == pytest.approx(1 / 0.2j)


def test_a_channel_that_does_not_see_the_pole_stays_finite():
    one = np.eye(2)
    plant = SecondOrder(
        one, 0 * one, np.diag([4.0, 9.0]), one, one, 0 * one, 0 * one, 0 * one,
        *(tuple(Signal(f"{c}{i}") for i in range(2)) for c in "quy"),
    )
    H = transfer(plant, 2j)[:, :, 0]
    assert np.isinf(H[0, 0])
    assert H[1, 1] == pytest.approx(1.0 / (9.0 - 4.0))
    assert H[0, 1] == H[1, 0] == 0.0


@pytest.mark.parametrize("elements", [8, 64])
def test_static_gain_of_a_free_arm(elements):
    plant = beams.hub_beam(elements, ("torque",), ("hub", "tip", "slopes", "tip_acceleration"))
    J = beams.DENSITY / 3.0 + beams.HUB_INERTIA
    H = transfer(plant, 0.0)[:, 0, 0]
    assert np.all(np.isinf(H[:2]))
    assert H[2] == pytest.approx(-beams.DENSITY / (8.0 * beams.STIFFNESS) / J, rel=1e-6)
    assert H[3] == pytest.approx(1.0 / J, rel=1e-6)


def test_feedthrough_and_acceleration():
    # y = q'' + 0.5 u: s^2/(s^2 + 4) + 0.5
    s = 1j * np.array([0.5, 1.0, 7.0])
    plant = replace(oscillator(1.0, 0.0, 4.0, ca=1.0, du=0.5), Cq=np.zeros((1, 1)))
    assert transfer(plant, s)[0, 0] == pytest.approx(s**2 / (s**2 + 4.0) + 0.5)


def test_no_frequencies_no_response():
    assert transfer(beams.cantilever(6), np.zeros(0)).shape == (1, 1, 0)


# ---- the response object -------------------------------------------------------------------------------------------


def test_contract_of_the_dictionary():
    found = frequency_response(beams.hub_beam(4, *CHANNELS, ratio=0.01), [1.0, 2.0, 30.0]).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["omega_rad_s"] == [1.0, 2.0, 30.0]
    assert (found["inputs"], found["outputs"]) == (list(CHANNELS[0]), list(CHANNELS[1]))
    real, imag = np.array(found["response"]["real"]), np.array(found["response"]["imag"])
    assert real.shape == imag.shape == (4, 2, 3)
    other = transfer(beams.hub_beam(4, *CHANNELS, ratio=0.01), 1j * np.array([1, 2, 30]))
    assert real + 1j * imag == pytest.approx(other)


def test_to_control_keeps_numbers_and_names():
    ours = frequency_response(beams.hub_beam(4, *CHANNELS, ratio=0.01), [1.0, 2.0, 30.0])
    theirs = ours.to_frd()
    assert theirs.input_labels == list(CHANNELS[0])
    assert theirs.output_labels == list(CHANNELS[1])
    assert theirs(1j * 2.0) == pytest.approx(ours.response[:, :, 1])


def test_channels_by_name():
    ours = frequency_response(beams.hub_beam(4, *CHANNELS, ratio=0.01), [1.0, 2.0])
    assert ours.channel("tip", "force") == pytest.approx(ours.response[1, 1])
    assert ours.magnitude_db() == pytest.approx(20 * np.log10(np.abs(ours.response)))
    assert ours.magnitude() == pytest.approx(np.abs(ours.response))
    with pytest.raises(DefinitionError, match='did you mean "force"'):
        ours.channel("tip", "farce")
    with pytest.raises(DefinitionError, match="name an input"):
        ours.channel("tip")


@pytest.mark.parametrize("omega", [[2.0, 1.0], [1.0, 1.0], [np.nan], [-1.0], [[1.0, 2.0]]])
def test_bad_frequencies_are_refused(omega):
    with pytest.raises(DefinitionError, match="omega"):
        frequency_response(beams.cantilever(6), omega)


def test_shapes_of_a_response_are_checked():
    with pytest.raises(DefinitionError, match="response has shape"):
        FrequencyResponse(np.array([1.0]), np.zeros((1, 1, 2), complex), (Signal("u"),), (Signal("y"),))


def test_something_else_has_no_response():
    with pytest.raises(DefinitionError, match="a dict is not a linear plant"):
        frequency_response({})


def test_a_plant_without_coordinates_is_its_feedthrough():
    none = np.zeros((0, 0))
    plant = SecondOrder(
        none,
        none,
        none,
        np.zeros((0, 1)),
        *(np.zeros((1, 0)),) * 3,
        np.array([[2.0]]),
        (),
        (Signal("u"),),
        (Signal("y"),),
    )
    assert transfer(plant, np.array([1j, 2j])) == pytest.approx(2.0)


def test_the_static_factor_makes_no_arrays_in_compiled_code() -> None:
    """They are made in Python: with them it took a second and a half more of the first response to compile."""
    assert [entry.options["_nrt"] for entry in (bands.factorise, bands.take_apart)] == [False, False]
