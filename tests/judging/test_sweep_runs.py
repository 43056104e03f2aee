"""Sweeps as they run: resumed, journals, workers that die, the command, Dask."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from sweep_scripts import CONTROLLER, SLOW
from test_sweep import ROOT

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.judging.sweep import Span, cluster, sweep
from flexctl.judging.workers import WorkerLost, run_all


class TestResume:
    OVER = {"payload.mass": [0.0, 0.005, 0.01, 0.015, 0.02]}  # noqa: RUF012

    def interrupted(self, after: int) -> None:
        def stop(done: int, failed: int, total: int) -> None:
            if done >= after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sweep("pd.py", over=self.OVER, scenarios=["move"], path="out.csv", workers=1, progress=stop)

    def test_only_what_is_missing_is_computed(self, place: Path) -> None:
        whole = sweep("pd.py", over=self.OVER, scenarios=["move"], workers=1)
        self.interrupted(3)
        assert not Path("out.csv").exists()
        assert len(Path("out.csv.journal").read_text().splitlines()) == 4
        seen: list[int] = []
        Path("called").write_text("")
        table = sweep("pd.py", over=self.OVER, scenarios=["move"], path="out.csv", workers=1,
                      progress=lambda done, failed, total: seen.append(done))
        assert seen == [3, 4, 5]
        assert len(Path("called").read_text()) == 1 + 2, "once to check the study, once for each missing case"
        assert table["joint1_torque.rms"] == whole["joint1_torque.rms"]
        assert Path("out.csv").exists()
        assert not Path("out.csv.journal").exists()

    def test_a_line_that_was_cut_off_is_done_again(self, place: Path) -> None:
        self.interrupted(3)
        journal = Path("out.csv.journal")
        journal.write_bytes(journal.read_bytes()[:-20])
        seen: list[int] = []
        table = sweep("pd.py", over=self.OVER, scenarios=["move"], path="out.csv", workers=1,
                      progress=lambda done, failed, total: seen.append(done))
        assert seen[0] == 2
        assert len(table) == 5

    def test_another_sweep_is_not_continued(self, place: Path) -> None:
        self.interrupted(2)
        other = {"payload.mass": [0.0, 0.03]}
        with pytest.raises(fx.DefinitionError, match="belongs to another sweep"):
            sweep("pd.py", over=other, scenarios=["move"], path="out.csv", workers=1)
        assert len(sweep("pd.py", over=other, scenarios=["move"], path="out.csv", workers=1, resume=False)) == 2

    def test_a_changed_script_is_another_sweep(self, place: Path) -> None:
        self.interrupted(2)
        Path("pd.py").write_text(CONTROLLER.replace("0.05", "0.06"))
        with pytest.raises(fx.DefinitionError, match="belongs to another sweep"):
            sweep("pd.py", over=self.OVER, scenarios=["move"], path="out.csv", workers=1)


class TestJournal:
    OVER = TestResume.OVER
    interrupted = TestResume.interrupted

    def finished(self) -> tuple[list[int], fx.Table]:
        seen: list[int] = []
        table = sweep("pd.py", over=self.OVER, scenarios=["move"], path="out.csv", workers=1,
                      progress=lambda done, failed, total: seen.append(done))
        return seen, table

    def test_a_changed_digit_is_found_and_done_again(self, place: Path) -> None:
        whole = sweep("pd.py", over=self.OVER, scenarios=["move"], workers=1)
        self.interrupted(4)
        journal = Path("out.csv.journal")
        lines = journal.read_text().splitlines(keepends=True)
        at = lines[2].index("joint1_torque.rms") + len('joint1_torque.rms": 0.0')
        lines[2] = lines[2][:at] + ("1" if lines[2][at] != "1" else "2") + lines[2][at + 1 :]
        journal.write_text("".join(lines))
        with pytest.warns(UserWarning, match="1 of 4 lines are damaged; their cases are computed again"):
            seen, table = self.finished()
        assert seen == [3, 4, 5]
        assert table["joint1_torque.rms"] == whole["joint1_torque.rms"]

    def test_damage_of_any_kind_raises_only_our_own_errors(self, place: Path) -> None:
        """Bytes that are changed, lost or added anywhere: refused, or the same table as ever."""
        whole = sweep("pd.py", over=self.OVER, scenarios=["move"], workers=1)["joint1_torque.rms"]
        self.interrupted(3)
        journal, rng = Path("out.csv.journal"), np.random.default_rng(5)
        good, refused = journal.read_bytes(), 0
        for kind in range(30):
            bad, at = bytearray(good), int(rng.integers(len(good)))
            if kind % 3 == 0:
                bad[at] = int(rng.integers(256))
            elif kind % 3 == 1:
                del bad[at : at + int(rng.integers(1, 300))]
            else:
                bad[at:at] = rng.bytes(20)
            journal.write_bytes(bytes(bad))
            message = ""
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = self.finished()[1]["joint1_torque.rms"]
            except fx.DefinitionError as error:
                message = str(error)
            refused += bool(message)
            if message:
                assert "out.csv.journal" in message
                assert "start afresh" in message
            else:
                assert found == whole
            assert not Path("out.csv.lock").exists()
        assert 0 < refused < 30

    @pytest.mark.parametrize("line", ["[]", "3", '{"case": 1}', '{"case": 99, "rows": [], "check": 0}', "[" * 9999])
    def test_lines_of_another_making(self, place: Path, line: str) -> None:
        self.interrupted(2)
        with Path("out.csv.journal").open("a") as stream:
            stream.write(line + "\n")
        with pytest.warns(UserWarning, match="damaged"):
            assert len(self.finished()[1]) == 5

    def test_no_journal_at_all(self, place: Path) -> None:
        Path("out.csv.journal").write_bytes(b"\x00\xff\n")
        with pytest.raises(fx.DefinitionError, match=r"damaged or not a journal of a sweep; .*start afresh"):
            self.finished()
        Path("out.csv.journal").write_bytes(b"cut off in the first li")
        assert len(self.finished()[1]) == 5
        Path("out.csv.journal").mkdir()
        with pytest.raises(fx.DefinitionError, match=r"out\.csv\.journal"):
            self.finished()

    def test_every_line_is_on_the_disk_when_the_next_case_begins(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sizes: list[int] = []
        real = os.fsync

        def seen(handle: int) -> None:
            sizes.append(os.fstat(handle).st_size)
            real(handle)

        monkeypatch.setattr(os, "fsync", seen)
        self.interrupted(3)
        assert Path("out.csv.journal").stat().st_size in sizes
        journal = [size for size in sizes if size <= Path("out.csv.journal").stat().st_size]
        lines = np.cumsum([len(line) for line in Path("out.csv.journal").read_bytes().splitlines(keepends=True)])
        assert set(lines) <= set(journal)

    def test_a_full_disk_ends_the_sweep_and_keeps_what_is_there(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        count = iter(range(100))

        def full(handle: int) -> None:
            if next(count) == 4:
                raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(fx.WriteError, match=r"cannot write out\.csv\.journal: No space left"):
                self.finished()
        assert not Path("out.csv").exists()
        assert not Path("out.csv.lock").exists()
        seen, table = self.finished()
        assert seen[0] >= 2
        assert len(table) == 5

    def test_a_second_writer_is_refused_with_the_first_ones_host_and_process(self, place: Path) -> None:
        Path("slow.py").write_text(SLOW)
        words = [sys.executable, "-m", "flexctl", "sweep", "slow.py", "--over", "controller.limit=0.1..0.3/12",
                 "--only", "move", "--workers", "1", "-o", "out.csv", "--json"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        first = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while first.poll() is None and not Path("out.csv.journal").exists():
            time.sleep(0.02)
        told = rf"out\.csv is being written by process {first.pid} on {re.escape(socket.gethostname())}, since "
        for resume in (True, False):
            with pytest.raises(fx.DefinitionError, match=told):
                sweep("pd.py", over=self.OVER, path="out.csv", resume=resume, workers=1)
        assert len(json.loads(first.communicate()[0])["rows"]) == 12
        assert not Path("out.csv.lock").exists()

    def test_a_lock_that_a_killed_process_left_is_no_obstacle(self, place: Path) -> None:
        Path("out.csv.lock").write_text('{"process": 1, "host": "elsewhere", "since": "then"}')
        assert len(self.finished()[1]) == 5

    def test_where_the_file_system_knows_no_locks(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The process is looked for: one that lives, or may live elsewhere, keeps the lock."""
        from flexctl.judging.sweep import journal

        monkeypatch.setattr(journal, "fcntl", None)
        host = socket.gethostname()
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        for process, place_of_it, free in ((os.getpid(), host, False), (1, "elsewhere", False), (gone.pid, host, True)):
            Path("out.csv.lock").write_text(json.dumps({"process": process, "host": place_of_it, "since": "then"}))
            if free:
                assert len(self.finished()[1]) == 5
            else:
                with pytest.raises(fx.DefinitionError, match=f"process {process} on {place_of_it}, since then"):
                    self.finished()


