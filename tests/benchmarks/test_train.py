"""`python -m benchmarks train`: one model in all contenders, the same batches, real processes."""

import json
import sys
from collections import Counter
from dataclasses import replace

import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.train import race as train
from benchmarks.train.batches import first_batches, random_sentences, tokenize_files
from benchmarks.train.contender import Contender, ContenderError, Together
from benchmarks.train.joeynmt_environment import joeynmt_python
from benchmarks.train.limit import Products
from benchmarks.train.limit_race import LimitRace, limit_row
from benchmarks.train.products import FastestProducts, Form, Shape, _parts_of, fastest
from benchmarks.train.regard_contender import GivenBatches
from benchmarks.train.task import Pairs, Sizes, Task
from benchmarks.train.torch_contender import TorchTransformer, loss_of, padded
from regard.errors import InputError
from regard.models.batch import batch_of
from regard.text import PAD
from regard.training.checkpoint import DataCursor
from regard.training.update import shards


@pytest.fixture
def tiny():
    sizes = Sizes(dim=16, heads=2, ff=32, layers=2, vocab=300)
    made = first_batches(*random_sentences(sizes.vocab, sentences=120), 5, max_tokens=200)
    return Task(sizes=sizes, warmup=made[:2], timed=made[2:], rounds=2)


def test_a_task_comes_back_as_it_was_written(tiny, tmp_path):
    tiny.write(tmp_path / "task.json")
    assert Task.read(tmp_path / "task.json") == tiny


def test_regard_and_torch_have_one_loss_with_the_same_weights(tiny):
    ours, peer = train.losses(tiny)
    assert ours == pytest.approx(peer, abs=1e-5)
    train._check_same_model(tiny)


def test_another_model_is_not_taken_for_the_same(tiny, monkeypatch):
    right = TorchTransformer.regard_state

    def wrong(self):
        state = right(self)
        state["decoder.norm.weight"] = 1.1 * state["decoder.norm.weight"]
        return state

    monkeypatch.setattr(TorchTransformer, "regard_state", wrong)
    with pytest.raises(RuntimeError, match="not the same model"):
        train._check_same_model(tiny)


def test_the_peer_sees_neither_padding_nor_the_future(tiny):
    model = TorchTransformer(tiny).eval()
    short, long = Pairs([[9, 10]], [[11, 12]]), Pairs([[20] * 7], [[21] * 8])
    alone, beside = (
        padded(short),
        padded(Pairs(short.sources + long.sources, [*short.targets, *long.targets])),
    )
    with torch.no_grad():
        scores = model(beside.source, beside.inputs)[0, :3]
        assert torch.allclose(model(alone.source, alone.inputs)[0], scores, atol=1e-5)
        loss = [float(loss_of(model, padded(pairs), 0.1)) for pairs in (short, long)]
        both = float(loss_of(model, beside, 0.1))
    assert both == pytest.approx((3 * loss[0] + 9 * loss[1]) / 12, abs=1e-5)


def test_regard_learns_from_the_given_batches_in_their_order(tiny):
    examples, cursor = GivenBatches(tiny), DataCursor()
    for pairs in tiny.order():
        batch, cursor = examples.take(cursor)
        own = [[n for n in row if n != PAD][:-1] for row in batch.labels.tolist()]
        assert own == pairs.targets
        assert batch.source.tokens[0, : len(pairs.sources[0])].tolist() == pairs.sources[0]
        assert int((batch.labels != PAD).sum()) == pairs.tokens
    assert len(tiny.order()) == 2 + 2 * 3


def test_made_up_sentences_are_like_captions():
    sources, targets = random_sentences(8000, sentences=5000)
    assert (sources, targets) == random_sentences(8000, sentences=5000)
    for rows, mean in ((sources, 14), (targets, 15)):
        assert sum(map(len, rows)) / len(rows) == pytest.approx(mean, rel=0.03)
    lengths = torch.tensor([list(map(len, sources)), list(map(len, targets))])
    assert torch.corrcoef(lengths.float())[0, 1] == pytest.approx(0.85, abs=0.05)
    words = Counter(n for row in sources for n in row)
    assert min(words) >= 5 and max(words) < 8000
    assert len(words) > 4000


def test_batches_are_of_the_asked_size():
    sources, targets = random_sentences(8000, sentences=2000)
    for pairs in first_batches(sources, targets, 5):
        widths = [max(map(len, rows)) + 1 for rows in (pairs.sources, pairs.targets)]
        assert 3500 < len(pairs.sources) * sum(widths) <= 4096
    with pytest.raises(InputError, match=r"35 batches are needed .* got 1"):
        first_batches(sources[:9], targets[:9], 35)


