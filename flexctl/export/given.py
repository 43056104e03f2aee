"""Common parts of the writers of linear plants: the first-order form asked for, names that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import DefinitionError, require
from ..linear import FirstOrder, SecondOrder
from ..model import Signal


def first_order_of(found: SecondOrder | FirstOrder, modes: Any) -> FirstOrder:
    """Return the first-order form of a linear plant with its rigid and so many flexible modes, all by default."""
    if isinstance(found, SecondOrder):
        return found.first_order("modal", None if modes is None else int(modes))
    require(modes is None, "the plant is of first order already: modes has no effect on it, leave it out")
    return found


def check_twins(word: str, signals: Sequence[Signal]) -> None:
    """Refuse signals of one group without a name, or two with the same."""
    names = [signal.name for signal in signals]
    for name in names:
        if not name.strip():
            raise DefinitionError(f"a variable of the {word}s has no name; give every signal one")
        if names.count(name) > 1:
            raise DefinitionError(f'two {word}s are called "{name}"; give them different names')


def distinct_names(plant: FirstOrder) -> tuple[FirstOrder, list[str]]:
    """Return a plant after its inputs, outputs and states were found to have names of their own, group by group.

    States that come twice, as in a loop of two alike systems, are numbered; that is noted.
    """
    check_twins("input", plant.inputs)
    check_twins("output", plant.outputs)
    taken: set[str] = set()
    states, notes = [], []
    for state in plant.states:
        name, number = state.name, 1
        while name in taken or not name.strip():
            number += 1
            name = f"{state.name or 'x'}_{number}"
        if name != state.name:
            notes.append(f'a second state "{state.name}" is called "{name}"')
        taken.add(name)
        states.append(replace(state, name=name))
    return replace(plant, states=tuple(states)), notes
