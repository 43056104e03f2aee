"""Reports: one page that needs nothing else, whose numbers are those of the run. `tests/browser` opens them."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.io.films import film, film_of
from flexctl.io.report import page
from flexctl.io.report.certificates import _both
from flexctl.io.report.plants import pole_map
from flexctl.judging.validity import LinearValidity
from flexctl.model import names


def blocks(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    match = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    found = json.loads(match[1])["blocks"]
    assert isinstance(found, list)
    for one in (s for b in found if b["kind"] == "charts" for c in b["charts"] for s in c["series"]):
        one.update({key: unpacked(one[key]) for key in "xy"})
    return found


def unpacked(values: Any) -> list[float | None]:
    """Return the numbers of a curve, which may be written as 32-bit floats."""
    if not isinstance(values, str):
        return list(values)
    return [None if np.isnan(x) else float(x) for x in np.frombuffer(base64.b64decode(values), "<f4")]


def series(path: Path) -> dict[str, Any]:
    return {s["name"]: s for b in blocks(path) if b["kind"] == "charts" for c in b["charts"] for s in c["series"]}


def arm(name: str = "planar_2r_flexible", **changes: Any) -> fx.Plant:
    return fx.load_plant(name, overrides={"damping": {"kind": "rayleigh", "beta": 1e-3}, **changes})


def moved(plant: fx.Plant, torque: str = "joint1_torque", size: float = 0.3) -> fx.Response:
    return fx.simulate(plant, inputs={torque: fx.bang_bang(size, 0.1)}, duration=0.3, step=1e-3, record_states=True)


def test_curves_are_the_run(tmp_path: Path) -> None:
    run = moved(arm(**{"model.elements": 2}))
    found = series(fx.report(run, tmp_path / "r.html"))
    curve = found["tip y"]
    np.testing.assert_allclose(np.interp(curve["x"], run.t, run["tip_y"]), curve["y"], rtol=2e-5, atol=1e-9)
    assert found["joint1 torque"]["held"]
    assert "joint2 torque" not in found  # it does nothing


def test_a_long_curve_keeps_its_extremes() -> None:
    y = np.sin(np.linspace(0.0, 900.0, 200_001))
    y[123_456] = 7.0
    k = page.kept(y)
    assert k.size <= page.POINTS + 2
    assert y[k].max() == 7.0
    assert y[k].min() == y.min()


def test_a_page_of_many_runs_stays_small_and_says_how(tmp_path: Path) -> None:
    """25 runs made 17 MB."""
    run = moved(arm(**{"model.elements": 2}))
    n = np.arange(3000) % run.t.size
    assert run.q is not None
    long = replace(run, t=np.linspace(0.0, 3.0, n.size), y=run.y[n], u=run.u[n], q=run.q[n], v=None)
    path = fx.report({f"law {i}": long for i in range(14)}, tmp_path / "r.html")
    assert path.stat().st_size < 1_500_000
    told = blocks(path)
    assert "at most" in told[0]["text"]
    curve = series(path)["joint1 rate"]
    assert max(curve["y"]) == pytest.approx(long["joint1_rate"].max(), rel=1e-5)
    film = next(b["film"] for b in told if b["kind"] == "charts" and b["film"])
    wide = len(film["low"])
    assert len(unpacked(film["tip"])) == wide * len(film["t"])
    assert len(unpacked(film["links"])) == wide * sum(film["counts"]) * len(film["t"])
    assert film["t"][-1] == 3.0


def test_names_are_never_html(tmp_path: Path) -> None:
    """Of titles, runs and tables; the page has no element but its own, and no address."""
    evil = '</script><img src=x onerror="alert(1)">&amp;'
    run = moved(arm(**{"model.elements": 2}))
    path = fx.report({evil: run, "other": run}, tmp_path / "r.html", title=evil, asked=evil)
    text = path.read_text(encoding="utf-8")

    seen: set[str] = set()

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            seen.add(tag)

    Tags().feed(text)
    assert seen == {"html", "head", "meta", "title", "style", "body", "main", "h1", "script"}
    assert not re.search(r"(https?:)?//[a-z]", re.sub(r"//.*", "", text.replace("http://www.w3.org", "")))
    assert evil in [b.get("text") for b in blocks(path)]
    assert path.stat().st_size < 1_500_000


@pytest.mark.parametrize(("name", "changes", "torque"), [
    ("planar_2r_flexible", {"model.elements": 3}, "joint1_torque"),
    ("spatial_3r", {"model.elements": 2}, "joint2_torque"),
    ("tian_2r_beam", {"model.elements": 2}, "joint1_torque"),
])
def test_the_film_ends_at_the_tip(name: str, changes: dict[str, Any], torque: str) -> None:
    """Nodes that were recorded are where the tip's sensors say."""
    plant = fx.load_plant(name, overrides=changes)
    run = moved(plant, torque, 5.0)
    film = film_of(run)
    assert film is not None
    axes = [axis for axis in "xyz" if f"tip_{axis}" in names(run.outputs)]
    tip = np.array([np.interp(film["t"], run.t, run[f"tip_{axis}"]) for axis in axes]).T
    np.testing.assert_allclose(film["tip"], tip, atol=2e-4)
    for links in film["links"][::50]:
        for before, after in pairwise(links):
            np.testing.assert_allclose(before[-1], after[0], atol=1e-12)


