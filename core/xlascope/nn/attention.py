"""Scaled dot product attention: softmax(Q Kᵀ / √d + B) V for each head (Vaswani et al., 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api import jit
from ..dtypes import dtype_kind, finfo, is_floating
from ..numpy import logic, ufuncs
from ..numpy.axes import is_several, whole_number
from ..numpy.contractions import einsum
from ..numpy.promotion import as_dtype
from ..numpy.shaping import broadcast_to, reshape, shape_of, transpose
from ..operations.operand_values import typed_scalar
from ..operations.shapes import broadcasted_iota, expand_dims, squeeze
from ..trace.operand_coercion import to_array
from ..trace.values import aval_of
from .functions import logsumexp, softmax

_FLOAT = np.dtype("float32")


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Return for each head the values, weighted by softmax(Q Kᵀ · scale + bias).

    Shapes, for a batch of B, T queries, S keys and heads of H numbers, a leading B being optional: ``query`` (B,
    T, N, H), ``key`` and ``value`` (B, S, K, H). N is a multiple of K: each K serves N / K heads of queries
    (grouped-query attention, Ainslie et al., 2023; multi-query for K = 1). ``bias`` and ``mask`` have 4 axes and
    broadcast to (B, N, T, S); where the boolean mask is false, a key is ignored. ``scale`` is 1 / √H unless it is
    given.

    ``is_causal`` restricts a query to the keys up to its position; ``local_window_size``, (left, right) or one
    number for both, to the keys within that distance; ``query_seq_lengths`` and ``key_value_seq_lengths``, (B,),
    are the lengths of the sequences, and queries beyond give zeros. ``implementation`` is "xla" or None: cuDNN's
    kernel is not available (ValueError).

    The result has the shape and dtype of ``query``; logits and softmax are computed in float32 at least.
    ``return_residual`` adds the logsumexp of the logits, (B, T, N). Raises ValueError for shapes that do not fit.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.ones((3, 1, 2))
    >>> print(xs.nn.dot_product_attention(x, x, x, is_causal=True).shape)
    (3, 1, 2)
    """
    if implementation not in (None, "xla"):
        raise ValueError(f'dot_product_attention takes implementation as "xla" or None, got {implementation!r}')
    operands = [to_array(x) for x in (query, key, value)]
    ranks = {len(shape_of(x)) for x in operands}
    if len(ranks) > 1 or not ranks <= {3, 4}:
        shapes = ", ".join(str(shape_of(x)) for x in operands)
        raise ValueError(f"dot_product_attention takes query, key and value of 3 or 4 axes, got shapes {shapes}")
    is_unbatched = ranks == {3}
    query, key, value = (expand_dims(x, (0,)) if is_unbatched else x for x in operands)
    _require_matching_shapes(query, key, value)
    queries, keys = (_require_lengths(x, shape_of(query)[0]) for x in (query_seq_lengths, key_value_seq_lengths))
    bias, mask = (_add_batch_axis(x, is_unbatched, name) for x, name in ((bias, "bias"), (mask, "mask")))
    if mask is not None and dtype_kind(aval_of(mask).dtype) != "b":
        raise ValueError(f"mask holds truth values, got {aval_of(mask).dtype.name}; what is added to logits is bias")
    scale = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else scale
    window = None if local_window_size is None else _window(local_window_size)
    output, residual = _attention(query, key, value, bias, mask, queries, keys, scale, bool(is_causal), window)
    if is_unbatched:
        output, residual = squeeze(output, (0,)), squeeze(residual, (0,))
    return (output, residual) if return_residual else output


def _require_matching_shapes(query: Any, key: Any, value: Any) -> None:
    (batch, _, heads, size), shape = shape_of(query), shape_of(key)
    dtypes = {aval_of(x).dtype for x in (query, key, value)}
    if len(dtypes) > 1 or not all(map(is_floating, dtypes)):
        names = ", ".join(aval_of(x).dtype.name for x in (query, key, value))
        raise ValueError(f"dot_product_attention takes query, key and value of one floating-point dtype, got {names}")
    fits = shape == shape_of(value) and shape[0] == batch and shape[3] == size and shape[2] and heads % shape[2] == 0
    if not fits:
        raise ValueError(
            f"dot_product_attention takes key and value of one shape (B, S, K, H) beside query (B, T, N, H), with N a "
            f"multiple of K; got query {shape_of(query)}, key {shape} and value {shape_of(value)}"
        )


