"""Bounds of the structured singular value: each above what is attained, the cheap ones above the dear one."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx
from flexctl.frequency import blocks
from flexctl.frequency.evaluate import evaluator
from flexctl.frequency.margins import _bracketed


def matrices(count: int, n: int) -> np.ndarray:
    """Return matrices whose rows are of very different size, as forces and commands are."""
    random = np.random.default_rng(n)
    M = random.standard_normal((count, n, n)) + 1j * random.standard_normal((count, n, n))
    scale = 10.0 ** random.uniform(-3, 3, (count, n))
    return M * scale[:, :, None] / scale[:, None, :]


@pytest.mark.parametrize("sizes", [(1, 1), (1, 1, 1, 1), (1, 3, 1)])
def test_the_balanced_bound_is_a_bound_and_a_close_one(sizes: tuple[int, ...]) -> None:
    M = matrices(40, sum(sizes))
    bound = blocks.balanced_bound(M, sizes)
    closest = blocks.scaled_bound(M, sizes, [blocks.COMPLEX] * len(sizes))
    assert np.all(bound >= closest * (1.0 - 1e-6))
    assert np.median(bound / closest) < 1.1
    if max(sizes) == 1:
        assert np.all(bound >= blocks.attained(M) * (1.0 - 1e-9))


def test_blocks_that_nothing_drives_are_balanced() -> None:
    M = np.zeros((3, 3, 3), complex)
    M[1, 0, 1], M[2] = 5.0, np.diag([1.0, 2.0, 0.0])
    assert blocks.balanced_bound(M, (1, 1, 1)) == pytest.approx([0.0, 0.0, 2.0], abs=1e-3)


def test_a_coarser_bound_stands_where_the_search_for_scales_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It raised out of `flexctl certify` with a traceback (the undamped ANCF arm, a continuous law)."""
    import slycot

    M = matrices(4, 3)
    best = blocks.scaled_bound(M, (1, 1, 1), [blocks.COMPLEX] * 3)
    assert blocks.scaled_bound(1e200 * M, (1, 1, 1), [blocks.COMPLEX] * 3) == pytest.approx(1e200 * best, rel=1e-6)

    def fails(*_: object) -> None:
        raise slycot.exceptions.SlycotArithmeticError("singular values", 3)

    monkeypatch.setattr(slycot, "ab13md", fails)
    M[1, 0, 0], M[2] = np.inf, 0.0
    found = blocks.scaled_bound(M, (1, 1, 1), [blocks.COMPLEX] * 3)
    assert found[1:3].tolist() == [np.inf, 0.0]
    assert np.all(found[[0, 3]] >= best[[0, 3]] * (1.0 - 1e-6))
    assert np.all(found[[0, 3]] < 2.0 * best[[0, 3]])


def test_two_blocks_take_the_roots_of_their_polynomial() -> None:
    M, angles = matrices(200, 2), np.random.default_rng(1).uniform(-4.0, 4.0, (200, 2))
    wanted = np.abs(np.linalg.eigvals(np.exp(1j * angles)[:, :, None] * M)).max(axis=1)
    assert blocks._radius(M, angles) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 5), (5, 3), (1, 1)])
def test_a_first_order_plant_of_many_columns_is_c_over_s_minus_a_b(inputs: int, outputs: int) -> None:
    random = np.random.default_rng(0)
    A = random.standard_normal((6, 6)) - 4.0 * np.eye(6)
    B, C, D = (random.standard_normal(shape) for shape in ((6, inputs), (outputs, 6), (outputs, inputs)))
    x, u, y = (tuple(fx.Signal(f"{c}{k}") for k in range(n)) for c, n in (("x", 6), ("u", inputs), ("y", outputs)))
    s = 1j * np.geomspace(0.01, 100.0, 2500)  # more than are evaluated at once
    found = evaluator(fx.FirstOrder(A, B, C, D, x, u, y))(s)
    wanted = np.moveaxis(C @ np.linalg.solve(s[:, None, None] * np.eye(6) - A, B.astype(complex)[None]) + D, 0, 2)
    assert np.abs(found - wanted).max() < 1e-12 * np.abs(wanted).max()


def test_minima_are_bracketed_with_one_new_point_a_step() -> None:
    asked = []

    def f(x: np.ndarray) -> np.ndarray:
        asked.append(x.size)
        return np.abs(x - np.array([1.3, 20.7])[np.arange(x.size) % 2])

    a, b = _bracketed(f, np.array([1.0, 20.0]), np.array([2.0, 25.0]))
    assert np.all(b - a < 1e-8)
    assert 0.5 * (a + b) == pytest.approx([1.3, 20.7], rel=1e-9)
    assert asked[0] == 4
    assert set(asked[1:]) == {2}


@pytest.mark.parametrize("n", [3, 4, 6])
def test_what_is_attained_is_mu_where_mu_is_known(n: int) -> None:
    """Of a matrix of rank one it is the sum of |a_i b_i|; of others it is near the bound mostly."""
    M, random = matrices(12, n), np.random.default_rng(n)
    a, b = (random.standard_normal((12, n, 2)) @ [1.0, 1j] for _ in range(2))
    found = blocks.attained(a[:, :, None] * b[:, None, :])
    assert found == pytest.approx(np.abs(a * b).sum(axis=1), rel=1e-6)
    part = blocks.attained(M) / blocks.balanced_bound(M, [1] * n)
    assert part.max() <= 1.0 + 1e-9
    assert np.median(part) > 0.96
