"""Checks of ``python -m xlascope doctor --device``, each against NumPy or the CPU.

A check is a function of the device. It raises AssertionError if the device is wrong, and may return a remark;
Skipped says why it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import inspect, lax, nn, random, records
from ... import numpy as jnp
from ...api import device_put, grad, jit, jvp, value_and_grad, vmap
from ...api.distribution import make_mesh
from ...api.shard_mapping import shard_map
from ...settings import default_matmul_precision
from ...xla.devices.backend import devices
from ...xla.sharding.meshes import PartitionSpec
from .programs.journal import Skipped

Check = Callable[[Any], str | None]


def _draw_normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def _put_on(device: Any, x: Any) -> Any:
    return device_put(x, device)


def _assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    error = float(np.max(np.abs(actual - expected))) if actual.size else 0.0
    scale = float(np.max(np.abs(expected))) if expected.size else 1.0
    assert error <= tolerance * max(scale, 1.0), f"off by {error:.3g}, of numbers up to {scale:.3g}"


def check_arithmetic(device: Any) -> None:
    """Check elementwise arithmetic, eager and compiled."""
    x = _draw_normal(1000)

    def f(x: Any) -> Any:
        return jnp.exp(jnp.sin(x)) / (1.0 + x * x) - jnp.sqrt(jnp.abs(x))

    expected = np.exp(np.sin(x)) / (1.0 + x * x) - np.sqrt(np.abs(x))
    _assert_close(f(_put_on(device, x)), expected, 1e-5)
    _assert_close(jit(f)(_put_on(device, x)), expected, 1e-5)


def check_products(device: Any) -> str:
    """Check float32 matrix products in the highest and default precision, and bfloat16 products."""
    a, b = _draw_normal(256, 300), _draw_normal(300, 200)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    _assert_close(jnp.matmul(_put_on(device, a), _put_on(device, b), precision="highest"), expected, 1e-5)
    default = np.asarray(jnp.matmul(_put_on(device, a), _put_on(device, b)))
    _assert_close(default, expected, 2e-2)
    halves = (_put_on(device, x).astype(jnp.bfloat16) for x in (a, b))
    _assert_close(jnp.matmul(*halves).astype(jnp.float32), expected, 3e-2)
    return f"default precision is off by {np.max(np.abs(default - expected)):.2g}"


def check_convolutions(device: Any) -> None:
    """Check a convolution of images against sums of shifted products."""
    images, kernels = _draw_normal(2, 3, 12, 12), _draw_normal(4, 3, 3, 3)
    expected = sum(
        np.einsum("nchw,oc->nohw", images[:, :, i : i + 10, j : j + 10], kernels[:, :, i, j])
        for i in range(3)
        for j in range(3)
    )
    actual = lax.conv(_put_on(device, images), _put_on(device, kernels), (1, 1), "VALID", precision="highest")
    _assert_close(actual, expected, 1e-4)


def check_loops(device: Any) -> None:
    """Check scan, while_loop and cond."""
    x = _draw_normal(50)
    _assert_close(
        lax.scan(lambda c, y: (0.5 * c + y, c), _put_on(device, np.float32(0)), _put_on(device, x))[1][1], x[0], 1e-6
    )
    halved = lax.while_loop(
        lambda v: v[0] > 1.0, lambda v: (v[0] / 2, v[1] + 1), (_put_on(device, np.float32(1000)), 0)
    )
    assert int(halved[1]) == 10, f"{int(halved[1])} rounds instead of 10"
    _assert_close(
        lax.cond(_put_on(device, np.bool_(True)), lambda y: y + 1, lambda y: y - 1, _put_on(device, x)), x + 1, 1e-6
    )


def check_random_bits(device: Any) -> None:
    """Check that a key gives the same bits on the device as on the CPU, and nearly the same normal numbers."""
    host = devices("cpu")[0]
    on_host, on_device = (
        [np.asarray(draw(_put_on(target, random.key(7)), (64,))) for draw in (random.bits, random.normal)]
        for target in (host, device)
    )
    assert np.array_equal(on_host[0], on_device[0]), "other bits than on the CPU"
    _assert_close(on_device[1], on_host[1], 1e-4)


def check_factorizations(device: Any) -> str:
    """Check Cholesky, QR, eigenvalues, singular values and a linear solve."""
    a = _draw_normal(24, 24)
    symmetric = a @ a.T + 24 * np.eye(24, dtype=np.float32)
    with default_matmul_precision("highest"):
        factor = np.asarray(jnp.linalg.cholesky(_put_on(device, symmetric)))
        _assert_close(factor @ factor.T, symmetric, 1e-4)
        q, r = (np.asarray(x) for x in jnp.linalg.qr(_put_on(device, a)))
        _assert_close(q @ r, a, 1e-4)
        _assert_close(
            jnp.linalg.eigh(_put_on(device, symmetric))[0], np.linalg.eigvalsh(symmetric.astype(np.float64)), 1e-4
        )
        _assert_close(
            jnp.linalg.svd(_put_on(device, a), compute_uv=False), np.linalg.svd(a.astype(np.float64))[1], 1e-4
        )
        solved = jnp.linalg.solve(_put_on(device, symmetric), _put_on(device, a[0]))
        _assert_close(solved, np.linalg.solve(symmetric.astype(np.float64), a[0]), 1e-4)
    return "cholesky, qr, eigh, svd, solve"


def check_transforms_and_sorting(device: Any) -> None:
    """Check Fourier transform, sort, cumulative sum, gather and scatter."""
    x = _draw_normal(256)
    spectrum = jnp.fft.rfft(_put_on(device, x))
    expected = np.fft.rfft(x.astype(np.float64))
    _assert_close(jnp.abs(spectrum), np.abs(expected), 1e-4)
    _assert_close(jnp.sort(_put_on(device, x)), np.sort(x), 0.0)
    _assert_close(jnp.cumsum(_put_on(device, x)), np.cumsum(x.astype(np.float64)), 1e-4)
    where = np.array([3, 7, 3])
    _assert_close(_put_on(device, x)[where], x[where], 0.0)
    added = x.copy()
    np.add.at(added, where, 1.0)
    _assert_close(_put_on(device, x).at[where].add(1.0), added, 1e-6)


def check_derivatives(device: Any) -> None:
    """Check grad, jvp and vmap against analytic derivatives."""
    x = _draw_normal(64)
    _assert_close(
        grad(lambda v: jnp.sum(jnp.tanh(v)))(_put_on(device, x)), 1 - np.tanh(x.astype(np.float64)) ** 2, 1e-5
    )
    tangent = jvp(jnp.sin, (_put_on(device, x),), (_put_on(device, np.ones_like(x)),))[1]
    _assert_close(tangent, np.cos(x.astype(np.float64)), 1e-5)
    gradients = vmap(grad(lambda v: v**3))(_put_on(device, x))
    _assert_close(gradients, 3 * x.astype(np.float64) ** 2, 1e-5)


def check_donation(device: Any) -> str:
    """Check that a donated argument is deleted and the result is right."""
    donated = _put_on(device, _draw_normal(1000))
    expected = np.asarray(donated) * 2.0
    result = jit(lambda x: x * 2.0, donate_argnums=0)(donated)
    _assert_close(result, expected, 1e-6)
    assert donated.is_deleted(), "the donated array is still there"
    return "taken"


def check_training(device: Any) -> str:
    """Check that a small network learns to classify ten clusters."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 512)
    images = (rng.normal(size=(10, 64))[labels] + 0.3 * rng.normal(size=(512, 64))).astype(np.float32)

    def loss(weights: Any, images: Any, labels: Any) -> Any:
        scores = jnp.tanh(images @ weights[0]) @ weights[1]
        return -jnp.mean(jnp.take_along_axis(nn.log_softmax(scores), labels[:, None], axis=1))

    @jit
    def step(weights: Any, images: Any, labels: Any) -> Any:
        value, slopes = value_and_grad(loss)(weights, images, labels)
        return [w - 0.5 * slope for w, slope in zip(weights, slopes, strict=True)], value

    weights = [_put_on(device, _draw_normal(64, 32) / 8), _put_on(device, _draw_normal(32, 10) / 6)]
    batch = _put_on(device, images), _put_on(device, labels.astype(np.int32))
    first = last = 0.0
    for number in range(60):
        weights, value = step(weights, *batch)
        first, last = (float(value) if number == 0 else first), float(value)
    assert last < 0.2 < first, f"the loss went from {first:.3g} to {last:.3g}"
    return f"loss {first:.2f} → {last:.3f}"


