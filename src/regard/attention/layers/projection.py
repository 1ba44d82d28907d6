"""Projections to the queries, keys and values of several heads.

Shapes: input (B, T, dim), heads (B, H, T, head_dim).

*separate* has a matrix for each head, *joint* one large matrix that is split into heads (the same
layer numerically, and faster), *slice* has none and splits its input.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn


class Projection(Protocol):
    """Splits an input into heads."""

    def __call__(self, x: Tensor) -> Tensor:
        """(B, T, dim) as (B, H, T, head_dim)."""
        ...


class Joint(nn.Module):
    """One matrix (num_heads · head_dim, dim) for all heads."""

    def __init__(self, dim: int, num_heads: int, head_dim: int, bias: bool) -> None:
        super().__init__()
        self.num_heads, self.head_dim = num_heads, head_dim
        self.weight = nn.Parameter(torch.empty(num_heads * head_dim, dim))
        self.bias = nn.Parameter(torch.zeros(num_heads * head_dim)) if bias else None
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return split(nn.functional.linear(x, self.weight, self.bias), self.num_heads)


class Separate(nn.Module):
    """A matrix (head_dim, dim) for each head: `weight` (num_heads, head_dim, dim)."""

    def __init__(self, dim: int, num_heads: int, head_dim: int, bias: bool) -> None:
        super().__init__()
        linears = [nn.Linear(dim, head_dim, bias=bias) for _ in range(num_heads)]
        for linear in linears:
            nn.init.xavier_uniform_(linear.weight)
            if bias:
                nn.init.zeros_(linear.bias)
        self.heads = nn.ModuleList(linears)

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([head(x) for head in self.heads], dim=-3)


class Slice(nn.Module):
    """No matrix: the input's features are split into heads."""

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads

    def forward(self, x: Tensor) -> Tensor:
        return split(x, self.num_heads)


def split(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, H · D) split into heads (B, H, T, D)."""
    return x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).transpose(-3, -2)


def merged(heads: Tensor) -> Tensor:
    """Heads (B, H, T, D) concatenated, (B, T, H · D)."""
    return heads.transpose(-3, -2).flatten(-2)
