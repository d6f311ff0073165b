"""Persistent compilation cache: a program that this or another process compiled before is loaded from disk.

It is off unless a setting turns it on (``compilation_cache_dir``, or ``enable_compilation_cache`` for the user's
own folder). Folders that others share (``compilation_cache_shared_dirs``) are looked into as well, after that one.

**The key** is the SHA-256 of the bytes that are compiled and of everything else that shapes the result: options,
XLA's flags, jaxlib, the device and its machine. The bytes are the StableHLO with the names of operations, which
map to equations, but without files and lines: those change with every edit above a function, and a cached
executable would then report another file's locations. A loaded program therefore maps to its equations as well as
a compiled one does, and lines come from the jaxpr, where our tools take them from anyway.

**The module's name** is unique in a process, since profiles identify programs by module name alone. The executable
contains it wherever the profiler needs it, so the stored bytes have a placeholder of the same length in its place,
which loading replaces by the new name.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import warnings
from typing import Any, Literal, NamedTuple

from jaxlib import _jax, version, xla_client
from jaxlib.mlir import ir

from ...runtime import cache_settings as settings
from ..devices.backend import devices_list
from ..mlir.builder import bytecode
from ..system.private_files import default_cache_folder
from ..system.worker_thread import run_uninterruptible
from .background_compilation import CompilationSource, CompiledExecutable, compile_source
from .cache_folder import CacheFolder, Entry

#: Digits of a module's number, so that all names of a function's modules are equally long.
_NUMBER_DIGITS = 8
#: Stands for the number in the stored bytes.
_NUMBER_PLACEHOLDER = "~" * _NUMBER_DIGITS
#: Operations that exchange data with the process that compiled them.
_HOST_TRANSFER_OPS = frozenset({"stablehlo.send", "stablehlo.recv", "stablehlo.infeed", "stablehlo.outfeed"})


class LoadedExecutable(NamedTuple):
    """Executable with its module's name, and whether it comes from disk (``"hit"``) or was compiled now (``"miss"``).

    ``compiled`` describes the compilation of one that was compiled now.
    """

    executable: Any
    module: str
    cache: Literal["hit", "miss"]
    compiled: CompiledExecutable | None = None


def load_or_compile(source: CompilationSource, module: Any, devices: tuple[Any, ...], options: Any) -> LoadedExecutable:
    """Return the executable of a StableHLO module for the devices that share it, from disk if it is cached.

    ``source`` says what to compile if it is not, ``options`` are XLA's compile options. The executable is then stored,
    if the settings allow it. Raises jaxlib's error when XLA refuses the module. An interrupt leaves the cache intact.
    """
    own_folder, shared = current_folder(), shared_folders()
    portable = strip_source_locations(module) if own_folder is not None or shared else None
    if portable is None:
        return _from_compilation(compile_source(source, devices, options))
    base, _, number = source.module.rpartition(".")
    names = _ModuleNames(base, int(number))
    key = cache_key(_named_bytecode(portable, base), devices[0], options)
    for folder in shared if own_folder is None else (own_folder, *shared):
        loaded = _load(folder, key, names, devices, options)
        if loaded is not None:
            return LoadedExecutable(loaded, names.unique, "hit")
    content = functools.partial(_named_bytecode, portable, names.unique)
    portable_source = source._replace(content=content, module=names.unique, identity=lambda: ("kept", key))
    compiled = compile_source(portable_source, devices, options)
    if own_folder is not None:
        _store(own_folder, key, compiled, devices[0])
    return _from_compilation(compiled)


def is_cached(module: Any, name: str, device: Any, options: Any) -> bool:
    """Return whether the executable of a module for a device is cached on disk.

    ``module`` is StableHLO, ``name`` its unique name, and ``options`` are XLA's compile options.
    """
    folders = [folder for folder in (current_folder(), *shared_folders()) if folder is not None]
    portable = strip_source_locations(module) if folders else None
    if portable is None:
        return False
    key = cache_key(_named_bytecode(portable, name.rpartition(".")[0]), device, options)
    return any(folder.read(key) is not None for folder in folders)


def _from_compilation(compiled: CompiledExecutable) -> LoadedExecutable:
    return LoadedExecutable(compiled.executable, compiled.module, "miss", compiled)


def current_folder() -> CacheFolder | None:
    """Return the cache folder that the settings ask for; None when the cache is off or the user has no home folder."""
    enabled, path = settings.enable_compilation_cache.value, settings.compilation_cache_dir.value
    if enabled is False or (enabled is None and path is None):
        return None
    path_or_default = path or default_cache_folder()
    if path_or_default is None:
        _warn_no_home_folder()
        return None
    return _folder_at(path_or_default)


def shared_folders() -> tuple[CacheFolder, ...]:
    """Return the folders that others share, as the settings name them; () where the cache is off."""
    if settings.enable_compilation_cache.value is False:
        return ()
    return tuple(_shared_folder_at(path) for path in settings.compilation_cache_shared_dirs.value)


def strip_source_locations(module: Any) -> Any:
    """Return a copy of a module with the names of its operations, but without files and lines.

    None for a module that only this process can run, since it calls Python or exchanges data with the host.
    """
    copy = module.operation.clone()
    needs_this_process = False

    def visit(operation: Any) -> Any:
        nonlocal needs_this_process
        operation.location = bare = _name_only(operation.location)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(bare)
        needs_this_process = needs_this_process or _calls_host_process(operation)
        return ir.WalkResult.ADVANCE

    copy.walk(visit)
    return None if needs_this_process else copy


def _name_only(location: Any) -> Any:
    if isinstance(location, ir.NameLoc):
        return ir.Location.name(location.name_str, context=location.context)
    if isinstance(location, ir.FileLineColLoc):
        return ir.Location.unknown(location.context)
    return location


def _calls_host_process(operation: Any) -> bool:
    """Return whether an operation needs the process that compiled it: a callback, or a transfer from or to the host."""
    if operation.name == "stablehlo.custom_call":
        return "callback" in operation.attributes["call_target_name"].value.lower()
    return operation.name in _HOST_TRANSFER_OPS


def cache_key(content: bytes, device: Any, options: Any) -> str:
    """Return the cache key of a module's bytes compiled with ``options`` for a device: 64 hexadecimal digits.

    ``content`` is the module as bytecode, without what differs from process to process.
    """
    digest = hashlib.sha256(compilation_environment(device).encode())
    digest.update(options.SerializeAsString())  # the serialization sorts the flags of this program
    digest.update(content)
    return digest.hexdigest()


@functools.cache
def compilation_environment(device: Any) -> str:
    """Return, as text, what the compiled result for a device depends on besides the module and the options."""
    backend = device.client
    topology = _jax.get_topology_for_devices([device])
    facts = {
        "jaxlib": [version.__version__, xla_client._version],
        "platform": [backend.platform, backend.platform_version, device.device_kind, str(topology.fingerprint())],
        "devices": backend.device_count(),
        "machine": [platform.system(), platform.machine(), cpu_description()],
        "threads": [_count_available_cpus(), os.environ.get("NPROC")],
        "flags": os.environ.get("XLA_FLAGS", ""),
    }
    return json.dumps(facts, sort_keys=True)


def _count_available_cpus() -> int | None:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@functools.cache
def cpu_description() -> str:
    """Return the processor's model and instruction sets, as far as the system reports them."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first = file.read().split("\n\n")[0]
    except OSError:
        return platform.processor()
    prefixes = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")
    return "\n".join(line for line in first.splitlines() if line.startswith(prefixes))


