"""Synthetic records: what a laboratory would have measured on a plant.

The arm is run under a sampled, held input that comes some samples late; angles are read by encoders, other sensors have
white noise. Arms that are linear beside the dry friction of their joints (one link, small motions of any) run exactly,
with fine steps where friction turns; others on the full nonlinear model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import require, unknown
from ..machine.given import as_plant
from ..model import FloatArray, LinearMechanics, Signal, Turned, names, turn
from ..models.wrappers.driven_joints import DrivenJoints
from ..simulation.simulate import simulate
from .experiment import Excitation
from .full_model import limits, reasons
from .record import Record, repeating
from .sampled import FINE, sampled

if TYPE_CHECKING:
    from ..catalogue import Plant

ENGINES = ("auto", "linear", "full")
ROUGH, EXACT = 1e-3, 1e-6
"""Error of a run on the full model, in parts of an output's range: that without noise, and the least that is sought."""
PART = 0.3
"""Error of a run, in parts of the noise of a sensor."""


def measure(
    plant: Plant | str | Path,
    excitation: Excitation,
    outputs: Sequence[str] | None = None,
    *,
    delay: int = 0,
    encoder_bits: int = 0,
    quanta: Mapping[str, float] | None = None,
    noise: Mapping[str, float] | None = None,
    input_noise: float = 0.0,
    seed: int = 0,
    engine: str = "auto",
    progress: Callable[[str, float], None] | None = None,
) -> Record:
    """Return a synthetic record of a plant, from rest.

    Parameters
    ----------
    plant : Plant, str or Path
        The arm, with the friction that its file states.
    excitation : Excitation
        What drives it; it names the input.
    outputs : sequence of str, optional
        Sensors; by default all of the plant.
    delay : int
        Delay of the input in samples.
    encoder_bits : int
        Bits per turn of the encoders of all joint angles; 0: none.
    quanta : mapping, optional
        Output -> step in which it is quantised, in its unit.
    noise : mapping, optional
        Output -> standard deviation of its white noise, in its unit.
    input_noise : float
        The same of the sensor of the input; the arm does not feel it.
    seed : int
        Of the noise.
    engine : str
        "linear" (about rest, with the joints' dry friction), "full" (the nonlinear model), or "auto": linear where the
        model is, and the joints have no play, stiffening springs, limits or lossy gears.
    progress : callable, optional
        Called with what is running and the fraction done.

    Examples
    --------
    >>> drive = fx.identify.doublets("joint1_torque [N m]", 0.1, count=1)
    >>> found = fx.identify.measure("tokhi_azad_1994", drive, ["joint1_angle"], delay=2, encoder_bits=16)
    >>> found
    Record(2000 samples of 0.001 s, ['joint1_torque'] -> ['joint1_angle'], not periodic)
    """
    arm = as_plant(plant)
    known, inputs = arm.model.outputs, arm.model.inputs
    chosen = list(outputs) if outputs is not None else _readable(arm)
    for name in (*chosen, *(quanta or {}), *(noise or {})):
        if name not in names(known):
            raise unknown(f"output of {arm.name}", name, names(known))
    for name in (*(quanta or {}), *(noise or {})):
        require(name in chosen, f'"{name}" is quantised or noisy, but not among the outputs {", ".join(chosen)}')
    if excitation.signal.name not in names(inputs):
        raise unknown(f"input of {arm.name}", excitation.signal.name, names(inputs))
    unit = inputs[names(inputs).index(excitation.signal.name)].unit
    same = (excitation.signal.unit or "1") == (unit or "1")
    require(same, f"the excitation is in {excitation.signal.unit}, the input {excitation.signal.name} in {unit}")
    require(isinstance(delay, int) and delay >= 0, f"delay = {delay!r} must be a whole number of samples")
    require(
        isinstance(encoder_bits, int) and 0 <= encoder_bits <= 32, f"encoder_bits = {encoder_bits!r} must be 0 to 32"
    )
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    used = engine if engine != "auto" else "linear" if _is_linear(arm) else "full"
    say = progress or (lambda what, part: None)
    signals = [known[names(known).index(name)] for name in chosen]
    reads = not encoder_bits or any(_encoder(one, encoder_bits) for one in signals if one.name not in (quanta or {}))
    require(
        reads, f"encoder_bits = {encoder_bits} changes nothing: of {', '.join(chosen)} none is an angle of a joint "
        "without a quantum of its own; leave it out, or give quanta",
    )
    y = _run(arm, excitation, chosen, delay, used, _told_apart(signals, encoder_bits, quanta or {}, noise or {}), say)
    y = _read(y, signals, encoder_bits, quanta or {}, noise or {}, seed)
    u = excitation.u + input_noise * np.random.default_rng([seed, 1]).standard_normal(excitation.u.size)
    about = {
        **arm.identity,
        "delay_samples": delay,
        "encoder_bits": encoder_bits,
        "quanta": dict(quanta or {}),
        "noise": dict(noise or {}),
        "input_noise": input_noise,
        "seed": seed,
        "engine": used,
        "measured": "synthetic",
        "excitation": dict(excitation.provenance),
    }
    period = excitation.period or repeating(excitation.u[:, None])
    period = period if 2 * period <= u.size else 0
    return Record(
        excitation.t,
        u[:, None],
        y,
        (Signal(excitation.signal.name, unit),),
        tuple(Signal(s.name, s.unit) for s in signals),
        period=period,
        provenance=about,
    )


