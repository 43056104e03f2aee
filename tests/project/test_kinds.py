"""Every argument of every public function and class refuses what is nothing of its kind: found by walking the names, so
that a new function is covered by its annotations."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.errors import caution
from flexctl.frequency.margins import Margins
from flexctl.support.kinds import ANYTHING, CHECKED, EVERY_STEP, Argument, Taken

FREE = {
    "from_control.system": "refused by itself: python-control is not imported for an annotation",
    "report.result": "the page is chosen by what it is", "report.data": "the same",
    "tracking_scenario.options": "options of Scenario", "moves_with_payloads.options": "the same",
    "measured_link.keys": "fields of Link", "build.chosen": "options of the formulation",
    "load_plant.tables": "tables of the plant file", "plot.subplots.options": "options of matplotlib",
    "plot.step_lines.options": "the same", "compare_methods.run": "options of simulate",
    "inverse_dynamics.options": "the same", "linear_validity.options": "the same", "learn.options": "the same",
    "optimal_command.options": "the same", "fastest_along.options": "the same",
    "fastest_along.law": "a law, or a function that makes one: refused when it is used",
    "FastestAlong.law": "made by it", "export_law.options": "options of the format",
    "export_plant.options": "the same", "OptimalMotion.made_for": "made by optimal_command",
    "Planned.made_for": "the same", "Learnt.law": "made by learn",
    "Tuned.law": "made by tune", "plot.step_lines.axes": "axes of matplotlib",
    **{f"plot.{name}.axes": "axes of matplotlib, refused by flexctl.io.plot" for name in (
        "bode", "compare", "estimates", "migration", "mode_shapes", "poles", "run",
    )},
}
"""Arguments that may be anything, for all that their annotation says, and why."""
GIVEN = ("ModelGiven", "LinearGiven", "ArmGiven", "SystemGiven", "LoopGiven", "Plant", "Annotated")
"""Words of annotations that are taken apart, and refused in words, elsewhere: tests/project/test_arguments.py, and
tests/machine for the data of an arm."""


def public() -> Iterator[tuple[str, Any]]:
    for name in fx.__all__:
        thing = getattr(fx, name)
        if name in ("plot", "identify"):
            yield from ((f"{name}.{own}", getattr(thing, own)) for own in thing.__all__)
        elif inspect.isroutine(thing) or inspect.isclass(thing):
            yield name, thing


def maker(thing: Any) -> Callable[..., Any] | None:
    """Return what is called: the function, or what makes an instance; None of protocols, errors and the like."""
    if not inspect.isclass(thing):
        return inspect.unwrap(thing)
    made = getattr(thing, "__new__" if "__new__" in vars(thing) else "__init__")
    plain = issubclass(thing, BaseException) or getattr(thing, "_is_protocol", False) or not inspect.isfunction(made)
    return None if plain else inspect.unwrap(made)


PUBLIC = {name: thing for name, thing in public() if maker(thing) is not None}


def arguments(name: str) -> list[Argument]:
    taken = Taken(maker(PUBLIC[name]), checked=is_dataclass(PUBLIC[name]))  # type: ignore[arg-type]
    own = [one for one in taken.named.values() if one.name not in ("self", "cls", "_cls")]
    return [*own, *(one for one in (taken.more, taken.rest) if one)]


def annotation(name: str, argument: str) -> str:
    return str(inspect.signature(maker(PUBLIC[name])).parameters[argument].annotation)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_refuses_what_is_nothing_of_its_kind(name: str) -> None:
    for argument in arguments(name):
        if argument.kind is ANYTHING:
            told = f"{name}.{argument.name}" in FREE or any(word in annotation(name, argument.name) for word in GIVEN)
            assert told, f"{name}.{argument.name}: {annotation(name, argument.name)} says nothing of what it takes"
            continue
        inside = any(word in annotation(name, argument.name) for word in GIVEN)
        for wrong in (object(), [object()])[: 1 if inside else 2]:
            assert not argument.fits(wrong), argument.name
        if argument.name in ("laws", "options"):  # *laws, **options
            continue
        with pytest.raises(fx.DefinitionError, match=rf"^{argument.name} = .* of the wrong kind for fx\.{name}: give "):
            PUBLIC[name](**{argument.name: object()})


FREE_METHODS = {"identify.MeasuredResponse.lines.which": "whatever numpy takes for an index"}
"""Arguments of methods that may be anything, and why."""
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Find the public methods that take arguments, inherited ones too, as they stand in the class."""
    for name in dir(cls):
        found = inspect.getattr_static(cls, name)
        function = getattr(found, "__func__", found)
        ours = inspect.isfunction(function) and function.__module__.startswith("flexctl.")
        if ours and not name.startswith("_") and set(inspect.signature(function).parameters) - {"self", "cls"}:
            yield name, function


@pytest.mark.parametrize("name", CLASSES)
def test_every_argument_of_every_method_refuses_what_is_nothing_of_its_kind(name: str) -> None:
    cls = CLASSES[name]
    for method, function in methods(cls):
        if method in EVERY_STEP:
            assert not hasattr(function, CHECKED), f"{name}.{method} is called in every step"
            continue
        bound = inspect.ismethod(getattr(cls, method))
        for argument in Taken(inspect.unwrap(function)).named.values():
            if argument.name in ("self", "cls"):
                continue
            text = str(inspect.signature(function).parameters[argument.name].annotation)
            if argument.kind is ANYTHING:
                free = f"{name}.{method}.{argument.name}" in FREE_METHODS
                assert free or any(word in text for word in GIVEN), f"{name}.{method}: {text}"
                continue
            message = rf"^{argument.name} = .* of the wrong kind for fx\.\w+\.{method}: "
            with pytest.raises(fx.DefinitionError, match=message):
                getattr(cls, method)(*([] if bound else [None]), **{argument.name: object()})
        if Taken(inspect.unwrap(function)).rest:
            continue
        with pytest.raises(TypeError, match=f"{method} has no argument 'nothing_of_this_name'"):
            getattr(cls, method)(*([] if bound else [None]), nothing_of_this_name=1)


