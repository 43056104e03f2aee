"""The chain of segments of `bench_segments` in Exudyn: rigid bodies, revolute joints, torsion springs.

Joints are commanded by springs whose rest angle moves: a root spring 2 EI / l, or both half segments in series between
two links, EI / l. The command is a compiled symbolic function: no Python runs inside a step.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np


class ExudynChain:
    """Equal links of rigid segments; every joint follows the same cycloid."""

    def __init__(self, links: int, segments: int, *, EI: float, rhoA: float, length: float, mass: float, angle: float,
                 move: float) -> None:
        import exudyn as exu
        from exudyn import itemInterface as items

        self.exu, self.container, self.alive = exu, exu.SystemContainer(), []
        mbs = self.mbs = self.container.AddSystem()
        l, ground = length / segments, mbs.AddObject(items.ObjectGround())
        m = rhoA * l
        K, w = EI / l, 2.0 * math.pi / move
        before = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=[0.0, 0.0, 0.0]))
        fixed = mbs.AddNode(items.NodePointGround(referenceCoordinates=[0.0, 0.0, 0.0]))
        turned = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
        for k in range(links * segments):
            node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[(k + 0.5) * l, 0.0, 0.0]))
            lumped = mass if (k + 1) % segments == 0 and k + 1 < links * segments else 0.0
            inertia = m * l**2 / 12.0
            body = mbs.AddObject(items.ObjectRigidBody2D(nodeNumber=node, physicsMass=m, physicsInertia=inertia))
            inner = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[-0.5 * l, 0.0, 0.0]))
            outer = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[0.5 * l, 0.0, 0.0]))
            own = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=2))
            mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[before, inner]))
            if lumped:
                point = mbs.AddNode(items.NodePoint2D(referenceCoordinates=[(k + 1) * l, 0.0]))
                weight = mbs.AddObject(items.ObjectMassPoint2D(nodeNumber=point, physicsMass=lumped))
                at = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=weight))
                mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[outer, at]))
            if k % segments == 0:
                self._joint(turned, own, 2.0 * K if k == 0 else K, angle, move, w)
            else:
                mbs.AddObject(items.ObjectConnectorCoordinateSpringDamper(markerNumbers=[turned, own], stiffness=K))
            before, turned = outer, own
        self.last, self.l = body, l
        mbs.Assemble()

    def _joint(self, turned: Any, own: Any, K: float, angle: float, move: float, w: float) -> None:
        from exudyn import itemInterface as items
        from exudyn.advancedUtilities import CreateSymbolicUserFunction

        esym = self.exu.symbolic

        def force(mbs, t, itemNumber, displacement, velocity, stiffness, damping, offset):  # type: ignore[no-untyped-def]
            return stiffness * (displacement - angle * (t / move - esym.sin(w * t) / (2.0 * math.pi)))

        function = CreateSymbolicUserFunction(
            self.mbs, function=force, userFunctionName="springForceUserFunction",
            itemTypeName="ObjectConnectorCoordinateSpringDamper",
        )
        self.alive.append(function)
        self.mbs.AddObject(items.ObjectConnectorCoordinateSpringDamper(
            markerNumbers=[turned, own], stiffness=K, springForceUserFunction=function,
        ))

    def run(self, duration: float, step: float, tolerance: float, modified: bool = True) -> tuple[float, np.ndarray]:
        """Return CPU seconds and the tip (x, y) [m] at the end."""
        exu, settings = self.exu, self.exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.numberOfSteps, integration.endTime = round(duration / step), duration
        integration.verboseMode = 0
        integration.generalizedAlpha.spectralRadius = 0.9
        integration.newton.useModifiedNewton = modified
        integration.newton.relativeTolerance = integration.newton.absoluteTolerance = tolerance
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = duration
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
        settings.parallel.numberOfThreads = 1
        settings.displayStatistics = settings.displayComputationTime = False
        begun = time.process_time()
        self.mbs.SolveDynamic(settings, updateInitialValues=False)
        spent = time.process_time() - begun
        place = self.mbs.GetObjectOutputBody(self.last, exu.OutputVariableType.Position, [0.5 * self.l, 0.0, 0.0])
        return spent, np.array(place[:2])
