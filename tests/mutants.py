"""Whether the tests notice wrong physics and wrong control laws: `make mutants`.

Each mutation of `mutations.py` is made in a copy of the checkout, and the tests named with it run on that copy: they
should fail ("killed"). A mutation that survives means a missing test, or one without effect, explained in CONTRIBUTING.

    python tests/mutants.py [-j 2] [-k TEXT] [--time-limit 600]

Exit status 1 when fewer than 58 of 60 are killed, 2 when a mutation cannot be made (its text is not found exactly once,
or what it gives is not Python) or when the tests named fail without any mutation.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import count
from pathlib import Path
from typing import NamedTuple

from mutations import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(".*", "out", "build", "dist", "notebooks", "*.egg-info")
SPARED = 2
"""So many mutations of the whole table may survive."""
FAILED, PASSED = 1, 0  # what pytest exits with


class Broken(Exception):
    """The table or the checkout is not as it should be: nothing can be said about the tests."""


class Change(NamedTuple):
    """A mutation and where it is made."""

    mutation: Mutation
    path: Path
    source: str

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.mutation.old, self.mutation.new))
        return f"{self.path.as_posix()}: {old}  ->  {new}"


class Outcome(NamedTuple):
    """What became of a mutation: killed, SURVIVED, or why neither can be said."""

    change: Change
    verdict: str
    seconds: float
    output: str


def located(mutations: Sequence[Mutation], root: Path) -> list[Change]:
    """Return where the mutations are made below root; files may move, so each is found by its text."""
    sources = {path.relative_to(root): path.read_text() for path in sorted((root / "flexctl").rglob("*.py"))}
    changes, wrong = [], []
    for mutation in mutations:
        found = [path for path, text in sources.items() for _ in range(text.count(mutation.old))]
        if len(found) != 1:
            places = ", ".join(map(str, found)) or "nowhere"
            wrong.append(f"found {len(found)} times instead of once ({places}): {mutation.old!r}")
            continue
        source = sources[found[0]].replace(mutation.old, mutation.new)
        try:
            ast.parse(source)
        except SyntaxError as error:
            wrong.append(f"not Python ({error.msg}): {mutation.new!r}")
        changes.append(Change(mutation, found[0], source))
    for name in sorted(_files(mutations)):
        places = [path.relative_to(root).as_posix() for path in (root / "tests").rglob(name)]
        if len(places) != 1:
            wrong.append(f"test {name}: found {len(places)} times instead of once ({', '.join(places) or 'nowhere'})")
    if wrong:
        raise Broken("the table in tests/mutations.py does not fit the code:\n  " + "\n  ".join(wrong))
    return changes


def _files(mutations: Sequence[Mutation]) -> set[str]:
    return {test.partition("::")[0] for mutation in mutations for test in mutation.tests}


def placed(test: str, root: Path) -> str:
    """Return a test with the folder in which its file is now: below tests/ each is found by its name."""
    name, separator, rest = test.partition("::")
    (path,) = (root / "tests").rglob(name)
    return f"{path.relative_to(root).as_posix()}{separator}{rest}"


def linked(base: Path, folder: Path) -> Path:
    """Return a copy of base that shares its files: an edit replaces a file, compiled code is kept per copy."""
    shutil.copytree(base, folder, copy_function=os.link)
    return folder


def outcome_of(folder: Path, tests: Sequence[str], limit: float, *options: str) -> tuple[int | None, str]:
    """Return pytest's exit status (None: time limit) and output of tests in a copy of the checkout."""
    known = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options]
    try:
        done = subprocess.run(
            [*command, *(placed(test, folder) for test in tests)], cwd=folder, timeout=limit, capture_output=True,
            text=True, env={**known, **one, "PYTHONPATH": str(folder)}, check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"no end after {limit:g} s"
    return done.returncode, done.stdout + done.stderr


def tried(change: Change, base: Path, folder: Path, limit: float) -> Outcome:
    """Return whether the tests named with a mutation notice it."""
    begin = time.monotonic()
    path = linked(base, folder) / change.path
    path.unlink()
    path.write_text(change.source)
    status, output = outcome_of(folder, change.mutation.tests, limit)
    shutil.rmtree(folder)
    verdict = {FAILED: "killed", PASSED: "SURVIVED", None: "NO END"}.get(status, f"ERROR {status}")
    return Outcome(change, verdict, time.monotonic() - begin, output)


def prepared(folder: Path, mutations: Sequence[Mutation], jobs: int, limit: float) -> Path:
    """Return a copy of the checkout in which the named tests pass, so that its code is compiled."""
    base = Path(shutil.copytree(ROOT, folder / "base", ignore=NOT_COPIED))
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    print(f"{len(tests)} tests and files without a mutation ...", flush=True)
    status, output = outcome_of(base, tests, limit * len(mutations), "-n", str(jobs), "--dist", "worksteal")
    if status != PASSED:
        raise Broken(f"the tests fail without any mutation:\n{output[-3000:]}")
    return base


def outcomes(changes: Sequence[Change], base: Path, folder: Path, jobs: int, limit: float) -> Iterator[Outcome]:
    """Yield what becomes of each mutation, as they end."""
    number = count(1)
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(tried, change, base, folder / f"mutant{next(number)}", limit) for change in changes]
        for done in as_completed(waiting):
            yield done.result()


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-j", type=int, default=2, metavar="N", help="mutations tried at the same time (default 2)")
    parser.add_argument("-k", default="", metavar="TEXT", help="only those with TEXT in their file or code")
    parser.add_argument("--time-limit", type=float, default=600.0, metavar="S", help="for one mutation (default 600 s)")
    parser.add_argument("-v", action="store_true", help="what pytest says of each")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutations, say what became of each, and return the exit status."""
    asked, begin = options(arguments), time.monotonic()
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="flexctl-mutants-") as temporary:
        try:
            changes = [change for change in located(MUTATIONS, ROOT) if asked.k in str(change)]
            if not changes:
                raise Broken(f'no mutation has "{asked.k}" in its file or code')
            base = prepared(Path(temporary), [change.mutation for change in changes], asked.j, asked.time_limit)
        except Broken as error:
            print(error, file=sys.stderr)
            return 2
        for outcome in outcomes(changes, base, Path(temporary), asked.j, asked.time_limit):
            found.append(outcome)
            place = f"{len(found):3}/{len(changes)}"
            print(f"{place} {outcome.verdict:8} {outcome.seconds:5.1f} s  {outcome.change}", flush=True)
            if asked.v or outcome.verdict.startswith("ERROR"):
                print(outcome.output[-2000:], flush=True)
    killed = sum(outcome.verdict == "killed" for outcome in found)
    print(f"\n{killed} of {len(found)} mutations killed in {time.monotonic() - begin:.0f} s")
    for outcome in found:
        if outcome.verdict != "killed":
            print(f"  {outcome.verdict}: {outcome.change}\n    tests: {' '.join(outcome.change.mutation.tests)}")
    return 0 if killed >= len(found) - (SPARED if len(found) == len(MUTATIONS) else 0) else 1


if __name__ == "__main__":
    sys.exit(main())
