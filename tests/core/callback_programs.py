"""Programs that call Python, for either library: what they give, and what was called, with which values."""

import importlib
from typing import Any

import numpy as np


class Log:
    """What was called: a label and the values, in order."""

    def __init__(self, lib: Any, ordered: bool) -> None:
        self.lib = lib
        self.ordered = ordered
        self.calls: list[Any] = []

    def note(self, label: str, *values: Any) -> None:
        self.calls.append((label, *(np.asarray(x).tolist() for x in values)))

    def debug(self, label: str, *values: Any) -> None:
        """A debug callback in the program."""
        self.lib.debug.callback(lambda *xs: self.note(label, *xs), *values, ordered=self.ordered)

    def io(self, label: str, *values: Any, result: Any = None) -> Any:
        """An io callback in the program; it gives the first value where it has a result."""

        def call(*xs: Any) -> Any:
            self.note(label, *xs)
            return None if result is None else np.asarray(xs[0])

        experimental = importlib.import_module(f"{self.lib.__name__}.experimental")
        return experimental.io_callback(call, result, *values, ordered=self.ordered)


def _scalar(lib: Any) -> Any:
    return lib.ShapeDtypeStruct((), np.float32)


def _body(lib: Any, log: Log) -> Any:
    def body(x: Any) -> Any:
        log.debug("in", x)
        y = lib.numpy.sin(x)
        log.debug("between", y * 2)
        return lib.numpy.sin(y)

    return body


def _step(log: Log) -> Any:
    def step(c: Any, x: Any) -> Any:
        log.debug("step", c, x)
        return c * x + 1.0, c

    return step


def _while(lib: Any, log: Log, end: float = 3.0) -> Any:
    def body(x: Any) -> Any:
        log.debug("body", x)
        return x + 1.0

    return lambda x: lib.lax.while_loop(lambda x: x < end, body, x)


def _cond(lib: Any, log: Log) -> Any:
    def branch(label: str, factor: float) -> Any:
        def run(x: Any) -> Any:
            log.debug(label, x)
            return x * factor

        return run

    return lambda x: lib.lax.cond(x > 1.0, branch("large", 2.0), branch("small", 3.0), x)


def _custom_jvp(lib: Any, log: Log) -> Any:
    @lib.custom_jvp
    def f(x: Any) -> Any:
        return lib.numpy.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        log.debug("rule", primals[0])
        return f(primals[0]), lib.numpy.cos(primals[0]) * tangents[0]

    return f


def _custom_vjp(lib: Any, log: Log) -> Any:
    @lib.custom_vjp
    def f(x: Any) -> Any:
        return lib.numpy.sin(x)

    def forward(x: Any) -> Any:
        log.debug("forward", x)
        return f(x), x

    def backward(x: Any, ct: Any) -> Any:
        log.debug("backward", ct)
        return (ct * lib.numpy.cos(x),)

    f.defvjp(forward, backward)
    return f


def _looking_at_condition(lib: Any, log: Log) -> Any:
    def condition(x: Any) -> Any:
        log.debug("condition", x)
        return x < 2.0

    def body(x: Any) -> Any:
        log.debug("body", x)
        return x + 1.0

    return lambda x: lib.lax.while_loop(condition, body, x)


def _nested(lib: Any, log: Log) -> Any:
    @lib.jit
    def inner(x: Any) -> Any:
        log.io("inner", x)
        log.io("inner again", x + 0.5)
        return x + 1.0

    def step(c: Any, x: Any) -> Any:
        c = inner(c)
        c = lib.lax.cond(c > 4.0, lambda c: inner(inner(c)), lambda c: c, c)
        c = lib.lax.while_loop(lambda c: c < 3.0, inner, c)
        return c, log.io("stacked", c, x, result=_scalar(lib))

    def f(x: Any) -> Any:
        c, ys = lib.lax.scan(step, x, lib.numpy.arange(5.0), unroll=2)
        log.io("between", c)
        return lib.lax.fori_loop(0, 3, lambda i, c: inner(c), c), ys

    return f


def _unused(lib: Any, log: Log) -> Any:
    def f(x: Any) -> Any:
        log.io("unused", x, result=_scalar(lib))

        def step(c: Any, y: Any) -> Any:
            return c, log.io("in the scan", y, result=_scalar(lib))

        lib.lax.scan(step, x, lib.numpy.arange(3.0))
        return x * 2.0

    return f


def _pure(lib: Any, log: Log, method: Any, shape: tuple[int, ...] = ()) -> Any:
    def add(a: Any, b: Any) -> Any:
        log.note("add", np.asarray(a).shape, np.asarray(b).shape)
        return np.asarray(a) + np.asarray(b)

    def f(a: Any, b: Any) -> Any:
        return lib.pure_callback(add, lib.ShapeDtypeStruct(shape, np.float32), a, b, vmap_method=method)

    return f


