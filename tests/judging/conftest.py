"""What tests of sweeps share."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_scripts import CONTROLLER


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pd.py").write_text(CONTROLLER)
    return tmp_path