def test_the_film_of_finite_differences_is_the_displacement() -> None:
    plant = fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 10})
    drive = names(plant.model.inputs)[0]
    run = moved(plant, drive, 0.2)
    assert film_of(run) is None  # its length is not known
    film = film_of(run, plant.arm)
    assert film is not None
    turned = np.unwrap(np.arctan2(*np.array(film["tip"]).T[::-1]))
    np.testing.assert_allclose(turned, np.interp(film["t"], run.t, run["tip_displacement"]) / 0.96, atol=2e-3)


def test_every_kind_of_result(tmp_path: Path) -> None:
    plant = fx.load_plant("tokhi_azad_1994", overrides={"damping": {"kind": "modal", "ratio": 0.01}})
    response = plant.frequency_response()
    found = series(fx.report(response, tmp_path / "bode.html"))
    assert max(found[next(iter(found))]["x"]) == pytest.approx(response.omega[-1] / (2 * np.pi), rel=1e-5)
    poles = series(fx.report(plant.modes(), tmp_path / "modes.html"))["plant"]
    assert "11.74 Hz, damping 0.01" in " ".join(poles["texts"])
    compared = fx.compare(["tokhi_azad_pd", "tokhi_azad_lqg"], only=["5 deg, 0 g"], workers=1)
    tables = [b for b in blocks(fx.report(compared, tmp_path / "c.html")) if b["kind"] == "table"]
    assert [row[1] for row in tables[0]["rows"]] == ["tokhi_azad_pd", "tokhi_azad_lqg"]
    assert [row[2] for row in tables[0]["rows"]] == [run.disk_margin for run in compared.runs]
    assert [column["name"] for column in tables[0]["columns"]] == ["scenario", "run", "disk\nmargin"]  # none failed
    assert [column["name"] for column in tables[1]["columns"]] == ["score", "tokhi_azad_pd", "tokhi_azad_lqg"]
    assert "chord1 angle: to 1 % [s]" in [row[0] for row in tables[1]["rows"]]


def test_a_certificate_says_first_whether_and_for_what_it_holds(tmp_path: Path) -> None:
    found = fx.certify("tokhi_azad_pd", payload=(0.0, 0.01), bits=(), workers=1, requirements={"disk_margin": 0.9})
    told = blocks(fx.report(found, tmp_path / "c.html"))
    assert told[0] == {"kind": "text", "text": "A requirement is not met.", "mood": "bad"}
    assert told[1]["text"] == found.holds
    verdicts = next(b for b in told if b["kind"] == "table")
    assert [row[3]["text"] for row in verdicts["rows"]] == [v.word for v in found.verdicts]


def test_the_loop_of_a_design(tmp_path: Path) -> None:
    script = fx.load_controller("tokhi_azad_lqg")
    plant = fx.load_plant(script.PLANT)
    law = script.design(plant)
    (run,) = (response for _, response in fx.run_scenarios(script, plant, controller=law, only=["5 deg, 0 g"]))
    path = fx.report(run, tmp_path / "r.html", design=law, plant=plant)
    table = next(b for b in blocks(path) if b["kind"] == "table" and b["columns"][0]["name"] == "loop")
    assert table["rows"][0][5] == pytest.approx(next(iter(law.margins.values())).disk_margin)
    assert {"-1", "closed loop"} <= set(series(path))


