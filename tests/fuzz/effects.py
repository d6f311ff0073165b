"""Effects and the passes that move equations: callbacks, prints and io_callback in unrolled loops, loops, branches and
called functions. What is called, in which order and with which numbers, is compared with an interpretation by NumPy.

A program is a list of steps on a matrix ``x`` and a number ``s``. An ordered effect has to come in its place among the
ordered ones; one that is not ordered has to come as often as it is reached.
"""

from __future__ import annotations

import contextlib
import io
from random import Random
from typing import Any

import numpy as np

LIBRARIES = ("xlascope",)
#: XLA refuses some effects where it fuses.
COMPILE_QUICKLY = False
#: Parts of the messages of errors that are right.
REFUSALS: tuple[str, ...] = ()

_EFFECTS = (
    "callback",
    "ordered callback",
    "io",
    "ordered io",
    "io unused",
    "ordered io unused",
    "print",
    "ordered print",
)
_SHAPES = ((4, 4), (64, 256))
#: How a program is compiled.
_PASSES = (
    {},
    {"keep": "off", "reroll": "off"},
    {"keep": "off", "reroll": "always"},
    {"keep": "everything"},
    {"keep": "everything", "reroll": "always"},
    {"tiered": True},
)
_MAX_DEPTH = 3
#: How many computations and effects a program has at least, and at most.
_MIN_REACHED, _MAX_REACHED = 2, 50


def draw(dice: Random) -> dict[str, Any]:
    """Return a random program."""
    steps = _steps(dice, 0, dice.randrange(1, 6))
    while not (_MIN_REACHED <= _reached(steps) <= _MAX_REACHED and "effect" in str(steps)):
        steps = _steps(dice, 0, dice.randrange(1, 6))
    return {
        "shape": dice.choice(_SHAPES),
        "passes": dice.choice(_PASSES),
        "seed": dice.randrange(1 << 30),
        "derivative": dice.random() < 0.2,
        "matrix alone": dice.random() < 0.5,
        "steps": steps,
    }


def _reached(steps: list[Any]) -> int:
    """How many computations and effects are reached."""
    count = 0
    for kind, *rest in steps:
        times = rest[0] if kind in ("unrolled", "scan") else 1
        bodies = [each for each in rest if isinstance(each, list)]
        count += times * sum(map(_reached, bodies)) if bodies else 1
    return count


def _steps(dice: Random, depth: int, count: int) -> list[Any]:
    return [_step(dice, depth) for _ in range(count)]


def _step(dice: Random, depth: int) -> list[Any]:
    kind = dice.random()
    if kind < 0.35 or (depth == _MAX_DEPTH and kind < 0.5):
        return ["effect", dice.choice(_EFFECTS), dice.choice(("number", "mean", "largest")), dice.randrange(1000)]
    if kind < 0.65 or depth == _MAX_DEPTH:
        return ["compute", dice.choice(("tanh", "tanh", "product", "scale", "center", "encoder", "encoder"))]
    body = _steps(dice, depth + 1, dice.randrange(1, 4))
    if kind < 0.8:
        return ["unrolled", dice.choice((2, 5, 9)), body]
    if kind < 0.87:
        return ["scan", dice.choice((2, 4)), body]
    if kind < 0.94:
        return ["cond", dice.choice((True, False)), body, _steps(dice, depth + 1, 1)]
    return ["jit", body]


def answer(lib: Any, program: dict[str, Any]) -> dict[str, Any]:
    """Run a program compiled, and return its results and the effects that came."""
    x = _matrix(program)
    log: list[Any] = []
    printed = io.StringIO()
    options = dict(program["passes"])
    if options.get("keep") == "everything":
        options["keep"] = lib.checkpoint_policies.everything_saveable

    def run(x: Any, s: Any) -> Any:
        x, s = _Compiled(lib, log).steps(program["steps"], x, s)
        return x if program["matrix alone"] else (x, s)

    def loss(x: Any, s: Any) -> Any:
        return sum(map(lib.numpy.sum, lib.tree_util.tree_leaves(run(x, s))))

    function = lib.grad(loss) if program["derivative"] else run
    with contextlib.redirect_stdout(printed):
        results = lib.jit(function, **options)(x, np.float32(1.0))
        results = [np.asarray(y).tolist() for y in lib.tree_util.tree_leaves(results)]
        lib.effects_barrier()
    return {
        "results": None if program["derivative"] else [float(np.abs(each).mean()) for each in results],
        "log": log,
        "printed": printed.getvalue().splitlines(),
    }


def judge(program: dict[str, Any], ours: dict[str, Any]) -> str | None:
    """Say what is wrong with the effects that came; None where nothing is."""
    expected = _Interpreted()
    x, s = expected.steps(program["steps"], _matrix(program), np.float32(1.0))
    for ordered in (True, False):
        want = [label for is_ordered, label, _ in expected.log if is_ordered == ordered]
        got = [label for is_ordered, label, _ in ours["log"] if is_ordered == ordered]
        if sorted(want) != sorted(got):
            return f"{'ordered' if ordered else 'other'} effects: {len(want)} are reached, {len(got)} came"
        if ordered and want != got:
            return f"ordered effects came as {got}, not as {want}"
    by_label = sorted((label, value) for _, label, value in expected.log)
    for (label, want_value), (_, got_value) in zip(by_label, sorted((b, c) for _, b, c in ours["log"]), strict=True):
        if not np.isclose(want_value, got_value, rtol=1e-2, atol=1e-2):
            return f"effect {label} had {got_value}, not {want_value}"
    if sorted(expected.printed) != sorted(line.partition(" ")[0] for line in ours["printed"]):
        return f"{len(expected.printed)} lines are printed, {len(ours['printed'])} came"
    ordered_lines = [line.partition(" ")[0] for line in ours["printed"] if line.startswith("o")]
    if ordered_lines != [line for line in expected.printed if line.startswith("o")]:
        return f"ordered prints came as {ordered_lines}"
    results = [float(np.abs(y).mean()) for y in ((x,) if program["matrix alone"] else (x, s))]
    if ours["results"] is not None and not np.allclose(ours["results"], results, rtol=1e-2, atol=1e-3):
        return f"the results are {ours['results']}, not {results}"
    return None