def _require_lengths(lengths: Any, batch: int) -> Any:
    if lengths is not None and shape_of(lengths) != (batch,):
        raise ValueError(f"a sequence has one length for each of the {batch} of a batch, got shape {shape_of(lengths)}")
    return lengths


def _add_batch_axis(x: Any, is_unbatched: bool, name: str) -> Any:
    if x is None:
        return None
    if is_unbatched and len(shape_of(x)) == 3:
        x = expand_dims(x, (0,))
    if len(shape_of(x)) != 4:
        raise ValueError(f"{name} of dot_product_attention has 4 axes, (B, N, T, S), got shape {shape_of(x)}")
    return x


def _window(window_size: Any) -> tuple[int, int]:
    ends = tuple(window_size) if is_several(window_size) else (window_size, window_size)
    if len(ends) != 2:
        raise ValueError(f"local_window_size is (left, right), or one number for both, got {window_size!r}")
    left, right = (whole_number(end, "local_window_size") for end in ends)
    return left, right


@jit(static_argnums=(8, 9))
def _attention(
    query: Any, key: Any, value: Any, bias: Any, mask: Any, queries: Any, keys: Any, scale: Any, causal: bool,
    window: tuple[int, int] | None,
) -> Any:  # fmt: skip
    """Return the weighted values, (B, T, N, H), and the logsumexp of the logits, (B, T, N).

    The arguments are checked, and have a batch axis; ``queries`` and ``keys`` are the lengths of the sequences,
    (B,), or None.
    """
    dtype = aval_of(query).dtype
    wide = _FLOAT if dtype.itemsize < 4 else dtype
    (batch, length, heads, size), (_, key_len, groups, _) = shape_of(query), shape_of(key)
    grouped = reshape(query, (batch, length, groups, heads // groups, size))
    logits = einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=wide)
    logits = ufuncs.multiply(reshape(logits, (batch, heads, length, key_len)), as_dtype(scale, wide))
    if bias is not None:
        logits = as_dtype(ufuncs.add(logits, as_dtype(bias, wide)), wide)
    visible = _visibility_mask(mask, queries, keys, causal, window, length, key_len)
    if visible is not None:
        masked_logit = np.asarray(-0.7 * float(finfo(wide).max), wide)[()]  # finite: fully masked queries see all
        logits = logic.where(broadcast_to(visible, shape_of(logits)), logits, masked_logit)
    weights = reshape(as_dtype(softmax(logits), aval_of(key).dtype), (batch, groups, heads // groups, length, key_len))
    output = reshape(einsum("bkgts,bskh->btkgh", weights, value), shape_of(query))
    if queries is not None:
        output = logic.where(
            reshape(_within_length(queries, length), (batch, length, 1, 1)), output, typed_scalar(0, dtype)
        )
    return output, as_dtype(transpose(logsumexp(logits, -1), (0, 2, 1)), dtype)


def _within_length(lengths: Any, size: int) -> Any:
    """Return the mask, (B, size), of the positions that are within the length of their sequence."""
    return logic.less(broadcasted_iota(np.dtype("int32"), (1, size), 1), expand_dims(lengths, (1,)))


def _visibility_mask(
    mask: Any, queries: Any, keys: Any, causal: bool, window: tuple[int, int] | None, length: int, key_len: int
) -> Any:
    """Return the mask of the keys that each query sees, broadcastable to (B, N, T, S); None if all see all.

    ``queries`` and ``keys`` are the lengths of the sequences, (B,), or None; ``window`` are the distances to the
    left and to the right, or None; ``length`` and ``key_len`` are T and S.
    """
    row, column = (broadcasted_iota(np.dtype("int32"), (1, 1, length, key_len), axis) for axis in (2, 3))
    conditions = [] if mask is None else [mask]
    if causal:
        conditions.append(logic.greater_equal(row, column))
    if window is not None:
        conditions += [logic.less_equal(row, ufuncs.add(column, window[0]))]
        conditions += [logic.greater_equal(row, ufuncs.subtract(column, window[1]))]
    if queries is not None:
        conditions.append(expand_dims(_within_length(queries, length), (1, 3)))
    if keys is not None:
        conditions.append(expand_dims(_within_length(keys, key_len), (1, 2)))
    combined = None
    for condition in conditions:
        combined = condition if combined is None else logic.bitwise_and(combined, condition)
    return combined
