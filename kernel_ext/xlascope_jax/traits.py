"""Traits of operations by name: the engine's operations, and those that only jax has.

The engine's operations define their own traits; they are repeated here because importing all operations takes
longer than running a small jax program. `tests/jax/test_traits.py` checks that both agree.
"""

from __future__ import annotations

from collections.abc import Iterable

from xlascope.records.traits import (
    CALL,
    CIRCULAR,
    DIVISION,
    KEEPS_ORDER,
    KERNEL,
    LOOP,
    MOVES,
    PERMUTES,
    PRODUCT,
    PYTHON,
    SIMPLE,
    TRANSCENDENTAL,
    Trait,
    Traits,
)


def _named(traits: Traits, names: str) -> dict[str, Traits]:
    return dict.fromkeys(names.split(), traits)


OF_ENGINE: dict[str, Traits] = {
    **_named(KEEPS_ORDER, "broadcast_in_dim name reshape squeeze"),
    **_named(PERMUTES, "rev transpose"),
    **_named(
        KERNEL,
        """all_gather all_to_all argmax argmin axis_index cholesky cumlogsumexp cummax cummin cumprod cumsum
        eig eigh fft geqrf hessenberg householder_product lu lu_pivots_to_permutation ormqr pbroadcast pmax
        pmin ppermute psum qr reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_scatter
        reduce_sum reduce_window reduce_window_max reduce_window_min reduce_window_sum reduce_xor scatter
        scatter_add scatter_max scatter_min scatter_mul scatter_sub schur select_and_gather_add
        select_and_scatter_add sort svd top_k triangular_solve tridiagonal tridiagonal_solve""",
    ),
    **_named(MOVES, "concatenate constant iota pad slice split"),
    **_named(
        SIMPLE,
        """abs add add_any and ceil clamp clz complex conj eq floor ge gt imag integer_pow is_finite le lt
        mask_tangent max min mul mulhi ne neg nextafter not or population_count real reduce_precision round
        select_n shift_left shift_right_arithmetic shift_right_logical sign square sub xor""",
    ),
    **_named(SIMPLE | {Trait.MOVES}, "bitcast_convert_type convert_element_type"),
    **_named(DIVISION, "div rem rsqrt sqrt"),
    **_named(MOVES | {Trait.BARRIER}, "optimization_barrier"),
    **_named(KEEPS_ORDER | {Trait.PERMUTES}, "copy"),
    **_named(
        TRANSCENDENTAL,
        """acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cosh digamma erf erf_inv erfc exp
        exp2 expm1 lgamma log log1p logistic polygamma pow sinh tanh zeta""",
    ),
    **_named(PYTHON, "debug_callback io_callback pure_callback"),
    **_named(KERNEL | {Trait.PRODUCT}, "conv_general_dilated"),
    **_named(PRODUCT, "dot_general scaled_dot"),
    **_named(CIRCULAR, "cos sin tan"),
    **_named(LOOP, "scan while"),
    **_named(CALL, "composite custom_jvp_call custom_vjp_call custom_vmap_call jit"),
    **_named(CALL | {Trait.BARRIER}, "remat2"),
    **_named(SIMPLE | KEEPS_ORDER, "stop_gradient"),
}
OF_JAX: dict[str, Traits] = {
    **_named(CALL, "closed_call core_call pjit"),
    **_named(CALL | {Trait.BARRIER}, "checkpoint remat"),
    **_named(PRODUCT, "ragged_dot ragged_dot_general"),
    **_named(PYTHON, "debug_print"),
    **_named(KEEPS_ORDER | PERMUTES, "copy_p"),
}


def traits_of(names: Iterable[str]) -> dict[str, tuple[Trait, ...]]:
    """Return the traits of operations by name, without those that have none."""
    by_name = {name: OF_ENGINE.get(name) or OF_JAX.get(name) for name in sorted(set(names))}
    return {name: tuple(sorted(traits)) for name, traits in by_name.items() if traits}
