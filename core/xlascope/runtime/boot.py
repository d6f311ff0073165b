"""Process-wide state of jaxlib: logging, configuration states, the pytree registry.

Importing this module is "the engine's first use". The order matters: ``jaxlib.weakref_lru_cache`` has to be
imported before jaxlib's typed arrays are touched, and the configuration states have to exist before any array
or jit. For jax in the same process see ``jax_coexistence.py``.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib import _jax, utils, weakref_lru_cache  # noqa: F401  (the import order is the point)

from . import jax_coexistence, post_hooks
from .xla_log_level import set_xla_log_level

__all__ = [
    "DTYPE_PROMOTIONS",
    "KEPT",
    "LEGACY_PRNG_KEYS",
    "MATMUL_ALGORITHMS",
    "MATMUL_PRECISIONS",
    "PRNG_IMPLEMENTATIONS",
    "RANK_PROMOTIONS",
    "REROLLED",
    "TRACEBACK_FILTERINGS",
    "UNSET",
    "Configuration",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "PyTreeDef",
    "SequenceKey",
    "call_registry",
    "calls_are_checked",
    "check_tracer_leaks",
    "checked_calls",
    "checked_traces",
    "compare_programs",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "default_registry",
    "disable_jit",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "explain_cache_misses",
    "forget_calls",
    "from_environment",
    "in_trace",
    "keep",
    "legacy_prng_key",
    "log_compiles",
    "no_execution",
    "no_tracing",
    "note_blocks",
    "note_mesh",
    "num_cpu_devices",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "platforms",
    "post_hook",
    "process_changes",
    "program_wait_seconds",
    "reroll",
    "said_by_blocks",
    "same_width",
    "set_for_process",
    "settings_of_traces",
    "threefry_partitionable",
    "trace_settings",
    "trace_settings_summary",
    "traceback_filtering",
    "unchanged_since",
    "watch_calls",
]

set_xla_log_level()

Configuration = _jax.config.Config

#: The values of settings with a choice; None: the default of the function or operation.
MATMUL_ALGORITHMS = (
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
    *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16"),
    *("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)
_PRECISIONS = ("default", "high", "highest", "bfloat16", "tensorfloat32", "float32")
MATMUL_PRECISIONS = (None, *_PRECISIONS, *MATMUL_ALGORITHMS)
RANK_PROMOTIONS = ("allow", "warn", "raise")
KEPT = ("auto", "off")
REROLLED = ("auto", "always", "off")
DTYPE_PROMOTIONS = ("standard", "strict")
#: As in ``key_types.KEY_TYPES``, which is in a higher layer.
PRNG_IMPLEMENTATIONS = ("threefry2x32", "rbg", "unsafe_rbg")
LEGACY_PRNG_KEYS = ("allow", "warn", "error")
TRACEBACK_FILTERINGS = ("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames")

#: The thread-local value of a state that is not set on the thread.
UNSET = _jax.config.unset
_TRUE, _FALSE = ("1", "true", "yes", "on", "y", "t"), ("0", "false", "no", "off", "n", "f", "")


def from_environment(name: str, default: Any, allowed: Sequence[Any] | None = None) -> Any:
    """Return the value of the environment variable ``XLASCOPE_NAME``, or else ``JAX_NAME``; ``default`` without either.

    ``name`` is the setting's name in lower case. The text is converted to the type of the default. Raises
    ValueError for an invalid value, or one that is not among those ``allowed``, which the message lists.
    """
    for variable in (f"XLASCOPE_{name.upper()}", f"JAX_{name.upper()}"):
        text = os.environ.get(variable)
        if text is not None:
            return _parse_value(variable, text, default, allowed)
    return default


def _parse_value(variable: str, text: str, default: Any, allowed: Sequence[Any] | None) -> Any:
    """Return the text of an environment variable converted to the type of ``default``, or raise ValueError.

    ``allowed`` are the valid texts, None for any.
    """
    if isinstance(default, bool):
        if text.strip().lower() in _TRUE + _FALSE:
            return text.strip().lower() in _TRUE
        raise ValueError(f"the environment variable {variable} is {text!r}; it can be 1, true, 0 or false")
    if allowed is not None and text not in allowed:
        if not text:
            return default
        choices = ", ".join(str(value) for value in allowed if value is not None)
        raise ValueError(f"the environment variable {variable} is {text!r}; it can be {choices}")
    if isinstance(default, int):
        if not text.strip().lstrip("-").isdigit():
            raise ValueError(f"the environment variable {variable} is {text!r}; it is a whole number")
        return int(text)
    return text or default


def _state(name: str, default: Any, *, in_key: bool = False, allowed: Sequence[Any] | None = None) -> Any:
    """Create the state of a setting, initialized from the environment.

    ``in_key`` says whether the state is part of the key of jaxlib's call cache, ``allowed`` are the valid
    values.
    """
    value = from_environment(name, default, allowed)
    return _configuration(name, value, in_key)


def _configuration(name: str, value: Any, in_key: bool) -> Any:
    """Create a jaxlib configuration state; ``in_key`` says whether it is part of the key of jaxlib's call cache.

    It is outside of jaxlib's "trace context", which concerns jax's traces alone.
    """
    return Configuration(name, value, include_in_jit_key=in_key, include_in_trace_context=False)


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

default_prng_impl = _state("default_prng_impl", "threefry2x32", allowed=PRNG_IMPLEMENTATIONS)
enable_custom_prng = _state("enable_custom_prng", False)
legacy_prng_key = _state("legacy_prng_key", "allow", allowed=LEGACY_PRNG_KEYS)
threefry_partitionable = _state("threefry_partitionable", True)
default_device = _state("default_device", None)
default_matmul_precision = _state("default_matmul_precision", None, allowed=MATMUL_PRECISIONS)
numpy_rank_promotion = _state("numpy_rank_promotion", "allow", allowed=RANK_PROMOTIONS)
numpy_dtype_promotion = _state("numpy_dtype_promotion", "standard", allowed=DTYPE_PROMOTIONS)
debug_nans = _state("debug_nans", False)
debug_infs = _state("debug_infs", False)
debug_key_reuse = _state("debug_key_reuse", False)
no_execution = _state("no_execution", False)
compare_programs = _state("compare_programs", True)
program_wait_seconds = _state("program_wait_seconds", 3600)
keep = _state("keep", "auto", allowed=KEPT)
reroll = _state("reroll", "auto", allowed=REROLLED)


class _ReadStates:
    """Class of the value of a summary on a thread where a ``with`` block sets any of its states.

    The states then have to be read one by one.
    """

    def __repr__(self) -> str:
        return "IN_BLOCK"


_READ_STATES = _ReadStates()


class _StateSummary:
    """State that summarizes several states, so that code that depends on all of them reads only one.

    ``combine(values)`` makes the summary of the states' values. ``state`` is false while the states have
    their initial values; where it is true, :meth:`get_value` returns the summary. Values of blocks and of the
    process are not combined before that, because either may change while the other stays. ``was_set`` says whether any
    thread has ever set a state to another value than its initial one: an attribute is read faster than ``state``.
    """

    def __init__(self, name: str, states: Sequence[Any], combine: Callable[[tuple[Any, ...]], Any]) -> None:
        self.states = states
        self.combine = combine
        start = combine(tuple(state.value for state in states))
        self.was_set = bool(start)
        self.state = _configuration(name, start, in_key=False)

    def get_value(self) -> Any:
        """Return the combined value of the states on this thread."""
        summary = self.state.value
        return self.combine(tuple(state.value for state in self.states)) if summary is _READ_STATES else summary

    def note_process(self) -> None:
        summary = self.combine(tuple(state.get_global() for state in self.states))
        self.was_set = self.was_set or bool(summary)
        self.state.set_global(summary)

    def note_blocks(self, watched: bool) -> None:
        is_set = watched or any(state.get_local() is not UNSET for state in self.states)
        self.was_set = self.was_set or is_set
        self.state.set_local(_READ_STATES if is_set else UNSET)


_trace_states = (
    *(threefry_partitionable, default_matmul_precision, numpy_rank_promotion, numpy_dtype_promotion),
    *(debug_key_reuse, default_prng_impl, enable_custom_prng, legacy_prng_key),
)
#: The mesh that is current on a thread: PartitionSpecs in a program are over it.
context_mesh = _configuration("context_mesh", None, in_key=False)
_call_states = (*_trace_states, default_device, debug_nans, debug_infs, no_execution, keep, reroll, context_mesh)
_initial_values = tuple(state.value for state in _trace_states)


def _format_changes(values: tuple[Any, ...]) -> tuple[str, ...]:
    settings = zip(_trace_states, values, _initial_values, strict=True)
    return tuple(f"{state.name}={value}" for state, value, first in settings if value != first)


#: Cache keys of calls, as two states, since jaxlib's call cache spends 15 ns a call on each state in its key: the
#: number of changes of process-wide settings, which never repeats (a call that began before a change and ended after
#: it is never found again; the number is odd during a change), and the values set by this thread's blocks.
process_changes = _configuration("process_changes", 0, in_key=True)
said_by_blocks = _configuration("said_by_blocks", (), in_key=True)

_trace_settings = _StateSummary("trace_settings", _trace_states, _format_changes)
_checked_calls = _StateSummary("checked_calls", (debug_nans, debug_infs, debug_key_reuse, no_execution), any)
_checked_traces = _StateSummary("checked_traces", (no_tracing, check_tracer_leaks, enable_checks, log_compiles), any)
#: Whether traces depend on a setting with other than its initial value; :func:`settings_of_traces` says which.
trace_settings = _trace_settings.state
#: Whether the results of calls may have to be checked; :func:`calls_are_checked` says whether they have to.
checked_calls = _checked_calls.state
#: Whether traces may have to be checked.
checked_traces = _checked_traces.state

#: Whether ``trace_settings`` may be true: where its ``was_set`` is false, the state need not be read.
trace_settings_summary = _trace_settings

#: The settings that traces depend on, as ``name=value`` for each with other than its initial value.
settings_of_traces = _trace_settings.get_value
#: Whether the results of calls are checked; if so, every call goes through Python.
calls_are_checked = _checked_calls.get_value

_cached_call_states = frozenset({*_call_states, enable_x64, disable_jit})
_change_lock = threading.RLock()
_change_numbers = itertools.count(1)


def set_for_process(state: Any, value: Any) -> None:
    """Set a state for the whole process, and update the summaries and the keys of cached calls that depend on it."""
    with _change_lock:
        changes = state in _cached_call_states and state.get_global() != value
        if changes:  # entries cached from here on are never found: they may mix old and new settings
            process_changes.set_global(next(_change_numbers))
        try:
            state.set_global(value)
        finally:
            for summary in (_trace_settings, _checked_calls, _checked_traces):
                summary.note_process()
            if changes:
                process_changes.set_global(next(_change_numbers))


def forget_calls() -> None:
    """Invalidate all entries of jaxlib's call cache, after a change of the placement of uncommitted values."""
    with _change_lock:
        for _ in range(2):  # and even again
            process_changes.set_global(next(_change_numbers))


