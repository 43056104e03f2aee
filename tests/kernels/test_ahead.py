"""What another process compiles while this one goes on."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_jit import package, python

import flexctl as fx
from flexctl.kernels.schemes import SCHEMES
from flexctl.models.wrappers.motion_driven import motion_driven
from flexctl.simulation.analog import analog_loop
from flexctl.simulation.engines import soon

CODE = """
import json, logging, sys, time
from flexctl.kernels import ahead
ahead._several = lambda: True
from toy import top
ahead.ahead(top.third, top.plain)
begun = bool(ahead._helpers)
while ahead._helpers and (top.third.missing() or top.plain.missing()):
    time.sleep(0.02)
values = [top.third(2.0), top.plain(2.0), top.first(2.0)]
hits = [sum(e.load().stats.cache_hits.values()) for e in (top.third, top.plain, top.first)]
print(json.dumps({"begun": begun, "values": values, "hits": hits}))
"""


class TestAhead:
    def test_what_is_asked_for_is_found_on_the_disk(self, tmp_path: Path) -> None:
        out, said = python(CODE, folder=package(tmp_path), cache=tmp_path / "cache")
        assert json.loads(out) == {"begun": True, "values": [216.5, 5.0, 16.75], "hits": [1, 1, 0]}
        assert said == ""

    def test_nothing_is_started_where_everything_is_there(self, tmp_path: Path) -> None:
        folder = package(tmp_path)
        python("from toy import top; top.third.load(), top.plain.load()", folder=folder, cache=tmp_path / "cache")
        out = python(CODE, folder=folder, cache=tmp_path / "cache")[0]
        assert (json.loads(out)["begun"], json.loads(out)["hits"]) == (False, [1, 1, 0])

    def test_not_in_processes_that_others_have_started(self, tmp_path: Path) -> None:
        code = "from flexctl.kernels import ahead; from toy import top; ahead.ahead(top.plain); print(ahead._helpers)"
        out = python(code, folder=package(tmp_path), cache=tmp_path / "cache", FLEXCTL_COMPILERS="1")[0]
        assert out.strip() == "[]"


class TestSoon:
    """The loop of a run is asked for before the functions of the model are compiled, of wrappers too."""

    @staticmethod
    def asked(monkeypatch: pytest.MonkeyPatch, model: Any) -> list[tuple[bool, bool, bool]]:
        from flexctl.kernels import general

        found: list[tuple[bool, bool, bool]] = []
        monkeypatch.setattr(general, "loop_soon", lambda *loop: found.append(loop))
        plan: Any = SimpleNamespace(scheme=SCHEMES["sdirk"]())
        soon(model, plan, feeds=False)
        return found

    def test_of_cylinders_around_a_closed_arm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.asked(monkeypatch, fx.load_plant("ralf").model) == [(True, True, False)]

    def test_of_led_joints(self, monkeypatch: pytest.MonkeyPatch) -> None:
        arm = fx.load_plant("ralf", overrides={"joint.1.drive": "torque", "joint.2.drive": "torque"}).model
        assert self.asked(monkeypatch, arm) == [(True, True, False)]
        led = motion_driven(arm, {"joint1_torque": "joint1"})
        assert self.asked(monkeypatch, led) == [(True, True, False)]

    def test_what_loops_call_around_drives_before_the_functions_of_the_arm(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from flexctl.kernels import ahead
        from flexctl.models.wrappers import driven_stepper

        asked: list[str] = []
        arm = fx.load_plant("two_mass_spring").model
        monkeypatch.setattr(ahead, "ahead", lambda *parts: asked.extend(part.py_func.__name__ for part in parts))
        monkeypatch.setattr(type(arm.inner), "compiled", lambda model: asked.append("functions"))
        driven_stepper.has_stepper(arm)
        assert asked == [*["solve_part", "measure_part", "rest_part"] * 2, "functions"]

    def test_not_around_a_law_that_runs_in_plain_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        arm = fx.load_plant("ralf").model
        law = fx.LinearLaw(0.0, ("joint1_angle",), ("joint1_command",), Dy=[[0.0]])
        assert self.asked(monkeypatch, analog_loop(arm, law, {}, {})) == []


WAITING = """
import os, pathlib, sys, time
place, who = pathlib.Path(sys.argv[1]), sys.argv[2]
from flexctl.kernels import ahead, cache
from toy import top
if who == "first":
    made = top.third.dispatcher()
    key = made._cache._index_key(top.third.signature, made.targetctx.codegen())
    turn = cache.Turn(os.path.dirname(made._cache._cache_file.path(key)), int(key[0][:14], 16))
    (place / "held").touch()
    end = time.monotonic() + 20.0
    while not (place / "plain made").exists() and time.monotonic() < end:
        time.sleep(0.01)
    turn.leave()
    assert time.monotonic() < end
else:
    while not (place / "held").exists():
        time.sleep(0.01)
    assert top.third.elsewhere() and not top.plain.elsewhere()
    whole = top.plain.load
    top.plain.load = lambda: [whole(), (place / "plain made").touch()][0]
    exec(sys.argv[3])
    assert not top.third.elsewhere() and not top.plain.elsewhere()
    print(top.third(2.0), top.plain(2.0))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files have no locks there")
@pytest.mark.parametrize(
    "needed", ["ahead.together(top.third, top.plain)", "ahead.ahead(top.plain), ahead.together(top.third)"]
)
def test_nobody_waits_while_there_is_something_left_to_compile(tmp_path: Path, needed: str) -> None:
    """The first of two entries is held by another process until the second one is made, needed at once or later."""
    folder, cache = package(tmp_path / "here"), tmp_path / "cache"
    with ThreadPoolExecutor() as pool:
        jobs = [
            pool.submit(python, WAITING, str(tmp_path), name, needed, folder=folder, cache=cache, FLEXCTL_COMPILERS="1")
            for name in ("first", "second")
        ]
        assert [job.result(timeout=60.0)[0].strip() for job in jobs] == ["", "216.5 5.0"]
