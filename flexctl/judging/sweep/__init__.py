"""Parameter sweeps: a controller in closed loop over many plants or many settings of its own.

    from flexctl.sweep import Span, sweep
    table = sweep("tokhi_azad_lqg", over={"payload.mass": [0.0, 0.01, 0.02], "controller.LIMIT": [0.2, 0.3]})
    table = sweep("tokhi_azad_lqg", over={"payload.mass": Span(0.0, 0.02)}, method="lhs", count=50, path="sweep.csv")

`flexctl.judging.sweep.case` says how parameters are called, `.samples` how they are sampled, `.store` what is written,
`.journal` how a sweep that was interrupted goes on, `.cluster` how a Dask cluster is used.
"""

from __future__ import annotations

import contextlib
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Caution, DefinitionError, require
from ...machine.given import as_plant
from ..workers import WorkerLost, run_all
from .case import Case, Study, check, digest_of, perform
from .cluster import run_on_cluster
from .journal import Journal
from .samples import Span, as_values, drawn
from .store import Table, checked_path, tabulated

if TYPE_CHECKING:
    from ...catalogue import Plant

__all__ = ["Span", "Table", "sweep"]


def sweep(
    controller: str | Path,
    plant: Plant | str | Path | None = None,
    *,
    over: Mapping[str, Any] | None = None,
    draws: int = 0,
    method: str = "grid",
    count: int | None = None,
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    scenarios: Sequence[str] = (),
    redesign: bool = False,
    linear: bool = False,
    path: str | Path | None = None,
    resume: bool = True,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> Table:
    """Run a controller through its scenarios with other values of plant or controller parameters.

    Parameters
    ----------
    controller : str or Path
        A controller of the catalogue or the path of a script.
    plant : Plant, str or Path, optional
        By default what the script names in PLANT.
    over : mapping
        Name of a parameter -> list of values or `Span`; see `flexctl.judging.sweep.case` for the names.
    draws : int
        Number of plants that are drawn from [uncertainty] of the plant file, each with every point of `over`.
    method : str
        "grid" (all combinations), "random" or "lhs" (Latin hypercube), the latter two with `count` points.
    count, seed : int
        Number of points; seed of the random numbers.
    overrides : mapping
        Overrides of the plant for all cases and for the design.
    scenarios : sequence of str
        Names of the scenarios; all by default.
    redesign : bool
        Design the controller again on the plant of every case; by default it is designed once, on the plant as given.
    linear : bool
        Add stability and margins of the linear loop.
    path : path, optional
        Table to write: .csv, .parquet or .nc. Only with it can a sweep be resumed.
    resume : bool
        Continue a sweep that was interrupted; otherwise start afresh.
    workers : int, optional
        Processes on this machine; by default one per core.
    scheduler : str, optional
        Address of a Dask scheduler whose workers run the cases instead.
    progress : callable, optional
        Called with the numbers of cases done, failed, and in all.

    Returns
    -------
    Table
        A row for every case and scenario; failed ones with their reason.

    Raises
    ------
    DefinitionError
        Before the first case: when a name is wrong or no case can be run; while another process writes the same table.

    Examples
    --------
    >>> table = fx.sweep("tokhi_azad_pd", over={"payload.mass": [0.0, 0.02]}, scenarios=["5 deg, 0 g"], workers=1)
    >>> table["status"]
    ['ok', 'ok']
    """
    target = None if path is None else checked_path(path)
    over = over or {}
    nothing = "there is nothing to sweep over; name at least one parameter, or draw plants (draws)"
    require(bool(over) or draws > 0, nothing)
    named = {name: as_values(name, given) for name, given in over.items()}
    points: list[dict[str, Any]] = drawn(named, method, count, seed) if named else [{}]
    points = _with_draws(points, controller, plant, overrides, draws, seed)
    study = _study(controller, plant, overrides, scenarios, redesign, linear, points)
    cases = [Case(study, tuple(point.items())) for point in points]
    about = {"study": asdict(study), "points": points}
    journal = Journal(target, about) if target is not None else None
    if journal is not None:
        journal.open(resume)
    done: dict[int, list[dict[str, Any]]] = {} if journal is None else journal.done
    finished = False
    try:
        _report(progress, done, len(cases))
        for number, rows in _performed(cases, [n for n in range(len(cases)) if n not in done], workers, scheduler):
            if journal is None:
                done[number] = rows
            else:
                journal.add(number, rows)
            _report(progress, done, len(cases))
        table = tabulated(list(points[0]), ((n, points[n], rows) for n, rows in done.items()))
        if target is not None:
            table.save(target)
        finished = True
    finally:
        if journal is not None:
            journal.close(finished)
    return table


def _with_draws(
    points: list[dict[str, Any]], controller: str | Path, plant: Plant | str | Path | None,
    overrides: Mapping[str, Any] | None, draws: int, seed: int,
) -> list[dict[str, Any]]:
    """Return every point with every plant that is drawn; what a point says of the plant stays."""
    if not draws:
        return points
    from ...catalogue import load_controller, own_plant

    where = plant if plant is not None else own_plant(load_controller(controller))
    require(where is not None, f"{controller} names no plant (PLANT): give one")
    known = as_plant(where).with_(overrides or {})
    if known.uncertainty is None:
        remedy = "add [uncertainty], or identify it (flexctl identify)"
        raise DefinitionError(f"{known.name} does not state what is uncertain about it: {remedy}")
    return [{**values, **point} for point in points for values in known.uncertainty.draw(known, draws, seed)]


def _study(
    controller: str | Path, plant: Plant | str | Path | None, overrides: Mapping[str, Any] | None,
    scenarios: Sequence[str], redesign: bool, linear: bool, points: Sequence[Mapping[str, Any]],
) -> Study:
    from ...catalogue import load_controller, load_plant, own_plant
    from .. import scenario as judged

    script = load_controller(controller)
    where = plant if plant is not None else own_plant(script)
    require(where is not None, f"{controller} names no plant (PLANT): give one")
    if not isinstance(where, str | Path):  # every case loads the plant from its file
        known = as_plant(where)
        where, overrides = known.place, {**known.overrides, **(overrides or {})}
    # what is wrong with the whole study is said now, not in every row
    nominal = load_plant(str(where), overrides=overrides)
    with judged.written_for(script, nominal):
        chosen = judged.scenarios(script, nominal, scenarios)
        check(script, nominal, chosen, points)
    judged.say_what_scenarios_set(nominal, chosen, set(overrides or {}) - set(points[0]))
    _say_what_is_replaced(chosen, points)
    names = tuple(str(Path(x).resolve()) if Path(x).suffix else str(x) for x in (controller, str(where)))
    digest = digest_of(names[0], names[1], overrides or {})
    return Study(names[0], names[1], tuple((overrides or {}).items()), tuple(scenarios), redesign, linear, digest)


def _say_what_is_replaced(chosen: Sequence[Any], points: Sequence[Mapping[str, Any]]) -> None:
    """Warn where scenarios differ in nothing but what every case sets anew: their rows are the same."""
    swept = set(points[0])
    by_rest: dict[bytes, list[str]] = {}
    for item in chosen:
        rest = {key: value for key, value in item.overrides.items() if key not in swept}
        with contextlib.suppress(Exception):  # what cannot be pickled is not compared
            by_rest.setdefault(pickle.dumps(replace(item, name="", overrides=rest)), []).append(item.name)
    again = [f'"{name}"' for names in by_rest.values() for name in names[1:]]
    if again:
        keys = ", ".join(sorted(swept & {key for item in chosen for key in item.overrides}))
        warnings.warn(
            f"{keys}: what is swept replaces what scenarios set, and these repeat the rows of others whatever their "
            f"names say: {', '.join(again)}; choose scenarios (only)", Caution, stacklevel=4,
        )


def _performed(
    cases: Sequence[Case], waiting: Sequence[int], workers: int | None, scheduler: str | None
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield (number, rows) of the waiting cases as they are done."""
    chosen = [cases[n] for n in waiting]
    if not chosen:
        return
    if scheduler is not None:
        results = run_on_cluster(perform, chosen, scheduler, _lost)
    else:
        results = run_all(perform, chosen, workers, lost=_lost, labels=[f"case {n}" for n in waiting])
    for k, rows in results:
        yield waiting[k], rows


def _lost(case: Case, error: WorkerLost) -> list[dict[str, Any]]:
    names = case.study.scenarios or ("",)
    return [{"scenario": name, "status": "failed", "reason": str(error), "wall_s": 0.0} for name in names]


def _report(progress: Callable[[int, int, int], None] | None, done: Mapping[int, Sequence[Any]], total: int) -> None:
    if progress is not None:
        failed = sum(any(row["status"] != "ok" for row in rows) for rows in done.values())
        progress(len(done), failed, total)