def _matrix(program: dict[str, Any]) -> Any:
    return np.random.default_rng(program["seed"]).normal(size=program["shape"]).astype(np.float32)


class _Interpreted:
    """An interpretation by NumPy. Logs ``(is ordered, label, value)``."""

    def __init__(self) -> None:
        self.xp: Any = np
        self.log: list[Any] = []
        self.printed: list[str] = []

    def steps(self, steps: list[Any], x: Any, s: Any) -> Any:
        """Carry out steps on a matrix and a number."""
        for kind, *rest in steps:
            x, s = getattr(self, kind)(x, s, *rest)
        return x, s

    def compute(self, x: Any, s: Any, name: str) -> Any:
        """Compute the next matrix and number."""
        if name == "tanh":
            return self.xp.tanh(x) * 1.5, s
        if name == "encoder":
            return self.encoder(x), s
        if name == "product":
            return self.xp.tanh(x @ (x.T @ x) * 0.01), s
        if name == "scale":
            return x * self.xp.tanh(s), s * 0.75 + 0.5
        return x - self.xp.mean(x, axis=1, keepdims=True), s + 1

    def encoder(self, x: Any) -> Any:
        """Compute a function of so many equations that calls of it are gathered in a loop."""
        for function in (self.xp.tanh, self.xp.sin, self.xp.arctan) * 4:
            x = function(x * 1.1 + 0.1)
        return x

    def value(self, x: Any, s: Any, name: str) -> Any:
        """The value that an effect is given."""
        return {"number": lambda: s, "mean": lambda: self.xp.mean(self.xp.abs(x)), "largest": lambda: self.xp.max(x)}[
            name
        ]()

    def effect(self, x: Any, s: Any, name: str, value: str, label: int) -> Any:
        """Have an effect."""
        ordered, given = name.startswith("ordered"), float(self.value(x, s, value))
        if "print" in name:
            self.printed.append(f"{'o' if ordered else 'p'}{label}")
        else:
            self.log.append((ordered, label, given))
        if "io" in name and "unused" not in name:
            s = s + np.float32(0.25)
        return x, s

    def unrolled(self, x: Any, s: Any, count: int, body: list[Any]) -> Any:
        """Repeat steps."""
        for _ in range(count):
            x, s = self.steps(body, x, s)
        return x, s

    scan = unrolled

    def cond(self, x: Any, s: Any, which: bool, yes: list[Any], no: list[Any]) -> Any:
        """Carry out some steps or others."""
        return self.steps(yes if which else no, x, s)

    def jit(self, x: Any, s: Any, body: list[Any]) -> Any:
        """Carry out steps in a function of their own."""
        return self.steps(body, x, s)


class _Compiled(_Interpreted):
    """The same as a program of a library."""

    def __init__(self, lib: Any, log: list[Any]) -> None:
        super().__init__()
        self.lib, self.xp, self.log = lib, lib.numpy, log
        self.encoder = lib.jit(super().encoder)

    def effect(self, x: Any, s: Any, name: str, value: str, label: int) -> Any:
        """Have an effect."""
        lib, ordered, given = self.lib, name.startswith("ordered"), self.value(x, s, value)

        def note(given: Any) -> Any:
            self.log.append((ordered, label, float(given)))

        def note_and_answer(given: Any) -> Any:
            note(given)
            return np.float32(0.25)

        if "print" in name:
            lib.debug.print(f"{'o' if ordered else 'p'}{label} {{}}", given, ordered=ordered)
        elif "callback" in name:
            lib.debug.callback(note, given, ordered=ordered)
        else:
            number = lib.ShapeDtypeStruct((), np.float32)
            given = lib.lax.stop_gradient(given)
            result = lib.experimental.io_callback(note_and_answer, number, given, ordered=ordered)
            s = s if "unused" in name else s + result
        return x, s

    def scan(self, x: Any, s: Any, count: int, body: list[Any]) -> Any:
        """Repeat steps in a compiled loop."""

        def step(carry: Any, _: Any) -> Any:
            return self.steps(body, *carry), None

        return self.lib.lax.scan(step, (x, self.lib.numpy.asarray(s)), None, length=count)[0]

    def cond(self, x: Any, s: Any, which: bool, yes: list[Any], no: list[Any]) -> Any:
        """Choose in the compiled program, by a value that is not known to it."""
        predicate = (x.sum() == x.sum()) == which
        return self.lib.lax.cond(
            predicate,
            lambda x, s: self.steps(yes, x, s),
            lambda x, s: self.steps(no, x, s),
            x,
            self.lib.numpy.asarray(s),
        )

    def jit(self, x: Any, s: Any, body: list[Any]) -> Any:
        """Call a jitted function."""
        return self.lib.jit(lambda x, s: self.steps(body, x, s))(x, s)