def test_ones_own_text_is_tokenised_by_one_bpe(tmp_path):
    lines = {
        "src": "the cat number {} sleeps 在屋顶上",
        "tgt": "le chat numéro {} dort sur le toit",
    }
    for side, line in lines.items():
        (tmp_path / side).write_text("\n".join(line.format(n) for n in range(200)) + "\n", "utf-8")
    sources, targets, vocab = tokenize_files([tmp_path / "src", tmp_path / "tgt"], 400)
    assert len(sources) == len(targets) > 100
    assert 262 <= vocab <= 400
    assert max(n for rows in (sources, targets) for row in rows for n in row) < vocab


@pytest.mark.slow
def test_a_race_of_real_processes_against_torch(tiny, capfd):
    (race,) = [r for r in train.measurements(2, task=tiny) if "torch" in r.name]
    row = race()
    printed = capfd.readouterr().err
    assert row.ours > 0 and row.peer > 0 and row.ratio > 0
    assert row.sense == ">=" and row.bar == 1.9
    assert "round 2  regard:" in printed and "round 2  torch.nn.Transformer, " in printed
    parameters = {line.split("; ")[-1] for line in printed.splitlines() if " at first " in line}
    assert len(parameters) == 1, "all have the same number of parameters"


@pytest.mark.slow
def test_a_race_against_the_matrix_products(tiny, capfd):
    (race,) = [r for r in train.measurements(1, task=tiny) if "products" in r.name]
    row = race()
    assert 0 < row.ours < row.peer, "training computes more than its products"
    assert row.bar == 0.85 and row.spread[0] <= row.ratio <= row.spread[1] <= 1
    assert "round 3  regard:" in capfd.readouterr().err


def test_a_round_is_compared_with_the_faster_products_beside_it():
    race = next(train.measurements(3))
    training = [train.Lap(1.0, tokens, 0.0) for tokens in (60, 80, 70)]
    products = [train.Lap(1.0, tokens, 0.0) for tokens in (100, 50, 160, 100)]
    row = limit_row(race, training, products)
    assert (row.ours, row.peer, row.ratio) == (70, 160, 0.5)  # of 0.6, 0.5 and 0.4375
    assert row.spread == (0.4375, 0.6)
    assert not row.holds and row.as_json()["spread"] == [0.4375, 0.6]


def test_a_share_above_one_fails(monkeypatch, capsys):
    """One round may be; the median may not, and nothing is kept of it."""
    fast, slow = train.Lap(1.0, 130, 0.0), train.Lap(1.0, 100, 0.0)
    race = next(train.measurements(3))
    assert limit_row(race, [fast, slow, slow], [slow] * 4).spread == (1, 1.3)
    monkeypatch.setattr(LimitRace, "__call__", lambda race: limit_row(race, [fast], [slow] * 2))
    assert main(["train", "--only", "limit"]) == 2
    said = capsys.readouterr()
    assert "training ran at 1.30 (1.30 to 1.30) of the speed of its matrix products" in said.err
    assert said.out == ""


@pytest.mark.parametrize("batch", [1, 6])
@pytest.mark.parametrize("by_columns", [(False, False, False), (True, False, True)])
def test_a_product_is_the_same_in_every_form(batch, by_columns):
    shape = Shape(batch, rows=128, inner=5, columns=96)
    products = FastestProducts([torch.float32])
    form = Form(torch.float32, by_columns)
    forms = [form, *_parts_of(shape, form)]
    assert {each.axis for each in forms} == ({0} if batch > 1 else {0, 1, 2})
    for each in forms:
        a, b, result = (
            products.memory.matrix(name, torch.float32, batch, *sides, turned=turned)
            for name, sides, turned in zip(
                ("a", "b", "result"), ((128, 5), (5, 96), (128, 96)), by_columns, strict=True
            )
        )
        result.zero_()
        products.job_of(shape, each)()
        torch.testing.assert_close(result, a @ b)
        products.job_of(shape, each._replace(add=True))()
        torch.testing.assert_close(result, 2 * (a @ b))


