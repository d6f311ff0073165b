"""jax is imported while threads compute with xlascope and copy to NumPy; prints what they saw, as JSON."""
# ruff: noqa: E402, TID251  (here jax is not an oracle: both are looked at together)

import json
import os
import sys
import threading

os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np

import xlascope as xs
import xlascope.numpy as xnp

double = xs.jit(lambda x: x * 2 + 1)
start = xnp.arange(5.0)
stop = threading.Event()
errors, makers, rounds = [], set(), [0, 0]


def work(number):
    while not stop.is_set():
        try:
            once = (double(start + number) - 1) / 2
            for made in (once, once + start, -once, once[1:], once.sum()):
                makers.add(type(made.aval).__module__.partition(".")[0])
            assert np.asarray(once).tolist() == [k + number for k in range(5)]
            assert double(np.arange(5.0)).tolist() == [1, 3, 5, 7, 9]
            assert repr(once).startswith("Array([") and float(once.sum()) == 10 + 5 * number
            assert np.asarray(xnp.ones(3, xnp.bfloat16)).dtype == xnp.bfloat16
            rounds[number] += 1
        except BaseException as error:
            errors.append(repr(error))
            return


threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()
while not (errors or min(rounds)):
    stop.wait(0.01)
before = list(rounds)
sys.setswitchinterval(1e-4)  # threads take turns often
import jax.numpy as jnp

after = (jnp.arange(3.0) + 1).tolist()
stop.set()
for thread in threads:
    thread.join()
print(
    json.dumps(
        {
            "errors": errors,
            "makers": sorted(makers),
            "rounds": [b - a for a, b in zip(before, rounds, strict=True)],
            "jax": after,
        }
    )
)
