"""Compiled code: what the disk cache notices, keeps apart and removes, and where it lies.

Every case runs in processes of its own, on throw-away packages: a process makes numba and its modules once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flexctl.kernels import jit

ROOT = Path(__file__).parents[2]

CALLEE = """
from flexctl.kernels.jit import kernel
from .deep import FACTOR, inner
@kernel
def double(x):
    return FACTOR * inner(x)
"""
DEEP = """
from flexctl.kernels.jit import kernel
FACTOR = 2.0
@kernel
def inner(x):
    return x
"""
TOP = """
from numba import float64, types
from flexctl.kernels.jit import entry, kernel
from .callee import double

@entry(float64(float64))
def plain(x):
    return double(x) + 1.0

def factory(measure, power, word, offsets):
    @kernel
    def local(x):
        return measure(x) ** power
    @entry(float64(float64))
    def made(x):
        total = local(x) + offsets[0]
        if word is None:
            total += offsets[1]
        return total
    return made

@kernel
def triple(x):
    return 3.0 * x

first = factory(double, 2, None, (0.5, 0.25))
second = factory(triple, 2, None, (0.5, 0.25))
third = factory(triple, 3, "word", (0.5, 0.25))
fourth = factory(plain, 1, None, (0.0, 0.0))

@entry(float64(float64))
def both(x):
    return first(x) + 1000.0 * second(x)

POINTER = types.FunctionType(float64(float64))
@entry(float64(POINTER, float64))
def apply(f, x):
    return f(x)
