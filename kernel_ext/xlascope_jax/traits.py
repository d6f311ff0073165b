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


def _with_traits(traits: Traits, names: str) -> dict[str, Traits]:
    return dict.fromkeys(names.split(), traits)


ENGINE_TRAITS: dict[str, Traits] = {
    **_with_traits(KEEPS_ORDER, "broadcast_in_dim name reshape squeeze"),
    **_with_traits(PERMUTES, "rev transpose"),
    **_with_traits(
        KERNEL,
        """all_gather all_to_all argmax argmin axis_index cholesky cumlogsumexp cummax cummin cumprod cumsum
        eig eigh fft geqrf hessenberg householder_product lu lu_pivots_to_permutation ormqr pbroadcast pmax
        pmin ppermute psum qr reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_scatter
        reduce_sum reduce_window reduce_window_max reduce_window_min reduce_window_sum reduce_xor scatter
        scatter_add scatter_max scatter_min scatter_mul scatter_sub schur select_and_gather_add
        select_and_scatter_add sort svd top_k triangular_solve tridiagonal tridiagonal_solve""",
    ),
    **_with_traits(MOVES, "concatenate constant iota pad slice split"),
    **_with_traits(
        SIMPLE,
        """abs add add_any and ceil clamp clz complex conj eq floor ge gt imag integer_pow is_finite le lt
        mask_tangent max min mul mulhi ne neg nextafter not or population_count real reduce_precision round
        select_n shift_left shift_right_arithmetic shift_right_logical sign square sub xor""",
    ),
    **_with_traits(SIMPLE | {Trait.MOVES}, "bitcast_convert_type convert_element_type"),
    **_with_traits(DIVISION, "div rem rsqrt sqrt"),
    **_with_traits(MOVES | {Trait.BARRIER}, "optimization_barrier"),
    **_with_traits(KEEPS_ORDER | {Trait.PERMUTES}, "copy"),
    **_with_traits(
        TRANSCENDENTAL,
        """acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cosh digamma erf erf_inv erfc exp
        exp2 expm1 lgamma log log1p logistic polygamma pow sinh tanh zeta""",
    ),
    **_with_traits(PYTHON, "debug_callback io_callback pure_callback"),
    **_with_traits(KERNEL | {Trait.PRODUCT}, "conv_general_dilated"),
    **_with_traits(PRODUCT, "dot_general scaled_dot"),
    **_with_traits(CIRCULAR, "cos sin tan"),
    **_with_traits(LOOP, "scan while"),
    **_with_traits(CALL, "composite custom_jvp_call custom_vjp_call custom_vmap_call jit"),
    **_with_traits(CALL | {Trait.BARRIER}, "remat2"),
    **_with_traits(SIMPLE | KEEPS_ORDER, "stop_gradient"),
}
JAX_TRAITS: dict[str, Traits] = {
    **_with_traits(CALL, "closed_call core_call pjit"),
    **_with_traits(CALL | {Trait.BARRIER}, "checkpoint remat"),
    **_with_traits(PRODUCT, "ragged_dot ragged_dot_general"),
    **_with_traits(PYTHON, "debug_print"),
    **_with_traits(KEEPS_ORDER | PERMUTES, "copy_p"),
}


def traits_of(names: Iterable[str]) -> dict[str, tuple[Trait, ...]]:
    """Return the traits of the named operations, by name; operations without traits are left out."""
    by_name = {name: ENGINE_TRAITS.get(name) or JAX_TRAITS.get(name) for name in sorted(set(names))}
    return {name: tuple(sorted(traits)) for name, traits in by_name.items() if traits}
