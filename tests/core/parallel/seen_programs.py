"""What is said of programs that several devices share; run in a process with eight of them."""

import dataclasses

import numpy as np

from xlascope import records as lib_records
from xlascope.analysis.costs.roofline import kernel_flops
from xlascope.inspect.text import format_timings
from xlascope_widgets import wire
from xlascope_widgets.program_store import ProgramStore

W = np.random.default_rng(0).normal(size=(256, 64)).astype("float32")
X = np.random.default_rng(1).normal(size=(512, 256)).astype("float32")


def _step(lib, count):
    """A data-parallel step, and where its arguments lie."""
    mesh = lib.make_mesh((count,), ("data",))
    placed = [lib.device_put(value, lib.NamedSharding(mesh, lib.P(*spec))) for value, spec in ((W, ()), (X, ("data",)))]

    def loss(w, x):
        return lib.numpy.mean(lib.numpy.tanh(x @ w) ** 2)

    return lib.jit(lambda w, x: w - 0.1 * lib.grad(loss)(w, x)), placed


def measured(lib):
    """The devices of the compilation, and for each that ran its kernels, with how many equations each has."""
    step, placed = _step(lib, 8)
    for _ in range(10):  # on a busy machine a window may hold no whole call
        found = lib.inspect.timings(step, *placed).records
        executed = next(each for each in found if isinstance(each, lib.records.Executed))
        if all(each.whole for each in executed.devices) and len(executed.devices) == 8:
            break
    traced = next(each for each in found if isinstance(each, lib.records.Traced))
    compiled = next(each for each in found if isinstance(each, lib.records.Compiled))
    equations = {kernel.name: len(kernel.equations) for kernel in compiled.kernels}
    flops = kernel_flops(compiled.kernels, traced.jaxpr, len(compiled.devices))
    lanes = {each.device: {kernel.kernel for kernel in each.kernels} for each in executed.devices}
    return compiled.devices, equations, flops, lanes


def joined(lib):
    """The operations of each collective where XLA joins several: two gradients, three sums, and two more in a loop."""
    step, placed = _joined_gradients(lib)
    mesh = lib.make_mesh((8,), ("data",))

    def body(a, b):
        with lib.named_scope("layer:one"):
            first = lib.lax.psum(lib.numpy.sin(a), "data")
        second, third = (lib.lax.psum(each, "data") for each in (lib.numpy.cos(b), lib.numpy.tan(b)))

        def both(sums, _):
            return (lib.lax.psum(sums[0] * 2, "data"), lib.lax.psum(sums[1] + 1, "data")), None

        return third, lib.lax.scan(both, (first, second), None, length=3)[0]

    mapped = lib.jit(lib.shard_map(body, mesh=mesh, in_specs=(lib.P("data"), lib.P("data")), out_specs=lib.P()))
    calls = (step, *placed), (mapped, X[:8, :4], X[:8, :5])
    return [_collectives(lib.inspect.fusions(*call).records) for call in calls]


def _joined_gradients(lib):
    mesh = lib.make_mesh((8,), ("data",), (lib.sharding.AxisType.Auto,))
    lies = ((W, ()), (W.T[:, :8], ()), (X, ("data",)))
    placed = [lib.device_put(value, lib.NamedSharding(mesh, lib.P(*spec))) for value, spec in lies]

    def loss(w, x):
        return lib.numpy.mean(lib.numpy.tanh(x @ w[0]) @ w[1])

    return lib.jit(lambda first, second, x: lib.grad(loss)((first, second), x)), placed


def _collectives(found):
    (traced,) = (each for each in found if isinstance(each, lib_records.Traced))
    (compiled,) = (each for each in found if isinstance(each, lib_records.Compiled))
    names = {each.path: each.operation for each in traced.jaxpr.walk()}
    return sorted(sorted(names[path] for path in each.equations) for each in compiled.kernels if each.collective)