def test_the_fastest_job_is_chosen():
    big, small = torch.randn(2, 300, 300), torch.randn(2, 3, 3)
    jobs = [(n, lambda m=m: m[0] @ m[1]) for n, m in enumerate((big, small, big))]
    assert fastest(jobs) == 1


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_limit_has_every_product_of_a_shard(tiny, precision):
    shard = shards(batch_of(tiny.timed[0].sources, tiny.timed[0].targets), 2)[0]
    jobs = Products(tiny.sizes, precision).jobs(shard)
    for job in jobs:
        job()
    linear = 3 * (tiny.sizes.layers * (4 + 4 + 3) + 1)
    assert len(jobs) - linear in range(2 * tiny.sizes.layers * 3, 24 * tiny.sizes.layers * 3 + 1)


def test_the_median_of_the_ratios_counts():
    lap = train.Lap
    (race,) = [r for r in train.measurements(3) if "torch" in r.name]
    ours = [lap(1.0, 300, 0.0), lap(1.0, 400, 0.0), lap(1.0, 900, 0.0)]
    best = [lap(1.0, 100, 0.0), lap(1.0, 200, 0.0), lap(1.0, 150, 0.0)]
    row = train._row(race, ours, best)
    assert (row.ours, row.peer, row.ratio) == (400, 150, 3.0)  # of the ratios 3, 2 and 6
    assert row.holds and row.spread == (2.0, 6.0)


ANSWERS = (
    "import json; print(json.dumps({{'about': {{'settings': '', 'parameters': 0}}}}), flush=True)\n"
    "while input() == '': print(json.dumps({{'seconds': {seconds}, 'tokens': 10, 'loss': 0.0}}), "
    "flush=True)"
)


def test_the_fastest_variant_of_a_peer_is_chosen(tmp_path):
    def start(name, seconds):
        command = [sys.executable, "-c", ANSWERS.format(seconds=seconds)]
        return lambda: Contender(name, command, tmp_path / name)

    variants = [start("slow", 9.0), start("fast", 1.0), start("middle", 5.0)]
    with train._fastest(variants) as best:
        assert best.name == "fast"
        assert best.lap().speed == 10


def test_contenders_together_take_the_time_of_the_slowest(tmp_path):
    made = [
        Contender(str(n), [sys.executable, "-c", ANSWERS.format(seconds=n)], tmp_path / str(n))
        for n in (1.0, 4.0)
    ]
    with Together("both", made) as both:
        both.warm()
        assert both.lap().speed == 5  # 20 tokens in 4 seconds


def test_parts_of_a_task_have_all_its_sentences(tiny):
    parts = [tiny.part(number, 2) for number in range(2)]
    for whole, *halves in zip(tiny.timed, *(part.timed for part in parts), strict=True):
        assert sorted(whole.targets) == sorted(row for half in halves for row in half.targets)
        assert whole.tokens == sum(half.tokens for half in halves)


def test_a_contender_that_sees_other_tokens_is_found_out(tiny, tmp_path):
    liar = (
        "import json; print(json.dumps({'about': {}}), flush=True); input();"
        "print(json.dumps({'seconds': 1.0, 'tokens': 1, 'loss': 0.0}), flush=True)"
    )
    with Contender("liar", [sys.executable, "-c", liar], tmp_path / "log") as contender:
        contender.warm()
        with pytest.raises(RuntimeError, match="liar trained on 1 tokens"):
            train._laps(replace(tiny, rounds=1), [contender])


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "SIGILL"),
        ("raise ValueError('no such thing')", "exit code 1: ValueError: no such thing"),
    ],
)
def test_how_a_contender_died_is_said(code, how, tmp_path):
    with (
        pytest.raises(ContenderError, match=how),
        Contender("it", [sys.executable, "-c", code], tmp_path / "log") as contender,
    ):
        contender.warm()


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("all of it", "utf-8")
    with pytest.raises(InputError, match="something else"):
        joeynmt_python(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["attention", "--steps", "3"], "unrecognized arguments: --steps"),
        (["attention", "--only", "no such row"], "no row's name contains 'no such row'"),
        (["train", "--only", "fairseq"], "no row's name contains 'fairseq'"),
        (["train", "--steps", "0"], "must be at least 1"),
        (["train", "--data", "nowhere.en", "nowhere.de", "--only", "torch"], "nowhere"),
    ],
)
def test_bad_input(words, message, capsys):
    try:
        code = main(words)
    except SystemExit as stop:  # of argparse
        code = stop.code
    assert code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_race_against_joeynmt_in_its_own_environment(tiny):
    (race,) = [r for r in train.measurements(2, task=tiny) if "joeynmt" in r.name.lower()]
    row = race()
    assert row.ours > 0 and row.peer > 0
    assert row.bar == 2.5
    json.dumps(row.as_json())