def _differentiable(lib: Any, log: Log) -> Any:
    @lib.custom_jvp
    def f(x: Any) -> Any:
        return lib.pure_callback(lambda x: np.sin(np.asarray(x)), _scalar(lib), x)

    f.defjvps(lambda t, y, x: lib.pure_callback(lambda x: np.cos(np.asarray(x)), _scalar(lib), x) * t)
    return f


def _tree(lib: Any, log: Log) -> Any:
    def call(pair: Any, *, scale: Any) -> Any:
        return {"sum": np.asarray(pair["a"]) + np.asarray(pair["b"][0]), "scaled": (np.asarray(pair["a"]) * scale,)}

    def f(x: Any) -> Any:
        shapes = {"sum": lib.ShapeDtypeStruct((3,), np.float32), "scaled": (lib.ShapeDtypeStruct((3,), np.float32),)}
        found = lib.pure_callback(call, shapes, {"a": x, "b": [2.0]}, scale=np.float32(3.0))
        return found["sum"] + found["scaled"][0]

    return f


def _in_other_containers(lib: Any, log: Log) -> Any:
    """NumPy's functions return named tuples, others lists and dictionaries: the order of the leaves counts."""
    two = (_scalar(lib), _scalar(lib))

    def f(x: Any) -> Any:
        sign, size = lib.pure_callback(np.linalg.slogdet, two, x)
        low, high = log.io("list", size, result=_scalar(lib)), lib.pure_callback(lambda x: [x, x + 1], two, size)
        return sign, size, low, high, lib.pure_callback(lambda x: {"b": x, "a": (x * 2, None)}, two, size)

    return f


def _keys(lib: Any, log: Log) -> Any:
    """Typed keys arrive as their words."""

    def f(keys: Any, x: Any) -> Any:
        log.debug("debug", keys, x)
        return lib.pure_callback(lambda k, x: k[..., 1] * x, x, keys, x, vmap_method="broadcast_all")

    return f


def _mixed(lib: Any, log: Log) -> Any:
    def show(x: Any, text: str, *, flag: Any) -> None:
        log.note(text + str(flag), x)

    def f(x: Any) -> Any:
        lib.debug.callback(show, x, "text ", flag=None, ordered=log.ordered)
        return x

    return f


X = np.float32(0.7)
XS = np.arange(3, dtype=np.float32)
TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)

