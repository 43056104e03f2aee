"""The 3R arm in space of the benchmarks in Exudyn: geometrically exact beams, or reduced floating frames.

Joints are constraints of five axes with a spring and a damper about the sixth, which follow one cycloid: compiled
symbolic functions, no Python runs inside a step. Bodies are a post along z, then links along x; joint 1 turns about z,
the others about y.
"""

from __future__ import annotations

import math
import time
from itertools import pairwise
from typing import Any

import numpy as np

UPRIGHT = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
"""Columns: axes of the post's sections, the first along z."""
ABOUT_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Columns: axes of a joint, the third along y."""


class SpatialPeer:
    """Post and two links of one section; see `Beams` and `Frames` for what they are made of."""

    def __init__(self, section: dict[str, float], lengths: tuple[float, ...], elements: int,
                 gains: tuple[tuple[float, float], ...], angle: float, move: float) -> None:
        import exudyn as exu
        from exudyn import itemInterface as items

        self.exu, self.items, self.container = exu, items, exu.SystemContainer()
        self.mbs, self.alive = self.container.AddSystem(), []
        self.section, self.elements = section, elements
        self.ground = self.mbs.AddObject(items.ObjectGround())
        x, last = np.zeros(3), self.mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=self.ground))
        before = np.eye(3)
        for i, length in enumerate(lengths):
            R = UPRIGHT if i == 0 else np.eye(3)
            first, end = self.body(x, R, length)
            self._joint(last, first, before, R, np.eye(3) if i == 0 else ABOUT_Y, gains[i], angle, move)
            x, last, before = x + length * R[:, 0], end, R
        self.tip = self.mbs.AddSensor(
            items.SensorMarker(markerNumber=last, outputVariableType=exu.OutputVariableType.Position, writeToFile=False)
        )
        self.mbs.Assemble()

    def body(self, x: np.ndarray, R: np.ndarray, length: float) -> tuple[Any, Any]:
        """Add a body from x along the first column of R; return the markers of its ends."""
        raise TypeError(f"{type(self).__name__} makes no bodies")

    def _joint(self, one: Any, two: Any, R1: np.ndarray, R2: np.ndarray, axes: np.ndarray, gains: tuple[float, float],
               angle: float, move: float) -> None:
        from exudyn.advancedUtilities import CreateSymbolicUserFunction

        esym, w = self.exu.symbolic, 2.0 * math.pi / move
        markers, turned = [one, two], {"rotationMarker0": R1.T @ axes, "rotationMarker1": R2.T @ axes}
        self.mbs.AddObject(
            self.items.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=[1, 1, 1, 1, 1, 0], **turned)
        )
        kp, kv = gains

        def torque(mbs, t, itemNumber, rotation, angularVelocity, stiffness, damping, offset):  # type: ignore[no-untyped-def]
            command = angle * (t / move - esym.sin(w * t) / (2.0 * math.pi))
            rate = angle / move * (1.0 - esym.cos(w * t))
            return stiffness * (rotation - command) + damping * (angularVelocity - rate)

        function = CreateSymbolicUserFunction(
            self.mbs, function=torque, userFunctionName="springTorqueUserFunction",
            itemTypeName="ObjectConnectorTorsionalSpringDamper",
        )
        self.mbs.AddObject(self.items.TorsionalSpringDamper(
            markerNumbers=markers, stiffness=kp, damping=kv, springTorqueUserFunction=function, **turned,
        ))
        self.alive.append(function)

    def run(
        self, duration: float, step: float, tolerance: float = 1e-4, absolute: float = 1e-2, trapezoidal: bool = True
    ) -> tuple[float, np.ndarray]:
        """Return CPU seconds and the tip [m] at the end."""
        exu, settings = self.exu, self.exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.numberOfSteps, integration.endTime = round(duration / step), duration
        integration.verboseMode = 0
        integration.generalizedAlpha.spectralRadius = 0.9
        integration.newton.useModifiedNewton = True
        integration.newton.relativeTolerance, integration.newton.absoluteTolerance = tolerance, absolute
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = duration
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
        settings.parallel.numberOfThreads = 1
        settings.displayStatistics = settings.displayComputationTime = False
        kind = exu.DynamicSolverType
        begun = time.process_time()
        self.mbs.SolveDynamic(
            settings, solverType=kind.TrapezoidalIndex2 if trapezoidal else kind.GeneralizedAlpha,
            updateInitialValues=False,
        )
        spent = time.process_time() - begun
        return spent, np.array(self.mbs.GetSensorValues(self.tip))


class Beams(SpatialPeer):
    """Geometrically exact beams, nodes with Euler parameters."""

    def body(self, x: np.ndarray, R: np.ndarray, length: float) -> tuple[Any, Any]:
        from exudyn.rigidBodyUtilities import RotationMatrix2EulerParameters

        exu, items, mbs, s = self.exu, self.items, self.mbs, self.section
        data = exu.BeamSection()
        data.stiffnessMatrix = np.diag([s["EA"], s["GA"], s["GA"], s["GJ"], s["EI"], s["EI"]])
        data.inertia = np.diag([2.0 * s["rhoI"], s["rhoI"], s["rhoI"]])
        data.massPerLength = s["rhoA"]
        h, turn = length / self.elements, list(RotationMatrix2EulerParameters(R))
        nodes = [
            mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*(x + k * h * R[:, 0]), *turn]))
            for k in range(self.elements + 1)
        ]
        for a, b in pairwise(nodes):
            mbs.AddObject(items.ObjectBeamGeometricallyExact(nodeNumbers=[a, b], length=h, sectionData=data))
        first, last = (mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=n)) for n in (nodes[0], nodes[-1]))
        return first, last


class Frames(SpatialPeer):
    """Floating frames fixed to the roots, with the six static modes of the end and eigenmodes of the clamped rest."""

    def __init__(self, *arguments: Any, modes: int = 6) -> None:
        self.modes = modes
        super().__init__(*arguments)

    def body(self, x: np.ndarray, R: np.ndarray, length: float) -> tuple[Any, Any]:
        import scipy.linalg as sla
        import scipy.sparse as sparse
        from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface

        n, s = self.elements, self.section
        K, M = beam_matrices(n, length / n, s)
        # four points per section carry its mass and follow its six coordinates
        radius = math.sqrt(2.0 * s["rhoI"] / s["rhoA"])
        corners = radius * np.array([[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
        follow = np.vstack([np.hstack([np.eye(3), -skew(c)]) for c in corners])
        back = np.linalg.pinv(follow)
        place = np.array([np.add(c, (k * length / n, 0.0, 0.0)) for k in range(n + 1) for c in corners])
        P = np.kron(np.eye(n + 1), back)
        free, end = np.arange(6, 6 * n), np.arange(6 * n, 6 * n + 6)
        shapes = np.zeros((6 * n + 6, self.modes))
        static = np.eye(6)[:, : self.modes]
        shapes[end, : static.shape[1]] = static
        shapes[free, : static.shape[1]] = -np.linalg.solve(K[np.ix_(free, free)], K[np.ix_(free, end)] @ static)
        if self.modes > 6:
            shapes[free, 6:] = sla.eigh(K[np.ix_(free, free)], M[np.ix_(free, free)])[1][:, : self.modes - 6]
        fem = FEMinterface()
        fem.nodes = {"Position": place}
        fem.massMatrix = sparse.csr_matrix(P.T @ M @ P)
        fem.stiffnessMatrix = sparse.csr_matrix(P.T @ K @ P)
        fem.modeBasis = {"matrix": np.kron(np.eye(n + 1), follow) @ shapes, "type": "HCBmodes"}
        body = ObjectFFRFreducedOrderInterface(fem).AddObjectFFRFreducedOrder(
            self.mbs, positionRef=list(x), rotationMatrixRef=R
        )["oFFRFreducedOrder"]
        found = []
        for first in (0, 4 * n):
            numbers, weights = list(range(first, first + 4)), [0.25] * 4
            found.append(self.mbs.AddMarker(self.items.MarkerSuperElementRigid(
                bodyNumber=body, meshNodeNumbers=numbers, weightingFactors=weights, offset=[0.0, 0.0, 0.0],
            )))
        return found[0], found[1]


def skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def beam_matrices(n: int, l: float, s: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return K and M of a straight beam of n one-point Timoshenko elements along x."""
    size = 6 * (n + 1)
    K, M = np.zeros((size, size)), np.zeros((size, size))
    strain = np.zeros((6, 12))
    strain[:, :6], strain[:, 6:] = -np.eye(6) / l, np.eye(6) / l
    for column in (5, 11):
        strain[1, column] = -0.5
    for column in (4, 10):
        strain[2, column] = 0.5
    k = l * strain.T @ np.diag([s["EA"], s["GA"], s["GA"], s["GJ"], s["EI"], s["EI"]]) @ strain
    m = np.diag([s["rhoA"]] * 3 + [2.0 * s["rhoI"], s["rhoI"], s["rhoI"]])
    for e in range(n):
        here = slice(6 * e, 6 * e + 12)
        K[here, here] += k
        M[here, here] += l / 6.0 * np.kron([[2.0, 1.0], [1.0, 2.0]], m)
    return K, M
