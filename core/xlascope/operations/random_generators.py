"""XLA's own random number generators: one with an explicit state, and one with hidden state."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..ir.requested_dtypes import resolve_requested_dtype
from ..key_types import is_key
from ..trace.bind import bind, bind1
from ..trace.source import here
from ..trace.values import aval_of
from ..xla.mlir.builder import attribute
from . import sharding_rules
from .dynamic_slicing import dynamic_update_slice
from .integer_arguments import is_several, whole_numbers
from .operand_checks import require_one_dtype, require_shape
from .random_keys import random_unwrap, random_wrap
from .shapes import expand_dims, moveaxis, squeeze
from .slicing import slice_in_dim

_UINT32, _UINT64 = np.dtype("uint32"), np.dtype("uint64")
_BITS_DTYPES = ("uint8", "uint16", "uint32", "uint64")
#: XLA's CPU compiler crashes the process for other dtypes.
_UNIFORM_DTYPES = ("bfloat16", "float16", "float32", "float64", "int32", "int64", "uint32", "uint64")


class RandomAlgorithm(enum.IntEnum):
    """Algorithm of :func:`rng_bit_generator`; RNG_DEFAULT leaves it to the platform (CPU, GPU: Philox)."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __repr__(self) -> str:
        return f"<RandomAlgorithm.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return self.name


