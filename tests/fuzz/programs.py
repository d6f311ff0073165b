"""Random programs under random transformations: unrolled loops with irregularities, custom rules, branches and loops
under derivatives and batches. Eagerly, jitted, and without the passes that rewrite programs; the oracle is jax.

A program is a function of a vector of four numbers, given as a tree of nodes: ``["seq", nodes]``, ``["op", name]`` and
so on (methods of ``_Builder``). Each node is a function of a vector that returns one. Values stay below about 3, and no
function is differentiated where it has no derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

LIBRARIES = ("xlascope", "jax")
#: What is tested is how programs are written, not what XLA makes of them.
COMPILE_QUICKLY = True
#: Parts of the messages of errors that are right. jax refuses this without jit as well; under jit it does so only where
#: the tangents are used.
REFUSALS = ("forward-mode differentiation (jvp, jacfwd, hessian as jacfwd of grad) does not work through",)

_SIZE = 4
_OPERATIONS = (
    "sin",
    "tanh",
    "square",
    "exp",
    "roll",
    "product",
    "dot",
    "where",
    "log",
    "sort",
    "cumsum",
    "slice",
    "at",
)
_TRANSFORMS = ("jit", "vmap", "grad", "jvp", "vjp", "jacrev", "linearize", "remat")
_HOLDERS = (
    "seq",
    "unrolled",
    "cond",
    "scan",
    "fori",
    "custom_jvp",
    "custom_vjp",
    "jit",
    "vmap",
    "remat",
    "switch",
    "map",
)
_MAX_DEPTH = 4
_LOOPS = ("scan", "fori", "map")
#: How our programs are compiled beside eagerly: what is given to ``jit``.
_COMPILED = (
    {},
    {"keep": "off", "reroll": "off"},
    {"reroll": "always"},
)


def draw(dice: Random) -> dict[str, Any]:
    """Return a random program."""
    node = _node(dice, 0)
    while not 4 <= _size_of(node) <= 30:
        node = _node(dice, 0)
    return {
        "node": node,
        "transforms": [dice.choice(_TRANSFORMS) for _ in range(dice.choice((0, 1, 1, 2, 2)))],
        "seed": dice.randrange(1 << 30),
    }


def _node(dice: Random, depth: int) -> list[Any]:
    if depth == _MAX_DEPTH or (depth and dice.random() < 0.35):
        return ["op", dice.choice(_OPERATIONS)]
    kind = "seq" if depth == 0 else dice.choice(_HOLDERS)
    inner = functools.partial(_node, dice, depth + 1)
    if kind == "seq":
        return ["seq", [inner() for _ in range(dice.randrange(2, 5))]]
    if kind == "unrolled":
        count = dice.choice((3, 5, 9))
        odd = [dice.randrange(count), ["op", dice.choice(_OPERATIONS)]] if dice.random() < 0.4 else None
        return ["unrolled", count, odd, dice.random() < 0.5, inner()]
    if kind == "cond":
        return ["cond", dice.choice((-0.5, 0.0, 0.5)), inner(), inner()]
    if kind == "switch":
        return ["switch", [inner() for _ in range(3)]]
    if kind in ("scan", "fori"):
        return [kind, dice.choice((2, 3, 5)), inner()]
    if kind in ("custom_jvp", "custom_vjp"):
        return [kind, dice.choice((0.5, 2.0)), inner()]
    return [kind, inner()]


def _size_of(node: list[Any]) -> int:
    """How many operations are written."""
    kind, *rest = node
    if kind == "op":
        return 1
    times = rest[0] if kind == "unrolled" else 1
    inner = rest[-1] if kind in ("seq", "switch") else [each for each in rest if isinstance(each, list)]
    if kind == "unrolled":
        inner = [rest[-1]]
    return int(times * sum(map(_size_of, inner)))


def answer(lib: Any, program: dict[str, Any]) -> dict[str, Any]:
    """Run a program eagerly and compiled; jax runs it compiled alone."""
    x = np.random.default_rng(program["seed"]).uniform(-1.0, 1.0, _SIZE).astype(np.float32)
    unrolls = lib.__name__ == "jax" and _holds(program["node"], _LOOPS, ("custom_vjp",), ("custom_jvp",))
    function = _Builder(lib, unrolls).function(program["node"])
    for name in program["transforms"]:
        function = _transformed(lib, name, function)
    if lib.__name__ == "jax":
        return {"jax": _numbers(lib.jit(function)(x))}
    values = {"eager": _numbers(function(x))}
    for options in _COMPILED:
        values[f"jit {options}"] = _numbers(lib.jit(function, **options)(x))
    return values


def _holds(node: Any, *kinds: tuple[str, ...]) -> bool:
    """Tell whether a node of one of the first kinds holds one of the next kinds, and so on."""
    if not isinstance(node, list):
        return False
    if node and node[0] in kinds[0]:
        kinds = kinds[1:]
    return not kinds or any(_holds(each, *kinds) for each in node)


def judge(program: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """Say which of our answers differ from jax's; None where none does."""
    want = np.asarray(theirs["jax"], np.float64)
    wrong = {name: given for name, given in ours.items() if not _is_close(np.asarray(given, np.float64), want)}
    if not wrong:
        return None
    return f"{', '.join(wrong)} differ from jax: {next(iter(wrong.values()))}, not {theirs['jax']}"


