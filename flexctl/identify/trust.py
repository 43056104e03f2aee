"""How far parameters can be trusted: covariance, whiteness of what is left, and what makes the formal deviation too
small.

    noise of any colour (J'J)^-1 (sum cov J_b'r_b) (J'J)^-1 from the spectra of what is left of each output
    disagreement        jackknife: every output's every quarter left out in turn, or every slice of time of all outputs;
                        of a response that is explained every fourth line, so that each part sees the whole band
    mesh                the shift of the parameters when the mesh is made twice as fine, and a third of it besides
    steps               the same when runs with dry friction take four times as many
    a wrong model       where the misfit is not noise: estimates from records, outputs, bands, quarters, by themselves;
                        and what an error as large as the misfit would do that lay along the parameter wholly

The deviation that is reported is the largest of the first two, with the others beside it. The last is no bound: what a
wrong model does to all parts of the data alike is not seen, nor how large the error is of which the fit hides a part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import FlexctlError
from ..model import FloatArray
from . import held, scatter
from .explained import Explained, explained
from .problem import Block, Problem, Setting

LAGS = 40
QUARTERS = 4
MESHES = ("sections", "elements", "segments")
LIMIT = 4.0 / 3.0
"""Error of a mesh in parts of what one twice as fine changes; errors of meshes fall with their square."""


class Trust(NamedTuple):
    """Relative deviations (of logarithms) and what they are made of."""

    sigma: FloatArray
    formal: FloatArray
    correlation: FloatArray
    condition: float
    chi2: float
    mesh: FloatArray
    whiteness: dict[tuple[str, str], float]
    explained: Explained
    held: tuple[str, ...] = ()
    finer_cost: float = 0.0  # sum of squares that is expected on a mesh twice as fine, after a fit


def without_mesh(how_far: Trust) -> FloatArray:
    """Return the deviations but for what the mesh leaves."""
    return np.sqrt(np.maximum(how_far.sigma**2 - (LIMIT * how_far.mesh) ** 2, 0.0))


def whiteness(r: FloatArray) -> float:
    """Return the part of the lags 1 to 40 at which the autocorrelation leaves its 99 % band; 0.01 for white noise."""
    n = r.size
    lags = min(LAGS, n // 4)
    rho = autocorrelation(r)[1 : lags + 1]
    return float(np.mean(np.abs(rho) > 2.576 / np.sqrt(n)))


def autocorrelation(r: FloatArray) -> FloatArray:
    """Return the normalised autocorrelation."""
    z = r - r.mean()
    spectrum = np.abs(np.fft.rfft(z, 2 * z.size)) ** 2
    found = np.fft.irfft(spectrum)[: z.size]
    return np.asarray(found / max(float(found[0]), 1e-300))


def inflation(r: FloatArray) -> float:
    """Return 1 + 2 sum of the autocorrelation up to where it is first no longer positive (Geyer 1992)."""
    rho = autocorrelation(r)
    n = rho.size // 2
    pairs = rho[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    end = int(np.argmax(pairs <= 0.0)) if bool((pairs <= 0.0).any()) else pairs.size
    return float(max(1.0, 2.0 * pairs[:end].sum() - 1.0))


def trust(
    found: Problem, x: FloatArray, at: Setting, mesh: bool = True, left: Explained | None = None
) -> Trust:
    """Return how far the parameters at a solution can be trusted; `left` is what it explains, where that is known."""
    r = found.residual(x, at)
    J = found.jacobian(x, r, at, central=True)
    size = np.linalg.norm(J, axis=0)
    dead = size <= 1e-10 * max(size.max(initial=0.0), 1e-300)
    scaled = J / np.where(dead, 1.0, size)
    singular = np.linalg.svd(scaled[:, ~dead], compute_uv=False)
    condition = float("inf") if dead.any() else float((singular[0] / max(singular[-1], 1e-300)) ** 2)
    inverse = np.asarray(np.linalg.pinv(J.T @ J, rcond=1e-14), float)
    blocks = found.blocks()
    scale = max(1.0, float(r @ r) / max(r.size - x.size, 1))
    coloured = inverse @ sum(_middle(J, r, block, scale) for block in blocks) @ inverse
    what_is_left = left or explained(found, x, at)
    spread = _explained_responses(found, what_is_left, blocks)
    parted = 0.5 * (_jackknife(J, r, blocks, spread) + scatter.sliced(J, r, blocks, spread))
    sigma = np.sqrt(np.maximum(np.diag(coloured), parted))
    beyond = {**what_is_left.wrong, **what_is_left.steps}
    if beyond:
        along = sum(float(r[b.rows] @ r[b.rows]) for b in blocks if (b.source, b.output) in beyond)
        sigma = np.sqrt(sigma**2 + scatter.disagreement(J, r, blocks) + along * np.diag(inverse))
    sigma[dead] = np.inf
    shift, finer_cost = _mesh_shift(found, x, at, r, J, inverse) if mesh else (np.zeros(x.size), 0.0)
    step = _step_shift(found, x, at, r, J, inverse)
    total = np.sqrt(sigma**2 + (LIMIT * shift) ** 2 + step**2)
    own = np.sqrt(np.maximum(np.diag(coloured), 1e-300))
    correlation = np.clip(coloured / np.outer(own, own), -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    # data without noise leave rounding, which tells nothing
    white = {(b.source, b.output): whiteness(r[b.rows]) if np.mean(r[b.rows] ** 2) > 1e-4 else 0.0 for b in blocks}
    return Trust(
        total, np.sqrt(np.maximum(np.diag(inverse), 0.0)), correlation, condition, float(np.mean(r**2)), shift, white,
        what_is_left, tuple(held.words(found, x, at, r, J, total, _middle)), finer_cost,
    )


def _middle(J: FloatArray, r: FloatArray, block: Block, scale: float) -> FloatArray:
    """Return the covariance of J'r of a block as noise makes it."""
    if block.dt > 0.0:
        return scatter.coloured(J, r, block)
    part = J[block.rows]
    level = max(float(np.mean(r[block.rows] ** 2)), scale)
    return np.asarray(inflation(r[block.rows]) * level * part.T @ part)


