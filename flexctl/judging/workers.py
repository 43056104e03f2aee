"""Many independent jobs on the cores of this machine.

Each worker is a Python process of its own that is sent pickled jobs through a pipe. It imports flexctl and nothing of
the user's main program, so that `flexctl.sweep` needs no ``if __name__ == "__main__"``; it computes with one BLAS
thread, since several processes with several threads each slow one another down by a factor of ten and more. A worker
that dies (out of memory, killed) is replaced and its job given to another; a job that has ended three workers is given
up.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NamedTuple

from ..errors import AccuracyWarning, Caution, FlexctlError, caution, finished_first, require
from ..kernels.jit import as_worker, for_worker
from ..simulation.claims import NOT_WITHIN, gathered

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ATTEMPTS = 3
"""Workers that one job may end before it is given up."""

_START = "import sys; sys.path[:] = {path!r}; from flexctl.judging.workers import serve; serve()"


class WorkerLost(FlexctlError, RuntimeError):
    """The process that worked on a job ended, again and again."""


_FRAMES = "_frames_in_worker"
Cautions = tuple[tuple[type[Warning], str], ...]


class _Done(NamedTuple):
    """The answer of a worker: the result of a job, or the error it raised, and what flexctl warned of."""

    value: Any
    error: BaseException | None = None
    cautions: Cautions = ()


def cores() -> int:
    """Return the number of processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(
    job: Callable[[Any], Any], cases: Sequence[Any], workers: int | None = None, scripts: Sequence[str] = (),
    lost: Callable[[Any, WorkerLost], Any] | None = None, labels: Sequence[str] = (),
) -> Iterator[tuple[int, Any]]:
    """Yield (number of the case, job(case)) in the order in which they are done.

    Parameters
    ----------
    job : callable
        A function of a module.
    cases : sequence
        What it is called with.
    workers : int, optional
        Number of processes; by default one per core. With 1, or a single case, or cases that do not pickle, the work
        is done here.
    scripts : sequence of str
        Controller scripts whose classes the cases hold.
    lost : callable, optional
        Makes the result of a case that ended its process `ATTEMPTS` times; without it that error is raised.
    labels : sequence of str
        Names of the cases, for what is warned of in them.

    What flexctl warns of in a case is warned of here in the end, once for each text; errors of outputs for all cases.

    Raises
    ------
    WorkerLost
        See `lost`. What a job raises is raised here.
    """
    count = cores() if workers is None else workers
    require(count >= 1, f"workers = {count}: at least one process must work")
    crew = _crew(job, cases, scripts) if min(count, len(cases)) > 1 else None
    told: dict[str, tuple[str, type[Warning]]] = {}
    claimed: list[tuple[str, str]] = []
    try:
        answers = _here(job, cases) if crew is None else crew.work(min(count, len(cases)))
        for number, done in answers:
            _note(done.cautions, labels[number] if labels else "", told, claimed)
            if isinstance(done.error, WorkerLost) and lost is not None:
                yield number, lost(cases[number], done.error)
            elif done.error is not None:
                raise done.error
            else:
                yield number, done.value
    finally:
        if crew is not None:
            crew.stop()
        with finished_first():  # where warnings are errors, one tells all
            for text, category in told.values():
                caution(text, category)
            for text in gathered(claimed):
                caution(text, AccuracyWarning)


def _here(job: Callable[[Any], Any], cases: Sequence[Any]) -> Iterator[tuple[int, _Done]]:
    for number, case in enumerate(cases):
        cautions: list[tuple[type[Warning], str]] = []
        try:
            with _noted(cautions):
                done = _Done(job(case))
        except Exception as error:  # noqa: BLE001  (raised again by `run_all`)
            done = _Done(None, error)
        yield number, done._replace(cautions=tuple(cautions))


