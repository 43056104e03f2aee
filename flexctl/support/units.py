"""Units: what a suffix is in SI units. Options of the command line and heads of measured records are read by it."""

from __future__ import annotations

import math

DEG = math.pi / 180.0
FACTORS: dict[str, dict[str, float]] = {
    "rad": {"rad": 1.0, "deg": DEG, "mrad": 1e-3},
    "m": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0},
    "kg": {"kg": 1.0, "g": 1e-3, "mg": 1e-6},
    "N m": {"Nm": 1.0, "mNm": 1e-3, "Nmm": 1e-3, "Ncm": 1e-2, "kNm": 1e3},
    "N": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "Hz": {"Hz": 1.0, "kHz": 1e3, "rad/s": 0.5 / math.pi},
    "rad/s": {"rad/s": 1.0, "deg/s": DEG, "rpm": math.pi / 30.0},
    "rad/s^2": {"rad/s2": 1.0, "deg/s2": DEG},
    "m/s": {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3},
    "m/s^2": {"m/s2": 1.0, "mm/s2": 1e-3, "g": 9.80665},
    "1/s": {"/s": 1.0, "/ms": 1e3},
    "Pa": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9},
    "kg/m^3": {"kg/m3": 1.0, "g/cm3": 1e3},
    "kg m^2": {"kgm2": 1.0, "kgcm2": 1e-4, "kgmm2": 1e-6, "gm2": 1e-3, "gcm2": 1e-7},
    "m^2": {"m2": 1.0, "cm2": 1e-4, "mm2": 1e-6},
    "m^4": {"m4": 1.0, "cm4": 1e-8, "mm4": 1e-12},
    "N/m": {"N/m": 1.0, "N/mm": 1e3, "kN/m": 1e3},
    "N m/rad": {"Nm/rad": 1.0, "Nmm/rad": 1e-3, "kNm/rad": 1e3, "Nm/deg": 1.0 / DEG},
    "N m s/rad": {"Nms/rad": 1.0, "Nmms/rad": 1e-3},
    "N m^2": {"Nm2": 1.0, "Nmm2": 1e-6},
    "kg/m": {"kg/m": 1.0, "g/m": 1e-3},
    "V": {"V": 1.0, "mV": 1e-3},
    "A": {"A": 1.0, "mA": 1e-3},
    "ohm": {"ohm": 1.0, "mohm": 1e-3},
    "H": {"H": 1.0, "mH": 1e-3},
    "N m/A": {"Nm/A": 1.0, "mNm/A": 1e-3},
    "V s/rad": {"Vs/rad": 1.0, "mVs/rad": 1e-3},
    "N m/rad^3": {"Nm/rad3": 1.0},
    "deg": {"deg": 1.0, "rad": 1.0 / DEG},  # what is stated in degrees by its name: phase_margin_deg
    "1": {"%": 1e-2},
    "%": {"%": 1.0},  # what is stated in percent by its name: overshoot_pct
}
"""SI unit -> suffix without blanks and powers' circumflex -> factor to that unit."""

SPELLINGS = str.maketrans({" ": None, "^": None, "*": None, "·": None, "²": "2", "°": "deg", "µ": "u", "μ": "u"})
"""How a unit is written plainly: no blanks, no circumflex, ASCII letters."""

_MEASURED = ("rad", "N m", "N", "m", "s", "rad/s", "rad/s^2", "m/s", "m/s^2", "Hz", "1", "V", "A", "Pa", "1/m")
"""Units of measured signals, in the order in which a suffix of several meanings is looked up."""
_SIGNALS = {
    "1": {
        "1": 1.0,
        "strain": 1.0,
        "m/m": 1.0,
        "%": 1e-2,
        "ustrain": 1e-6,
        "ue": 1e-6,
        "microstrain": 1e-6,
        "um/m": 1e-6,
    },
    "m/s^2": {"m/s2": 1.0, "mm/s2": 1e-3, "g": 9.80665},
    "1/m": {"1/m": 1.0, "/m": 1.0},
}
"""Units of measured signals beside those of options."""


def plain(unit: str) -> str:
    """Return a unit as the tables of factors spell it."""
    return unit.strip().translate(SPELLINGS)


def si_unit(stated: str) -> tuple[str, float]:
    """Return the SI unit of a measured signal and what its numbers are multiplied by; raises KeyError.

    A "g" is an acceleration here: no sensor of an arm reads a mass.
    """
    word = plain(stated)
    for unit in _MEASURED:
        known = {plain(unit): 1.0, **FACTORS.get(unit, {}), **_SIGNALS.get(unit, {})}
        if word in known:
            return unit, known[word]
    raise KeyError(stated)


def known_units() -> list[str]:
    """Return every spelling that `si_unit` takes."""
    found = [{plain(unit): 1.0, **FACTORS.get(unit, {}), **_SIGNALS.get(unit, {})} for unit in _MEASURED]
    return sorted({word for table in found for word in table})


def is_unit(stated: str) -> bool:
    """Return whether a text is a unit of a measured signal."""
    try:
        si_unit(stated)
    except KeyError:
        return False
    return True
