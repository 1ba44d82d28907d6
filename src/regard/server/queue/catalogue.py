"""The models that a server has loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import InputError
from regard.folder import model_names
from regard.tasks import load
from regard.tasks.translation.translator import Translator


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A translator of one direction and its name, that of its folder (`model_names`)."""

    name: str
    translator: Translator

    @property
    def source(self) -> str:
        """The source language."""
        return self.translator.info.source_language

    @property
    def target(self) -> str:
        """The target language."""
        return self.translator.info.target_language


class Catalogue:
    """All models; of several for one direction the first is used, unless another is named.

    A model of several directions is one entry for each, under one name.

    `reload` replaces the tuple of models as a whole: running requests keep theirs. Until then, a
    model answers as it was when it was loaded, whatever becomes of its folder.
    """

    def __init__(
        self,
        folders: Sequence[str],
        threads: int = 0,
        engine: str = "auto",
        precision: str = "auto",
    ) -> None:
        self.folders = tuple(folders)
        self.threads = threads
        self.engine, self.precision = engine, precision
        self.reload()

    def reload(self) -> None:
        """Load all folders, perhaps again; on an error nothing changes."""
        models: list[ServedModel] = []
        for name, folder in zip(model_names(self.folders), self.folders, strict=True):
            translator = load(
                folder,
                threads=self.threads,
                engine=self.engine,
                precision=self.precision,
                hold=True,
            )
            if not isinstance(translator, Translator):
                raise InputError(f"{folder}: this model does not translate; serve one that does.")
            if not translator.run.source_language:
                raise InputError(
                    f"{folder}: the model's languages are not known; train with --languages."
                )
            translator.prepare_engine()  # now, not at the first request
            translator.saved.check_unchanged()  # what was read is of one version
            for pair in translator.run.directions:
                models.append(ServedModel(name, translator.into("-".join(pair))))
        self.models = tuple(models)

    def hide_folders(self, sentence: str) -> str:
        """A sentence with the models' names in place of the paths of their folders."""
        paths = {
            str(path): name
            for name, folder in zip(model_names(self.folders), self.folders, strict=True)
            for path in (Path(folder), Path(folder).absolute(), Path(folder).resolve())
        }
        for path in sorted(paths, key=len, reverse=True):
            sentence = sentence.replace(path, paths[path])
        return sentence