class RngBitGenerator(Operation, name="rng_bit_generator"):
    """Next state of XLA's generator, and random bits of ``shape``; under vmap all bits come from the first state."""

    multiple_results = True

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    algorithm: RandomAlgorithm

    sharding_rule = sharding_rules.replicate

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (key,) = operands
        if (key.dtype, key.shape) not in ((_UINT32, (4,)), (_UINT64, (2,))):
            raise TypeError(f"rng_bit_generator takes a key of uint32[4] (or uint64[2]), got {key.str_short()}{here()}")
        if self.dtype.name not in _BITS_DTYPES:
            raise TypeError(
                f"rng_bit_generator gives numbers of {', '.join(_BITS_DTYPES)}, got dtype={self.dtype.name}"
            )
        require_shape(self.name, self.shape)
        return [make_aval(key.shape, key.dtype), make_aval(self.shape, self.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (key,), (state, bits_aval) = operands, builder.out_avals
        wide, pairs = make_aval((2,), _UINT64), make_aval((2, 2), _UINT32)
        if state.dtype == _UINT32:
            key = builder.emit1("stablehlo.bitcast_convert", [builder.emit1("stablehlo.reshape", [key], pairs)], wide)
        name = self.algorithm.name.removeprefix("RNG_")
        how = {"rng_algorithm": attribute(f"#stablehlo<rng_algorithm {name}>")}
        next_state, bits = builder.operation("stablehlo.rng_bit_generator", [key], how, [wide, bits_aval]).results
        if state.dtype == _UINT32:
            next_state = builder.emit1("stablehlo.bitcast_convert", [next_state], pairs)
            next_state = builder.emit1("stablehlo.reshape", [next_state], state)
        return [next_state, bits]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), [ZERO, ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # XLA has no generator for several states: the first one makes the bits of all, and only it advances.
        (keys,), (axis,) = operands, axes
        keys = moveaxis(keys, axis, 0)
        batched_op = RngBitGenerator((aval_of(keys).shape[0], *self.shape), self.dtype, self.algorithm)
        next_state, bits = bind(batched_op, squeeze(slice_in_dim(keys, 0, 1), (0,)))
        return [dynamic_update_slice(keys, expand_dims(next_state, (0,)), (0, 0)), bits], [0, 0]


def rng_bit_generator(
    key: Any,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """Return the next key, and random bits of that shape and unsigned integer dtype, from XLA's generator.

    ``key`` has four words, uint32[4]. The bits depend on the algorithm and possibly on the platform; JAX's ``rbg`` keys
    use this generator. Under ``vmap`` over keys all bits come from the first key, and only that key advances, so the
    numbers differ from those of a loop over the keys. Raises TypeError for a key or a dtype of another kind, ValueError
    for an unknown ``algorithm``. ``out_sharding`` is accepted for compatibility with JAX and ignored.

    >>> import numpy as np
    >>> key, bits = rng_bit_generator(np.arange(4, dtype="uint32"), (2,))
    >>> key, bits
    (Array([0, 1, 3, 3], dtype=uint32), Array([ 895509795, 3230209149], dtype=uint32))
    """
    if dtype is None:
        raise ValueError(f"rng_bit_generator takes a dtype, such as numpy.uint32, got None{here()}")
    try:
        generator_algorithm = RandomAlgorithm(algorithm)
    except ValueError:
        names = ", ".join(f"lax.RandomAlgorithm.{member.name}" for member in RandomAlgorithm)
        raise ValueError(f"algorithm of rng_bit_generator is one of {names}; got {algorithm!r}{here()}") from None
    sizes = _sizes(shape)
    key_dtype: Any = aval_of(key).dtype
    words = random_unwrap(key) if is_key(key_dtype) else key
    next_state, bits = bind(RngBitGenerator(sizes, resolve_requested_dtype(dtype), generator_algorithm), words)
    return random_wrap(next_state, key_dtype.implementation) if is_key(key_dtype) else next_state, bits


def _sizes(shape: Any) -> tuple[int, ...]:
    is_single = hasattr(shape, "__index__") and not is_several(shape)
    return whole_numbers((shape,) if is_single else shape, "sizes of rng_bit_generator")


class RngUniform(Operation, name="rng_uniform"):
    """Uniform numbers between two limits, different each time that the program runs."""

    shape: tuple[int, ...]

    sharding_rule = sharding_rules.replicate

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        a, b = operands
        if a.shape or b.shape:
            raise ValueError(
                f"rng_uniform takes limits without axes, got {a.str_short()} and {b.str_short()}{here()}: numbers in "
                "[0, 1) can be multiplied and moved into place"
            )
        require_one_dtype(self.name, a, b)
        if a.dtype.name not in _UNIFORM_DTYPES:
            raise TypeError(f"rng_uniform takes limits of {', '.join(_UNIFORM_DTYPES)}, got {a.dtype.name}{here()}")
        require_shape(self.name, self.shape)
        return [make_aval(self.shape, a.dtype, a.weak_type and b.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        sizes = builder.constant(np.array(self.shape, np.int64), make_aval((len(self.shape),), np.dtype("int64")))
        how = {"rng_distribution": attribute("#stablehlo<rng_distribution UNIFORM>")}
        return builder.emit("stablehlo.rng", [*operands, sizes], how)  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if any(t is not ZERO for t in tangents) and dtype_kind(aval_of(primals[0]).dtype) == "f":
            raise NotImplementedError(
                f"rng_uniform cannot be differentiated in its limits{here()}: draw with random.uniform, which can"
            )
        return [bind1(self, *primals)], [ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if all(axis is NOT_MAPPED for axis in axes):
            return [bind1(self, *operands)], [NOT_MAPPED]
        raise NotImplementedError(
            f"rng_uniform cannot be mapped over its limits{here()}: draw with random.uniform, which can"
        )


def rng_uniform(a: Any, b: Any, shape: Sequence[int]) -> Any:
    """Return numbers distributed uniformly over [a, b), of the limits' dtype, from a generator with hidden state.

    The numbers cannot be reproduced, not even by the same program; those of :mod:`random` can. The limits are scalars
    of one dtype; for 16-bit types the upper limit may be returned, by rounding. Raises TypeError and ValueError for
    other limits, NotImplementedError for derivatives in them, and where ``vmap`` maps over them.

    >>> rng_uniform(3, 4, (2,))
    Array([3, 3], dtype=int32, weak_type=True)
    """
    return bind1(RngUniform(whole_numbers(shape, "sizes of rng_uniform")), a, b)
