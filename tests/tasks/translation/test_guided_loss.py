"""Guided heads: their loss, and a network that gives their weights without changing its output."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import record
from regard.config import Run, TextSettings, TrainingSettings, TransformerSettings
from regard.dropout import dropout_stream
from regard.errors import InputError
from regard.models.batch import GuidedHead, batch_of
from regard.models.fast import for_training
from regard.models.fast.lookups import collected_lookups, gradients_of
from regard.tasks import build
from regard.tasks.text.loss import token_loss
from regard.tasks.translation.guided.loss import guided_features, guided_loss, link_loss
from regard.training.update import shards

SOURCES = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
TARGETS = [[6, 7], [8, 9, 10, 11, 5], [12]]
SIZES = {"dim": 16, "num_heads": 4, "ff": 24, "num_encoder_layers": 2, "num_decoder_layers": 2}
DROPOUTS = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.4}
HEADS = (("cross", 0, 1), ("encoder", 1, 2), ("decoder", 1, 3))


def network_of(**given):
    torch.manual_seed(0)
    return for_training(build(TransformerSettings(**SIZES | given), 20, 20).double())


def guided_batch(heads=HEADS, factor=0.7):
    """A batch whose links are below the diagonal, where every attention may attend."""
    batch = batch_of(SOURCES, TARGETS)
    lengths = {"encoder": batch.source.lengths, "cross": (batch.inputs != 0).sum(1)}
    lengths["decoder"] = lengths["cross"]
    sizes = {"encoder": (5, 5), "decoder": (6, 6), "cross": (6, 5)}
    guided = []
    for name, layer, head in heads:
        links = torch.zeros(3, *sizes[name], dtype=torch.bool)
        for row in range(3):
            for query in range(1, int(lengths[name][row])):
                links[row, query, (query - 1) % int(batch.source.lengths[row])] = query != 2
        if name == "decoder":
            links = links.tril()
        guided.append(GuidedHead(name, layer, head, factor, links))
    return batch._replace(guided=tuple(guided))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_the_loss_is_the_surprise_about_the_linked_keys(num_queries, num_keys, seed):
    random = torch.Generator().manual_seed(seed)
    weights = torch.rand(2, num_queries, num_keys, generator=random, dtype=torch.float64)
    weights = weights / weights.sum(-1, keepdim=True)
    links = torch.rand(2, num_queries, num_keys, generator=random) < 0.4
    expected = -sum(
        math.log(float(row[linked].sum()))
        for row, linked in zip(weights.flatten(0, 1), links.flatten(0, 1), strict=True)
        if linked.any()
    )
    assert float(link_loss(weights, links)) == pytest.approx(expected, abs=1e-12)
    everywhere = torch.ones_like(links)
    assert float(link_loss(weights, everywhere)) == pytest.approx(0, abs=1e-12)
    assert float(link_loss(weights, ~everywhere)) == 0


def test_the_loss_has_gradients_where_all_weight_is_elsewhere():
    scores = torch.zeros(1, 1, 2, dtype=torch.float64, requires_grad=True)
    links = torch.tensor([[[False, True]]])
    assert torch.autograd.gradcheck(lambda s: link_loss(s.softmax(-1), links), scores)
    far = torch.tensor([[[40.0, 0.0]]], requires_grad=True)  # in single precision e⁻⁴⁰
    link_loss(far.softmax(-1), links).backward()
    assert far.grad is not None and far.grad[0, 0].tolist() == pytest.approx([1, -1], abs=1e-6)
    assert math.isfinite(float(link_loss(torch.tensor([[[1.0, 0.0]]]), links)))


@pytest.mark.parametrize("dropouts", [{"dropout": 0.0}, DROPOUTS], ids=["plain", "dropout"])
def test_guided_heads_change_no_feature_and_are_those_that_record_sees(dropouts):
    network, batch = network_of(**dropouts), guided_batch()
    with dropout_stream(1, 2, 3):
        expected = network.features(batch)
    with dropout_stream(1, 2, 3):
        features, weights = guided_features(network, batch)
    torch.testing.assert_close(features, expected, rtol=1e-12, atol=1e-12)
    with dropout_stream(1, 2, 3), record(network) as recording:
        network.features(batch)
    kinds = {"encoder": "self", "decoder": "causal", "cross": "cross"}
    for (name, layer, head), found in zip(HEADS, weights, strict=True):
        (seen,) = [m for m in recording.maps if (m.kind, m.layer) == (kinds[name], layer)]
        torch.testing.assert_close(found, seen.weights[:, head], rtol=1e-10, atol=1e-12)


def test_only_the_guided_sublayers_leave_their_blocks():
    def blocks(loss):
        names, waiting, seen = [], [loss.grad_fn], set()
        while waiting:
            function = waiting.pop()
            if function is not None and function not in seen:
                seen.add(function)
                names.append(function.name())
                waiting += [earlier for earlier, _ in function.next_functions]
        return [sum(kind in name for name in names) for kind in ("AttentionB", "FeedForwardB")]

    network, run = network_of(), Run()
    with dropout_stream(0):
        assert blocks(token_loss(run, network, guided_batch(), 1.0)) == [6, 4]
        assert blocks(guided_loss(run, network, guided_batch(HEADS[:1]), 1.0)) == [5, 4]
        assert blocks(guided_loss(run, network, guided_batch(), 1.0)) == [3, 4]


def test_shards_have_the_loss_and_the_gradients_of_the_whole_batch():
    network, run, batch = network_of(dropout=0.0), Run(), guided_batch()

    def gradients(part):
        with dropout_stream(0), collected_lookups() as lookups:
            loss = guided_loss(run, network, part, 0.1)
        return [loss.detach(), *gradients_of(loss, list(network.parameters()), lookups)]

    whole, parts = gradients(batch), [gradients(part) for part in shards(batch, 3)]
    assert len(parts) == 3
    for expected, *found in zip(whole, *parts, strict=True):
        torch.testing.assert_close(sum(found), expected, rtol=1e-9, atol=1e-12)
    plain = token_loss(run, network, batch, 0.1)
    assert float(whole[0]) > float(plain.detach())


@pytest.mark.parametrize(
    ("training", "model", "what"),
    [
        ({"guide": "encoder:9:0=a.txt"}, {}, "layers are counted from 0 to 1, got 9"),
        ({"guide": "cross:0:4=a.txt"}, {}, "heads are counted from 0 to 3, got 4"),
        ({"guide": "middle:0:0=a.txt"}, {}, "must be ATTENTION:LAYER:HEAD=LINKS"),
        ({"guide": "encoder:0:0=auto"}, {}, "auto aligns source and target"),
        ({"guide": "encoder:0:0=a,encoder:0:0=b"}, {}, "encoder:0:0 is guided twice"),
        ({"guide": "cross:1:0=a", "guided_alignment": "auto"}, {}, "cross:1:0 is guided twice"),
        ({"guide": "decoder:0:0=a"}, {"attention": "local"}, "only full attention is guided"),
        ({"guided_alignment": "auto"}, {"attention": "ring"}, "ring attention"),
        ({"guided_alignment": "auto"}, {"normalizer": "sparsemax"}, "must be softmax"),
        ({"guided_layer": 1}, {}, "training.guided_layer is for training.guided_alignment"),
        ({"guided_alignment": "auto", "guided_layer": 2}, {}, "from 0 to 1, got 2"),
        ({"guide_weight": -1.0}, {}, "guide_weight must be at least 0"),
    ],
)
def test_a_head_that_cannot_be_guided_is_an_error(training, model, what):
    from regard.config.settings import run_from
    from regard.tasks import KINDS

    settings = {"model": {**SIZES, **model}, "training": {"epochs": 1, **training}}
    with pytest.raises(InputError, match=what):
        run_from(settings, KINDS)


def test_links_are_of_one_segmentation():
    training = TrainingSettings(epochs=1, guided_alignment="auto")
    with pytest.raises(InputError, match="subword_dropout does not go with"):
        Run(training=training, text=TextSettings(subword_dropout=0.1))


def test_other_kinds_of_model_are_not_guided():
    from regard.config import RnnSettings

    with pytest.raises(InputError, match="transformer, got rnn"):
        Run(model=RnnSettings(), training=TrainingSettings(epochs=1, guided_alignment="auto"))


def test_the_layer_of_the_alignment_is_the_last_but_one_of_three():
    found = []
    for number in (1, 2, 3, 6):
        model = TransformerSettings(**{**SIZES, "num_decoder_layers": number})
        run = Run(model=model, training=TrainingSettings(epochs=1, guided_alignment="auto"))
        (guide,) = run.guides
        found.append((guide.attention, guide.layer, guide.head))
    assert found == [("cross", 0, 0), ("cross", 1, 0), ("cross", 1, 0), ("cross", 4, 0)]
