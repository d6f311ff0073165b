"""xlascope: a JAX you can see through.

Names are found on first use: importing the package loads nothing of the engine, and boots nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from .starting import start_with as _start_with

__version__ = "0.1.0"

#: Where each public name lives.
_HOMES = {
    **dict.fromkeys(
        [
            "ShapeDtypeStruct",
            "block_until_ready",
            "clear_caches",
            "device_get",
            "device_put",
            "eval_shape",
            "grad",
            "hessian",
            "jacfwd",
            "jacobian",
            "jacrev",
            "jit",
            "jvp",
            "linear_transpose",
            "linearize",
            "live_arrays",
            "make_jaxpr",
            "value_and_grad",
            "vjp",
            "vmap",
        ],
        "api",
    ),
    **dict.fromkeys(
        [
            "default_backend",
            "device_count",
            "devices",
            "local_device_count",
            "local_devices",
            "process_count",
            "process_index",
        ],
        "xla.backend",
    ),
    **dict.fromkeys(
        [
            "allow_f16_reductions",
            "array_garbage_collection_guard",
            "auto_pcast",
            "check_tracer_leaks",
            "checking_leaks",
            "config",
            "debug_infs",
            "debug_key_reuse",
            "debug_nans",
            "default_device",
            "default_matmul_precision",
            "default_prng_impl",
            "disable_jit",
            "enable_checks",
            "enable_custom_prng",
            "enable_x64",
            "explain_cache_misses",
            "jax2tf_associative_scan_reductions",
            "legacy_prng_key",
            "log_compiles",
            "no_execution",
            "no_tracing",
            "numpy_dtype_promotion",
            "numpy_rank_promotion",
            "remove_size_one_mesh_axis_from_type",
            "softmax_custom_jvp",
            "thread_guard",
            "threefry_partitionable",
            "transfer_guard",
            "transfer_guard_device_to_device",
            "transfer_guard_device_to_host",
            "transfer_guard_host_to_device",
        ],
        "settings",
    ),
    **dict.fromkeys(
        [
            "tree_all",
            "tree_flatten",
            "tree_leaves",
            "tree_map",
            "tree_multimap",
            "tree_reduce",
            "tree_structure",
            "tree_transpose",
            "tree_unflatten",
        ],
        "tree_util",
    ),
    **dict.fromkeys(["closure_convert", "custom_gradient"], "control.closures"),
    "custom_jvp": "control.custom_jvp",
    "float0": "dtypes",
    "custom_vjp": "control.custom_vjp",
    **dict.fromkeys(["checkpoint", "remat"], "control.remat"),
    "checkpoint_policies": "control.policies",
    **dict.fromkeys(["effects_barrier", "pure_callback"], "api.callbacks"),
    **dict.fromkeys(["ensure_compile_time_eval", "named_call", "named_scope"], "trace.scopes"),
    "Array": "trace.array",
}
_MODULES = frozenset(
    [
        "ad_checkpoint",
        "custom_batching",
        "custom_derivatives",
        "core",
        "debug",
        "dtypes",
        "errors",
        "inspect",
        "lax",
        "nn",
        "numpy",
        "ops",
        "profiler",
        "random",
        "records",
        "stages",
        "test_util",
        "tree",
        "tree_util",
        "lib",
        "experimental",
        "extend",
        "interpreters",
    ]
)
#: Modules that need no arrays: loading them does not load the method table (and does not boot anything but pytrees).
_APART = frozenset(["dtypes", "errors", "inspect", "records", "tree", "tree_util"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        if name not in _APART:
            importlib.import_module("xlascope.numpy.methods")
        return importlib.import_module(f"xlascope.{name}")
    if name in _HOMES:
        importlib.import_module("xlascope.numpy.methods")
        value = getattr(importlib.import_module(f"xlascope.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'xlascope' has no attribute {name!r}")


def _start_engine() -> Any:
    """What a question needs that is about a function: the engine, whole, and what makes programs of its calls."""
    importlib.import_module("xlascope.numpy.methods")
    return importlib.import_module("xlascope.inspect.engine.producer").Engine()


_start_with(_start_engine)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext xlascope`` runs: the notebook side, which is a package of its own."""
    importlib.import_module("xlascope_ipython").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What ``%unload_ext xlascope`` runs."""
    importlib.import_module("xlascope_ipython").unload_ipython_extension(shell)
