"""Attention."""

from __future__ import annotations

from typing import Any

from ..draws import Draw
from .declaring import Example, example_of


@example_of("nn.dot_product_attention")
def _attention(draw: Draw) -> Example:
    lead, times, heads = draw.pick([(), (2,)]), draw.pick([1, 3]), draw.pick([1, 2])
    dtype = draw.pick(["float32", "float32", "bfloat16"])
    query = draw.array_of(dtype, (*lead, times, heads, 4))
    key, value = (draw.array_of(dtype, (*lead, 3, draw.pick([heads, 1]), 4)) for _ in range(2))
    named: dict[str, Any] = {}
    if draw.chance(0.3):
        named["is_causal"] = True
    if draw.chance(0.3):
        named["mask"] = draw.array_of("bool", (1, 1, times, 3))
    if draw.chance(0.3):
        named["bias"] = draw.array_of("float32", (1, heads, times, 3))
    if draw.chance(0.3):
        named["scale"] = draw.pick([0.5, 1.0])
    if draw.chance(0.2):
        named["local_window_size"] = draw.pick([1, 0])
    if draw.chance(0.2):
        named["return_residual"] = True
    return [query, key, value], named, None
