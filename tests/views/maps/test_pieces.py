"""Tokens of any tokenizer: made readable, and grouped into words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.views.maps.pieces import is_special, readable, words_of


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ("[CLS] un ##think ##able ideas ! [SEP]", "[CLS] unthinkable ideas ! [SEP]"),
        ("▁The ▁ani mal ▁didn ' t . </s>", "The animal didn't . </s>"),
        ("The Ġani mal Ġslept . Ċ Ġso <|endoftext|>", "The animal slept . ⏎ so <|endoftext|>"),
        ("ä½łå¥½ ï¼Į ä¸ĸçķĮ", "你好 ， 世界"),
        ("▁我 喜欢 猫 。", "我 喜欢 猫 。"),
        ("un@@ think@@ able ideas", "unthinkable ideas"),
        ("un think able</w> ideas</w> !</w>", "unthinkable ideas !"),
        ("▁we ▁ <0xF0> <0x9F> <0x90> <0x99>", "we 🐙"),
        ("plain words café", "plain words café"),
        ("[MASK] is ##n ' t <unk>", "[MASK] isn ' t <unk>"),
    ],
)
def test_words_of_known_tokenizers(tokens, words):
    found, groups = words_of(tokens.split())
    assert list(found) == words.split()
    assert len(groups) == len(found)
    flat = [number for group in groups for number in group]
    assert flat == sorted(set(flat))


@given(st.lists(st.text("aé你 的'😀\n", min_size=1, max_size=4), min_size=1, max_size=8))
def test_byte_level_pieces_spell_their_text(pieces):
    """Any text in the alphabet of byte-level tokenizers is decoded."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters = bytes_to_unicode()
    tokens = ["".join(letters[byte] for byte in piece.encode()) for piece in pieces]
    found = readable(tokens)
    spelled = "".join(found).replace("▁", " ").replace("⏎", "\n")
    if not "".join(tokens).isascii():
        assert spelled == "".join(pieces)


def test_accents_are_not_mistaken_for_bytes():
    assert readable(["café", "Ärger"]) == ("café", "Ärger")
    assert readable(["Ġ", "你"]) == ("Ġ", "你")  # no byte-level tokenizer writes 你
    assert readable([]) == ()
    assert words_of([]) == ((), ())
    assert not is_special("<b>x</b>")
