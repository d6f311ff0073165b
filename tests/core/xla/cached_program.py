"""A process that compiles with the cache on: ``python cached_program.py FOLDER`` prints what became of its programs."""

import json
import sys

unpickled: list[str] = []
if __name__ == "__main__":  # a hook stays for good
    sys.addaudithook(lambda event, _: unpickled.append(event) if event.startswith("pickle.") else None)

import numpy as np  # noqa: E402

import xlascope as xs  # noqa: E402
import xlascope.numpy as jnp  # noqa: E402
from xlascope import records  # noqa: E402


@xs.jit
def layer(w, x):
    return jnp.tanh(x @ w) + x


@xs.jit
def update(ws, x):
    def loss(ws):
        y = x
        for w in ws:
            y = layer(w, y)
        return jnp.mean(jnp.max(y, axis=1) ** 2)

    return xs.tree_util.tree_map(lambda w, g: w - 0.1 * g, ws, xs.grad(loss)(ws))


def main() -> None:
    xs.config.update("jax_compilation_cache_dir", sys.argv[1])
    seen: list[records.Compiled] = []
    records.watch(lambda record: seen.append(record) if isinstance(record, records.Compiled) else None)
    random = np.random.default_rng(0)
    ws = [random.standard_normal((8, 8)).astype(np.float32) for _ in range(2)]
    result = update(ws, random.standard_normal((4, 8)).astype(np.float32))
    (record,) = (each for each in seen if each.function == "update")
    told = {
        "cache": [each.cache for each in seen],
        "module": record.module,
        "equations": [each.equations for each in record.kernels],
        "values": [np.asarray(w).tolist() for w in result],
        "seconds": record.seconds,
        "unpickled": unpickled,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
