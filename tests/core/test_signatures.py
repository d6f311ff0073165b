"""Functions take jax's parameters: their names, order and defaults, and whether they may be given by place."""

from __future__ import annotations

from pathlib import Path

from tests.changes_of_jax import made

import xlascope as xs

SIGNATURES = Path(__file__).with_name("signatures.py")
Parameter = tuple[str, str, str]

#: Parameters of jax that no function has here, and why.
NOWHERE = {
    "out_sharding": "types of arrays say nothing of shardings here: there are no explicit axes of meshes",
    "sharding": "the same, by another name",
    "_dot_general": "not public: it is for libraries that put in products of their own",
}
#: Functions with other parameters than jax's, and why.
MEANT = {
    "ShapeDtypeStruct": "there are no types of axes of meshes, and no types of references among the arguments",
    "Shard": "arrays make them: it holds what a user reads, the index and the number of the copy",
    "checkpoint": "a decorator with options may leave the function out; concrete is refused in jax as well",
    "remat": "the same as checkpoint, all of its options",
    "device_put": "arrays are handed over as they are or copied, whichever is needed: there is nothing to choose",
    "dtypes.issubdtype": "it is numpy.issubdtype, with the names of its parameters",
    "grad": "reduce_axes went with the collectives that it was for",
    "value_and_grad": "reduce_axes went with the collectives that it was for",
    "jit": "shardings that are not given are None",
    "lax.convert_element_type": "weak_type is for the engine's own use",
    "local_devices": "host_id is an old name of process_index",
    "make_jaxpr": "axis_env is an old way to say what vmap's axis_name says",
    "numpy.ufunc": "jax's further parameters are its own functions for special cases",
    "random.key": "dtype is another way to name the generator",
    "random.wrap_key_data": "dtype is another way to name the generator",
    "shard_map": "specs of arguments are not inferred: they are None where they are not given, which is an error",
    "transfer_guard": "as other settings, it may be called without a value, which is an error that says so",
    "vmap": "sum_match is about the types of axes of meshes",
}

#: Functions whose parameters jax has changed since 0.10.2, which ours are those of, and how.
_METHOD = "method chooses among ways to draw; ours is the exact one, which is its default"
NEWER = {
    "custom_gradient": "a decorator with options may leave the function out, and with_logs is new",
    "custom_jvp": "a decorator with options may leave the function out",
    "custom_vjp": "a decorator with options may leave the function out",
    "lax.top_k": "is_stable is new; ours is stable, which is its default",
    "make_mesh": "the first parameter is axis_sizes, as in MeshAxisSizes, and was axis_shapes",
    "numpy.take_along_axis": "wrap_negative_indices is True instead of None, which meant it",
    **dict.fromkeys(("random.beta", "random.chisquare", "random.gamma", "random.loggamma", "random.poisson"), _METHOD),
}
#: The same since jax 0.11.
NEWEST = {
    "lax.erfc": "accuracy is new, which other functions of jax have and ours have not",
    "numpy.array": "copy, order and ndmin are by name alone, as in NumPy; by place they may be given here",
    "numpy.lexsort": "batch_size is about the time to compile",
    "numpy.polyval": "unroll is None instead of 16: how many steps are written out follows from the number of terms",
}
if made("parameters of functions"):
    MEANT |= NEWER
if made("parameters of functions, again"):
    MEANT |= NEWEST
    del MEANT["custom_jvp"], MEANT["custom_vjp"]  # as they were before 0.11


def _told(parameters: list[Parameter]) -> list[Parameter]:
    """What users have to know: no names where only places count; ``float`` (or int) and None are one default dtype."""
    kinds = {"/": "", "*": "*"}
    return [
        (
            "" if kind in ("/", "*", "**") else name,
            kinds.get(kind, kind),
            "None" if default in ("float", "int") else default,
        )
        for name, kind, default in parameters
        if name not in NOWHERE
    ]


def _same(ours: list[Parameter], jax: list[Parameter]) -> bool:
    found, wanted = _told(ours), _told(jax)
    if any(kind == "*" for _, kind, _ in wanted):  # jax's function says nothing of what it takes
        return True
    if len(found) != len(wanted):
        return False
    named = [
        (name if by else "", kind, default) for (name, kind, default), (by, _, _) in zip(found, wanted, strict=True)
    ]
    return named == wanted


def test_functions_take_jaxs_parameters(jax_says, programs) -> None:
    jax, ours = jax_says(SIGNATURES, "every"), programs(SIGNATURES).every(xs)
    both = ours.keys() & jax.keys()
    assert len(both) > 950
    differ = {name for name in both if not _same(ours[name], jax[name])}
    unexplained = sorted(differ - MEANT.keys())
    assert not unexplained, "\n".join(f"{n}: {_told(ours[n])}\n  jax: {_told(jax[n])}" for n in unexplained)
    assert not {name for name in MEANT if not name.startswith("random.")} - differ, "no longer different"
