"""Systems in series and the loop a controller closes, as frequency models with matching signal names.

    L = K P, broken at the plant's inputs; the closed loop is (1 + L)^-1, negative feedback.

A control law acts on the measurements with its own sign, u = F y, so that L = -F P. A transfer function K given as a
controller acts on the error, u = K (r - y), so that L = K P. A sampled controller sees the plant through sampler and
zero-order hold: a continuous plant is discretised exactly and both are evaluated at z = exp(j omega dt).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..abilities import Gains, LinearFeedback, sample_time_of
from ..errors import DefinitionError, unknown
from ..linear import FirstOrder, SecondOrder
from ..linear.seen import as_seen
from ..machine.given import is_control, lines_of
from ..model import ComplexArray, FrequencyModel, Signal, names
from ..support.kinds import LoopGiven, SystemGiven
from .evaluate import Transfer, channels, prepared, with_limits
from .grids import frequency_model, known_poles
from .measured import measured_loop


@dataclass(frozen=True, eq=False)
class Series:
    """`sign` times the product of frequency models, the first part acting first; built by `series` and `loop_gain`."""

    first: FrequencyModel
    second: FrequencyModel
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    sign: float = 1.0
    dt: float = 0.0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        kind = "continuous" if self.dt == 0.0 else f"dt = {self.dt:g} s"
        return f"Series({names(self.inputs)} -> {names(self.outputs)}, {kind})"

    def transfer(self, s: ComplexArray) -> ComplexArray:
        """Return the transfer matrix at complex s [rad/s]; for a sampled system s is the z variable."""
        return self.prepared()(np.atleast_1d(np.asarray(s, complex)))

    def prepared(self) -> Transfer:
        """Return the evaluator of `transfer`, with what does not depend on s done once."""
        second = prepared(self.second)
        rows = [names(self.first.outputs).index(name) for name in names(self.second.inputs)]
        columns = [names(self.first.inputs).index(name) for name in names(self.inputs)]
        first = channels(self.first, rows, columns)

        def evaluate(s: ComplexArray) -> ComplexArray:
            H = first(s)
            with np.errstate(all="ignore"):
                product: ComplexArray = self.sign * np.einsum("yik,iuk->yuk", second(s), H)
            return product

        return with_limits(evaluate)

    def poles(self) -> ComplexArray | None:
        """Return the poles of both parts [rad/s], Im >= 0, or None where one of them does not tell."""
        found = [known_poles(self.first), known_poles(self.second)]
        return None if found[0] is None or found[1] is None else np.concatenate(found)  # type: ignore[arg-type]


def series(first: FrequencyModel, second: FrequencyModel) -> Series:
    """Return `second` after `first`: the inputs of `second` must be among the outputs of `first`, by name.

    With one sampled part the other, if continuous, is discretised with zero-order hold at the same sample time.

    Examples
    --------
    >>> one = fx.from_matrices([[1.0]], K=[[4.0]], B=[[1.0]], C=[[1.0]], inputs=["u"], outputs=["in"])
    >>> print(fx.series(one, fx.low_pass(10.0)).transfer(np.array([0j])).real)
    [[[0.25]]]
    """
    first, second, dt = _at_one_rate(frequency_model(first), frequency_model(second))
    _require_names("output", names(second.inputs), names(first.outputs))
    return Series(first, second, tuple(first.inputs), tuple(second.outputs), 1.0, dt)


def loop_gain(plant: SystemGiven, controller: LoopGiven) -> Any:
    """Return the loop gain L, from each drive once around back to it; the closed loop is (1 + L)^-1.

    Parameters
    ----------
    plant : FrequencyModel, MechanicalModel, measured FrequencyResponse or control.FrequencyResponseData
        Its outputs contain what the controller measures, its inputs what it drives, by name. Of a measured response the
        loop is a `flexctl.frequency.measured.MeasuredLoop`, for `margins` alone.
    controller : control law or FrequencyModel
        A law (anything with `feedback()`) acts on the measurements with its own sign: L = -F P. A `FrequencyModel` acts
        on the error r - y: L = K P.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_lqg")
    >>> arm = fx.load_plant(script.PLANT)
    >>> fx.names(fx.loop_gain(arm.linearise(), script.design(arm)).outputs)
    ['joint1_torque']
    """
    # a control.StateSpace has a feedback() too, which closes a unit loop around it
    law = isinstance(controller, LinearFeedback) and not is_control(controller)
    K = frequency_model(controller.feedback() if law else controller)
    plant = lines_of(plant)
    if isinstance(plant, Gains):
        if plant.source is None:
            return measured_loop(plant, K, -1.0 if law else 1.0)
        plant = plant.source
    P, K, dt = _at_one_rate(frequency_model(plant), K, reads=names(K.inputs))
    _require_names("plant output", names(K.inputs), names(P.outputs))
    _require_names("plant input", names(K.outputs), names(P.inputs))
    drives = tuple(K.outputs)
    return Series(P, K, drives, drives, -1.0 if law else 1.0, dt)


def _require_names(what: str, wanted: list[str], known: list[str]) -> None:
    for name in wanted:
        if name not in known:
            raise unknown(what, name, known)


def _at_one_rate(
    first: FrequencyModel, second: FrequencyModel, reads: Sequence[str] = ()
) -> tuple[FrequencyModel, FrequencyModel, float]:
    """Return both at one sample time; `reads` are the outputs of the first that a law measures."""
    rates = sorted({sample_time_of(m) for m in (first, second)})
    if isinstance(first, SecondOrder | FirstOrder) and reads and sample_time_of(second):
        first = as_seen(first, sample_time_of(second), reads)
        rates = [sample_time_of(second)]
    if rates[0] > 0.0 and len(rates) > 1:
        raise DefinitionError(f"sample times {rates[0]:g} s and {rates[1]:g} s differ; resample one of the two")
    dt = rates[-1]
    if dt == 0.0:
        return first, second, dt
    return _sampled(first, dt), _sampled(second, dt), dt


def _sampled(model: FrequencyModel, dt: float) -> FrequencyModel:
    if sample_time_of(model):
        return model
    if isinstance(model, SecondOrder):
        return model.discrete(dt)
    if isinstance(model, FirstOrder):
        from ..linear.discrete import zero_order_hold

        return zero_order_hold(model, dt)
    raise DefinitionError(
        f"{type(model).__name__} cannot be sampled at dt = {dt:g} s; use a plant with matrices or a continuous law"
    )