def test_a_sweep_shows_scores_over_parameters_and_why_cases_failed(tmp_path: Path) -> None:
    heads = ("case", "mass", "gain", "scenario", "status", "reason", "wall_s", "tip.settle_1pct_s", "push.peak")
    rows = tuple(
        (k, mass, gain, "5 deg", "ok" if gain < 3 else "failed", "" if gain < 3 else "it diverged", 0.1,
         0.4 + mass if gain < 3 else None, 0.0)
        for k, (mass, gain) in enumerate((m, g) for m in (0.0, 0.1, 0.2) for g in (1.0, 2.0, 3.0))
    )
    told = blocks(fx.report(fx.Table(heads, rows), tmp_path / "s.html"))
    assert told[0] == {"kind": "text", "text": "9 runs, 3 failed.", "mood": "bad"}
    assert told[1]["rows"] == [["it diverged", 3.0]]
    charts = {c["title"]: c for b in told if b["kind"] == "charts" for c in b["charts"]}
    assert list(charts) == ["tip to 1 % [s] over mass", "tip to 1 % [s] over gain"]
    (points,) = charts["tip to 1 % [s] over mass"]["series"]
    assert points["x"] == [0.0, 0.0, 0.1, 0.1, 0.2, 0.2]
    assert points["y"] == pytest.approx([0.4, 0.4, 0.5, 0.5, 0.6, 0.6])
    scores = next(b for b in told if b["kind"] == "table" and b["columns"][0]["name"] == "score")
    assert scores["rows"][0][1:] == pytest.approx([0.4, 0.5, 0.6, 3.0])
    assert "push" not in json.dumps(told)  # nothing ever acts there


def test_a_sweep_of_a_known_plant_states_units(tmp_path: Path) -> None:
    heads = ("case", "payload.mass", "scenario", "status", "reason", "wall_s", "joint1_angle.rms_error")
    rows = tuple((k, mass, "5 deg", "ok", "", 0.1, 0.01 + mass) for k, mass in enumerate((0.0, 0.1)))
    told = blocks(fx.report(fx.Table(heads, rows), tmp_path / "s.html", plant="tokhi_azad_1994"))
    (chart,) = [c for b in told if b["kind"] == "charts" for c in b["charts"]]
    assert chart["title"] == "joint1 angle rms error [rad] over payload.mass"
    assert "payload.mass [kg]" in json.dumps(chart)
    *_, every = [b for b in told if b["kind"] == "table"]
    names = [" ".join(column["name"].split()) for column in every["columns"]]
    assert {"payload mass [kg]", "joint1 angle rms error [rad]"} <= set(names)


def test_scores_stand_below_each_other_with_their_units(tmp_path: Path) -> None:
    """One row of 67 columns came out, without a unit."""
    run = moved(arm(**{"model.elements": 2}))
    told = blocks(fx.report(run, tmp_path / "r.html"))
    tables = [b for b in told if b["kind"] == "table"]
    heads = [[column["name"] for column in table["columns"]] for table in tables]
    assert all(head[:2] == ["signal", "unit"] and len(head) < 8 for head in heads)
    rows = {row[0]: row for table in tables for row in table["rows"]}
    assert rows["joint1 angle"][1] == "rad"
    assert rows["joint1 angle"][3] == pytest.approx(run.scores["joint1_angle.max"])
    assert "tip force x" not in rows
    late = replace(run, scores={"joint1_angle.settle_1pct_s": np.inf})
    both = blocks(fx.report({"a": run, "b": late}, tmp_path / "r.html"))
    table = next(b for b in both if b["kind"] == "table")
    assert [column["name"] for column in table["columns"]] == ["score", "a", "b"]
    cells = {row[0]: row[1:] for row in table["rows"]}
    assert cells["joint1 angle: to 1 % [s]"] == [None, {"text": f"> {run.t[-1]:.4g}", "key": 1e308}]


def test_the_linear_prediction_begins_where_the_full_run_does() -> None:
    """Of an arm whose joint begins at 30 deg it lay half a radian below the full run."""
    full = moved(arm(**{"model.elements": 2}))
    angle = names(full.outputs).index("joint1_angle")
    linear = replace(full, y=full.y - 0.5 * np.eye(full.y.shape[1])[angle])
    drawn = _both({"linear": linear, "full": full})["charts"]
    prediction, run = next(c for c in drawn if c["title"] == "joint1 angle")["series"]
    assert prediction["y"] == pytest.approx(run["y"], abs=1e-4)


def test_what_was_identified_is_shown_beside_the_data(tmp_path: Path) -> None:
    plant = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01})
    w = np.linspace(5.0, 450.0, 150)
    H = plant.linearise().transfer(1j * w)[:1]
    data = fx.identify.measured_response(w, H, ["joint1_torque [N m]"], ["joint1_angle [rad]"], relative=0.01)
    key = "joint.1.hub_inertia"
    found = fx.identify.parameters(plant, data, [key], start={key: 1e-3}, mesh=False)
    shown = series(fx.report(found, tmp_path / "p.html", data=data))
    np.testing.assert_allclose(shown["model"]["y"], np.degrees(np.angle(H[0, 0])), atol=1e-2)
    fit = fx.identify.modal(data, most=6, delay=0.0)
    path = fx.report(fit, tmp_path / "m.html")
    poles = next(c for b in blocks(path) if b["kind"] == "charts" for c in b["charts"] if c.get("points"))
    assert len(poles["series"][0]["x"]) + len(poles["series"][1]["x"]) == sum(
        int(np.sum(o.poles.imag > 0.0)) for o in fit.orders
    )


