"""Hot paths whose cost the guard keeps: what a program does again and again, once everything is compiled.

Each path is a function that makes a piece of work. For tracing and lowering it makes a new function each time, since
traces are remembered by function; for calls it makes the next call of one function, with another value.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from .cases import chain
from .models import MODELS
from .sides import Side

Work = Callable[[], Any]
Paths = dict[str, Callable[[], Work]]
_VALUES = 8


def make_paths(ours: Side) -> Paths:
    """Return all paths by name. Sharded ones need two devices."""
    return {
        **tracing(ours),
        **lowering(ours),
        **jitted_calls(ours),
        **transformed_calls(ours),
        **calls_on_devices(ours),
        **eager_operations(ours),
        **eager_indexing(ours),
        **random_numbers(ours),
        **trees(ours),
    }


def calls(function: Callable[..., Any], values: Iterable[Any]) -> Callable[[], Work]:
    """Return a maker of calls of a function, each with the next of some values; a tuple is several arguments."""
    arguments = itertools.cycle([x if isinstance(x, tuple) else (x,) for x in values])
    return lambda: partial(function, *next(arguments))


def tracing(ours: Side) -> Paths:
    """Tracing of programs, of their gradients, and of gradients of batches."""
    xs = ours.xs
    paths: Paths = {}

    def add(name: str, make: Callable[[], Any], *args: Any) -> None:
        paths[f"{name}_trace"] = lambda: partial(xs.make_jaxpr(make()), *args)
        paths[f"{name}_grad_trace"] = lambda: partial(xs.make_jaxpr(xs.grad(make())), *args)

    def add_batch(name: str, make: Callable[[], Any], in_axes: Any, *args: Any) -> None:
        paths[f"{name}_vmap_grad_trace"] = lambda: partial(xs.make_jaxpr(xs.vmap(xs.grad(make()), in_axes)), *args)

    add("chain", lambda: chain(ours), ours.jnp.ones(10))
    add_batch("chain", lambda: chain(ours), 0, ours.jnp.ones(10))
    for name, model in MODELS.items():
        loss, weights, example = model(ours)
        add(name, loss, weights, example)
        add_batch(name, loss, (None, 0), weights, xs.tree.map(lambda x: np.stack([x, x]), example))
    return paths


def lowering(ours: Side) -> Paths:
    """Lowering with all passes, of a chain, of one four times as long, and of models' gradients."""
    xs, jnp = ours.xs, ours.jnp

    def links(count: int) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            for _ in range(count):
                x = jnp.sin(x) * 2.0 + x
            return jnp.sum(x)

        return function

    def lower(make: Callable[[], Any], *args: Any) -> Callable[[], Work]:
        return lambda: xs.jit(make()).trace(*args).lower

    x = np.ones(10_000, np.float32)
    paths = {f"chain_of_{3 * count}_lower": lower(partial(links, count), x) for count in (100, 400)}
    for name in ("mlp", "lstm", "per_example"):
        loss, weights, example = MODELS[name](ours)
        paths[f"{name}_grad_lower"] = lower(lambda loss=loss: xs.grad(loss()), weights, example)
    return paths


