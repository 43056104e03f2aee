"""Execute the notebooks: `python tests/execute_notebooks.py [NAME ..]` does it in place, the tests do it aside.

The kernel is the running interpreter, whatever kernels the user has registered, with the flexctl that it imports. What
is stored repeats: no times of execution, no paths, no names of machines.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from traitlets import default

import flexctl

FOLDER = Path(__file__).parents[1] / "notebooks"
TIMEOUT = 300  # s per cell
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}


class ThisInterpreter(KernelSpecManager):
    """Whatever kernel is asked for: the interpreter that runs this."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


class Kernel(AsyncKernelManager):
    @default("kernel_spec_manager")
    def _kernel_spec_manager_default(self) -> KernelSpecManager:
        return ThisInterpreter(parent=self)


def execute(path: Path) -> Any:
    """Return the notebook executed in an empty folder; an error in a cell is raised with its traceback."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        home = str(Path(flexctl.__file__).parents[1])
        # small matrices: two kernels whose threads wait for each other on two cores are ten times slower
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        environment = {**threads, **os.environ, "PYTHONPATH": home, "IPYTHONDIR": folder, "MPLBACKEND": "Agg"}
        client = NotebookClient(notebook, kernel_manager_class=Kernel, timeout=TIMEOUT, record_timing=False)
        client.extra_arguments = ["--log-level=40"]  # not a line about sockets for every kernel
        client.execute(cwd=folder, env=environment)
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def main() -> None:
    wanted = sys.argv[1:] or ["*"]
    for path in sorted(path for name in wanted for path in FOLDER.glob(f"{name}.ipynb")):
        print(path.relative_to(FOLDER.parent), flush=True)
        text = nbformat.writes(execute(path)) + "\n"
        aside = path.with_suffix(".tmp")
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)


if __name__ == "__main__":
    main()