def _readable(arm: Plant) -> list[str]:
    """Return the outputs that a sensor could read: not the friction that the linear model leaves out."""
    model = arm.model
    own = names(model.outputs)
    return own[: len(model.inner.outputs)] if isinstance(model, DrivenJoints) else own


def _inside(arm: Plant) -> Any:
    """Return the model without the drives around it."""
    return arm.model.inner if isinstance(arm.model, DrivenJoints) else arm.model


def _is_linear(arm: Plant) -> bool:
    return isinstance(_inside(arm), LinearMechanics) and not (reasons(arm) or limits(arm))


def _linear_readings(arm: Plant, drive: Excitation, outputs: Sequence[str], delay: int) -> FloatArray:
    """Return the outputs of the linear plant, those that are turned made of the angles that it gives."""
    inner = _inside(arm)
    own, turned = names(inner.outputs), inner.turned if isinstance(inner, LinearMechanics) else ()
    bent = [one for one in turned if own[one.row] in outputs]
    angles = {own[k] for one in bent for k in (one.angle, one.less) if k >= 0}
    read = [*outputs, *sorted(angles.difference(outputs))]
    plant = sampled(arm, [drive.signal.name], read, np.pi / drive.dt)
    y = plant.outputs(drive.u[:, None], drive.dt, True, delay, 1, FINE)
    place = {k: read.index(name) for k, name in enumerate(own) if name in read} | {-1: -1}
    turn(y, [Turned(place[one.row], one.sine, place[one.angle], place[one.less], one.radius) for one in bent])
    return y[:, : len(outputs)]


def _run(
    arm: Plant, drive: Excitation, outputs: Sequence[str], delay: int, engine: str, seen: FloatArray,
    say: Callable[[str, float], None],
) -> FloatArray:
    """Return the outputs at the samples, on the full model as exactly as what the sensors tell, `seen`, asks for."""
    if engine == "linear":
        say("measuring", 0.5)
        y = _linear_readings(arm, drive, outputs, delay)
        say("measuring", 1.0)
        return y
    u = np.concatenate([np.zeros(delay), drive.u[: drive.u.size - delay]])
    late = Excitation(drive.t, u, drive.signal, 0, drive.lines_hz, drive.crest)

    def full(rtol: float) -> FloatArray:
        run = simulate(
            arm, inputs={drive.signal.name: late.as_input()}, duration=float(drive.t[-1]), rtol=rtol,
            progress=lambda part: say("measuring", part),
        )
        return np.column_stack([np.interp(drive.t, run.t, run[name]) for name in outputs])

    y = full(ROUGH)
    told = seen > 0.0
    if not told.any():
        return y
    wanted = PART * float((seen[told] / np.maximum(np.ptp(y, axis=0)[told], 1e-300)).min())
    return y if wanted >= ROUGH else full(max(wanted, EXACT))


def _read(
    y: FloatArray,
    signals: Sequence[Signal],
    bits: int,
    quanta: Mapping[str, float],
    noise: Mapping[str, float],
    seed: int,
) -> FloatArray:
    """Return what the sensors show: noise, then encoders and quantisation."""
    out = y.copy()
    rng = np.random.default_rng([seed, 0])
    for k, signal in enumerate(signals):
        white = rng.standard_normal(len(out))
        deviation = noise.get(signal.name, 0.0)
        require(deviation >= 0.0, f"noise of {signal.name} = {deviation} is negative")
        out[:, k] += deviation * white
        step = quanta.get(signal.name, _encoder(signal, bits))
        require(step >= 0.0, f"quantum of {signal.name} = {step} is negative")
        if step > 0.0:
            out[:, k] = step * np.round(out[:, k] / step)
    return out


def _encoder(signal: Signal, bits: int) -> float:
    """Return the step of a joint's encoder, 0 where a signal has none."""
    return 2.0 * np.pi / 2**bits if bits and signal.unit == "rad" and _is_joint(signal.name) else 0.0


def _told_apart(
    signals: Sequence[Signal], bits: int, quanta: Mapping[str, float], noise: Mapping[str, float]
) -> FloatArray:
    """Return the deviation of noise and quantisation of every output."""
    steps = [quanta.get(s.name, _encoder(s, bits)) for s in signals]
    return np.array([np.hypot(noise.get(s.name, 0.0), q / 12.0**0.5) for s, q in zip(signals, steps, strict=True)])


def _is_joint(name: str) -> bool:
    """Whether an angle is one that an encoder on a joint reads."""
    return name.endswith("_angle") and not name.startswith(("tip", "chord"))
