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

from . import beside, post_hooks
from .quiet_log import quiet_log

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
    "reroll",
    "said_by_blocks",
    "same_width",
    "set_for_process",
    "settings_of_traces",
    "threefry_partitionable",
    "trace_settings",
    "traceback_filtering",
    "unchanged_since",
    "watch_calls",
]

quiet_log()

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
    """Return the value of ``XLASCOPE_NAME`` (or else ``JAX_NAME``), converted to the type of the default.

    Raises ValueError, which lists the valid values, for an invalid one.
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
        choices = ", ".join(str(value) for value in allowed if value is not None)
        raise ValueError(f"the environment variable {variable} is {text!r}; it can be {choices}")
    if isinstance(default, int):
        if not text.strip().lstrip("-").isdigit():
            raise ValueError(f"the environment variable {variable} is {text!r}; it is a whole number")
        return int(text)
    return text or default


def _state(name: str, default: Any, *, in_key: bool = False, allowed: Sequence[Any] | None = None) -> Any:
    """Create the state of a setting, initialized from the environment."""
    value = from_environment(name, default, allowed)
    return _configuration(name, value, in_key)


def _configuration(name: str, value: Any, in_key: bool) -> Any:
    """Create a jaxlib configuration state, outside of the "trace context", which concerns jax's traces alone."""
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
keep = _state("keep", "auto", allowed=KEPT)
reroll = _state("reroll", "auto", allowed=REROLLED)


class _InBlock:
    """Marker for a summary on a thread whose blocks set any of its states, which have to be read one by one."""

    def __repr__(self) -> str:
        return "IN_BLOCK"


_IN_BLOCK = _InBlock()


class _Summary:
    """State that summarizes several, so that code that depends on them all reads one.

    It is false while the states have their initial values; where it is true, :meth:`get_value` returns what they
    are. The values of blocks and of the process are not combined before that: either may change while the other
    stays.
    """

    def __init__(self, name: str, states: Sequence[Any], combine: Callable[[tuple[Any, ...]], Any]) -> None:
        self.states = states
        self.combine = combine
        start = combine(tuple(state.value for state in states))
        self.state = _configuration(name, start, in_key=False)

    def read(self) -> Any:
        """Return the combined value of the states on this thread."""
        summary = self.state.value
        return self.combine(tuple(state.value for state in self.states)) if summary is _IN_BLOCK else summary

    def note_process(self) -> None:
        self.state.set_global(self.combine(tuple(state.get_global() for state in self.states)))

    def note_blocks(self, watched: bool) -> None:
        is_set = watched or any(state.get_local() is not UNSET for state in self.states)
        self.state.set_local(_IN_BLOCK if is_set else UNSET)


_of_traces = (
    *(threefry_partitionable, default_matmul_precision, numpy_rank_promotion, numpy_dtype_promotion),
    *(debug_key_reuse, default_prng_impl, enable_custom_prng, legacy_prng_key),
)
#: The mesh that is current on a thread: PartitionSpecs in a program are over it.
context_mesh = _configuration("context_mesh", None, in_key=False)
_of_calls = (*_of_traces, default_device, debug_nans, debug_infs, no_execution, keep, reroll, context_mesh)
_at_first = tuple(state.value for state in _of_traces)


def _named_changes(values: tuple[Any, ...]) -> tuple[str, ...]:
    named = zip(_of_traces, values, _at_first, strict=True)
    return tuple(f"{state.name}={value}" for state, value, first in named if value != first)


#: Cache keys of calls, as two states, since jaxlib's call cache spends 15 ns a call on each state in its key: the
#: number of changes of process-wide settings, which never repeats (a call that began before a change and ended after
#: it is never found again; the number is odd during a change), and the values set by this thread's blocks.
process_changes = _configuration("process_changes", 0, in_key=True)
said_by_blocks = _configuration("said_by_blocks", (), in_key=True)

