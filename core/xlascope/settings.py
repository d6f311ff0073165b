"""Settings of the user: names, values, and the context managers that set them temporarily.

A :class:`Setting` has its state, its valid values, and its meaning. There are three ways to set it: in the
environment (``XLASCOPE_DEBUG_NANS=1``, or ``JAX_`` in front), for the process (``config.update("debug_nans",
True)``), and for a block of one thread (``with debug_nans():``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

from .runtime import boot, cache_settings, guards, setting_blocks

_UNSPECIFIED: Any = object()
_TABLE: dict[str, Setting] = {}
#: Other names that programs for JAX use.
_ALIASES = {"platform_name": "platforms"}

Check = Callable[[str, Any], Any]


class Setting:
    """Setting of the user. Calling it with a value sets it on this thread for the length of a ``with`` block.

    ``state`` stores the value. ``check(name, value)`` returns the value to store and raises ValueError for an
    invalid one. ``values`` and ``meaning`` are texts for users; ``default`` is the value for a ``with`` block
    that names none.

    >>> from xlascope.settings import log_compiles
    >>> with log_compiles():
    ...     log_compiles.value
    True
    """

    def __init__(self, state: Any, check: Check, values: str, meaning: str, default: Any = _UNSPECIFIED) -> None:
        #: Where the value is stored: one for the process, one for each thread that has set its own.
        self.state = state
        self.name: str = state.name
        #: The valid values, as text.
        self.values = values
        self.meaning = meaning
        #: The value for a ``with`` block that names none.
        self.default_value = default
        self._check = check
        self.__doc__ = f"{meaning} Takes {values}."
        self.__name__ = self.name
        _TABLE[self.name] = self

    @property
    def value(self) -> Any:
        """Return the value in effect on this thread, or in this task."""
        return setting_blocks.value_of(self.state)

    def set(self, value: Any) -> None:
        """Set the value for the process; raise ValueError, whose message lists the valid values, for an invalid one."""
        boot.set_for_process(self.state, self._check(self.name, value))

    def __call__(self, new_val: Any = _UNSPECIFIED) -> AbstractContextManager[None]:
        if new_val is _UNSPECIFIED:
            new_val = self.default_value
        if new_val is _UNSPECIFIED:
            raise TypeError(f"{self.name} takes the new value, as in {self.name}(...): {self.values}")
        return self._override(self._check(self.name, new_val))

    @contextmanager
    def _override(self, value: Any) -> Iterator[None]:
        parts = self.state.parts if isinstance(self.state, _TransferGuards) else (self.state,)
        block = setting_blocks.SettingBlock(dict.fromkeys(parts, value), f"{self.name}({value!r})")
        try:
            setting_blocks.enter(block)
            yield
        finally:
            try:
                setting_blocks.leave(block)
            except BaseException:  # a second interrupt during the exit
                setting_blocks.leave(block)
                raise

    def __repr__(self) -> str:
        return f"<setting {self.name} = {self.value!r}>"


class Settings:
    """Settings of this process, with JAX's spelling (``config.update("jax_enable_x64", True)``)."""

    def update(self, name: str, value: Any) -> None:
        """Set ``name`` to ``value`` for the whole process; ``jax_`` in front of a name is accepted.

        Raises AttributeError for an unknown name and ValueError for an invalid value; the messages list the
        valid ones.
        """
        _find_setting(name).set(value)

    def read(self, name: str) -> Any:
        """Return the value of a setting on this thread."""
        return _find_setting(name).value

    @property
    def values(self) -> dict[str, Any]:
        """Return the values of all settings on this thread, by their names with ``jax_`` in front."""
        return {f"jax_{name}": entry.value for name, entry in sorted(_TABLE.items())}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are allowed on this thread: JAX's older name of the value of ``enable_x64``."""
        return bool(_find_setting("enable_x64").value)

    def __getattr__(self, name: str) -> Any:
        return _find_setting(name).value

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"settings are not assigned to: write config.update({name!r}, {value!r})")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *(f"jax_{name}" for name in _TABLE)])


config = Settings()


def _find_setting(name: str) -> Setting:
    short = name.removeprefix("jax_").removeprefix("xlascope_")
    entry = _TABLE.get(_ALIASES.get(short, short))
    if entry is None:
        raise AttributeError(f"there is no setting named {name!r}; the settings are {', '.join(sorted(_TABLE))}")
    return entry


def all_settings() -> list[Setting]:
    """Return every setting, by name."""
    return [_TABLE[name] for name in sorted(_TABLE)]


def setting(name: str, value: Any) -> AbstractContextManager[None]:
    """Return a context manager that sets the setting ``name`` to ``value`` on this thread."""
    return _find_setting(name)(value)


# Kinds of values ----------------------------------------------------------------------------------------------------


def _make_switch(state: Any, meaning: str) -> Setting:
    """Create a setting that is True or False; ``state`` stores its value, ``meaning`` is its documentation."""

    def check(name: str, value: Any) -> bool:
        if value not in (True, False):
            raise ValueError(f"{name} can be True or False, not {value!r}")
        return bool(value)

    return Setting(state, check, "True or False", meaning, True)


