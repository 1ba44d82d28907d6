"""Rows of ids in one array: the same rows as were given, also after a tensor was stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tasks.text.encoded_corpus import EncodedCorpus, corpus_tensors, stored_ids
from regard.tasks.text.id_rows import IdRows

ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=4), max_size=6)


@given(ROWS)
def test_rows_are_those_given(rows):
    made = IdRows.of(rows)
    assert [row.tolist() for row in made] == rows and len(made) == len(rows)
    assert [row.tolist() for row in made[::-2]] == rows[::-2]
    assert made.lengths.tolist() == [len(row) for row in rows]
    assert IdRows.of(made) is made
    if rows:
        assert made[-1].tolist() == rows[-1]
    with pytest.raises(IndexError):
        made[len(rows)]


@given(ROWS)
def test_stored_rows(rows):
    tensors = corpus_tensors("train", EncodedCorpus(None, rows, 100))
    assert stored_ids(tensors, "train.source") is None
    assert [row.tolist() for row in stored_ids(tensors, "train.target")] == rows


@pytest.mark.parametrize("lengths", [[2, 2], [1], [], [4, -1]])
def test_lengths_that_do_not_fit(lengths):
    with pytest.raises(IndexError, match="3 ids"):
        IdRows(np.arange(3, dtype=np.int32), np.array(lengths, np.int32))