#: Name to what is run: (library, log) to a result. What differs from JAX on purpose is in test_callbacks.py.
ROWS: dict[str, Any] = {
    "eager": lambda lib, log: _body(lib, log)(X),
    "jit": lambda lib, log: lib.jit(_body(lib, log))(X),
    "twice": lambda lib, log: [f(X) for f in [lib.jit(_body(lib, log))] for _ in range(2)],
    "grad": lambda lib, log: lib.grad(_body(lib, log))(X),
    "grad of grad": lambda lib, log: lib.grad(lib.grad(_body(lib, log)))(X),
    "jit of grad": lambda lib, log: lib.jit(lib.grad(_body(lib, log)))(X),
    "grad of jit": lambda lib, log: lib.grad(lib.jit(_body(lib, log)))(X),
    "jvp": lambda lib, log: lib.jvp(_body(lib, log), (X,), (X,)),
    "linearize": lambda lib, log: lib.linearize(_body(lib, log), X)[1](X),
    "checkpoint": lambda lib, log: lib.grad(lib.checkpoint(_body(lib, log)))(X),
    "jit of checkpoint": lambda lib, log: lib.jit(lib.grad(lib.checkpoint(_body(lib, log))))(X),
    "vmap": lambda lib, log: lib.vmap(_body(lib, log))(XS),
    "jit of vmap": lambda lib, log: lib.jit(lib.vmap(_body(lib, log)))(XS),
    "vmap of jit": lambda lib, log: lib.vmap(lib.jit(_body(lib, log)))(XS),
    "vmap of vmap": lambda lib, log: lib.vmap(lib.vmap(_body(lib, log), in_axes=1))(TABLE),
    "vmap of grad": lambda lib, log: lib.vmap(lib.grad(_body(lib, log)))(XS),
    "vmap of what is not mapped": lambda lib, log: lib.vmap(lambda x: (log.debug("once", X), x)[1])(XS),
    "scan": lambda lib, log: lib.lax.scan(_step(log), X, XS),
    "jvp of scan": lambda lib, log: lib.jvp(lambda x: lib.lax.scan(_step(log), x, XS), (X,), (X,)),
    "grad of scan": lambda lib, log: lib.grad(lambda x: lib.lax.scan(_step(log), x, XS)[0])(X),
    "vmap of scan": lambda lib, log: lib.vmap(lambda x: lib.lax.scan(_step(log), x, XS[:2])[0])(XS),
    "while": lambda lib, log: lib.jit(_while(lib, log))(X),
    "jvp of while": lambda lib, log: lib.jvp(_while(lib, log), (X,), (X,)),
    "linearize of while": lambda lib, log: lib.linearize(_while(lib, log), X)[1](X),
    "vmap of while": lambda lib, log: lib.vmap(_while(lib, log))(XS),
    "while with a condition that looks": lambda lib, log: _looking_at_condition(lib, log)(X),
    "cond": lambda lib, log: [lib.jit(_cond(lib, log))(x) for x in (X, X * 2)],
    "grad of cond": lambda lib, log: lib.grad(_cond(lib, log))(X),
    "vmap of cond": lambda lib, log: lib.vmap(_cond(lib, log))(XS),
    "jvp of custom_jvp": lambda lib, log: lib.jvp(_custom_jvp(lib, log), (X,), (X,)),
    "grad of custom_jvp": lambda lib, log: lib.grad(_custom_jvp(lib, log))(X),
    "grad of custom_vjp": lambda lib, log: lib.grad(_custom_vjp(lib, log))(X),
    "nested": lambda lib, log: lib.jit(_nested(lib, log))(np.float32(0.0)),
    "nested, not jitted": lambda lib, log: _nested(lib, log)(np.float32(0.0)),
    "unused": lambda lib, log: lib.jit(_unused(lib, log))(X),
    "jvp of unused": lambda lib, log: lib.jvp(lambda x: _unused(lib, log)(X) * x, (X,), (X,)),
    "io with vmap": lambda lib, log: lib.vmap(lambda x: log.io("io", x, result=_scalar(lib)) + x)(XS),
    "io with grad": lambda lib, log: lib.grad(lambda x: log.io("io", x, result=_scalar(lib)) * x)(X),
    "io with grad of something else": lambda lib, log: lib.grad(lambda x: log.io("io", X, result=_scalar(lib)) * x)(X),
    "io in checkpoint": lambda lib, log: lib.grad(lib.checkpoint(lambda x: (log.io("io", X), x * x)[1]))(X),
    "io in cond with vmap": lambda lib, log: lib.vmap(
        lambda x: lib.lax.cond(x > 1, lambda x: (log.io("io", X), x)[1], lambda x: x, x)
    )(XS),
    "pure": lambda lib, log: lib.jit(_pure(lib, log, None))(X, X),
    "pure, not jitted": lambda lib, log: _pure(lib, log, None)(X, 2.0),
    "pure with grad": lambda lib, log: lib.grad(_pure(lib, log, None))(X, X),
    "pure with grad of something else": lambda lib, log: lib.grad(lambda x: x * _pure(lib, log, None)(X, X))(X),
    "pure with vmap, no method": lambda lib, log: lib.vmap(_pure(lib, log, None))(XS, XS),
    "pure with vmap, no such method": lambda lib, log: lib.vmap(_pure(lib, log, "sideways"))(XS, XS),
    **{
        f"pure with vmap, {method}": lambda lib, log, m=method: lib.vmap(_pure(lib, log, m), in_axes=(0, None))(XS, X)
        for method in ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")
    },
    **{
        f"pure with vmap of vmap, {method}": lambda lib, log, m=method: lib.jit(
            lib.vmap(lib.vmap(_pure(lib, log, m), in_axes=(None, 0)), in_axes=(0, 1), out_axes=1)
        )(XS, TABLE.T.copy().T)
        for method in ("sequential", "expand_dims", "broadcast_all")
    },
    "pure of vectors with vmap": lambda lib, log: lib.vmap(
        _pure(lib, log, "broadcast_all", (3,)), in_axes=(1, None), out_axes=1
    )(TABLE.T, XS),
    "pure that nobody needs": lambda lib, log: lib.jit(lambda x: (_pure(lib, log, None)(x, x), x)[1])(X),
    "pure with a derivative": lambda lib, log: lib.grad(_differentiable(lib, log))(X),
    "a tree": lambda lib, log: lib.jit(_tree(lib, log))(XS),
    "results in other containers": lambda lib, log: lib.jit(_in_other_containers(lib, log))(np.eye(2, dtype=X.dtype)),
    "keys": lambda lib, log: lib.jit(_keys(lib, log))(lib.random.split(lib.random.key(3), 2), np.uint32([1, 2])),
    "io with keys": lambda lib, log: lib.jit(lambda k: log.io("io", k))(lib.random.key(3)),
    "vmap of keys": lambda lib, log: lib.jit(lib.vmap(_keys(lib, log)))(
        lib.random.split(lib.random.key(3), 2), np.uint32([1, 2])
    ),
    "arguments that are no arrays": lambda lib, log: lib.jit(_mixed(lib, log))(X),
}


#: Rows that have effects, unordered and ordered; the others once.
VARIANTS = [(row, ordered) for row in ROWS for ordered in (False, True) if not (ordered and row.startswith("pure"))]


def outcome(lib: Any, row: str, ordered: bool) -> Any:
    """What a row gives (as plain data) or raises (as the name of the exception), and what was called."""
    log = Log(lib, ordered)
    try:
        result = ROWS[row](lib, log)
        result = [np.asarray(leaf) for leaf in lib.tree_util.tree_leaves(result)]
    except Exception as error:
        result = type(error).__name__
    lib.effects_barrier()
    return result, log.calls


def outcomes(lib: Any) -> dict[tuple[str, bool], Any]:
    """What all variants give."""
    return {variant: outcome(lib, *variant) for variant in VARIANTS}
