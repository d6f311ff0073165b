"""The models in torch, as its users write them. It imports nothing of ours but the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from .data import BLOCKS, HEADS, WIDTH

RATE = 0.01


def make(model: str, weights: Any, batch: Any, *, compiled: bool) -> Callable[[], float | Any]:
    """Return a training step, which gives its loss; ``weights`` and ``batch`` are NumPy arrays by name."""
    data = {name: torch.tensor(x).long() if x.dtype == "int32" else torch.tensor(x) for name, x in batch.items()}
    if model == "convolutional net":  # torch has the channels before height and width
        data["images"] = data["images"].permute(0, 3, 1, 2).contiguous()
        weights = weights | {name: weights[name].transpose(3, 2, 0, 1) for name in ("first", "second")}
    parameters = {name: torch.nn.Parameter(torch.tensor(x)) for name, x in weights.items()}
    loss = _LOSSES[model]
    forward = torch.compile(loss) if compiled else loss
    adam = model == "perceptron with Adam"
    optimizer: Any = torch.optim.Adam(parameters.values()) if adam else torch.optim.SGD(parameters.values(), lr=RATE)
    if model == "LSTM" and not compiled:
        forward = _native_lstm()

    def step() -> Any:
        optimizer.zero_grad()
        value = forward(parameters, data)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def _perceptron(w: Any, batch: Any) -> Any:
    x = batch["images"]
    for n in range(2):
        x = functional.relu(x @ w[f"w{n}"] + w[f"b{n}"])
    return functional.cross_entropy(x @ w["w2"] + w["b2"], batch["labels"])


def _convolutional(w: Any, batch: Any) -> Any:
    x = batch["images"]
    for name in ("first", "second"):
        x = functional.max_pool2d(functional.relu(functional.conv2d(x, w[name], w[f"{name}_bias"], padding=1)), 2)
    x = x.permute(0, 2, 3, 1).reshape(len(x), -1)
    return functional.cross_entropy(x @ w["dense"] + w["dense_bias"], batch["labels"])


def _lstm(w: Any, batch: Any) -> Any:
    """The loop written out, which torch.compile unrolls."""
    sequences = batch["sequences"]
    hidden = cell = sequences.new_zeros(sequences.shape[1], w["out"].shape[0])
    for x in sequences:
        i, f, g, o = (x @ w["input"] + hidden @ w["state"] + w["bias"]).chunk(4, -1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
    return functional.mse_loss(hidden @ w["out"], batch["wanted"])


def _native_lstm() -> Callable[[Any, Any], Any]:
    """The same by ``torch.lstm``, a kernel written by hand, which is what torch's users call."""

    def loss(w: Any, batch: Any) -> Any:
        sequences = batch["sequences"]
        start = sequences.new_zeros(1, sequences.shape[1], w["out"].shape[0])
        flat = [w["input"].T, w["state"].T, w["bias"], torch.zeros_like(w["bias"])]
        _, hidden, _ = torch.lstm(sequences, (start, start), flat, True, 1, 0.0, True, False, False)
        return functional.mse_loss(hidden[0] @ w["out"], batch["wanted"])

    return loss


def _transformer(w: Any, batch: Any) -> Any:
    sentences = batch["sentences"]
    x = w["words"][sentences[:, :-1]] + w["places"]
    for n in range(BLOCKS):
        h = functional.layer_norm(x, (WIDTH,), w[f"{n}.scale_1"], w[f"{n}.shift_1"])
        x = x + _attention(w, n, h)
        h = functional.layer_norm(x, (WIDTH,), w[f"{n}.scale_2"], w[f"{n}.shift_2"])
        hidden = functional.gelu(h @ w[f"{n}.up"] + w[f"{n}.up_bias"], approximate="tanh")
        x = x + hidden @ w[f"{n}.down"] + w[f"{n}.bias"]
    scores = x @ w["words"].T
    return functional.cross_entropy(scores.flatten(0, 1), sentences[:, 1:].flatten())


def _attention(w: Any, n: int, x: Any) -> Any:
    """Attention written out, as on the other sides; torch has a kernel for it, too."""
    batch, tokens, _ = x.shape
    query, key, value = (
        (x @ w[f"{n}.{name}"]).reshape(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
        for name in ("query", "key", "value")
    )
    scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH / HEADS)
    scores = torch.where(torch.ones(tokens, tokens, dtype=torch.bool).tril(), scores, -1e9)
    mixed = torch.softmax(scores, -1) @ value
    return mixed.transpose(1, 2).reshape(batch, tokens, WIDTH) @ w[f"{n}.out"]


_LOSSES = {
    "transformer": _transformer,
    "convolutional net": _convolutional,
    "LSTM": _lstm,
    "perceptron with Adam": _perceptron,
}
