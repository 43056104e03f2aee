"""Plants with other modes and gains: what comes out is the plant that has them, in either form, sampled or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import flexctl as fx
from flexctl.linear.remade import Mode, flexible, with_gains, with_modes
from flexctl.linear.seen import as_seen, resampled

RNG = np.random.default_rng(1)
SHAPES, B, CQ, CV = (RNG.standard_normal(size) for size in ((4, 4), (4, 2), (1, 4), (1, 4)))
W, Z = np.array([0.0, 5.0, 12.0, 40.0]), np.array([0.0, 0.01, 0.02, 0.005])
W2, Z2 = np.array([0.0, 6.0, 12.0, 33.0]), np.array([0.0, 0.05, -0.01, 0.005])
CHANGES = {0: Mode(6.0, 0.05), 1: Mode(12.0, -0.01), 2: Mode(33.0, 0.005)}
S = 1j * np.geomspace(0.3, 100.0, 60)


def mechanical(w, z, accelerations=False):
    inverse = np.linalg.inv(SHAPES)
    M, D, K = (inverse.T @ np.diag(d) @ inverse for d in (np.ones(4), 2 * z * w, w**2))
    zero = np.zeros((1, 4))
    Ca = [CQ] if accelerations else []
    rows = [np.vstack([CQ, zero, *(0 * c for c in Ca)]), np.vstack([zero, CV, *(0 * c for c in Ca)])]
    return fx.from_matrices(M, D, K, B, Cq=rows[0], Cv=rows[1], Ca=np.vstack([zero, zero, *Ca]))


def same(one, two, s=S):
    wanted = two.transfer(s)
    assert np.abs(one.transfer(s) - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_modes_are_moved_as_those_of_a_structure() -> None:
    wanted = mechanical(W2, Z2)
    same(with_modes(mechanical(W, Z), CHANGES), wanted)
    first = mechanical(W, Z).first_order()
    turn = RNG.standard_normal((8, 8))
    turned = replace(first, A=turn @ first.A @ np.linalg.inv(turn), B=turn @ first.B, C=first.C @ np.linalg.inv(turn))
    same(with_modes(turned, CHANGES), wanted)
    sampled = with_modes(mechanical(W, Z).discrete(0.01), CHANGES)
    same(sampled, wanted.discrete(0.01), np.exp(0.01 * S))
    assert [m.damping for m in flexible(sampled)] == pytest.approx([0.05, -0.01, 0.005])


def test_accelerations_follow_where_mass_and_stiffness_are_known() -> None:
    same(with_modes(mechanical(W, Z, True), CHANGES), mechanical(W2, Z2, True))


def test_what_cannot_be_moved_is_refused() -> None:
    double = fx.from_matrices(A=np.kron([[1.0, 1.0], [0.0, 1.0]], np.eye(2)) @ np.kron(np.eye(2), [[0, 1], [-4, -0.1]]),
                              B=np.ones((4, 1)), C=np.ones((1, 4)))
    with pytest.raises(fx.FlexctlError):
        with_modes(double, {0: Mode(3.0, 0.01)})
    with pytest.raises(fx.DefinitionError, match="mode 4: the plant has 3 flexible modes"):
        with_modes(mechanical(W, Z), {3: Mode(3.0, 0.01)})
    with pytest.raises(fx.DefinitionError, match="above the Nyquist frequency"):
        with_modes(mechanical(W, Z).discrete(0.01), {2: Mode(400.0, 0.01)})
    with pytest.raises(fx.DefinitionError, match="damping between -1 and 1"):
        with_modes(mechanical(W, Z), {0: Mode(3.0, 1.5)})


def test_gains() -> None:
    for plant in (mechanical(W, Z), mechanical(W, Z).first_order()):
        found = with_gains(plant, {"u2": 3.0}, {"y1": -2.0})
        wanted = plant.transfer(S) * np.array([[-2.0], [1.0]])[:, :, None] * np.array([1.0, 3.0])[None, :, None]
        assert found.transfer(S) == pytest.approx(wanted)


def test_several_samples_make_one() -> None:
    plant = fx.from_matrices([[1.0]], [[0.1]], [[4.0]], [[1.0]], [[1.0]])
    once, thrice = plant.discrete(0.1), plant.discrete(0.3)
    found = resampled(once, 0.3)
    assert pytest.approx(thrice.A, abs=1e-12) == found.A
    assert pytest.approx(thrice.B, abs=1e-12) == found.B
    assert pytest.approx(thrice.A) == as_seen(plant, 0.3, ["y1"]).A
    with pytest.raises(fx.DefinitionError, match="give a multiple"):
        resampled(once, 0.25)
    with pytest.raises(fx.DefinitionError, match="the law is continuous"):
        as_seen(once, 0.0)
