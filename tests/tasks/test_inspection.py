"""Inspection of texts with each kind of model, and in notebooks."""

import math
import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from classified import classifier
from regard.config import (
    LanguageModelSettings,
    RnnSettings,
    Run,
    SearchOptions,
    TransformerSettings,
)
from regard.errors import InputError
from regard.folder import SavedModel
from regard.tasks import build, inspection, load
from regard.tasks.inspection import (
    InspectOptions,
    check_pair,
    describe_model,
    inspect,
    side_by_side,
)
from regard.tasks.language_model.generator import Generator
from regard.tasks.masked_language_model.mask_filler import MaskFiller
from regard.tasks.translation.translator import Translator
from regard.text import MASK
from regard.views import SentenceView, page
from trained import taught

FRENCH = taught("en-fr")
TEXT = FRENCH[0][0]


def look(model, *texts, **options):
    return inspect(model, texts, InspectOptions(**options))


def like(model, settings, **run):
    """A model of the same tokens with other settings, untrained."""
    torch.manual_seed(1)
    tokenizers = getattr(model, "tokenizers", None) or SimpleNamespace(
        source=model.tokenizer, target=model.tokenizer
    )
    made = Run(model=settings, languages=model.run.languages, **run)
    network = build(settings, len(tokenizers.source), len(tokenizers.target)).eval()
    return type(model)(SavedModel(model.path, made, tokenizers, lambda: network, {}))


def test_sentences_of_a_translator(en_fr):
    (one, two, three) = look(en_fr, f"{TEXT} {FRENCH[1][0]}", FRENCH[2][0], name="mine")
    assert [x.view.source for x in (one, two, three)] == [source for source, _ in FRENCH[:3]]
    assert one.view.translation == FRENCH[0][1] and one.view.model == "mine"
    assert {maps.kind for maps in one.view.maps} == {"cross", "encoder", "decoder"}
    with torch.no_grad():
        score = one.score(en_fr.network(one.batch))
    found = en_fr.translate(TEXT).sentences[0].hypothesis
    assert float(score) == pytest.approx(found.log_probability, abs=1e-3)
    (whole,) = look(en_fr, f"{TEXT} {FRENCH[1][0]}", split=False)
    assert whole.view.source.startswith(TEXT)
    (begun,) = look(en_fr, TEXT, prefix="Une", settings=SearchOptions(beam=1))
    assert begun.view.translation.split()[0] in ("Une", "⁇")


def test_a_language_model_reads_and_continues(lm):
    (read,) = look(lm, TEXT)
    ids = lm.tokenizer.encode(TEXT)
    assert not read.view.has_target and len(read.view.source_tokens) == len(ids) + 1
    assert [(m.kind, m.layer) for m in read.view.maps] == [("decoder", 0), ("decoder", 1)]
    assert read.view.source_words[0] == "<s>" and math.isnan(read.view.confidence[0])
    with torch.no_grad():
        told = float(read.score(lm.network(read.batch)))  # its end is no word
        end = lm.network(read.batch)[0, -1].log_softmax(-1)[3]
    assert np.log(read.view.confidence[1:]).sum() == pytest.approx(told - float(end), abs=1e-3)
    (on,) = look(lm, "The", generate=6)
    begun = len(lm.tokenizer.encode("The"))
    assert len(on.view.source_tokens) <= begun + 6 + 1
    assert on.view.source.startswith("The") and "tokens read" in on.view.title
    np.testing.assert_allclose(on.view.maps[1].weights.sum(-1), 1, atol=1e-5)


def test_a_masked_language_model_shows_its_predictions(mlm):
    text = "The [MASK] was playing."
    one, plain = look(mlm, text, TEXT)
    (guesses,) = mlm.fill(text, 3)
    word = guesses[0].token.lstrip("▁")
    assert one.view.title.startswith(f"[MASK] 1: “{word}” {guesses[0].probability:.0%}")
    assert {maps.kind for maps in one.view.maps} == {"encoder"}
    assert "[MASK]" in one.view.source_words
    assert (one.batch.labels != 0).tolist() == (one.batch.inputs == MASK).tolist()
    assert plain.score is None and plain.view.title == ""


def test_a_classifier_attends_from_its_label(tmp_path_factory):
    model = load(classifier("text-en", tmp_path_factory))
    (one,) = look(model, "I was so happy zxzzx.")
    found = model.classify("I was so happy zxzzx.", why="attention")
    shown = one.view
    assert shown.target_words == (found.label,)
    assert shown.source_words == ("I", "was", "so", "happy", "zxzzx", ".")
    weights = shown.alignment_weights()[0]
    np.testing.assert_allclose(weights, [word.weight for word in found.words], atol=1e-4)
    assert shown.confidence[0] == pytest.approx(found.probability)


