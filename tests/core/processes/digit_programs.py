"""Training on scikit-learn's digits: on one device, data-parallel and tensor-parallel on all devices."""

import importlib

import numpy as np

STEPS = 30


def data():
    digits = importlib.import_module("sklearn.datasets").load_digits()
    return np.float32(digits.data[:1024] / 16), np.eye(10, dtype=np.float32)[digits.target[:1024]]


def first_weights():
    rng = np.random.default_rng(0)
    return [np.float32(rng.normal(size=shape) / 8) for shape in ((64, 32), (32, 10))]


def steps(lib, weights, images, labels):
    def loss(weights, images, labels):
        scores = lib.nn.relu(images @ weights[0]) @ weights[1]
        return -lib.numpy.mean(lib.numpy.sum(labels * lib.nn.log_softmax(scores), 1))

    @lib.jit
    def step(weights, images, labels):
        value, gradients = lib.value_and_grad(loss)(weights, images, labels)
        return value, [w - 0.5 * g for w, g in zip(weights, gradients, strict=True)]

    losses = []
    for _ in range(STEPS):
        value, weights = step(weights, images, labels)
        losses.append(float(value))
    return losses


def on_one(lib):
    return steps(lib, [lib.numpy.asarray(w) for w in first_weights()], *map(lib.numpy.asarray, data()))


def in_parallel(lib):
    """The losses, data-parallel (each process gives its own images) and tensor-parallel."""
    count, number = lib.process_count(), lib.process_index()
    images, labels = data()
    mine = slice(number * len(images) // count, (number + 1) * len(images) // count)
    mesh = lib.make_mesh((lib.device_count(),), ("x",), axis_types=(lib.sharding.AxisType.Auto,))
    batch, columns, rows = (lib.NamedSharding(mesh, spec) for spec in (lib.P("x"), lib.P(None, "x"), lib.P("x", None)))
    shared = lib.NamedSharding(mesh, lib.P())
    first, second = first_weights()
    by_data = steps(
        lib,
        [lib.device_put(w, shared) for w in (first, second)],
        lib.make_array_from_process_local_data(batch, images[mine]),
        lib.make_array_from_process_local_data(batch, labels[mine]),
    )
    by_tensors = steps(
        lib,
        [lib.device_put(first, columns), lib.device_put(second, rows)],
        *(lib.device_put(value, shared) for value in (images, labels)),
    )
    return by_data, by_tensors