def _last_breath(number: int) -> int:
    if number == 2:
        os._exit(9)
    return 10 * number


def _who(number: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def _careless(number: int) -> int:
    warnings.warn("strange" if number % 2 else f"number {number} is even", fx.AccuracyWarning, stacklevel=1)
    if number == 4:
        raise ValueError("four")
    return number


class TestWorkers:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_what_is_warned_of_in_a_process_is_warned_of_here_and_once(self, workers: int) -> None:
        names = ["zero", "one", "two", "three"]
        with pytest.warns(fx.AccuracyWarning) as caught:
            assert sorted(run_all(_careless, [0, 1, 2, 3], workers, labels=names)) == [(n, n) for n in range(4)]
        told = sorted(str(w.message) for w in caught)
        assert len(told) == 3
        assert told[1:] == ["two: number 2 is even", "zero: number 0 is even"]
        assert told[0] in ("one: strange", "three: strange")
        with pytest.raises(ValueError, match="four"), pytest.warns(fx.AccuracyWarning, match="4 is even"):
            list(run_all(_careless, [4, 4], workers))

    def test_results_carry_their_numbers(self) -> None:
        assert dict(run_all(abs, [-3, -2, -1], 2)) == {0: 3, 1: 2, 2: 1}
        assert list(run_all(abs, [], 2)) == []

    def test_they_are_processes_of_their_own(self) -> None:
        pids = {pid for _, pid in run_all(_who, list(range(8)), 2)}
        assert len(pids) == 2
        assert os.getpid() not in pids

    def test_what_a_job_raises_is_raised(self) -> None:
        with pytest.raises(ValueError, match="math domain"):
            list(run_all(math.sqrt, [1.0, -1.0], 2))

    def test_a_job_that_ends_its_process_is_given_up_and_the_others_are_done(self) -> None:
        with pytest.raises(WorkerLost, match="case 2"):
            list(run_all(_last_breath, list(range(5)), 2))
        done = dict(run_all(_last_breath, list(range(5)), 2, lost=lambda case, error: f"{case}: {error}"))
        assert {k: v for k, v in done.items() if k != 2} == {0: 0, 1: 10, 3: 30, 4: 40}
        assert done[2].startswith("2: case 2 ended its process 3 times")

    def test_what_cannot_be_sent_is_done_here(self) -> None:
        assert list(run_all(lambda x: x + 1, [1, 2, 3], 2)) == [(0, 2), (1, 3), (2, 4)]

    def test_two_processes_give_the_numbers_of_one(self, place: Path) -> None:
        over = {"payload.mass": [0.0, 0.01, 0.02]}
        one, two = (sweep("pd.py", over=over, workers=n) for n in (1, 2))
        drop = one.columns.index("wall_s")
        assert [row[:drop] + row[drop + 1 :] for row in one.rows] == [row[:drop] + row[drop + 1 :] for row in two.rows]


class TestCommand:
    def test_a_table_a_file_and_the_failures(self, place: Path) -> None:
        words = ["sweep", "pd.py", "--over", "payload.mass=0,10g,-1g", "--only", "move", "--workers", "1"]
        words += ["-o", "out.csv"]
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 1, result.stderr
        assert "3 runs, 1 failed" in result.stdout
        assert "failed, case 2:" in result.stdout
        assert len(Path("out.csv").read_text().splitlines()) == 4
        told = json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)
        assert (told["failed"], len(told["rows"])) == (1, 3)

    def test_what_no_case_can_be_run_with_is_refused_before_the_first(self, place: Path) -> None:
        for words, message in (
            ("payload.mas=0,0.01", 'did you mean "payload.mass"?'), ("payload.mass=-1g,-2g", "must be zero or more"),
            ("controller.LIMITS=1,2", "unknown parameter of pd.py"), ("controller.GAINS.angel=1", 'mean "angle"'),
            ("scenario.length=1,2", "unknown parameter of the scenario"), ("model.kind=ancff", 'did you mean "ancf"?'),
            ("scenario.duration=long", "long"), ("payload.mass=heavy", "is not a number"),
            ("scenario.method=marsh", 'mean "march"?'), ("scenario.method=march,marsh", 'mean "march"?'),
            ("model.kind=finite_difference,ancff", 'did you mean "ancf"?'), ("scenario.rtol=5", "rtol = 5"),
            ("damping.kind=modal,moda", 'did you mean "modal"?'), ("scenario.step=0,-1ms", "must be positive"),
        ):
            result = CliRunner().invoke(cli, ["sweep", "pd.py", "--over", words, "-o", "out.csv", "--workers", "1"])
            assert result.exit_code == 2, result.stdout
            assert message in " ".join(result.stderr.split())
            assert result.stdout == ""
            assert not list(Path().glob("out.csv*"))

    def test_a_word_that_only_some_cases_can_be_run_with_is_a_row(self, place: Path) -> None:
        """It exists, but not for this arm: central differences need a linear model."""
        over = {"model.kind": ["timoshenko_planar", "finite_difference"], "scenario.method": ["march"]}
        found = sweep("pd.py", over=over, scenarios=["long"], workers=1)
        assert found["status"] == ["failed", "ok"]
        assert 'method "march" needs a linear model' in found["reason"][0]

    def test_the_tolerance_of_the_runs(self, place: Path) -> None:
        over = {"scenario.rtol": [1e-2, 1e-5], "model.kind": ["timoshenko_planar"]}
        one, two = sweep("pd.py", over=over, scenarios=["long"], workers=1)["joint1_angle.max_error"]
        assert 0.0 < abs(one - two) < 0.02 * two

    def test_options_of_a_model_that_is_swept_too(self, place: Path) -> None:
        """The options belong to the other kind of model: alone they would be unknown."""
        over = {"model.kind": ["finite_segment"], "model.segments": [4, 6]}
        assert sweep("pd.py", over=over, scenarios=["long"], workers=1)["reason"] == 2 * [
            sweep("pd.py", over=over, scenarios=["long"], workers=1)["reason"][0]
        ]

    def test_equal_reasons_are_told_once(self, place: Path) -> None:
        words = ["sweep", "pd.py", "--over", "payload.mass=0,-1g,-2g,-3g", "--over", "link.1.length=1"]
        result = CliRunner().invoke(cli, [*words, "--workers", "1"])
        assert result.exit_code == 1
        told = [line for line in result.stdout.splitlines() if line.startswith("failed")]
        assert len(told) == 1
        assert told[0].startswith("failed, 3 cases (1, 2, 3), the first: ")
        assert result.stdout.count("must be zero or more") == 1

    def test_a_killed_sweep_goes_on_where_it_was(self, place: Path) -> None:
        """SIGKILL to the command while it works with two processes; the same command finishes the rest."""
        Path("slow.py").write_text(SLOW)
        words = [sys.executable, "-m", "flexctl", "sweep", "slow.py", "--over", "controller.limit=0.1..0.3/24",
                 "--only", "move", "--workers", "2", "-o", "out.csv", "--json"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = Path("out.csv.journal")
        while child.poll() is None and not (journal.exists() and journal.read_text().count("\n") > 4):
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        kept = journal.read_text().count("\n") - 1
        assert 3 < kept < 24
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        assert len(json.loads(done.stdout)["rows"]) == 24
        assert len(Path("out.csv").read_text().splitlines()) == 25


distributed_is_there = importlib.util.find_spec("distributed") is not None


def test_no_scheduler_answers(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    with pytest.raises(fx.NotAvailable, match="scheduler" if distributed_is_there else "pip install"):
        sweep("pd.py", over={"payload.mass": [0.0]}, scheduler="tcp://127.0.0.1:9")


class Cluster:
    """A real scheduler and two workers on this machine."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
                 "--no-dashboard", "--scheduler-file", "scheduler.json"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        Path("scheduler.json").unlink(missing_ok=True)
        self.scheduler = subprocess.Popen(start, env=environment, **quiet)
        self.workers: list[subprocess.Popen[bytes]] = []
        while not Path("scheduler.json").exists() or not Path("scheduler.json").read_text().strip().endswith("}"):
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads(Path("scheduler.json").read_text())["address"]
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "5"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, *options]
        self.workers += [subprocess.Popen(worker, env=environment, **quiet) for _ in range(2)]

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


needs_dask = pytest.mark.skipif(
    not distributed_is_there, reason="needs dask.distributed: pip install flexctl[dask]"
)


@pytest.mark.slow
@needs_dask
def test_a_dask_cluster_loses_a_worker_and_nothing_else(place: Path) -> None:
    """One worker is killed while it computes."""
    Path("slow.py").write_text(SLOW)
    with Cluster() as there:
        first, second = there.workers

        def kill_one(done: int, failed: int, total: int) -> None:
            if done == 6 and first.poll() is None:
                first.kill()

        over = {"controller.limit": Span(0.1, 0.3, 30)}
        table = sweep(
            "slow.py", over=over, scenarios=["move"], scheduler=there.address, path="out.csv", progress=kill_one
        )
        assert first.wait(timeout=5) == -signal.SIGKILL
        assert second.poll() is None
        assert table["case"] == list(range(30))
        assert table["status"] == ["ok"] * 30
        one = {"controller.limit": [table["controller.limit"][17]]}
        here = sweep("slow.py", over=one, scenarios=["move"], workers=1)
        assert here["joint1_torque.rms"] == [table["joint1_torque.rms"][17]]


@needs_dask
def test_a_dask_scheduler_that_is_killed_ends_the_sweep_and_another_one_goes_on(place: Path) -> None:
    Path("slow.py").write_text(SLOW)
    over = {"controller.limit": Span(0.1, 0.3, 16)}
    with Cluster() as there:

        def kill(done: int, failed: int, total: int) -> None:
            if done == 5:
                there.scheduler.kill()

        message = "scheduler at tcp.* is lost, with .* cases to do; finished cases are kept"
        with pytest.raises(fx.ConvergenceError, match=message):
            sweep("slow.py", over=over, scenarios=["move"], scheduler=there.address, path="out.csv", progress=kill)
    kept = Path("out.csv.journal").read_text().count("\n") - 1
    assert 5 <= kept < 16
    assert not Path("out.csv").exists()
    assert not Path("out.csv.lock").exists()
    seen: list[int] = []
    with Cluster() as there:
        table = sweep("slow.py", over=over, scenarios=["move"], scheduler=there.address, path="out.csv",
                      progress=lambda done, failed, total: seen.append(done))
    assert seen[0] == kept
    assert table["status"] == ["ok"] * 16


@needs_dask
def test_a_case_that_dask_gives_up_is_a_row(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask says KilledWorker for a case that ended its workers again and again."""
    import distributed

    class Future:
        def __init__(self, number: int) -> None:
            self.number = number

        def result(self) -> int:
            if self.number == 1:
                raise distributed.KilledWorker("case", SimpleNamespace(address="tcp://w"), 3)
            return 10 * self.number

        def release(self) -> None:
            pass

    class Client:
        loop = None

        def __init__(self, *words: object, **options: object) -> None:
            pass

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def submit(self, job: object, case: int, **options: object) -> Future:
            return Future(case)

    monkeypatch.setattr(distributed, "Client", Client)
    monkeypatch.setattr(distributed, "as_completed", lambda futures, loop: iter(futures))
    found = dict(cluster.run_on_cluster(abs, [0, 1, 2], "tcp://x", lambda case, error: f"{case}: {error}"))
    assert (found[0], found[2]) == (0, 20)
    assert found[1].startswith("1: the case ended its workers again and again")
    with pytest.raises(WorkerLost, match="again and again"):
        dict(cluster.run_on_cluster(abs, [0, 1, 2], "tcp://x"))
