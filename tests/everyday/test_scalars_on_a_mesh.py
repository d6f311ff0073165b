"""Python and NumPy numbers, and NumPy arrays, given to a compiled call on several devices, again and again.

From the second call on jaxlib's C++ has the engine convert operands. A buffer wider than the program's operand ended
the process.
"""

import json
import os
import subprocess
import sys

_PROGRAM = """
import json
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp
from xlascope.sharding import NamedSharding, PartitionSpec as P

mesh = xs.make_mesh((8,), ("x",))
a = jnp.arange(16.0)
numbers = {"bool": True, "int": 3, "float": 0.5, "complex": 2j, "in a tree": {"s": [0.5, (3, 2.0)]}}
for dtype in ("bool", "int8", "int64", "uint16", "float16", "float32", "float64"):
    numbers[dtype] = np.dtype(dtype).type(3)
found = {}
for spec in (P("x"), P()):
    placed = xs.device_put(a, NamedSharding(mesh, spec))
    for name, value in numbers.items():
        f = xs.jit(lambda a, s: sum((a * each for each in xs.tree.leaves(s)), 0 * a))
        expected = sum(np.arange(16.0) * each for each in xs.tree.leaves(value))
        found[f"{spec} {name}"] = [bool(np.allclose(f(placed, value), expected)) for _ in range(4)]
    clipped = np.clip(np.arange(16.0), 0.5, 3)
    rows = [np.arange(16.0) * (i // 2) for i in range(6)]
    f = xs.jit(lambda a, b: a * b)
    found[f"{spec} arrays"] = [bool(np.allclose(f(placed, x), np.arange(16.0) * x)) for x in rows][2:]
    found[f"{spec} clip"] = [bool((jnp.clip(placed, 0.5, 3) == clipped).all()) for _ in range(4)]
    found[f"{spec} allclose"] = [bool(jnp.allclose(placed, placed, atol=1e-2, rtol=1e-2)) for _ in range(4)]
print(json.dumps(found))
"""


def test_a_number_has_the_type_of_the_traced_operand():
    environment = os.environ | {"XLASCOPE_NUM_CPU_DEVICES": "8"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert {case: answers for case, answers in found.items() if answers != [True] * 4} == {}
