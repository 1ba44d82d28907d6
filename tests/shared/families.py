"""Every score and normalizer with its engines, for the contract tests."""

import torch

from regard.attention import (
    Additive,
    Cosine,
    Dot,
    Entmax15,
    Gaussian,
    General,
    Location,
    ScaledDot,
    Score,
    Sigmoid,
    Softmax,
    Sparsemax,
    Uniform,
)

WIDTH = 4


class Manhattan(Score):
    """s = −Σ w_d |q_d − k_d|: a score of a user's own, which states nothing but its formula."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, width))

    def forward(self, query, key):
        return -((query[..., :, None, :] - key[..., None, :, :]).abs() * self.weight).sum(-1)


SCORES = {
    "uniform": lambda: Uniform(),
    "dot": lambda: Dot(),
    "scaled_dot": lambda: ScaledDot(),
    "scale_given": lambda: ScaledDot(scale=0.3),
    "softcap": lambda: ScaledDot(softcap=1.5),
    "general": lambda: General(WIDTH, WIDTH),
    "cosine": lambda: Cosine(scale=3.0),
    "gaussian": lambda: Gaussian(0.8),
    "gaussian_per_feature": lambda: Gaussian([0.5, 1.0, 1.5, 2.0]),
    "gaussian_learned": lambda: Gaussian(0.8, learn=True),
    "additive": lambda: Additive(WIDTH, WIDTH, 6),
    "location": lambda: Location(WIDTH, 512),
    "user_defined": lambda: Manhattan(WIDTH),
}
PAIRS = [(name, engine) for name, make in SCORES.items() for engine in sorted(make().engines)]

NORMALIZERS = {
    "softmax": lambda: Softmax(),
    "sparsemax": lambda: Sparsemax(),
    "entmax15": lambda: Entmax15(),
    "sigmoid": lambda: Sigmoid(),
    "sigmoid_plain": lambda: Sigmoid(bias=0.0),
    "sigmoid_given": lambda: Sigmoid(bias=-2.5),
}
NORMALIZER_PAIRS = [
    (name, engine) for name, make in NORMALIZERS.items() for engine in sorted(make().engines)
]
