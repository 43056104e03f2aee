"""What cannot be written: a full disk, a limit on files, no memory, a killed process, control characters in names."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from children import listening
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.errors import printable
from flexctl.support import memory
from flexctl.support.files import check_writable, write_atomically

ROOT = Path(__file__).resolve().parents[2]
ARM = "tokhi_azad_1994"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
posix = pytest.mark.skipif(os.name != "posix", reason="limits and signals of POSIX systems")

CONTROLLER = '''"""A PD for the tests."""
from flexctl import LinearLaw
from flexctl.judging.scenario import Scenario
from flexctl.motion.moves import quintic

PLANT = "tokhi_azad_1994"

def design(plant):
    gains = {"Dy": [[-0.4, -0.05]], "Dr": [[0.4, 0.05, 0.05]]}
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    return LinearLaw(1e-3, *names, **gains).limited(-0.3, 0.3)

def scenarios(plant):
    return [Scenario("move", quintic(0.0, 0.1, 0.2), 0.3, {"model.sections": 8})]
'''


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pd.py").write_text(CONTROLLER)
    return tmp_path


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run `flexctl` words in a shell that may redirect and limit."""
    command = line.replace("flexctl", f"'{sys.executable}' -m flexctl")
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=400, check=False, env=ENVIRONMENT
    )


def one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("flexctl:")]
    assert len(lines) == 1, done.stderr
    assert all(word in lines[0] for word in words), lines[0]


def left() -> list[str]:
    return sorted(p.name for p in Path().iterdir() if p.name not in ("pd.py", "__pycache__"))


@posix
class TestStdout:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
    @pytest.mark.parametrize("words", ["list", "list --json", f"show {ARM} --all", "--help", f"modes {ARM} --json"])
    def test_a_full_device(self, words: str) -> None:
        one_line(shell(f"flexctl {words} > /dev/full"), "cannot write the output", "No space left")

    def test_a_reader_that_has_gone(self) -> None:
        done = shell("flexctl list | head -1")
        assert done.stdout.strip() == "Plants"
        assert done.stderr == ""

    def test_closed(self) -> None:
        assert "Traceback" not in shell("flexctl list >&-").stderr


@posix
class TestFiles:
    @pytest.mark.parametrize("name", ["run.npz", "run.csv", "run.png", "run.svg"])
    def test_a_limit_on_the_size_of_files(self, name: str) -> None:
        """A block is 1024 bytes; the compiled code has been cached before the limit is set."""
        Path("warm.npz").touch()
        words = f"simulate {ARM} --torque bang-bang:0.1,0.3 --duration 20"
        assert shell(f"flexctl {words} -o warm.npz").returncode == 0
        one_line(shell(f"ulimit -f 8; flexctl {words} -o {name}"), f"cannot write {name}", "File too large")
        assert left() == ["warm.npz"]

    @pytest.mark.parametrize("words", [f"linearise {ARM} -o {name}" for name in ("a.npz", "a.mat", "a.json")])
    def test_of_plants_and_pictures(self, words: str) -> None:
        one_line(shell(f"ulimit -f 2; flexctl {words}"), "cannot write", "File too large")
        assert left() == []

    def test_an_old_file_stays_when_the_new_one_fails(self) -> None:
        Path("a.npz").write_text("old")
        with pytest.raises(fx.WriteError, match=r"cannot write a\.npz: No space left"):
            write_atomically("a.npz", lambda stream: _no_room())
        assert Path("a.npz").read_text() == "old"
        assert left() == ["a.npz"]

    def test_what_a_writer_makes_of_a_full_disk(self) -> None:
        """A writer of archives raises an error of its own where the file could not be written."""

        def writer(stream: object) -> None:
            raw = stream.raw  # type: ignore[attr-defined]
            os.close(raw.fileno())  # every write fails from now on
            try:
                raw.write(b"x")
            except OSError:
                raise ValueError("cannot close the archive") from None

        with pytest.raises(fx.WriteError, match=r"cannot write a\.npz: Bad file descriptor"):
            write_atomically("a.npz", writer)
        assert left() == []

    def test_a_writers_own_mistake_is_not_blamed_on_the_disk(self) -> None:
        with pytest.raises(ZeroDivisionError):
            write_atomically("a.npz", lambda stream: 1 / 0)
        assert left() == []

    def test_places_are_tried_before_anything_is_computed(self) -> None:
        Path("is.png").mkdir()
        Path("taken").touch()
        long = "n" * 300
        for target in ("is.png", f"{long}.png", "/proc/x.png"):
            with pytest.raises(fx.DefinitionError):
                check_writable(target)
        for words in (f"run pd.py -o {long}/out", "run pd.py -o taken/out", "run pd.py -o is.png",
                      f"run pd.py -o {long}.png",
                      f"certify pd.py -o {long}.json", f"certify pd.py -o {long}", f"compare pd.py -o {long}.png",
                      f"sweep pd.py --over payload.mass=0 -o {long}.csv", f"demo -o {long}",
                      "sweep pd.py --over payload.mass=0 -o /proc/x.csv"):
            result = CliRunner().invoke(cli, words.split())
            assert result.exit_code == 2, (words, result.stderr)
            assert "Traceback" not in result.stderr
            assert "designing" not in result.stderr
        assert left() == ["is.png", "taken"]

    def test_a_folder_is_tried_and_not_left(self) -> None:
        result = CliRunner().invoke(cli, ["run", "no_such_law", "-o", "new/out"])
        assert result.exit_code == 2
        assert left() == []