_trace_settings = _Summary("trace_settings", _of_traces, _named_changes)
_checked_calls = _Summary("checked_calls", (debug_nans, debug_infs, debug_key_reuse, no_execution), any)
_checked_traces = _Summary("checked_traces", (no_tracing, check_tracer_leaks, enable_checks, log_compiles), any)
#: Whether traces depend on a setting with other than its initial value; :func:`settings_of_traces` says which.
trace_settings = _trace_settings.state
#: Whether the results of calls may have to be checked; :func:`calls_are_checked` says whether they have to.
checked_calls = _checked_calls.state
#: Whether traces may have to be checked.
checked_traces = _checked_traces.state

#: The settings that traces depend on, as ``name=value`` for each with other than its initial value.
settings_of_traces = _trace_settings.read
#: Whether the results of calls are checked; if so, every call goes through Python.
calls_are_checked = _checked_calls.read

_of_repeated_calls = frozenset({*_of_calls, enable_x64, disable_jit})
_changing = threading.RLock()
_numbers = itertools.count(1)


def set_for_process(state: Any, value: Any) -> None:
    """Set a state for the whole process, and update everything that depends on it."""
    with _changing:
        changes = state in _of_repeated_calls and state.get_global() != value
        if changes:  # entries cached from here on are never found: they may mix old and new settings
            process_changes.set_global(next(_numbers))
        try:
            state.set_global(value)
        finally:
            for summary in (_trace_settings, _checked_calls, _checked_traces):
                summary.note_process()
            if changes:
                process_changes.set_global(next(_numbers))


def forget_calls() -> None:
    """Invalidate all cached calls: the default placement of uncommitted values has changed."""
    with _changing:
        for _ in range(2):  # and even again
            process_changes.set_global(next(_numbers))


def unchanged_since(changes: int) -> bool:
    """Return whether no process-wide setting has changed since :data:`process_changes` had that value.

    What is derived from settings may be cached under them only if so; ``changes`` is read before the settings
    are.
    """
    return changes % 2 == 0 and process_changes.value == changes


def note_blocks(watched: bool) -> None:
    """Update everything that depends on this thread's blocks. ``watched``: check the blocks at each call and trace."""
    _note_said()
    _trace_settings.note_blocks(False)
    _checked_calls.note_blocks(watched)
    _checked_traces.note_blocks(watched)


#: True while a jaxpr is being traced: a jitted call then has a cache entry of its own that always comes back to Python,
#: otherwise jaxlib would run a call with only concrete arguments instead of staging it.
in_trace = _configuration("in_trace", False, in_key=True)

#: Called as ``(function, args, kwargs, out)`` after every jitted call, the C++ ones included, when it is not None.
post_hook = _configuration("post_hook", None, in_key=False)

with beside.still_imports():  # jax, where it is, has set these; and where it comes it will
    if not beside.here():
        _jax.jax_jit.set_enable_x64_state(enable_x64)
        _jax.jax_jit.set_disable_jit_state(disable_jit)
        _jax.jax_jit.set_post_hook_state(post_hook)


def same_width() -> bool:
    """Return whether jaxlib's C++ converts operands to the width that our own settings say."""
    return beside.same_switch("enable_x64", enable_x64.value)


def watch_calls(hook: Callable[[Any, Any, Any, Any], None] | None) -> None:
    """Set ``hook`` as :data:`post_hook` in the whole process; None removes it."""
    post_hook.set_global(hook)
    _share_post_hook()


def _share_post_hook() -> None:
    """Combine our hook with jax's, which occupies the slot where jax is in the process."""
    if beside.post_hook_of_jax() is not None:
        post_hooks.listen("xlascope", post_hook.get_global())


beside.on_import("jax._src.api", _share_post_hook)


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
    """Set the mesh of calls on this thread; None for none."""
    context_mesh.set_local(UNSET if mesh is None else mesh)
    _note_said()


def _note_said() -> None:
    values = tuple([state.get_local() for state in _of_calls])
    said_by_blocks.set_local(UNSET if all(value is UNSET for value in values) else values)
