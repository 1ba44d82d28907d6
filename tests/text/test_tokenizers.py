"""One contract for all tokenizers: round trips, spans, specials, files."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import InputError
from regard.text import BOS, EOS, MASK, PAD, UNK, Tokenizer, load, normalize, words
from regard.text.sentencepiece_tokenizer import SentencePieceTokenizer, train_sentencepiece
from regard.text.tags import tagged_spans
from regard.text.vocabulary import train_chars, train_words

ENGLISH = [
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide!",
    "Wait... what? (Yes, “really”.) It costs $3.50; 1,000 or so.",
]
FRENCH = [
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    "« Bonjour ! » dit-elle : aujourd'hui, 50 % d'entre eux…",
]
GERMAN = ["Das Tier hat die Straße nicht überquert, weil es „zu müde“ war."]
CHINESE = ["那只动物没有过马路，因为它太累了。", "我用 Python 3.11 写代码，“很好”……"]
JAPANESE = ["動物は疲れすぎて、通りを渡らなかった。", "「そうだ。」と言った。"]
TEXTS = ENGLISH + FRENCH + GERMAN + CHINESE + JAPANESE

MAKERS = {
    "unigram": lambda: train_sentencepiece(TEXTS * 3, 420, "unigram"),
    "bpe": lambda: train_sentencepiece(TEXTS * 3, 420, "bpe"),
    "char": lambda: train_chars(TEXTS[:6]),
    "word": lambda: train_words(TEXTS, 1000, ""),
}
SPELLING = ["unigram", "bpe", "char"]  # nothing is unknown to these
MADE = {}
NOISE = st.one_of(
    st.text(st.characters()),
    st.text(st.sampled_from("abé ▁_<s>[MASK]0x4😀早\u0301\u2028\uffff\ud800,.'\n")),
    st.sampled_from(["", " ", "<0x41>", "<unk>", "</s><pad>[MASK]", "▁▁", "⁇", "\u2585"]),
)


@pytest.fixture(params=MAKERS)
def tokenizer(request):
    return made(request.param)


def made(kind):
    if kind not in MADE:
        MADE[kind] = MAKERS[kind]()
    return MADE[kind]


def spelled(tokenizer, text):
    """Encode, with what every encoding must obey."""
    ids = tokenizer.encode(text)
    spans = tokenizer.spans(text)
    normal = normalize(text)
    assert len(spans) == len(ids) == len(tokenizer.pieces(ids))
    assert all(number == UNK or MASK < number < len(tokenizer) for number in ids)
    assert all(0 <= start <= end <= len(normal) for start, end in spans)
    assert spans == sorted(spans)
    covered = {place for start, end in spans for place in range(start, end)}
    assert {place for place, character in enumerate(normal) if character != " "} <= covered
    return ids


@settings(max_examples=150)
@given(st.sampled_from(SPELLING), NOISE)
def test_any_text_round_trips(kind, text):
    tokenizer = made(kind)
    ids = spelled(tokenizer, text)
    assert UNK not in ids
    assert tokenizer.decode(ids) == normalize(text)


@pytest.mark.parametrize("text", TEXTS)
def test_known_text_round_trips(tokenizer, text):
    ids = spelled(tokenizer, text)
    assert UNK not in ids
    assert tokenizer.decode(ids) == normalize(text)
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == normalize(text)


@given(st.sampled_from(list(MAKERS)), st.lists(NOISE, max_size=5))
def test_many_texts_at_once(kind, texts):
    assert made(kind).encode_all(texts) == [made(kind).encode(text) for text in texts]


@given(NOISE)
def test_unknown_words(text):
    ids = spelled(made("word"), text)
    assert made("word").decode(ids).count("⁇") >= ids.count(UNK)


@given(st.sampled_from(list(MAKERS)), st.data())
def test_any_ids_can_be_read(kind, data):
    tokenizer = made(kind)
    ids = data.draw(st.lists(st.integers(0, len(tokenizer) - 1)))
    text = tokenizer.decode(ids)
    assert text.encode().decode() == text
    assert len(tokenizer.pieces(ids)) == len(ids)
    assert (
        tokenizer.decode([number for number in ids if number not in (PAD, BOS, EOS, MASK)]) == text
    )


@pytest.mark.parametrize("kind", SPELLING)
def test_an_incomplete_character(kind):
    tokenizer = made(kind)
    whole = tokenizer.encode("the 😀 cat")
    at = next(place for place, piece in enumerate(tokenizer.pieces(whole)) if piece == "<0x9F>")
    assert tokenizer.decode(whole[: at + 1]) == "the \ufffd"
    assert tokenizer.decode(whole[:at] + whole[at + 3 :]) == "the \ufffd cat"
    spans = tokenizer.spans("the 😀 cat")
    assert spans[at - 1 : at + 3] == [(4, 5)] * 4


def test_special_ids_mean_the_same_everywhere(tokenizer):
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.pieces(range(5)) == ["<pad>", "<unk>", "<s>", "</s>", "[MASK]"]
    assert (PAD, UNK, BOS, EOS, MASK) == (0, 1, 2, 3, 4)
    assert tokenizer.decode([PAD, BOS, EOS, MASK]) == ""
    assert tokenizer.encode("") == tokenizer.encode(" \n") == tokenizer.spans("") == []
    assert MASK not in tokenizer.encode("The [MASK] animal")


def test_masks(tokenizer):
    sentence = "The animal didn't cross."
    ids = tokenizer.encode(sentence)
    masked = tokenizer.encode_masked("The [MASK] didn't cross.")
    assert masked.count(MASK) == 1
    at = masked.index(MASK)
    after = masked[at + 1 :]
    assert masked[:at] == ids[:at]
    assert after == ids[-len(after) :]
    assert tokenizer.encode_masked("[MASK]") == [MASK]
    assert tokenizer.encode_masked("[MASK].")[1:] == tokenizer.encode("a.")[-1:]
    assert tokenizer.encode_masked(sentence) == ids


def test_spans_find_the_words(tokenizer):
    text = "The animal didn't cross."
    for word in words(text, "en"):
        inside = [s for s in tokenizer.spans(text) if s[0] >= word.start and s[1] <= word.end]
        places = {place for start, end in inside for place in range(start, end)}
        assert places == set(range(word.start, word.end))


def test_saved_and_loaded(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_text("old")
    tokenizer.save(path)
    again = load(path)
    assert type(again) is type(tokenizer)
    assert len(again) == len(tokenizer)
    for text in [*TEXTS, "unseen 😀 words"]:
        assert again.encode(text) == tokenizer.encode(text)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.model"]


def test_training_is_deterministic(tmp_path):
    for kind, make in MAKERS.items():
        made(kind).save(tmp_path / "one")
        make().save(tmp_path / "two")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_sentencepiece_of_little_text_is_quiet_and_small(model_type, capfd):
    for text in ("a", "hello", "你好"):
        tokenizer = train_sentencepiece([text], 8000, model_type)
        assert len(tokenizer) < 300
        assert tokenizer.decode(tokenizer.encode("hello 你好")) == "hello 你好"
    assert capfd.readouterr() == ("", "")


def test_sentencepiece_with_more_characters_than_room():
    han = [chr(0x4E00 + i) * (1 + i % 3) + chr(0x4E00 + i // 2) for i in range(600)]
    tokenizer = train_sentencepiece(["".join(han[i : i + 20]) for i in range(0, 600, 20)], 400)
    assert len(tokenizer) <= 400
    assert tokenizer.decode(tokenizer.encode("".join(han))) == "".join(han)


def test_sentencepiece_learns_words_and_samples_lines():
    tokenizer = made("unigram")
    assert "▁the" in tokenizer.pieces(tokenizer.encode("on the street"))
    lines = [f"line {number}" for number in range(500)]
    sampled = [train_sentencepiece(lines, 300, "bpe", seed, 20) for seed in (1, 1, 2)]
    assert sampled[0].model == sampled[1].model != sampled[2].model
    learnt = sampled[0].pieces(range(261, len(sampled[0])))
    assert max(sum(map(str.isdigit, piece)) for piece in learnt) == 1


def test_word_vocabularies_are_plain_and_cased(tmp_path):
    tokenizer = train_words(["The the the cat", "a cat, the Cat"], 7, "en", min_count=2)
    assert tokenizer.vocabulary.tokens == ("▁the", "▁cat")
    assert tokenizer.pieces(tokenizer.encode("the The cat")) == ["▁the", "<unk>", "▁cat"]
    assert tokenizer.decode(tokenizer.encode("the dog, cat")) == "the ⁇ ⁇ cat"
    tokenizer.save(tmp_path / "words.json")
    assert json.loads((tmp_path / "words.json").read_text())["tokens"] == ["▁the", "▁cat"]


def test_word_level_chinese_has_no_false_spaces():
    tokenizer = train_words(CHINESE, None, "zh")
    assert tokenizer.pieces(tokenizer.encode("因为我 Python"))[:3] == ["因", "为", "我"]
    assert tokenizer.decode([UNK, *tokenizer.encode("累了")]) == "⁇累了"


@pytest.mark.parametrize("train", [train_sentencepiece, train_chars])
def test_too_small_a_vocabulary(train):
    with pytest.raises(InputError, match=r"vocab_size must be at least \d+, got 200\.$"):
        train(TEXTS, 200)


def test_nothing_to_learn_from():
    for train in (
        lambda: train_sentencepiece(["", " \n"], 500),
        lambda: train_chars([]),
        lambda: train_words([" "], 10, "en"),
    ):
        with pytest.raises(InputError, match=r"there are no .*\.$"):
            train()


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"{}", b'{"format": "regard-vocabulary"}', b"{broken", b"\x0a\x00\xff"],
)
def test_a_file_of_another_kind(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError, match=rf"^{tmp_path}/a: .*\.$"):
        load(tmp_path / "a")


def test_foreign_and_missing_and_newer_files(tmp_path):
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_writer=model,
        vocab_size=300,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    with pytest.raises(InputError, match="not trained by regard"):
        SentencePieceTokenizer.from_bytes(model.getvalue(), "foreign.model")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "none")
    made("char").save(tmp_path / "a")
    newer = json.loads((tmp_path / "a").read_text()) | {"version": 2}
    (tmp_path / "a").write_text(json.dumps(newer))
    with pytest.raises(InputError, match="newer"):
        load(tmp_path / "a")


def test_tags_before_a_text_have_empty_spans(tokenizer):
    tagged = tokenizer.with_tags(["<2fr>", "<news>"])
    for text in (*TEXTS, "🜚 𝔘"):  # characters that some tokenizers spell in bytes
        ids = tagged.encode(text)
        tags = [tagged.tags["<2fr>"], tagged.tags["<news>"]]
        spans = tagged_spans(tagged, text, [*tags, *ids])
        assert spans == [(0, 0), (0, 0), *tagged.spans(text)]