def jitted_calls(ours: Side) -> Paths:
    """Calls of a jitted function with each kind of argument."""
    xs, jnp = ours.xs, ours.jnp
    scale = xs.jit(lambda x: x * 2)
    power = xs.jit(lambda x, n: x**n, static_argnums=1)
    shift = xs.jit(lambda x, *, by: x + by)
    layer = xs.jit(lambda w, x: {"y": jnp.tanh(x @ w["w"] + w["b"])})
    draw = xs.jit(lambda key: xs.random.normal(key, (3,)))
    arrays = [jnp.full((4,), float(k)) for k in range(_VALUES)]
    weights = [{"w": jnp.full((4, 4), k / 9), "b": jnp.ones(4)} for k in range(_VALUES)]
    many = xs.jit(lambda leaves: [x + 1 for x in leaves])
    inner = xs.jit(lambda x: jnp.sin(x))
    outer = xs.jit(lambda x: inner(x) + inner(x * 2))
    donated = xs.jit(lambda x: x + 1, donate_argnums=0)
    compiled = scale.lower(arrays[0]).compile()
    compiled_layer = layer.lower(weights[0], arrays[0]).compile()
    numbers = range(_VALUES)
    return {
        "jit_array": calls(scale, arrays),
        "jit_python_float": calls(scale, [0.5 + k for k in numbers]),
        "jit_python_int": calls(scale, numbers),
        "jit_bool": calls(xs.jit(lambda flag: jnp.where(flag, 1.0, 2.0)), [True, False]),
        "jit_numpy_scalar": calls(scale, [np.float32(k) for k in numbers]),
        "jit_numpy_array": calls(scale, [np.full(4, k, np.float32) for k in numbers]),
        "jit_two_shapes": calls(scale, [jnp.ones(4), jnp.ones(5)]),
        "jit_typed_key": calls(draw, list(xs.random.split(xs.random.key(0), _VALUES))),
        "jit_raw_key": calls(draw, list(xs.random.split(xs.random.PRNGKey(0), _VALUES))),
        "jit_static_argument": calls(power, [(x, 2 + k % 2) for k, x in enumerate(arrays)]),
        "jit_keyword": lambda: partial(shift, arrays[0], by=arrays[1]),
        "jit_dict": calls(layer, [(w, x) for w, x in zip(weights, arrays, strict=True)]),
        "jit_list_of_100": calls(many, [([x] * 100,) for x in arrays]),
        "jit_in_jit": calls(outer, arrays),
        "jit_donated": lambda: partial(donated, jnp.ones(4)),
        "aot_array": calls(compiled, arrays),
        "aot_numpy_array": calls(compiled, [np.full(4, k, np.float32) for k in numbers]),
        "aot_dict": calls(compiled_layer, [(w, x) for w, x in zip(weights, arrays, strict=True)]),
    }


def transformed_calls(ours: Side) -> Paths:
    """Calls of transformed functions, jitted and not."""
    xs, jnp = ours.xs, ours.jnp
    arrays = [jnp.full((4,), float(k)) for k in range(_VALUES)]

    def loss(x: Any) -> Any:
        return jnp.sum(jnp.tanh(x) ** 2)

    def summed(x: Any) -> Any:
        return xs.lax.scan(lambda carry, x: (carry + x, carry), 0.0, x)[0]

    return {
        "jit_grad": calls(xs.jit(xs.grad(loss)), arrays),
        "grad_of_jit": calls(xs.grad(xs.jit(loss)), arrays),
        "jit_vmap": calls(xs.jit(xs.vmap(loss)), [jnp.full((2, 4), float(k)) for k in range(_VALUES)]),
        "jit_scan": calls(xs.jit(summed), arrays),
        "eager_grad": calls(xs.grad(loss), arrays),
        "eager_value_and_grad": calls(xs.value_and_grad(loss), arrays),
        "eager_vmap": calls(xs.vmap(jnp.sin), arrays),
        "eager_jvp": calls(partial(xs.jvp, loss), [((x,), (x,)) for x in arrays]),
        "eager_scan": calls(summed, arrays),
    }


def calls_on_devices(ours: Side) -> Paths:
    """Calls on two devices, and what moves arrays."""
    xs, jnp = ours.xs, ours.jnp
    devices = xs.devices()[:2]
    mesh = xs.sharding.Mesh(np.array(devices), ("x",))
    sharding = xs.sharding.NamedSharding(mesh, xs.sharding.PartitionSpec("x"))
    parts = [xs.device_put(np.full(4, k, np.float32), sharding) for k in range(_VALUES)]
    spec = xs.sharding.PartitionSpec("x")
    mapped = xs.shard_map(
        lambda x: xs.lax.psum(x, "x"), mesh=mesh, in_specs=spec, out_specs=xs.sharding.PartitionSpec()
    )
    return {
        "sharded_jit": calls(xs.jit(lambda x: x + 1), parts),
        "sharded_jit_sum": calls(xs.jit(jnp.sum), parts),
        "sharded_eager_add": calls(lambda x: x + 1, parts),
        "shard_map": calls(xs.jit(mapped), parts),
        "pmap": calls(xs.pmap(lambda x: x * 2), [np.full((2, 3), k, np.float32) for k in range(_VALUES)]),
        "device_put_sharded": calls(lambda x: xs.device_put(x, sharding), [np.full(4, k) for k in range(_VALUES)]),
        "device_put": calls(xs.device_put, [np.full(4, k, np.float32) for k in range(_VALUES)]),
    }


