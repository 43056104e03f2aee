"""What a gallery example shows: every figure it has made, and every GIF or page it has written."""

from __future__ import annotations

import shutil
import textwrap
import warnings
from pathlib import Path
from typing import Any

SHOWN = "_shown_in_the_gallery"
FRAME = """
.. raw:: html

    <iframe src="pages/{name}" title="{title}" loading="lazy" class="gallery-page"></iframe>
    <p><a href="pages/{name}">Open this page by itself.</a></p>
"""


def figures_and_films(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save what a block of an example has made, and return the text that shows it."""
    from sphinx_gallery.scrapers import figure_rst

    paths, pages = [], []
    for figure in _figures(variables["example_globals"]):
        path = next(variables["image_path_iterator"])
        figure.savefig(path, dpi=110)
        setattr(figure, SHOWN, True)
        paths.append(path)
    folder = Path(settings["src_dir"]) / "gallery_source"
    for film in sorted(folder.glob("*.gif")):
        path = str(Path(next(variables["image_path_iterator"])).with_suffix(".gif"))
        shutil.move(film, path)
        paths.append(path)
    for page in sorted(folder.glob("*.html")):
        target = Path(settings["src_dir"]) / "extra" / "gallery" / "pages" / page.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(page, target)
        pages.append(FRAME.format(name=page.name, title=page.stem.replace("_", " ")))
    title = " ".join(Path(variables["src_file"]).stem.split("_")[1:])
    return (figure_rst(paths, settings["src_dir"], title) if paths else "") + "".join(pages)


def plain_warnings(settings: dict[str, Any], file: str) -> None:
    """Let warnings of an example say what they say, without the place of the file on this machine."""
    def told(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> str:
        return textwrap.fill(f"{category.__name__}: {message}", 110) + "\n"

    warnings.formatwarning = told


def _figures(names: dict[str, Any]) -> list[Any]:
    """Return figures under any name, or in a dictionary, that were not shown before, each once."""
    from matplotlib.figure import Figure

    values = [one for value in names.values() for one in (value.values() if isinstance(value, dict) else [value])]
    return list({id(one): one for one in values if isinstance(one, Figure) and not hasattr(one, SHOWN)}.values())