def _named_bytecode(module: Any, name: str) -> bytes:
    module.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    return bytecode(module)


class _ModuleNames:
    """Names of a module in memory (``unique``, distinct in the process) and in stored bytes, of the same length.

    ``base`` is the name without its ``number``, in whose place stored bytes have ``~``.
    """

    def __init__(self, base: str, number: int) -> None:
        self.unique = f"{base}.{number:0{_NUMBER_DIGITS}}"
        self._unique = self.unique.encode()
        self._placeholder = f"{base}.{_NUMBER_PLACEHOLDER}".encode()

    def to_stored(self, executable: bytes) -> bytes | None:
        """Replace the unique name in a serialized executable by the stored one; None if that is not possible."""
        if self._unique not in executable or self._placeholder in executable:
            return None
        return executable.replace(self._unique, self._placeholder)

    def from_stored(self, stored: bytes) -> bytes:
        """Replace the stored name in a serialized executable by the unique one."""
        return stored.replace(self._placeholder, self._unique)


def _load(folder: CacheFolder, key: str, names: _ModuleNames, devices: tuple[Any, ...], options: Any) -> Any:
    """Return the executable under a key in the folder; None if there is none.

    An entry that jaxlib cannot load is removed. ``names`` are those of the module, ``options`` XLA's compile options.
    """
    entry = folder.read(key)
    if entry is None:
        return None
    content, device_list = names.from_stored(entry.data), devices_list(devices)
    load = devices[0].client.deserialize_executable
    try:
        return run_uninterruptible(lambda: load(content, device_list, options))
    except (_jax.JaxRuntimeError, ValueError) as error:
        folder.discard(key, f"jaxlib cannot load it ({error})")
        return None


def _store(folder: CacheFolder, key: str, compiled: CompiledExecutable, device: Any) -> None:
    """Write a compiled executable to the folder under a key, if settings and platform allow it."""
    if compiled.seconds < settings.persistent_cache_min_compile_time_secs.value:
        return
    base, _, number = compiled.module.rpartition(".")
    try:
        data = _ModuleNames(base, int(number)).to_stored(device.client.serialize_executable(compiled.executable))
    except _jax.JaxRuntimeError as error:
        _warn_cannot_serialize(device.platform, str(error))
        return
    if data is not None and len(data) >= settings.persistent_cache_min_entry_size_bytes.value:
        facts = {"module": compiled.module, "seconds": compiled.seconds, "device": device.device_kind}
        folder.write(key, Entry(facts, data), settings.compilation_cache_max_size.value)


@functools.cache
def _warn_cannot_serialize(name: str, error: str) -> None:
    warnings.warn(f"compiled programs for {name} cannot be kept: {error}", stacklevel=2)


@functools.cache
def _warn_no_home_folder() -> None:
    warnings.warn(
        "the user has no home folder to keep compiled programs in; set compilation_cache_dir to one", stacklevel=2
    )


@functools.cache
def _folder_at(path: str) -> CacheFolder:
    return CacheFolder(path)


@functools.cache
def _shared_folder_at(path: str) -> CacheFolder:
    return CacheFolder(path, shared=True)
