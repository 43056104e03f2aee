"""Measured frequency responses from files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..errors import DefinitionError, require
from ..model import FloatArray
from .record import parsed_head
from .response import MeasuredResponse


def read_frf(path: str | Path, **units: str) -> MeasuredResponse:
    """Return the frequency responses of a file: .npz, .csv or .mat as `MeasuredResponse.save` writes them, or a
    universal file (.uff, .unv; functions of kind 4).

    Examples
    --------
    >>> w = np.linspace(1.0, 10.0, 10)
    >>> given = fx.identify.measured_response(w, 1.0 / (4.0 - w**2 + 0.1j * w), ["f [N]"], ["x [m]"], relative=0.01)
    >>> fx.identify.read_frf(given.save("frf.npz"))
    MeasuredResponse(['f'] -> ['x'], 10 lines, 0.1592 to 1.592 Hz, given)
    """
    try:
        return read(path, units)
    except DefinitionError as error:
        raise DefinitionError(f"{path}: {error}") from error


def read(path: str | Path, units: Mapping[str, str]) -> MeasuredResponse:
    """Return the frequency responses of a file; see `flexctl.identify.read_frf`."""
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix in (".uff", ".unv"):
        return _universal(source, units)
    if suffix not in (".csv", ".npz", ".mat", ".json"):
        raise DefinitionError(f'unknown file type "{source.suffix}"; use one of .csv, .npz, .mat, .json, .uff, .unv')
    from .reading import _tables, raise_faults

    columns, stated, about = _tables(source, suffix)
    raise_faults(about, columns)
    frequency = next((key for key in ("omega", "frequency") if key in columns), None)
    if frequency is None:
        raise DefinitionError('no column is the frequency: call it "omega [rad/s]" or "frequency [Hz]"')
    at = columns[frequency] * (
        2.0 * np.pi if stated.get(frequency, "rad/s" if frequency == "omega" else "Hz") == "Hz" else 1
    )
    channels = [key.removesuffix(":real") for key in columns if key.endswith(":real")]
    require(bool(channels), 'no column is a gain: write "output/input:real" and "output/input:imag" for each channel')
    outputs = list(dict.fromkeys(key.partition("/")[0] for key in channels))
    inputs = list(dict.fromkeys(key.partition("/")[2] for key in channels))
    shape = (len(outputs), len(inputs), at.size)
    H, sigma = np.zeros(shape, complex), np.full(shape, np.nan)
    coherence = np.full((len(outputs), at.size), np.nan)
    for i, y in enumerate(outputs):
        for k, u in enumerate(inputs):
            name = f"{y}/{u}"
            require(name in channels, f'channel "{name}" is missing')
            require(f"{name}:imag" in columns, f'"{name}:imag" is missing beside "{name}:real"')
            H[i, k] = columns[f"{name}:real"] + 1j * columns[f"{name}:imag"]
            if f"{name}:sigma" in columns:
                sigma[i, k] = columns[f"{name}:sigma"]
        if f"{y}:coherence" in columns:
            coherence[i] = columns[f"{y}:coherence"]
    y_units, u_units = _channel_units(outputs, inputs, stated, units)
    signals = [tuple(parsed_head(f"{n} [{unit}]") for n, unit in pairs) for pairs in (y_units.items(), u_units.items())]
    factor = np.array([[a[1] / b[1] for b in signals[1]] for a in signals[0]])[:, :, None]
    return MeasuredResponse(
        at,
        H * factor,
        tuple(s for s, _ in signals[1]),
        tuple(s for s, _ in signals[0]),
        {"file": source.name},
        None,
        sigma * factor,
        coherence,
        float(about.get("dt_s", 0.0)),
        bool(about.get("held", False)),
        str(about.get("method", "given")),
    )


def _channel_units(
    outputs: list[str], inputs: list[str], stated: Mapping[str, str], units: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the units of outputs and inputs from heads like "rad/(N m)" or from what the caller says."""
    y: dict[str, str] = {}
    u: dict[str, str] = {}
    for out in outputs:
        for drive in inputs:
            text = stated.get(f"{out}/{drive}:real", "")
            top, slash, bottom = text.partition("/(")
            if not slash:
                top, _, bottom = text.rpartition("/")
            y.setdefault(out, units.get(out, top.strip() or "1" if text else ""))
            u.setdefault(drive, units.get(drive, bottom.rstrip(")").strip()))
    for name, unit in (*y.items(), *u.items()):
        require(bool(unit), f'signal "{name}" has no unit: head its columns "output/input:real [rad/(N m)]"')
    return y, u


def _universal(source: Path, units: Mapping[str, str]) -> MeasuredResponse:
    from .uff import RESPONSE, read_functions

    found = [f for f in read_functions(source) if f.kind == RESPONSE]
    require(bool(found), "holds no frequency responses (functions of kind 4)")
    x = np.asarray(found[0].x, float)
    for f in found:
        same = f.x.size == x.size and np.allclose(f.x, x, rtol=1e-6)
        require(same, f"response {f.response}/{f.reference} has other frequencies than the first one")
    outputs = list(dict.fromkeys(f.response for f in found))
    inputs = list(dict.fromkeys(f.reference for f in found))
    channels = {(f.response, f.reference): f for f in found}
    require(len(channels) == len(found), "a channel is there twice")
    missing = [f"{y}/{u}" for y in outputs for u in inputs if (y, u) not in channels]
    require(not missing, f"channels are missing: {', '.join(missing)}")
    y_signals, u_signals = [], []
    for name in outputs:
        unit = units.get(name) or next((f.unit for f in found if f.response == name and f.unit), "")
        y_signals.append(parsed_head(f"{name} [{unit}]" if unit else name))
    for name in inputs:
        unit = units.get(name) or next(
            (f.reference_unit for f in found if f.reference == name and f.reference_unit), ""
        )
        u_signals.append(
            parsed_head(f"{name}_force [{unit}]" if name in outputs else f"{name} [{unit}]" if unit else name)
        )
    H = np.array([[np.asarray(channels[y, u].values, complex) for u in inputs] for y in outputs])
    factor: FloatArray = np.array([[a[1] / b[1] for b in u_signals] for a in y_signals])[:, :, None]
    keep = x > 0.0
    return MeasuredResponse(
        2.0 * np.pi * x[keep],
        np.asarray((H * factor)[:, :, keep], complex),
        tuple(s for s, _ in u_signals),
        tuple(s for s, _ in y_signals),
        {"file": source.name},
    )