def test_what_runs_in_every_step_is_what_the_interfaces_list() -> None:
    listed = {name for one in (fx.MechanicalModel, fx.Controller) for name, _ in methods(one)}
    assert listed <= EVERY_STEP


def test_code_of_flexctl_calls_methods_unchecked() -> None:
    """A check costs nothing where nobody can have mistyped: the frame of the caller decides."""
    run = {"__name__": "flexctl.elsewhere", "unit": fx.Response.unit}
    with pytest.raises(AttributeError):  # the method itself, of None
        eval("unit(None, 3)", run)
    with pytest.raises(fx.DefinitionError, match=r"^name = 3 \(int\) is of the wrong kind for fx\.Response\.unit: "):
        eval("unit(None, 3)", {**run, "__name__": "__main__"})


@pytest.mark.parametrize("name", [name for name in PUBLIC if not inspect.isclass(PUBLIC[name])])
def test_an_unknown_keyword_is_named_with_the_known_ones(name: str) -> None:
    known = [one.name for one in Taken(maker(PUBLIC[name])).named.values()]  # type: ignore[arg-type]
    if not known or Taken(maker(PUBLIC[name])).rest:  # type: ignore[arg-type]
        return
    word = known[-1] + "s"
    with pytest.raises(fx.DefinitionError, match=rf"^fx\.{name} has no argument '{word}' \(did you mean ") as found:
        PUBLIC[name](**{word: 1})
    assert isinstance(found.value, TypeError)


def test_no_argument_is_free_without_need() -> None:
    free = {f"{name}.{one.name}" for name in PUBLIC for one in arguments(name) if one.kind is ANYTHING}
    assert set(FREE) <= free


LAW = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])


class Half:
    """A law that cannot step."""

    sample_time, measures, drives, follows = 1e-3, ("a",), ("u",), ()

    def initial(self) -> None: ...


@pytest.mark.parametrize(("call", "message"), [
    (lambda: fx.Delayed(3), r"law = 3 \(int\) is of the wrong kind for fx.Delayed: give a control law"),
    (lambda: fx.Delayed(Half()), "it lacks step"),
    (lambda: fx.Frozen(LAW, 3), "give a mapping from texts to real numbers"),  # type: ignore[arg-type]
    (lambda: fx.names(["x"]), "give a sequence of fx.Signal"),  # type: ignore[list-item]
    (lambda: fx.LinearLaw(0.1, "angle", ()), r"write \('angle',\)"),  # type: ignore[arg-type]
    (lambda: fx.Circle((0.0, 0.0, 0.0), 1.0), "give 2 real numbers"),  # type: ignore[arg-type]
    (lambda: fx.quintic(np.nan, 1.0, 1.0), "begin = nan of fx.quintic is not a number"),
    (lambda: fx.LqgWeights(np.nan, 1.0, 1.0, 1.0, 1.0, (1.0,)), "rate = nan of fx.LqgWeights is not a number"),
    (lambda: fx.together(LAW, 3), r"laws = 3 \(int\) is of the wrong kind"),  # type: ignore[arg-type]
    (lambda: fx.find(["x"]), "give a text"),  # type: ignore[arg-type]
    (lambda: fx.Gravity(y="down"), "give a real number"),  # type: ignore[arg-type]
    (lambda: fx.Link(0.5, material="steel"), "give fx.Material"),  # type: ignore[arg-type]
    (lambda: fx.pd_gains({1.0, 2.0}, 8.0), "give a sequence of real numbers"),  # type: ignore[arg-type]
    (lambda: fx.Polyline([(0.0, 1.0), (1.0,)]), "give a sequence of 2 real numbers each"),  # type: ignore[list-item]
])
def test_the_error_says_what_was_given_and_what_is_taken(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(fx.DefinitionError, match=message):
        call()


def test_what_was_accepted_is_accepted() -> None:
    assert fx.names((fx.Signal("a"),)) == fx.names([fx.Signal("a")]) == ["a"]
    assert fx.quintic(np.float32(0.0), np.array(1.0), 1).duration == 1.0  # type: ignore[arg-type]
    assert fx.pd_gains(np.array([1.0, 2.0]), 8.0).kp == fx.pd_gains((1, 2), 8).kp  # type: ignore[arg-type]
    assert fx.Delayed(LAW, np.int64(2)).samples == 2  # type: ignore[arg-type]
    assert np.isnan(Margins(**dict.fromkeys(Margins.__dataclass_fields__, np.nan)).gain_margin)


def test_a_public_function_can_be_pickled() -> None:
    for name, thing in PUBLIC.items():
        assert pickle.loads(pickle.dumps(thing)) is thing, name


def test_a_warning_names_the_line_that_called_flexctl() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fx.from_matrices(A=[[0.0]], B=[[1.0]], C=[[1.0]]).norm(2)
        caution("here")
    assert [one.filename for one in caught] == [__file__, __file__]
