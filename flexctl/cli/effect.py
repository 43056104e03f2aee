"""Options that have no effect beside the others are refused: who gives one believes that it changes something."""

from __future__ import annotations

import click
from click.core import ParameterSource

from ..errors import require


def no_effect(*names: str, without: str) -> None:
    """Refuse these parameters of the command, by their names in Python, where the command line gives them.

    Parameters
    ----------
    *names : str
        Parameters that have no effect here.
    without : str
        Why, in words that follow "has no effect".
    """
    context = click.get_current_context()
    flags = {option.name: max(option.opts, key=len) for option in context.command.params}
    given = [flags[name] for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    verb, them = ("has", "it") if len(given) == 1 else ("have", "them")
    require(not given, f"{', '.join(given)} {verb} no effect {without}: leave {them} out")
