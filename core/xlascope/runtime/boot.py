"""jaxlib's process-wide state: logging, configuration states, the pytree registry.

Importing this module is "the engine's first use". The order is the contract: ``jaxlib.weakref_lru_cache`` has to be
imported before jaxlib's typed arrays are touched, and the configuration states have to exist before any array or jit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib import _jax, utils, weakref_lru_cache  # noqa: F401  (the import order is the point)

__all__ = [
    "DTYPE_PROMOTIONS",
    "MATMUL_ALGORITHMS",
    "MATMUL_PRECISIONS",
    "RANK_PROMOTIONS",
    "TRACEBACK_FILTERINGS",
    "Configuration",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "PyTreeDef",
    "SequenceKey",
    "check_tracer_leaks",
    "checked_calls",
    "checked_traces",
    "debug_infs",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_registry",
    "disable_jit",
    "enable_checks",
    "enable_x64",
    "explain_cache_misses",
    "from_environment",
    "in_trace",
    "log_compiles",
    "no_execution",
    "no_tracing",
    "note_changes",
    "num_cpu_devices",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "platforms",
    "post_hook",
    "threefry_partitionable",
    "trace_settings",
    "traceback_filtering",
]

utils.absl_set_min_log_level(1)

Configuration = _jax.config.Config

#: The values that settings with a choice can have; None: whatever is the default of what they are about.
MATMUL_ALGORITHMS = (
    *("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32"),
)
_PRECISIONS = ("default", "high", "highest", "bfloat16", "tensorfloat32", "float32")
MATMUL_PRECISIONS = (None, *_PRECISIONS, *MATMUL_ALGORITHMS)
RANK_PROMOTIONS = ("allow", "warn", "raise")
DTYPE_PROMOTIONS = ("standard", "strict")
TRACEBACK_FILTERINGS = ("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames")

_UNSET = _jax.config.unset
_TRUE, _FALSE = ("1", "true", "yes", "on", "y", "t"), ("0", "false", "no", "off", "n", "f", "")


def from_environment(name: str, default: Any, allowed: Sequence[Any] | None = None) -> Any:
    """What ``XLASCOPE_NAME`` (or else ``JAX_NAME``) says, as a value of the default's kind.

    Raises ValueError, which lists the valid values, for one that is none.
    """
    for variable in (f"XLASCOPE_{name.upper()}", f"JAX_{name.upper()}"):
        text = os.environ.get(variable)
        if text is not None:
            return _parsed(variable, text, default, allowed)
    return default


def _parsed(variable: str, text: str, default: Any, allowed: Sequence[Any] | None) -> Any:
    if isinstance(default, bool):
        if text.strip().lower() in _TRUE + _FALSE:
            return text.strip().lower() in _TRUE
        raise ValueError(f"the environment variable {variable} is {text!r}; it can be 1, true, 0 or false")
    if allowed is not None and text not in allowed:
        if not text:
            return default
        known = ", ".join(str(value) for value in allowed if value is not None)
        raise ValueError(f"the environment variable {variable} is {text!r}; it can be {known}")
    if isinstance(default, int):
        if not text.strip().lstrip("-").isdigit():
            raise ValueError(f"the environment variable {variable} is {text!r}; it is a whole number")
        return int(text)
    return text or default


def _state(name: str, default: Any, *, in_key: bool = False, allowed: Sequence[Any] | None = None) -> Any:
    """A setting, with what the environment says of it."""
    value = from_environment(name, default, allowed)
    return Configuration(name, value, include_in_jit_key=in_key, include_in_trace_context=in_key)


enable_x64 = _state("enable_x64", False, in_key=True)
disable_jit = _state("disable_jit", False, in_key=True)
explain_cache_misses = _state("explain_cache_misses", False)
no_tracing = _state("no_tracing", False)
check_tracer_leaks = _state("check_tracer_leaks", False)
enable_checks = _state("enable_checks", False)
log_compiles = _state("log_compiles", False)
platforms = _state("platforms", None)
num_cpu_devices = _state("num_cpu_devices", -1)
traceback_filtering = _state("traceback_filtering", "auto", allowed=TRACEBACK_FILTERINGS)

threefry_partitionable = _state("threefry_partitionable", True)
default_device = _state("default_device", None)
default_matmul_precision = _state("default_matmul_precision", None, allowed=MATMUL_PRECISIONS)
numpy_rank_promotion = _state("numpy_rank_promotion", "allow", allowed=RANK_PROMOTIONS)
numpy_dtype_promotion = _state("numpy_dtype_promotion", "standard", allowed=DTYPE_PROMOTIONS)
debug_nans = _state("debug_nans", False)
debug_infs = _state("debug_infs", False)
no_execution = _state("no_execution", False)


class _Summary:
    """One state that stands for several, so that what depends on them all looks at one."""

    def __init__(
        self, name: str, states: Sequence[Any], combine: Callable[[tuple[Any, ...]], Any], in_key: bool
    ) -> None:
        self.states = states
        self.combine = combine
        start = combine(tuple(state.value for state in states))
        self.state = Configuration(name, start, include_in_jit_key=in_key, include_in_trace_context=in_key)

    def update(self) -> None:
        """Let the summary follow the states, for the process and for this thread."""
        self.state.set_global(self.combine(tuple(state.get_global() for state in self.states)))
        if all(state.get_local() is _UNSET for state in self.states):
            self.state.set_local(_UNSET)
        else:  # of all of them, because jaxlib looks at the process's value only where a thread has none of its own
            self.state.set_local(self.combine(tuple(state.value for state in self.states)))


_of_traces = (threefry_partitionable, default_matmul_precision, numpy_rank_promotion, numpy_dtype_promotion)
_at_first = tuple(state.value for state in _of_traces)


def _named_changes(values: tuple[Any, ...]) -> tuple[str, ...]:
    named = zip(_of_traces, values, _at_first, strict=True)
    return tuple(f"{state.name}={value}" for state, value, first in named if value != first)


_summaries = [
    # What calls depend on. jaxlib's call cache spends 15 ns a call on each state in its key.
    _Summary(
        "changes",
        (*_of_traces, default_device, debug_nans, debug_infs, no_execution),
        tuple,
        in_key=True,
    ),
    _Summary("trace_settings", _of_traces, _named_changes, in_key=False),
    _Summary("checked_calls", (debug_nans, debug_infs, no_execution), any, in_key=False),
    _Summary("checked_traces", (no_tracing, check_tracer_leaks, enable_checks, log_compiles), any, in_key=False),
]
#: What traces depend on, as ``name=value`` for each setting that is not as it is at first.
trace_settings = _summaries[1].state
#: Whether anything looks at the results of calls, which then never stay in jaxlib's C++.
checked_calls = _summaries[2].state
#: Whether anything looks at traces.
checked_traces = _summaries[3].state


def note_changes() -> None:
    """Let the summaries follow the settings: to be called after one of them was set."""
    for summary in _summaries:
        summary.update()


#: True while a jaxpr is being traced: a jitted call then has a cache entry of its own that always comes back to Python,
#: otherwise jaxlib would run a call with only concrete arguments instead of staging it.
in_trace = Configuration("in_trace", False, include_in_jit_key=True, include_in_trace_context=False)

#: Called as ``(function, args, kwargs, out)`` after every jitted call, the C++ ones included, when it is not None.
post_hook = Configuration("post_hook", None, include_in_jit_key=False, include_in_trace_context=False)

_jax.jax_jit.set_enable_x64_state(enable_x64)
_jax.jax_jit.set_disable_jit_state(disable_jit)
_jax.jax_jit.set_post_hook_state(post_hook)

default_registry = _jax.pytree.default_registry()
#: By these names a pickled structure finds the registry again.
default_registry.__module__, default_registry.__name__ = __name__, "default_registry"
PyTreeDef = _jax.pytree.PyTreeDef
SequenceKey = _jax.pytree.SequenceKey
DictKey = _jax.pytree.DictKey
GetAttrKey = _jax.pytree.GetAttrKey
FlattenedIndexKey = _jax.pytree.FlattenedIndexKey
