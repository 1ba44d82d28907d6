"""The façade's own steps: segments, assembly, streams, alignment, edits, search keywords."""

import pytest

from regard.attention import Overwrite, SwitchOff
from regard.config import SearchOptions
from regard.errors import InputError
from regard.text.segments import MAX_WORD
from trained import taught

FRENCH = taught("en-fr")
(ONE, FIRST), (TWO, SECOND) = FRENCH[:2]


@pytest.mark.parametrize("model", ["en_fr", "en_zh", "rnn"])
@pytest.mark.parametrize("text", [ONE, f"{ONE} {TWO}\n\n{ONE}\n", "a" * MAX_WORD + f" {ONE}", " "])
def test_the_steps_by_hand_give_the_translation(model, text, request):
    translator = request.getfixturevalue(model)
    options = translator.options(beam=2, n_best=2)
    segments = translator.segment(text)
    sentences = translator.begin_segments(segments, options)()
    by_hand = translator.assemble(text, segments, sentences)
    direct = translator.translate(text, beam=2, n_best=2)
    assert by_hand.as_dict() == direct.as_dict()
    assert [t.text for t in by_hand.alternatives] == [t.text for t in direct.alternatives]


def test_a_source_is_tokenized_once(en_fr, monkeypatch):
    en_fr.prepare_engine()  # a conversion tokenizes the development set
    calls = []
    source = en_fr.tokenizers.source
    encode = type(source).encode
    monkeypatch.setattr(
        type(source), "encode", lambda own, text: calls.append(text) or encode(own, text)
    )
    en_fr.translate(f"{ONE} {TWO}", attention=True)
    assert calls.count(ONE) == calls.count(TWO) == 1


def test_keywords_are_search_options(en_fr):
    assert en_fr.options(beam=1).settings.beam == 1
    wide = en_fr.options(settings=SearchOptions(beam=2), n_best=4).settings
    assert wide == SearchOptions(beam=4, n_best=4)
    alone = en_fr.translate(ONE, n_best=3, beam=5).sentences[0]
    assert len(alone.alternatives) == 2
    with pytest.raises(TypeError, match="bema"):
        en_fr.translate(ONE, bema=3)


def test_the_n_best_of_a_whole_text(en_fr):
    done = en_fr.translate(f"{ONE} {TWO}\n", n_best=3)
    assert done.text == f"{FIRST} {SECOND}\n"
    texts = [done.text, *(other.text for other in done.alternatives)]
    assert len(set(texts)) == len(texts) == 3 and all(text.endswith("\n") for text in texts)
    for rank, other in enumerate(done.alternatives):
        chosen = [sentence.alternatives[rank][0] for sentence in done.sentences]
        assert other.text == " ".join(chosen) + "\n"


@pytest.mark.parametrize("model", ["en_fr", "en_zh"])
def test_a_stream_ends_in_the_greedy_translation(model, request):
    translator = request.getfixturevalue(model)
    updates = list(translator.stream(f"{ONE} {TWO}"))
    assert updates[-1].whole == translator.translate(f"{ONE} {TWO}", beam=1).text
    assert {update.sentence for update in updates} == {0, 1}
    assert all(update.whole.endswith(update.text) for update in updates)
    with pytest.raises(InputError, match="prefix is for one sentence"):
        translator.stream("", prefix="Un")


@pytest.mark.parametrize("model", ["en_fr", "en_zh", "rnn"])
def test_given_translations_are_aligned_as_found_ones(model, request):
    translator = request.getfixturevalue(model)
    for translation in translator.translate([source for source, _ in FRENCH[:4]]):
        (found,) = translation.sentences
        if not found.finished:
            continue  # cut off at the model's length, where another spelling may be longer
        (given,) = translator.align([(found.source, found.text)])
        assert given.words == found.words and given.source_words == found.source_words
        if given.tokens == found.tokens:
            assert given.alignment == found.alignment


def test_edits_change_the_attention_of_one_call(en_fr):
    off = en_fr.translate(f"{ONE} {TWO}", edits=[SwitchOff(kind="cross")])
    assert off.text != f"{FIRST} {SECOND}" and off.unused_edits == 0
    assert en_fr.translate(ONE).text == FIRST
    assert en_fr.translate(ONE, edits=[SwitchOff(layer=[77])]).unused_edits == 1
    row = Overwrite(kind="cross", rows=[0], weights=[1.0], renormalize=True)
    with pytest.raises(InputError, match="one sentence"):
        en_fr.translate(f"{ONE} {TWO}", edits=[row])
    with pytest.raises(InputError):
        en_fr.translate(ONE, edits=[row])  # more columns than weights
    with pytest.raises(InputError, match="with these edits"):
        en_fr.translate(ONE, edits=[SwitchOff(scale=1e30)])
