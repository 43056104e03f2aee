"""Pictures: what is drawn is the data, labelled with units, without side effects; files appear whole or not at all."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import flexctl as fx
from flexctl.io import plot
from flexctl.model import Signal
from flexctl.simulation.response import Response

ZETA = 1e-4
OMEGA = np.array([0.0, 74.0, 202.0, 366.0])
GAIN = np.array([20.0, 207.0, 733.0, 505.0])


def modal_plant(zeta: float = ZETA) -> fx.SecondOrder:
    """A rigid mode and three flexible ones, as decoupled oscillators seen by one sensor."""
    n = OMEGA.size
    zero = np.zeros((1, n))
    return fx.SecondOrder(
        np.eye(n), np.diag(2 * zeta * OMEGA), np.diag(OMEGA**2), np.sqrt(GAIN)[:, None], np.sqrt(GAIN)[None, :],
        zero, zero, np.zeros((1, 1)), tuple(Signal(f"y{i}", "m") for i in range(n)), (Signal("torque", "N m"),),
        (Signal("angle", "rad"),),
    )


def decibel(omega: float) -> float:
    return float(20 * np.log10(abs(np.sum(GAIN / (OMEGA**2 - omega**2 + 2j * ZETA * OMEGA * omega)))))


def a_run(scale: float = 1.0, name: str = "arm") -> Response:
    t = np.linspace(0.0, 1.0, 101)
    y = scale * np.column_stack([1 - np.exp(-5 * t), np.sin(9 * t)])
    u = np.where(t < 0.5, 0.1, -0.1)[:, None] * scale
    return Response(
        t, y, u, np.ones((t.size, 1)), (Signal("angle", "rad"), Signal("tip", "m")), (Signal("torque", "N m"),),
        (Signal("angle", "rad"),), provenance={"plant": name, "overrides": {"payload.mass": 0.02}},
    )


def pictures() -> Iterator[tuple[str, object]]:
    linear = modal_plant()
    sampled = linear.discrete(1e-3)
    yield "bode", plot.bode({"one": linear.frequency_response(), "other": modal_plant(1e-2).frequency_response()})
    yield "poles", plot.poles({"light": linear, "heavy": modal_plant(0.1)})
    yield "poles_z", plot.poles(sampled)
    yield "migration", plot.migration({zeta: modal_plant(zeta) for zeta in (0.05, 0.2, 0.5)}, "damping [1]")
    yield "mode_shapes", plot.mode_shapes(linear, 3, stations=np.linspace(0.25, 1.0, 4))
    yield "run", plot.run(a_run())
    yield "compare", plot.compare({"0 g": a_run(), "20 g": a_run(1.1)})
    yield (
        "groups",
        plot.compare({"small": {"a": a_run(), "b": a_run(1.1)}, "large": {"a": a_run(9.0), "b": a_run(10.0)}}),
    )
    yield (
        "surface",
        plot.surface(
            np.linspace(0, 1, 40), np.linspace(0, 1, 9), np.outer(np.linspace(0, 1, 40), np.linspace(0, 1, 9))
        ),
    )


@pytest.fixture(scope="module")
def drawn() -> dict[str, object]:
    return dict(pictures())


NAMES = ["bode", "poles", "poles_z", "migration", "mode_shapes", "run", "compare", "groups", "surface"]


class TestBode:
    def test_the_line_reaches_every_analytic_peak(self) -> None:
        """A peak is 2e-4 of its frequency wide: a plain logarithmic grid misses it by tens of dB."""
        figure = plot.bode(modal_plant().frequency_response())
        line = figure.axes[0].lines[0]
        hertz, height = line.get_data()
        for omega in OMEGA[1:]:
            near = (omega * (1 - ZETA), omega * (1 + ZETA))
            peak = minimize_scalar(
                lambda w: -decibel(w), bounds=near, method="bounded", options={"xatol": 1e-9 * omega}
            )
            window = np.abs(2 * np.pi * hertz / omega - 1) < 0.05
            assert height[window].max() == pytest.approx(-peak.fun, abs=0.05)
        assert figure.axes[0].get_ylim()[1] > height.max()

    def test_every_point_of_the_data_is_drawn(self) -> None:
        response = modal_plant().frequency_response()
        figure = plot.bode(response)
        for ax, data in zip(figure.axes, (response.magnitude_db(), response.phase_deg()), strict=True):
            np.testing.assert_array_equal(ax.lines[0].get_xdata(), response.omega / (2 * np.pi))
            np.testing.assert_array_equal(ax.lines[0].get_ydata(), data[0, 0])

    def test_an_unknown_channel_is_refused(self) -> None:
        with pytest.raises(fx.DefinitionError, match='did you mean "angle"'):
            plot.bode(modal_plant().frequency_response(), [("angel", "torque")])

    def test_given_axes_are_drawn_into(self) -> None:
        from matplotlib.figure import Figure

        own = Figure()
        axes = own.subplots(2, 1)
        assert plot.bode(modal_plant().frequency_response(), axes=axes) is own
        assert len(axes[0].lines) == 1
        with pytest.raises(fx.DefinitionError, match="3 axes given; this picture needs 2 x 1"):
            plot.bode(modal_plant().frequency_response(), axes=Figure().subplots(3, 1))


class TestPoles:
    def test_all_poles_are_there_with_the_rigid_pair(self, drawn: dict) -> None:
        x, y = drawn["poles"].axes[0].lines[0].get_data()
        expected = np.concatenate([w * (-ZETA + 1j * np.sqrt(1 - ZETA**2)) * np.array([1]) for w in OMEGA])
        expected = np.concatenate([expected, expected.conj()])
        key = lambda z: (round(z.imag, 3), round(z.real, 6))  # noqa: E731
        np.testing.assert_allclose(sorted(x + 1j * y, key=key), sorted(expected, key=key), rtol=1e-9, atol=1e-9)

    def test_below_leaves_the_higher_ones_out(self) -> None:
        _, y = plot.poles(modal_plant(), below=40.0).axes[0].lines[0].get_data()
        assert np.abs(y).max() == pytest.approx(202.0, rel=1e-6)

    def test_a_sampled_plant_gets_the_unit_circle(self, drawn: dict) -> None:
        points, circle = drawn["poles_z"].axes[0].lines
        exact = np.exp(1e-3 * OMEGA * (-ZETA + 1j * np.sqrt(1 - ZETA**2)))
        found = points.get_xdata() + 1j * points.get_ydata()
        expected = np.concatenate([exact, exact.conj()])
        assert found.size == expected.size
        assert max(np.abs(found - z).min() for z in expected) < 1e-7
        np.testing.assert_allclose(np.hypot(*circle.get_data()), 1.0, rtol=1e-12)

    def test_mixed_time_is_refused(self) -> None:
        with pytest.raises(fx.DefinitionError, match="do not share"):
            plot.poles({"a": modal_plant(), "b": modal_plant().discrete(1e-3)})


class TestMigration:
    def test_each_plant_has_its_upper_poles_at_its_value(self, drawn: dict) -> None:
        dots = drawn["migration"].axes[0].collections[0]
        points, values = dots.get_offsets() @ np.array([1.0, 1.0j]), dots.get_array()
        for zeta in (0.05, 0.2, 0.5):
            expected = OMEGA * (-zeta + 1j * np.sqrt(1 - zeta**2))
            found = points[values == zeta]
            np.testing.assert_allclose(np.sort_complex(np.unique(found.round(9))), np.sort_complex(expected), atol=1e-6)

    def test_ends_are_marked_there_and_on_the_scale(self, drawn: dict) -> None:
        picture, scale = drawn["migration"].axes[:2]
        for value, marker in ((0.05, "o"), (0.5, "s")):
            (line,) = (line for line in picture.lines if line.get_marker() == marker)
            assert np.abs(line.get_xdata()).max() == pytest.approx(value * OMEGA.max())
            (mark,) = (line for line in scale.lines if line.get_marker() == marker)
            assert mark.get_ydata() == [value]

    def test_below_leaves_the_higher_ones_out(self) -> None:
        figure = plot.migration({0.1: modal_plant(0.1), 0.2: modal_plant(0.2)}, "damping [1]", below=40.0)
        assert np.abs(figure.axes[0].collections[0].get_offsets()).max() < 2 * np.pi * 40.0

    @pytest.mark.parametrize(
        ("plants", "options", "message"),
        [
            ({1.0: modal_plant()}, {}, "1 plant given"),
            ({0.0: modal_plant(), 1.0: modal_plant()}, {"logarithmic": True}, "needs positive values of gain"),
            ({1.0: modal_plant(), 2.0: modal_plant().discrete(1e-3)}, {}, "no s plane"),
            ({1.0: modal_plant(), 2.0: modal_plant()}, {"below": -1.0}, "no pole below -1.0 Hz"),
        ],
    )
    def test_what_does_not_move_is_refused(self, plants: dict, options: dict, message: str) -> None:
        with pytest.raises(fx.DefinitionError, match=message):
            plot.migration(plants, "gain [1]", **options)


class TestShapesAndSurface:
    def test_shapes_are_scaled_and_signed(self, drawn: dict) -> None:
        for number, line in enumerate(drawn["mode_shapes"].axes[0].lines[:3], 1):
            np.testing.assert_allclose(np.abs(line.get_ydata()), [0.0, *np.eye(4)[number]], atol=1e-9)
            assert f"{OMEGA[number] / (2 * np.pi):.4g} Hz" in line.get_label()

    def test_stations_must_match(self) -> None:
        with pytest.raises(fx.DefinitionError, match="3 stations given; the plant has 4"):
            plot.mode_shapes(modal_plant(), stations=np.arange(3.0))

    def test_a_surface_needs_one_row_per_time(self) -> None:
        with pytest.raises(fx.DefinitionError, match="shape"):
            plot.surface(np.arange(3.0), np.arange(2.0), np.zeros((2, 3)))


class TestRuns:
    def test_inputs_are_drawn_as_they_are_held(self, drawn: dict) -> None:
        held = [line for ax in drawn["run"].axes for line in ax.lines if line.get_drawstyle() == "steps-post"]
        assert len(held) == 1
        np.testing.assert_array_equal(held[0].get_ydata(), a_run()["torque"])

    def test_the_reference_is_drawn_once(self, drawn: dict) -> None:
        labels = [line.get_label() for line in drawn["compare"].axes[0].lines]
        assert labels == ["0 g", "20 g", "reference"]

    def test_signals_can_be_chosen(self) -> None:
        figure = plot.compare({"a": a_run(), "b": a_run()}, ["tip"])
        assert [ax.get_ylabel() for ax in figure.axes] == ["tip [m]"]
        with pytest.raises(fx.DefinitionError, match="unknown time series"):
            plot.compare({"a": a_run()}, ["tipp"])

    def test_groups_stand_beside_each_other(self, drawn: dict) -> None:
        assert len(drawn["groups"].axes) == 4

    def test_the_title_says_which_plant(self, drawn: dict) -> None:
        assert drawn["run"].get_suptitle() == "arm, payload.mass = 0.02"


class TestEveryPicture:
    @pytest.mark.parametrize("name", NAMES)
    def test_axes_are_labelled_with_units(self, name: str, drawn: dict) -> None:
        figure = drawn[name]
        if name == "surface":
            assert all(re.search(r"\[.+\]$", label()) for ax in figure.axes for label in (ax.get_zlabel, ax.get_xlabel))
            return
        labels = [text for ax in figure.axes for text in (ax.get_ylabel(), ax.get_xlabel()) if text]
        assert all(re.search(r"\[.+\]$|number", text) for text in labels), labels
        panels = [ax for ax in figure.axes if ax.get_subplotspec()]  # a colour bar has none
        assert all(ax.get_ylabel() or ax.get_subplotspec().colspan.start > 0 for ax in panels)
        bottom = max(ax.get_subplotspec().rowspan.stop for ax in panels)
        assert all(ax.get_xlabel() for ax in panels if ax.get_subplotspec().rowspan.stop == bottom)

    @pytest.mark.parametrize("name", [n for n in NAMES if n != "surface"])
    def test_no_legend_covers_data(self, name: str, drawn: dict) -> None:
        figure = drawn[name]
        figure.draw_without_rendering()
        legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
        for legend in legends:
            box = legend.get_window_extent()
            for ax in figure.axes:
                inside = ax.get_window_extent()
                assert (
                    min(box.x1, inside.x1) <= max(box.x0, inside.x0) + 1
                    or min(box.y1, inside.y1) <= max(box.y0, inside.y0) + 1
                )
            assert box.x0 >= -1
            assert box.x1 <= figure.bbox.x1 + 1

    @pytest.mark.parametrize("name", NAMES)
    def test_nothing_is_cut_off(self, name: str, drawn: dict) -> None:
        figure = drawn[name]
        figure.draw_without_rendering()
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) >= -0.01
        assert box.x1 <= width + 0.01
        assert box.y1 <= height + 0.01

    def test_pictures_with_several_lines_have_a_legend(self, drawn: dict) -> None:
        for name in ("bode", "poles", "mode_shapes", "compare", "groups"):
            assert drawn[name].legends or drawn[name].axes[0].get_legend(), name

    def test_a_notebook_can_show_it_without_pyplot(self, drawn: dict) -> None:
        assert drawn["run"]._repr_png_().startswith(b"\x89PNG")

    def test_pyplot_and_the_settings_stay_untouched(self) -> None:
        code = (
            "import sys, numpy as np, flexctl.io.plot as plot, flexctl\n"
            "assert 'matplotlib' not in sys.modules\n"
            "import matplotlib; before = dict(matplotlib.rcParams)\n"
            "p = flexctl.load_plant('tokhi_azad_1994').linearise()\n"
            "plot.mode_shapes(p); plot.poles(p)\n"
            "plot.surface(np.arange(3.), np.arange(2.), np.zeros((3, 2)))\n"
            "assert dict(matplotlib.rcParams) == before\n"
            "assert 'matplotlib.pyplot' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


class TestPicturesOfOnesOwn:
    def test_they_have_the_style_and_take_the_other_functions(self) -> None:
        figure, axes = plot.subplots(2, 1, size=(5.0, 4.0), title="mine", sharex=True)
        assert plot.compare({"a": a_run(), "b": a_run(1.1)}, ["angle", "tip"], axes=axes) is figure
        assert figure.get_size_inches().tolist() == [5.0, 4.0]
        assert figure.get_suptitle() == "mine"
        assert not axes[0].spines["top"].get_visible()
        assert figure._repr_png_().startswith(b"\x89PNG")

    def test_a_loop_gain_is_in_plain_decibel(self) -> None:
        linear = modal_plant(1e-2)
        loop = fx.loop_gain(linear, fx.LinearLaw(1e-3, ("angle",), ("torque",), Dy=[[-1.0]]))
        top = plot.bode(fx.frequency_response(loop, np.geomspace(1.0, 1000.0, 50))).axes[0]
        assert top.get_ylabel() == "magnitude [dB]"


class TestFiles:
    @pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
    def test_the_same_data_give_the_same_file(self, suffix: str, tmp_path: Path) -> None:
        for name in ("a", "b"):
            plot.run(a_run(), path=tmp_path / f"{name}{suffix}")
        first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("a", "b"))
        assert first == second
        assert len(first) > 1000

    def test_png_has_150_dots_per_inch(self, tmp_path: Path) -> None:
        from matplotlib.image import imread

        figure = plot.run(a_run(), path=tmp_path / "a.png")
        assert imread(tmp_path / "a.png").shape[1] == round(150 * figure.get_figwidth())

    def test_a_failure_leaves_the_old_file_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from flexctl.io.plot import canvas

        (tmp_path / "a.png").write_bytes(b"old")

        def fails(self: object, stream: object, **options: object) -> None:
            stream.write(b"half")  # type: ignore[attr-defined]
            raise KeyboardInterrupt

        monkeypatch.setattr(canvas.Picture, "savefig", fails)
        with pytest.raises(KeyboardInterrupt):
            plot.run(a_run(), path=tmp_path / "a.png")
        assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
        assert (tmp_path / "a.png").read_bytes() == b"old"

    @pytest.mark.parametrize("name", ["missing/a.png", "a.jpeg", "a"])
    def test_a_bad_path_is_refused_and_nothing_appears(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(fx.DefinitionError):
            plot.run(a_run(), path=tmp_path / name)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("span", [(0.023, 0.29), (0.35, 4.7), (12.0, 17.0), (0.5, 2000.0)])
def test_frequencies_below_a_bode_plot_do_not_run_into_each_other(span: tuple[float, float]) -> None:
    """Over less than two decades matplotlib writes 3 x 10^-2, 4 x 10^-2, 6 x 10^-2 over each other."""
    plant = fx.load_plant("two_mass_spring").linearise()
    channels = [("tip_y", "joint1_torque"), ("joint1_angle", "joint1_torque")]
    figure = plot.bode(plant.frequency_response(2 * np.pi * np.geomspace(*span, 50)), channels)
    figure.canvas.draw()
    axis = figure.axes[-1].xaxis
    every = [*axis.get_majorticklabels(), *axis.get_minorticklabels()]
    inside = [x for x in every if x.get_text() and span[0] <= x.get_position()[0] <= span[1]]
    boxes = sorted((x.get_window_extent().x0, x.get_window_extent().x1) for x in inside)
    assert len(boxes) >= 3
    assert all(right[0] > left[1] for left, right in pairwise(boxes))