"""
REPORT = """
import json, sys
from toy import top
names = sys.argv[1:]
entries = [getattr(top, name) for name in names]
values = [e(2.0) for e in entries]
hits = [sum(e.load().stats.cache_hits.values()) for e in entries]
print(json.dumps({"values": values, "hits": hits, "folder": entries[0].load().stats.cache_path}))
"""


def package(folder: Path) -> Path:
    """Write the package `toy` into a folder."""
    toy = folder / "toy"
    toy.mkdir(parents=True)
    for name, text in (("__init__", ""), ("callee", CALLEE), ("deep", DEEP), ("top", TOP)):
        (toy / f"{name}.py").write_text(text)
    return folder


def python(code: str, *words: str, folder: Path, cache: Path | None = None, **more: str) -> tuple[str, str]:
    """Run code in a fresh process; return what it printed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    environment |= {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", **more}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *words], capture_output=True, text=True, env=environment,
        cwd=folder, check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def report(*names: str, folder: Path, cache: Path) -> dict[str, list[float]]:
    """Return values at 2 and cache hits of entries of `toy.top`, from a fresh process."""
    found: dict[str, list[float]] = json.loads(python(REPORT, *names, folder=folder, cache=cache)[0])
    return found


def files(cache: Path, name: str) -> list[str]:
    """Return the names of the cached files of a function."""
    return sorted(path.name for path in cache.rglob(f"top.{name}-*.nbc"))


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return package(tmp_path / "here")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


EVERY = ("plain", "first", "second", "third", "fourth")
VALUES = [5.0, 16.75, 36.75, 216.5, 5.0]


class TestKey:
    def test_a_second_process_loads_everything(self, toy: Path, cache: Path) -> None:
        once = report(*EVERY, folder=toy, cache=cache)
        assert once["values"] == VALUES
        assert once["hits"] == [0] * 5
        again = report(*reversed(EVERY), folder=toy, cache=cache)
        assert again["values"] == VALUES[::-1]
        assert again["hits"] == [1] * 5

    def test_closures_compiled_by_different_processes_stay_apart(self, toy: Path, cache: Path) -> None:
        """Each is the first of its process: numba gives them the same names, and the linker takes one for two."""
        for name, value in zip(EVERY, VALUES, strict=True):
            assert report(name, folder=toy, cache=cache)["values"] == [value]
        assert len(files(cache, "factory.locals.made")) == 4
        together = report(*EVERY, folder=toy, cache=cache)
        assert (together["values"], together["hits"]) == (VALUES, [1] * 5)
        assert report("both", folder=toy, cache=cache)["values"] == [36766.75]

    @pytest.mark.parametrize(
        ("module", "old", "new", "value"),
        [
            ("callee", "FACTOR * inner(x)", "FACTOR * inner(x) + 10.0", 15.0),
            ("deep", "return x", "return x + 1.0", 7.0),
            ("deep", "FACTOR = 2.0", "FACTOR = 4.0", 9.0),
        ],
    )
    def test_an_edit_in_another_file_is_noticed(
        self, toy: Path, cache: Path, module: str, old: str, new: str, value: float
    ) -> None:
        assert report("plain", "fourth", "second", folder=toy, cache=cache)["values"] == [5.0, 5.0, 36.75]
        before = files(cache, "plain") + files(cache, "factory.locals.made")
        path = toy / "toy" / f"{module}.py"
        path.write_text(path.read_text().replace(old, new))
        found = report("plain", "fourth", "second", folder=toy, cache=cache)
        assert found["values"] == [value, value, 36.75]
        assert found["hits"] == [0, 0, 1], "what does not reach the file that changed is kept"
        after = files(cache, "plain") + files(cache, "factory.locals.made")
        assert len(after) == len(before) == 3, "the old entries are removed"
        assert len(set(after) & set(before)) == 1

    def test_two_installations_stay_apart(self, toy: Path, cache: Path, tmp_path: Path) -> None:
        other = package(tmp_path / "there")
        path = other / "toy" / "deep.py"
        path.write_text(path.read_text().replace("2.0", "3.0"))
        here, there = (report("plain", folder=folder, cache=cache) for folder in (toy, other))
        assert (here["values"], there["values"]) == ([5.0], [7.0])
        assert here["folder"] != there["folder"]
        for folder, value in ((toy, 5.0), (other, 7.0)):
            found = report("plain", folder=folder, cache=cache)
            assert (found["values"], found["hits"]) == ([value], [1])

    def test_two_versions_do_not_share(self, toy: Path, cache: Path) -> None:
        report("plain", folder=toy, cache=cache)
        newer = "import flexctl; flexctl.__version__ = '99.0'\n" + REPORT
        for hits in (0, 1):
            found = json.loads(python(newer, "plain", folder=toy, cache=cache)[0])
            assert (found["values"], found["hits"]) == ([5.0], [hits])
        other_numba = "import numba; numba.__version__ = '99.0'\n" + REPORT
        assert json.loads(python(other_numba, "plain", folder=toy, cache=cache)[0])["hits"] == [0]
        assert json.loads(python(newer, "plain", folder=toy, cache=cache)[0])["hits"] == [1], "both versions are kept"

    def test_options_are_part_of_the_key(self, toy: Path, cache: Path) -> None:
        report("plain", folder=toy, cache=cache)
        path = toy / "toy" / "top.py"
        old = "@entry(float64(float64))\ndef plain"
        path.write_text(path.read_text().replace(old, old.replace("64))", "64), fastmath=True)")))
        assert report("plain", folder=toy, cache=cache)["hits"] == [0]

    def test_a_compiled_function_is_a_pointer(self, toy: Path, cache: Path) -> None:
        code = "from toy import top; print(top.apply(top.first.load(), 2.0), top.first.py_func(2.0))"
        for _ in range(2):
            assert python(code, folder=toy, cache=cache)[0].split() == ["16.75", "16.75"]

    def test_an_entry_compiled_within_another_is_optimised_too(self, toy: Path, cache: Path) -> None:
        """Helpers are left to their entry; one that is first compiled for another entry is no helper."""
        code = """
        import re
        from toy import top
        def helpers(entry):
            (text,) = entry.load().inspect_llvm().values()
            return re.findall(r"^define .*inner.*$", text, re.M)
        print(top.both(2.0), helpers(top.first), helpers(top.both))
        """
        assert python(code, folder=toy, cache=cache)[0].strip() == "36766.75 [] []"

    def test_without_compiling_at_all(self, toy: Path, cache: Path) -> None:
        code = "from toy import top; print(top.fourth(2.0), top.apply(top.first.load(), 2.0))"
        assert python(code, folder=toy, cache=cache, NUMBA_DISABLE_JIT="1")[0].split() == ["5.0", "16.75"]

    def test_an_entry_is_pickled_by_its_name(self, toy: Path, cache: Path) -> None:
        code = "import pickle; from toy import top; print(pickle.loads(pickle.dumps(top.plain)) is top.plain)"
        assert python(code, folder=toy, cache=cache)[0].strip() == "True"

    def test_what_cannot_be_described_is_compiled_in_every_process_and_says_so(self, toy: Path, cache: Path) -> None:
        path = toy / "toy" / "odd.py"
        path.write_text(
            "import ctypes\nfrom numba import float64\nfrom flexctl.kernels.jit import entry\n"
            "cosine = ctypes.CDLL(None).cos\n"
            "cosine.argtypes, cosine.restype = [ctypes.c_double], ctypes.c_double\n"
            "@entry(float64(float64))\ndef odd(x):\n    return cosine(x)\n"
        )
        for _ in range(2):
            out, said = python("from toy.odd import odd; print(odd(0.0))", folder=toy, cache=cache)
            assert out.strip() == "1.0"
            assert said.count("Warning: odd is compiled in every process") == 1


class TestFiles:
    @pytest.mark.parametrize("damage", [b"", b"flexctl compiled code 1\n", None])
    def test_a_damaged_file_is_made_again(self, toy: Path, cache: Path, damage: bytes | None) -> None:
        report("plain", folder=toy, cache=cache)
        (path,) = cache.rglob("top.plain-*.nbc")
        data = path.read_bytes()
        path.write_bytes(data[:-100] + bytes(100) if damage is None else damage)
        found = report("plain", folder=toy, cache=cache)
        assert (found["values"], found["hits"]) == ([5.0], [0])
        assert report("plain", folder=toy, cache=cache)["hits"] == [1]

    def test_two_processes_at_once(self, toy: Path, cache: Path) -> None:
        environment = os.environ | {"PYTHONPATH": f"{toy}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": str(cache)}
        both = [
            subprocess.Popen([sys.executable, "-c", REPORT, *EVERY], stdout=subprocess.PIPE, env=environment, cwd=toy)
            for _ in range(2)
        ]
        for process in both:
            out, _ = process.communicate()
            assert json.loads(out)["values"] == VALUES
        assert report(*EVERY, folder=toy, cache=cache)["hits"] == [1] * 5
        assert not list(cache.rglob("*.tmp"))

    def test_two_threads_at_once(self, toy: Path, cache: Path) -> None:
        code = """
        from concurrent.futures import ThreadPoolExecutor
        from toy import top
        with ThreadPoolExecutor(8) as pool:
            print(set(pool.map(lambda _: top.fourth(2.0), range(16))))
        """
        assert python(code, folder=toy, cache=cache)[0].strip() == "{5.0}"


class TestSaying:
    def test_a_line_once_and_only_when_compiling(self, toy: Path, cache: Path) -> None:
        code = """
        from flexctl.kernels import jit
        jit.announce = print
        from toy import top
        for e in (top.plain, top.first): e(2.0)
        """
        said = python(code, folder=toy, cache=cache)[0].splitlines()
        assert len(said) == 1
        assert "toy.top.plain" in said[0]
        assert "once" in said[0]
        assert str(cache) in said[0]
        assert python(code, folder=toy, cache=cache) == ("", "")

    def test_a_library_user_sees_nothing_but_the_log(self, toy: Path, cache: Path) -> None:
        logging = "import logging; logging.basicConfig(level=logging.INFO, format='%(name)s %(message)s')\n"
        code = "from toy import top; top.plain(2.0)"
        assert python(code, folder=toy, cache=cache / "one") == ("", "")
        said = python(logging + code, folder=toy, cache=cache / "two")[1]
        assert said.startswith("flexctl compiling toy.top.plain")

    def test_importing_jit_does_not_import_numba(self, toy: Path) -> None:
        assert python("import sys, flexctl.kernels.jit; print('numba' in sys.modules)", folder=toy)[0] == "False\n"


class TestWithoutThePrivateHooks:
    @pytest.mark.parametrize("name", ["FunctionCache._load_overload", "CompileResultCacheImpl", "UserWideCacheLocator"])
    def test_falls_back_with_one_warning(self, toy: Path, cache: Path, name: str) -> None:
        head = f"import numba.core.caching as c; import numba; del c.{name}\n"
        if "." in name:
            head = "import numba, numba.core.caching as c; del c.Cache._load_overload\n"
            head += "c.Cache.load_overload = lambda *a: None; c.Cache.save_overload = lambda *a: None\n"
        out, said = python(head + REPORT, *EVERY, folder=toy, cache=cache)
        assert json.loads(out)["values"] == VALUES
        assert said.count("Warning") == 1, said
        assert "numba's own" in said


class TestWithoutTheCodegenHooks:
    def test_helpers_are_made_by_themselves(self, toy: Path, cache: Path) -> None:
        """Slower, and the same."""
        head = "from flexctl.kernels import compiling\ndef no(stack): raise AttributeError\ncompiling.redirect = no\n"
        out, said = python(head + REPORT, *EVERY, folder=toy, cache=cache)
        assert (json.loads(out)["values"], said) == (VALUES, "")
        assert report(*EVERY, folder=toy, cache=cache)["hits"] == [1] * 5


TOGETHER = """
import pathlib, sys, time
from toy import top
place = pathlib.Path(sys.argv[1])
(place / sys.argv[2]).touch()
while len(list(place.iterdir())) < 2:
    time.sleep(0.001)
assert top.both(2.0) == 36766.75
print(sum(top.both.load().stats.cache_hits.values()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files have no locks there")
class TestTwoProcesses:
    def test_one_compiles_and_the_other_one_waits(self, toy: Path, cache: Path, tmp_path: Path) -> None:
        (tmp_path / "ready").mkdir()
        with ThreadPoolExecutor() as pool:
            jobs = [
                pool.submit(python, TOGETHER, str(tmp_path / "ready"), name, folder=toy, cache=cache) for name in "ab"
            ]
            assert sorted(job.result()[0].strip() for job in jobs) == ["0", "1"]

    def test_a_killed_one_leaves_nothing_to_wait_for(self, toy: Path, cache: Path) -> None:
        """It dies while it compiles: within the turn."""
        head = "from flexctl.kernels import compiling as c\nimport os\ndef die(stack): os._exit(0)\nc.redirect = die\n"
        python(head + REPORT, "both", folder=toy, cache=cache)
        assert not files(cache, "both")
        assert report("both", folder=toy, cache=cache)["hits"] == [0]


def test_of_several_processes_one_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker does not repeat what this process, or a worker before it, says of the folder of compiled code."""
    monkeypatch.setattr(jit, "_told", set())
    monkeypatch.setattr(jit, "announce", None)  # whatever commands were run here
    assert jit.for_worker() == {}
    assert jit.for_worker() == {jit.WARNED: "1"}
    with pytest.warns(UserWarning, match="something else"):
        jit._warn_once("something else")
    monkeypatch.setattr(jit, "_told", set())
    with pytest.warns(UserWarning, match="kept there"):
        jit._warn_once("kept there", "folder")
    assert jit.for_worker() == {jit.WARNED: "1"}
    monkeypatch.setattr(jit, "_told", set())
    monkeypatch.setattr(jit, "announce", jit.tell)
    assert jit.for_worker() == {jit.ANNOUNCES: "1"}
    assert jit.for_worker() == {jit.WARNED: "1"}
    monkeypatch.setenv(jit.ANNOUNCES, "1")
    monkeypatch.setattr(jit, "announce", None)
    jit.as_worker()
    assert jit.announce is jit.tell
    monkeypatch.setattr(jit, "_told", set())
    monkeypatch.setenv(jit.WARNED, "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit._warn_once("kept there", "folder")


READ_ONLY = """
import ctypes, os, sys
if os.geteuid() == 0:  # root writes everywhere as long as it has its capabilities
    head, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).prctl(28, 1, 0, 0, 0) == 0  # SECBIT_NOROOT: nor do its workers get them back
    assert ctypes.CDLL(None).capset(head, none) == 0
from flexctl.__main__ import main
sys.argv = ["flexctl", *sys.argv[1:]]
main()
"""


def everything(folder: Path) -> list[Path]:
    return [folder, *(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink())]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes the rights to write the Linux way")
class TestReadOnlyInstallation:
    @pytest.fixture
    def fixed(self, tmp_path: Path) -> Iterator[Path]:
        """Return a copy of flexctl that cannot be written to."""
        root = tmp_path / "fixed"
        for name in ("flexctl", "plants", "controllers"):
            leave = shutil.ignore_patterns("__pycache__", "_catalogue", "out")
            shutil.copytree(ROOT / name, root / name, ignore=leave)
        for folder in everything(root):
            folder.chmod(0o555)
        yield root
        for folder in everything(root):
            folder.chmod(0o755)

    @pytest.fixture
    def temporary(self, tmp_path: Path) -> Path:
        (tmp_path / "temporary").mkdir()
        return tmp_path / "temporary"

    def run(self, root: Path, temporary: Path, words: str = "bode tokhi_azad_1994") -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(root), "PYTHONPATH": str(root), "TMPDIR": str(temporary)}
        return subprocess.run(
            [sys.executable, "-c", READ_ONLY, *words.split(), "--json"], capture_output=True, text=True, cwd=root,
            env=environment, check=False,
        )

    def test_bode(self, fixed: Path, temporary: Path) -> None:
        found = self.run(fixed, temporary)
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout)["omega_rad_s"]
        assert found.stderr.count("set NUMBA_CACHE_DIR") == 1
        assert found.stderr.count("flexctl: compiling") == 1
        folder = temporary / f"flexctl-{os.getuid()}"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list(folder.rglob("bands.factorise-*.nbc"))
        again = self.run(fixed, temporary)
        assert again.returncode == 0
        assert "flexctl: compiling" not in again.stderr

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "words",
        [
            "simulate tokhi_azad_1994 --torque bang-bang:0.1,0.01 --duration 0.02",
            "run tokhi_azad_pd",
            "certify tokhi_azad_pd",
        ],
    )
    def test_other_commands(self, fixed: Path, temporary: Path, words: str) -> None:
        found = self.run(fixed, temporary, words)
        assert found.stdout, found.stderr
        assert json.loads(found.stdout)
        assert found.stderr.count("set NUMBA_CACHE_DIR") == 1
        assert found.stderr.count("flexctl: compiling") == 1
        assert list(temporary.rglob("*.nbc"))
        assert "flexctl: compiling" not in self.run(fixed, temporary, words).stderr

    def test_bode_where_others_can_write_to_the_temporary_folder(self, fixed: Path, temporary: Path) -> None:
        """What lies there is not executed, and nothing is put there."""
        folder = temporary / f"flexctl-{os.getuid()}"
        folder.mkdir()
        folder.chmod(0o777)
        found = self.run(fixed, temporary)
        assert found.returncode == 0, found.stderr
        assert found.stderr.count("set NUMBA_CACHE_DIR") == 1
        assert not list(temporary.rglob("*.nbc"))


class TestMoreOfTheKey:
    """What the key of the disk cache holds besides kernels."""

    def test_the_body_of_an_intrinsic_counts(self) -> None:
        from numba import types
        from numba.extending import intrinsic

        from flexctl.kernels.contents import Contents

        def digest(number: int) -> str:
            def code(context, x):
                return types.float64(x), lambda context, builder, signature, values: number

            made = intrinsic(code)

            def user(x):
                return made(x)

            return Contents(user).digest()

        assert digest(1) == digest(1) != digest(2)

    @pytest.mark.parametrize("module", ["compiling", "groups", "shorter"])
    def test_what_changes_the_compiler_counts(
        self, module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        from importlib import import_module

        from flexctl.kernels.cache import _compiler

        before = _compiler()
        (other := tmp_path / "other.py").write_text("edited = True\n")
        monkeypatch.setattr(import_module(f"flexctl.kernels.{module}"), "__file__", str(other))
        assert _compiler() != before
