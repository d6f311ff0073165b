"""What one process computes with both engines in it, as JSON: ``python programs.py ORDER``.

Each row is a function; what it gives is written down as who made it and its values, or as its error.
"""
# ruff: noqa: E402, TID251  (here jax is not an oracle: both are looked at together)

import copy
import json
import os
import pickle
import sys
from collections import OrderedDict

os.environ["JAX_PLATFORMS"] = "cpu"
ORDER = sys.argv[1]
if ORDER == "jax first":
    import jax
    import jax.numpy as jnp

import ml_dtypes
import numpy as np

import xlascope as xs
import xlascope.lax
import xlascope.numpy as xnp
import xlascope.tree

if ORDER == "used before jax":  # all that is kept for calls that repeat is there when jax comes
    scale = xs.jit(lambda x, factor: x * factor)
    for _ in range(3):
        before = scale(np.arange(3.0), 2.5), xnp.arange(3.0) * 2, xs.grad(lambda x: (x * x).sum())(xnp.arange(3.0))
    np.asarray(xnp.ones(3, xnp.bfloat16))
    one_device = xs.sharding.NamedSharding(xs.make_mesh((1,), ("x",)), xs.P("x"))
    parts = xs.device_put(np.arange(3.0), one_device).addressable_shards  # of the shape of jax's parts below
    assert xnp.asarray(np.ones(3)).unsafe_buffer_pointer() and parts[0].data.shape == (3,) and "jax" not in sys.modules
    xs.config.update("jax_transfer_guard_device_to_host", "log_explicit")

import jax
import jax.numpy as jnp

from xlascope.inspect.engine.execution import JitExecutionEngine
from xlascope.inspect.running.call_counter import CallCounter

if ORDER != "used before jax":
    scale = xs.jit(lambda x, factor: x * factor)
    xs.config.update("jax_transfer_guard_device_to_host", "log_explicit")

scale_jax = jax.jit(lambda x, factor: x * factor)
ours, theirs = xnp.arange(3.0), jnp.arange(3.0)
numbers = np.arange(3.0)  # float64
on_a_mesh = jax.NamedSharding(jax.make_mesh((1,), ("x",)), jax.P("x"))
triple, triple_jax = xs.jit(lambda x: x * 3), jax.jit(lambda x: x * 3)


def told(value):
    """What a row gives, as JSON: who made it, its type and its values."""
    if isinstance(value, (tuple, list)):
        return [told(each) for each in value]
    if isinstance(value, dict):
        return {key: told(each) for key, each in value.items()}
    maker = type(getattr(value, "aval", value)).__module__.partition(".")[0]
    if maker in ("xlascope", "jax") and hasattr(value, "sharding"):
        return [maker, str(np.asarray(value).dtype), np.asarray(value).tolist()]
    return value if isinstance(value, (bool, int, float, str, type(None))) else np.asarray(value).tolist()


def outcome(row):
    try:
        return told(row())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def thrice(row):
    """A row's result, the same when jaxlib repeats the call."""
    first, second, third = told(row()), told(row()), told(row())
    assert first == second == third, (first, second, third)
    return first


class ForJax:
    """A container that jax knows."""


class ForBoth:
    """A container that each engine knows in its own way."""


jax.tree_util.register_pytree_node(ForJax, lambda _: ((1.0,), None), lambda _, __: ForJax())
jax.tree_util.register_pytree_node(ForBoth, lambda _: ((1.0,), None), lambda _, __: ForBoth())
xs.tree_util.register_pytree_node(ForBoth, lambda _: ((1.0, 2.0), None), lambda _, __: ForBoth())

