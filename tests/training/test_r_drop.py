"""R-Drop is the cross-entropy of two passes and the distance of their predictions."""

import pytest
import torch
from torch.nn import functional as F

from regard.cli import main
from regard.config import Run, TrainingSettings, TransformerSettings
from regard.dropout import dropout_stream
from regard.models.batch import batch_of
from regard.models.transformer import TransformerModel
from regard.tasks.text import r_drop as module
from regard.tasks.text.loss import token_loss
from regard.tasks.text.r_drop import r_drop_loss, twice
from regard.text import PAD
from tests.training.test_loss import LABELS, parts

TWICE = LABELS.repeat(2, 1)


def expected(features, output, smoothing, weight):
    logits = output(features).flatten(0, 1)
    labels = {"ignore_index": PAD, "label_smoothing": smoothing, "reduction": "sum"}
    loss = F.cross_entropy(logits, TWICE.flatten(), **labels)
    kept = LABELS.flatten() != PAD
    p, q = (half[kept].log_softmax(-1) for half in logits.chunk(2))
    distances = (F.kl_div(a, b, log_target=True, reduction="sum") for a, b in ((p, q), (q, p)))
    return loss + weight / 2 * sum(distances)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [0.0, 5.0])
@pytest.mark.parametrize("chunk", [1, 30, 1 << 20])
def test_it_is_cross_entropy_and_divergence(smoothing, weight, chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)  # one token, two, or all at once
    features, output = parts(torch.float64, TWICE)
    given = [features, *output.parameters()]
    ours = r_drop_loss(features, output, TWICE, smoothing, weight, 0.5)
    theirs = 0.5 * expected(features, output, smoothing, weight)
    torch.testing.assert_close(ours, theirs)
    for one, other in zip(
        torch.autograd.grad(3 * ours, given), torch.autograd.grad(3 * theirs, given), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_no_labels():
    nothing = torch.full_like(TWICE, PAD)
    features, output = parts(torch.float32, TWICE)
    loss = r_drop_loss(features, output, nothing, 0.1, 5.0)
    assert float(loss.detach()) == 0
    assert not torch.autograd.grad(loss, output.weight)[0].any()


def test_twice_has_every_sentence_twice():
    batch = twice(batch_of([[5, 6], [7]], [[8], [9, 10]]))
    assert batch.inputs[:2].equal(batch.inputs[2:])
    assert batch.source.tokens[:2].equal(batch.source.tokens[2:])


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_passes_differ_by_dropout_alone(p):
    settings = TransformerSettings(
        dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, ff=32, dropout=p
    )
    torch.manual_seed(0)
    network = TransformerModel(settings, 20, 20)
    batch = twice(batch_of([[5, 6], [7]], [[8], [9, 10]]))

    def loss(weight):
        run = Run(model=settings, training=TrainingSettings(steps=1, r_drop=weight))
        with dropout_stream(1):
            return float(token_loss(run, network, batch, 1.0).detach())

    assert (loss(9.0) > loss(1e-9) + 1e-3) == bool(p)


def test_a_kind_without_it_says_so(tmp_path, capsys):
    out = tmp_path / "model"
    words = ["train", "labeled.tsv", "--model.kind", "classifier", "--training.r_drop", "5"]
    assert main([*words, "--out", str(out)]) == 2
    assert "training.r_drop is not for the kind classifier" in capsys.readouterr().err
    assert not out.exists()
