"""Functional mock-up units stepped by FMPy, for the tests here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np


class Unit:
    """An instance for co-simulation, by names of variables."""

    def __init__(self, path: Path, folder: Path, name: str = "one") -> None:
        from fmpy import extract, read_model_description
        from fmpy.fmi2 import FMU2Slave

        self.description = read_model_description(path)
        # once: a library that is loaded must not be written over
        self.folder = str(folder) if folder.exists() else extract(path, folder)
        self.messages: list[str] = []
        self.slave: Any = FMU2Slave(
            guid=self.description.guid, unzipDirectory=self.folder, instanceName=name,
            modelIdentifier=self.description.coSimulation.modelIdentifier,
        )
        self.slave.instantiate()
        self.place = {v.name: v.valueReference for v in self.description.modelVariables}

    def group(self, causality: str) -> list[str]:
        return [
            v.name for v in self.description.modelVariables if v.causality == causality and v.derivative is None
        ]

    def integrated(self) -> list[str]:
        """Names of what importers integrate in model exchange."""
        return [v.derivative.name for v in self.description.modelVariables if v.derivative is not None]

    def begin(self, start: dict[str, float] | None = None, stop: float | None = None) -> Unit:
        self.slave.setupExperiment(startTime=0.0, stopTime=stop)
        self.slave.enterInitializationMode()
        for name, value in (start or {}).items():
            self.put([name], [value])
        self.slave.exitInitializationMode()
        self.time = 0.0
        return self

    def put(self, names: Sequence[str], values: Sequence[float]) -> None:
        self.slave.setReal([self.place[n] for n in names], [float(v) for v in values])

    def get(self, names: Sequence[str]) -> np.ndarray:
        return np.array(self.slave.getReal([self.place[n] for n in names]))

    def step(self, h: float) -> None:
        self.slave.doStep(self.time, h)
        self.time += h


@contextmanager
def opened(path: Path, folder: Path, name: str = "one") -> Iterator[Unit]:
    unit = Unit(path, folder, name)
    try:
        yield unit
    finally:
        unit.slave.freeInstance()
