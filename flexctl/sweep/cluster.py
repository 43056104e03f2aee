"""A sweep on an existing Dask cluster: `dask scheduler` and `dask worker` started by whoever runs the cluster.

Every case is one task under a key of its own. Dask gives the cases of a worker that is lost to another one; results are
taken as they come and written at once, so that nothing that is done is lost with the cluster either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import ConvergenceError, NotAvailable

PATIENCE = 10.0
"""Seconds to wait for the scheduler."""


def run_on_cluster(job: Callable[[Any], Any], cases: Sequence[Any], address: str) -> Iterator[tuple[int, Any]]:
    """Yield (number, job(case)) in the order in which they are done.

    Parameters
    ----------
    job : callable
        A function of a module that the workers have.
    cases : sequence
        What it is called with.
    address : str
        Address of the scheduler, e.g. "tcp://10.0.0.5:8786".
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise NotAvailable("--scheduler needs dask.distributed: pip install flexctl[dask]") from error
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        message = f"no Dask scheduler answers at {address}: {error}; start one with: dask scheduler"
        raise NotAvailable(message) from error
    with client:
        futures = {client.submit(job, case, pure=False, retries=2): n for n, case in enumerate(cases)}
        for future in as_completed(list(futures), loop=client.loop):
            number = futures.pop(future)
            try:
                yield number, future.result()
            except Exception as error:
                raise ConvergenceError(f"case {number} failed on the cluster: {error}") from error
            future.release()