def unchanged_since(changes: int) -> bool:
    """Return whether no process-wide setting has changed since :data:`process_changes` had the value ``changes``.

    What is derived from settings may be cached under them only if so; ``changes`` is read before the settings
    are.
    """
    return changes % 2 == 0 and process_changes.value == changes


def note_blocks(watched: bool) -> None:
    """Update what depends on the settings of this thread's ``with`` blocks: summaries and keys of cached calls.

    ``watched`` says that the blocks have to be checked at each call and trace, as those of asyncio tasks.
    """
    _update_block_values()
    _trace_settings.note_blocks(False)
    _checked_calls.note_blocks(watched)
    _checked_traces.note_blocks(watched)


#: True while a jaxpr is being traced: a jitted call then has a cache entry of its own that always comes back to Python,
#: otherwise jaxlib would run a call with only concrete arguments instead of staging it.
in_trace = _configuration("in_trace", False, in_key=True)

#: Called as ``(function, args, kwargs, out)`` after every jitted call, the C++ ones included, when it is not None.
post_hook = _configuration("post_hook", None, in_key=False)

with jax_coexistence.hold_import_lock():  # jax, where it is, has set these; and where it comes it will
    if not jax_coexistence.is_present():
        _jax.jax_jit.set_enable_x64_state(enable_x64)
        _jax.jax_jit.set_disable_jit_state(disable_jit)
        _jax.jax_jit.set_post_hook_state(post_hook)


