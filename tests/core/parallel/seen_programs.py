"""What is said of programs that several devices share; run in a process with eight of them."""

import numpy as np

from xlascope.analysis.costs.roofline import kernel_flops

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
