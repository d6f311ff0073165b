"""Random programs from seeds, and what transformations make of them; run with xlascope and with jax, imports neither.

A program is a tuple of steps. Each picks its operands among the values so far and leaves one more. Whatever steps are
left out, what remains is a program: so a failing one can be shrunk by leaving out steps.
"""

import importlib.util
import random as dice
from pathlib import Path
from typing import NamedTuple

import numpy as np

#: The reference interpreter, in a file that is found wherever this one is run.
_SPEC = importlib.util.spec_from_file_location("interpreting", Path(__file__).parent.parent / "interpreting.py")
INTERPRETING = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(INTERPRETING)

#: Name -> what a step does; those that hold programs are in a table of their own.
STEPS, HOLDING = {}, {}
#: What a program may not contain that is to be differentiated in both modes, or in the one.
UNSUITED = {
    "both": {"while_loop", "custom_back"},
    "forward": {"custom_back", "grad", "derivative"},
    "reverse": {"while_loop", "jvp", "derivative"},
}


class Step(NamedTuple):
    """A step: what it does, numbers by which it picks operands and parameters, and the program that it holds."""

    name: str
    picks: tuple[int, ...]
    body: tuple = ()


class Program(NamedTuple):
    """Steps, the mode in which they can be differentiated, and the dtypes of the three operands."""

    steps: tuple[Step, ...]
    mode: str
    dtypes: tuple[str, ...]
    seed: int

    @property
    def exact(self):
        """Whether finite differences can tell."""
        return set(self.dtypes) == {"float64"} and not {"stop_gradient", "single"} & set(names(self.steps))


def names(steps):
    for step in steps:
        yield step.name
        yield from names(step.body)


def smaller(steps):
    """Every tuple of steps with one step left out, or with its body in its place."""
    for i, step in enumerate(steps):
        before, after = steps[:i], steps[i + 1 :]
        yield before + after
        if step.body:
            yield before + step.body + after
            yield from ((*before, step._replace(body=body), *after) for body in smaller(step.body))


