"""Products of matrices that could be had for less: in another order, without an inverse, by looking up rows."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...records import Equation, Finding, Measure
from ...records.traits import Trait
from ..figures import percent, plural, rate, size
from .evidence import Evidence, Level, name_of
from .rule import COUNT, PROFILER, Stake, written_apart

#: By how much fewer operations another order has to do, and how many of a one-hot row's numbers are zeros.
FEWER, CLASSES = 4.0, 64
#: The part of the rate of float32 products below which products of whole numbers are slow, and how large they have to
#: be for that rate to be within reach.
SLOW_PART, LARGE_FLOPS = 0.5, 1e7
#: The part of the kernels' time in float32 products from which on fewer bytes are worth a try.
FLOAT32_SHARE = 0.4


def product_order(evidence: Evidence) -> Iterator[Finding]:
    """A · B · e from the left, where e is small: A · B is a large product that nobody needed."""
    for level in evidence.levels:
        for inner in level.jaxpr.equations:
            found = _better_order(level, inner)
            stake = found and Stake.of(evidence, (inner.path, found.outer.path))
            if found and stake:
                many, few = (rate(value, "FLOP").removesuffix("/s") for value in (found.flops, found.fewer))
                yield stake.finding(
                    "product order",
                    inner,
                    f"Two matrices are multiplied before a smaller array: {many} where {few} would do; they take "
                    f"{stake.words}",
                    f"multiply in the other order: {found.instead}",
                    Measure("operations now", found.flops, "FLOP", COUNT),
                    Measure("operations in the other order", found.fewer, "FLOP", COUNT),
                )


class _Order(NamedTuple):
    outer: Equation
    flops: float
    fewer: float
    instead: str


def _better_order(level: Level, inner: Equation) -> _Order | None:
    """For C = A · B that is used once, in D = C · E: the order A · (B · E), or (E · A) · B, if that is much less."""
    if inner.operation != "dot_general" or inner.role != "forward" or inner.flops <= 0:
        return None
    outer = level.only_user(inner.outputs[0])
    if (
        outer is None
        or outer.operation != "dot_general"
        or outer.role != "forward"
        or outer.inputs[0] == outer.inputs[1]
        or not written_apart(inner, outer)
    ):
        return None
    place = outer.inputs.index(inner.outputs[0])
    first, second = _axes(inner), _axes(outer)
    a, b, e = (level.type_of(name) for name in (*inner.inputs, outer.inputs[1 - place]))
    if first is None or second is None or a is None or b is None or e is None:
        return None
    if len(a.shape) != 2 or len(b.shape) != 2 or not e.shape:
        return None
    m, n = a.shape[1 - first[0]], b.shape[1 - first[1]]
    k = a.shape[first[0]]
    from_right = second[place] == 1  # C is [m, n]: its last axis is B's
    p = math.prod(e.shape) / (n if from_right else m)
    flops = 2.0 * m * k * n + 2.0 * m * n * p
    fewer = 2.0 * k * n * p + 2.0 * m * k * p if from_right else 2.0 * m * k * p + 2.0 * k * n * p
    if flops < FEWER * fewer:
        return None
    names = (name_of(level, inner.inputs[0], "a"), name_of(level, inner.inputs[1], "b"))
    small = name_of(level, outer.inputs[1 - place], "c")
    instead = f"{names[0]} @ ({names[1]} @ {small})" if from_right else f"({small} @ {names[0]}) @ {names[1]}"
    return _Order(outer, flops, fewer, instead)


def _axes(product: Equation) -> tuple[int, int] | None:
    """The axes that a product of two operands contracts, one of each; None for any other product."""
    return _axes_in(product.parameters)


@lru_cache(256)  # layers have equal products
def _axes_in(parameters: str) -> tuple[int, int] | None:
    text = parameters.partition("dimension_numbers=")[2]
    for following in (" preferred", " precision", " out_"):
        text = text.partition(following)[0]
    try:
        (left, right), batch = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return (left[0], right[0]) if len(left) == len(right) == 1 and batch == ((), ()) else None


def inverse(evidence: Evidence) -> Iterator[Finding]:
    """The inverse of a matrix, only to multiply something smaller by it."""
    for level in evidence.levels:
        for solve in level.jaxpr.equations:
            if solve.operation != "custom_linear_solve" or len(solve.outputs) != 1 or solve.role != "forward":
                continue
            product, made = level.only_user(solve.outputs[0]), level.type_of(solve.outputs[0])
            if product is None or product.operation != "dot_general" or made is None or not _is_identity(level, solve):
                continue
            if not written_apart(solve, product):
                continue
            other = level.type_of(next((x for x in product.inputs if x != solve.outputs[0]), ""))
            rows = made.shape[-1]
            columns = math.prod(other.shape) / rows if other is not None and len(made.shape) == 2 else rows
            stake = Stake.of(evidence, (solve.path,)) if columns <= rows / 2 else None
            if stake is not None:
                yield stake.finding(
                    "inverse",
                    solve,
                    f"A {rows} × {rows} matrix is inverted to multiply {plural(int(columns), 'column')} by it: "
                    f"solving for all {rows} columns of the inverse takes {stake.words}",
                    "solve instead: jnp.linalg.solve(a, b) for jnp.linalg.inv(a) @ b; it is more accurate as well",
                    Measure("columns solved for", rows, "", COUNT),
                    Measure("columns needed", columns, "", COUNT),
                )


def _is_identity(level: Level, solve: Equation) -> bool:
    """Whether the right-hand side is ones where two counters are equal."""
    return len(solve.inputs) > 0 and _counters(level, solve.inputs[-1]) == 2


def _counters(level: Level, name: str) -> int:
    """How many of the two operands of the comparison that a value of zeros and ones is from are counters."""
    made = level.made.get(name)
    compared = level.made.get(made.inputs[0]) if made is not None and made.operation == "convert_element_type" else None
    if compared is None or compared.operation != "eq":
        return 0
    return sum(_is_counter(level, each) for each in compared.inputs)


def _is_counter(level: Level, name: str) -> bool:
    made = level.made.get(name)
    while made is not None and level.traced.has(made, Trait.KEEPS_ORDER):
        made = level.made.get(made.inputs[0])
    return made is not None and made.operation == "iota"


def one_hot(evidence: Evidence) -> Iterator[Finding]:
    """Rows chosen by a product with rows of one 1 and zeros: on a CPU and a GPU looking them up reads less."""
    if evidence.platform not in ("cpu", "cuda", "gpu", "rocm"):
        return
    for level in evidence.levels:
        for product in level.jaxpr.equations:
            if product.operation != "dot_general" or product.role != "forward" or _axes(product) is None:
                continue
            chooser, table = level.made.get(product.inputs[0]), level.type_of(product.inputs[1])
            left = level.type_of(product.inputs[0])
            axes = _axes(product)
            if chooser is None or table is None or left is None or axes is None or not _chooses(level, chooser):
                continue
            if not written_apart(chooser, product):
                continue
            classes = left.shape[axes[0]]
            zeros = axes[0] == len(left.shape) - 1 and axes[1] == 0 and classes >= CLASSES
            stake = Stake.of(evidence, (chooser.path, product.path)) if zeros else None
            if stake is not None:
                rows = math.prod(left.shape) // classes
                yield stake.finding(
                    "one-hot product",
                    product,
                    f"{rows:,} rows are chosen from {classes:,} by a product with one-hot rows, {classes - 1:,} of "
                    f"{classes:,} numbers zero: it takes {stake.words}",
                    f"look the rows up: {name_of(level, product.inputs[1], 'table')}[labels]",
                    Measure("operations", product.flops, "FLOP", COUNT),
                    Measure("rows chosen", rows, "", COUNT),
                )


def _chooses(level: Level, made: Equation) -> bool:
    """Whether an equation makes one-hot rows: a comparison with one counter, here or in the function it calls."""
    if len(made.bodies) == 1:
        inner = Level(made.bodies[0], level.traced)
        return len(inner.jaxpr.outputs) == 1 and _counters(inner, inner.jaxpr.outputs[0]) == 1
    return _counters(level, made.outputs[0]) == 1


def integer_products(evidence: Evidence) -> Iterator[Finding]:
    """Products of whole numbers on a CPU, which has fast ones for floats alone."""
    if evidence.platform != "cpu" or evidence.ceilings is None:
        return
    for level in evidence.levels:
        for product in level.jaxpr.equations:
            types = [level.type_of(name) for name in product.inputs]
            if product.operation != "dot_general" or not all(x is not None and "int" in x.dtype for x in types):
                continue
            stake = Stake.of(evidence, (product.path,)) if product.flops >= LARGE_FLOPS else None
            reached = product.flops / stake.seconds if stake is not None else math.inf
            if stake is None or reached >= SLOW_PART * evidence.ceilings.flops or _runs(evidence, stake.kernel) >= 2:
                continue
            kind = types[0].dtype if types[0] is not None else ""
            yield stake.finding(
                "integer product",
                product,
                f"A product of {kind} matrices reaches {rate(reached, 'OP')}, "
                f"{percent(reached / evidence.ceilings.flops)} of what this machine does in float32: it takes "
                f"{stake.words}",
                f"if no sum exceeds 2**24, multiply in float32, which is exact then, and convert back: "
                f"(a.astype(jnp.float32) @ b.astype(jnp.float32)).astype(jnp.{kind})",
                Measure("operations", product.flops, "FLOP", COUNT),
                Measure("float32 products here", evidence.ceilings.flops, "FLOP/s", evidence.ceilings.source),
            )


def _runs(evidence: Evidence, kernel: str) -> float:
    told = evidence.account.whole.kernels if evidence.account is not None and evidence.account.whole is not None else ()
    return next((each.runs for each in told if each.kernel == kernel), 1.0)


def float32_products(evidence: Evidence) -> Iterator[Finding]:
    """Products in float32 on a device that multiplies bfloat16 several times as fast, and reads half the bytes."""
    if evidence.platform not in ("cuda", "gpu", "rocm", "tpu"):
        return
    products = [
        (level, each)
        for level in evidence.levels
        for each in level.jaxpr.equations
        if each.operation == "dot_general" and all(_is_float32(level, name) for name in each.inputs)
    ]
    stake = Stake.of(evidence, [each.path for _, each in products])
    if stake is None or stake.share < FLOAT32_SHARE:
        return
    largest = max((each for _, each in products), key=lambda each: each.flops)
    moved = sum(
        variable.bytes
        for level, each in products
        for name in (*each.inputs, *each.outputs)
        if (variable := level.type_of(name)) is not None
    )
    yield stake.finding(
        "float32 products",
        largest,
        f"{len(products)} product{'s' * (len(products) > 1)} of float32 matrices take{'s' * (len(products) == 1)} "
        f"{stake.words}: bfloat16 would halve their {size(moved)}",
        'measure it: inspect.what_if(f, ..., change={"dtype": "bfloat16"}), and compare the results',
        Measure("bytes of operands and results", moved, "B", COUNT),
        Measure("time of all kernels", evidence.kernel_seconds, "s", PROFILER),
        what_if=("dtype", "bfloat16"),
    )


def _is_float32(level: Level, name: str) -> bool:
    variable = level.type_of(name)
    return variable is not None and variable.dtype == "float32"
