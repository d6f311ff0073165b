"""Uses that are never the same: ``many.py WHAT COUNT`` prints by how many megabytes each half of them grew."""

import gc
import itertools
import json
import sys

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp


def _struct(size):
    return xs.ShapeDtypeStruct((size, 3), np.float32)


def _program(x):
    return jnp.sum(jnp.sin(x) * 2.0 + x, axis=0)


def shapes(number):
    """A shape that was never traced before."""
    xs.eval_shape(lambda x: _program(x), _struct(number + 1))


_held = xs.jit(_program)


def batches(number):
    """A size that a function which stays was never mapped over before."""
    xs.eval_shape(lambda x: xs.vmap(_held)(x), xs.ShapeDtypeStruct((number + 1, 2, 3), np.float32))


def lowered(number):
    """A module of a shape that was never written before."""
    xs.jit(lambda x: _program(x)).lower(_struct(number + 1))


def functions(number):
    """A function, with a number and a size of its own, that is compiled, run and dropped."""
    x = np.ones(number % 100 + 1, np.float32)
    xs.jit(lambda x: jnp.sum(jnp.sin(x) * float(number + 2)))(x)


def resident():
    """Megabytes of memory that this process has."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


if __name__ == "__main__":
    use, count = globals()[sys.argv[1]], int(sys.argv[2])
    use(0)
    curve = [resident()]
    for half in (range(1, count // 2), range(count // 2, count)):
        for number in half:
            use(number)
        curve.append(resident())
    print(json.dumps([round(after - before, 1) for before, after in itertools.pairwise(curve)]))
