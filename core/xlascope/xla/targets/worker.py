"""Worker that runs in the compiler's process: reads a program, compiles it for a target, and writes the results back.

It is started as a file by :mod:`.compiler_process`, so that nothing of the engine is loaded here: jaxlib and one
plugin. The plugins print, and may abort: both affect this process only. It ends when its parent closes the pipe.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import threading
from typing import Any

import numpy as np
from jaxlib import _jax, utils, weakref_lru_cache, xla_client  # noqa: F401  (the import order is jaxlib's)
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo


def main() -> None:
    """Answer the one request on standard input, and exit; what the plugins print goes to standard error.

    A request is a line of JSON and the module; the answer is a line of JSON and the texts whose sizes it names.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    request = json.loads(requests.readline())
    module = requests.read(request["module"])
    threading.Thread(target=_exit_when_closed, args=(requests,), daemon=True).start()
    _limit_memory(request["memory"])

    def send(**message: Any) -> None:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()

    try:
        send(stage="loading the compiler")
        with _make_context():
            parsed = ir.Module.parse(module)
        devices = _make_devices(request, _count_partitions(parsed))
        if b"lapack_" in module and devices[0].platform == "cpu":
            _register_lapack()
        send(stage="compiling")
        executable = _compile(devices, parsed, request)
        send(stage="reading what it made")
        _send_answer(executable, answers, send, request["plan"])
    except Exception as error:
        send(error=str(error), kind=type(error).__name__)
    answers.flush()
    os._exit(0)  # the plugins' own shutdown takes time and may abort


def _send_answer(executable: Any, answers: Any, send: Any, wants_buffers: bool) -> None:
    """Write the answer: a line of JSON by ``send``, then HLO, buffer assignment and module as bytes to ``answers``.

    Without ``wants_buffers`` the last two are empty.
    """
    module = executable.hlo_modules()[0]
    stats = _call_or_none(executable.get_compiled_memory_stats)
    buffers = getattr(stats, "serialized_buffer_assignment_proto", b"") if wants_buffers else b""
    parts = [module.to_string().encode(), buffers, module.as_serialized_hlo_module_proto() if buffers else b""]
    send(
        name=module.name,
        sizes=[len(part) for part in parts],
        cost=_read_cost(executable),
        analysis=_call_or_none(lambda: dict(_jax.hlo_module_cost_analysis(xla_client.make_cpu_client(), module))),
        memory=None if stats is None else _read_memory(stats),
    )
    for part in parts:
        answers.write(part)


def _register_lapack() -> None:
    """Register the names of LAPACK's calls, which XLA compiles only if it knows them; they are never run here."""
    lapack = importlib.import_module("jaxlib.lapack")
    for name, target, version in lapack.registrations()["cpu"]:
        xla_client.register_custom_call_target(name, target, platform="cpu", api_version=version)


def _exit_when_closed(requests: Any) -> None:
    """Exit when the parent closes the pipe of requests, since it does not want the answer any more."""
    requests.read(1)
    os._exit(1)


def _limit_memory(memory: int) -> None:
    """Limit the private memory of this process to ``memory`` bytes (0: no limit) and disable core dumps."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _count_partitions(module: Any) -> int:
    """Return how many devices share the program, by its module's attributes."""
    attributes = module.operation.attributes
    return int(attributes["mhlo.num_partitions"].value) if "mhlo.num_partitions" in attributes else 1


def _make_devices(request: dict[str, Any], count: int) -> list[Any]:
    if request["platform"] == "cpu":
        devices = xla_client.make_cpu_client(num_devices=count).local_devices()
    else:
        devices = _make_topology(request, count)._make_compile_only_devices()
    if len(devices) < count:
        raise ValueError(f"{count} devices share the program, and the target has {len(devices)}")
    return list(devices[:count])


def _compile(devices: list[Any], module: Any, request: dict[str, Any]) -> Any:
    """Return the executable of a module for devices.

    ``request`` has the ``platform``, XLA flags as ``overrides``, and the number of Python ``callbacks`` in the module,
    for which placeholders are passed.
    """
    device_list, options, client = (
        _jax.DeviceList(tuple(devices)),
        _compile_options(devices, request["overrides"]),
        devices[0].client,
    )
    if request["platform"] != "cpu":
        return client.compile(module, device_list, options)
    functions = [_empty_callback] * request.get("callbacks", 0)  # never called, since nothing is run here
    return client.compile_and_load(module, device_list, options, functions)


def _empty_callback(*_: Any) -> tuple[()]:
    return ()


def _make_topology(request: dict[str, Any], count: int) -> Any:
    """Return the topology of a target, which stands for devices; raises what the plugin raises.

    ``request`` names the plugin's library and the target; ``count`` is the number of GPUs.
    """
    if request["platform"] == "tpu":
        xla_client.load_pjrt_plugin_dynamically("tpu", request["plugin"])
        xla_client.initialize_pjrt_plugin("tpu")
        is_single_chip = request["description"].endswith(":1x1")  # a single chip is less than a host's default topology
        bounds = {"chips_per_host_bounds": [1, 1, 1]} if is_single_chip else {}
        return xla_client.make_tfrt_tpu_c_api_device_topology(request["description"], **bounds)
    api = xla_client.load_pjrt_plugin_dynamically("cuda", request["plugin"])
    return xla_client.make_c_api_device_topology(
        api, request["name"], topology=f"1x1x{count}", target_config=request["description"]
    )


def _make_context() -> Any:
    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    return context


def _compile_options(devices: list[Any], overrides: list[list[Any]]) -> Any:
    """Return XLA's compile options for a program that all the devices share, with flags (name, value) as overrides."""
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = len(devices)
    if len(devices) > 1:
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
        build.allow_spmd_sharding_propagation_to_output = [True]
    assignment = xla_client.DeviceAssignment.create(np.array([[device.id for device in devices]], np.int32))
    options.device_assignment = build.device_assignment = assignment
    options.env_option_overrides = [(name, value) for name, value in overrides]
    return options


def _read_cost(executable: Any) -> dict[str, float] | None:
    analysis = _call_or_none(executable.cost_analysis)
    return dict(analysis[0] if isinstance(analysis, list) else analysis) if analysis else None


def _read_memory(stats: Any) -> dict[str, int]:
    return {
        "arguments": stats.argument_size_in_bytes,
        "outputs": stats.output_size_in_bytes,
        "temporaries": stats.temp_size_in_bytes,
        "peak": getattr(stats, "peak_memory_in_bytes", 0),
    }


def _call_or_none(question: Any) -> Any:
    """Call a query of the compiler and return its result; None where the compiler does not implement it."""
    try:
        return question()
    except Exception:
        return None


if __name__ == "__main__":
    utils.absl_set_min_log_level(0 if "TF_CPP_VMODULE" in os.environ else 1)  # logs were requested
    main()
