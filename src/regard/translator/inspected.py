"""Texts as a model of any kind reads them, ready to be looked at: what `regard inspect` shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.alignment import tokenized_words
from regard.config import RnnSettings, Run, SearchOptions
from regard.decoding import score, word_confidence
from regard.errors import InputError
from regard.models.batch import Batch
from regard.models.classifier_batch import texts_batch
from regard.models.transformer import TransformerModel
from regard.tasks.lazy_weights import LONG, RepeatedForward, lazy_maps
from regard.tasks.translation.segments import MAX_WORD
from regard.tasks.translation.sentence_view import long_sentence_view, sentence_view
from regard.tasks.translation.translator import Translator
from regard.text import PAD
from regard.text.tokenizer import MASK, SPECIALS
from regard.translator.classify import Classifier
from regard.translator.fill import Filler
from regard.translator.generate import Generator
from regard.translator.write import Penman
from regard.views import SentenceView, label_score
from regard.views.maps.pieces import readable, words_of

Loaded = Translator | Generator | Filler | Classifier | Penman
GUESSES = 3  # told of each hidden word
MOST = 300  # sentences on one page; a list of more is no list


@dataclass(frozen=True)
class Asked:
    """How texts are read.

    settings  how a translator or a language model searches; its own way by default
    prefix    what a translation must begin with
    split     whether a translator reads sentence by sentence
    generate  how many tokens a language model goes on by
    name      the model's, as the page is to call it
    """

    settings: SearchOptions | None = None
    prefix: str = ""
    split: bool = True
    generate: int = 0
    name: str = ""


@dataclass(frozen=True, eq=False)
class Inspected:
    """A text as a model read it.

    viewed  what there is to see of it
    batch   what the network was given
    score   of what the network answers, how probable it held what it wrote or decided; None where
            it did neither
    """

    viewed: SentenceView
    batch: Any
    score: Callable[[Tensor], Tensor] | None


def inspected(model: Loaded, texts: Sequence[str], asked: Asked | None = None) -> list[Inspected]:
    """What there is to see of each text; of a translator, of each of its sentences."""
    asked = asked or Asked()
    if asked.generate and not isinstance(model, Generator):
        raise InputError("only a language model can go on with a text; leave --generate out.")
    if asked.prefix and not isinstance(model, Translator):
        raise InputError("a prefix is how a translation begins; this model does not translate.")
    match model:
        case Translator():
            return _translated(model, texts, asked)
        case Generator():
            return _each(texts, lambda text: _read(model, text, asked))
        case Filler():
            return _each(texts, lambda text: _filled(model, text, asked))
        case Classifier():
            return _each(texts, lambda text: _classified(model, text, asked))
        case _:
            raise InputError(
                f"{model.path}: a model that writes by hand is looked at with `regard write`."
            )


def _each(texts: Sequence[str], read: Callable[[str], Inspected]) -> list[Inspected]:
    """The texts one by one; of several, an error tells the number of the one it is about."""
    if len(texts) > MOST:
        raise InputError(
            f"{len(texts):,} texts are too many for one page (at most {MOST}); choose some, or "
            "take them as one with --no-split."
        )
    found = []
    for number, text in enumerate(texts, start=1):
        try:
            found.append(read(text))
        except InputError as error:
            raise InputError(f"text {number}: {error}" if len(texts) > 1 else str(error)) from None
    return found


def side_by_side(
    first: Sequence[SentenceView], second: Sequence[SentenceView]
) -> list[tuple[SentenceView, SentenceView]]:
    """Two models' views of the same texts, as pairs."""
    if [one.source for one in first] != [other.source for other in second]:
        raise InputError(
            "the two models cut the text into different pieces, as they hold texts of different "
            "lengths; give shorter sentences."
        )
    return list(zip(first, second, strict=True))


def check_pair(model: Loaded, other: Loaded) -> None:
    """An error unless two models can be compared: of one kind, reading one language."""
    if type(model) is not type(other):
        names = {Translator: "translates", Generator: "is a language model", Filler: "fills in",
                 Classifier: "classifies", Penman: "writes by hand"}  # fmt: skip
        raise InputError(
            f"{model.path} {names[type(model)]} and {other.path} {names[type(other)]}; "
            "two models of one kind can be compared."
        )
    ours, theirs = model.run.source_language, other.run.source_language
    if ours and theirs and ours != theirs:
        raise InputError(
            f"{model.path} reads {ours} and {other.path} reads {theirs}; two models that read the "
            "same language can be compared."
        )


