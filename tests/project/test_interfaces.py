"""What is asked of models, plants and laws is declared: nothing searches them for names.

Every way to ask whether something has an attribute stands in a short list of exceptions, each about something that is
no model, plant or law: hasattr, getattr with a constant name or with a default, dir, vars, __dict__, getmembers,
attrgetter, getattr_static, an AttributeError that is caught or suppressed. A getattr with a name from the code's own
list of fields, without a default, reads what is known to be there.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "flexctl"

ALLOWED = {
    "abilities.ability": "whether something has what a protocol lists: what isinstance does with one",
    "__init__": "the module that a public name is imported from",
    "catalogue": "a controller script, which is a module: design, PLANT",
    "catalogue.linear_plant": "its own attributes, where those that only arms have are refused",
    "catalogue.definition": "strerror of an error of the operating system",
    "cli.common": "tolist() of an array",
    "export.translate.expressions": "the method of this class for a kind of expression",
    "export.translate.statements": "the method of this class for a kind of statement",
    "export.translate.reading": "the Python text of a compiled function",
    "export.translate.types": "the names in a named tuple",
    "cli.terminal": "a stream that may be no file",
    "frequency": "what the response keeps of itself",
    "frequency.margins": "its own numbers by name",
    "cli.doctor": "what the operating system has: sched_getaffinity",
    "support.threads": "the functions of a library in C",
    "design.optimal": "a file of JSON with something else in it",
    "judging.tuning": "a file of JSON with something else in it",
    "machine.given": "the message that says which methods of MechanicalModel something lacks",
    "models.outside": "the message that says which methods of MechanicalModel a class lacks",
    "support.kinds": "annotations, and the message that says which methods of a protocol something lacks",
    "support.files": "what the operating system has: errno",
    "testing.checks": "the public names of a model, none of which a call may change",
    "io.hdf5": "a dataset or a group of h5py",
    "judging.certify.task": "a controller script: REQUIREMENTS, POSES, __file__",
    "judging.scenario": "a controller script: PLANT, scenarios, __file__; a plant of any kind in a message",
    "judging.sweep.case": "the constants of a controller script",
    "judging.sweep.journal": "what the operating system has: errno, pread",
    "judging.sweep.samples": "item() of a number of numpy",
    "judging.workers": "what the operating system has: sched_getaffinity",
    "kernels.ahead": "what the operating system has: sched_getaffinity",
    "kernels.cache": "what the operating system has, and numba's configuration",
    "kernels.contents": "objects that compiled code is closed over, of any type",
    "kernels.compiling": "what this version of numba has",
    "kernels.shorter": "the fields of a statement of Python",
    "models.features": "the module of a model",
    "testing.abilities": "the methods that a protocol lists",
    "kernels.jit": "numba's dispatchers",
    "laws.controller": "not_a_law: the message that says which attributes of Controller something lacks",
    "linear.matrices": "toarray() of a sparse matrix",
    "machine.schema": "annotations of data classes",
    "judging.certify.jobs": "a law of any kind, which is copied for every job if it keeps a state of its own",
    "simulation.plain": "the Python text of a compiled function",
    "support.moved": "whether a class has what an old name is called now",
}
"""Module -> what it asks of what, in one line."""


def asking(path: Path) -> list[int]:
    """Return the lines that ask something for a name."""
    return sorted({node.lineno for node in ast.walk(ast.parse(path.read_text())) if _asks(node)})


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        return any(isinstance(one, ast.Name) and one.id == "AttributeError" for one in ast.walk(node.type))
    if isinstance(node, ast.Attribute):
        return node.attr == "__dict__"
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name == "getattr":
        return len(node.args) > 2 or (len(node.args) == 2 and isinstance(node.args[1], ast.Constant))
    if name in ("dir", "vars"):
        return isinstance(node.func, ast.Name) and bool(node.args)
    if name == "suppress":
        return any(isinstance(one, ast.Name) and one.id == "AttributeError" for one in node.args)
    return name in ("hasattr", "attrgetter", "getattr_static", "getmembers")


def found() -> dict[str, list[int]]:
    modules = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        lines = asking(path)
        if lines and not name.startswith("_catalogue"):
            modules[name.removesuffix(".__init__")] = lines
    return modules


def test_no_module_searches_models_for_names() -> None:
    assert {name: lines for name, lines in found().items() if name not in ALLOWED} == {}


def test_no_exception_is_out_of_use() -> None:
    assert set(ALLOWED) <= set(found())


def test_the_search_sees_both_calls(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        "getattr(model, 'pose', None)\nhasattr(law, 'feedback')\ngetattr(self, key)\nmodel.pose\n"
        "getattr(model, key, None)\n'pose' in dir(model)\noperator.attrgetter('pose')\n"
        "try:\n    model.pose\nexcept (KeyError, AttributeError):\n    pass\n"
    )
    assert asking(path) == [1, 2, 5, 6, 7, 10]
