"""A motion that is asked for the same times again answers from memory, and as the motion itself."""

from __future__ import annotations

from typing import Any

import numpy as np

import flexctl as fx
from flexctl.motion.moves import Part
from flexctl.motion.remembered import ANSWERS, LARGEST, Remembered, plain

MOVE = fx.quintic(0.2, 1.0, 2.0)


class Counted:
    """The move, and how often it was asked."""

    breakpoints, duration, target = MOVE.breakpoints, MOVE.duration, MOVE.target

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, t: Any) -> Any:
        self.asked += 1
        return MOVE(t)


def test_it_answers_as_the_motion_does_and_asks_once() -> None:
    asked = Counted()
    motion = Remembered(asked)
    grids = [np.linspace(0.0, 2.0, 50) + 1e-9 * i for i in range(ANSWERS)]
    for _ in range(3):
        for t in grids:
            np.testing.assert_array_equal(motion(t), MOVE(t))
    assert asked.asked == ANSWERS
    grids[0][7] += 0.1  # the caller's own array
    np.testing.assert_array_equal(motion(grids[0]), MOVE(grids[0]))
    motion(0.3), motion(0.3), motion(np.zeros(LARGEST + 1)), motion(np.zeros(LARGEST + 1))  # are not kept
    assert asked.asked == ANSWERS + 5
    assert (motion.duration, motion.target, motion.breakpoints) == (MOVE.duration, MOVE.target, MOVE.breakpoints)


def test_a_servo_asks_its_motion_once_for_value_and_rate() -> None:
    asked = Counted()
    motion, t = Remembered(asked), np.linspace(0.0, 1.0, 9)
    value, rate = Part(motion, 0, 0.2)(t), Part(motion, 1)(t)
    np.testing.assert_array_equal(value, MOVE(t)[0] - 0.2)
    np.testing.assert_array_equal(rate, MOVE(t)[1])
    assert asked.asked == 1
    assert plain(Part(motion, 1)) is asked
    assert plain(MOVE) is MOVE