@contextlib.contextmanager
def _noted(cautions: list[tuple[type[Warning], str]]) -> Iterator[None]:
    """Note what flexctl warns of, each text once; other packages' warnings go on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            cautions += dict.fromkeys((w.category, str(w.message)) for w in caught if issubclass(w.category, Caution))
    for w in caught:
        if not issubclass(w.category, Caution):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def _note(
    cautions: Cautions, label: str, told: dict[str, tuple[str, type[Warning]]], claimed: list[tuple[str, str]]
) -> None:
    """Note for the end what a case was warned of, each text once whatever the case, and claims of errors."""
    for category, text in cautions:
        if label and text.startswith(NOT_WITHIN):
            claimed.append((label, text))
        elif text not in told:
            told[text] = f"{label}: {text}" if label else text, category


def _crew(job: Callable[[Any], Any], cases: Sequence[Any], scripts: Sequence[str]) -> _Crew | None:
    """Return the processes, or None for cases that cannot be sent to another process (a lambda in a law, say)."""
    try:
        return _Crew(job, cases, scripts)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


class _Crew:
    """The processes, with a thread each that feeds them."""

    def __init__(self, job: Callable[[Any], Any], cases: Sequence[Any], scripts: Sequence[str]) -> None:
        self.waiting: queue.SimpleQueue[tuple[int, bytes, int] | None] = queue.SimpleQueue()
        self.finished: queue.SimpleQueue[tuple[int, _Done]] = queue.SimpleQueue()
        # two pickles: the job may hold objects of classes that the scripts define
        self.greeting = pickle.dumps(tuple(scripts)) + pickle.dumps(job)
        for number, case in enumerate(cases):
            self.waiting.put((number, pickle.dumps(case), 0))
        self.processes: list[subprocess.Popen[bytes]] = []
        self.left, self.stopped, self.lock = len(cases), False, threading.Lock()

    def work(self, count: int) -> Iterator[tuple[int, _Done]]:
        """Yield what comes back until every case is done."""
        for _ in range(count):
            threading.Thread(target=self._feed, daemon=True).start()
        while self.left:
            self.left -= 1
            yield self.finished.get()

    def _feed(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        while (task := self.waiting.get()) is not None:
            number, case, attempts = task
            try:
                process = process or self._start()
                done = _asked(process, case)
            except (EOFError, OSError, pickle.UnpicklingError):
                if self.stopped:
                    return
                process = None
                if attempts + 1 < ATTEMPTS:
                    self.waiting.put((number, case, attempts + 1))
                    continue
                done = _Done(None, WorkerLost(f"case {number} ended its process {ATTEMPTS} times (out of memory?)"))
            self.finished.put((number, done))

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **dict.fromkeys(THREADS, "1"), **for_worker()}
        command = [sys.executable, "-c", _START.format(path=sys.path)]
        with self.lock:
            if self.stopped:
                raise EOFError
            process = subprocess.Popen(
                # a session of its own: Ctrl-C at the terminal reaches the parent alone, which ends the workers
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
            )
            self.processes.append(process)
        if process.stdin is not None:
            process.stdin.write(self.greeting)
        return process

    def stop(self) -> None:
        """End all processes, whatever they do."""
        with self.lock:
            self.stopped = True
        for process in self.processes:
            self.waiting.put(None)
            process.kill()
        for process in self.processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()


def _asked(process: subprocess.Popen[bytes], case: bytes) -> _Done:
    if process.stdin is None or process.stdout is None:
        raise EOFError
    process.stdin.write(case)
    process.stdin.flush()
    done: _Done = pickle.load(process.stdout)
    return done


def serve() -> None:
    """Answer jobs from standard input until it ends: what a worker process runs."""
    import signal

    from ..models import outside  # noqa: F401  (finds the modules of models from outside by their names)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the workers when the user interrupts
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a script prints must not get between the answers
    as_worker()
    with contextlib.suppress(EOFError, BrokenPipeError):
        load_scripts(pickle.load(jobs))
        job = pickle.load(jobs)
        while True:
            _answer(job, pickle.load(jobs), answers)


def load_scripts(paths: Sequence[str]) -> None:
    """Load controller scripts, so that objects of their classes unpickle."""
    if paths:
        from ..catalogue import load_controller  # a higher layer: the loader knows what a script holds

        for path in paths:
            load_controller(path)


def _answer(job: Callable[[Any], Any], case: Any, answers: IO[bytes]) -> None:
    cautions: list[tuple[type[Warning], str]] = []
    try:
        with _noted(cautions):
            value = job(case)
        text = pickle.dumps(_Done(value, None, tuple(cautions)))
    except Exception as error:  # noqa: BLE001  (whatever it is, the parent raises it)
        text = _packed(error, tuple(cautions))
    answers.write(text)
    answers.flush()


def frames_of(error: BaseException) -> list[tuple[str, int]]:
    """Return file and line of the calls in which an error was raised in another process; empty for one of this."""
    found: list[tuple[str, int]] = vars(error).get(_FRAMES, [])
    return found


def _packed(error: Exception, cautions: Cautions) -> bytes:
    """Return an error as a worker reports it; one that cannot travel becomes a text with its traceback."""
    try:
        vars(error)[_FRAMES] = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        text = pickle.dumps(_Done(None, error, cautions))
        pickle.loads(text)
    except Exception:  # noqa: BLE001  (an exception class of a user's script may fail in any way)
        text = pickle.dumps(_Done(None, RuntimeError("".join(traceback.format_exception(error))), cautions))
    return text
