"""Translators that studies share, and what is measured of one."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.corpus.grammar import seed_sentences
from regard.demo.data import DemoData, TrainingPair, prepare_data
from regard.demo.head_ablation import AblationSentences, all_heads
from regard.errors import InputError
from regard.folder import SavedModel, save_metrics, save_run
from regard.models.batch import batch_of
from regard.studies.study import StudyOptions
from regard.studies.translators.coreference import head_causes, head_counts, swapped
from regard.studies.translators.faithful import attributions, deletion_effects
from regard.studies.translators.trained import (
    TranslatorChoice,
    held_out,
    is_trained,
    model_folder,
    study_run,
)
from regard.tasks import find_task
from regard.tasks.translation.translator import Translator
from regard.training.run import new_network
from regard.views.maps.effects import token_scores


@pytest.fixture(scope="module")
def translator():
    """A translator with random weights that knows the words of the showcase."""
    run, pairs = study_run(TranslatorChoice(), quick=True), seed_sentences("fr")
    words = [TrainingPair(pair.source, pair.target, False) for pair in pairs]
    data = prepare_data(DemoData(words, pairs, pairs, pairs), run)
    network = new_network(find_task(run.model.kind), data)
    return Translator(SavedModel(Path(), run, data.tokenizers, lambda: network, {}))


def test_a_folder_is_named_by_its_settings(tmp_path):
    folders = {
        model_folder(StudyOptions(quick=quick, models=tmp_path), TranslatorChoice(name, "fr", seed))
        for quick in (False, True)
        for name in ("full", "luong")
        for seed in (0, 1)
    }
    assert len(folders) == 8


def test_only_a_finished_model_of_the_same_settings_is_taken(tmp_path):
    run, other = study_run(TranslatorChoice()), study_run(TranslatorChoice(seed=1))
    assert not is_trained(tmp_path, run)
    save_run(tmp_path, run)
    assert not is_trained(tmp_path, run)
    save_metrics(tmp_path, {})
    assert is_trained(tmp_path, run)
    assert not is_trained(tmp_path, other)


def test_an_unknown_attention_is_named():
    with pytest.raises(InputError, match="attention must be one of bahdanau, luong"):
        study_run(TranslatorChoice("linear"))


def test_held_out_sentences_are_as_long_as_the_trained_ones():
    options = StudyOptions(quick=True)
    lengths = [len(pair.source_words) for pair in held_out(options, 20)]
    assert max(lengths) <= 12


def test_attributions_of_one_sentence(translator):
    pair = seed_sentences("fr")[9]
    found = attributions(translator, pair)
    num_rows = found.heads.shape[2]
    num_keys = len(translator.tokenizers.source.encode(pair.source)) + 1
    for name in ("weight", "gradient", "switch-off"):
        assert found.by_name[name].shape == (num_rows, num_keys)
    assert found.by_name["deletion"].shape == (num_rows, num_keys - 1)
    np.testing.assert_allclose(found.by_name["weight"].sum(1), 1, atol=1e-5)
    # raising all scores of a row before the softmax changes nothing
    np.testing.assert_allclose(found.by_name["gradient"].sum(1), 0, atol=1e-6)


def test_deletion_compares_with_the_sentence_without_the_word(translator):
    effects = deletion_effects(translator.network, [5, 6, 7], [8, 9])
    whole, shorter = batch_of([[5, 6, 7]], [[8, 9]]), batch_of([[5, 7]], [[8, 9]])
    with torch.no_grad():
        expected = token_scores(whole)(translator.network(whole)) - token_scores(shorter)(
            translator.network(shorter)
        )
    np.testing.assert_allclose(effects[:, 1], expected[0].numpy(), atol=1e-5)


def test_looking_and_causing_have_every_head(translator):
    pairs = seed_sentences("fr")[:4]
    sentences = AblationSentences(translator, pairs)
    heads = all_heads(sentences)
    counts = head_counts(translator, pairs)
    assert set(counts) == set(heads) == set(head_causes(sentences, heads))
    assert all(count.antecedent.total == 4 for count in counts.values())
    exchanged = head_counts(translator, [swapped(pair) for pair in pairs])
    for count in counts.values():
        assert count.antecedent.hits + count.distractor.hits <= 4
    assert {count.antecedent.total for count in exchanged.values()} == {4}
