"""Laws as C on microcontrollers: Cortex-M4 and M7 in QEMU give the commands of Python to the last bit (`make arm`)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from exported_laws import KINDS

import flexctl as fx
from flexctl.export.c_files import FLAGS

HERE = Path(__file__).parent / "arm"
TOOLS = ("arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm")
MISSING = [tool for tool in TOOLS if shutil.which(tool) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"{', '.join(MISSING)} missing: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",
    ),
]
CORES = {
    "M4": (["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"], ["-M", "mps2-an386", "-cpu", "cortex-m4"]),
    "M7": (["-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16"], ["-M", "mps2-an500", "-cpu", "cortex-m7"]),
}
STEPS = 2000
LAWS = ["delay 1", "quantised", "blended", "in time"]


def run(words: list[str], folder: Path, limit: float = 300.0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=limit)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("single", [False, True], ids=["double", "float"])
@pytest.mark.parametrize("kind", LAWS)
def test_the_recorded_test_passes_on_the_core(kind: str, single: bool, core: str, tmp_path: Path) -> None:
    made = fx.export_law(KINDS[kind](), tmp_path / "out", name="law", test_steps=STEPS)
    (made.folder / "build").mkdir()
    build, machine = CORES[core]
    define = ["-DLAW_FLOAT"] if single else []
    compiler = ["arm-none-eabi-gcc", *FLAGS.split(), "-O2", "-mthumb", *build, *define]
    run([*compiler, "-Wall", "-Wextra", "-Werror", "-c", "law.c", "-o", "build/law.o"], made.folder)
    link = ["--specs=rdimon.specs", "-nostartfiles", "-T", str(HERE / "m.ld")]
    parts = ["build/law.o", "test.c", str(HERE / "start.c"), "-lm", "-o", "build/law.elf"]
    run([*compiler, *link, *parts], made.folder)
    emulated = ["qemu-system-arm", *machine, "-nographic", "-semihosting-config", "enable=on,target=native"]
    done = run([*emulated, "-kernel", "build/law.elf"], made.folder)
    state = made.facts["state_bytes_float" if single else "state_bytes"]
    assert f"law: {STEPS} periods, 0 commands differ, at most by 0; {state} bytes of state" in done.stdout
    text, data, bss = run(["arm-none-eabi-size", "build/law.o"], made.folder).stdout.splitlines()[1].split()[:3]
    assert (data, bss) == ("0", "0")  # nothing but code and constants
    print(f"\n| {kind} | {'float' if single else 'double'} | {core} | {text} | {state} |")
