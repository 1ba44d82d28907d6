"""From text to translation: splitting, batches, prefixes, n-best, and what explains it."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from growth import LINEAR, growth
from regard.config import (
    AlignmentSettings,
    Run,
    SearchOptions,
    TrainingSettings,
    TransformerSettings,
)
from regard.errors import InputError
from regard.folder import SavedModel, Tokenizers
from regard.tasks import build, load
from regard.tasks.translation.inspection import alignment_matrix, sentence_view
from regard.tasks.translation.translator import Translator
from regard.text.segments import Segment, join_translations, split_sentences
from regard.text.vocabulary import train_words
from trained import taught

FRENCH, CHINESE = taught("en-fr"), taught("en-zh")
GREEDY = SearchOptions(beam=1)


@pytest.mark.parametrize("settings", [None, GREEDY])
def test_what_was_learned_comes_back(en_fr, settings):
    done = en_fr.translate([source for source, _ in FRENCH], settings=settings)
    assert [one.text for one in done] == [target for _, target in FRENCH]
    assert all(one.sentences[0].finished for one in done)


def test_chinese_comes_back_and_is_joined_without_spaces(en_zh):
    (one, first), (two, second) = CHINESE[:2]
    assert en_zh.translate(one).text == first
    assert en_zh.translate(f"{one} {two}").text == first + second
    assert en_zh.translate(f"{one}\n{two}").text == f"{first}\n{second}"


def test_sentences_are_split_and_line_breaks_kept(en_fr):
    (one, first), (two, second), (three, third) = FRENCH[:3]
    done = en_fr.translate(f"{one} {two}\n\n{three}")
    assert done.text == f"{first} {second}\n\n{third}"
    assert [sentence.source for sentence in done.sentences] == [one, two, three]
    assert done.words == tuple(word for s in done.sentences for word in s.words)
    assert len(done.confidence) == len(done.words)
    assert done.score == pytest.approx(sum(s.score for s in done.sentences) / 3)
    for source, target in done.alignment:
        assert done.source_words[source] and done.words[target]


def test_without_splitting_a_text_is_one_sentence(en_fr):
    both = f"{FRENCH[0][0]} {FRENCH[1][0]}"
    assert len(en_fr.translate(both, split=False).sentences) == 1


@pytest.mark.parametrize("text", ["", "   ", "\n", "\t\n "])
def test_nothing_in_nothing_out(en_fr, text):
    done = en_fr.translate(text)
    assert done.text.strip() == ""
    assert done.sentences == () and done.score == 0
    assert en_fr.translate([]) == []
    mixed = en_fr.translate([text, FRENCH[0][0], text])
    assert [one.text.strip() for one in mixed] == ["", FRENCH[0][1], ""]


@pytest.mark.parametrize("split", [True, False])
def test_a_sentence_longer_than_the_model_is_read_without_loss(en_fr, split):
    words = [f"{source.rstrip('.')}," for source, _ in FRENCH * 2]
    text = " ".join(words) + " end"
    room = en_fr.network.max_length - 1
    assert len(en_fr.tokenizers.source.encode(text)) > 2 * room
    done = en_fr.translate(text, split=split, settings=GREEDY)
    assert len(done.sentences) >= 3
    for sentence in done.sentences:
        assert len(sentence.source_tokens) <= room
    assert " ".join(s.source for s in done.sentences).split() == text.split()


def test_a_long_text_without_spaces_is_cut_too(en_zh):
    zh = Translator(
        SavedModel(
            en_zh.path,
            replace(en_zh.run, languages="zh-en"),
            Tokenizers(en_zh.tokenizers.target, en_zh.tokenizers.source),
            lambda: en_zh.network,
            {},
        ),
        threads=1,
    )
    text = "".join(target.rstrip("。") for _, target in CHINESE * 2)
    pieces = split_sentences(text, "zh", zh.tokenizers.source, 30)
    assert "".join(piece.text for piece in pieces) == text
    assert all(len(zh.tokenizers.source.encode(piece.text)) <= 30 for piece in pieces)


def test_a_paragraph_of_many_thousand_words_is_read_once(en_fr):
    tokenizer = en_fr.tokenizers.source

    def cut(number):
        text = " ".join(["the cat sees a dog"] * number)
        for one in (text, text.replace("dog", "dog.")):
            pieces = [piece.text for piece in split_sentences(one, "en", tokenizer, 60)]
            assert " ".join(pieces).split() == one.split()
            assert all(len(tokenizer.encode(piece)) <= 60 for piece in pieces)

    assert growth(cut, 3000) < LINEAR


def test_pieces_are_put_together_as_the_language_does():
    pieces = [Segment("a", ""), Segment("b", "  "), Segment("c", " \n\n "), Segment("d", " ")]
    assert join_translations(pieces, list("ABCD"), "fr") == "A B\n\nC D"
    assert join_translations(pieces, list("ABCD"), "zh") == "AB\n\nCD"


@pytest.mark.parametrize("model", ["en_fr", "rnn"])
def test_a_batch_is_the_same_as_one_by_one(model, request):
    translator = request.getfixturevalue(model)
    texts = [source for source, _ in FRENCH]
    settings = SearchOptions(beam=3, batch_tokens=60)
    together = translator.translate(texts, settings=settings)
    for text, one in zip(texts, together, strict=True):
        alone = translator.translate(text, settings=settings)
        assert alone.text == one.text
        assert alone.alignment == one.alignment
        assert alone.score == pytest.approx(one.score, abs=1e-4)


def test_cores_change_nothing(en_fr):
    texts = [source for source, _ in FRENCH]
    settings = SearchOptions(beam=2, batch_tokens=60)
    two = load(en_fr.path, threads=2).translate(texts, settings=settings)
    one = en_fr.translate(texts, settings=settings)
    assert [t.text for t in two] == [t.text for t in one]


def test_a_prefix_is_kept(en_fr):
    source, target = FRENCH[0]
    for prefix in (target.split()[0], "Une chanteuse", target):
        found = en_fr.translate(source, prefix=prefix)
        assert found.text.startswith(prefix)
    assert en_fr.translate(source, prefix=target.split()[0]).text == target


def test_a_prefix_is_for_one_sentence(en_fr):
    long = " ".join(source.rstrip(".") for source, _ in FRENCH * 2)
    with pytest.raises(InputError, match="prefix is for one sentence"):
        en_fr.translate(long, prefix="Un")
    with pytest.raises(InputError, match="prefix is for one sentence"):
        en_fr.translate("", prefix="Un")


def test_the_best_come_first(en_fr):
    found = en_fr.translate(FRENCH[0][0], settings=SearchOptions(beam=5, n_best=4)).sentences[0]
    scores = [found.score, *(score for _, score in found.alternatives)]
    assert len(scores) == 4 and scores == sorted(scores, reverse=True)
    assert len({found.text, *(text for text, _ in found.alternatives)}) == 4
    with pytest.raises(InputError, match="got n_best=4, beam=2"):
        en_fr.translate(FRENCH[0][0], settings=SearchOptions(beam=2, n_best=4))


def test_sampling_is_by_seed(en_fr):
    def drawn_with(seed):
        settings = SearchOptions(sample=True, temperature=3.0, seed=seed, n_best=2)
        done = en_fr.translate([source for source, _ in FRENCH[:3]], settings=settings)
        return [one.text for one in done]

    assert drawn_with(1) == drawn_with(1) != drawn_with(2)
    sure = SearchOptions(sample=True, top_k=1)
    assert en_fr.translate(FRENCH[0][0], settings=sure).text == FRENCH[0][1]


@pytest.mark.parametrize("model", ["en_fr", "rnn"])
def test_maps_have_no_padding_and_sum_to_one(model, request):
    translator = request.getfixturevalue(model)
    done = translator.translate([source for source, _ in FRENCH[:4]], attention=True)
    for one in done:
        (sentence,) = one.sentences
        source = len(sentence.source_tokens) + 1
        target = min(len(sentence.tokens) + 1, translator.network.max_length)
        sizes = {"self": (source, source), "causal": (target, target), "cross": (target, source)}
        kinds = {each.kind for each in sentence.attention}
        assert kinds == ({"cross"} if model == "rnn" else set(sizes))
        for each in sentence.attention:
            assert each.weights.shape[0] == 1
            assert each.weights.shape[-2:] == sizes[each.kind]
            assert each.rows == tuple(range(sizes[each.kind][0]))
            sums = each.weights.float().sum(-1)
            torch.testing.assert_close(sums, torch.ones_like(sums))
    assert not en_attention(translator)


def en_attention(translator):
    """What is kept of attention when nobody asks."""
    return translator.translate(FRENCH[0][0]).attention


@pytest.mark.parametrize("model", ["en_fr", "en_zh", "rnn"])
def test_links_and_confidence(model, request):
    translator = request.getfixturevalue(model)
    for one in translator.translate([source for source, _ in FRENCH]):
        (sentence,) = one.sentences
        assert "".join(sentence.words) == sentence.text.replace(" ", "")
        for source, target in sentence.alignment:
            assert 0 <= source < len(sentence.source_words)
            assert 0 <= target < len(sentence.words)
        assert len(sentence.confidence) == len(sentence.words)
        assert all(0 <= share <= 1 for share in sentence.confidence)
    plain = translator.translate(FRENCH[0][0], alignment=False).sentences[0]
    assert plain.alignment == plain.words == plain.confidence == ()
    assert plain.text


def test_alternatives_for_a_word(en_fr):
    source, target = FRENCH[0]
    found = en_fr.alternatives(source, target, 2, count=3)
    assert len(found) == 3
    shares = [share for _, share in found]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) < 1
    begin = " ".join(target.split()[:2])
    for text, _ in found:
        assert text.startswith(begin) and text != target
    with pytest.raises(InputError, match="word 99 is not in"):
        en_fr.alternatives(source, target, 99)


def test_a_dictionary_for_machines(en_fr):
    found = en_fr.translate(f"{FRENCH[0][0]} {FRENCH[1][0]}").as_dict()
    assert set(found) == {"source", "text", "score", "warnings", "sentences"}
    assert [one["text"] for one in found["sentences"]] == [FRENCH[0][1], FRENCH[1][1]]


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_an_output_as_long_as_the_model_can_write(positions):
    """Untrained, it writes to its limit; the maps of that must fit as well."""
    torch.manual_seed(0)
    one = train_words(["a b c d e f g h"], None, "en")
    settings = TransformerSettings(
        dim=8,
        num_heads=2,
        ff=8,
        num_encoder_layers=1,
        num_decoder_layers=1,
        max_length=7,
        positions=positions,
    )
    network = build(settings, len(one), len(one)).eval()
    with torch.no_grad():
        network.output.bias[3] = -100.0  # never an end
    run = Run("en-en", settings, training=TrainingSettings(epochs=1))
    translator = Translator(
        SavedModel(Path(), run, Tokenizers(one, one), lambda: network, {}), threads=1
    )
    done = translator.translate("a b c d e f g h a b c", attention=True)
    assert " ".join(s.source for s in done.sentences) == "a b c d e f g h a b c"
    assert not any(sentence.finished for sentence in done.sentences)
    assert all(0 < len(sentence.tokens) <= 7 for sentence in done.sentences)
    for sentence in done.sentences:
        seen = sentence_view(sentence, run)
        assert seen.target_tokens[: len(sentence.tokens)] == sentence.tokens
        assert (
            alignment_matrix(
                sentence, replace(run, alignment=AlignmentSettings(0, 0, True))
            ).weights
            is not None
        )


@pytest.mark.parametrize("model", ["en_fr", "rnn"])
@pytest.mark.parametrize("shift", [False, True])
def test_what_is_seen(model, shift, request):
    translator = request.getfixturevalue(model)
    (sentence,) = translator.translate(FRENCH[1][0], attention=True).sentences
    head = None if model == "rnn" else 1
    run = replace(translator.run, alignment=AlignmentSettings(0, head, shift))
    seen = sentence_view(sentence, run, reference=FRENCH[1][1], title="one", name=model)
    assert seen.source == FRENCH[1][0]
    assert seen.translation == sentence.text
    assert seen.links == sentence.alignment
    assert seen.alignment_head == (None if head is None else (0, 1))
    assert len(seen.maps) == (1 if model == "rnn" else 6)
    weights = alignment_matrix(sentence, run).weights
    assert weights.shape == (len(sentence.words), len(sentence.source_words))
    plain = sentence_view(sentence, run).alignment_weights()
    assert (weights == pytest.approx(plain, abs=1e-6)) == (not shift)
    if shift and model == "en_fr":  # a word is read one step after it is written
        assert weights[0] == pytest.approx(plain[1], abs=1e-6)


def test_a_sentence_without_maps_can_be_drawn_too(en_fr):
    from rich.console import Console

    (sentence,) = en_fr.translate(FRENCH[0][0]).sentences
    console = Console(width=100, record=True)
    with console.capture() as captured:
        console.print(alignment_matrix(sentence, en_fr.run))
    assert sentence.words[0] in captured.get()