EACH_ALONE = {
    "jit": lambda: [thrice(lambda: triple(ours)), thrice(lambda: triple_jax(theirs))],
    "jit of numpy": lambda: [thrice(lambda: triple(numbers)), thrice(lambda: triple_jax(numbers))],
    "jit of a number": lambda: [thrice(lambda: triple(2.5)), thrice(lambda: triple_jax(2.5))],
    "grad": lambda: [f.grad(lambda x: (x * x).sum())(x) for f, x in ((xs, ours), (jax, theirs))],
    "vmap": lambda: [f.vmap(lambda x: x + 1)(x) for f, x in ((xs, ours), (jax, theirs))],
    "pmap": lambda: jax.pmap(lambda x: x + 1)(theirs[None]),
    "trees": lambda: [
        f.jit(lambda t: {**t, "b": t["a"] * 2})(OrderedDict(a=x)) for f, x in ((xs, ours), (jax, theirs))
    ],
    "operators": lambda: [
        [x + x, 2 * x, -x, x @ x, x > 1, x[1], x[1:], x.T, np.float32(2) * x] for x in (ours, theirs)
    ],
    "methods": lambda: [[x.sum(), x.reshape(3, 1), x.astype(int), x.at[0].set(5)] for x in (ours, theirs)],
    "properties": lambda: [[str(x.shape), str(x.dtype), x.ndim, x.size, x.nbytes, len(x)] for x in (ours, theirs)],
    "numbers": lambda: [[float(x[1]), int(x[2]), bool(x[0]), x.tolist(), x[1].item()] for x in (ours, theirs)],
    "printed": lambda: [[repr(x), str(x), f"{x[1]:.2f}"] for x in (ours, theirs)],
    "iterated": lambda: [[*x, 1.0 in x] for x in (ours, theirs)],
    "copied": lambda: [[copy.copy(x), copy.deepcopy(x)] for x in (ours, theirs)],
    "pickled": lambda: [np.asarray(pickle.loads(pickle.dumps(x))) for x in (ours, theirs)],
    "shards": lambda: [str(theirs.addressable_shards[0].data.aval), theirs.is_fully_addressable],
    "parts": lambda: [list(each.data.aval.shape) for each in jax.device_put(numbers, on_a_mesh).addressable_shards],
    "structures": lambda: [
        pickle.loads(pickle.dumps(f.tree_util.tree_structure({"a": 1}))) == f.tree_util.tree_structure({"a": 1})
        for f in (xs, jax)
    ],
    "containers": lambda: [f.tree_util.tree_leaves(ForBoth()) for f in (xs, jax)],
    "methods of functions": lambda: [
        [f.lower(x).as_text()[:10], told(f.lower(x).compile()(x)), str(f.eval_shape(x).shape)]
        for f, x in ((triple, ours), (triple_jax, theirs), (xs.jit(triple), ours))
    ],
    "cleared": lambda: [xs.clear_caches(), jax.clear_caches(), triple(ours), triple_jax(theirs)],
    "bfloat16": lambda: [np.asarray(f.ones(2, "bfloat16")).astype("float32") for f in (xnp, jnp)],
    "float8": lambda: np.asarray(xnp.asarray(np.ones(2, ml_dtypes.float8_e5m2))).astype("float32"),
    "addresses": lambda: [
        [x.unsafe_buffer_pointer() == x[:].unsafe_buffer_pointer(), hasattr(x, "__cuda_array_interface__")]
        for x in (ours, theirs)
    ],
    "instances": lambda: [isinstance(ours, xs.Array), isinstance(theirs, xs.Array), isinstance(theirs, jax.Array)],
    "only jax's": lambda: [hasattr(ours, "format"), hasattr(theirs, "format")],
}

JAX_TO_OURS = {
    "jit": lambda: (triple(theirs), triple(ours), triple(theirs), triple(ours))[2],
    "jit of nothing": lambda: xs.jit(lambda x: x)(theirs),
    "closed over": lambda: xs.jit(lambda x: x * theirs)(ours),
    "closed over, first": lambda: xs.jit(lambda x: theirs * x)(ours),
    "grad": lambda: xs.grad(lambda x: (x * x).sum())(theirs),
    "vmap": lambda: xs.vmap(lambda x: x + 1)(theirs),
    "jvp": lambda: xs.jvp(lambda x: x * x, (theirs,), (theirs,))[1],
    "scan": lambda: xs.lax.scan(lambda c, x: (c + x, c), 0.0, theirs)[0],
    "cond": lambda: xs.lax.cond(jnp.array(True), lambda: 1.0, lambda: 2.0),
    "sin": lambda: xnp.sin(theirs),
    "asarray": lambda: xnp.asarray(theirs),
    "array": lambda: xnp.array([theirs, theirs]),
    "device_put": lambda: xs.device_put(theirs),
    "operator": lambda: ours + theirs,
    "stack": lambda: xnp.stack([ours, theirs]),
    "index": lambda: ours[jnp.array(1)],
    "donated": lambda: xs.jit(lambda x: x * 2, donate_argnums=0)(theirs),
    "compiled": lambda: xs.jit(lambda x: x * 2).lower(theirs).compile()(theirs),
    "wide": lambda: xnp.sin(_wide(lambda: jnp.arange(3.0))),
    "bfloat16": lambda: xnp.add(jnp.ones(2, jnp.bfloat16), 1),
    "computed in a trace": lambda: xs.jit(lambda x: x * float(jnp.sin(1.0)))(ours),
    "key": lambda: xs.random.normal(jax.random.key(0)),
    "tracer": lambda: jax.jit(lambda x: xnp.sin(x))(theirs),
    "tracer into jit": lambda: jax.jit(lambda x: triple(x))(theirs),
    "container": lambda: triple(ForJax()),
}

