"""The step of twelve transformer blocks of ``models.py`` in torch, compiled by ``torch.compile``.

``python -m bench.torch_step WEIGHTS CALLS`` runs where torch is installed, which need not be where jax is: it reads the
weights and sentences of a file and prints seconds to the first result, seconds for a step after that, and what the
weights came to. It imports nothing of ours.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np
import torch

RATE = 0.1


def loss(weights: dict[str, Any], sentences: Any, blocks: int, heads: int) -> Any:
    """Cross entropy of the next word, of a batch of sentences."""
    x = weights["words"][sentences[:, :-1]] + weights["places"]
    for number in range(blocks):
        x = block({name: weights[f"{number}.{name}"] for name in BLOCK}, x, heads)
    scores = torch.log_softmax(x @ weights["words"].T, -1)
    return -torch.gather(scores, -1, sentences[:, 1:, None]).mean()


BLOCK = ["query", "key", "value", "out", "up", "down", "up_bias", "bias", "scale_1", "shift_1", "scale_2", "shift_2"]


def block(w: dict[str, Any], x: Any, heads: int) -> Any:
    """Attention with a causal mask and a perceptron, each after a layer norm."""
    width = x.shape[-1]
    x = x + attention(w, torch.nn.functional.layer_norm(x, (width,), w["scale_1"], w["shift_1"]), heads)
    h = torch.nn.functional.layer_norm(x, (width,), w["scale_2"], w["shift_2"])
    hidden = torch.nn.functional.gelu(h @ w["up"] + w["up_bias"], approximate="tanh")
    return x + hidden @ w["down"] + w["bias"]


def attention(w: dict[str, Any], x: Any, heads: int) -> Any:
    """Written out, as on the other sides."""
    batch, tokens, width = x.shape
    query, key, value = (
        (x @ w[name]).reshape(batch, tokens, heads, width // heads).transpose(1, 2)
        for name in ("query", "key", "value")
    )
    scores = query @ key.transpose(-1, -2) / math.sqrt(width / heads)
    mask = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).tril()
    weighted = torch.softmax(torch.where(mask, scores, -1e9), -1) @ value
    return weighted.transpose(1, 2).reshape(batch, tokens, width) @ w["out"]


def main(path: str, calls: int) -> None:
    """Print seconds to the first result, the shortest time of a step, and the sum of the weights after all steps."""
    with np.load(path) as saved:
        weights = {name: torch.tensor(saved[name]) for name in saved.files if name != "sentences"}
        sentences = torch.tensor(saved["sentences"].astype(np.int64))
    blocks = len({name.partition(".")[0] for name in weights if "." in name})
    for each in weights.values():
        each.requires_grad_(True)
    forward = torch.compile(lambda weights, sentences: loss(weights, sentences, blocks, 4))

    def step() -> None:
        gradients = torch.autograd.grad(forward(weights, sentences), list(weights.values()))
        with torch.no_grad():
            torch._foreach_sub_(list(weights.values()), gradients, alpha=RATE)

    began = time.perf_counter()
    step()
    first, shortest = time.perf_counter() - began, math.inf
    for _ in range(calls):
        began = time.perf_counter()
        step()
        shortest = min(shortest, time.perf_counter() - began)
    total = sum(float(each.detach().double().abs().sum()) for each in weights.values())
    print(first, shortest, total)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
