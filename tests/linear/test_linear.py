"""Linear plants as data, and the way from closures to independent coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import toys
from hypothesis import given
from hypothesis import strategies as st

from flexctl.errors import DefinitionError
from flexctl.linear import FirstOrder, independent_basis, linearise
from flexctl.linear.equilibrium import equilibrium
from flexctl.model import OperatingPoint, Signal, names


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 10_000))
def test_basis_spans_the_null_space_in_plain_coordinates(m: int, more: int, seed: int) -> None:
    n = m + more
    G = np.random.default_rng(seed).standard_normal((m, n))
    N, kept = independent_basis(G)
    assert N.shape == (n, n - m)
    np.testing.assert_array_equal(N[kept], np.eye(n - m))
    assert kept == sorted(set(kept))
    np.testing.assert_allclose(G @ N, 0.0, atol=1e-9 * np.abs(N).max())


def test_redundant_closures_are_named() -> None:
    G = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0 + 1e-14]])
    with pytest.raises(DefinitionError, match=r"\['left', 'right'\] are redundant: rank 1 of 2; remove 1 of them"):
        independent_basis(G, ("left", "right"))


def test_closure_plant_keeps_names_point_and_basis() -> None:
    model = toys.RodPendulum()
    at = equilibrium(model)
    plant = linearise(model, at, {"plant": "rod"})
    assert names(plant.coordinates) == ["x"]
    assert names(plant.inputs) == ["torque"]
    assert names(plant.outputs) == ["angle", "rate", "side", "sway"]
    np.testing.assert_allclose(plant.basis, [[1.0], [0.0]], atol=1e-12)
    assert plant.operating_point is at
    assert plant.provenance == {"plant": "rod"}
    assert np.sqrt(plant.K[0, 0] / plant.M[0, 0]) == pytest.approx(model.omega)


def test_default_point_is_the_reference_at_rest() -> None:
    model = toys.ElasticPendulum()
    plant = linearise(model)
    np.testing.assert_array_equal(plant.operating_point.q, model.reference())
    assert plant.provenance == {"model": "elastic pendulum"}
    assert repr(plant) == "SecondOrder(2 coordinates, ['torque'] -> ['angle', 'rate', 'tip', 'pull'])"
    with pytest.raises(DefinitionError, match=r"pose has shape \(3,\); elastic pendulum has 2 coordinates"):
        OperatingPoint.at_rest(model, np.zeros(3))


@pytest.mark.parametrize("name", ["M", "D", "K", "B", "Cq", "Cv", "Ca", "Du"])
def test_matrices_of_wrong_shape_or_value_are_refused_by_name(name: str) -> None:
    plant = linearise(toys.Chain(2))
    with pytest.raises(DefinitionError, match=f"matrix {name} has shape"):
        replace(plant, **{name: np.zeros((7, 7))})
    with pytest.raises(DefinitionError, match=f"matrix {name} has entries that are not finite"):
        replace(plant, **{name: np.full_like(getattr(plant, name), np.nan)})


def test_symmetry_is_seen() -> None:
    plant = linearise(toys.Chain(3))
    assert plant.symmetric
    for name in ("M", "D", "K"):
        twisted = getattr(plant, name).copy()
        twisted[0, 1] += 1.0
        assert not replace(plant, **{name: twisted}).symmetric


def test_first_order_plants_are_checked_and_speak() -> None:
    one = np.eye(1)
    plant = FirstOrder(-2 * one, one, one, 0 * one, (Signal("x"),), (Signal("u"),), (Signal("y"),))
    assert plant.poles() == pytest.approx([-2.0])
    assert repr(plant) == "FirstOrder(1 states, ['u'] -> ['y'], continuous)"
    assert repr(replace(plant, dt=0.1)).endswith("dt = 0.1 s)")
    with pytest.raises(DefinitionError, match=r"dt = -0\.1 s is negative"):
        replace(plant, dt=-0.1)
    with pytest.raises(DefinitionError, match="matrix C has shape"):
        replace(plant, C=np.eye(2))
    system = plant.statespace()
    assert (system.input_labels, system.output_labels, system.state_labels) == (["u"], ["y"], ["x"])
