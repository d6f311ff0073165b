"""Errors for missing names: whether jax has the name, why xlascope does not, and alternatives.

Imported by ``names.py`` on the first missing name, so that names that exist cost nothing.
"""

from __future__ import annotations

import difflib
import functools
import importlib.machinery
import opcode
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

_JAX_NAMES_FILE = Path(__file__).with_name("names_of_jax.txt")
_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]
_MAX_SUGGESTIONS = 3


class UnsupportedName(NamedTuple):
    """Reason why a name of jax will not be supported, and what to use instead, both as parts of a sentence."""

    reason: str
    instead: str


_KERNELS = UnsupportedName(
    "kernels written by hand are not what xlascope is for: it shows what XLA makes of whole programs",
    "write it with xlascope.numpy and look at its fusions with xlascope.inspect, or call the kernel in jax",
)
_LEGACY_ONLY = "jax keeps it for old programs only"

#: Names or modules of jax that will not be supported.
UNSUPPORTED_NAMES = {
    "pallas": _KERNELS,
    "experimental.pallas": _KERNELS,
    "experimental.mosaic": _KERNELS,
    "experimental.jax2tf": UnsupportedName("it is about TensorFlow", "use jax for it"),
    "numpy.fromfile": UnsupportedName(
        "jax only says that it has none", "use numpy.fromfile, then xlascope.numpy.asarray"
    ),
    "numpy.fromiter": UnsupportedName(
        "jax only says that it has none", "use numpy.fromiter, then xlascope.numpy.asarray"
    ),
    "random.random_gamma_p": UnsupportedName(
        "numbers of the gamma distribution are no operation here", "use random.gamma"
    ),
    "errors.InconclusiveDimensionOperation": UnsupportedName("shapes have no symbols here", "trace for each shape"),
    "debug.breakpoint": UnsupportedName(
        "a compiled program does not stop at a line of Python",
        "call Python's with the values that matter: debug.callback(lambda x: breakpoint(), x)",
    ),
    "lax.psend": UnsupportedName("a send without its receive is for kernels", "use lax.ppermute"),
    "lax.precv": UnsupportedName("a receive without its send is for kernels", "use lax.ppermute"),
    "lax.ragged_all_to_all": UnsupportedName("XLA's CPU compiler has none", "use lax.all_to_all on padded blocks"),
    "host_id": UnsupportedName(_LEGACY_ONLY, "use xlascope.process_index"),
    "host_ids": UnsupportedName(_LEGACY_ONLY, "use range(xlascope.process_count())"),
    "host_count": UnsupportedName(_LEGACY_ONLY, "use xlascope.process_count"),
}

_USE_ARRAY = "use xlascope.Array"
_USE_NAMED_SHARDING = "use xlascope.sharding.NamedSharding"
_USE_PUBLIC_TYPES = "use xlascope.errors.JaxRuntimeError for its XlaRuntimeError, and xlascope.Array for its arrays"
_USE_ENABLE_X64 = "use xlascope.enable_x64(True) or xlascope.enable_x64(False) in a with statement"

