"""A page for every plant file and every controller script: what it is, and its text."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

PLANTS = """# Plant files of the catalogue

`fx.load_plant(NAME)`, `flexctl show NAME`. Any of them is a beginning for a file of your own;
[plant-files.md](../plant-files.md) has every key.

"""
CONTROLLERS = """# Controller scripts

`flexctl run NAME` runs them in closed loop on the full model, `flexctl certify NAME` examines them.
[What they reach](../laws.md) is one table.

"""


def pages(root: Path) -> dict[str, str]:
    """Return the pages of plants and controllers with their lists."""
    made, plants, scripts = {}, [], []
    for path in sorted((root / "plants").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        title = " ".join(tomllib.loads(text)["title"].split())
        made[f"plants/{path.stem}.md"] = f"# {path.stem}\n\n{title}.\n\n{_code('toml', text)}"
        plants.append((path.stem, title))
    for path in sorted((root / "controllers").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        first, *_ = (ast.get_docstring(ast.parse(text)) or "").splitlines()
        made[f"controllers/{path.stem}.md"] = f"# {path.stem}\n\n{_code('python', text)}"
        scripts.append((path.stem, first))
    made["plants/index.md"] = PLANTS + _list(plants)
    made["controllers/index.md"] = CONTROLLERS + _list(scripts)
    return made


def _code(language: str, text: str) -> str:
    fence = "`" * 4
    return f"{fence}{language}\n{text}{fence}\n"


def _list(rows: list[tuple[str, str]]) -> str:
    table = "".join(f"| [{name}]({name}.md) | {text.replace('|', chr(92) + '|')} |\n" for name, text in rows)
    tree = "\n".join(name for name, _ in rows)
    return f"| name | |\n|---|---|\n{table}\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