def same_width() -> bool:
    """Return whether jaxlib's C++ converts operands to the width (32 or 64 bits) that our ``enable_x64`` says."""
    return jax_coexistence.same_switch("enable_x64", enable_x64.value)


def watch_calls(hook: Callable[[Any, Any, Any, Any], None] | None) -> None:
    """Call ``hook(function, args, kwargs, out)`` after every jitted call in the process; None removes the hook."""
    post_hook.set_global(hook)
    _share_post_hook()


def _share_post_hook() -> None:
    """Set our hook beside jax's in jaxlib's slot, if jax is in the process."""
    if jax_coexistence.post_hook_of_jax() is not None:
        post_hooks.set_hook("xlascope", post_hook.get_global())


jax_coexistence.on_import("jax._src.api", _share_post_hook)


#: Our own registry: jax has its own registrations, and other nodes for some of our types.
default_registry = _jax.pytree.PyTreeRegistry()
#: A pickled structure finds the registry by these names.
default_registry.__module__, default_registry.__name__ = __name__, "default_registry"
#: The registry of jaxlib's call cache: the same, and arrays of keys as containers of their words.
call_registry = _jax.pytree.PyTreeRegistry()
call_registry.__module__, call_registry.__name__ = __name__, "call_registry"
PyTreeDef = _jax.pytree.PyTreeDef
SequenceKey = _jax.pytree.SequenceKey
DictKey = _jax.pytree.DictKey
GetAttrKey = _jax.pytree.GetAttrKey
FlattenedIndexKey = _jax.pytree.FlattenedIndexKey


def note_mesh(mesh: Any) -> None:
    """Set the current mesh of this thread, which calls depend on; None for no mesh."""
    context_mesh.set_local(UNSET if mesh is None else mesh)
    _update_block_values()


def _update_block_values() -> None:
    values = tuple([state.get_local() for state in _call_states])
    said_by_blocks.set_local(UNSET if all(value is UNSET for value in values) else values)
