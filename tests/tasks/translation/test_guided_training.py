"""`regard train` with guided heads: from links in files, of an aligner or of a model, to AER."""

import shutil

import pytest

from regard.alignment import tokenized_words
from regard.alignment.token_links import token_links
from regard.cli import main
from regard.config import Run, TrainingSettings, TransformerSettings
from regard.corpus.grammar import sample
from regard.corpus.grammar.measures.coreference import count_antecedents
from regard.corpus.mixture import CorpusPart
from regard.corpus.pairs import Pair
from regard.demo.translation_scores import mapped_batches, score
from regard.errors import InputError
from regard.folder import Tokenizers, load_weights
from regard.tasks import load, load_run
from regard.tasks.translation.guided.links import encoded_links, with_links
from regard.text.sentencepiece_tokenizer import train_sentencepiece
from regard.text.vocabulary import train_chars, train_words

COUNT = 24
SMALL = (
    "--preset tiny --languages en-fr --training.precision fp32 --training.warmup 5 "
    "--training.label_smoothing 0 --training.average none --training.learning_rate 5e-3 "
    "--training.schedule constant --training.validate_every 1000 --training.tensorboard false "
    "--training.validate_sentences 0 --training.batch_tokens 800 --model.dropout 0 "
    "--text.unit word --model.dim 32 --model.num-heads 2 --model.ff 64 "
    "--model.num_encoder_layers 2 --model.num_decoder_layers 1"
)
GUIDES = (
    "--training.guided-alignment grammar --training.guide encoder:1:1=antecedents "
    "--training.guide-weight 1"
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The files of `regard corpus write`; its training sentences, also as objects."""
    folder = tmp_path_factory.mktemp("grammar")
    words = ["corpus", "write", "--out", folder, "--train", COUNT, "--dev", 4, "--test", 0]
    assert main([*map(str, words), "--max-words", "14"]) == 0
    return folder


def train(corpus, out, *flags, steps=100):
    files = [corpus / "train.en-fr.tsv", "--dev", corpus / "dev.en-fr.tsv", "--out", out]
    given = [*SMALL.split(), *flags, "--training.steps", steps]
    return main(["train", *map(str, [*files, *given])])


@pytest.fixture(scope="module")
def guided(corpus, tmp_path_factory):
    """A model of two guided heads, whose gradients two processes computed."""
    folder = tmp_path_factory.mktemp("guided") / "model"
    assert train(corpus, folder, *GUIDES.split(), "--training.threads", "2") == 0
    return folder


def test_guided_heads_learn_the_grammars_links(guided):
    """Both heads follow the links of the sentences they learned, whatever else is learned."""
    model = load(guided)
    chosen = model.run.alignment
    assert (chosen.layer, chosen.head, chosen.shift, chosen.mutual) == (0, 0, True, False)
    pairs = sample("train", COUNT, language="fr", seed=0, max_words=14)
    assert score(model, pairs, "fr").alignment_error_rate < 0.02
    (seen, batch), *_ = mapped_batches(model, pairs)
    counts = {
        (row.kind, row.layer, row.head): count
        for row, count in count_antecedents(seen, batch).items()
        if row.row == "encoder it"
    }
    count = counts["self", 1, 1]
    assert count.total > 3 and count.share > 0.9
    assert max(c.share for key, c in counts.items() if key != ("self", 1, 1)) < count.share


def test_a_guided_run_that_is_resumed_makes_the_same_updates(corpus, tmp_path):
    for name, steps in (("whole", 6), ("parts", 3)):
        assert train(corpus, tmp_path / name, *GUIDES.split(), steps=steps) == 0
    assert main(["train", "--resume", str(tmp_path / "parts"), "--training.steps", "6"]) == 0
    one, other = (
        load_weights(tmp_path / name / "model.safetensors") for name in ("whole", "parts")
    )
    assert all((one[name] == other[name]).all() for name in one)
    again = ["train", "--resume", str(tmp_path / "parts"), "--training.steps", "7"]
    assert main([*again, "--training.guide", "encoder:0:0=antecedents"]) == 2


def test_links_of_an_aligner_and_of_a_model(corpus, guided, tmp_path, capsys):
    for links in ("auto", str(guided)):
        out = tmp_path / links.replace("/", "-")
        assert train(corpus, out, "--training.guided_alignment", links, steps=2) == 0
        run = load_run(out)
        assert run.alignment.shift and run.training.guided_alignment == links
    assert train(corpus, tmp_path / "no", "--training.guided_alignment", "absent", steps=2) == 2
    assert "there is no such file of links" in capsys.readouterr().err


def settings(guide="", links="auto", language="fr"):
    model = TransformerSettings(num_encoder_layers=1, num_decoder_layers=1)
    training = TrainingSettings(epochs=1, guided_alignment=links or None, guide=guide or None)
    return Run(languages=f"en-{language}", model=model, training=training)


def test_a_model_gives_the_links_that_it_shows(guided):
    """And the aligner's are between characters of the same words."""
    pairs = [Pair(p.source, p.target) for p in sample("train", 9, language="fr", max_words=14)]
    model = load(guided)
    run = settings(links=str(guided))
    for pair in with_links(pairs, [], run, len(pairs)):
        (links,) = pair.links
        shown = {(pair.target[a:b], pair.source[c:d]) for a, b, c, d in links}
        translation = model.translate(pair.source, prefix=pair.target, beam=1, split=False)
        assert links and shown
        if translation.text == pair.target:
            (sentence,) = translation.sentences
            source, target = sentence.source_words, sentence.words
            assert shown == {(target[t], source[s]) for s, t in sentence.alignment}
    for pair in with_links(pairs * 5, [], settings(), len(pairs)):
        assert all(
            pair.source[c:d].strip() and pair.target[a:b].strip() for a, b, c, d in pair.links[0]
        )


@pytest.mark.parametrize("language", ["fr", "zh"])
@pytest.mark.parametrize("kind", ["pieces", "words", "characters"])
def test_links_of_words_become_links_of_their_tokens(kind, language):
    pairs = sample("train", 60, language=language, seed=5, max_words=12)
    lines = [p.source for p in pairs], [p.target for p in pairs]
    if kind == "pieces":
        tokenizers = Tokenizers(*(train_sentencepiece(side, 400, "bpe") for side in lines))
    else:
        make = train_words if kind == "words" else train_chars
        codes = "en", language
        tokenizers = Tokenizers(*(make(s, None, c) for s, c in zip(lines, codes, strict=True)))
    for pair in pairs[:20]:
        source = tokenized_words(pair.source, tokenizers.source, word_list=pair.source_words)
        target = tokenized_words(pair.target, tokenizers.target, word_list=pair.target_words)
        for link in pair.links:
            query, key = target.words[link.target], source.words[link.source]
            found = token_links(
                [(query.start, query.end, key.start, key.end)],
                tokenizers.target.spans(pair.target),
                tokenizers.source.spans(pair.source),
            )
            queries, keys = target.tokens[link.target], source.tokens[link.source]
            assert found.tolist() == [[q, k] for q in queries for k in keys]


def test_rows_and_columns_are_those_of_the_attention():
    """After BOS in the decoder, after tags in the encoder; cut sentences lose links."""
    text = "a b c"
    tokenizer = train_words([text, text], None, "en").with_tags(["<2fr>"])
    tokenizers = Tokenizers(tokenizer, tokenizer)
    across = ((0, 1, 4, 5), (4, 5, 0, 1))  # a–c and c–a
    pair = Pair(text, text, ("<2fr>",), links=(across, across, across))
    run = settings("encoder:0:0=x,decoder:0:0=y")
    ids = tokenizer.encode(text)
    source = [tokenizer.tags["<2fr>"], *ids]
    rows = encoded_links([pair], [source], [ids], tokenizers, run)
    assert [guided.links[0].tolist() for guided in rows] == [
        [[1, 3], [3, 1]],  # cross: target a at 1, source c at 3
        [[1, 3], [3, 1]],
        [[3, 1]],  # the decoder sees no later token
    ]
    pair = pair._replace(links=(across,))
    cut = encoded_links([pair], [source[:3]], [ids], tokenizers, settings())
    assert cut[0].links[0].tolist() == [[3, 1]]
    labels = len(ids) + 1
    assert rows[0].factor == pytest.approx(run.training.guide_weight * labels / 2)


def test_files_that_do_not_fit_are_errors(tmp_path):
    pairs = [Pair("a b", "c d", number=0), Pair("e", "f", number=1)]
    corpus, links = tmp_path / "pairs.tsv", tmp_path / "links.txt"
    corpus.write_text("a b\tc d\ne\tf\n")
    parts = [CorpusPart((str(corpus),))]

    def attached(text, name=str(links)):
        links.write_text(text)
        return [pair.links for pair in with_links(pairs, parts, settings(links=name), 2)]

    assert attached("0-1 1?0\n\n") == [(((2, 3, 0, 1), (0, 1, 2, 3)),), ((),)]
    for text, what in (
        ("0-0\n", "got 1 lines for 2 pairs"),
        ("0-0\n1-0\n", r"links.txt, line 2: a word is linked that is not in the pair of 1 source"),
        ("0-0\n0:0\n", r"links.txt, line 2: '0:0' is not a link"),
    ):
        with pytest.raises(InputError, match=what):
            attached(text)
    with pytest.raises(InputError, match=r"pairs.align: .* needs this file beside the corpus"):
        attached("\n\n", "grammar")
    shutil.copy(links, tmp_path / "pairs.align")
    assert attached("", "grammar") == [((),), ((),)]
    with pytest.raises(InputError, match="no sentence has links to learn from"):
        tokenizer = train_words(["a b c d e f"], None, "en")
        encoded_links(
            [pairs[1]._replace(links=((),))],
            [[7]],
            [[8]],
            Tokenizers(tokenizer, tokenizer),
            settings(),
        )