def test_a_bode_plot_knows_its_modes(tmp_path: Path) -> None:
    """The page names the mode under the cursor, with the number that `modes` gives it."""
    plant = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01})
    path = fx.report(fx.frequency_response(plant, lo=5.0, hi=300.0), tmp_path / "b.html")
    known = next(c for b in blocks(path) if b["kind"] == "charts" for c in b["charts"])["modes"]
    first = plant.linearise().modes(2)
    assert [m["x"] for m in known] == pytest.approx(first.frequencies_hz)
    assert known[1]["text"] == f"mode 2: {first.frequencies_hz[1]:.4g} Hz, damping 0.01"
    fx.report(fx.frequency_response(fx.load_plant("tokhi_azad_1994"), [1.0, 2.0]), path)  # no mode in its range


def test_zeros_without_damping_do_not_squash_a_bode_plot(tmp_path: Path) -> None:
    """They reach -300 dB; and a gain has the units of its channel."""
    path = fx.report(arm(damping={"kind": "none"}).frequency_response(), tmp_path / "b.html")
    chart = next(c for b in blocks(path) if b["kind"] == "charts" for c in b["charts"])
    lowest = min(y for s in chart["series"] for y in s["y"] if y is not None)
    assert lowest + 30.0 < chart["y"]["floor"] < -50.0
    assert chart["title"] == "joint1 torque [N m]: magnitude"
    assert chart["series"][0]["name"] == "joint1 angle [rad]"


def test_small_deflections_stay_smooth_when_magnified() -> None:
    """Places were rounded to five digits: steps of a centimetre on a link of a metre at a thousand times."""
    s = np.linspace(0.0, 1.0, 9)
    sag = 3e-5 * s**2
    link = np.stack([np.cos(0.7) * s - np.sin(0.7) * sag, 0.0 * s, np.sin(0.7) * s + np.cos(0.7) * sag], axis=1)
    shown = np.array(film("", np.zeros(1), [link[None]], {"tip": []})["links"][0][0])
    np.testing.assert_allclose(1000.0 * (shown - link), 0.0, atol=2e-4)


def test_an_arm_in_space_stands_on_a_floor() -> None:
    link = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, -0.4]]])
    assert film("", np.zeros(1), [link], {"tip": []})["floor"] == -0.4
    assert "floor" not in film("", np.zeros(1), [link[..., :2]], {"tip": []})


def test_how_far_a_linear_plant_holds(tmp_path: Path) -> None:
    found = LinearValidity(
        np.array([0.5, 1.0, 2.0]), np.array([0.01, 0.06, np.inf]), np.zeros(3, bool),
        {"tip_y": np.array([0.01, 0.06, np.inf]), "joint1_angle": np.array([0.0, 0.01, np.inf])},
        failures={2.0: "no balance <at> 1.2 s"}, errors={"tip_y": np.full(3, 1e-3)},
    )
    told = blocks(fx.report(found, tmp_path / "v.html"))
    assert "0.932 times" in told[0]["text"]
    assert "no balance" in told[1]["text"]
    chart = next(b for b in told if b["kind"] == "charts")["charts"][0]
    assert chart["series"][0]["y"] == [0.01, 0.06, None]
    table = next(b for b in told if b["kind"] == "table")
    assert table["rows"][0][:3] == ["tip y", 0.01, 0.06]
    assert table["rows"][0][4] == 1e-3
    assert len(table["columns"]) == len(table["rows"][0]) == 6


def test_nine_runs_are_told_apart() -> None:
    """There are seven colours: the eighth curve looked like the first."""
    looks = [tuple(page.one_of(k).values()) for k in range(20)]
    assert len(set(looks)) == len(looks)


def test_a_pole_map_shows_the_slow_poles_first() -> None:
    slow, fast = np.arange(1, 15) * (-0.1 + 10.0j), np.array([-9e3 + 0j])
    view = pole_map({"loop": np.concatenate([slow, fast])})["view"]
    assert -3.0 < view["x"][0] < -1.2
    assert 120.0 < view["y"][1] < 150.0
    assert "view" not in pole_map({"loop": slow})
    assert "view" not in pole_map({"loop": np.zeros(0, complex)})


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(fx.DefinitionError, match=r"does not end with \.html"):
        fx.report({}, tmp_path / "r.pdf")
    with pytest.raises(fx.DefinitionError, match="nothing to report"):
        fx.report({}, tmp_path / "r.html")
    with pytest.raises(fx.DefinitionError, match="int cannot be reported"):
        fx.report(3, tmp_path / "r.html")
    assert not list(tmp_path.iterdir())