#: Names that jax itself has removed, and their replacements.
REMOVED_NAMES = {
    "abstract_arrays": "use xlascope.core.ShapedArray",
    "clear_backends": "use xlascope.clear_caches",
    "config.config": "use from xlascope import config",
    "core.ConcreteArray": "use xlascope.core.Tracer with isinstance to ask whether a value is traced",
    "core.get_aval": "use xlascope.typeof",
    "core.raise_to_shaped": "leave it away: all avals are shaped",
    "curry": "use functools.partial",
    "custom_transforms": "use xlascope.custom_jvp or xlascope.custom_vjp",
    "defjvp": "use xlascope.custom_jvp",
    "defjvp_all": "use xlascope.custom_jvp",
    "defvjp": "use xlascope.custom_vjp",
    "defvjp_all": "use xlascope.custom_vjp",
    "dlpack.to_dlpack": "hand the array itself to the other library's from_dlpack",
    "eval_context": "use xlascope.ensure_compile_time_eval",
    "experimental.PartitionSpec": "use xlascope.sharding.PartitionSpec",
    "experimental.array_api": "use xlascope.numpy, which is the array API",
    "experimental.callback": "use xlascope.pure_callback or xlascope.experimental.io_callback",
    "experimental.disable_x64": _USE_ENABLE_X64,
    "experimental.enable_x64": _USE_ENABLE_X64,
    "experimental.global_device_array": _USE_ARRAY,
    "experimental.host_callback": "use xlascope.pure_callback, xlascope.debug.callback or experimental.io_callback",
    "experimental.loops": "use xlascope.lax.fori_loop or scan",
    "experimental.maps": "use xlascope.shard_map, or xlascope.vmap with axis_name",
    "experimental.pjit.PartitionSpec": "use xlascope.sharding.PartitionSpec",
    "experimental.sharding": "use xlascope.sharding",
    "experimental.vectorize": "use xlascope.numpy.vectorize",
    "interpreters.sharded_jit": "use xlascope.jit with in_shardings and out_shardings",
    "lax.dtypes": "use xlascope.dtypes",
    "lax.infeed": "use xlascope.experimental.io_callback",
    "lax.lax": "use xlascope.lax",
    "lax.linear_solve": "use xlascope.lax.custom_linear_solve",
    "lax.outfeed": "use xlascope.experimental.io_callback",
    "lax.pvary": "use xlascope.lax.pcast with to='varying'",
    "lax.tie_in": "leave it away: lax.tie_in(x, y) is y",
    "lib.xla_client": _USE_PUBLIC_TYPES,
    "lib.xla_extension": _USE_PUBLIC_TYPES,
    "linear_util": "transform functions with xlascope.grad, vmap and jit alone",
    "mask": "use xlascope.numpy.where",
    "nn.normalize": "use xlascope.nn.standardize",
    "numpy.DeviceArray": _USE_ARRAY,
    "numpy.Inf": "use xlascope.numpy.inf",
    "numpy.NINF": "use -xlascope.numpy.inf",
    "numpy.NaN": "use xlascope.numpy.nan",
    "numpy.PINF": "use xlascope.numpy.inf",
    "numpy.alltrue": "use xlascope.numpy.all",
    "numpy.asscalar": "use x.item()",
    "numpy.cumproduct": "use xlascope.numpy.cumprod",
    "numpy.find_common_type": "use xlascope.numpy.result_type",
    "numpy.in1d": "use xlascope.numpy.isin",
    "numpy.infty": "use xlascope.numpy.inf",
    "numpy.issubsctype": "use xlascope.numpy.issubdtype",
    "numpy.jit": "use xlascope.jit",
    "numpy.lax": "use xlascope.lax",
    "numpy.lax_numpy": "use xlascope.numpy",
    "numpy.msort": "use xlascope.numpy.sort with axis=0",
    "numpy.product": "use xlascope.numpy.prod",
    "numpy.round_": "use xlascope.numpy.round",
    "numpy.row_stack": "use xlascope.numpy.vstack",
    "numpy.sometrue": "use xlascope.numpy.any",
    "numpy.trapz": "use xlascope.numpy.trapezoid",
    "partial": "use functools.partial",
    "profiler.TraceContext": "use xlascope.profiler.TraceAnnotation",
    "random.KeyArray": _USE_ARRAY,
    "random.PRNGKeyArray": _USE_ARRAY,
    "random.default_prng_impl": "use xlascope.config.jax_default_prng_impl",
    "random.shuffle": "use xlascope.random.permutation",
    "scipy.linalg.tril": "use xlascope.numpy.tril",
    "scipy.linalg.triu": "use xlascope.numpy.triu",
    "scipy.misc": "use xlascope.scipy.special.logsumexp for its logsumexp",
    "scipy.special.sph_harm": "use xlascope.scipy.special.sph_harm_y, whose arguments have another order",
    "sharding.GSPMDSharding": _USE_NAMED_SHARDING,
    "sharding.MeshPspecSharding": _USE_NAMED_SHARDING,
    "sharding.OpShardingSharding": _USE_NAMED_SHARDING,
    "sharding.PositionalSharding": _USE_NAMED_SHARDING,
    "soft_pmap": "use xlascope.shard_map",
    "tree_util.build_tree": "use xlascope.tree_util.tree_unflatten",
    "util": "write helpers such as safe_map and safe_zip in the program: zip(…, strict=True)",
    "xla_computation": "use xlascope.jit(fun).lower(*args).as_text()",
}


