"""The step of a small transformer on more and more devices, ahead of time: the tables and the plot of docs/parallel.md.

    python -m bench.scaling [--plot docs/images/scaling.svg] [--targets tpu:v5e:2x2,...] [--json FILE]

Nothing is run, and no device is needed: the compilers of the targets are (``python -m xlascope targets --install``).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope.sharding import PartitionSpec as P

LAYERS, WIDTH, HIDDEN, WORDS, HEADS, LENGTH = 2, 1024, 4096, 8192, 16, 512
#: Sequences in a batch: of each data-parallel device, and of each tensor-parallel group.
BATCH = 8
TARGETS = (
    *(f"tpu:v5e:{shape}" for shape in ("2x2", "4x4", "8x8", "16x16")),
    *("gpu:h100:2", "gpu:h100:4", "gpu:h100:8"),
)
#: By name: the axes of the mesh, how weights lie, and how tokens do.
WAYS: dict[str, tuple[dict[str, int | None], bool]] = {
    "data parallel": ({"data": None}, False),
    "tensor parallel": ({"data": None, "model": 4}, True),
}


def weights(split: bool) -> tuple[Any, Any]:
    """Types of the weights, and how they lie: whole, or cut along ``model`` as Megatron does it (Shoeybi et al., 2019):
    attention by heads, the other layers by hidden units, so that each block needs two sums forward and two backward.
    """

    def matrix(*shape: int) -> Any:
        return xs.ShapeDtypeStruct(shape, jnp.bfloat16)

    size = WIDTH // HEADS
    block = {
        "qkv": (matrix(3, WIDTH, HEADS, size), P(None, None, "model")),
        "out": (matrix(HEADS, size, WIDTH), P("model")),
        "up": (matrix(WIDTH, HIDDEN), P(None, "model")),
        "down": (matrix(HIDDEN, WIDTH), P("model")),
    }
    types = {name: each for name, (each, _) in block.items()}
    specs = {name: spec if split else P() for name, (_, spec) in block.items()}
    table = matrix(WORDS, WIDTH)
    return {"table": table, "blocks": [types] * LAYERS}, {"table": P(), "blocks": [specs] * LAYERS}


def transformer_step(w: Any, tokens: Any) -> Any:
    """One step of gradient descent."""
    return xs.tree.map(lambda each, slope: each - 0.01 * slope, w, xs.grad(_loss)(w, tokens))


def _loss(w: Any, tokens: Any) -> Any:
    x = w["table"][tokens]
    for block in w["blocks"]:
        x = x + _attention(block, _normal(x))
        x = x + xs.nn.gelu(_normal(x) @ block["up"]) @ block["down"]
    likely = xs.nn.log_softmax((x @ w["table"].T).astype(jnp.float32)[:, :-1])
    return -jnp.take_along_axis(likely, tokens[:, 1:, None], -1).mean()


def _normal(x: Any) -> Any:
    return x * xs.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def _attention(block: Any, x: Any) -> Any:
    query, key, value = jnp.einsum("btd,cdhe->cbthe", x, block["qkv"])
    scores = jnp.einsum("bqhe,bkhe->bhqk", query, key) / np.sqrt(WIDTH / HEADS).astype(np.float32)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9).astype(x.dtype)
    return jnp.einsum("bhqk,bkhe,hed->bqd", xs.nn.softmax(scores), value, block["out"])


def scaled(way: str, targets: tuple[str, ...] = TARGETS) -> inspect.Inspection:
    """The step compiled for all targets, in one of the ``WAYS``."""
    mesh, split = WAYS[way]
    types, specs = weights(split)
    transformer_step.__name__ = f"{way} transformer step"
    tokens = xs.ShapeDtypeStruct((BATCH, LENGTH), np.int32)
    return inspect.scaling(
        transformer_step,
        types,
        tokens,
        targets=targets,
        mesh=mesh,
        specs=(specs, P("data")),
        growing=("data",),
    )


def main() -> None:
    """Print the tables; write the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--targets", default=",".join(TARGETS))
    given = parser.parse_args()
    found: list[records.Record] = []
    for way in WAYS:
        answer = scaled(way, tuple(given.targets.split(",")))
        print(answer, end="\n\n", flush=True)
        found += [each for each in answer.records if isinstance(each, records.Scaled)]
    if given.json:
        records.save(found, given.json)
    if given.plot:
        inspect.Inspection("scaling", found, "").save(given.plot)


if __name__ == "__main__":
    main()