def _explained_responses(found: Problem, left: Explained, blocks: list[Block]) -> set[int]:
    """Return the frequency responses, by item, with deviations of their own, of which nothing but noise is left."""
    wrong = {b.item for b in blocks if (b.source, b.output) in left.wrong}
    sure = [k for k, response in enumerate(found.responses) if not response.provenance.get("assumed_sigma")]
    return set(sure) - wrong


def _jackknife(J: FloatArray, r: FloatArray, blocks: list[Block], spread: set[int]) -> FloatArray:
    """Return the variances by the jackknife over quarters of every block, one Gauss-Newton step each."""
    parts = []
    for block in blocks:
        for rows in scatter.pieces(block, QUARTERS, block.item in spread):
            if rows.size:
                parts.append((J[rows].T @ r[rows], J[rows].T @ J[rows]))
    return scatter.jackknife(J, r, parts)


def _mesh_shift(
    found: Problem, x: FloatArray, at: Setting, r: FloatArray, J: FloatArray, inverse: FloatArray
) -> tuple[FloatArray, float]:
    """Return how far the parameters would move on a mesh twice as fine, and the sum of squares that would be left.

    Zero where the plant has no mesh.
    """
    try:
        finer = refined(found, 2)
        if finer is None:
            return np.zeros(x.size), 0.0
        other = finer.residual(x, at)
    except FlexctlError:
        return np.zeros(x.size), 0.0
    shift = np.asarray(-inverse @ (J.T @ (other - r)))
    left = other + J @ shift
    return shift, float(left @ left)


def _step_shift(
    found: Problem, x: FloatArray, at: Setting, r: FloatArray, J: FloatArray, inverse: FloatArray
) -> FloatArray:
    """Return how far the parameters would move if runs on the full model, or with dry friction, took finer steps."""
    if not found.divides:
        return np.zeros(x.size)
    return np.asarray(-inverse @ (J.T @ (found.finer.residual(x, at) - r)))


def refined(found: Problem, times: int) -> Problem | None:
    """Return the same problem on a mesh so many times as fine, None where the model has no mesh."""
    rows = {row.key: row.value for row in found.plant.rows}
    key = mesh_of(found)
    if key is None:
        return None
    value = rows[key]
    finer = [times * n for n in value] if isinstance(value, list | tuple) else times * int(value)
    return found.changed(plant=found.plant.with_({key: finer}))


def mesh_of(found: Problem) -> str | None:
    """Return the key of the number of elements, None where the model has none."""
    rows = {row.key: row.value for row in found.plant.rows}
    for key in (f"model.{m}" for m in MESHES):
        value = rows.get(key)
        counts = value if isinstance(value, list | tuple) else [value]
        if value is not None and all(isinstance(n, int) and not isinstance(n, bool) for n in counts) and len(counts):
            return key
    return None
