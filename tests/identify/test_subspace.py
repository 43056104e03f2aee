"""State space models of records: known systems come back, with their deviations."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flexctl as fx
from flexctl import identify
from flexctl.identify.output_error import _polar, _slope, simulated


def system(ny: int, p: int) -> fx.FirstOrder:
    rng = np.random.default_rng(3)
    A = np.zeros((4, 4))
    for k, (w, zeta) in enumerate(((0.36569, 0.0061), (0.7962, 0.0047))):
        z = np.exp(complex(-zeta * w, w * np.sqrt(1 - zeta**2)))
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[z.real, z.imag], [-z.imag, z.real]]
    return fx.from_matrices(
        A=A,
        B=rng.standard_normal((4, p)),
        C=rng.standard_normal((ny, 4)),
        D=rng.standard_normal((ny, p)),
        dt=1.0,
        inputs=[f"u{i}" for i in range(p)],
        outputs=[f"y{i}" for i in range(ny)],
    )


def recorded(plant: fx.FirstOrder, noise: float, count: int, seed: int) -> identify.Record:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((count, len(plant.inputs)))
    y = simulated(plant.A, plant.B, u, rng.standard_normal(4) * 3) @ plant.C.T + u @ plant.D.T
    y = y + noise * y.std(axis=0) * rng.standard_normal(y.shape)
    return identify.record(
        1.0,
        {f"{s.name} [N]": u[:, i] for i, s in enumerate(plant.inputs)},
        {f"{s.name} [m]": y[:, i] for i, s in enumerate(plant.outputs)},
        period=0.0,
    )


@pytest.mark.parametrize(("ny", "p"), [(1, 1), (3, 1), (1, 2), (2, 2)])
def test_a_system_comes_back(ny: int, p: int) -> None:
    plant = system(ny, p)
    used, other = recorded(plant, 0.01, 512, 1), recorded(plant, 0.01, 512, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fx.DataWarning)  # what is fed through to a displacement is no loop
        found = identify.subspace(used, 4)
    assert min(found.fit.values()) > 98.9
    assert min(found.validate(other).values()) > 98.7
    assert found.frequencies_hz * 2 * np.pi == pytest.approx([0.36569, 0.7962], rel=1e-3)
    assert found.damping == pytest.approx([0.0061, 0.0047], rel=0.05)
    w = np.linspace(0.05, 3.0, 60)
    truth = plant.transfer(np.exp(1j * w))
    assert np.median(np.abs(found.plant.transfer(np.exp(1j * w)) - truth)) < 0.03 * np.median(np.abs(truth))


def test_refinement_improves_and_deviations_are_honest() -> None:
    plant = system(1, 1)
    off = []
    for seed in range(6):
        data = recorded(plant, 0.05, 400, seed)
        found = identify.subspace(data, 4, horizons=[20])
        assert found.fit["y0"] >= identify.subspace(data, 4, horizons=[20], refine=False).fit["y0"] - 1e-6
        off += list((found.frequencies_hz * 2 * np.pi / [0.36569, 0.7962] - 1) / found.sigma_frequency)
        off += list((found.damping / [0.0061, 0.0047] - 1) / found.sigma_damping)
    assert 0.5 < np.sqrt(np.mean(np.square(off))) < 1.8


def test_a_fitted_initial_state_matters() -> None:
    plant = system(1, 1)
    data = recorded(plant, 0.0, 512, 1)
    found = identify.subspace(data, 4)
    from flexctl.identify.subspace import fit_percent, predicted

    assert found.validate(data)["y0"] > 99.9
    assert fit_percent(data, predicted(found.plant, data, free=False))["y0"] < 95.0


def test_what_is_refused_and_told() -> None:
    plant = system(1, 1)
    data = recorded(plant, 0.01, 512, 1)
    with pytest.raises(fx.DefinitionError, match="order = 0"):
        identify.subspace(data, 0)
    sine = identify.record(1.0, {"u [N]": np.sin(0.5 * np.pi * np.arange(512))}, {"y [m]": data.y[:, 0]}, period=0.0)
    with pytest.raises(fx.DefinitionError, match="holds 1 lines; a model of order 4"):
        identify.subspace(sine, 4)
    integrated = np.cumsum(np.cumsum(data.u[:, 0])) * 1.0
    with pytest.warns(fx.DataWarning, match="rests on the bound"):
        found = identify.subspace(identify.record(1.0, {"u [N]": data.u[:, 0]}, {"y [m]": integrated}, period=0.0), 2)
    assert np.abs(found.plant.poles()).max() < 1.0


@pytest.mark.parametrize("off", [3e-8, -3e-8, 1e-12, 0.0])
def test_slopes_beside_a_double_pole(off: float) -> None:
    """A pair of real poles becomes complex within the step of the differences: once an error of numpy."""
    a2 = 0.9025
    x = np.array([a2, -2.0 * np.sqrt(a2) / (1.0 + a2) - off])  # two poles of 0.95, but for `off`
    here = _polar(x, 2)
    for direction in np.eye(2):
        found = _slope(x, direction, here)
        assert found.shape == here.shape
    along = _slope(x, np.array([0.0, 1.0]), here)
    if off > 1e-8:  # roots of z^2 + a1 z + a2: their logarithms move by dz / z
        roots = np.roots([1.0, x[1] * (1.0 + a2), a2]).real
        moved = -(1.0 + a2) * roots / (2.0 * roots + x[1] * (1.0 + a2)) / roots
        assert np.abs(along[::2]) == pytest.approx(np.abs(np.sort(moved)), rel=0.5)


def test_a_record_whose_mean_is_no_steady_state() -> None:
    """From rest under an input with a mean: without a constant of its own the fit was 87 %, its poles wrong."""
    rng = np.random.default_rng(2)
    A = np.array([[0.97, 1.0], [0.0, 0.97]])  # a double pole, where slopes of poles have no meaning
    u = np.sign(rng.standard_normal(600))[:, None]
    y = 3.0 + simulated(A, np.array([[0.0], [1.0]]), u) @ np.array([[1.0], [0.0]])
    found = identify.subspace(identify.record(1e-2, {"u [V]": u[:, 0]}, {"y [rad]": y[:, 0]}), 2)
    assert found.fit["y"] > 99.9
    assert np.abs(found.plant.poles() - 0.97).max() < 2e-3
    assert not np.any(found.sigma_frequency < 0.0)
    own = simulated(found.plant.A, found.plant.B, u - u.mean(axis=0), found.initial) @ found.plant.C.T
    own += (u - u.mean(axis=0)) @ found.plant.D.T + found.offsets
    assert own == pytest.approx(y, abs=1e-3 * np.ptp(y))


def test_two_inputs_and_outputs_from_rest() -> None:
    rng = np.random.default_rng(5)
    A = np.array([[0.99, 0.1, 0.0], [-0.1, 0.97, 0.0], [0.0, 0.0, 0.995]])
    B, C = rng.standard_normal((3, 2)), rng.standard_normal((2, 3))
    u = 0.5 + rng.standard_normal((500, 2))
    y = simulated(A, B, u) @ C.T
    data = identify.record(
        1e-2, {"u [V]": u[:, 0], "w [V]": u[:, 1]}, {"y [rad]": y[:, 0], "z [m]": y[:, 1]},
    )
    found = identify.subspace(data, 3)
    assert min(found.fit.values()) > 99.99
    assert np.sort(np.abs(found.plant.poles())) == pytest.approx(np.sort(np.abs(np.linalg.eigvals(A))), abs=1e-5)
