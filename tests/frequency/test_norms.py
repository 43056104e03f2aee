"""Norms against closed forms, brute force and python-control; lightly damped plants are the point."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import control
import numpy as np
import pytest

import flexctl as fx


@pytest.mark.parametrize("zeta", [0.3, 1e-2, 1e-4, 1e-6])
def test_an_oscillator(zeta) -> None:
    plant = fx.from_matrices([[1.0]], [[2.0 * zeta]], [[1.0]], [[1.0]], [[1.0]])
    two, most = plant.norm(2), plant.norm(math.inf)
    assert float(two) == pytest.approx(math.sqrt(1.0 / (4.0 * zeta)), rel=1e-9)
    assert float(most) == pytest.approx(1.0 / (2.0 * zeta * math.sqrt(1.0 - zeta**2)), rel=1e-9)
    assert most.frequency == pytest.approx(math.sqrt(1.0 - 2.0 * zeta**2), rel=1e-6)
    assert max(two.error, most.error) <= 1e-6
    assert plant.first_order().norm() == pytest.approx(two, rel=1e-8)


def test_a_chain_of_light_modes_is_the_sum_of_their_energies() -> None:
    """Modes far apart: cross terms are known, 4 b_i b_j c_i c_j (..), here by the closed form of two oscillators."""
    w, z, b, c = np.array([3.0, 50.0]), np.array([1e-4, 1e-3]), np.array([1.0, -2.0]), np.array([1.0, 3.0])
    plant = fx.from_matrices(np.eye(2), np.diag(2 * z * w), np.diag(w**2), b[:, None], c[None, :])
    total = 0.0
    for i in range(2):
        for j in range(2):
            # int_0^inf h_i h_j dt of h = exp(-s t) sin(d t)/d
            s, (d, e) = z[i] * w[i] + z[j] * w[j], (w * np.sqrt(1 - z**2))[[i, j]]
            total += b[i] * b[j] * c[i] * c[j] / (d * e) * 0.5 * (s / (s**2 + (d - e) ** 2) - s / (s**2 + (d + e) ** 2))
    assert float(plant.norm(2)) == pytest.approx(math.sqrt(total), rel=1e-9)


@pytest.mark.parametrize("dt", [0.0, 0.1])
def test_several_channels(dt) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((8, 8))
    A -= (np.linalg.eigvals(A).real.max() + 0.05) * np.eye(8)
    plant = fx.from_matrices(A=A, B=rng.standard_normal((8, 2)), C=rng.standard_normal((3, 8)), D=np.ones((3, 2)))
    plant = plant.discrete(dt) if dt else plant
    found = plant.norm("inf")
    w = np.concatenate([np.geomspace(1e-3, math.pi / dt if dt else 1e3, 2000),
                        found.frequency * np.linspace(0.99, 1.01, 2001)])
    H = np.moveaxis(plant.transfer(np.exp(1j * w * dt) if dt else 1j * w), 2, 0)
    assert float(found) == pytest.approx(np.linalg.norm(H, 2, axis=(1, 2)).max(), rel=1e-6)
    strictly = plant if dt else replace(plant, D=0.0 * plant.D)
    assert float(strictly.norm(2)) == pytest.approx(control.norm(strictly.statespace(), 2), rel=1e-9)


def test_infinite_norms_say_why() -> None:
    def first(A, **more):
        n = len(A)
        return fx.from_matrices(A=A, B=np.ones((n, 1)), C=np.ones((1, n)), **more)

    cases = [
        (first([[0.1]]), "unstable, \\+0.1 1/s"), (first([[0.0]]), "rigid modes or integrators: 1"),
        (first([[0.0, 1.0], [-4.0, 0.0]]), "mode at 0.3183.* Hz is not damped"), (first([[1.01]], dt=0.5), "unstable"),
        (fx.load_plant("tokhi_azad_1994", model={"sections": 4}).linearise(), "rigid"),
    ]
    for plant, message in cases:
        for kind in (2, math.inf):
            with pytest.warns(fx.InfiniteNorm, match=message):
                assert math.isinf(plant.norm(kind))
    with pytest.warns(fx.InfiniteNorm, match="fed through"):
        assert math.isinf(first([[-1.0]], D=[[1.0]]).norm(2))
    assert float(first([[-1.0]], D=[[1.0]]).norm(math.inf)) == pytest.approx(2.0)
    with pytest.raises(fx.DefinitionError, match="it is 2 or inf"):
        first([[-1.0]]).norm(1)


def test_poles_that_no_channel_sees_do_not_count() -> None:
    plant = fx.from_matrices(A=[[-1.0, 0.0], [0.3, 0.5]], B=[[1.0], [0.0]], C=[[1.0, 0.0]])
    assert float(plant.norm(2)) == pytest.approx(math.sqrt(0.5))
    assert float(plant.norm(math.inf)) == pytest.approx(1.0)
    # strain does not see the rigid mode, nor does it see weight
    spring = np.array([[1.0, -1.0], [-1.0, 1.0]])
    free = fx.from_matrices(np.eye(2), 0.02 * spring, spring, [1.0, 0.0], [[1.0, -1.0]])
    zeta = 0.02 / math.sqrt(2.0)
    assert float(free.norm(math.inf)) == pytest.approx(0.5 / (2 * zeta * math.sqrt(1 - zeta**2)), rel=1e-8)


def test_a_rigid_mode_far_below_a_fine_mesh_is_seen(tmp_path: Path) -> None:
    """Poles of the mesh reach to 5e6 rad/s, where a free joint cannot be told; the norm is infinite, and says why."""
    text = (
        'title = "one link"\n[material.aluminium]\nyoungs_modulus = 70e9\ndensity = 2700.0\n[section.strip]\n'
        'area = 40e-6\nsecond_moment = 1.3333e-11\n'
        '[[link]]\nlength = 0.5\nmaterial = "aluminium"\nsection = "strip"\n[[joint]]\n'
        'hub_inertia = 2e-3\n[damping]\nkind = "modal"\nratio = 0.01\n[model]\nkind = "timoshenko_planar"\n'
        'elements = 8\n'
    )
    (tmp_path / "free.toml").write_text(text)
    with pytest.warns(fx.InfiniteNorm, match="rigid modes or integrators: 1"):
        assert fx.load_plant(tmp_path / "free.toml").linearise().norm(np.inf) == np.inf
