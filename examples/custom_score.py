"""A score of your own in twenty lines: the Laplace kernel, in `attend` and in `MultiHead`.

A score is a `forward(query, key)` that gives one number for each pair. Everything else is the
library's: masks, engines, recording, half precision, rows that see nothing.

    python examples/custom_score.py
"""

import torch
from torch import Tensor, nn

from regard.attention import Mask, MultiHead, Score, attend, record


class Laplace(Score):
    """s = −|q − k|₁ / w, with a learned width w: a kernel with heavier tails than Gauss'.

    Shapes: query (…, Q, D), key (…, K, D), scores (…, Q, K).
    """

    equation = "−|q_i − k_j|₁ / w"  # what `trace` shows

    def __init__(self, width: float = 1.0) -> None:
        super().__init__()
        self.log_width = nn.Parameter(torch.tensor(width).log())

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """Score every key for every query."""
        difference = query[..., :, None, :] - key[..., None, :, :]
        return -difference.abs().sum(-1) / self.log_width.exp()


def main(steps: int = 200, points: int = 60) -> dict[str, float]:
    """Learn the width by leaving one point out; then use the score in a layer of heads."""
    torch.manual_seed(0)
    x = torch.rand(points, 1).sort(0).values * 5
    y = 2 * torch.sin(x) + x**0.8 + 0.3 * torch.randn(points, 1)
    others = Mask.keep(~torch.eye(points, dtype=torch.bool))  # no point sees itself
    score = Laplace(2.0)
    optimizer = torch.optim.Adam(score.parameters(), lr=0.05)
    errors = []
    for _ in range(steps):
        predicted = attend(x, x, y, score=score, mask=others).context
        loss = (predicted - y).square().mean()
        errors.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    width = score.log_width.exp().item()
    print(f"kernel regression, leave-one-out error: {errors[0]:.3f} at width 2.00, ", end="")
    print(f"{errors[-1]:.3f} at the learned width {width:.2f}")

    layer = MultiHead(16, num_heads=2, score=Laplace(4.0))
    words = torch.randn(1, 6, 16)
    with record(layer) as recording:
        context = layer(words, mask=Mask.causal()).context
    print("the map of one head of a layer that uses it, under a causal mask:")
    print(recording[0].weights[0, 0].numpy().round(2))
    return {"before": errors[0], "after": errors[-1], "width": width, "tokens": context.shape[1]}


if __name__ == "__main__":
    main()