def check_transfers(device: Any) -> str:
    """Check transfers to the device and back, and between platforms."""
    x = np.arange(1_000_000, dtype=np.float32)
    on_device = _put_on(device, x)
    assert on_device.devices() == {device}, f"it lies on {on_device.devices()}"
    _assert_close(on_device, x, 0.0)
    host = devices("cpu")[0]
    back = device_put(on_device, host)
    assert back.devices() == {host} and np.array_equal(np.asarray(back), x)
    return f"{x.nbytes / 1e6:.0f} MB both ways"


def check_several_devices(device: Any) -> str:
    """Check a sum over all devices of the platform."""
    same_kind = [candidate for candidate in device.client.devices() if candidate.platform == device.platform]
    if len(same_kind) < 2:
        raise Skipped("there is one device")
    mesh = make_mesh((len(same_kind),), ("all",), devices=same_kind)
    spec = PartitionSpec("all")
    total = shard_map(lambda x: lax.psum(x, "all"), mesh=mesh, in_specs=spec, out_specs=PartitionSpec())
    _assert_close(jit(total)(np.arange(len(same_kind), dtype=np.float32)), [sum(range(len(same_kind)))], 1e-6)
    return f"{len(same_kind)} devices"


def check_profile(device: Any) -> str:
    """Check that the profiler records the kernels and that they are attributed to equations."""
    step = jit(lambda x: jnp.tanh(x @ x).sum())
    inspection = inspect.timings(step, _put_on(device, _draw_normal(512, 512)))
    run = next(item for item in inspection.records if isinstance(item, records.Executed))
    assert run.observed_calls, "; ".join(run.notes) or "the profiler saw no whole call"
    compiled = next(item for item in inspection.records if isinstance(item, records.Compiled))
    attributed = {kernel.name for kernel in compiled.kernels if kernel.equations}
    times = {item.kernel: item.seconds for lane in run.devices for item in lane.kernels}
    assert times, "the profiler names no kernel"
    share = sum(time for name, time in times.items() if name in attributed) / sum(times.values())
    assert share > 0.5, f"{share:.0%} of the kernels' time has an equation; kernels {', '.join(sorted(times))[:200]}"
    return f"{run.step * 1e6:.0f} µs a call, {share:.0%} of the kernels' time has an equation"


def check_panel(device: Any) -> str:
    """Check the text that stands for a notebook's panel."""
    inspection = inspect.explore(jit(grad(lambda x: jnp.sum(jnp.sin(x) ** 2))), _put_on(device, _draw_normal(128)))
    text = str(inspection)
    assert "sin" in text and "mul" in text, "the picture's text names no operation"
    return f"{len(text.splitlines())} lines"


CHECKS: dict[str, Check] = {
    "arithmetic": check_arithmetic,
    "products": check_products,
    "convolutions": check_convolutions,
    "loops": check_loops,
    "random": check_random_bits,
    "factorizations": check_factorizations,
    "fft, sort": check_transforms_and_sorting,
    "derivatives": check_derivatives,
    "donation": check_donation,
    "training": check_training,
    "transfers": check_transfers,
    "several devices": check_several_devices,
    "profile": check_profile,
    "panel": check_panel,
}
