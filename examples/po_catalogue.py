"""A PO catalogue: train on its translated messages, fill the others, and mark those fuzzy.

A model of a few hundred messages learns the terms and the manner of one program; what it writes is
a draft for a person to check, and `fuzzy` says so. Translated messages are not touched. Without a
file, a catalogue of a text editor is made up, a fifth of it untranslated, and the drafts are
compared with the right translations.

    pip install 'regard[catalogues]'
    python examples/po_catalogue.py [CATALOGUE.po --languages en-fr] [--out filled.po] [--steps 300]
"""

import argparse
import random
import tempfile
from pathlib import Path

from translate.storage import pypo

import regard

VERBS = {
    "Open": "Ouvrir",
    "Save": "Enregistrer",
    "Close": "Fermer",
    "Print": "Imprimer",
    "Delete": "Supprimer",
    "Copy": "Copier",
    "Move": "Déplacer",
    "Export": "Exporter",
    "Rename": "Renommer",
    "Share": "Partager",
    "Select": "Sélectionner",
    "Show": "Afficher",
}
NOUNS = {
    "file": "le fichier",
    "folder": "le dossier",
    "page": "la page",
    "table": "le tableau",
    "window": "la fenêtre",
    "document": "le document",
    "line": "la ligne",
    "word": "le mot",
    "column": "la colonne",
    "message": "le message",
    "list": "la liste",
    "chart": "le graphique",
}
ENDINGS = {"": "", " again": " à nouveau", " now": " maintenant"}
HEADER = '"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: fr\\n"\n'


def made_up(path: Path) -> dict[str, str]:
    """Write a catalogue of an editor; returns the translations that it lacks."""
    messages = {
        f"{verb} the {noun}{ending}": f"{french} {thing}{after}"
        for verb, french in VERBS.items()
        for noun, thing in NOUNS.items()
        for ending, after in ENDINGS.items()
    }
    lacking = set(random.Random(0).sample(sorted(messages), len(messages) // 5))
    entries = [
        f'msgid "{source}"\nmsgstr "{"" if source in lacking else target}"\n'
        for source, target in messages.items()
    ]
    path.write_text("\n".join([f'msgid ""\nmsgstr ""\n{HEADER}', *entries]), encoding="utf-8")
    return {source: messages[source] for source in lacking}


def fill(catalogue: Path, out: Path, translator: regard.Translator) -> list[tuple[str, str]]:
    """Write the catalogue with drafts for its untranslated messages; returns these."""
    store = pypo.pofile.parsefile(str(catalogue))
    plurals, _ = store.getheaderplural()
    empty = [
        unit
        for unit in store.units
        if unit.source and not unit.isheader() and not unit.isobsolete() and not str(unit.target)
    ]
    forms = [_forms(unit, int(plurals or 2)) for unit in empty]
    drafts = translator.translate([text for texts in forms for text in texts])
    following = iter(draft.text for draft in drafts)
    for unit, texts in zip(empty, forms, strict=True):
        target = [next(following) for _ in texts]
        unit.target = target if unit.hasplural() else target[0]
        unit.markfuzzy()
    store.savefile(str(out))
    return [(str(unit.source), str(unit.target)) for unit in empty]


def _forms(unit: pypo.pounit, plurals: int) -> list[str]:
    """What to translate for one message: itself, or for each plural form of the language."""
    texts = [str(text) for text in getattr(unit.source, "strings", [unit.source])]
    return [texts[0], *[texts[-1]] * (plurals - 1)] if unit.hasplural() else texts[:1]


def main(
    catalogue: Path | None = None,
    languages: str = "en-fr",
    out: Path = Path("filled.po"),
    steps: int = 300,
) -> dict[str, float]:
    """Train on a catalogue and fill it."""
    with tempfile.TemporaryDirectory() as folder:
        right: dict[str, str] = {}
        if catalogue is None:
            catalogue = Path(folder, "editor.po")
            right = made_up(catalogue)
        translator = regard.train(
            catalogue,
            languages=languages,
            out=Path(folder, "model"),
            preset="tiny",
            text={"unit": "word"},
            progress=False,
            model={"kind": "transformer", "dim": 64, "num_heads": 4, "ff": 128},
            training={"steps": steps, "epochs": None, "tensorboard": False},
        )
        filled = fill(catalogue, out, translator)
    for source, target in filled[:6]:
        print(f"{source}  ▶  {target}")
    print(f"{out}: {len(filled)} messages filled, all marked fuzzy")
    if not right:
        return {"filled": len(filled)}
    share = sum(right[source] == target for source, target in filled) / len(filled)
    print(f"{share:.1%} of them are the right translation")
    return {"filled": len(filled), "right": share}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("catalogue", nargs="?", type=Path, help="your own .po file")
    parser.add_argument("--languages", default="en-fr", help="of the catalogue (en-fr)")
    parser.add_argument("--out", type=Path, default=Path("filled.po"), help="where to write")
    parser.add_argument("--steps", type=int, default=300, help="updates of the translator (300)")
    main(**vars(parser.parse_args()))