def eager_operations(ours: Side) -> Paths:
    """Operations outside of jit."""
    jnp = ours.jnp
    arrays = [jnp.full((4, 4), 0.5 + k) for k in range(_VALUES)]
    functions: dict[str, Callable[[Any], Any]] = {
        "sin": jnp.sin,
        "negative": lambda x: -x,
        "add": lambda x: x + x,
        "multiply_python_float": lambda x: x * 2.5,
        "multiply_numpy_scalar": lambda x: x * np.float32(2.5),
        "compare": lambda x: x > 1,
        "matmul": lambda x: x @ x,
        "sum": jnp.sum,
        "mean_axis": lambda x: jnp.mean(x, axis=0),
        "argmax": jnp.argmax,
        "cumsum": jnp.cumsum,
        "reshape": lambda x: x.reshape(16),
        "transpose": lambda x: x.T,
        "astype": lambda x: x.astype(jnp.int32),
        "where": lambda x: jnp.where(x > 1, x, 0.0),
        "concatenate": lambda x: jnp.concatenate([x, x]),
        "stack": lambda x: jnp.stack([x, x]),
        "softmax": ours.xs.nn.softmax,
        "norm": jnp.linalg.norm,
        "einsum": lambda x: jnp.einsum("ij,jk->ik", x, x),
    }
    paths = {f"eager_{name}": calls(function, arrays) for name, function in functions.items()}
    return paths | {
        "eager_zeros": lambda: partial(jnp.zeros, (4, 4)),
        "eager_arange": lambda: partial(jnp.arange, 4),
        "asarray_numpy": calls(jnp.asarray, [np.full(4, k, np.float32) for k in range(_VALUES)]),
    }


def eager_indexing(ours: Side) -> Paths:
    """Indexing outside of jit."""
    jnp = ours.jnp
    arrays = [jnp.arange(6.0) + k for k in range(_VALUES)]
    places, mask = jnp.array([3, 1, 4]), np.arange(6) % 2 == 0
    return {
        "index_int": calls(lambda x, k: x[k], [(x, k % 6) for k, x in enumerate(arrays)]),
        "index_slice": calls(lambda x: x[1:3], arrays),
        "index_array": calls(lambda x: x[places], arrays),
        "index_mask": calls(lambda x: x[mask], arrays),
        "at_set": calls(lambda x: x.at[1].set(2.0), arrays),
        "iterate": calls(list, arrays),
    }


def random_numbers(ours: Side) -> Paths:
    """Random numbers outside of jit, by typed keys."""
    random = importlib.import_module(f"{ours.name}.random")
    keys = list(random.split(random.key(0), _VALUES))
    return {
        "random_key": calls(random.key, range(_VALUES)),
        "random_split": calls(random.split, keys),
        "random_fold_in": calls(random.fold_in, [(key, k) for k, key in enumerate(keys)]),
        "random_normal": calls(lambda key: random.normal(key, (3,)), keys),
        "random_uniform": calls(lambda key: random.uniform(key, (3,)), keys),
    }


def trees(ours: Side) -> Paths:
    """Functions of trees of 60 leaves."""
    tree_util = ours.xs.tree_util
    tree = [{"w": (1.0, 2.0), "b": [3.0, {"x": 4.0}], "n": (5.0, 6.0)} for _ in range(10)]
    leaves, structure = tree_util.tree_flatten(tree)
    return {
        "tree_map": lambda: partial(tree_util.tree_map, float, tree),
        "tree_flatten": lambda: partial(tree_util.tree_flatten, tree),
        "tree_unflatten": lambda: partial(tree_util.tree_unflatten, structure, leaves),
        "tree_leaves_with_path": lambda: partial(tree_util.tree_leaves_with_path, tree),
    }