@pytest.mark.parametrize("kind", ["lm", "transformer"])
def test_long_texts_are_recorded_layer_by_layer(kind, lm, en_fr, monkeypatch):
    """The same page, and never more than one layer held."""
    if kind == "lm":
        model = like(
            lm, LanguageModelSettings(num_layers=3, num_heads=2, dim=16, ff=16, max_length=600)
        )
    else:
        settings = TransformerSettings(
            num_encoder_layers=2, num_decoder_layers=2, num_heads=2, dim=16, ff=16, max_length=600
        )
        model = like(en_fr, settings)
    text = " ".join(source for source, _ in FRENCH) * 2
    wish = {"split": False, "name": "x", "settings": SearchOptions(beam=1, max_length=40)}
    (short,) = look(model, text, **wish)
    monkeypatch.setattr(inspection, "LONG", 20)
    held = []
    plain = inspection.RepeatedForward.weights
    monkeypatch.setattr(
        inspection.RepeatedForward, "weights", lambda *a: held.append(a[1:]) or plain(*a)
    )
    (long,) = look(model, text, **wish)
    assert held == []  # nothing is recorded before somebody looks
    assert all(isinstance(maps.weights, inspection.LazyWeights) for maps in long.view.maps)
    for one, other in zip(long.view.maps, short.view.maps, strict=True):
        assert (one.kind, one.layer, one.heads) == (other.kind, other.layer, other.heads)
        np.testing.assert_allclose(np.asarray(one.weights), other.weights, atol=1e-5)
        np.testing.assert_allclose(one.matrix(1), other.matrix(1), atol=1e-5)
    for name in ("source_words", "target_words", "links", "alignment_head", "title"):
        assert getattr(long.view, name) == getattr(short.view, name), name
    np.testing.assert_allclose(long.view.confidence or (), short.view.confidence or ())
    held.clear()
    assert page("t", [long.view])
    turns = [key for n, key in enumerate(held) if not n or held[n - 1] != key]
    assert len(turns) == len(long.view.maps)  # each layer is recorded once


def test_two_models_side_by_side(en_fr, rnn, lm, mlm, en_zh):
    check_pair(en_fr, rnn)
    check_pair(en_fr, en_zh)
    first, second = ([one.view for one in look(m, TEXT, FRENCH[1][0])] for m in (en_fr, rnn))
    pairs = side_by_side(first, second)
    assert len(pairs) == 2 and page("t", pairs)
    with pytest.raises(InputError, match="two models of one kind"):
        check_pair(lm, mlm)
    other = like(en_fr, en_fr.run.model)
    other.run = replace(other.run, languages="de-fr")
    with pytest.raises(InputError, match=r"reads en and .* reads de"):
        check_pair(en_fr, other)
    with pytest.raises(InputError, match="cut the text into different pieces"):
        side_by_side(first, second[:1])


def test_a_network_without_attention_is_described(rnn):
    model = like(rnn, RnnSettings(attention="none", embedding=16, dim=16, max_length=48))
    (one,) = look(model, TEXT, settings=SearchOptions(beam=1, max_length=9))
    assert one.view.maps == () and one.view.links == ()
    told = describe_model(model, "mine", [one.view])
    assert told["kind"] == "recurrent network without attention"
    assert told["maps"] == "none: this recurrent network was trained without attention"
    shown = describe_model(rnn, "mine", [look(rnn, TEXT)[0].view])
    assert shown["maps"] == "cross: 1 layer of 1 head"


def test_what_a_model_cannot_do(en_fr, lm, mlm):
    with pytest.raises(InputError, match="only a language model can continue"):
        look(en_fr, TEXT, generate=3)
    with pytest.raises(InputError, match="this model does not translate"):
        look(mlm, TEXT, prefix="x")
    with pytest.raises(InputError, match=r"the text has .* tokens, but the model holds 47"):
        look(lm, TEXT * 30)
    with pytest.raises(InputError, match="a word of 1,000 characters or more is copied"):
        look(en_fr, "a" * 1000)
    assert (
        isinstance(lm, Generator) and isinstance(mlm, MaskFiller) and isinstance(en_fr, Translator)
    )


def test_translations_in_notebooks(en_fr):
    whole = en_fr.translate(TEXT, attention=True)
    links = en_fr.translate(f"{TEXT} {FRENCH[1][0]}")
    assert "<iframe sandbox=" in whole._repr_html_()
    assert FRENCH[1][1].split()[-1].rstrip(".") in links._repr_html_()
    assert "&quot;kind&quot;:&quot;decoder&quot;" in whole._repr_html_()
    assert "&quot;kind&quot;:" not in links._repr_html_()
    plain = en_fr.translate("<b>", alignment=False)
    assert "<iframe" not in plain._repr_html_() and "<b>" not in plain._repr_html_()
    assert "<iframe" not in en_fr.translate("")._repr_html_()
    assert "maker" not in repr(links)
    assert len(pickle.dumps(links)) < 4000
    assert pickle.loads(pickle.dumps(links)).model == links.model
    assert links.model.alignment == en_fr.run.alignment


def test_generated_texts_in_notebooks(lm):
    settings = SearchOptions(beam=1, max_length=8)
    (looked,) = lm.generate("The", settings=settings, attention=True)
    (plain,) = lm.generate("The", settings=settings)
    assert "<iframe sandbox=" in looked._repr_html_()
    assert plain._repr_html_() == f'<p dir="auto" style="white-space: pre-wrap">{plain.text}</p>'
    assert isinstance(
        SentenceView.from_text(looked.attention, tokens=("<s>", *looked.tokens)), SentenceView
    )
