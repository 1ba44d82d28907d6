"""Which model, or which two in turn, translate from one language to another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from regard.server.api.detection import detect_all
from regard.server.api.requests import ModelRequest
from regard.server.api.responses import DetectedLanguage
from regard.server.http.errors import ApiError
from regard.server.queue.catalogue import ServedModel
from regard.text.language_names import language_name, same_language

Models = Sequence[ServedModel]


class Routes(NamedTuple):
    """How each of several texts gets into the target language.

    target    the language's code
    sources   the code of each text's language
    models    for each source but the target, the models that are applied in turn
    detected  of each text, if the languages had to be detected
    """

    target: str
    sources: list[str]
    models: dict[str, tuple[ServedModel, ...]]
    detected: list[DetectedLanguage] | None = None


async def find_routes(models: Models, texts: Sequence[str], source: str, target: str) -> Routes:
    """The routes of texts; a source of "auto" is detected for each of them."""
    target = language_code(models, target)
    detected = None
    if source == "auto":
        detected = await _detect(models, texts, target, max_models=2)
        sources = [language.language for language in detected]
    else:
        sources = [language_code(models, source)] * len(texts)
    paths = {code: _path(models, code, target) for code in sources if code != target}
    for code, path in paths.items():
        if not path:
            direct_model(models, code, target)  # raises the error
    return Routes(target, sources, paths, detected)


async def find_model(
    models: Models, body: ModelRequest
) -> tuple[ServedModel, DetectedLanguage | None]:
    """The model of a direction, or the named one, and the language if it had to be detected."""
    target, detected = language_code(models, body.target), None
    if body.source == "auto":
        (detected,) = await _detect(models, [body.q], target, max_models=1)
    source = detected.language if detected else language_code(models, body.source)
    return direct_model(models, source, target, body.model), detected


def language_codes(models: Models) -> list[str]:
    """All source and target languages, in the models' order."""
    return list(dict.fromkeys(code for model in models for code in (model.source, model.target)))


def target_languages(models: Models, source: str) -> list[str]:
    """The languages that a language can be translated into, itself first."""
    codes = language_codes(models)
    return list(dict.fromkeys((source, *(code for code in codes if _path(models, source, code)))))


def language_code(models: Models, given: str) -> str:
    """A language as the models name it."""
    code = same_language(given, language_codes(models))
    if code is None:
        raise ApiError(400, f"{given[:20]} is not supported")  # LibreTranslate's words
    return code


async def _detect(
    models: Models, texts: Sequence[str], target: str, *, max_models: int
) -> list[DetectedLanguage]:
    """The language of each text, among those that `max_models` in turn translate.

    With two models, a text may be in the target language too.
    """
    sources = [
        code
        for code in language_codes(models)
        if 0 < len(_path(models, code, target)) <= max_models
    ]
    if not sources:
        raise ApiError(400, f"no model translates into {target}.")
    if max_models > 1:
        sources = list(dict.fromkeys((*sources, target)))
    return await asyncio.to_thread(detect_all, texts, sources)


def _path(models: Models, source: str, target: str) -> tuple[ServedModel, ...]:
    """The models that lead from a language to another: one, else two in turn, else none."""
    for model in models:
        if (model.source, model.target) == (source, target):
            return (model,)
    onward = {model.source: model for model in reversed(models) if model.target == target != source}
    for model in models:
        if model.source == source and model.target in onward:
            return model, onward[model.target]
    return ()


def direct_model(models: Models, source: str, target: str, name: str | None = None) -> ServedModel:
    """The model of a direction, or the named one if it has this direction."""
    if name is not None and all(model.name != name for model in models):
        known = ", ".join(model.name for model in models)
        raise ApiError(400, f"there is no model {name[:80]!r}; there are {known}.")
    for model in models:
        if (model.source, model.target) == (source, target) and name in (None, model.name):
            return model
    path = _path(models, source, target)
    hint = f"; /translate goes through {path[0].target}" if len(path) > 1 else ""
    if name is not None:
        raise ApiError(400, f"the model {name} does not translate from {source} to {target}{hint}.")
    ends = [f"{language_name(code)} ({code})" for code in (target, source)]
    raise ApiError(400, f"{ends[0]} is not available as a target language from {ends[1]}{hint}")