def told_kind(run: Run) -> str:
    """A kind of model and its attention, in words.

    >>> told_kind(Run(model=Rnn()))
    'recurrent network, bahdanau attention'
    """
    kinds = {
        "transformer": "Transformer", "rnn": "recurrent network", "lm": "language model",
        "mlm": "masked model", "classifier": "classifier",
    }  # fmt: skip
    attention = getattr(run.model, "attention", "full")
    known = {"full": "", "none": " without attention"}
    how = known.get(attention, f", {attention} attention")
    return kinds.get(run.model.kind, run.model.kind) + how


def facts_of(model: Loaded, name: str, shown: Sequence[SentenceView]) -> dict[str, str]:
    """What the page tells of a model."""
    run = model.run
    facts = {"model": name, "kind": told_kind(run)}
    if run.languages:
        facts["languages"] = run.languages.replace("-", " → ")
    why = without_maps(model, shown)
    return {**facts, "maps": f"none: {why}" if why else _told_maps(shown)}


def _told_maps(shown: Sequence[SentenceView]) -> str:
    """How many layers and heads of each kind there are, those of equal numbers together."""
    found = max((one.maps for one in shown), key=len)
    alike: dict[str, list[str]] = {}
    for kind in dict.fromkeys(maps.kind for maps in found):
        heads = [len(maps.heads) for maps in found if maps.kind == kind]
        size = f"{_counted(len(heads), 'layer')} of {_counted(heads[0], 'head')}"
        alike.setdefault(size, []).append(kind)
    return "; ".join(f"{', '.join(kinds)}: {size}" for size, kinds in alike.items())


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def without_maps(model: Loaded, shown: Sequence[SentenceView]) -> str:
    """Why there is nothing to see of a model's attention; empty if there is something."""
    if any(one.maps for one in shown):
        return ""
    if isinstance(model.run.model, RnnSettings) and model.run.model.attention == "none":
        return "this recurrent network was trained without attention"
    return "this model's attention has no weights over words"


def _translated(translator: Translator, texts: Sequence[str], asked: Asked) -> list[Inspected]:
    encode = translator.tokenizers.source.encode
    _check_size(translator, texts, asked)
    may = not asked.split and isinstance(translator.network, TransformerModel)
    long = [may and len(encode(text)) > LONG for text in texts]
    found: list[list[Inspected]] = [[] for _ in texts]
    for one_by_one in (False, True):  # the maps of long texts are recorded when they are looked at
        places = [place for place, is_long in enumerate(long) if is_long == one_by_one]
        done = translator.translate(
            [texts[place] for place in places],
            settings=asked.settings,
            prefix=asked.prefix,
            alignment=not one_by_one,
            attention=not one_by_one,
            split=asked.split,
        )
        for place, one in zip(places, done, strict=True):
            for sentence in one.sentences:
                assert sentence.hypothesis is not None
                batch = translator.batch([encode(sentence.source)], [sentence.hypothesis.tokens])
                title = "" if sentence.finished else "cut off where the model can write no more"
                names = {"title": title, "name": asked.name}
                shown = (
                    long_sentence_view(translator, sentence, batch, **names)
                    if one_by_one
                    else sentence_view(sentence, translator.info, **names)
                )
                found[place].append(Inspected(shown, batch, label_score(batch)))
    return [one for text in found for one in text]


def _check_size(translator: Translator, texts: Sequence[str], asked: Asked) -> None:
    """An error, before anything is translated, if there is more than can be shown as asked."""
    segments = [translator.segment(text, split=asked.split) for text in texts]
    counts = list(map(len, segments))
    if any(segment.copied for own in segments for segment in own):
        raise InputError(
            f"a word of {MAX_WORD:,} characters or more is copied, not translated, so that "
            "there is nothing to look at; leave it out."
        )
    if not asked.split and max(counts) > 1:
        raise InputError(
            f"a text of {len(texts[counts.index(max(counts))]):,} characters is more than the "
            f"{translator.max_source_tokens} tokens that the model holds; leave --no-split out, or "
            "give a shorter text."
        )
    if sum(counts) > MOST:
        raise InputError(
            f"{sum(counts):,} sentences are too many for one page (at most {MOST}); choose some."
        )


