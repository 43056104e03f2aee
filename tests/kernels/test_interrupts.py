"""Interrupts while code is compiled."""

from __future__ import annotations

import contextlib
import signal

import pytest
from numba import types

from flexctl.kernels import jit
from flexctl.kernels.compiling import interruptible


@pytest.mark.parametrize("fails", [True, False])
def test_an_interrupt_that_a_callback_swallows_comes_out(fails: bool) -> None:
    """LLVM calls back into Python while it compiles; what is raised there is lost, and numba fails on what it lacks."""

    def compiled() -> None:
        with contextlib.suppress(KeyboardInterrupt):  # as ctypes does
            signal.raise_signal(signal.SIGINT)
        if fails:
            raise RuntimeError("no compiled object yet")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruptible():
        compiled()
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_the_compiler_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError, match="its own"), interruptible():
        raise RuntimeError("its own")


def test_entries_are_compiled_so_that_interrupts_come_out(monkeypatch) -> None:
    @jit.entry(types.float64(types.float64))
    def twice(x):
        return 2.0 * x

    def swallowed(signature):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(twice.dispatcher(), "compile", swallowed)
    with pytest.raises(KeyboardInterrupt):
        twice(1.0)