@functools.cache
def names_of_jax() -> frozenset[str]:
    """Return the public names of jax, relative to its package: ``numpy.add`` for ``jax.numpy.add``."""
    text = _JAX_NAMES_FILE.read_text(encoding="utf-8").partition("\n")[2].replace("\n  ", " ")
    lines = (line.split(": ", 1) for line in text.splitlines())
    return frozenset(f"{module}.{name}".lstrip(".") for module, names in lines for name in names.split())


def explanation(module: str, name: str, available: Iterable[str]) -> str:
    """Return the end of an error message about a missing name; "" when nothing is known about it.

    ``module`` is the full name of xlascope's module, ``name`` the missing name, ``available`` the names that
    the module has. The text says why xlascope lacks a name of jax, or which names of the module are similar.

    >>> explanation("xlascope.numpy", "arrange", ["arange", "array"])
    "; did you mean 'arange' or 'array'?"
    >>> explanation("xlascope", "host_id", [])
    ": jax's host_id is left out for good, because jax keeps it for old programs only; use xlascope.process_index"
    >>> explanation("xlascope.random", "KeyArray", [])
    ': jax has removed its random.KeyArray; use xlascope.Array'
    """
    in_jax = f"{module}.{name}".partition(".")[2]
    left_out = _find_unsupported(in_jax)
    if left_out is not None:
        return f": jax's {in_jax} is left out for good, because {left_out.reason}; {left_out.instead}"
    if in_jax in names_of_jax():
        if _is_module(module, name):
            return f": it is a module that is imported by its name, as in jax: import {module}.{name}"
        return (
            f": jax's {in_jax} is not in xlascope yet. Until then use jax beside it (docs/beside_jax.md): give jax "
            "numpy.asarray(x), and give xlascope its arrays as they are"
        )
    if in_jax in REMOVED_NAMES:
        return f": jax has removed its {in_jax}; {REMOVED_NAMES[in_jax]}"
    public = sorted({candidate for candidate in available if not candidate.startswith("_")})
    near = difflib.get_close_matches(name, public, _MAX_SUGGESTIONS)
    return f"; did you mean {_format_alternatives(near)}?" if near else ""


def _is_module(package: str, name: str) -> bool:
    """Return whether a package contains a submodule ``name`` that can be imported."""
    paths = getattr(sys.modules.get(package), "__path__", None)
    return paths is not None and importlib.machinery.PathFinder.find_spec(f"{package}.{name}", paths) is not None


def _find_unsupported(name: str) -> UnsupportedName | None:
    """Return the entry of ``UNSUPPORTED_NAMES`` for a name of jax or for a module that contains it, else None."""
    while name:
        if name in UNSUPPORTED_NAMES:
            return UNSUPPORTED_NAMES[name]
        name = name.rpartition(".")[0]
    return None


def _format_alternatives(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def error_of(module: str, name: str, available: Iterable[str], asking: FrameType) -> Exception:
    """Return the error for a name that a module's ``__getattr__`` does not find.

    ``available`` are the names that the module has, ``asking`` is the frame that looked the name up. The
    error is an AttributeError, but an ImportError for ``from module import name``, where Python would replace
    the message by its own.
    """
    text = explanation(module, name, available)
    if asking.f_lasti >= 0 and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM:
        return ImportError(f"cannot import name {name!r} from {module!r}{text}", name=module)
    # Without an object Python adds no suggestions.
    return AttributeError(f"module {module!r} has no attribute {name!r}{text}", name=name, obj=None)