OURS_TO_JAX = {
    "values": lambda: jnp.asarray(np.asarray(ours)),
    "computed in a trace": lambda: jax.jit(lambda x: x * float(xnp.sin(1.0)))(theirs),
    "jit": lambda: (triple_jax(theirs), triple_jax(ours)),
    "closed over": lambda: jax.jit(lambda x: x * ours)(theirs),
    "closed over, first": lambda: jax.jit(lambda x: ours * x)(theirs),
    "grad": lambda: jax.grad(lambda x: (x * x).sum())(ours),
    "vmap": lambda: jax.vmap(lambda x: x + 1)(ours),
    "jvp": lambda: jax.jvp(lambda x: x * x, (ours,), (ours,)),
    "pmap": lambda: jax.pmap(lambda x: x + 1)(ours[None]),
    "scan": lambda: jax.lax.scan(lambda c, x: (c + x, c), 0.0, ours),
    "sin": lambda: jnp.sin(ours),
    "array": lambda: jnp.array(ours),
    "operator": lambda: theirs + ours,
    "stack": lambda: jnp.stack([ours, theirs]),
    "index": lambda: theirs[xnp.array(1)],
    "updated": lambda: theirs.at[0].set(xnp.array(2.0)),
    "tracer": lambda: xs.jit(lambda x: jnp.sin(x))(ours),
    "tracer into jit": lambda: xs.jit(lambda x: triple_jax(x))(ours),
}


def _wide(make):
    with jax.enable_x64(True):
        return make()


def _widths():
    """The widths that the engines compute in: a call of numbers, one of NumPy's, operators."""
    rows = [
        (lambda: scale(numbers, 2.5), lambda: scale_jax(numbers, 2.5)),
        (lambda: scale(2**20, 2), lambda: scale_jax(2**20, 2)),
        (lambda: xnp.asarray(numbers) + 2.5, lambda: jnp.asarray(numbers) + 2.5),
        (lambda: xnp.sin(numbers), lambda: jnp.sin(numbers)),
    ]
    found = [[thrice(row)[1] for row in pair] for pair in rows]
    assert told(scale(numbers, 2.5))[2] == told(scale_jax(numbers, 2.5))[2] == [0.0, 2.5, 5.0]
    return found


def with_setting(context, row):
    with context:
        return outcome(row)


def _traced():
    """Whether each engine still traces its functions."""
    seen = []
    for engine, x in ((xs, ours), (jax, theirs)):
        function = engine.jit(lambda x: seen.append(type(x).__name__ != "ArrayImpl") or x + 1)
        function(x)
    return [*seen, told(xnp.sin(ours * 0)), told(jnp.sin(theirs * 0))]


def _nan():
    """What each engine says of 0/0, when it has compiled the program before and when not."""
    found = []
    for engine, numpy in ((xs, xnp), (jax, jnp)):
        function = engine.jit(lambda x: x / x)
        with xs.debug_nans(False), jax.debug_nans(False):
            function(numpy.ones(2))
        for each in (function, engine.jit(lambda x: x / x)):
            try:
                found.append(np.isnan(each(numpy.zeros(2))).all().item())
            except FloatingPointError:
                found.append("FloatingPointError")
    return found


def _counted():
    counter = CallCounter(JitExecutionEngine(), lambda *made: None)
    triple(ours), triple_jax(theirs)
    counter.start()
    try:
        for _ in range(5):
            triple(ours)
        triple_jax(theirs)
        with jax.debug_nans(True):
            nan = _nan()
        return [counter.counts()[triple], nan]
    finally:
        counter.stop()


SETTINGS = {
    "neither wide": _widths,
    "ours wide": lambda: with_setting(xs.enable_x64(True), _widths),
    "jax wide": lambda: with_setting(jax.enable_x64(True), _widths),
    "neither wide again": _widths,
    "ours not compiled": lambda: with_setting(xs.disable_jit(), _traced),
    "jax not compiled": lambda: with_setting(jax.disable_jit(), _traced),
    "ours looks for NaNs": lambda: with_setting(xs.debug_nans(True), _nan),
    "jax looks for NaNs": lambda: with_setting(jax.debug_nans(True), _nan),
    "counted": _counted,
    "after counting": lambda: with_setting(jax.debug_nans(True), _nan),
    "a guard": lambda: xs.config.jax_transfer_guard_device_to_host,
}

GROUPS = {"alone": EACH_ALONE, "to us": JAX_TO_OURS, "to jax": OURS_TO_JAX, "settings": SETTINGS}
if __name__ == "__main__":
    print(
        json.dumps({f"{group}: {name}": outcome(row) for group, rows in GROUPS.items() for name, row in rows.items()})
    )
