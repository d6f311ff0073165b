"""How arrays of GPUs and TPUs are read: by jaxlib's own copy, which imports jax unless it is kept from doing so."""

import json

_PROGRAM = """
import json, sys
import numpy as np
import xlascope.numpy as jnp
from xlascope.xla.arrays import array_members

found = {}
for name in ("bool", "int4", "int8", "uint16", "int32", "float8_e4m3fn", "bfloat16", "float16", "float32", "complex64"):
    for shape in ((), (3,), (2, 0), (2, 3)):
        x = (jnp.arange(6)[:int(np.prod(shape))].reshape(shape) + 1).astype(name)
        copied = array_members.copy_to_host(x)
        seen = np.asarray(x)
        found[f"{name}{shape}"] = copied.dtype == seen.dtype and copied.shape == shape and bool((copied == seen).all())
print(json.dumps({"same": found, "jax": [name for name in sys.modules if name.partition(".")[0] == "jax"]}))
"""


def test_a_copy_has_the_elements_of_each_dtype_and_imports_no_jax(fresh_python):
    found = json.loads(fresh_python(_PROGRAM))
    assert [case for case, same in found["same"].items() if not same] == []
    assert found["jax"] == []
