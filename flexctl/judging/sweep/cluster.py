"""Cases on an existing Dask cluster: `dask scheduler` and `dask worker` started by whoever runs the cluster.

Every case is one task under a key of its own. Dask gives the cases of a worker that is lost to another one; a case that
has ended several workers is given up. Results are taken as they come and written at once, so that nothing that is done
is lost when the scheduler goes: the sweep or tuning ends with an error, and the same command continues it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import ConvergenceError, NotAvailable
from ..workers import WorkerLost

PATIENCE = 10.0
"""Seconds to wait for the scheduler."""


def run_on_cluster(
    job: Callable[[Any], Any], cases: Sequence[Any], address: str,
    lost: Callable[[Any, WorkerLost], Any] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield (number, job(case)) in the order in which they are done.

    Parameters
    ----------
    job : callable
        A function of a module that the workers have.
    cases : sequence
        What it is called with.
    address : str
        Address of the scheduler, e.g. "tcp://10.0.0.5:8786".
    lost : callable, optional
        Makes the result of a case that ended its workers again and again; without it that error is raised.

    Raises
    ------
    NotAvailable
        When no scheduler answers.
    ConvergenceError
        When the scheduler is lost on the way, or a case fails in a way of its own.
    """
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed
    except ImportError as error:
        raise NotAvailable("a scheduler needs dask.distributed: pip install flexctl[dask]") from error
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        message = f"no Dask scheduler answers at {address}: {error}; start one with: dask scheduler"
        raise NotAvailable(message) from error
    with _quiet(), client:
        futures = {client.submit(job, case, pure=False, retries=2): n for n, case in enumerate(cases)}
        for future in as_completed(list(futures), loop=client.loop):
            number = futures.pop(future)
            try:
                yield number, future.result()
            except CancelledError as error:
                remedy = "finished cases are kept if a file is written (-o, path): start a scheduler and this again"
                message = f"the Dask scheduler at {address} is lost, with {len(futures) + 1} cases to do; {remedy}"
                raise ConvergenceError(message) from error
            except KilledWorker as error:
                told = WorkerLost(f"the case ended its workers again and again (out of memory?): {error}")
                if lost is None:
                    raise told from error
                yield number, lost(cases[number], told)
            except Exception as error:
                raise ConvergenceError(f"a case failed on the cluster: {error}") from error
            future.release()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep back the tracebacks that distributed logs when a connection is lost: the error that is raised says it."""
    loggers = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict) if "distributed" in name]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
