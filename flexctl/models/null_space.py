"""The null space of closure equations, G v = 0, by singular values (Lee, Huggins and Book 1988, equations 2.12 - 2.14).

    G = U S V^T,   V = [V1 V2],   G V2 = 0,   G^+ = V1 S^-1 U^T

The paper's text exchanges U and V: U has the eigenvectors of G G^T, V those of G^T G. With full rank U2 is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError
from ..machine.arm import Arm
from ..model import FloatArray

HELD = ("motion", "hydraulic")
"""Drives whose joints follow a command whatever the arm does: in the modes of the arm they are held."""
RANK = 1e-10
"""A singular value below this part of the largest counts as zero."""


def null_space(G: FloatArray, closures: Sequence[str] = ()) -> FloatArray:
    """Return V2, n x (n - m), orthonormal; redundant closures are refused by name."""
    check_rank(G, closures)
    V2: FloatArray = np.linalg.svd(G)[2][G.shape[0] :].T
    return V2


def unheld(arm: Arm, joints: Sequence[int] | npt.NDArray[np.int64], size: int) -> list[int]:
    """Return the coordinates of an arm but for those of `joints`, one of each, that a motion or a cylinder leads."""
    led = {int(i) for i, joint in zip(joints, arm.joints, strict=True) if joint.drive in HELD}
    return [i for i in range(size) if i not in led]


def check_rank(G: FloatArray, closures: Sequence[str] = ()) -> None:
    """Raise `DefinitionError` with the equations that depend on each other unless G has full rank."""
    m = G.shape[0]
    U, S, _ = np.linalg.svd(G)
    rank = int(np.sum(RANK * S.max(initial=0.0) < S))
    if rank == m:
        return
    # a combination of rows that vanishes is a column of U2; the equations in it depend on each other
    involved = [i for i in range(m) if np.abs(U[i, rank:]).max() > 1e-6]
    named = [closures[i] for i in involved] if closures else [i + 1 for i in involved]
    raise DefinitionError(f"closure equations {named} are redundant: rank {rank} of {m}; remove {m - rank} of them")
