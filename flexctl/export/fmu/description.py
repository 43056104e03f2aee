"""modelDescription.xml of FMI 2.0: the variables, their units, what depends on what."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ...errors import DefinitionError
from .units import escaped, unit_definitions

_PART = r"(?:[A-Za-z_][A-Za-z0-9_]*(?:\[\d+(?:,\d+)*\])?)"
_STRUCTURED = re.compile(rf"{_PART}(?:\.{_PART})*$|der\({_PART}(?:\.{_PART})*\)$")


@dataclass(frozen=True)
class Variable:
    """A real variable.

    Attributes
    ----------
    name, unit, description : str
        As the importer shows them.
    causality : str
        "input", "output" or "local".
    variability : str
        "continuous" or "discrete".
    start : float or None
        Start value; None where it is computed.
    nominal : float or None
        Size that it usually has, in its unit.
    bounds : tuple of float
        Least and largest value; infinite where there is none.
    derivative_of : int or None
        Of a rate: index of its state among the variables, from 0.
    depends : tuple of int, or None
        Of an output or rate: indices of the variables that it depends on, from 0; None for no statement.
    """

    name: str
    causality: str
    unit: str = ""
    description: str = ""
    variability: str = "continuous"
    start: float | None = None
    nominal: float | None = None
    bounds: tuple[float, float] = (-math.inf, math.inf)
    derivative_of: int | None = None
    depends: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Description:
    """Contents of modelDescription.xml; value references are the places of the variables."""

    name: str
    text: str
    variables: Sequence[Variable]
    sources: Sequence[str]
    step: float
    stop: float
    exchange: bool
    variable_step: bool
    directional: bool
    tolerance: float = 1e-6
    version: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)

    def xml(self, guid: str, date: Mapping[str, str] | None = None) -> str:
        """Return the file; `date` is an attribute that may say when it was made."""
        plain = all(_STRUCTURED.match(v.name) for v in self.variables)
        head = {
            "fmiVersion": "2.0", "modelName": self.name, "guid": guid, "description": self.text,
            "author": "flexctl", "version": "1.0", "generationTool": f"flexctl {self.version}",
            **(date or {}), "variableNamingConvention": "structured" if plain else "flat",
            "numberOfEventIndicators": "0",
        }
        return "\n".join([
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<fmiModelDescription {_attributes(head)}>",
            *(self._kind("ModelExchange") if self.exchange else ()),
            *self._kind("CoSimulation"),
            *self._units(),
            "  <LogCategories>",
            '    <Category name="logStatusWarning" description="what the user should know"/>',
            '    <Category name="logStatusError" description="why a call failed"/>',
            "  </LogCategories>",
            f'  <DefaultExperiment startTime="0" stopTime="{self.stop!r}" tolerance="{self.tolerance!r}" '
            f'stepSize="{self.step!r}"/>',
            "  <ModelVariables>",
            *(_variable(at, one) for at, one in enumerate(self.variables)),
            "  </ModelVariables>",
            *self._structure(),
            "</fmiModelDescription>",
            "",
        ])

    def _kind(self, kind: str) -> list[str]:
        words = {"modelIdentifier": self.name, "canNotUseMemoryManagementFunctions": "true"}
        words |= dict.fromkeys(("canGetAndSetFMUstate", "canSerializeFMUstate"), "true")
        words["providesDirectionalDerivative"] = _truth(self.directional)
        if kind == "CoSimulation":
            words["canHandleVariableCommunicationStepSize"] = _truth(self.variable_step)
        files = [f'      <File name="{escaped(name)}"/>' for name in self.sources]
        return [f"  <{kind} {_attributes(words)}>", "    <SourceFiles>", *files, "    </SourceFiles>", f"  </{kind}>"]

    def _units(self) -> list[str]:
        lines = unit_definitions(v.unit for v in self.variables)
        return ["  <UnitDefinitions>", *lines, "  </UnitDefinitions>"] if lines else []

    def _structure(self) -> list[str]:
        outputs = [i for i, v in enumerate(self.variables) if v.causality == "output"]
        rates = [i for i, v in enumerate(self.variables) if v.derivative_of is not None]
        lines = ["  <ModelStructure>"]
        for word, group in (("Outputs", outputs), ("Derivatives", rates)):
            if group:
                unknowns = [_unknown(i, self.variables[i].depends) for i in group]
                lines += [f"    <{word}>", *unknowns, f"    </{word}>"]
        return [*lines, *self._initial(outputs, rates), "  </ModelStructure>"]

    def _initial(self, outputs: Sequence[int], rates: Sequence[int]) -> list[str]:
        """Return what is computed at the start, by what may be set there: a state that is computed stands for those."""
        computed = {
            i: self.variables[i].depends or () for i in (self.variables[rate].derivative_of for rate in rates)
            if i is not None and self.variables[i].start is None
        }
        unknowns = []
        for i in sorted({*outputs, *rates, *computed}):
            given = self.variables[i].depends
            known = None if given is None else tuple(k for one in given for k in computed.get(one, (one,)))
            unknowns.append(_unknown(i, known))
        return ["    <InitialUnknowns>", *unknowns, "    </InitialUnknowns>"] if unknowns else []


def dated() -> dict[str, str]:
    """Return the date of SOURCE_DATE_EPOCH; without it none is written, so that two exports are the same bytes."""
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if not text:
        return {}
    try:
        when = datetime.fromtimestamp(int(text), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise DefinitionError(f'SOURCE_DATE_EPOCH = "{text}" is not a number of seconds since 1970') from error
    return {"generationDateAndTime": when.strftime("%Y-%m-%dT%H:%M:%SZ")}


def distinct(groups: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[list[str]], list[str]]:
    """Return the names of groups of variables, each different from all before it, and what was renamed.

    Parameters
    ----------
    groups : iterable of (str, sequence of str)
        The word that is put behind a name of that group when an earlier group has it, and the names.

    Raises
    ------
    DefinitionError
        When one group has a name twice.
    """
    taken: set[str] = set()
    found: list[list[str]] = []
    notes = []
    for word, names in groups:
        for name in names:
            if not name.strip():
                raise DefinitionError(f"a variable of the {word}s has no name; give every signal one")
            if names.count(name) > 1:
                raise DefinitionError(f'two {word}s are called "{name}"; give them different names')
        new = []
        for name in names:
            chosen, number = name, 1
            while chosen in taken or (chosen != name and chosen in names):
                chosen, number = f"{name}_{word}{number if number > 1 else ''}", number + 1
            if chosen != name:
                notes.append(f'the {word} "{name}" is called "{chosen}": another variable has its name')
            new.append(chosen)
            taken.add(chosen)
        found.append(new)
    return found, notes


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _attributes(words: Mapping[str, str]) -> str:
    return " ".join(f'{key}="{escaped(value)}"' for key, value in words.items())


def _variable(at: int, one: Variable) -> str:
    words = {"name": one.name, "valueReference": str(at), "causality": one.causality, "variability": one.variability}
    if one.causality != "input":
        words["initial"] = "calculated" if one.start is None else "exact"
    words["description"] = one.description
    real = {} if one.start is None else {"start": repr(float(one.start))}
    if one.unit:
        real["unit"] = one.unit
    for key, bound in zip(("min", "max"), one.bounds, strict=True):
        if math.isfinite(bound):
            real[key] = repr(float(bound))
    if one.nominal is not None:
        real["nominal"] = repr(float(one.nominal))
    if one.derivative_of is not None:
        real["derivative"] = str(one.derivative_of + 1)
    inner = f"<Real {_attributes(real)}/>" if real else "<Real/>"
    return f"    <ScalarVariable {_attributes(words)}>{inner}</ScalarVariable>"


def _unknown(at: int, depends: tuple[int, ...] | None) -> str:
    if depends is None:
        return f'      <Unknown index="{at + 1}"/>'
    listed = " ".join(str(i + 1) for i in depends)
    kinds = " ".join(["constant"] * len(depends))
    kind = f' dependenciesKind="{kinds}"' if depends else ""
    return f'      <Unknown index="{at + 1}" dependencies="{listed}"{kind}/>'
