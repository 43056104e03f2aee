"""The planar 2R arm of the Timoshenko benchmarks in Exudyn: geometrically exact 2D beams, joints commanded or
PD-driven.

Commands are compiled symbolic functions: no Python runs inside a step.
"""

from __future__ import annotations

import math
import time
from itertools import pairwise
from typing import Any

import numpy as np


class ExudynArm:
    """Two equal links; joints commanded along one cycloid, by constraints or by springs and dampers."""

    def __init__(self, elements: int, *, EA: float, GA: float, EI: float, rhoA: float, rhoI: float, length: float,
                 angle: float, move: float, gains: tuple[tuple[float, float], ...] | None = None) -> None:
        import exudyn as exu
        from exudyn import itemInterface as items
        from exudyn.advancedUtilities import CreateSymbolicUserFunction

        esym, container = exu.symbolic, exu.SystemContainer()
        self.exu, mbs = exu, container.AddSystem()
        self.mbs, self.container, self.alive = mbs, container, []
        h, ends = length / elements, []
        for link in range(2):
            nodes = [
                mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[link * length + k * h, 0.0, 0.0]))
                for k in range(elements + 1)
            ]
            for a, b in pairwise(nodes):
                mbs.AddObject(items.ObjectBeamGeometricallyExact2D(
                    nodeNumbers=[a, b], length=h, massPerLength=rhoA, crossSectionInertia=rhoI, bendingStiffness=EI,
                    axialStiffness=EA, shearStiffness=GA, includeReferenceRotations=False,
                ))
            ends.append((nodes[0], nodes[-1]))
        ground = mbs.AddNode(items.NodePointGround(referenceCoordinates=[0.0, 0.0, 0.0]))
        fixed = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))

        def marker(node: Any, coordinate: int) -> Any:
            return mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=coordinate))

        for coordinate in (0, 1):
            one = fixed, marker(ends[0][0], coordinate)
            two = marker(ends[0][1], coordinate), marker(ends[1][0], coordinate)
            for pair in (one, two):
                mbs.AddObject(items.ObjectConnectorCoordinate(markerNumbers=list(pair)))
        joints = (fixed, marker(ends[0][0], 2)), (marker(ends[0][1], 2), marker(ends[1][0], 2))
        w = 2.0 * math.pi / move
        for i, pair in enumerate(joints):
            if gains is None:

                def offset(mbs, t, itemNumber, lOffset):  # type: ignore[no-untyped-def]
                    return angle * (t / move - esym.sin(w * t) / (2.0 * math.pi))

                function = CreateSymbolicUserFunction(
                    mbs, function=offset, userFunctionName="offsetUserFunction",
                    itemTypeName="ObjectConnectorCoordinate",
                )
                mbs.AddObject(items.ObjectConnectorCoordinate(markerNumbers=list(pair), offsetUserFunction=function))
            else:
                kp, kv = gains[i]

                def force(mbs, t, itemNumber, displacement, velocity, stiffness, damping, offset):  # type: ignore[no-untyped-def]
                    command = angle * (t / move - esym.sin(w * t) / (2.0 * math.pi))
                    rate = angle / move * (1.0 - esym.cos(w * t))
                    return stiffness * (displacement - command) + damping * (velocity - rate)

                function = CreateSymbolicUserFunction(
                    mbs, function=force, userFunctionName="springForceUserFunction",
                    itemTypeName="ObjectConnectorCoordinateSpringDamper",
                )
                mbs.AddObject(items.ObjectConnectorCoordinateSpringDamper(
                    markerNumbers=list(pair), stiffness=kp, damping=kv, springForceUserFunction=function,
                ))
            self.alive.append(function)
        self.tip = ends[1][1]
        mbs.Assemble()

    def run(self, duration: float, step: float, tolerance: float) -> tuple[float, np.ndarray]:
        """Return CPU seconds and the tip (x, y) [m] at the end."""
        exu, settings = self.exu, self.exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.numberOfSteps, integration.endTime = round(duration / step), duration
        integration.verboseMode = 0
        integration.generalizedAlpha.spectralRadius = 0.9
        integration.newton.useModifiedNewton = True
        integration.newton.relativeTolerance = integration.newton.absoluteTolerance = tolerance
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = duration
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
        settings.parallel.numberOfThreads = 1
        settings.displayStatistics = settings.displayComputationTime = False
        begun = time.process_time()
        self.mbs.SolveDynamic(settings, updateInitialValues=False)
        spent = time.process_time() - begun
        place = self.mbs.GetNodeOutput(self.tip, exu.OutputVariableType.Position)
        return spent, np.array(place[:2])
