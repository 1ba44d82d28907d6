"""The gallery of studies: an index and a page for each result under `docs/studies/`."""

import json
from pathlib import Path

from sphinx.application import Sphinx

RESULTS = Path(__file__).parent.parent / "studies"
TITLE = ("Studies", "研究")
INTRO = (
    "What is said of attention, measured. The command on each page runs its study again.",
    "关于注意力的说法，逐一测量。每项研究都可以用页面上的命令重新运行。",
)


def write_pages(app: Sphinx) -> None:
    """Write the pages of this language before they are read."""
    chinese = app.config.language == "zh_CN"
    folder = Path(app.srcdir) / "studies"
    folder.mkdir(exist_ok=True)
    index = [f"# {TITLE[chinese]}", "", INTRO[chinese], "", "```{toctree}", ":maxdepth: 1", ""]
    for path in sorted(RESULTS.glob("*/*.json")):
        study = json.loads(path.read_text("utf-8"))
        name = study["study"]
        page = f"# {study['title'][chinese]}\n\n```{{study}} {name}\n```\n"
        _write(folder / f"{name}.md", page)
        index.append(name)
    _write(folder / "index.md", "\n".join([*index, "```", ""]))


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