def _make_choice(state: Any, allowed: Sequence[Any], meaning: str) -> Setting:
    """Create a setting with one of the ``allowed`` values; ``state`` stores it, ``meaning`` is its documentation."""
    listed = ", ".join(map(repr, allowed[:-1])) + f" or {allowed[-1]!r}"

    def check(name: str, value: Any) -> Any:
        if value not in allowed:
            raise ValueError(f"{name} can be {listed}, not {value!r}")
        return value

    return Setting(state, check, listed, meaning)


def _make_fixed_setting(name: str, value: Any, why: str) -> Setting:
    """Create a setting of JAX's whose only value here is ``value``; ``why`` is the reason, shown to users.

    Raises ValueError if the environment has another value.
    """

    def check(name: str, requested: Any) -> Any:
        if requested != value:
            raise ValueError(f"{name} can only be {value!r} here, not {requested!r}: {why}")
        return value

    state = _make_state(name, value)
    check(name, state.value)  # the environment may contain another value
    return Setting(state, check, repr(value), f"Accepted for JAX's sake: {why}.", value)


def _make_state(name: str, default: Any) -> Any:
    value = boot.from_environment(name, default)
    return boot.Configuration(name, value, include_in_jit_key=False, include_in_trace_context=False)


def _make_ignored_switch(name: str, default: bool, why: str) -> Setting:
    """Create a switch of JAX's that has no effect here; ``why`` is the reason, shown to users."""
    return _make_switch(_make_state(name, default), f"Accepted for JAX's sake, without effect: {why}.")


_PLATFORMS = ("cpu", "gpu", "cuda", "rocm", "tpu")


def _check_device(name: str, value: Any) -> Any:
    if value is None or value in _PLATFORMS or hasattr(value, "device_kind"):
        return value
    names = ", ".join(_PLATFORMS)
    raise ValueError(f"{name} can be a device (as in devices()[0]), a platform ({names}) or None, not {value!r}")


def _check_platforms(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise ValueError(f"{name} is the name of a platform (or several, separated by commas) or None, not {value!r}")


def _check_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} is a whole number, not {value!r}")
    return value


def _check_positive(name: str, value: Any) -> int:
    if _check_count(name, value) < 1:
        raise ValueError(f"{name} is a whole number of at least 1, not {value!r}")
    return int(value)


def _convert_cache_value(name: str, value: Any) -> Any:
    return cache_settings.CONVERTERS[name](value)


# The settings -------------------------------------------------------------------------------------------------------

enable_x64 = _make_switch(boot.enable_x64, "Allow 64-bit types.")
_disable_jit = _make_switch(boot.disable_jit, "Run jitted functions operation by operation.")
default_device = Setting(
    boot.default_device, _check_device, "a device, the name of a platform or None", "Where uncommitted values live."
)
platforms = Setting(
    boot.platforms,
    _check_platforms,
    "names of platforms, separated by commas, or None",
    "The platforms that computations run on, the first by default; None: what the machine has.",
)
num_cpu_devices = Setting(
    boot.num_cpu_devices,
    _check_count,
    "a whole number",
    "How many devices the CPU is; counts until the first computation.",
)
default_matmul_precision = _make_choice(
    boot.default_matmul_precision,
    boot.MATMUL_PRECISIONS,
    "The precision of products and convolutions that are given none.",
)
numpy_rank_promotion = _make_choice(
    boot.numpy_rank_promotion,
    boot.RANK_PROMOTIONS,
    "What happens when operands of different ranks meet.",
)
numpy_dtype_promotion = _make_choice(
    boot.numpy_dtype_promotion,
    boot.DTYPE_PROMOTIONS,
    "Whether operands of different dtypes meet in a common one, or are an error.",
)
default_prng_impl = _make_choice(
    boot.default_prng_impl, boot.PRNG_IMPLEMENTATIONS, "The generator of keys for which none is named, and of raw keys."
)
enable_custom_prng = _make_switch(
    boot.enable_custom_prng,
    "Make typed keys of PRNGKey, and of raw ones where they are split or something is folded in.",
)
legacy_prng_key = _make_choice(
    boot.legacy_prng_key, boot.LEGACY_PRNG_KEYS, "What happens when a function of random is given a raw key."
)
threefry_partitionable = _make_switch(
    boot.threefry_partitionable, "Draw random bits in a way that does not depend on how arrays are split over devices."
)

# Compilation
keep = _make_choice(
    boot.keep,
    boot.KEPT,
    "Whether programs for a CPU keep values in memory that XLA would compute again in many kernels.",
)
reroll = _make_choice(
    boot.reroll,
    boot.REROLLED,
    "Whether what repeats in a program (an unrolled loop, layers alike) is compiled once, as a loop.",
)

compare_programs = _make_switch(
    boot.compare_programs,
    "Compare the programs that several processes are about to run together, and raise ProgramMismatchError.",
)
program_wait_seconds = Setting(
    boot.program_wait_seconds,
    _check_positive,
    "a whole number of seconds",
    "How long a process waits for a living one to come to a program that they share, before PeerAbsentError.",
)

