"""Objects accepted as a law, and as the linear part of one: systems of python-control are both.

A control.StateSpace has a method `feedback` of its own, which closes a unit loop around it. It is a law by its signals,
and never asked for its linear part.
"""

from __future__ import annotations

from typing import Any

from ..errors import DefinitionError, require
from ..linear import FirstOrder
from ..machine.given import as_first_order, is_control
from ..model import Signal, names
from .controller import Controller, LinearLaw, bare, checked, not_a_law


def as_law(controller: Any) -> Any:
    """Return the controller, a linear system made one, or None."""
    if controller is None or isinstance(controller, Controller):
        return bare(controller if controller is None else checked(controller))
    law: Any = controller
    if isinstance(controller, FirstOrder):
        inputs, outputs = names(controller.inputs), names(controller.outputs)
    elif is_control(controller):
        law = _state_space(controller)
        inputs, outputs = law.input_labels, law.output_labels
        named = not {*inputs, *outputs} & {"u[0]", "y[0]"}
        remedy = "control.ss(..., inputs=[plant outputs], outputs=[plant inputs])"
        require(named, f"the signals of the controller have no names: give them, {remedy}, or control.tf likewise")
    else:
        raise not_a_law(controller)
    timed = law.dt is not True  # python-control's "sampled, period unknown"
    require(timed, "the controller is sampled, but with dt = True: give its sample time in seconds")
    return LinearLaw(
        float(law.dt or 0.0), tuple(inputs), tuple(outputs), A=law.A, By=law.B, C=law.C, Dy=law.D
    )


def _state_space(controller: Any) -> Any:
    """Return a control.StateSpace, or a control.TransferFunction as one with the same names."""
    import control

    if isinstance(controller, control.StateSpace):
        return controller
    try:
        return control.ss(controller, inputs=controller.input_labels, outputs=controller.output_labels)
    except ValueError as error:
        remedy = "add poles, e.g. a filter of the derivative"
        message = f"the transfer function of the controller has no state space: {error}; {remedy}"
        raise DefinitionError(message) from error


def as_known(law: Any) -> Any:
    """Return a law, a linear system as the law that it is by its signals; anything else as it is."""
    return as_law(law) if is_control(law) or isinstance(law, FirstOrder) else law


def feedback_of(law: Any) -> FirstOrder:
    """Return the linear part of a law, from what it measures to what it drives, as a plant in states.

    Its method `feedback` may return a `FirstOrder` or a system of python-control; one without names for its signals has
    those of the law, in the same order.
    """
    law = as_known(law)
    found = law.feedback()
    if not (isinstance(found, FirstOrder) or is_control(found)):
        raise DefinitionError(
            f"{type(law).__name__}.feedback() returned a {type(found).__name__}; return a FirstOrder or a "
            "control.StateSpace"
        )
    return found if isinstance(found, FirstOrder) else _named(as_first_order(found), law)


def _named(found: FirstOrder, law: Any) -> FirstOrder:
    """Return the linear part with the names of the law, refused where it cannot be that law's."""
    told = f"{type(law).__name__}.feedback()"
    signals = {}
    for what, own, wanted in (("inputs", found.inputs, law.measures), ("outputs", found.outputs, law.drives)):
        letter = "u" if what == "inputs" else "y"
        unnamed = names(own) == [f"{letter}[{i}]" for i in range(len(own))]
        fits = len(own) == len(wanted) if unnamed else sorted(names(own)) == sorted(wanted)
        require(fits, f"{told} has {what} {names(own)}; the law has {list(wanted)}")
        signals[what] = tuple(Signal(name) for name in wanted) if unnamed else own
    same = abs(found.dt - law.sample_time) <= 1e-9 * law.sample_time
    require(same, f"{told} has dt = {found.dt:g} s, the law acts every {law.sample_time:g} s")
    return FirstOrder(
        found.A, found.B, found.C, found.D, found.states, signals["inputs"], signals["outputs"],
        float(law.sample_time), found.provenance,
    )