def _no_room() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class TestMemory:
    def test_a_record_that_does_not_fit_is_refused_before_it_is_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memory, "available", lambda: 1e6)
        plant, pulse = fx.load_plant(ARM), {"joint1_torque": fx.bang_bang(0.1, 0.3)}
        with pytest.raises(fx.OutOfMemory, match=r"record of 20 s in steps of 0\.001 s takes .* MB .* longer step"):
            fx.simulate(plant, inputs=pulse, duration=20.0, step=1e-3)
        assert fx.simulate(plant, inputs=pulse, duration=0.7, step=1e-3).t.size == 701

    def test_what_is_found_out_later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(fx.OutOfMemory, match="which there is not; shorter"), memory.room_for(1.0, "it", "shorter"):
            raise MemoryError
        assert memory.available() > 1e6

    @posix
    def test_a_limit_of_the_shell(self) -> None:
        """5e7 steps are 7 GB and more."""
        words = f"flexctl simulate {ARM} --torque bang-bang:0.1,0.3 --duration 50000s --step 1ms"
        done = shell(f"ulimit -v 4000000; {words} -o run.npz")
        one_line(done, "the record of 50000 s", "GB", "use a longer step")
        assert left() == []


@posix
class TestKilledWhileWriting:
    """The process stands still when the file is whole but has not yet taken its name."""

    PATCH = (
        "import os, pathlib, sys, time\n"
        "real = os.fsync\n"
        "def slow(handle):\n"
        "    pathlib.Path('writing').touch(); time.sleep(200); real(handle)\n"
        "os.fsync = slow\n"
        "from flexctl.__main__ import main\n"
        "sys.argv = ['flexctl', *sys.argv[1:]]\n"
        "main()\n"
    )

    def killed(self, words: list[str], how: signal.Signals) -> tuple[int, str]:
        child = subprocess.Popen(
            [sys.executable, "-c", self.PATCH, *words], env=ENVIRONMENT, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, preexec_fn=listening,
        )
        until = time.monotonic() + 300
        while not Path("writing").exists() and child.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        child.send_signal(how)
        stderr = child.communicate(timeout=150)[1]
        Path("writing").unlink()
        return child.returncode, stderr

    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    @pytest.mark.parametrize(
        "words",
        ["run pd.py", f"simulate {ARM} --torque step:0.1 --duration 0.1",
         "certify pd.py --workers 1 --frequency 0,0 --payload 0,0"],
        ids=["run", "simulate", "certify"],
    )
    def test_the_old_file_is_still_whole(self, words: str, how: signal.Signals) -> None:
        Path("x.json").write_text("old")
        code, stderr = self.killed([*words.split(), "-o", "x.json"], how)
        assert Path("x.json").read_text() == "old"
        if how == signal.SIGKILL:  # nobody could clean up; the name of what is left begins with a dot
            assert code == -signal.SIGKILL
            assert [name for name in left() if not name.startswith(".")] == ["x.json"]
        else:
            assert code == 130
            assert "interrupted" in stderr
            assert left() == ["x.json"]


class TestControlCharacters:
    EVIL = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202etxt"

    def test_they_are_spelled_out(self) -> None:
        assert printable(self.EVIL) == r"\x1b]0;owned\x07\x1b[31mred\x9b2J\u202etxt"
        assert printable("a\tb\nÅ → µ\u00a0€") == "a\tb\nÅ → µ\u00a0€"

    def evil_plant(self) -> None:
        text = (ROOT / "plants" / f"{ARM}.toml").read_text()
        coded = "".join(f"\\u{ord(c):04x}" for c in self.EVIL)
        lines = [f'title = "{coded}"' if line.startswith("title") else line for line in text.splitlines()]
        Path("evil.toml").write_text("\n".join(lines))
        assert fx.load_plant("evil.toml").title == self.EVIL

    @pytest.mark.parametrize(
        "words",
        [["show", "evil.toml"], ["show", "evil.toml", "--json"], ["modes", "evil\x1b[2J.toml"], ["modes", "\x1b[2J"],
         ["\x1b[2J"], ["modes", ARM, "--\x1b[2J"], ["modes", ARM, "--set", "\x1b[2J=3"], ["show", "evil\x1b.py"],
         ["run", "evil.py", "--only", "\x1b[2J"], ["run", "evil.py"], ["compare", "evil.py", "--workers", "1"],
         ["simulate", ARM, "--torque", "\x1b[2J:1"], ["linearise", ARM, "-o", "a\x1b[2J.npz"],
         ["sweep", "evil.py", "--over", "payload.mass=0,-1", "--workers", "1"]],
    )
    def test_none_reaches_the_terminal(self, words: list[str]) -> None:
        self.evil_plant()
        name = r'"mo\x1b[2Jve"'
        Path("evil.py").write_text(CONTROLLER.replace('"move"', name).replace(f'"{ARM}"', '"evil.toml"'))
        Path("evil\x1b.py").write_text('"""A \x1b[2J law."""\n')
        result = CliRunner().invoke(cli, words)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        for stream in (result.stdout, result.stderr):
            assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(stream), stream
        assert result.stdout or result.stderr


def test_a_response_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    run = fx.simulate(fx.load_plant(ARM), inputs={"joint1_torque": fx.bang_bang(0.1, 0.3)}, duration=0.7)
    run.save("run.npz")
    np.testing.assert_array_equal(fx.Response.load("run.npz").y, run.y)
    assert left() == ["run.npz"]
