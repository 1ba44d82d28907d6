"""`regard.train`: from files to a model, ready for use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from regard.config.settings import Settings, find_kind
from regard.corpus.mixture import all_languages, parse_dev, parse_part
from regard.tasks import KINDS, find_task, load, load_run
from regard.tasks.notebook import NotebookProgress, in_notebook
from regard.training.report import Reporter, Silent, Spoken
from regard.training.run import train_from_files
from regard.training.task import TrainRequest

File = str | PathLike[str]


def train(
    files: File | Sequence[File] = (),
    *,
    out: File,
    languages: str = "",
    minutes: float | None = None,
    preset: str | None = None,
    dev: File | Sequence[File] = (),
    corpus: str | Sequence[str] = (),
    start_from: File | None = None,
    encoding: str = "utf-8",
    progress: bool = True,
    **settings: Mapping[str, Any],
) -> Any:
    """Train a model on files, write it to the folder `out`, and load it.

    What `regard train` does: `files` is one file of pairs or two aligned text files (for
    `model={"kind": "lm"}` plain text, and so on); `settings` are sections as in a model's
    config.yaml. `corpus` has more files, perhaps with weight and tag, as in "news.tsv:2.0:tag=news"
    (`regard.corpus.mixture`); `start_from` is the folder of a model that the run begins with.
    Without `preset`, size, vocabulary and batch are chosen from the corpus and `minutes`. Progress
    goes to the notebook, or to the terminal.

    >>> translator = regard.train("pairs.tsv", languages="en-fr", out="model", minutes=3,
    ...                           model={"kind": "rnn"})  # doctest: +SKIP
    """
    given: Settings = {name: dict(values) for name, values in settings.items()}
    kept = load_run(start_from).model.kind if start_from is not None else "transformer"
    given["model"] = {"kind": kept, **given.get("model", {})}
    if start_from is not None:
        start = str(Path(start_from).resolve())
        given["training"] = {**given.get("training", {}), "start_from": start}
    parts = [parse_part(text) for text in ([corpus] if isinstance(corpus, str) else corpus)]
    if stated := all_languages(languages, parts):
        given["languages"] = stated
    if minutes is not None:
        given["training"] = {**given.get("training", {}), "minutes": float(minutes)}
    learned, compared = [*_listed(files), *parts], parse_dev(_listed(dev))
    request = TrainRequest(learned, Path(out), compared, given, preset, encoding)
    kind = find_kind(given, KINDS, "")
    outcome = train_from_files(find_task(kind.name), request, _reporter(progress))
    if not outcome.finished:
        raise KeyboardInterrupt
    return load(out)


def _reporter(progress: bool) -> Reporter:
    if not progress:
        return Silent()
    return NotebookProgress() if in_notebook() else Spoken()


def _listed(files: File | Sequence[File]) -> list[File]:
    return [files] if isinstance(files, str | PathLike) else list(files)