def elsewhere(lib):
    """The kernels of four TPUs, of four GPUs, and what is said of too few."""
    step, placed = _step(lib, 4)
    found = {}
    for target in ("tpu:v5e:2x2", "gpu:h100"):
        (compiled,) = (
            each
            for each in lib.inspect.target(step, *placed, target=target).records
            if isinstance(each, lib.records.Compiled)
        )
        found[target] = [(kernel.name, len(kernel.equations)) for kernel in compiled.kernels]
    try:
        lib.inspect.target(step, *placed, target="tpu:v5e:1x1")
    except Exception as error:
        found["tpu:v5e:1x1"] = str(error)
    return found


def laid_out(lib):
    """What records say of how values lie, and of the collectives between; and what a panel is told."""

    P = lib.P
    mesh = lib.make_mesh((4, 2), ("x", "y"), (lib.sharding.AxisType.Auto,) * 2)
    a = lib.device_put(X, lib.NamedSharding(mesh, P("x", "y")))
    w = lib.device_put(W, lib.NamedSharding(mesh, P("y")))

    def program(a, w):
        inner = lib.lax.with_sharding_constraint(lib.numpy.tanh(a @ w), lib.NamedSharding(mesh, P("x")))
        rows = lib.shard_map(lambda p: lib.lax.psum(p, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())(inner * 2.0)
        return rows, inner

    found = lib.inspect.fusions(program, a, w)
    traced = next(each for each in found.records if isinstance(each, lib.records.Traced))
    compiled = next(each for each in found.records if isinstance(each, lib.records.Compiled))
    lies = {each.operation: traced.jaxpr.variables[each.outputs[0]].lies for each in traced.jaxpr.equations}
    exchanged = {(k.collective.kind, k.collective.devices) for k in compiled.kernels if k.collective is not None}
    sent = wire.encode_heavy(ProgramStore.of(found.records).main)
    across = [each["across"][:2] for each in sent["kernels"] if "across" in each]
    shown = {label: sent["lies"][name] for name, label in sent["jaxpr"]["labels"].items() if name in sent["lies"]}
    types = [text for text, _ in sent["jaxpr"]["types"] if "P(" in text]
    return (compiled.mesh, compiled.inputs_lie, compiled.outputs_lie), lies, exchanged, across, shown, types, found.text


def waits(lib):
    """A profile of a collective, as if device 3 came last: what text and panel say of it."""

    step, placed = _step(lib, 4)
    found = lib.inspect.fusions(step, *placed)
    traced, compiled = (
        next(each for each in found.records if isinstance(each, kind))
        for kind in (lib.records.Traced, lib.records.Compiled)
    )
    (kernel,) = (each.name for each in compiled.kernels if each.collective is not None)
    seen = []
    for i, device in enumerate(compiled.devices):
        span = lib.records.Span(kernel, 1e-3 * i, 4e-3 - 1e-3 * i)
        seen.append(lib.records.DeviceTime(device, span.duration, (lib.records.KernelTime(kernel, 1, 1e-3),), (span,)))
    run = lib.records.Executed(compiled.program, "step", 0.0, 9, 1.0, 1.0, 1, 5e-3, tuple(seen), "host")

    answer = lib.inspect.Inspection("timings", [traced, compiled, run], format_timings([traced, compiled, run]))
    ledger = ProgramStore.of(answer.records)
    light = wire.encode_light(ledger.main)
    drawn = [device.get("waits", []) for device in light["executed"]["devices"]]
    elsewhere = dataclasses.replace(compiled, platform="gpu")
    none = lib.inspect.Inspection("timings", [traced, elsewhere, run], "").to_json()["account"].get("waits")
    return answer.text, answer.to_json()["account"]["waits"], drawn, none


def typed(lib):
    """How values of a program lie whose types say it, forward and backward, by operation."""
    mesh = lib.make_mesh((4, 2), ("x", "y"))
    rows = lib.device_put(lib.numpy.ones((8, 4)), lib.NamedSharding(mesh, lib.P("x", "y")))
    found = lib.inspect.jaxpr(lib.grad(lambda a: lib.numpy.tanh(a).sum(1).sum()), rows)
    traced = next(each for each in found.records if isinstance(each, lib.records.Traced))
    return {(each.operation, traced.jaxpr.variables[each.outputs[0]].lies) for each in traced.jaxpr.walk()}