def _read(generator: Generator, text: str, asked: Asked) -> Inspected:
    """A text that a language model read, with what it went on to write.

    A word's confidence is how probable the model held it after those before it.
    """
    tokenizer = generator.tokenizer
    ids = tokenizer.encode(text)
    generator.batch(ids)  # that it fits
    title = ""
    if asked.generate:
        begun = len(ids)
        settings = asked.settings or SearchOptions(beam=1)
        settings = replace(settings, n_best=1, max_length=begun + asked.generate)
        found = generator.generate(text, settings=settings)[0].hypothesis
        assert found is not None
        ids = list(found.tokens[: generator.network.max_length - 1])
        title = f"{begun:,} tokens read, {len(ids) - begun:,} written"
    batch = generator.batch(ids)
    tokens = tuple(tokenizer.pieces(batch.inputs[0].tolist()))
    source = RepeatedForward(generator.network, lambda: generator.network.features(batch))
    shown = _alone(source, tokens, generator.run.target_language, tokenizer.decode(ids))
    written = [[place - 1 for place in group if place] for group in shown.axis("source").groups]
    sure = word_confidence(score(generator.network, None, [ids])[0], written)
    sure = [share if group else math.nan for share, group in zip(sure, written, strict=True)]
    shown = replace(shown, title=title, model=asked.name, confidence=tuple(sure))
    return Inspected(shown, batch, label_score(batch))


def _filled(filler: Filler, text: str, asked: Asked) -> Inspected:
    """A text that a masked model read, with its guesses of what is hidden."""
    ids = torch.tensor([filler.ids(text)], device=filler.device)
    labels = torch.full_like(ids, PAD)
    told = []
    if bool((ids == MASK).any()):
        for number, found in enumerate(filler.fill(text, GUESSES), start=1):
            guesses = ", ".join(f"“{_word(one.token)}” {one.probability:.0%}" for one in found)
            told.append(f"{SPECIALS[MASK]} {number}: {guesses}")
        labels = torch.where(ids == MASK, filler.network.fill(ids).argmax(-1), labels)
    batch = Batch(None, ids, labels)
    source = RepeatedForward(filler.network, lambda: filler.network.features(batch))
    tokens = tuple(filler.tokenizer.pieces(ids[0].tolist()))
    shown = _alone(source, tokens, filler.run.source_language, text.strip())
    return Inspected(
        replace(shown, title="; ".join(told), model=asked.name),
        batch,
        label_score(batch) if told else None,
    )


def _classified(classifier: Classifier, text: str, asked: Asked) -> Inspected:
    """A text and its label: what the label's pooling looked at is its map to the source."""
    if classifier.settings.input == "series":
        raise InputError(
            f"{classifier.path}: this model reads numeric series; `regard classify` shows what "
            "decided there."
        )
    found = classifier.classify(text, why="attention")
    ids = classifier.tokenizer.encode(text)[: classifier.network.max_length]
    split = tokenized_words(text, classifier.tokenizer, classifier.run.source_language)
    groups = [tuple(np.flatnonzero(one).tolist()) for one in split.overlap[: len(ids)].T]
    number = classifier.labels.index(found.label)
    shown = SentenceView.from_maps(
        [one for one in classifier.attention(text) if one.over == "keys"],
        source_tokens=classifier.tokenizer.pieces(ids),
        target_tokens=(found.label,),
        source_words=tuple(word.text for word in split.words),
        source_groups=tuple(groups),
        target_words=(found.label,),
        target_groups=((0,),),
        confidence=(found.probability,),
        title=", ".join(f"{name} {share:.1%}" for name, share in found.probabilities.items()),
        model=asked.name,
        source_language=classifier.run.source_language,
        source_text=text.strip(),
        target_text=found.label,
        target_kind="label",
    )
    return Inspected(
        shown,
        texts_batch([ids]).to(classifier.device),
        lambda logits: logits.log_softmax(-1)[:, number],
    )


def _alone(
    source: RepeatedForward, tokens: tuple[str, ...], language: str, text: str
) -> SentenceView:
    """A text alone; the maps of a long one are recorded when they are looked at."""
    if len(tokens) <= LONG:
        return SentenceView.from_text(source.maps(), tokens=tokens, language=language, text=text)
    shown = readable(tokens)
    words, groups = words_of(shown)
    both = shown, shown
    return SentenceView(
        shown,
        (),
        words,
        (),
        maps=lazy_maps(source, {"encoder": both, "decoder": both}),
        source_language=language,
        source_groups=groups,
        source_text=text,
    )


def _word(token: str) -> str:
    return token.replace("▁", " ").strip() or token
