"""Linear systems as MATLAB text: every number with all its digits, so that Octave and MATLAB rebuild the same bits."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import require
from ...linear import FirstOrder
from ...model import FloatArray, Signal

NEEDS_SS = """\
    if exist('OCTAVE_VERSION', 'builtin') && isempty(which('ss'))
        try
            pkg('load', 'control');
        catch
        end
    end"""
"""Octave has `ss` in its control package."""

MADE = """\

function system = flexctl_made(name, A, B, C, D, dt, states, inputs, outputs, input_units, output_units)
% A named ss object; without the control toolbox a struct of the same fields.
    if isempty(which('ss'))
        system = struct('A', A, 'B', B, 'C', C, 'D', D, 'Ts', dt);
        system.StateName = states;
        system.InputName = inputs;
        system.OutputName = outputs;
        system.InputUnit = input_units;
        system.OutputUnit = output_units;
        system.Name = name;
        return
    end
    names = {'InputName', inputs, 'OutputName', outputs};
    if ~isempty(states)
        names = [{'StateName', states}, names];
    end
    if dt > 0
        system = ss(A, B, C, D, dt, names{:});
    else
        system = ss(A, B, C, D, names{:});
    end
    try  % Octave's systems have no units
        system.InputUnit = input_units;
        system.OutputUnit = output_units;
    catch
    end
    try
        system.Name = name;
    catch
    end
end
"""
"""The local function that makes a system; it comes last in a file."""


_WORDS = """
break case catch classdef continue else elseif end for function global if otherwise parfor persistent return spmd
switch try while endfunction endif endfor until do unwind_protect ss struct which exist pkg cell zeros
"""
_TAKEN = frozenset(_WORDS.split())
_LONGEST = 63


def check_function_name(name: str) -> None:
    """Refuse a name that MATLAB or Octave cannot give to a function, or that the function itself needs."""
    require(name not in _TAKEN, f'"{name}" is a word of MATLAB or Octave; give the export another name, name="..."')
    require(
        len(name) <= _LONGEST,
        f'"{name}" has {len(name)} letters, and MATLAB takes {_LONGEST}; give the export another name, name="..."',
    )
    require(name[0] != "_", f'"{name}" begins with "_", which MATLAB does not take; give another name, name="..."')


def quoted(text: str) -> str:
    """Return a text as MATLAB has it between single quotes; line ends and control characters become blanks."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return "'" + plain.replace("'", "''") + "'"


def comment(lines: Sequence[str]) -> str:
    """Return comment lines."""
    found = []
    for line in lines:
        plain = "".join(c if c.isprintable() else " " for c in line)
        found.append(f"% {plain}".rstrip())
    return "\n".join(found)


def matrix(values: FloatArray) -> str:
    """Return a matrix, one row a line; an empty one with its shape."""
    rows, columns = values.shape
    if not values.size:
        return f"zeros({rows}, {columns})"
    lines = ["        " + ", ".join(f"{x:.17g}" for x in row) for row in values]
    return "[\n" + "\n".join(lines) + "]"


def cells(texts: Sequence[str]) -> str:
    """Return a column of texts."""
    return "{" + "; ".join(quoted(text) for text in texts) + "}" if texts else "cell(0, 1)"


def system(variable: str, name: str, plant: FirstOrder) -> list[str]:
    """Return the lines that make a system under a name of a variable."""
    lines = [f"    {label} = {matrix(getattr(plant, label))};" for label in "ABCD"]
    groups = [cells([s.name for s in group]) for group in (plant.states, plant.inputs, plant.outputs)]
    units = [cells([_unit(s) for s in group]) for group in (plant.inputs, plant.outputs)]
    words = ", ...\n        ".join([*groups, *units])
    return [*lines, f"    {variable} = flexctl_made({quoted(name)}, A, B, C, D, {plant.dt!r}, ...\n        {words});"]


def _unit(signal: Signal) -> str:
    return signal.unit


def told(heading: str, signals: Sequence[Signal]) -> list[str]:
    """Return the lines of a comment on signals: name, unit, what it is."""
    if not signals:
        return [f"{heading}: none"]
    return [f"{heading}:", *(f"    {s.name} [{s.unit}]  {s.description}".rstrip() for s in signals)]
