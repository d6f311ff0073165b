"""Sharded arrays saved and loaded by processes together."""

import importlib
import os

import numpy as np

VALUES = {
    "matrix": np.arange(32, dtype=np.float32).reshape(8, 4),
    "integers": np.arange(16, dtype=np.int8),
    "half": np.arange(8, dtype=np.float32).reshape(8, 1),
}


def mesh_of(lib):
    return lib.make_mesh((lib.device_count(),), ("x",), axis_types=(lib.sharding.AxisType.Auto,))


def specs_of(serialization):
    return [serialization.get_tensorstore_spec(os.path.join(os.environ["SAVED_IN"], name)) for name in VALUES]


def shards_of(x):
    return [(shard.index, np.asarray(shard.data)) for shard in x.addressable_shards]


def saved(lib):
    serialization = importlib.import_module(f"{lib.__name__}.experimental.array_serialization.serialization")
    rows = lib.NamedSharding(mesh_of(lib), lib.P("x"))
    arrays = [lib.device_put(value, rows) for value in VALUES.values()]
    arrays[2] = lib.jit(lambda x: x.astype(lib.numpy.bfloat16))(arrays[2])
    serialization.run_serialization(arrays, specs_of(serialization))
    return loaded(lib)


def loaded(lib):
    """The arrays with another sharding, whole in each process, and larger."""
    serialization = importlib.import_module(f"{lib.__name__}.experimental.array_serialization.serialization")
    mesh = mesh_of(lib)
    columns, whole = lib.NamedSharding(mesh, lib.P(None, "x")), lib.NamedSharding(mesh, lib.P())
    specs = specs_of(serialization)
    shardings = [columns if lib.device_count() in (1, 2, 4) else whole, whole, whole]
    arrays = serialization.run_deserialization(shardings, specs)
    (larger,) = serialization.run_deserialization([whole], specs[:1], [(9, 5)], [np.int32])
    return [shards_of(arrays[0]), np.asarray(arrays[1]), str(arrays[2].dtype), np.asarray(larger)]
