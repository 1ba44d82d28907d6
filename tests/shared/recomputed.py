"""The steps of a trace computed once more in NumPy (float64), each from those before it."""

import numpy as np

NORMALIZERS = ("softmax", "sparsemax", "entmax15", "sigmoid")


def array(x):
    return x.detach().double().numpy()


def softmax(scores):
    scores = np.where(np.isneginf(scores).all(-1, keepdims=True), 0.0, scores)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def entmax(scores, power):
    """By bisection over τ: Σ [(power − 1) s − τ]₊^(1 / (power − 1)) = 1."""
    scores = scores * (power - 1)
    low = scores.max(-1, keepdims=True) - 1.0
    high = scores.max(-1, keepdims=True)
    for _ in range(60):
        middle = (low + high) / 2
        total = (np.maximum(scores - middle, 0) ** (1 / (power - 1))).sum(-1, keepdims=True)
        low, high = np.where(total >= 1, middle, low), np.where(total >= 1, high, middle)
    weights = np.maximum(scores - low, 0) ** (1 / (power - 1))
    return weights / weights.sum(-1, keepdims=True)


def normalized(scores, equation):
    name = equation.partition("= ")[2].partition("(")[0]
    if name == "softmax":
        weights = softmax(scores)
    elif name == "normalize":  # of scores that are positive already
        weights = scores / np.maximum(scores.sum(-1, keepdims=True), 1e-300)
    elif name == "sigmoid":
        count = np.maximum(np.isfinite(scores).sum(-1, keepdims=True), 1)
        weights = 1 / (1 + np.exp(-(scores - np.log(count))))
    else:
        weights = entmax(scores, {"sparsemax": 2.0, "entmax15": 1.5}[name])
    return np.where(np.isneginf(scores).all(-1, keepdims=True), 0.0, weights)


def head_context(steps, num_features=None):
    """Check every step of one head of attention against those before; returns its context."""
    named = {step.name: step for step in steps}
    q, k, v = (array(named[name].tensor) for name in ("query", "keys", "values"))
    traced = {name: array(step.tensor) for name, step in named.items()}
    scores = traced.get("raw scores", traced.get("energies"))
    if named.get("raw scores") and named["raw scores"].equation == "s_ij = q_i · k_j":
        close(q @ k.swapaxes(-1, -2), scores)
    if "scaled" in named:
        scores = scores / np.sqrt(q.shape[-1])
        close(scores, traced["scaled"])
    if "biased" in named:
        scores = traced["biased"]
    if "masked" in named:
        scores = np.where(np.isneginf(traced["masked"]), -np.inf, scores)
        close(scores, traced["masked"])
    weights = normalized(scores, named["weights"].equation)
    close(weights, traced["weights"])
    weighted = weights[..., None] * v[:, None]
    close(weighted, traced["weighted values"])
    context = weighted.sum(-2)
    close(context, traced["context"])
    return context


def linear(module, x):
    return x @ array(module.weight).T + (0 if module.bias is None else array(module.bias))


def layer_norm(module, x):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + module.eps) * array(module.weight) + array(module.bias)


def close(computed, traced):
    np.testing.assert_allclose(computed, traced, atol=1e-5, rtol=1e-5)
