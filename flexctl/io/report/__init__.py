"""Reports: a result as one page of HTML that opens anywhere, without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...abilities import provenance_of
from ...design.design import Design
from ...errors import DefinitionError, require
from ...frequency import FrequencyResponse
from ...judging.certify.certificate import Certificate
from ...judging.compare import Comparison
from ...judging.sweep.store import Table
from ...judging.validity import LinearValidity
from ...linear.modes import Modes
from ...simulation.response import Response
from ...support.kinds import AnyLaw, SystemGiven
from ...support.tabular import Tabular
from . import page
from .certificates import of_certificate
from .identified import is_identified, of_identified
from .plants import of_frequency, of_loop, of_modes
from .runs import of_comparison, of_runs
from .sweeps import of_sweep
from .validity import of_validity


def report(
    result: Any, path: str | Path, *, title: str = "", asked: str = "", design: AnyLaw = None,
    plant: SystemGiven = None, data: Any = None,
) -> Path:
    """Write a result as one page of HTML: verdict, sortable tables, charts to zoom, the arm in motion.

    Parameters
    ----------
    result : Response, mapping of Response, Certificate, Comparison, FrequencyResponse, Modes, LinearValidity, table of
        a sweep, or what `identify.parameters`, `modal` or `subspace` found
        Runs by name in a mapping are shown each by itself, and what they have in common over each other.
    path : path
        File to write, .html.
    title : str
        Above the page.
    asked : str
        The question, e.g. the command line.
    design : Design, optional
        The loop of the runs: its Nyquist plot, poles and margins are shown too.
    plant : Plant, optional
        The plant of the runs, whose lengths are needed to draw arms that have no nodes in the plane or in space; for
        modes the arm, which is then shown in motion; for a sweep the plant whose units its columns have.
    data : Record, MeasuredResponse or sequence of them, optional
        The data from which a model was identified, or with which to compare it.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994")
    >>> fx.report(arm.frequency_response(), "bode.html", title="the arm").name
    'bode.html'
    """
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise DefinitionError(f'a report is a page of HTML; "{target.name}" does not end with .html')
    require(design is None or isinstance(design, Design), f"design is a {type(design).__name__}; give an fx.Design")
    blocks = [page.text(asked, "quiet")] if asked else []
    blocks += of_identified(result, data) if is_identified(result) else _blocks(result, plant)
    if design is not None:
        blocks += of_loop(design)
    return page.write(target, title or _titled(result), blocks)


def _blocks(result: Any, plant: Any) -> list[page.Block]:
    if isinstance(result, Response):
        return of_runs({"": result}, plant)
    if isinstance(result, Certificate):
        return of_certificate(result)
    if isinstance(result, Comparison):
        return of_comparison(result)
    if isinstance(result, FrequencyResponse):
        return of_frequency(result)
    if isinstance(result, Modes):
        return of_modes(result, plant)
    if isinstance(result, Table):
        return of_sweep(result, plant)
    if isinstance(result, LinearValidity):
        return of_validity(result)
    if isinstance(result, Tabular):
        return [page.tabular("", result)]
    known = (
        "a run, runs by name, a certificate, a comparison, a frequency response, modes, how far a linear plant holds, "
        "the table of a sweep or what was identified"
    )
    if not isinstance(result, Mapping):
        raise DefinitionError(f"{type(result).__name__} cannot be reported; give {known}")
    require(bool(result), f"there is nothing to report; give {known}")
    require(all(isinstance(x, Response) for x in result.values()), f"not every value is a run; give {known}")
    return of_runs(result, plant)


def _titled(result: Any) -> str:
    about: Sequence[Any] = [result] if not isinstance(result, Mapping) else list(result.values())
    plant = provenance_of(about[0]).get("plant", "")
    if isinstance(result, Certificate):
        return f"{result.controller} on {result.plant}"
    return str(plant) or type(about[0]).__name__