# Debugging
debug_nans = _make_switch(boot.debug_nans, "Raise FloatingPointError at the operation that makes a NaN.")
debug_infs = _make_switch(boot.debug_infs, "Raise FloatingPointError at the operation that makes an infinity.")
debug_key_reuse = _make_switch(
    boot.debug_key_reuse, "Raise KeyReuseError when a typed key is split or drawn from a second time."
)
check_tracer_leaks = _make_switch(
    boot.check_tracer_leaks, "Raise UnexpectedTracerError when a traced value outlives the function it belongs to."
)
enable_checks = _make_switch(boot.enable_checks, "Check every program that is traced for being well-formed.")
log_compiles = _make_switch(boot.log_compiles, "Log (as warnings) what is traced, lowered and compiled.")
traceback_filtering = _make_choice(
    boot.traceback_filtering,
    boot.TRACEBACK_FILTERINGS,
    "Which of the engine's own frames the traceback of an error shows.",
)
explain_cache_misses = _make_switch(
    boot.explain_cache_misses, "Log (as warnings) why a jitted function is traced again."
)
no_tracing = _make_switch(boot.no_tracing, "Raise RuntimeError when a function would have to be traced.")
no_execution = _make_switch(boot.no_execution, "Raise RuntimeError when a program would run.")

# Guards
_GUARD_MEANING = "Allow, log or refuse {}; what was asked for (device_put, device_get) only under the explicit levels."
transfer_guard_host_to_device = _make_choice(
    guards.host_to_device, guards.TRANSFER_LEVELS, _GUARD_MEANING.format("transfers from host to device")
)
transfer_guard_device_to_host = _make_choice(
    guards.device_to_host, guards.TRANSFER_LEVELS, _GUARD_MEANING.format("transfers from device to host")
)
transfer_guard_device_to_device = _make_choice(
    guards.device_to_device, guards.TRANSFER_LEVELS, _GUARD_MEANING.format("transfers between devices")
)
array_garbage_collection_guard = _make_choice(
    guards.array_garbage_collection,
    guards.COLLECTION_LEVELS,
    "What happens to arrays that only the garbage collector finds.",
)

# The persistent compilation cache
_CACHE_VALUES = {
    "enable_compilation_cache": ("True, False or None", "Keep compiled programs on disk; None: if a folder is set."),
    "compilation_cache_dir": ("a folder or None", "The folder of compiled programs; None: the user's own."),
    "compilation_cache_shared_dirs": (
        "folders",
        "Folders of others' compiled programs, read alone.",
    ),
    "compilation_cache_max_size": ("a number of bytes", "How large that folder may grow; negative: without bound."),
    "persistent_cache_min_compile_time_secs": ("seconds", "Programs that compile faster are not kept."),
    "persistent_cache_min_entry_size_bytes": ("a number of bytes", "Smaller programs are not kept."),
}
for _name, _state in cache_settings.STATES.items():
    Setting(_state, _convert_cache_value, _CACHE_VALUES[_name][0], _CACHE_VALUES[_name][1])

# Settings of JAX without effect here
allow_f16_reductions = _make_ignored_switch("allow_f16_reductions", True, "reductions keep their operand's type anyway")
auto_pcast = _make_ignored_switch("auto_pcast", True, "values vary along axes of a mesh where an operation needs it")
jax2tf_associative_scan_reductions = _make_ignored_switch(
    "jax2tf_associative_scan_reductions", False, "there is no export to TensorFlow"
)
remove_size_one_mesh_axis_from_type = _make_ignored_switch(
    "remove_size_one_mesh_axis_from_type", False, "types do not name axes of a mesh"
)
softmax_custom_jvp = _make_ignored_switch("softmax_custom_jvp", False, "softmax has the derivative that it stands for")
thread_guard = _make_fixed_setting("thread_guard", False, "threads may use the engine at the same time")


# Several at once ----------------------------------------------------------------------------------------------------


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Run jitted functions op by op on this thread for the length of a ``with`` block."""
    return _disable_jit(disable)


def checking_leaks() -> AbstractContextManager[None]:
    """Raise UnexpectedTracerError, in a ``with`` block, when a traced value outlives the function it belongs to."""
    return check_tracer_leaks(True)


class _TransferGuards:
    """Combined state of the three transfer guards: setting it sets all of them.

    Its value is their common level, or None if they have different levels.
    """

    name = "transfer_guard"
    parts = (guards.host_to_device, guards.device_to_host, guards.device_to_device)

    @property
    def value(self) -> str | None:
        levels = {guard.value for guard in self.parts}
        return levels.pop() if len(levels) == 1 else None

    def get_global(self) -> str | None:
        levels = {guard.get_global() for guard in self.parts}
        return levels.pop() if len(levels) == 1 else None

    def set_global(self, value: str | None) -> None:
        for guard in self.parts:
            guard.set_global(value)


transfer_guard = _make_choice(
    _TransferGuards(), guards.TRANSFER_LEVELS, _GUARD_MEANING.format("transfers of all kinds")
)
