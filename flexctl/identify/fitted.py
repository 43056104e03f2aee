"""A measured frequency response in the place of a plant: the modal model that is fitted to it, and how well it fits.

Lines tell what a plant does between the first and the last of them, in steady oscillation; a run needs a plant that is
defined at all times. So one is fitted (`modal`), it is said what was fitted and how far it is off, and where no model
fits the response is refused. Margins need no fit: `flexctl.margins` takes the lines themselves.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..catalogue.linear_plant import LISTED, LinearSystem
from ..catalogue.uncertainty import Uncertainty
from ..errors import DataWarning, DefinitionError, caution
from ..frequency import FrequencyResponse
from ..linear import FirstOrder
from ..linear.discrete import zero_order_hold
from ..model import names
from .modal import ModalFit, modal
from .response import MeasuredResponse, as_measured

_FILES: dict[tuple[Path, int, int], LinearSystem] = {}
"""The last file that was fitted: commands and workers open it several times."""

if TYPE_CHECKING:
    from ..model import FloatArray

EXPLAINED = 3.0
"""chi^2 up to which the scatter of the lines explains what a fit is off."""
OFF = 0.1
"""Median relative deviation of a channel up to which a fit is taken that scatter does not explain."""


def fitted_plant(response: FrequencyResponse, name: str = "measured response", source: str = "") -> LinearSystem:
    """Return the plant fitted to a measured response; see the module.

    Parameters
    ----------
    response : FrequencyResponse
        The lines, with standard deviations if they are known.
    name, source : str
        Name and origin of the plant.

    Returns
    -------
    LinearSystem
        Sampled with the data's period where the data have a delay, else continuous. Its `uncertainty` holds the
        standard deviations of frequencies and damping ratios, from which certificates and sweeps draw plants.

    Warns
    -----
    DataWarning
        Always: what was fitted, and how far it is off.

    Raises
    ------
    DefinitionError
        Where no linear model of 12 pole pairs or fewer follows the lines.

    Examples
    --------
    >>> w = np.linspace(1.0, 30.0, 300)
    >>> H = 1.0 / (100.0 - w**2 + 0.4j * w)
    >>> data = fx.identify.measured_response(w, H, ["force [N]"], ["x [m]"], relative=0.01)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     plant = fx.identify.fitted_plant(data)
    >>> print(plant.modes().frequencies_hz.round(4))
    [1.5915]
    """
    data = as_measured(response)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = modal(data)
    off = deviations(found)
    _refuse(found, off, name)
    words = [str(w.message) for w in said if issubclass(w.category, DataWarning)]
    at = np.unravel_index(int(off.argmax()), off.shape)
    channel = f"{names(data.inputs)[at[1]]} -> {names(data.outputs)[at[0]]}"
    hertz = data.omega[[0, -1]] / (2.0 * np.pi)
    text = (
        f"{name} is a measured response; what runs is a plant fitted to its lines, {hertz[0]:.4g} to {hertz[1]:.4g} Hz"
        f": {repr(found).removeprefix('ModalFit(').removesuffix(')')}, {off.max():.2g} off in the median of {channel}, "
        "the worst channel. It is stable by construction, free motion aside, and nothing is known outside the lines; "
        "flexctl.margins takes the lines themselves"
    )
    caution(". ".join([text, *words]), DataWarning)
    plant = _sampled(found, data)
    note = {**plant.provenance, "plant": name, "fitted": text}
    plant = FirstOrder(plant.A, plant.B, plant.C, plant.D, plant.states, plant.inputs, plant.outputs, plant.dt, note)
    return LinearSystem(
        plant, name, source, title=f"fitted to a measured response: {found!r}", uncertainty=_uncertainty(found, name)
    )


def fitted_file(path: Path, response: FrequencyResponse) -> LinearSystem:
    """Return the plant fitted to the measured response of a file, once for each state of the file."""
    state = (path.resolve(), path.stat().st_mtime_ns, path.stat().st_size)
    if state not in _FILES:  # what was fitted is said once
        found = fitted_plant(response, path.stem, str(path))
        _FILES.clear()
        _FILES[state] = found
    return _FILES[state]


def deviations(found: ModalFit) -> FloatArray:
    """Return the median of |model - line| / |line| of every channel."""
    size = np.maximum(np.abs(found.data.response), 1e-300)
    return np.asarray(np.median(np.abs(found.model - found.data.response) / size, axis=2), float)


def _refuse(found: ModalFit, off: FloatArray, name: str) -> None:
    explained = found.data.has_sigma and found.chi2 <= EXPLAINED
    if not explained and off.max() > OFF:
        raise DefinitionError(
            f"no plant was found that follows the lines of {name}: with {found.pairs} pole pairs the median deviation "
            f"is {off.max():.2g} (at most {OFF:g}), chi^2 {found.chi2:.3g}; a plant in the place of data must be "
            "stable but for free motion. Fit it by hand (fx.identify.modal: most=.., delay=..), or ask for margins "
            "alone (fx.margins)"
        )


def _sampled(found: ModalFit, data: MeasuredResponse) -> FirstOrder:
    """Return the plant with the delay of the data, which a continuous one cannot have."""
    return zero_order_hold(found.plant, data.dt, found.delay) if found.delay > 0.0 else found.plant


def _uncertainty(found: ModalFit, name: str) -> Uncertainty | None:
    flexible = [k for k in np.argsort(np.abs(found.poles)) if found.poles[k].imag > 0.0][:LISTED]
    keys: list[str] = []
    sigma: list[float] = []
    for number, k in enumerate(flexible, 1):
        known = (
            (f"mode.{number}.frequency_hz", found.frequencies_hz[k], found.sigma_frequency[k]),
            (f"mode.{number}.damping", found.damping[k], found.sigma_damping[k]),
        )
        for key, value, part in known:
            if np.isfinite(part) and part > 0.0:
                keys.append(key)
                # plants are drawn from a Gaussian of logarithms: one standard deviation up is value + sigma
                sigma.append(float(value * np.log1p(part)))
    return Uncertainty(tuple(keys), tuple(sigma), source=f"identified: {name}") if keys else None
