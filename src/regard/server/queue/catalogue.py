"""The models that a server has, by direction and by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import InputError
from regard.folder import model_names
from regard.server.http.errors import RefusalError
from regard.tasks import load
from regard.text.language_names import language_name, same_language
from regard.translator import Translator


@dataclass(frozen=True, eq=False)
class Model:
    """A translator and its name, which is that of its folder (`model_names`)."""

    name: str
    translator: Translator

    @property
    def source(self) -> str:
        """The language that it reads."""
        return self.translator.run.source_language

    @property
    def target(self) -> str:
        """The language that it writes."""
        return self.translator.run.target_language


class Catalogue:
    """All models; for a direction that several have, the first is used unless one is named.

    The models are one tuple that `reload` replaces as a whole: who has a model keeps it.
    """

    def __init__(self, folders: Sequence[str], threads: int = 0) -> None:
        self.folders = tuple(folders)
        self.threads = threads
        self.models = _opened(self.folders, threads)

    def reload(self) -> None:
        """Read all folders anew; on an error everything stays as it is."""
        self.models = _opened(self.folders, self.threads)

    @property
    def codes(self) -> list[str]:
        """All languages, read or written, in the models' order."""
        return list(dict.fromkeys(c for one in self.models for c in (one.source, one.target)))

    def targets(self, source: str) -> list[str]:
        """What a language can be translated into: itself, and what there is a way to."""
        return list(dict.fromkeys((source, *(c for c in self.codes if self.way(source, c)))))

    def sources(self, target: str, *, through: bool = False) -> list[str]:
        """What a model translates into a language, or, `through` a third one, two models."""
        most = 2 if through else 1
        return [code for code in self.codes if 0 < len(self.way(code, target)) <= most]

    def way(self, source: str, target: str) -> tuple[Model, ...]:
        """The models that lead from a language to another: one, else two; none if there is none."""
        models = self.models
        for one in models:
            if (one.source, one.target) == (source, target):
                return (one,)
        onward = {one.source: one for one in reversed(models) if one.target == target != source}
        for one in models:
            if one.source == source and one.target in onward:
                return one, onward[one.target]
        return ()

    def code(self, asked: str) -> str:
        """A language as the models call it."""
        code = same_language(asked, self.codes)
        if code is None:
            raise RefusalError(400, f"{asked[:20]} is not supported")  # LibreTranslate's words
        return code

    def model(self, source: str, target: str, name: str | None = None) -> Model:
        """The model of a direction, or the one that is named if it has this direction."""
        if name is not None and all(one.name != name for one in self.models):
            known = ", ".join(one.name for one in self.models)
            raise RefusalError(400, f"there is no model {name[:80]!r}; there are {known}.")
        for one in self.models:
            if (one.source, one.target) == (source, target) and name in (None, one.name):
                return one
        way = self.way(source, target)
        told = f"; /translate goes through {way[0].target}" if len(way) > 1 else ""
        if name is not None:
            raise RefusalError(
                400, f"the model {name} does not translate from {source} to {target}{told}."
            )
        ends = [f"{language_name(code)} ({code})" for code in (target, source)]
        raise RefusalError(
            400, f"{ends[0]} is not available as a target language from {ends[1]}{told}"
        )


def _opened(folders: Sequence[str], threads: int) -> tuple[Model, ...]:
    models: list[Model] = []
    for name, folder in zip(model_names(folders), folders, strict=True):
        translator = load(folder, threads=threads)
        if not isinstance(translator, Translator):
            raise InputError(f"{folder}: this model does not translate; serve one that does.")
        if not translator.run.source_language:
            raise InputError(
                f"{folder}: the model's languages are not known; train with --languages."
            )
        models.append(Model(name, translator))
    return tuple(models)
