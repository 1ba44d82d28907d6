"""What self-attention can learn about order without positions, and with them.

Exactly: without positions, permuted inputs give permuted outputs. By training: what each kind of
position brings where order matters, also beyond the trained length; patient histories in which
order does and does not matter; and images read as a line, by convolution, and by attention.

Claims hold by their 95 % intervals over seeds, as their sentences say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention import (
    NORMALIZERS,
    Additive,
    Cosine,
    Dot,
    Gaussian,
    General,
    ScaledDot,
    Score,
    attend,
)
from regard.config.model import Positions
from regard.cores import cores
from regard.studies.estimates import estimate
from regard.studies.mechanics.fitting import TEST_SEED, accuracy, fit
from regard.studies.mechanics.order.findings import (
    LENGTHS,
    TRAINED,
    Permutations,
    Results,
    order_findings,
)
from regard.studies.mechanics.order.tasks import (
    ENCODERS,
    READERS,
    SCHEMES,
    Encoder,
    HistoryNetwork,
    ImageNetwork,
    Reader,
    SequenceNetwork,
    drawn_from,
    image_examples,
    images,
    patient_history,
    previous_token,
)
from regard.studies.study import Findings, StudyOptions
from regard.worker_pool import parallel_map

SCORES: dict[str, Callable[[int], Score]] = {
    "dot": lambda dim: Dot(),
    "scaled dot": lambda dim: ScaledDot(),
    "cosine": lambda dim: Cosine(),
    "Gaussian": lambda dim: Gaussian(),
    "general": lambda dim: General(dim, dim),
    "additive": lambda dim: Additive(dim, dim, dim),
}


class OrderSizes(NamedTuple):
    """Batches and examples of each part."""

    sequence_steps: int
    history_steps: int
    image_steps: int
    images: int
    test: int


FULL = OrderSizes(600, 500, 300, 4_000, 1_000)
QUICK = OrderSizes(12, 12, 5, 200, 200)


def permutation_difference(
    function: Callable[[Tensor], Tensor], x: Tensor, order: Tensor
) -> tuple[float, float]:
    """Largest |f(x P) − f(x) P| for x (B, N, …) with its tokens in another order, and equal share.

    The share is that of the numbers which are equal to the bit.
    """
    with torch.no_grad():
        permuted, expected = function(x[:, order]), function(x)[:, order]
    share = float((permuted == expected).float().mean())
    return float((permuted - expected).abs().max()), share


def attention_differences(dim: int = 16, tokens: int = 12) -> dict[str, float]:
    """The largest difference of self-attention under permutation, for each score and normalizer."""
    torch.manual_seed(0)
    x, order = torch.randn(2, tokens, dim, dtype=torch.float64), torch.randperm(tokens)
    differences = {}
    for name, build in SCORES.items():
        score = build(dim).double()
        for normalizer in NORMALIZERS:
            attended = partial(_attended, score=score, normalizer=normalizer)
            differences[f"{name}, {normalizer}"] = permutation_difference(attended, x, order)[0]
    return differences


def _attended(x: Tensor, score: Score, normalizer: str) -> Tensor:
    context: Tensor = attend(x, x, x, score=score, normalizer=NORMALIZERS[normalizer]()).context
    return context


def network_difference(scheme: Positions, *, causal: bool) -> tuple[float, float]:
    """The same of a Transformer of two layers with random weights, in float64."""
    torch.manual_seed(0)
    network = SequenceNetwork(scheme, causal=causal).double().eval()
    tokens = previous_token(TRAINED)(4, torch.Generator().manual_seed(0)).fields
    return permutation_difference(network, tokens, torch.randperm(tokens.shape[1]))


def sequence_accuracies(
    scheme: Positions, causal: bool, seed: int, sizes: OrderSizes
) -> list[float]:
    """Accuracy of "which token stands before me" at each test length, after training."""
    torch.manual_seed(seed)
    model = SequenceNetwork(scheme, causal=causal)
    fit(model, previous_token(), steps=sizes.sequence_steps, seed=seed, batch=64)
    generator = torch.Generator().manual_seed(TEST_SEED + seed)
    return [accuracy(model, previous_token(n)(sizes.test // 4, generator)) for n in LENGTHS]


def history_accuracy(encoder: Encoder, ordered: bool, seed: int, sizes: OrderSizes) -> list[float]:
    """Accuracy on unseen patients."""
    torch.manual_seed(seed)
    model, draw = HistoryNetwork(encoder), patient_history(ordered=ordered)
    fit(model, draw, steps=sizes.history_steps, seed=seed, batch=64)
    test = draw(2 * sizes.test, torch.Generator().manual_seed(TEST_SEED + seed))
    return [accuracy(model, test)]


def image_accuracy(reader: Reader, shuffled: bool, seed: int, sizes: OrderSizes) -> list[float]:
    """Accuracy on unseen images."""
    train, test = images(sizes.images, 2 * seed), images(sizes.test, 2 * seed + 1)
    torch.manual_seed(seed)
    model = ImageNetwork(reader)
    draw = drawn_from(image_examples(train, shuffled=shuffled))
    fit(model, draw, steps=sizes.image_steps, seed=seed, batch=64)
    return [accuracy(model, image_examples(test, shuffled=shuffled))]


Part = Callable[[Any, bool, int, OrderSizes], list[float]]


class OrderJob(NamedTuple):
    """A training of one part: its network, its other choice (causal, ordered, shuffled), a seed."""

    part: Part
    name: str
    choice: bool
    seed: int
    sizes: OrderSizes


def _train(job: OrderJob) -> list[float]:
    return job.part(job.name, job.choice, job.seed, job.sizes)


def _train_all(
    part: Part,
    names: Sequence[str],
    options: StudyOptions,
) -> Results:
    """The estimates of a part for each network and both choices, over seeds."""
    sizes, seeds = QUICK if options.quick else FULL, options.seeds(3)
    cells = [(name, choice) for name in names for choice in (False, True)]
    jobs = [OrderJob(part, *cell, seed, sizes) for seed in seeds for cell in cells]
    figures = parallel_map(_train, jobs, cores(), fork=True)
    return {
        cell: [estimate(values) for values in zip(*figures[at :: len(cells)], strict=True)]
        for at, cell in enumerate(cells)
    }


def run(options: StudyOptions) -> Findings:
    """Measure all parts."""
    options.report("permutations")
    differences = attention_differences()
    networks: Permutations = {
        (scheme, causal): network_difference(scheme, causal=causal)
        for scheme in SCHEMES
        for causal in (False, True)
    }
    options.report("training: order of tokens")
    sequences = _train_all(sequence_accuracies, SCHEMES, options)
    options.report("training: patient histories")
    histories = _train_all(history_accuracy, ENCODERS, options)
    options.report("training: images")
    pictures = _train_all(image_accuracy, READERS, options)
    return order_findings(differences, networks, sequences, histories, pictures)