def _is_close(got: Any, want: Any) -> bool:
    if got.shape != want.shape:
        return False
    scale = np.abs(want[np.isfinite(want)]).max(initial=1e-3)
    return bool(np.allclose(got, want, rtol=2e-3, atol=1e-4 * scale, equal_nan=True))


def _numbers(value: Any) -> list[float]:
    return [float(x) for x in np.asarray(value).reshape(-1)]


def _transformed(lib: Any, name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of a vector that returns one, from another, by one transformation."""
    jnp = lib.numpy
    direction = jnp.linspace(-1.0, 1.0, _SIZE)
    if name == "jit":
        return lib.jit(function)  # type: ignore[no-any-return]
    if name == "remat":
        return lib.checkpoint(function)  # type: ignore[no-any-return]
    if name == "grad":
        return lib.grad(lambda x: jnp.sum(function(x) * direction))  # type: ignore[no-any-return]
    if name == "jvp":
        return lambda x: lib.jvp(function, (x,), (direction,))[1]
    if name == "vjp":
        return lambda x: lib.vjp(function, x)[1](direction)[0]
    if name == "jacrev":
        return lambda x: lib.jacrev(function)(x) @ direction
    if name == "linearize":
        return lambda x: lib.linearize(function, x)[1](direction)
    return lambda x: jnp.sum(lib.vmap(function)(jnp.stack([x, x[::-1], -x])), 0) / 3


class _Builder:
    """Makes functions of nodes, for one library.

    ``unrolls`` writes loops out in Python: second derivatives of a ``custom_vjp`` that holds a ``custom_jvp`` differ
    in jax inside of ``scan`` (jax 0.10.2 loses the inner rule), and those of its unrolled loops are right.
    """

    def __init__(self, lib: Any, unrolls: bool = False) -> None:
        self.lib, self.jnp, self.unrolls = lib, lib.numpy, unrolls

    def function(self, node: list[Any]) -> Callable[[Any], Any]:
        """Return the function of a node."""
        kind, *rest = node
        function: Callable[[Any], Any] = getattr(self, kind)(*rest)
        return function

    def op(self, name: str) -> Callable[[Any], Any]:
        """One or two operations."""
        jnp = self.jnp
        matrix = np.cos(np.arange(_SIZE * _SIZE, dtype=np.float32)).reshape(_SIZE, _SIZE) / 2
        functions: dict[str, Callable[[Any], Any]] = {
            "sin": jnp.sin,
            "tanh": jnp.tanh,
            "square": lambda x: jnp.tanh(x * x) + 0.1 * x,
            "exp": lambda x: jnp.exp(-jnp.square(x)) + 0.2 * x,
            "roll": lambda x: jnp.roll(x, 1) * 0.9,
            "product": lambda x: x * jnp.cos(x[0]) + 0.1,
            "dot": lambda x: matrix @ x,
            "where": lambda x: jnp.where(x > 0.05, x * 0.5, jnp.sin(x)),
            "log": lambda x: jnp.log(x * x + 0.3),
            "sort": lambda x: jnp.sort(x) + 0.1 * x,
            "cumsum": lambda x: jnp.cumsum(x) / _SIZE,
            "slice": lambda x: jnp.concatenate([x[1:] * 0.7, jnp.sin(x[:1])]),
            "at": lambda x: jnp.asarray(x).at[1].add(0.3 * x[2]).at[0].set(jnp.sin(x[3])),
        }
        return functions[name]

    def seq(self, nodes: list[Any]) -> Callable[[Any], Any]:
        """One after the other."""
        functions = [self.function(each) for each in nodes]

        def run(x: Any) -> Any:
            for function in functions:
                x = function(x)
            return x

        return run

    def unrolled(self, count: int, odd: list[Any] | None, uses_index: bool, node: list[Any]) -> Callable[[Any], Any]:
        """An unrolled loop. One step may be ``odd``, and steps may use their index."""
        function = self.function(node)
        other = self.function(odd[1]) if odd else function

        def run(x: Any) -> Any:
            for index in range(count):
                x = other(x) if odd and index == odd[0] else function(x)
                x = x * (0.9 + 0.01 * index) if uses_index else x
            return x

        return run

    def cond(self, threshold: float, yes: list[Any], no: list[Any]) -> Callable[[Any], Any]:
        """A branch."""
        branches = self.function(yes), self.function(no)
        return lambda x: self.lib.lax.cond(self.jnp.sum(x) > threshold, *branches, x)

    def switch(self, nodes: list[Any]) -> Callable[[Any], Any]:
        """A choice of several branches."""
        branches = [self.function(each) for each in nodes]
        return lambda x: self.lib.lax.switch(self.jnp.floor(x[0] * 2 + 1).astype("int32"), branches, x)

    def scan(self, length: int, node: list[Any]) -> Callable[[Any], Any]:
        """A loop that gives a value at each step, and uses them."""
        function = self.function(node)
        inputs = np.linspace(0.5, 1.0, length, dtype=np.float32)

        def run(x: Any) -> Any:
            if self.unrolls:
                gathered = 0 * x
                for value in inputs:
                    gathered, x = gathered + self.jnp.sin(x), function(x * value)
                return x + 0.1 * gathered
            last, all_ = self.lib.lax.scan(lambda c, s: (function(c * s), self.jnp.sin(c)), x, inputs)
            return last + 0.1 * self.jnp.sum(all_, 0)

        return run

    def fori(self, length: int, node: list[Any]) -> Callable[[Any], Any]:
        """A loop with a counter."""
        function = self.function(node)
        if self.unrolls:
            return lambda x: functools.reduce(lambda c, i: function(c) * (1.0 - 0.1 * i), range(length), x)
        return lambda x: self.lib.lax.fori_loop(0, length, lambda i, c: function(c) * (1.0 - 0.1 * i), x)

    def custom_jvp(self, factor: float, node: list[Any]) -> Callable[[Any], Any]:
        """A function with a tangent that differs from its own by a factor."""
        function = self.function(node)
        made = self.lib.custom_jvp(function)
        made.defjvp(lambda primals, tangents: self._scaled_jvp(function, factor, primals, tangents))
        return made  # type: ignore[no-any-return]

    def _scaled_jvp(self, function: Any, factor: float, primals: Any, tangents: Any) -> Any:
        y, t = self.lib.jvp(function, primals, tangents)
        return y, t * factor

    def custom_vjp(self, factor: float, node: list[Any]) -> Callable[[Any], Any]:
        """A function with a cotangent that differs from its own by a factor."""
        function = self.function(node)
        made = self.lib.custom_vjp(function)
        made.defvjp(
            lambda x: (function(x), x), lambda x, t: (self.lib.vjp(function, x)[1](t)[0] * (factor + 0.01 * x),)
        )
        return made  # type: ignore[no-any-return]

    def jit(self, node: list[Any]) -> Callable[[Any], Any]:
        """A jitted function."""
        return self.lib.jit(self.function(node))  # type: ignore[no-any-return]

    def remat(self, node: list[Any]) -> Callable[[Any], Any]:
        """A checkpointed function."""
        return self.lib.checkpoint(self.function(node))  # type: ignore[no-any-return]

    def vmap(self, node: list[Any]) -> Callable[[Any], Any]:
        """A batch of three, summed."""
        return _transformed(self.lib, "vmap", self.function(node))

    def map(self, node: list[Any]) -> Callable[[Any], Any]:
        """A loop over members."""
        function = self.function(node)
        if self.unrolls:
            return lambda x: (function(x) + function(0.5 * x)) / 2
        return lambda x: self.jnp.sum(self.lib.lax.map(function, self.jnp.stack([x, 0.5 * x])), 0) / 2
