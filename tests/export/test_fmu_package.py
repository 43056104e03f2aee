"""The package of a unit: the same bytes every time, sources, names, units of measurement, options."""

from __future__ import annotations

import io
import os
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_fmu_plant import arm, coupled, needs_compiler

import flexctl as fx
from flexctl.export.fmu import package
from flexctl.export.fmu.description import distinct
from flexctl.export.fmu.linear import RUNTIME, source
from flexctl.export.fmu.units import base_unit


def archive(folder: Path, name: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO((folder / f"{name}.fmu").read_bytes()))


@needs_compiler
def test_two_exports_are_the_same_bytes_and_the_guid_is_that_of_the_content(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    first = fx.export_plant(arm(), tmp_path / "a", "fmu", name="arm")
    second = fx.export_plant(arm(), tmp_path / "b", "fmu", name="arm")
    assert (tmp_path / "a/arm.fmu").read_bytes() == (tmp_path / "b/arm.fmu").read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    dated = fx.export_plant(arm(), tmp_path / "c", "fmu", name="arm", binary=False)
    described = archive(tmp_path / "c", "arm").read("modelDescription.xml")
    assert b'generationDateAndTime="2023-11-14T22:13:20Z"' in described
    other = fx.export_plant(arm(3), tmp_path / "d", "fmu", name="arm", binary=False)
    guids = [made.facts["guid"] for made in (first, second, dated, other)]
    assert guids[0] == guids[1] == guids[2] != guids[3]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(fx.DefinitionError, match="SOURCE_DATE_EPOCH"):
        fx.export_plant(arm(), tmp_path / "e", "fmu", name="arm")
    assert not (tmp_path / "e").exists()


@needs_compiler
def test_the_binary_shows_the_interface_alone_and_no_path(tmp_path):
    fx.export_plant(arm(), tmp_path / "out", "fmu", name="arm")
    data = archive(tmp_path / "out", "arm").read("binaries/linux64/arm.so")
    (tmp_path / "arm.so").write_bytes(data)
    listed = subprocess.run(["nm", "-D", "--defined-only", "arm.so"], cwd=tmp_path, capture_output=True, text=True)
    if listed.returncode == 0:
        shown = [line.split()[-1] for line in listed.stdout.splitlines()]
        assert len(shown) == 44
        assert all(name.startswith("fmi2") for name in shown)
    assert os.fsencode(str(tmp_path.parent)) not in data


@needs_compiler
def test_sources_compile_without_a_warning_also_with_a_prefix(tmp_path):
    fx.export_plant(coupled(), tmp_path / "out", "fmu", name="coupled")
    archive(tmp_path / "out", "coupled").extractall(tmp_path)
    strict = [
        "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes",
        "-Wmissing-prototypes", "-Wundef", "-Werror", "-DFMI2_FUNCTION_PREFIX=coupled_", "-c", "coupled.c", "-o", "c.o",
    ]
    words = [package.find_compiler(), *strict]
    run = subprocess.run(words, cwd=tmp_path / "sources", capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    words = ["nm", "--defined-only", "-g", "c.o"]
    listed = subprocess.run(words, cwd=tmp_path / "sources", capture_output=True, text=True)
    if listed.returncode == 0:
        assert all(line.split()[-1].startswith("coupled_fmi2") for line in listed.stdout.splitlines())


def test_without_a_compiler_the_fmu_has_sources_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    made = fx.export_plant(arm(), tmp_path / "out", "fmu", name="arm")
    assert any("no C compiler" in note for note in made.notes) or package.binary_folder() is None
    assert made.facts["binary"] is False
    names = archive(tmp_path / "out", "arm").namelist()
    assert "sources/flexctl_linear.c" in names
    assert not any(name.startswith("binaries/") for name in names)


@pytest.mark.skipif(package.binary_folder() is None, reason="binaries are built on 64-bit Linux alone")
def test_a_compiler_that_fails_is_told_and_nothing_is_left(tmp_path, monkeypatch):
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho 'no license' >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CC", str(fake))
    with pytest.raises(fx.NotAvailable, match=r"(?s)code 3.*no-binary.*no license"):
        fx.export_plant(arm(), tmp_path / "out", "fmu", name="arm")
    assert not (tmp_path / "out").exists()
    made = fx.export_plant(arm(), tmp_path / "out", "fmu", name="arm", binary=False)
    assert made.facts["binary"] is False


def test_source_says_every_matrix_entry_exactly():
    plant = coupled()
    text = source(plant, "x", "x */ y", np.ones(6))
    assert "x * / y" in text
    for value in plant.A[plant.A != 0]:
        assert float(value).hex() in text
    assert set(package.runtime(RUNTIME)) == set(RUNTIME)


# --- names and units -------------------------------------------------------------------------------------------------


def test_names_of_different_groups_stay_apart_and_twins_are_refused(tmp_path):
    A = np.array([[-1.0]])
    plant = fx.from_matrices(A=A, B=[[1.0]], C=[[1.0]], inputs=["v"], outputs=["v_output"], states=["s"])
    same = replace(plant, outputs=(fx.Signal("v"),), states=(fx.Signal("v"),))
    made = fx.export_plant(same, tmp_path / "out", "fmu", name="same", binary=False)
    assert any('the output "v" is called "v_output"' in note for note in made.notes)
    assert any('the state "v" is called "v_state"' in note for note in made.notes)
    twins = replace(same, inputs=(fx.Signal("w"), fx.Signal("w")), B=np.ones((1, 2)), D=np.zeros((1, 2)))
    with pytest.raises(fx.DefinitionError, match='two inputs are called "w"'):
        fx.export_plant(twins, tmp_path / "twins", "fmu", name="twins")
    assert not (tmp_path / "twins").exists()


def test_a_new_name_is_not_one_that_exists():
    found, notes = distinct([("input", ["a"]), ("output", ["a", "a_output"]), ("state", ["a_output", "b"])])
    assert found == [["a"], ["a_output2", "a_output"], ["a_output_state", "b"]]
    assert len(notes) == 2


def test_strange_names_and_texts_are_still_valid(tmp_path):
    from fmpy.validation import validate_fmu

    plant = fx.from_matrices(A=[[-1.0]], B=[[1.0]], C=[[1.0]], inputs=["u"], outputs=["y"])
    odd = replace(
        plant, outputs=(fx.Signal('tip <&> "left" 100%', "rad/s²", 'déjà "vu" \x01'),),
        inputs=(fx.Signal("a b", "furlong"),),
    )
    fx.export_plant(odd, tmp_path / "out", "fmu", name="odd", binary=False)
    assert validate_fmu(str(tmp_path / "out" / "odd.fmu")) == []
    described = archive(tmp_path / "out", "odd").read("modelDescription.xml").decode()
    assert 'variableNamingConvention="flat"' in described


@pytest.mark.parametrize(
    ("unit", "factor", "exponents"),
    [
        ("rad", 1.0, {"rad": 1}), ("N m", 1.0, {"kg": 1, "m": 2, "s": -2}), ("rad/s^2", 1.0, {"s": -2, "rad": 1}),
        ("N m s/rad", 1.0, {"kg": 1, "m": 2, "s": -1, "rad": -1}), ("m/s²", 1.0, {"m": 1, "s": -2}), ("1", 1.0, {}),
        ("1/s", 1.0, {"s": -1}), ("deg", np.pi / 180, {"rad": 1}), ("mm/s", 1e-3, {"m": 1, "s": -1}),
        ("kg m^2", 1.0, {"kg": 1, "m": 2}), ("Pa", 1.0, {"kg": 1, "m": -1, "s": -2}),
    ],
)
def test_units_in_base_units(unit, factor, exponents):
    found = base_unit(unit)
    assert found is not None
    assert found.factor == pytest.approx(factor)
    assert found.exponents == exponents


@pytest.mark.parametrize("unit", ["J^0.5", "furlong", "kg^0.5 m", "?"])
def test_units_that_fmi_cannot_say(unit):
    assert base_unit(unit) is None


# --- wrong calls and wrong input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": 4}, "first order already"), ({"step": 0.0}, "step = 0.0 s"), ({"stop": -1.0}, "stop = -1.0 s"),
        ({"sample_time": 1e-3}, "sample_time has no effect"), ({"setp": 1.0}, "setp"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    with pytest.raises(fx.DefinitionError, match=message):
        fx.export_plant(coupled(), tmp_path / "out", "fmu", name="x", **options)
    assert not (tmp_path / "out").exists()
