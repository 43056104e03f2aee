"""Plant and controller joined by the names of their signals.

    y = P (u + w),   u = K_y y + K_r r      ->      (r, w) to (y, u)

`control.feedback` and `control.series` forget the names; here they decide the wiring: a controller input called like a
plant output reads it, any other is a reference; a controller output drives the plant input of its name. The sign is the
controller's own (a stabilising one has negative gain from the measurement).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import DefinitionError, require
from ..machine.given import LinearGiven, as_first_order
from ..model import ComplexArray, FloatArray, Signal, index_of, names
from . import FirstOrder
from .seen import as_seen


def closed_loop(plant: LinearGiven, controller: FirstOrder) -> FirstOrder:
    """Return the closed loop with inputs (references, plant inputs) and outputs (plant outputs, commands).

    Both systems must be continuous, or sampled alike; a plant of second order is taken in modal coordinates. The poles
    of the result decide stability.

    Examples
    --------
    >>> plant = fx.from_matrices([[1.0]], K=[[4.0]], B=[[1.0]], C=[[1.0]], inputs=["u"], outputs=["y"])
    >>> law = fx.LinearLaw(0.0, ("y",), ("u",), Dy=[[-5.0]])
    >>> print(fx.closed_loop(plant, law.feedback()).poles().round(6))
    [0.+3.j 0.-3.j]
    """
    plant, controller = as_first_order(plant), as_first_order(controller)
    require(
        plant.dt == controller.dt,
        f"the plant has dt = {plant.dt:g} s, the controller {controller.dt:g} s; discretise one like the other",
    )
    measured = [i for i, s in enumerate(controller.inputs) if s.name in names(plant.outputs)]
    references = [i for i in range(len(controller.inputs)) if i not in measured]
    require(bool(measured), f"the controller reads none of the plant's outputs {names(plant.outputs)}")
    driven = [index_of("plant input", s.name, plant.inputs) for s in controller.outputs]
    reads = [index_of("plant output", controller.inputs[i].name, plant.outputs) for i in measured]
    p, ny = len(plant.inputs), len(plant.outputs)
    E, F = np.eye(p)[:, driven], np.eye(ny)[reads]  # commands to inputs, outputs to measurements
    By, Br, Dy, Dr = (
        controller.B[:, measured] @ F,
        controller.B[:, references],
        controller.D[:, measured] @ F,
        controller.D[:, references],
    )
    S = _inverse(np.eye(p) - E @ Dy @ plant.D)
    # u = S (E C_k x_k + E D_y C x + E D_r r + w) in terms of (x, x_k) and (r, w)
    u_x = S @ np.hstack([E @ Dy @ plant.C, E @ controller.C])
    u_w = S @ np.hstack([E @ Dr, np.eye(p)])
    n = plant.A.shape[0]
    y_x, y_w = plant.D @ u_x, plant.D @ u_w
    y_x[:, :n] += plant.C
    A = np.vstack([plant.B @ u_x, By @ y_x])
    A[:n, :n] += plant.A
    A[n:, n:] += controller.A
    B = np.vstack([plant.B @ u_w, By @ y_w])
    B[n:, : len(references)] += Br
    commands_w = u_w[driven].copy()
    commands_w[:, len(references) :] -= np.eye(p)[driven]  # a command is what the controller asks for, without w
    return replace(
        plant, A=A, B=B, C=np.vstack([y_x, u_x[driven]]), D=np.vstack([y_w, commands_w]),
        states=(*plant.states, *_distinct(controller.states, names(plant.states))),
        inputs=(*(controller.inputs[i] for i in references), *plant.inputs),
        outputs=(*plant.outputs, *(plant.inputs[i] for i in driven)),
        provenance={**plant.provenance, "controller": dict(controller.provenance)},
    )


def loop_poles(plant: LinearGiven, feedback: FirstOrder) -> ComplexArray:
    """Return the poles of a plant under feedback as s [rad/s]; of sampled feedback ln(z)/T, the plant behind a hold.

    A sampled law reads before its new command acts, see `flexctl.linear.seen`.

    Examples
    --------
    >>> plant = fx.from_matrices([[1.0]], K=[[4.0]], B=[[1.0]], C=[[1.0]], inputs=["u"], outputs=["y"])
    >>> law = fx.LinearLaw(0.0, ("y",), ("u",), Dy=[[-5.0]])
    >>> print(abs(fx.loop_poles(plant, law.feedback())).round(6))
    [3. 3.]
    """
    feedback = as_first_order(feedback)
    found = closed_loop(as_seen(plant, feedback.dt, names(feedback.inputs)), feedback).poles()
    if feedback.dt == 0:
        return found
    z = found
    # a pole at 0 (a delay) is gone within a period
    return np.asarray(np.log(np.where(np.abs(z) > 1e-12, z, 1e-12).astype(complex)) / feedback.dt)


def _inverse(m: FloatArray) -> FloatArray:
    if m.size and np.linalg.cond(m) > 1e14:
        raise DefinitionError(
            "the algebraic loop of plant and controller has no solution: I - D_controller D_plant is singular"
        )
    return np.asarray(np.linalg.inv(m), float)


def _distinct(states: tuple[Signal, ...], taken: list[str]) -> tuple[Signal, ...]:
    return tuple(replace(s, name=f"controller_{s.name}") if s.name in taken else s for s in states)
