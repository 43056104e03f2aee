"""Every plant file of the catalogue: it loads, its numbers have a source, the built plant is what the file expects."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

import flexctl as fx
from flexctl.catalogue.definition import GROUNDS
from flexctl.catalogue.expected import Expected, check_one

NAMES = fx.list_plants()
load = cache(fx.load_plant)
ENTRIES = [(name, i) for name in NAMES for i in range(len(load(name).expected))]


def test_the_catalogue_holds_exactly_the_files_of_its_folder() -> None:
    files = sorted(path.stem for path in fx.find("plants").iterdir())
    assert files == NAMES
    assert "tokhi_azad_1994" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_plant_says_what_it_is_and_what_to_expect(name: str) -> None:
    plant = load(name)
    assert plant.title != name
    assert plant.reference
    quantities = {entry.quantity for entry in plant.expected}
    assert {"frequencies_hz", "rigid_modes"} <= quantities, "a plant file states its frequencies and its rigid modes"


@pytest.mark.parametrize("name", NAMES)
def test_every_physical_number_has_a_source(name: str) -> None:
    plant = load(name)
    assert plant.undocumented() == []
    physical = [row for row in plant.rows if row.physical and row.given]
    assert physical, "no physical number at all"
    assert all(row.provenance.partition(":")[0] in GROUNDS for row in physical)


@pytest.mark.parametrize(("name", "entry"), ENTRIES)
def test_expected_values(name: str, entry: int) -> None:
    wanted: Expected = load(name).expected[entry]
    outcome = check_one(load(name).with_(wanted.overrides), wanted)
    assert outcome.passed, str(outcome)


@pytest.mark.parametrize("name", NAMES)
def test_the_linear_plant_says_where_it_comes_from(name: str) -> None:
    plant = load(name).with_(payload={"mass": 1e-3})
    said = plant.linearise().provenance
    assert said["plant"] == name
    assert said["model"] == plant.kind
    assert said["overrides"] == {"payload.mass": 1e-3}
    assert said["version"] == fx.__version__
    assert said["source"] == f"plants/{name}.toml"


def test_frequencies_fall_with_the_payload() -> None:
    """Rayleigh: added mass lowers every natural frequency."""
    plants = [load("tokhi_azad_1994").with_(payload={"mass": mass}) for mass in (0.0, 0.01, 0.02)]
    frequencies = [plant.modes(5).frequencies_hz for plant in plants]
    assert all((heavier < lighter).all() for lighter, heavier in pairwise(frequencies))
