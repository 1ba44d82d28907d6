"""Keep the results of studies for the documentation: both languages, small pictures, no SVG.

    regard study all --out studies
    python docs/_extensions/keep_studies.py studies

reads each NAME.json, writes its pages and figures again in English and Chinese, and keeps them
under `docs/studies/NAME/`.
"""

import sys
import tempfile
from pathlib import Path

from run_page import keep

from regard.studies.output import restored, write_study

KEPT = Path(__file__).parent.parent / "studies"
LANGUAGES = ("en", "zh")


def keep_study(result: Path) -> None:
    """Keep one study, whose NAME.json is `result`."""
    findings, values = restored(result)
    target = KEPT / values["study"]
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        for language in LANGUAGES:
            write_study(Path(name), values, findings, language)
        for path in Path(name).iterdir():
            if path.suffix != ".svg":
                keep(path, target / path.name)
    for old in target.glob("*.svg"):
        old.unlink()


if __name__ == "__main__":
    for given in sys.argv[1:]:
        for path in sorted(Path(given).glob("*/*.json")):
            keep_study(path)
