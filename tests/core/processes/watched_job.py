"""A script of a job: steps of a shared program, a barrier, and what one process alone does."""

import sys
import time

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.experimental import multihost_utils
from xlascope.sharding import NamedSharding
from xlascope.sharding import PartitionSpec as P


@xs.jit
def step(x):
    return jnp.sum(x * x)


def main(address: str, count: int, number: int) -> None:
    xs.distributed.initialize(address, count, number)
    mesh = xs.make_mesh((xs.device_count(),), ("batch",), (xs.sharding.AxisType.Auto,))
    x = xs.make_array_from_process_local_data(NamedSharding(mesh, P("batch")), np.ones((4, 8), np.float32))
    for _ in range(20):
        if number == 1:
            time.sleep(0.02)  # the others wait for this one
        total = float(step(x))
    multihost_utils.sync_global_devices("trained")
    double = xs.jit(lambda x: x * 2.0)
    for size in range(2, 4 if number == 1 else 3):
        double(np.ones(size, np.float32))
    print("total", total, flush=True)
    if "wait" in sys.argv:
        time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
