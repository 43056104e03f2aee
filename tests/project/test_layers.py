"""Lower layers never import higher ones.

Imports at module level count, and imports inside functions too unless the pair is listed here. Imports for the type
checker alone do not exist at run time and are free.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "flexctl"

# From the bottom to the top: folders, and the few files beside them. A folder is a layer.
TIERS = (
    ("errors", "support"),
    ("model", "abilities"),
    ("machine",),
    ("kernels",),
    ("models", "exact"),
    ("linear",),
    ("frequency",),
    ("catalogue",),
    ("motion",),
    ("laws",),
    ("design",),
    ("simulation",),
    ("identify",),
    ("judging",),
    ("io",),
    ("export",),
    ("cli", "testing", "__main__", ""),
)

# A method that spares the user a second import, or a solver's own linear form. Each pair must still be in use.
CONVENIENCE = {
    ("linear", "frequency"): "plant.frequency_response(), plant.margins()",
    ("linear", "frequency.norms"): "plant.norm(2)",
    ("linear", "io.python_control"): "plant.save(path)",
    ("model", "kernels.linear"): "LinearMechanics.compiled()",
    ("machine.given", "catalogue"): "the name or path of a plant in place of the plant, everywhere",
    ("machine.given", "catalogue.linear_plant"): "a linear plant in place of an arm, everywhere",
    ("machine.given", "linear.state_model"): "a plant in states in place of a model, everywhere",
    ("catalogue.matrices", "io.python_control"): "a plant file that names files of matrices",
    ("catalogue.matrices", "io.market"): "a plant file that names files of matrices",
    ("catalogue.matrices", "io.records"): "a plant file that names files of matrices",
    ("machine.given", "identify.fitted"): "a measured response in place of a plant, everywhere",
    ("catalogue", "identify.fitted"): "the same from a file",
    ("machine.given", "linear"): "a plant or model in place of its linear plant, everywhere",
    ("machine.given", "linear.linear_model"): "a linear plant in place of a model, everywhere",
    ("machine.given", "io.python_control"): "a control.StateSpace or the file of a linear plant, everywhere",
    ("models.finite_difference", "linear.modes"): "modal damping as a matrix",
    ("models.finite_segment", "linear.modes"): "modal damping as a law of the springs' rates",
    ("models.timoshenko_planar", "linear.modes"): "modal damping as a law of the strain rates",
    ("models.timoshenko_spatial", "linear.modes"): "the same in space",
    ("models.assumed_modes", "linear.modes"): "modal damping as a matrix",
    ("models.ancf.damping", "linear.modes"): "modal damping as a law of the strain rates",
    ("models.assumed_modes.poses", "linear.equilibrium"): "the arm at rest with its joints held",
    ("models.wrappers.hydraulic", "linear.equilibrium"): "the arm at rest with its cylinders still",
    ("exact.euler_bernoulli", "linear"): "modal_plant(): the exact modes as a plant",
    ("exact.transfer_matrix.modes", "linear"): "modal_plant(): the exact modes as a plant",
    ("models.finite_difference.scheme", "linear"): "scheme_plant(): the explicit march as a discrete plant",
    ("identify.reading", "io.matfile"): "measured data in .mat files",
    ("identify.reading", "io.hdf5"): "measured data in .mat files of version 7.3",
    ("judging.scenario", "__main__"): "a controller script runs itself through the command line",
}


def tier(module: str) -> int:
    """Return the layer of a module, or fail: a new folder must be given one."""
    folder = module.split(".")[0]
    found = [i for i, layer in enumerate(TIERS) if folder in layer]
    assert found, f"flexctl/{folder} has no layer; add it to TIERS in {Path(__file__).name}"
    return found[0]


def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] != "_catalogue":
            found[".".join(parts).removesuffix("__init__").removesuffix(".")] = path
    return found


MODULES = modules()


def targets(node: ast.stmt, package: list[str]) -> Iterator[str]:
    """Yield the flexctl modules that an import statement loads."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names if alias.name.split(".")[0] == "flexctl"]
        yield from (name.removeprefix("flexctl").removeprefix(".") for name in names)
    elif isinstance(node, ast.ImportFrom):
        if node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
        elif node.module and node.module.split(".")[0] == "flexctl":
            base = node.module.split(".")[1:]
        else:
            return
        for alias in node.names:  # a name may be a module of the package or something inside it
            inner = ".".join([*base, alias.name])
            yield inner if inner in MODULES else ".".join(base)


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield (module, whether inside a function) for the imports that happen at run time."""
    package = list(path.relative_to(PACKAGE).parts[:-1])

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.Import | ast.ImportFrom):
                yield from ((target, inside) for target in targets(child, package))
            yield from walk(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    yield from walk(ast.parse(path.read_text()), False)


@pytest.mark.parametrize("module", sorted(set(MODULES) - {""}))
def test_no_module_imports_a_higher_layer(module: str) -> None:
    higher = [
        (target, "inside a function" if inside else "at module level")
        for target, inside in imports(MODULES[module])
        if target and tier(target) > tier(module) and not (inside and (module, target) in CONVENIENCE)
    ]
    assert higher == [], f"flexctl.{module} is in layer {tier(module)} and imports {higher}"


def test_no_exception_is_out_of_use() -> None:
    used = {(module, target) for module, path in MODULES.items() for target, inside in imports(path) if inside}
    assert set(CONVENIENCE) <= used
    assert all(tier(target) > tier(module) for module, target in CONVENIENCE)


def test_the_parser_sees_what_python_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules above rest on `imports`: each kind of import statement, at both depths, and the free ones."""
    monkeypatch.setattr("test_layers.PACKAGE", tmp_path)
    (tmp_path / "laws").mkdir()
    path = tmp_path / "laws" / "pd.py"
    path.write_text(
        "from __future__ import annotations\nimport flexctl.io as x\nfrom ..model import Signal\n"
        "from .. import linear\nfrom . import controller\nfrom flexctl.linear import linearise\nimport numpy\n"
        "if TYPE_CHECKING:\n    from ..catalogue import Plant\n"
        "class A:\n    def f(self):\n        from ..simulation import simulate\n"
    )
    expected = ["io", "model", "linear", "laws.controller", "linear"]
    assert list(imports(path)) == [(name, False) for name in expected] + [("simulation.simulate", True)]


def test_slow_tests_are_listed_by_names_that_exist() -> None:
    tests = Path(__file__).resolve().parent.parent
    for line in (tests / "slow.txt").read_text().splitlines():
        if not line.startswith("#"):
            path, *_, name = line.partition("[")[0].split("::")
            assert name in (tests.parent / path).read_text(), f"tests/slow.txt names {line}, which is not there"
