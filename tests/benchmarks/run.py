"""All benchmarks in one process: `python tests/benchmarks/run.py [-o FILE.json] [name ...]`.

Every file bench_*.py has `run() -> list of rows`; a row is {name, ours_s, peer, peer_s, ratio, error, goal}. Ratios are
peer time over our time, both measured side by side here, one BLAS thread, least of several repeats.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import importlib
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]


def packages() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("flexctl", "numpy", "scipy", "numba", "control", "slycot", "exudyn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def seconds(x: Any) -> str:
    if not isinstance(x, int | float):
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if x >= scale:
            return f"{x / scale:.3g} {unit}"
    return f"{x / 1e-9:.3g} ns"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks to run, e.g. frequency march; all by default")
    parser.add_argument("-o", "--output", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    files = sorted(HERE.glob("bench_*.py"))
    wanted = [f for f in files if not options.names or f.stem.removeprefix("bench_") in options.names]
    if not wanted:
        parser.error(f"no such benchmark; there are {', '.join(f.stem.removeprefix('bench_') for f in files)}")
    rows: list[dict[str, Any]] = []
    print(f"{'':60s} {'flexctl':>9s} {'peer':>9s} {'ratio':>8s} {'error':>9s}  goal")
    for file in wanted:
        print(f"-- {file.stem}", flush=True)
        for row in importlib.import_module(file.stem).run():
            rows.append({"benchmark": file.stem, **row})
            ratio = f"{row['ratio']:.3g}" if row.get("ratio") is not None else "-"
            error = f"{row['error']:.1e}" if row.get("error") is not None else "-"
            name = f"{row['name']} vs {row['peer']}" if row.get("peer") else row["name"]
            times = f"{seconds(row.get('ours_s')):>9s} {seconds(row.get('peer_s')):>9s}"
            print(f"{name:60s} {times} {ratio:>8s} {error:>9s}  {row.get('goal') or ''}", flush=True)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"packages": packages(), "rows": rows}, indent=1, allow_nan=False, default=float)
        options.output.write_text(text + "\n")
        print(f"written: {options.output}")


if __name__ == "__main__":
    main()
