"""Sphinx settings of the site; `make docs` (docs/build.py) calls Sphinx on a copy of this folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from tools import mathml

import flexctl

project, author = "flexctl", "The flexctl developers"
version = release = flexctl.__version__
html_show_copyright = False
extensions = [
    "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb", "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["gallery/*.ipynb", "gallery/*.md5", "gallery_source", "extra", "README*"]
html_extra_path = ["extra"]

html_theme = "furo"
html_title = "flexctl"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # read from other pages, which browsers refuse without a server
html_show_sourcelink = False
html_math_renderer = "mathml"  # MathJax would be fetched from elsewhere
templates_path: list[str] = []
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
python_use_unqualified_type_names = True
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"

nb_execution_mode = "off"  # the notebooks are stored executed, and a test compares
nb_remove_code_outputs = False
nb_render_image_options = {"alt": "picture of the cell above"}
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery_source",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("tools.scraper.figures_and_films",),
    "reset_modules": ("tools.scraper.plain_warnings",),
    "write_computation_times": False,  # that page loads scripts from elsewhere
    "notebook_extensions": set(),
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "min_reported_time": 3600,
    "remove_config_comments": True,
    "plot_gallery": True,
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (400, 280),
    "nested_sections": False,
    "backreferences_dir": None,
}


def bars_are_bars(app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Escape |x| of docstrings, which are plain text, where they are not examples."""
    example = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith((">>>", "...")) or (example and bool(line.strip()))
        if not example:
            lines[i] = line.replace("|", "\\|")


def reachable(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let the keyboard scroll what scrolls, give headings a level, and name folded cells as they read."""
    for part in ("body", "furo_navigation_tree"):
        text = context.get(part) or ""
        text = text.replace("<pre>", '<pre tabindex="0">').replace('<table class="', '<table tabindex="0" class="')
        text = text.replace('<summary aria-label="Toggle hidden content">', "<summary>")
        context[part] = text.replace('class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"')


def setup(app: Any) -> None:
    """Add the renderer of formulas, and what pages lack."""
    mathml.setup(app)
    app.connect("html-page-context", reachable, priority=900)
    app.connect("autodoc-process-docstring", bars_are_bars, priority=900)  # after numpydoc
