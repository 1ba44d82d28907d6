"""Training of translation models: from pairs of sentences."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import Any, NamedTuple

from torch import Tensor, nn

from regard.alignment import (
    AlignmentSelection,
    MappedBatch,
    align_bidirectional,
    select_alignment_head,
    tokenized_words,
)
from regard.config import AlignmentSettings, Run
from regard.config.guides import alignment_guide
from regard.corpus.mixture import CorpusPart
from regard.corpus.pairs import CleaningReport, Pair, PairCheck, checked
from regard.errors import InputError
from regard.folder import Tokenizers
from regard.formats import read_pairs
from regard.models.batch import batch_of
from regard.models.rnn.model import RnnModel
from regard.models.transformer import TransformerModel
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.tasks.text.subword_dropout import resegmented
from regard.tasks.text.task import (
    Files,
    TextCorpus,
    TextTask,
    corpus_parts,
    shortened,
    train_tokenizer,
)
from regard.tasks.translation.guided.links import encoded_links, with_links
from regard.tasks.translation.guided.loss import guided_loss
from regard.tasks.translation.tagged_pairs import encode_sources, target_of
from regard.tasks.translation.validation import TranslationDevelopmentSet
from regard.text import is_spaceless
from regard.text.tags import language_tag
from regard.text.words import word_texts
from regard.training.task import TrainData

NUM_COMPARED = 300  # sentences that readings of the alignment are compared on
NUM_ALIGNED = 5000  # more sentences, for the statistical aligner


class TranslationTask(TextTask):
    """Trains an encoder–decoder on pairs of sentences."""

    has_segmentations = True

    def build(self, settings: Any, source_vocab: int, target_vocab: int) -> nn.Module:
        return TransformerModel(settings, source_vocab, target_vocab)

    def read(
        self, files: Sequence[str], run: Run, encoding: str
    ) -> tuple[list[Pair], CleaningReport]:
        return self.read_parts(corpus_parts(files), run, encoding)

    def read_parts(
        self, parts: Sequence[CorpusPart], run: Run, encoding: str
    ) -> tuple[list[Pair], CleaningReport]:
        """Read and clean all parts; a pair that is in two without tags is a duplicate."""
        pairs, report, check = list[Pair](), CleaningReport(), PairCheck(run.cleaning)
        guided = bool(run.guides)
        for part in parts:
            source, target = part_direction(part, run)
            languages = (source, target) if target != source else None
            raw = read_pairs(part.files, languages, encoding=encoding, report=report.passed_over)
            asked = (language_tag(target),) if len(run.target_languages) > 1 else ()
            tags = (*asked, part.tag) if part.tag else asked
            for pair in checked(raw, check, report, tags, part.weight, part.tag):
                pairs.append(pair._replace(number=report.read - 1) if guided else pair)
        return pairs, report

    def read_corpus(
        self, files: Files, dev_files: Files, run: Run, encoding: str = "utf-8"
    ) -> TextCorpus:
        """Read and clean files, and the links that guided heads learn."""
        corpus = super().read_corpus(files, dev_files, run, encoding)
        if not run.guides:
            return corpus
        train = with_links(corpus.train, corpus_parts(files), run, corpus.report.read)
        return replace(corpus, train=train)

    def train_tokenizers(self, pairs: Sequence[Pair], run: Run) -> Tokenizers:
        """Train one tokenizer for both sides, or one for each."""
        text, seed = run.text, run.training.seed
        tags = list(dict.fromkeys(tag for pair in pairs for tag in pair.tags))
        if text.shared:
            both = chain.from_iterable((pair.source, pair.target) for pair in pairs)
            shared = train_tokenizer(both, text, _shared_language(run), seed).with_tags(tags)
            return Tokenizers(shared, shared)
        sources, targets = (pair.source for pair in pairs), (pair.target for pair in pairs)
        return Tokenizers(
            train_tokenizer(sources, text, run.source_language, seed).with_tags(tags),
            train_tokenizer(targets, text, run.target_language, seed),
        )

    def encode(
        self, pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run, report: CleaningReport
    ) -> EncodedCorpus:
        """Encode pairs; those with too many tokens are dropped or cut, and counted."""
        limit, truncate = run.model.max_length, run.cleaning.truncate
        encoded = encode_pairs(pairs, tokenizers, limit, truncate)
        if not encoded.sources:
            raise InputError(
                f"every sentence has more than {limit} tokens; raise model.max_length, or cut "
                "sentences with --cleaning.truncate true."
            )
        if truncate:
            report.truncated = len(encoded.too_long)
        elif encoded.too_long:
            first = pairs[encoded.too_long[0]].source
            report.drop_after_encoding(len(encoded.too_long), shortened(first))
        left_out = set() if truncate else set(encoded.too_long)
        kept = [pair for n, pair in enumerate(pairs) if n not in left_out]
        sides = encoded.sources, encoded.targets
        guided = encoded_links(kept, *sides, tokenizers, run)
        weights = [pair.weight for pair in kept]
        return self.encoded_corpus(*sides, tokenizers, run, weights, guided=guided)

    def encode_corpus(
        self, corpus: TextCorpus, run: Run, tokenizers: Tokenizers | None = None
    ) -> TrainData:
        """Encode the corpus, in several segmentations if so set."""
        data = super().encode_corpus(corpus, run, tokenizers)
        if not run.text.subword_dropout:
            return data
        assert isinstance(data.train, EncodedCorpus)
        return replace(data, train=resegmented(data.train, data.tokenizers, data.run))

    def development_set(
        self, corpus: EncodedCorpus, pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run
    ) -> TranslationDevelopmentSet:
        """Return the development set, of which some sentences are translated at each validation."""
        shown = run.training.validate_sentences
        target, source = run.target_language, run.source_language
        return TranslationDevelopmentSet(corpus, pairs, shown, tokenizers, target, source)

    def batch_loss(self, run: Run, network: Any, batch: Any, scale: float) -> Tensor:
        """Return the cross-entropy of the labels, and the loss of guided heads."""
        if not batch.guided:
            return super().batch_loss(run, network, batch, scale)
        return guided_loss(run, network, batch, scale)

    def finish(self, network: Any, data: TrainData) -> tuple[Run, dict[str, Any]]:
        """Choose the attention that is read as word alignment: a guided head, if there is one."""
        run, dev = data.run, data.dev
        guide = alignment_guide(run.model, run.training)
        if guide:
            guided = AlignmentSettings(guide.layer, guide.head, shift=True)
            figures = {**asdict(guided), "guided": guide.links}
            return replace(run, alignment=guided), {"alignment": figures}
        if not isinstance(dev, TranslationDevelopmentSet):
            return run, {}
        chosen = choose_alignment(network, run, data.tokenizers, dev.pairs, data.train)
        if chosen is None:
            return run, {}
        settings, choice = chosen
        candidates = [
            {**head._asdict(), "agreement": agreement} for head, agreement in choice.candidates
        ]
        figures = {
            **asdict(settings),
            "agreement": choice.agreement,
            "candidates": candidates,
        }
        return replace(run, alignment=settings), {"alignment": figures}

    def example(self, run: Run) -> list[str]:
        several = len(run.target_languages) > 1
        return ["…", "--to", run.target_languages[0]] if several else ["…"]

    def describe_input(self, run: Run) -> str:
        sides = "shared by both sides" if run.text.shared else "one for each side"
        return f"{super().describe_input(run).rstrip('.')}, {sides}."

    def describe_validation(self, dev: Mapping[str, Any]) -> list[tuple[str, str]]:
        names = (("bleu", "BLEU"), ("chrf", "chrF"), ("perplexity", "perplexity"))
        return [
            (f"{label} (development set)", f"{dev[name]:.2f}")
            for name, label in names
            if dev.get(name) is not None
        ]


def part_direction(part: CorpusPart, run: Run) -> tuple[str, str]:
    """Return source and target language of a part of the corpus."""
    known = run.directions
    if not part.languages:
        if len(known) > 1:
            raise InputError(
                f"{', '.join(part.files)}: say which of {run.languages} it is, with --corpus "
                f"{part.files[0]}:{'-'.join(known[0])}."
            )
        return known[0] if known else ("", "")
    source, _, target = part.languages.partition("-")
    if (source, target) not in known:
        raise InputError(
            f"{', '.join(part.files)}: its languages {part.languages} are not among those of the "
            f"model, {run.languages or 'which are not known'}."
        )
    return source, target


class RecurrentTranslationTask(TranslationTask):
    """Trains a recurrent encoder–decoder."""

    def build(self, settings: Any, source_vocab: int, target_vocab: int) -> nn.Module:
        return RnnModel(settings, source_vocab, target_vocab)


class EncodedPairs(NamedTuple):
    """Ids of both sides, and the indices of the pairs that have too many tokens."""

    sources: list[list[int]]
    targets: list[list[int]]
    too_long: list[int]


def encode_pairs(
    pairs: Sequence[Pair], tokenizers: Tokenizers, max_length: int, truncate: bool = False
) -> EncodedPairs:
    """Encode both sides; pairs of more than `max_length` tokens are dropped, or cut to fit.

    One token of `max_length` is BOS or EOS. A `max_length` of 0 keeps all.
    """
    room = max_length - 1 if max_length else sys.maxsize
    encoded = EncodedPairs([], [], [])
    sources = encode_sources(pairs, tokenizers)
    targets = tokenizers.target.encode_all([pair.target for pair in pairs])
    for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if max(len(source), len(target)) > room:
            encoded.too_long.append(index)
            if not truncate:
                continue
            source, target = source[:room], target[:room]
        encoded.sources.append(source)
        encoded.targets.append(target)
    return encoded


def _shared_language(run: Run) -> str:
    """Return the language of a tokenizer for both sides: where spaces are, words need it."""
    spaceless = {is_spaceless(code) for pair in run.directions for code in pair}
    if run.text.unit == "word" and len(spaceless) > 1:
        raise InputError(
            f"{run.languages} have words with and without spaces, which one word tokenizer cannot "
            "both write; set text.shared to false (and model.tied to output)."
        )
    return run.target_language


def choose_alignment(
    network: Any,
    run: Run,
    tokenizers: Tokenizers,
    dev: Sequence[Pair],
    train: Any = None,
) -> tuple[AlignmentSettings, AlignmentSelection] | None:
    """Return the reading that agrees best with a statistical aligner; None without attention."""
    dev = dev[:NUM_COMPARED]
    sources, targets, too_long = encode_pairs(dev, tokenizers, run.model.max_length - 1)
    if not sources or getattr(run.model, "attention", "") == "none":
        return None
    compared = [pair for index, pair in enumerate(dev) if index not in too_long]
    source = [
        tokenized_words(pair.source, tokenizers.source, run.source_language, ids=ids)
        for pair, ids in zip(compared, sources, strict=True)
    ]
    target = [
        tokenized_words(p.target, tokenizers.target, target_of(p, run.target_language))
        for p in compared
    ]
    others = _decoded(train, tokenizers)
    aligned = align_bidirectional(
        [[word.text for word in sentence.words] for sentence in source]
        + [word_texts(pair.source, run.source_language) for pair in others],
        [[word.text for word in sentence.words] for sentence in target]
        + [word_texts(pair.target, target_of(pair, run.target_language)) for pair in others],
    )
    device = next(network.parameters()).device
    batches = []
    for start in range(0, len(compared), 50):
        part = slice(start, min(start + 50, len(compared)))
        maps = network.maps(batch_of(sources[part], targets[part]).to(device))
        batches.append(MappedBatch(maps, source[part], target[part]))
    choices = [select_alignment_head(batches, aligned, mutual=mutual) for mutual in (False, True)]
    mutual = choices[True].agreement > choices[False].agreement
    return AlignmentSettings(*choices[mutual].best, mutual=mutual), choices[mutual]


def _decoded(train: Any, tokenizers: Tokenizers) -> list[Pair]:
    """Return some sentences of the training corpus, decoded from their ids."""
    if not isinstance(train, EncodedCorpus) or train.sources is None:
        return []
    step = max(1, len(train) // NUM_ALIGNED)
    return [
        Pair(
            tokenizers.source.decode(ids := train.sources[n].tolist()),
            tokenizers.target.decode(train.targets[n].tolist()),
            tuple(tag for tag, number in tokenizers.source.tags.items() if number in ids),
        )
        for n in range(0, len(train), step)
    ][:NUM_ALIGNED]
