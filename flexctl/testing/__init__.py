"""The checks that every model passes, for models of flexctl and from outside: `pytest` in your project runs them.

    import flexctl as fx
    from flexctl.testing import Case, conformance

    test_conformance = conformance(
        Case("two mass", lambda mesh: fx.build(ARM, "two_mass"), drive="joint1_torque", angle="joint1_angle",
             rate="joint1_rate", gains=(4.0, 0.8), period=0.01, rigid=1)
    )

A `Case` states what the model claims (rigid modes, damping, order of its mesh, closed-form frequencies); the checks are
the same for every case: shapes, derivatives, energy, linear plant, closed loop, compiled form, mesh
(`flexctl.testing.checks`), and the abilities that it has (`flexctl.testing.abilities`). `flexctl.testing.laws` checks
control laws. pytest is imported by `conformance` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..model import MechanicalModel
from .checks import CHECKS
from .differences import Array
from .laws import check_law

__all__ = ["Case", "check_law", "checks_of", "conformance"]

Check = Callable[["Case"], None]


@dataclass(frozen=True)
class Case:
    """A model and what it claims.

    Attributes
    ----------
    name : str
        Label.
    build : callable
        Mesh size -> model; a model without a mesh ignores it.
    drive, angle, rate : str
        An input, and the outputs that read position and rate where it acts.
    gains, period : tuple of float, float
        A stable PD on them [N/m, N s/m or per rad], and its control period [s].
    kind : str
        Registry name, for a suite that wants a case of every kind.
    push : float
        Size of an input that moves the model well into its nonlinear range, if it has one.
    start : callable
        Model -> coordinates and rates of a free motion, closures met.
    rigid : int
        Rigid-body modes of the linear plant.
    damped : bool
        Whether it loses energy.
    mesh : int
        Mesh size of all checks but that of convergence.
    frequencies : callable
        Exact natural frequencies without the rigid modes [rad/s]. Without an order the model must have just these.
    order : int
        Order at which the second one is approached on `meshes`; 0 for a model without a mesh.
    twins : tuple
        Two (input, output) pairs with equal transfer functions.
    """

    name: str
    build: Callable[[int], MechanicalModel]
    drive: str
    angle: str
    rate: str
    gains: tuple[float, float]
    period: float
    kind: str = ""
    push: float = 1.0
    start: Callable[[Any], tuple[Array, Array]] | None = None
    rigid: int = 0
    damped: bool = False
    mesh: int = 5
    frequencies: Callable[[], Array] | None = None
    order: int = 0
    meshes: tuple[int, int, int] = (20, 40, 80)
    twins: tuple[tuple[str, str], tuple[str, str]] | None = None

    @property
    def model(self) -> Any:
        """The model at the mesh size of most checks, built anew."""
        return self.build(self.mesh)


def checks_of(case: Case) -> dict[str, Check]:
    """Return the checks that a case must pass, by name; each takes the case and raises `AssertionError`."""
    return {check.__name__: check for check, applies in CHECKS if applies is None or applies(case)}


def conformance(*cases: Case) -> Callable[..., None]:
    """Return a pytest test of every check on every case, to be assigned to a name that begins with `test_`."""
    import pytest

    pairs = [
        pytest.param(check, case, id=f"{name}-{case.name}")
        for case in cases
        for name, check in checks_of(case).items()
    ]

    @pytest.mark.parametrize(("check", "case"), pairs)
    def test_conformance(check: Check, case: Case) -> None:
        """Check one claim of one model."""
        check(case)

    return test_conformance
