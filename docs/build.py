"""`make docs`: put the sources of the site together in out/site-source and have Sphinx make out/docs from them.

Offline. Warnings are errors. Examples of the gallery are executed again when they, or flexctl, have changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE, TARGET = ROOT / "out" / "site-source", ROOT / "out" / "docs"
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
KEPT = ("gallery/", "extra/")
"""What the gallery makes and keeps."""
NOTEBOOKS = "notebooks"


def pages() -> dict[str, bytes]:
    """Return every source of the site by its path: written by hand, and generated."""
    from tools import api, blocks, catalogue, commands

    found: dict[str, bytes] = {}
    for path in sorted((ROOT / "docs").rglob("*")):
        name = path.relative_to(ROOT / "docs").as_posix()
        if path.is_dir() or "__pycache__" in name or name.startswith("tools/") or name == "build.py":
            continue
        name = name.replace("gallery/", "gallery_source/", 1)
        found[name] = local(path.read_text(encoding="utf-8")).encode() if path.suffix == ".md" else path.read_bytes()
    for path in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        found[f"{NOTEBOOKS}/{path.name}"] = path.read_bytes().replace(b"](../docs/", b"](../")
    for name in ("CONTRIBUTING", "CHANGELOG"):
        found[f"{name.lower()}.md"] = local((ROOT / f"{name}.md").read_text(encoding="utf-8"), "").encode()
    for name, text in blocks.files((ROOT / "docs" / "start.md").read_text(encoding="utf-8")).items():
        if name.endswith(".toml"):
            found[f"gallery_source/{name}"] = text.encode()
    generated = {**api.pages(), **catalogue.pages(ROOT), **commands.pages()}
    return found | {name: text.encode() for name, text in generated.items()}


def local(text: str, up: str = "../") -> str:
    """Return a page of the repository with the links that hold on the site."""
    text = re.sub(rf"\]\({re.escape(up)}notebooks/([\w.]+)\)", r"](notebooks/\1)", text)
    text = re.sub(rf"\]\({re.escape(up)}controllers/(\w+)\.py\)", r"](controllers/\1.md)", text)
    text = re.sub(rf"\]\({re.escape(up)}plants/(\w+)\.toml\)", r"](plants/\1.md)", text)
    text = re.sub(rf"\]\({re.escape(up)}(CONTRIBUTING|CHANGELOG)\.md", lambda m: f"]({m[1].lower()}.md", text)
    return text if up else re.sub(r"\]\(docs/", "](", text)


def fingerprint(*folders: str) -> str:
    """Return a number that changes with the code in folders."""
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".pyi", ".toml", ".json", ".css", ".js", ".html"):
                total.update(path.read_bytes())
    return total.hexdigest()


def stage() -> bool:
    """Write what has changed, remove what is no more, forget the gallery's pictures if flexctl is another.

    Returns whether every page has to be made anew, since what makes them is another.
    """
    SOURCE.mkdir(parents=True, exist_ok=True)
    stamp, now = SOURCE / "gallery" / "made-by", fingerprint("flexctl", "plants", "controllers")
    if not stamp.exists() or stamp.read_text() != now:
        for name in KEPT:
            shutil.rmtree(SOURCE / name, ignore_errors=True)
    wanted = pages()
    for path in sorted(SOURCE.rglob("*"), reverse=True):
        name = path.relative_to(SOURCE).as_posix()
        if path.is_file() and name not in wanted and not name.startswith(KEPT):
            path.unlink()
    forget({Path(name).stem for name in wanted if name.startswith("gallery_source/")})
    for name, content in wanted.items():
        path = SOURCE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(now)
    (SOURCE / "extra").mkdir(exist_ok=True)
    maker, makes = TARGET.with_name("site-made-by"), fingerprint("docs")
    anew = not maker.exists() or maker.read_text() != makes
    maker.write_text(makes)
    return anew


def forget(examples: set[str]) -> None:
    """Remove pages and pictures of examples that are no more, and built pages without a source."""
    for path in sorted((SOURCE / "gallery").rglob("*.*")):
        stem = path.name.removeprefix("sphx_glr_").partition(".")[0].removesuffix("_thumb")
        stem = re.sub(r"_\d\d\d$", "", stem)
        if path.is_file() and stem not in {*examples, "index", "made-by"}:
            path.unlink()
    for path in TARGET.rglob("*.html"):
        name = path.relative_to(TARGET).with_suffix("")
        made = any((SOURCE / name).with_suffix(kind).exists() for kind in (".md", ".rst", ".ipynb"))
        if not made and name.as_posix() not in ("genindex", "search", "py-modindex") and "pages" not in name.parts:
            path.unlink()


def main() -> int:
    """Build; the exit code is that of Sphinx."""
    from sphinx.cmd.build import main as sphinx

    os.environ |= {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    anew = ["-a", "-E"] if stage() else []
    code = sphinx([*anew, "-W", "--keep-going", "-q", "-b", "html", "-j", "1", *sys.argv[1:], str(SOURCE), str(TARGET)])
    if code == 0:
        print(TARGET.relative_to(ROOT) / "index.html")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