def generated(seed, size=4, depth=2):
    """The program of a seed, of about ``size`` steps, holding programs in programs ``depth`` deep."""
    draw = dice.Random(seed)
    mode = draw.choice(("both", "both", "both", "forward", "reverse"))
    plain, holding = (sorted(table.keys() - UNSUITED[mode]) for table in (STEPS, HOLDING))

    def step(levels):
        name = draw.choice(holding if levels and draw.random() < 0.3 else plain)
        if mode != "both" and levels and draw.random() < 0.1:
            name = {"forward": "while_loop", "reverse": "custom_back"}[mode]
        picks = tuple(int(draw.expovariate(0.5)) for _ in range(6)) + tuple(draw.randrange(60) for _ in range(3))
        body = tuple(step(levels - 1) for _ in range(draw.randint(1, 4))) if name in HOLDING else ()
        return Step(name, picks, body)

    kinds = ("float64",) if draw.random() < 0.6 else ("float32", "float64")
    dtypes = tuple(draw.choice(kinds) for _ in range(3))
    count = draw.randint(size // 2, 3 * size // 2)
    return Program(tuple(step(depth) for _ in range(count)), mode, dtypes, seed)


def operands_of(program):
    drawn = np.random.default_rng(program.seed)
    return tuple(
        np.asarray(drawn.uniform(-1.2, 1.2, shape), dtype)
        for shape, dtype in zip(((3,), (2, 3), ()), program.dtypes, strict=True)
    )


# Running -------------------------------------------------------------------------------------------------------------


class Hand:
    """The values so far, and the numbers of one step, used up from both ends: operands from the front."""

    def __init__(self, lib, values, axes, step):
        self.lib, self.jnp, self.lax = lib, lib.numpy, lib.lax
        self.values, self.axes, self.step = values, axes, step
        self._picks, self._numbers = list(step.picks[:6]), list(step.picks[6:])

    def any(self, kinds="f"):
        found = [v for v in self.values if np.dtype(v.dtype).kind in kinds]
        return found[-1 - (self._picks.pop(0) if self._picks else 0) % len(found)]

    def scalar(self):
        x = self.any()
        return self.jnp.mean(x) if x.ndim else x

    def vector(self):
        x = self.any()
        if x.ndim == 0:
            return self.jnp.stack([x, 0.5 * x, -x])
        return x if x.ndim == 1 else self.jnp.reshape(x, -1)[:4]

    def matrix(self):
        x = self.any()
        if x.ndim == 2:
            return x
        x = x if x.ndim else self.jnp.stack([x, -x])
        return self.jnp.array([[1.0], [-0.5]], x.dtype) * x

    def array(self):
        return self.vector() if self.number() % 2 else self.matrix()

    def pair(self):
        """Two values that broadcast against each other."""
        x, y = self.any(), self.any()
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            y = self.jnp.mean(y)
        return x, y

    def index(self):
        """An integer scalar."""
        n = self.any("iu")
        return n if n.ndim == 0 else n.ravel()[0]

    def flag(self):
        b = self.any("b")
        return b if b.ndim == 0 else self.jnp.any(b)

    def number(self):
        return self._numbers.pop() if self._numbers else 0

    def choose(self, *options):
        return options[self.number() % len(options)]

    def body(self, *arguments, axes=None):
        """The last floating-point value of the step's own program, which also sees the values so far."""
        axes = self.axes if axes is None else axes
        values = run_steps(self.lib, self.step.body, [*self.values, *arguments], axes)
        return [v for v in values if np.dtype(v.dtype).kind == "f"][-1]

    def like(self, y, x):
        """A value with the type of x that depends on y and stays small."""
        if y.shape != x.shape:
            y = self.jnp.broadcast_to(self.jnp.mean(y), x.shape)
        return self.jnp.sin(y.astype(x.dtype) + 0.3)


def run_steps(lib, steps, values, axes=()):
    for step in steps:
        y = {**STEPS, **HOLDING}[step.name](Hand(lib, values, axes, step))
        if y.ndim > 2:
            y = y.reshape(-1)
        y = y[tuple(slice(0, 4) for _ in y.shape)]
        values = [*values, y]
    return values


def function_of(lib, program):
    """The function that a program is: of a vector, a matrix and a scalar, with three results."""
    jnp = lib.numpy

    def f(x, m, s):
        x, m, s = jnp.asarray(x), jnp.asarray(m), jnp.asarray(s)
        values = run_steps(lib, program.steps, [x > 0.2, jnp.argmax(x), x, m, s])
        floats = [v for v in values if np.dtype(v.dtype).kind == "f"]
        others = [v for v in values if np.dtype(v.dtype).kind != "f"]
        return floats[-1], floats[-2 % len(floats)], others[-1]

    return f


# The steps -----------------------------------------------------------------------------------------------------------


def step(function):
    STEPS[function.__name__.strip("_")] = function
    return function


def holding(function):
    HOLDING[function.__name__.strip("_")] = function
    return function


UNARY = {
    "sin": lambda h, x: h.jnp.sin(x),
    "cos": lambda h, x: h.jnp.cos(2.0 * x),
    "tanh": lambda h, x: h.jnp.tanh(x),
    "exp": lambda h, x: h.jnp.exp(-x * x),
    "log1p": lambda h, x: h.jnp.log1p(x * x),
    "sqrt": lambda h, x: h.jnp.sqrt(1.0 + x**2),
    "rsqrt": lambda h, x: h.lax.rsqrt(1.5 + h.jnp.sin(x)),
    "sigmoid": lambda h, x: h.lib.nn.sigmoid(2 * x),
    "softplus": lambda h, x: h.lib.nn.softplus(h.jnp.sin(x)),
    "arctan": lambda h, x: h.jnp.arctan2(x, 1.0 + x * x),
    "cube": lambda h, x: h.jnp.tanh(x) ** 3,
    "expm1": lambda h, x: h.jnp.expm1(h.jnp.tanh(x)),
    "abs": lambda h, x: h.jnp.abs(x),
    "clip": lambda h, x: h.jnp.clip(x, -0.7, 0.8),
    "relu": lambda h, x: h.lib.nn.relu(x),
    "single": lambda h, x: x.astype("float32"),
    "negative": lambda h, x: -x,
}
BINARY = {
    "add": lambda h, x, y: 0.5 * (x + y),
    "sub": lambda h, x, y: (x - y) / 2,
    "mul": lambda h, x, y: h.jnp.tanh(x) * y,
    "div": lambda h, x, y: x / (1.0 + y * y),
    "pow": lambda h, x, y: (1.5 + h.jnp.sin(x)) ** h.jnp.tanh(y),
    "maximum": lambda h, x, y: h.jnp.maximum(x, h.jnp.sin(y)),
    "minimum": lambda h, x, y: h.jnp.minimum(x, y + 0.1),
    "arctan2": lambda h, x, y: h.jnp.arctan2(h.jnp.sin(x) + 1.5, y),
    "logaddexp": lambda h, x, y: h.jnp.logaddexp(h.jnp.sin(x), y),
    "where": lambda h, x, y: h.jnp.where(x > y, x, h.jnp.sin(y)),
}
REDUCTIONS = {
    "sum": lambda h, x, axis: h.jnp.sin(h.jnp.sum(x, axis)),
    "mean": lambda h, x, axis: h.jnp.mean(x, axis, keepdims=True),
    "max": lambda h, x, axis: h.jnp.max(x, axis),
    "min": lambda h, x, axis: h.jnp.min(x, axis),
    "prod": lambda h, x, axis: h.jnp.prod(h.jnp.tanh(x), axis),
    "var": lambda h, x, axis: h.jnp.var(h.jnp.sin(x), axis),
    "logsumexp": lambda h, x, axis: h.lib.nn.logsumexp(h.jnp.sin(x), axis),
    "softmax": lambda h, x, axis: h.lib.nn.softmax(x, axis),
}
CUMULATIVE = {
    "cumsum": lambda h, x, axis, back: h.jnp.tanh(h.lax.cumsum(x, axis, back)),
    "cumprod": lambda h, x, axis, back: h.lax.cumprod(h.jnp.sin(x), axis, back),
    "cummax": lambda h, x, axis, back: h.lax.cummax(x, axis, back),
    "cumlogsumexp": lambda h, x, axis, back: h.jnp.sin(h.lax.cumlogsumexp(x, axis, back)),
    "sort": lambda h, x, axis, back: h.jnp.sort(x, axis, descending=back),
    "flip": lambda h, x, axis, back: h.jnp.flip(x, axis),
    "roll": lambda h, x, axis, back: h.jnp.roll(x, 1, axis),
    "normalize": lambda h, x, axis, back: x / h.jnp.sqrt(0.5 + h.jnp.sum(x * x, axis, keepdims=True)),
    "associative": lambda h, x, axis, back: h.lax.associative_scan(
        lambda a, b: a * h.jnp.cos(b) + b, h.jnp.sin(x), reverse=back, axis=axis
    ),
}
STEPS.update({name: lambda h, f=f: f(h, h.any()) for name, f in UNARY.items()})
STEPS.update({name: lambda h, f=f: f(h, *h.pair()) for name, f in BINARY.items()})
STEPS.update(
    {name: lambda h, f=f: f(h, x := h.any(), h.number() % x.ndim if x.ndim else None) for name, f in REDUCTIONS.items()}
)
STEPS.update(
    {
        name: lambda h, f=f: f(h, x := h.array(), h.number() % x.ndim, h.choose(False, True))
        for name, f in CUMULATIVE.items()
    }
)


@step
def transpose(h):
    return h.matrix().T


@step
def reshape(h):
    x = h.any()
    return x.reshape(h.choose((-1,), (1, -1), (-1, 1)))


@step
def concatenate(h):
    x, y = h.vector(), h.vector()
    return h.jnp.concatenate([y[:2], x, y[-1:]])[1:]


@step
def stack(h):
    x, y = h.scalar(), h.scalar()
    return h.jnp.stack([x, y, x * y])


@step
def strided(h):
    return h.array()[..., :: h.choose(1, 2, -1)]


@step
def pad(h):
    return h.jnp.pad(h.vector(), h.choose((1, 0), (0, 1), (1, 1)), constant_values=0.25)


@step
def dot(h):
    a, b = h.matrix(), h.matrix()
    inner = min(a.shape[1], b.shape[1])
    return h.jnp.tanh(a[:, :inner] @ b[:, :inner].T)


@step
def outer(h):
    return h.jnp.sin(h.jnp.outer(h.vector(), h.vector()))


@step
def einsum(h):
    a, v = h.matrix(), h.vector()
    inner = min(a.shape[1], v.shape[0])
    return h.jnp.sin(h.jnp.einsum("ij,j,ij->i", a[:, :inner], v[:inner], a[:, :inner]))


# Integers, booleans and indices


@step
def compare(h):
    x, y = h.pair()
    return h.choose(x > y, x <= y + 0.1)


@step
def logic(h):
    a, b = h.flag(), h.any("b")
    return h.choose(a & b, a | ~b, a ^ b)


@step
def argmax(h):
    x = h.any()
    return h.choose(h.jnp.argmax(x), h.jnp.argmin(x, -1) if x.ndim else h.jnp.argmax(x))


@step
def count(h):
    return h.jnp.sum(h.any("b"))


@step
def floor(h):
    return h.jnp.floor(h.any() * 2.0).astype(h.choose("int32", "int64"))


@step
def arithmetic(h):
    n, m = h.index(), h.any("iu")
    return h.choose(n + m, n * 2 - m, m % 3, (n & 3) | (m & 1), m // 2)


@step
def from_integer(h):
    return h.jnp.sin(h.any("iu") * h.scalar())


@step
def mask(h):
    return h.any("b") * h.scalar()


@step
def select(h):
    b, (x, y) = h.flag(), h.pair()
    return h.jnp.where(b, x, y)


@step
def element(h):
    return h.vector()[h.index()]


@step
def row(h):
    return h.matrix()[h.index() % 2]


@step
def take(h):
    x = h.array()
    return h.jnp.take(x, h.jnp.stack([h.index(), h.index() + 1, h.index()]) % x.shape[0], axis=0)


@step
def along(h):
    x, y = h.vector(), h.vector()
    size = min(len(x), len(y))
    return h.jnp.take_along_axis(x[:size], h.jnp.argsort(y[:size]), 0)


@step
def dynamic_slice(h):
    x = h.vector()
    return h.lax.dynamic_slice(x, (h.index(),), (min(2, x.shape[0]),))


@step
def dynamic_update_slice(h):
    x = h.vector()
    return h.lax.dynamic_update_slice(x, h.vector()[:1].astype(x.dtype), (h.index(),))


@step
def update(h):
    x = h.vector()
    where = x.at[h.index() % x.shape[0]]
    value = h.scalar().astype(x.dtype)
    return h.choose(where.set, where.add, where.multiply, where.max)(value)


@step
def scatter(h):
    x = h.vector()
    indices = h.jnp.stack([h.index(), h.index() * 2, h.index() + 1]) % x.shape[0]
    return h.jnp.sin(x.at[indices].add(h.scalar().astype(x.dtype)))


@step
def segments(h):
    m = h.matrix()
    return h.jnp.sin(h.jnp.zeros(3, m.dtype).at[h.jnp.arange(m.shape[0]) * h.index() % 3].add(m[:, 0]))


@step
def stop_gradient(h):
    x, y = h.pair()
    return h.jnp.cos(x) * h.lax.stop_gradient(y)


@step
def custom(h):
    """A function with a derivative rule of its own, which is the right one."""
    jnp = h.jnp

    @h.lib.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), jnp.cos(x) * y * dx + jnp.sin(x) * dy

    x = h.any()
    return f(x, h.scalar().astype(x.dtype))


@step
def custom_back(h):
    jnp = h.jnp

    @h.lib.custom_vjp
    def f(x, y):
        return jnp.tanh(x * y)

    def forth(x, y):
        z = jnp.tanh(x * y)
        return z, (x, y, 1.0 - z**2)

    f.defvjp(forth, lambda kept, c: (kept[1] * c * kept[2], jnp.sum(kept[0] * c * kept[2])))
    x = h.any()
    return f(x, h.scalar().astype(x.dtype))


@step
def psum(h):
    x = h.any()
    if not h.axes:
        return h.jnp.sin(x)
    name = h.choose(*h.axes)
    return h.choose(
        lambda: h.jnp.sin(h.lax.psum(x, name)),
        lambda: h.lax.pmean(x, name),
        lambda: x * h.lax.axis_index(name) / 3,
        lambda: h.jnp.cos(h.lax.ppermute(x, name, [(0, 1), (1, 0)])),
    )()


# Steps that hold programs


@holding
def jit(h):
    x = h.any()
    return h.lib.jit(h.body)(x)


@holding
def checkpoint(h):
    return h.lib.checkpoint(lambda x: h.body(x))(h.any())


@holding
def cond(h):
    x, y = h.any(), h.scalar()
    return h.lax.cond(
        h.flag(), lambda x: h.like(h.body(x), x), lambda x: h.like(x * y, x), x
    )  # fmt: skip


@holding
def switch(h):
    x, y = h.any(), h.scalar()
    branches = [lambda x: h.like(h.body(x), x), lambda x: h.like(x, x), lambda x: h.like(y * x, x)]
    return h.lax.switch(h.index(), branches, x)


@holding
def scan(h):
    start, xs, n = h.any(), h.array(), h.index()
    reverse, unroll, which = h.choose(False, True), h.choose(1, 2, True), h.choose(0, 1)

    def one(carry, x):
        c, n = carry
        y = h.body(n, x, c)
        return (h.like(y, c), n + 1), h.jnp.mean(y) * x

    (c, n), ys = h.lax.scan(one, (start, n), xs, reverse=reverse, unroll=unroll)
    return (c * h.jnp.cos(n), ys)[which]


@holding
def fori_loop(h):
    x, y = h.any(), h.vector()

    def one(i, c):
        return h.like(h.body(c * y[i % y.shape[0]]), c)

    return h.lax.fori_loop(h.choose(0, 1), h.choose(2, 3), one, x)


@holding
def lax_map(h):
    return h.lax.map(lambda x: h.jnp.mean(h.body(x)), h.array())


@holding
def while_loop(h):
    x = h.any()

    def going(c):
        return (c[0] < 4) & (h.jnp.mean(c[1]) > -0.4)

    return h.lax.while_loop(going, lambda c: (c[0] + 1, h.like(h.body(c[1], axes=()), c[1])), (h.index() % 3, x))[1]


@holding
def vmap(h):
    """Over two examples, along an axis with a name."""
    x = h.any()
    name, size = f"axis{len(h.axes)}", 2
    batch = h.jnp.stack([x, -x])
    axes = (*h.axes, name)
    out = h.lib.vmap(lambda v: h.body(v, axes=axes), axis_name=name, axis_size=size)(batch)
    return h.jnp.mean(out, 0) if h.number() % 2 else out


@holding
def grad(h):
    x = h.any()
    return h.jnp.sin(h.lib.grad(lambda v: h.jnp.sum(h.jnp.sin(h.body(v))).astype(v.dtype))(x))


@holding
def jvp(h):
    x = h.any()
    return h.jnp.sin(h.lib.jvp(lambda v: h.body(v), (x,), (h.jnp.cos(x),))[1])


@holding
def derivative(h):
    x = h.scalar()
    mode = h.choose(h.lib.grad, h.lib.jacfwd, h.lib.jacrev, lambda f: lambda v: h.lib.linearize(f, v)[1](v))
    return h.jnp.sin(mode(lambda v: h.jnp.sum(h.jnp.sin(h.body(v))).astype(v.dtype))(x))


# What transformations make of them -----------------------------------------------------------------------------------


def loss_of(lib, f):
    """A smooth function of all floating-point results."""

    def loss(*operands):
        leaves = [y for y in f(*operands) if np.dtype(y.dtype).kind == "f"]
        return sum(lib.numpy.sum(lib.numpy.sin(y.astype("float64") * (1.0 + 0.3 * k))) for k, y in enumerate(leaves))

    return loss


def floats(f):
    return lambda *operands: [y for y in f(*operands) if np.dtype(y.dtype).kind == "f"]


def views(lib, program):
    """(label, value); labels that begin alike up to a colon are ways to compute the same."""
    f, xs = function_of(lib, program), operands_of(program)
    yield "value", lambda: f(*xs)
    yield "value: jit", lambda: lib.jit(f)(*xs)
    yield "value: checkpoint", lambda: lib.checkpoint(f)(*xs)
    yield from mapped(lib, "batch", f, xs)
    f = floats(f)
    if program.mode != "reverse":
        yield from forward(lib, f, xs, program.exact)
    if program.mode != "forward":
        yield from reverse(lib, f, xs)
    if program.mode == "both":
        yield from mixed(lib, f, xs)


def examples(xs, axes=(0, 0, 0)):
    """Two examples of each operand that has an axis, and the list of the examples."""
    batch = [x if a is None else np.stack([x, 0.7 * x], a).astype(x.dtype) for x, a in zip(xs, axes, strict=True)]
    return batch, [[x if a is None else np.take(x, k, a) for x, a in zip(batch, axes, strict=True)] for k in (0, 1)]


def mapped(lib, label, f, xs):
    for axes in ((0, 0, 0), (1, None, None), (None, 2, 0)):
        batch, single = examples(xs, axes)
        batch = list(map(lib.numpy.asarray, batch))
        yield f"{label} {axes}", lambda axes=axes, batch=batch: lib.vmap(f, axes)(*batch)
        yield f"{label} {axes}: jit", lambda axes=axes, batch=batch: lib.jit(lib.vmap(lib.jit(f), axes))(*batch)
        yield f"{label} {axes}: one by one", lambda single=single: stacked(lib, [f(*x) for x in single])


def directions(xs):
    return tuple(np.asarray(np.cos(np.arange(x.size) + 1.0 + k).reshape(x.shape), x.dtype) for k, x in enumerate(xs))


def forward(lib, f, xs, exact):
    ts = directions(xs)
    loss = loss_of(lib, f)
    yield "jvp", lambda: lib.jvp(f, xs, ts)
    yield "jvp: jit", lambda: lib.jvp(lib.jit(f), xs, ts)
    yield "jvp: linearize", lambda: (lambda y, push: (y, push(*ts)))(*lib.linearize(f, *xs))
    yield (
        "jvp: linearize under jit",
        lambda: lib.jit(lambda *xs: (lambda y, push: (y, push(*ts)))(*lib.linearize(f, *xs)))(*xs),
    )
    yield "gradient: jacfwd", lambda: lib.jacfwd(loss, (0, 1, 2))(*xs)
    batch, single = examples(xs)
    tangents, _ = examples(ts)
    yield "batch of jvp", lambda: lib.vmap(lambda *xs: lib.jvp(f, xs, ts))(*batch)
    yield "batch of jvp: one by one", lambda: stacked(lib, [lib.jvp(f, tuple(x), ts) for x in single])
    yield "jvp of batch", lambda: lib.jvp(lib.vmap(f), tuple(batch), tuple(tangents))
    yield (
        "jvp of batch: batch of jvp",
        lambda: lib.vmap(lambda xs, ts: lib.jvp(f, xs, ts))(tuple(batch), tuple(tangents)),
    )
    yield "second: jvp of jvp", lambda: lib.jvp(lambda *xs: lib.jvp(loss, xs, ts)[1], xs, ts)[1]
    if exact:
        h = 1e-6
        ends = [tuple(x + sign * h * t for x, t in zip(xs, ts, strict=True)) for sign in (1, -1)]
        yield "slope: differences", lambda: [(a - b) / (2 * h) for a, b in zip(*(f(*x) for x in ends), strict=True)]
        yield "slope", lambda: lib.jvp(f, xs, ts)[1]


def stacked(lib, trees):
    return lib.tree.map(lambda *ys: lib.numpy.stack(ys), *trees)


def reverse(lib, f, xs):
    loss, every = loss_of(lib, f), (0, 1, 2)
    ts = directions(xs)
    yield "gradient: grad", lambda: lib.grad(loss, every)(*xs)
    yield "gradient: jit of grad", lambda: lib.jit(lib.grad(loss, every))(*xs)
    yield "gradient: jacrev of jit", lambda: lib.jacrev(lib.jit(loss), every)(*xs)
    yield "gradient: checkpoint", lambda: lib.grad(lib.checkpoint(loss), every)(*xs)
    yield "pullback: vjp", lambda: (lambda y, back: back(list(map(lib.numpy.cos, y))))(*lib.vjp(f, *xs))
    batch, single = examples(xs)
    yield "batch of grad", lambda: lib.vmap(lib.grad(loss, every))(*batch)
    yield "batch of grad: jit", lambda: lib.jit(lib.vmap(lib.grad(loss, every)))(*batch)
    yield "batch of grad: one by one", lambda: stacked(lib, [lib.grad(loss, every)(*x) for x in single])
    yield (
        "batch of grad: grad of batch",
        lambda: lib.grad(lambda *xs: lib.numpy.sum(lib.vmap(loss)(*xs)), every)(*batch),
    )
    yield (
        "second: grad of grad",
        lambda: dotted(lib, lib.grad(lambda *xs: dotted(lib, lib.grad(loss, every)(*xs), ts), every)(*xs), ts),
    )
    yield "second: jvp of grad", lambda: dotted(lib, lib.jvp(lib.grad(loss, every), xs, ts)[1], ts)
    yield "hessian: forward over reverse", lambda: lib.hessian(loss, (0, 2))(*xs)
    yield "hessian: reverse over reverse", lambda: lib.jacrev(lib.jit(lib.grad(loss, (0, 2))), (0, 2))(*xs)


def mixed(lib, f, xs):
    loss = loss_of(lib, f)
    yield "hessian: reverse over forward", lambda: lib.jacrev(lib.jacfwd(loss, (0, 2)), (0, 2))(*xs)
    yield "hessian: forward over forward", lambda: lib.jacfwd(lib.jacfwd(loss, (0, 2)), (0, 2))(*xs)

    def transposed(*xs):
        y, push = lib.linearize(f, *xs)
        return lib.linear_transpose(push, *xs)(list(map(lib.numpy.cos, y)))

    yield "pullback: linear_transpose", lambda: transposed(*xs)
    yield "pullback: linear_transpose under jit", lambda: lib.jit(transposed)(*xs)


def dotted(lib, xs, ys):
    return sum(lib.numpy.sum(x * y) for x, y in zip(xs, ys, strict=True))


# Running them all ----------------------------------------------------------------------------------------------------

#: What the two libraries are compared on: the other views are compared with these within ours.
COMPARED = {"value", "batch (0, 0, 0)", "jvp", "gradient: grad"}


def everything(lib, programs, interpret, compared=False):
    """(seed, label) -> leaves. ``interpret`` runs a function without arguments."""
    found = {}
    for program in programs:
        labels = []

        def whole(program=program, labels=labels):
            rows = [(k, lib.tree.leaves(v())) for k, v in views(lib, program) if not compared or k in COMPARED]
            labels[:] = [(program.seed, label) for label, leaves in rows for _ in leaves]
            return [x for _, leaves in rows for x in leaves]

        values = interpret(whole)
        for label, y in zip(labels, values, strict=True):
            found.setdefault(label, []).append(np.asarray(y))
    return found


SEEDS = range(44)


def by_jax(lib):
    """What jax gives for the programs."""
    return everything(
        lib,
        map(generated, SEEDS),
        lambda whole: INTERPRETING.interpreted(lib.jit(whole).lower().compiler_ir("stablehlo")),
        compared=True,
    )
