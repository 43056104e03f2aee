"""One thread of linear algebra, and what was there before in the end."""

from __future__ import annotations

import subprocess
import sys
from threading import Event, Thread

import numpy as np
import pytest

import flexctl as fx
from flexctl.support import threads
from flexctl.support.threads import libraries, one_thread

CHECK = """
import numpy as np
import scipy.linalg
from flexctl.support.threads import libraries, one_thread

for one in libraries():
    one.use(2)
with one_thread():
    assert [one.threads() for one in libraries()] == [1, 1]
assert [one.threads() for one in libraries()] == [2, 2]
"""


class Library:
    """Counts as the libraries of the wheels do."""

    count = 3

    def threads(self) -> int:
        return self.count

    def use(self, count: int) -> None:
        self.count = count


@pytest.fixture
def library(monkeypatch) -> Library:
    found = Library()
    monkeypatch.setattr(threads, "libraries", lambda: (found,))
    return found


def test_the_number_is_restored_after_errors_too(library: Library) -> None:
    with one_thread():
        with one_thread():
            assert library.count == 1
        assert library.count == 1
    assert library.count == 3
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert library.count == 3


def test_the_last_thread_to_leave_restores_it(library: Library) -> None:
    inside, leave = Event(), Event()

    def other() -> None:
        with one_thread():
            inside.set()
            leave.wait(10.0)

    thread = Thread(target=other)
    with one_thread():
        thread.start()
        assert inside.wait(10.0)
    assert library.count == 1
    leave.set()
    thread.join()
    assert library.count == 3


def test_without_a_library_that_is_known_nothing_is_done(monkeypatch) -> None:
    monkeypatch.setattr(threads, "libraries", lambda: ())
    with one_thread():
        pass


def test_those_of_the_wheels_are_told() -> None:
    if len(libraries()) != 2:
        pytest.skip("numpy and scipy are not those of their wheels")
    subprocess.run([sys.executable, "-c", CHECK], check=True)


def test_searches_of_many_small_systems_have_one_thread(library: Library) -> None:
    """Optimal commands and identification; what is reported on the way comes from within."""
    seen: list[int] = []

    def report(*about: object) -> None:
        seen.append(library.count)

    mass = fx.from_matrices([[1.0]], B=[[1.0]], C=[[1.0]], K=[[0.0]], inputs=["force"], outputs=["x"])
    fx.bound({"": mass}, {"x": 1.0}, drive="force", limits={"force": 1.0}, within=0.01, longest=2.2, sample_time=0.05,
             progress=report)
    weights = fx.LqgWeights(rate=0.1, energy=0.1, integral=0.0, command=0.1, disturbance=1.0, noise=(1e-6,), load=1e-4)
    law = fx.lqg(mass, weights, modes=0, sample_time=0.05, measures="x", drive="force", follow="x", limit=1.0)
    fx.optimal_command(law, {"": mass}, {"x": 1.0}, within=0.01, longest=4.0, progress=report)
    arm = fx.load_plant("tokhi_azad_1994", model={"sections": 8})
    w = np.linspace(5.0, 450.0, 40)
    data = fx.identify.measured_response(
        w, arm.linearise().transfer(1j * w)[:1], ["joint1_torque [N m]"], ["joint1_angle [rad]"], relative=0.01
    )
    count = len(seen)
    fx.identify.parameters(arm, data, ["joint.1.hub_inertia"], mesh=False, progress=report)
    assert len(seen) > count > 1
    assert set(seen) == {1}
    assert library.count == 3
