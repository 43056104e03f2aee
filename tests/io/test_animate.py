"""Animations and pictures of tracking runs: what is drawn is the data; files appear whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_tracking import plant, track

import flexctl as fx
from flexctl.catalogue import load_plant
from flexctl.design.tracking import pd_gains, tip_tracking
from flexctl.errors import DefinitionError, NotAvailable
from flexctl.io import plot
from flexctl.io.animate import animate, animate_mode, film
from flexctl.io.films import Still, links_of, mode_film, mode_shape
from flexctl.simulation.path_stability import stability_over_damping
from flexctl.simulation.simulate import simulate


@cache
def run(duration: float = 1.0) -> fx.Response:
    where, model = track("eased"), plant(beta=1e-3)
    law = tip_tracking(where, pd_gains((35.0, 20.5), 8.0), filter_time=0.02)
    return simulate(model, law, where.references(model, law), duration=duration, step=1e-3, initial=where.start)


def test_links_hang_together_and_bend_by_what_is_measured() -> None:
    shown = film(run(), track("eased"), 11, magnify=1.0)
    np.testing.assert_allclose(shown.links[:, 0, 0], 0.0, atol=1e-15)
    np.testing.assert_allclose(shown.links[:, 0, -1], shown.links[:, 1, 0], atol=1e-12)
    np.testing.assert_allclose(shown.links[:, 1, -1], shown.tip, atol=1e-12)
    span = np.linalg.norm(shown.links[:, 0, -1], axis=1), np.linalg.norm(shown.tip - shown.links[:, 1, 0], axis=1)
    np.testing.assert_allclose(span, np.broadcast_to([[0.4], [1.6]], (2, 11)), atol=1e-6)
    np.testing.assert_allclose(shown.error, 1e3 * np.linalg.norm(shown.tip - shown.wanted, axis=1))
    # the tangent at the root leaves the chord by deflection / length: joint angle against chord angle
    big = film(run(), track("eased"), 11, magnify=1e3)
    k = np.linspace(0, run().t.size - 1, 11).round().astype(int)
    first, chord = big.links[:, 0, 1] - big.links[:, 0, 0], big.links[:, 0, -1]
    across = chord[:, 0] * first[:, 1] - chord[:, 1] * first[:, 0]
    turn = np.arctan2(across, np.sum(chord * first, axis=1)) / 1e3
    np.testing.assert_allclose(turn, (run()["joint1_angle"] - run()["chord1_angle"])[k], rtol=0.2, atol=1e-9)
    assert np.abs(turn).max() > 1e-6


def test_a_gif_has_its_frames_and_moves(tmp_path: Path) -> None:
    path = animate(run(), track("eased"), tmp_path / "a.gif", frames=5, title="circle")
    with Image.open(path) as image:
        assert image.n_frames == 5
        pictures = []
        for k in (0, 4):
            image.seek(k)
            pictures.append(np.asarray(image.convert("RGB")))
    assert pictures[0].shape == pictures[1].shape
    assert (pictures[0] != pictures[1]).mean() > 1e-3
    assert list(tmp_path.iterdir()) == [path]


def test_the_html_needs_nothing_else_and_holds_the_run(tmp_path: Path) -> None:
    page = animate(run(), track("eased"), tmp_path / "a.html", frames=20, title="circle <b>").read_text()
    assert "<h1>circle &lt;b></h1>" in page
    assert not re.search(r"https?://|src=|__DATA__|__TITLE__", page)
    (data,) = re.findall(r"const D = (\{.*\});", page)
    held = json.loads(data)
    assert len(held["t"]) == len(held["links"]) == 20
    np.testing.assert_allclose(held["tip"][-1], [run()["tip_x"][-1], run()["tip_y"][-1]], atol=1e-4)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the page's script")
def test_the_script_of_the_page_runs(tmp_path: Path) -> None:
    page = animate(run(), track("eased"), tmp_path / "a.html", frames=20).read_text()
    (script,) = re.findall(r"<script>(.*)</script>", page, re.S)
    stub = """
    const calls = {}; let frames = 0;
    const context = new Proxy({measureText: t => ({width: 7 * t.length})}, {get: (o, k) => k in o ? o[k] :
      (...a) => { calls[k] = (calls[k] || 0) + 1; if (a.some(x => typeof x === "number" && !isFinite(x))) throw k; },
      set: () => true});
    const elements = {};
    const document = {getElementById: id => elements[id] = elements[id] ||
      {width: 480, height: 304, getContext: () => context}};
    const requestAnimationFrame = f => { if (frames++ < 30) f(frames * 400); };
    """
    check = "\nconsole.log(JSON.stringify([calls.lineTo, calls.arc, elements.clock.textContent]));"
    done = subprocess.run(["node", "-e", stub + script + check], capture_output=True, text=True, check=True)
    lines, dots, clock = json.loads(done.stdout)
    assert lines > 1000
    assert dots == 3 * 30
    assert re.fullmatch(r"\d\.\d\d s, error .* mm", clock)


@pytest.mark.parametrize(("name", "options", "message"), [
    ("a.avi", {}, 'suffix ".avi"; use .gif, .html or .mp4'),
    ("a.gif", {"frames": 1}, "1 frames make no animation"),
    ("a.gif", {"seconds": 0.0}, "seconds = 0.0 must be positive"),
])
def test_nonsense_is_refused(tmp_path: Path, name: str, options: dict[str, float], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        animate(run(), track("eased"), tmp_path / name, **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_the_five_pictures_show_the_run() -> None:
    figures = plot.tracking({"one": run(), "other": run(0.5)})
    assert list(figures) == ["path", "errors", "angles", "torques", "deflections"]
    lines = {line.get_label(): line for line in figures["errors"].axes[1].lines}
    np.testing.assert_allclose(lines["one"].get_ydata(), 1e3 * (run()["tip_y"] - run()["reference:tip_y"]))
    left = figures["path"].axes[0].lines[0]
    np.testing.assert_allclose(left.get_xydata(), np.column_stack([run()["tip_x"], run()["tip_y"]]))
    right = figures["path"].axes[1]
    factor = float(right.get_title().split()[2])
    wanted = run()["reference:tip_x"] + factor * (run()["tip_x"] - run()["reference:tip_x"])
    np.testing.assert_allclose(right.lines[0].get_xdata(), wanted)
    np.testing.assert_allclose(figures["deflections"].axes[1].lines[0].get_ydata(), 1e3 * run()["link2_deflection"])


def test_a_run_without_a_path_is_refused() -> None:
    with pytest.raises(DefinitionError, match="no reference of its tip"):
        plot.tracking(fx.simulate(plant(), duration=0.01))


def test_pictures_of_stability(tmp_path: Path) -> None:
    gains = pd_gains((35.0, 20.5), 4.0)
    laws = {a: tip_tracking(track(), gains, angles=a, sample_time=0.0) for a in ("joint", "chord")}
    found = stability_over_damping(plant(), laws, track(), [0.0, 1e-3], 2)
    figure = plot.stability(found, [0.0, 1e-3], path=tmp_path / "s.png")
    np.testing.assert_allclose(figure.axes[0].lines[1].get_ydata(), [item.worst for item in found["chord"]])
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["none", "0.001"]
    poles = plot.poles_along({label: rows[1] for label, rows in found.items()})
    assert all(np.max(np.abs(line.get_ydata())) <= 200.0 for ax in poles.axes for line in ax.lines[:-1])
    with pytest.raises(DefinitionError, match="one damping for every stability"):
        plot.stability(found, [0.0])


ARMS = (
    ("li_zhang_three_link", {"segments": 4}), ("ralf", {}), ("tian_ancf_circle", {}),
    ("tokhi_azad_1994", {"sections": 8}), ("planar_2r_flexible", {"elements": 3}),
    ("planar_2r_flexible", {"kind": "assumed_modes"}),
    ("spatial_3r", {"elements": 2}), ("quanser_flexible_joint", {}),
)


@pytest.mark.parametrize(("name", "model"), ARMS)
def test_every_arm_shows_its_modes(name: str, model: dict[str, object]) -> None:
    plant = load_plant(name, model=model)
    linear = plant.linearise()
    shown = mode_film(plant.model, plant.arm, linear, 1)
    assert shown is not None
    assert len(shown["links"][0]) == len(plant.arm.links)
    tips = np.array(shown["tip"])
    assert np.allclose(tips[0], tips[-1])  # a cycle
    # the tip moves along the shape as the sensors see it
    known = [s.name for s in linear.outputs]
    rows = [known.index(f"tip_{axis}") for axis in "xyz"[: tips.shape[1]]]
    found = linear.modes(1)
    full = mode_shape(linear, found, 1)
    reduced = full if linear.basis is None else np.linalg.lstsq(linear.basis, full, rcond=None)[0]
    seen = (linear.Cq @ reduced)[rows]
    moved = tips[0] - 0.5 * (tips[0] + tips[len(tips) // 2])
    size = np.linalg.norm(moved)
    cosine = abs(np.vdot(seen.real, moved)) / (np.linalg.norm(seen.real) * size) if size > 1e-6 else 1.0
    assert cosine == pytest.approx(1.0, abs=1e-3)


def test_modes_and_runs_of_any_arm_are_written(tmp_path: Path) -> None:
    plant = load_plant("spatial_3r", model={"elements": 2})
    path = animate_mode(plant, tmp_path / "mode.gif", 3, seconds=1.0)
    with Image.open(path) as image:
        assert image.n_frames > 20
    page = animate_mode(plant, tmp_path / "mode.html", 3).read_text()
    assert "Mode 3: " in page
    assert '"unit":"cycle"' in page
    still = Still(np.arange(3.0), np.tile(plant.model.reference(), (3, 1)), plant.model.coordinates)
    links = links_of(still, np.arange(3), plant.arm, plant.model)
    assert links is not None
    assert [x.shape[-1] for x in links] == [3, 3, 3]
    with pytest.raises(DefinitionError, match="mode 99: there are"):
        animate_mode("tokhi_azad_1994", tmp_path / "none.gif", 99)
    with pytest.raises(DefinitionError, match="run it with record_states=True"):
        animate(run(), None, tmp_path / "none.gif")
    with pytest.raises(DefinitionError, match="linear plant: where its links are is not known"):
        animate(run(), load_plant("tokhi_azad_1994").linearise(), tmp_path / "none.gif")
    assert not (tmp_path / "none.gif").exists()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
def test_an_mp4_is_a_film(tmp_path: Path) -> None:
    path = animate_mode("tokhi_azad_1994", tmp_path / "mode.mp4", 2, seconds=1.0)
    assert path.read_bytes()[4:8] == b"ftyp"


def test_a_missing_ffmpeg_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotAvailable, match="needs the program ffmpeg"):
        animate_mode("tokhi_azad_1994", tmp_path / "mode.mp4", 2)
