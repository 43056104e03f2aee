"""The two-link arm of the ANCF benchmarks in Exudyn: its planar cable element (Euler-Bernoulli, 8 coordinates).

It has no planar shear-deformable one. Joints are revolute constraints, the PD torsional springs and dampers on the
slopes, their commands set before each step from a table.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np


class ExudynCableArm:
    """Two links of cable elements pulled along joint commands by PD."""

    def __init__(
        self, elements: tuple[int, int], lengths: tuple[float, float], *, EA: float, EI: float, rhoA: float,
        gains: tuple[tuple[float, float], tuple[float, float]], commands: np.ndarray, step: float,
    ) -> None:
        """`commands`: rows angle 1, angle 2, rate 1, rate 2 at the times 0, step, 2 step .."""
        import exudyn as exu
        from exudyn import itemInterface as items

        self.exu, container = exu, exu.SystemContainer()
        self.container, self.mbs = container, container.AddSystem()
        mbs, ends, turn = self.mbs, [], np.cumsum(commands[:2, 0])
        origin = np.zeros(2)
        for count, length, angle in zip(elements, lengths, turn, strict=True):
            along = np.array([np.cos(angle), np.sin(angle)])
            places = [[*(origin + k * length / count * along), *along] for k in range(count + 1)]
            nodes = [mbs.AddNode(items.NodePoint2DSlope1(referenceCoordinates=place)) for place in places]
            for k in range(count):
                mbs.AddObject(items.ObjectANCFCable2D(
                    physicsLength=length / count, physicsMassPerLength=rhoA, physicsBendingStiffness=EI,
                    physicsAxialStiffness=EA, nodeNumbers=[nodes[k], nodes[k + 1]],
                ))
            ends.append((nodes[0], nodes[-1]))
            origin = origin + length * along
        ground = mbs.AddObject(items.ObjectGround())
        base = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0]))
        rigid = [[mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=n)) for n in pair] for pair in ends]
        pairs = ((base, rigid[0][0]), (rigid[0][1], rigid[1][0]))
        self.springs = []
        for (one, other), kp, kd in zip(pairs, *gains, strict=True):
            mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[one, other]))
            spring = items.ObjectConnectorTorsionalSpringDamper(markerNumbers=[one, other], stiffness=kp, damping=kd)
            self.springs.append(mbs.AddObject(spring))
        self.tip = ends[1][1]
        self.place = mbs.AddSensor(items.SensorNode(
            nodeNumber=self.tip, outputVariableType=exu.OutputVariableType.Position, storeInternal=True,
            writeToFile=False,
        ))
        mbs.Assemble()
        # the angle of the first spring counts from the base frame
        table, springs = commands.copy(), self.springs

        def command(mbs: Any, t: float) -> bool:
            k = min(round(t / step), table.shape[1] - 1)
            for i in (0, 1):
                mbs.SetObjectParameter(springs[i], "offset", table[i, k])
                mbs.SetObjectParameter(springs[i], "velocityOffset", table[2 + i, k])
            return True

        mbs.SetPreStepUserFunction(command)

    def run(
        self, duration: float, step: float, tolerance: float, every: float, modified: bool = True
    ) -> tuple[float, np.ndarray]:
        """Return CPU seconds and (time, x, y) of the tip; `modified` Newton, or a fresh Jacobian each time."""
        exu, settings = self.exu, self.exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.numberOfSteps, integration.endTime = round(duration / step), duration
        integration.verboseMode = 0
        integration.generalizedAlpha.spectralRadius = 0.9
        integration.newton.useModifiedNewton = modified
        integration.newton.relativeTolerance = tolerance
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = every
        settings.linearSolverType = exu.LinearSolverType.EXUdense
        settings.parallel.numberOfThreads = 1
        settings.displayStatistics = settings.displayComputationTime = False
        begun = time.process_time()
        self.mbs.SolveDynamic(settings, updateInitialValues=False)
        spent = time.process_time() - begun
        return spent, np.asarray(self.mbs.GetSensorStoredData(self.place))[:, :3]
