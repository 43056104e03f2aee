"""Sensors of the finite-difference beam; names and meanings are those of `timoshenko_planar.sensors`.

| output | reading |
|---|---|
| joint angle, rate | theta, or y_1/dx; without a hub (slope form) the angle is y_1/dx + dx tau/(2 EI) |
| tip_displacement | y(L), along the arc |
| chord angle, rate | psi = y(L)/L |
| link deflection | y(L) - L theta |
| tip_x, tip_y | L cos psi, L sin psi: y being measured along the arc, the tip stays on its circle |
| tip_error_x, _y | L (cos psi - cos theta), L (sin psi - sin theta) |
| displacement, acceleration | y and y'' at the station, linear between nodes |
| curvature, strain | y_xx and c y_xx, linear between nodes |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import require
from ...machine.arm import Arm, Sensor
from ...model import FloatArray, OutputTangent, Signal, Turned
from ..bodies import lumped
from ..sensors import gauge, sensor_signal
from .mesh import second_differences, weights

if TYPE_CHECKING:
    from . import FiniteDifference

OUTPUTS = {"joint1_angle": "rad", "joint1_rate": "rad/s", "tip_displacement": "m", "chord1_angle": "rad"}
"""Outputs that the exact beam has too."""
TIP = {
    "chord1_rate": "rad/s", "link1_deflection": "m", "tip_x": "m", "tip_y": "m", "tip_error_x": "m", "tip_error_y": "m",
}
THETA, PSI = 0, 3
"""Rows of the joint's angle and of the chord's."""


def signals(arm: Arm) -> tuple[Signal, ...]:
    """Return the outputs of a model of the arm."""
    found = [Signal(name, unit) for name, unit in (OUTPUTS | TIP).items()]
    for sensor in added_sensors(arm):
        found.append(sensor_signal(sensor, found))
    return tuple(found)


def added_sensors(arm: Arm) -> list[Sensor]:
    """Return the sensors whose readings are no outputs anyway: one of the tip's displacement may have its name."""
    return [s for s in arm.sensors if (s.name, s.kind, s.position) != ("tip_displacement", "displacement", 1.0)]


def turned(length: float) -> tuple[Turned, ...]:
    """Return where the tip is, and how far from the tip of the rigid arm: the outputs that are not linear."""
    places = ((6, False, -1), (7, True, -1), (8, False, THETA), (9, True, THETA))
    return tuple(Turned(row, sine, PSI, less, length) for row, sine, less in places)


def sensor_rows(model: FiniteDifference) -> OutputTangent:
    """Return the derivatives of all outputs at rest."""
    ny, n, p = len(model.outputs), len(model.coordinates), len(model.inputs)
    rows = OutputTangent(*(np.zeros((ny, width)) for width in (n, n, n, p)))
    rows.position[THETA, 0] = rows.rate[1, 0] = 1.0 if model.has_theta else 1.0 / model.dx
    if model.form == "slope" and not model.has_theta:
        rows.input[THETA] = model.end_moments()[0] * model.dx / (2.0 * model.arm.links[0].bending_stiffness)
    L = model.arm.links[0].length
    rows.position[2, model.nodes.stop - 1] = 1.0
    rows.position[PSI] = rows.rate[4] = rows.position[2] / L
    for part in rows.position, rows.input:
        part[5] = part[2] - L * part[THETA]
        part[7], part[9] = L * part[PSI], part[5]  # tip_y, tip_error_y; the rows of x are zero at rest
    for i, sensor in enumerate(added_sensors(model.arm), len(OUTPUTS | TIP)):
        _fill(rows, i, model, sensor)
    return rows


def _fill(rows: OutputTangent, i: int, model: FiniteDifference, sensor: Sensor) -> None:
    row = weights(sensor.position, model.sections)
    if sensor.kind in ("displacement", "acceleration"):
        require(sensor.position > 0, f'sensor "{sensor.name}": the root does not move; give a position above 0')
        target = rows.position if sensor.kind == "displacement" else rows.acceleration
        target[i, model.nodes] = row[1:]
        return
    scale = strain_scale(model.arm, sensor)
    for target, per_node in zip((rows.position, rows.acceleration, rows.input), _curvature(model), strict=True):
        target[i] = scale * row @ per_node


def _curvature(model: FiniteDifference) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return y_xx at nodes 0 .. n from coordinates, accelerations and inputs.

    At an end: from the slope where it is a coordinate, else from the balance of moments there.
    """
    n, dx, EI = model.sections, model.dx, model.arm.links[0].bending_stiffness
    N, y = len(model.coordinates), model.nodes
    q, a, u = np.zeros((n + 1, N)), np.zeros((n + 1, N)), np.zeros((n + 1, len(model.inputs)))
    q[1:n, y] = second_differences(n) / dx**2
    if model.has_theta:
        q[0, :2] = -2.0 / dx, 2.0 / dx**2
    else:
        u[0] = -model.end_moments()[0] / EI
        a[0, 0] = model.hub / (EI * dx)
    if model.has_phi:
        q[n, -3:] = 2.0 / dx**2, -2.0 / dx**2, 2.0 / dx
    else:
        a[n, y.stop - 2 : y.stop] = np.array([1.0, -1.0]) * model.lumped.payload.inertia / (EI * dx)
        u[n] = model.end_moments()[1] / EI
    return q, a, u


def strain_scale(arm: Arm, sensor: Sensor) -> float:
    """Return what multiplies the curvature: 1, or the outermost fibre's distance for a strain."""
    if lumped(arm).payload.inertia == 0:
        free = f'sensor "{sensor.name}": the curvature at the free tip is zero; give a position below 1'
        require(sensor.position < 1, free)
    return gauge(sensor, arm.links[0])
