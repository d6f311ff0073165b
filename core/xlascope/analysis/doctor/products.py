"""Rules about matrix products that have a cheaper form: another order, no inverse, or row look-ups."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...records import Equation, Finding, Measure
from ...records.traits import Trait
from ..formatting import percent, plural, rate, size
from .evidence import Evidence, Level, name_of
from .rule import COUNT, ESTIMATE, PROFILER, CallCost, are_written_separately

#: Minimum ratio of operations to those of the other order, and minimum length of a one-hot row.
MIN_FLOP_RATIO, MIN_CLASSES = 4.0, 64
#: Fraction of the float32 rate below which integer products are slow, and operations from which on a product can
#: reach that rate.
SLOW_RATE_FRACTION, MIN_LARGE_FLOPS = 0.5, 1e7
#: Minimum fraction of the kernels' time in float32 products.
MIN_FLOAT32_SHARE = 0.4


def find_product_order(evidence: Evidence) -> Iterator[Finding]:
    """Find A · B · e evaluated from the left where e is small: A · B is a large product that is not needed."""
    for level in evidence.levels:
        for inner in level.jaxpr.equations:
            order = _find_cheaper_order(level, inner)
            cost = order and CallCost.of(evidence, (inner.path, order.outer.path))
            if order and cost:
                flops, fewer = (rate(value, "FLOP").removesuffix("/s") for value in (order.flops, order.fewer))
                yield cost.make_finding(
                    "product order",
                    inner,
                    f"Two matrices are multiplied before a smaller array: {flops} where {fewer} would do; they take "
                    f"{cost.words}",
                    f"multiply in the other order: {order.instead}",
                    Measure("operations now", order.flops, "FLOP", ESTIMATE),
                    Measure("operations in the other order", order.fewer, "FLOP", ESTIMATE),
                )


class _CheaperOrder(NamedTuple):
    """Cheaper order of two products: the outer equation, operations now and in the other order, and the code for it."""

    outer: Equation
    flops: float
    fewer: float
    instead: str


def _find_cheaper_order(level: Level, inner: Equation) -> _CheaperOrder | None:
    """Return a cheaper order for D = (A · B) · E, if it is much cheaper: A · (B · E) or (E · A) · B.

    ``inner`` is the equation of A · B. None if it is no product of matrices or is used otherwise.
    """
    if inner.operation != "dot_general" or inner.role != "forward" or inner.flops <= 0:
        return None
    outer = level.only_user(inner.outputs[0])
    if (
        outer is None
        or outer.operation != "dot_general"
        or outer.role != "forward"
        or outer.inputs[0] == outer.inputs[1]
        or not are_written_separately(inner, outer)
    ):
        return None
    index = outer.inputs.index(inner.outputs[0])
    first, second = _contracted_axes(inner), _contracted_axes(outer)
    a, b, e = (level.type_of(name) for name in (*inner.inputs, outer.inputs[1 - index]))
    if first is None or second is None or a is None or b is None or e is None:
        return None
    if len(a.shape) != 2 or len(b.shape) != 2 or not e.shape:
        return None
    m, n = a.shape[1 - first[0]], b.shape[1 - first[1]]
    k = a.shape[first[0]]
    from_right = second[index] == 1  # C is [m, n]: its last axis is B's
    p = math.prod(e.shape) / (n if from_right else m)
    flops = 2.0 * m * k * n + 2.0 * m * n * p
    fewer = 2.0 * k * n * p + 2.0 * m * k * p if from_right else 2.0 * m * k * p + 2.0 * k * n * p
    if flops < MIN_FLOP_RATIO * fewer:
        return None
    names = (name_of(level, inner.inputs[0], "a"), name_of(level, inner.inputs[1], "b"))
    small = name_of(level, outer.inputs[1 - index], "c")
    instead = f"{names[0]} @ ({names[1]} @ {small})" if from_right else f"({small} @ {names[0]}) @ {names[1]}"
    return _CheaperOrder(outer, flops, fewer, instead)


def _contracted_axes(product: Equation) -> tuple[int, int] | None:
    """Return the axis of each operand that a product of matrices contracts.

    None if it contracts several axes, has batch axes, or cannot be read.
    """
    return _parse_contracted_axes(product.parameters)


@lru_cache(256)  # layers have equal products
def _parse_contracted_axes(parameters: str) -> tuple[int, int] | None:
    text = parameters.partition("dimension_numbers=")[2]
    for keyword in (" preferred", " precision", " out_"):
        text = text.partition(keyword)[0]
    try:
        (lhs, rhs), batch = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return (lhs[0], rhs[0]) if len(lhs) == len(rhs) == 1 and batch == ((), ()) else None


def find_inverses(evidence: Evidence) -> Iterator[Finding]:
    """Find the inverse of a matrix that only multiplies something smaller."""
    for level in evidence.levels:
        for solve in level.jaxpr.equations:
            if solve.operation != "custom_linear_solve" or len(solve.outputs) != 1 or solve.role != "forward":
                continue
            product, inverted = level.only_user(solve.outputs[0]), level.type_of(solve.outputs[0])
            if (
                product is None
                or product.operation != "dot_general"
                or inverted is None
                or not _is_identity(level, solve)
            ):
                continue
            if not are_written_separately(solve, product):
                continue
            multiplied = level.type_of(next((x for x in product.inputs if x != solve.outputs[0]), ""))
            rows = inverted.shape[-1]
            columns = (
                math.prod(multiplied.shape) / rows if multiplied is not None and len(inverted.shape) == 2 else rows
            )
            cost = CallCost.of(evidence, (solve.path,)) if columns <= rows / 2 else None
            if cost is not None:
                yield cost.make_finding(
                    "inverse",
                    solve,
                    f"A {rows} × {rows} matrix is inverted to multiply {plural(int(columns), 'column')} by it: "
                    f"solving for all {rows} columns of the inverse takes {cost.words}",
                    "solve instead: jnp.linalg.solve(a, b) for jnp.linalg.inv(a) @ b; it is more accurate as well",
                    Measure("columns solved for", rows, "", COUNT),
                    Measure("columns needed", columns, "", COUNT),
                )


def _is_identity(level: Level, solve: Equation) -> bool:
    """Return whether the right-hand side of a linear solve is an identity matrix: ones where two iotas are equal."""
    return len(solve.inputs) > 0 and _count_iota_operands(level, solve.inputs[-1]) == 2


def _count_iota_operands(level: Level, name: str) -> int:
    """Return how many operands of the comparison that computes a 0/1 value are iotas, 0 if none does.

    ``name`` is the variable of the value.
    """
    producer = level.producers.get(name)
    compared = (
        level.producers.get(producer.inputs[0])
        if producer is not None and producer.operation == "convert_element_type"
        else None
    )
    if compared is None or compared.operation != "eq":
        return 0
    return sum(_is_iota(level, operand) for operand in compared.inputs)


def _is_iota(level: Level, name: str) -> bool:
    producer = level.producers.get(name)
    while producer is not None and level.traced.has(producer, Trait.KEEPS_ORDER):
        producer = level.producers.get(producer.inputs[0])
    return producer is not None and producer.operation == "iota"


def find_one_hot_products(evidence: Evidence) -> Iterator[Finding]:
    """Find rows selected by a product with one-hot rows: on a CPU or GPU, looking them up reads less."""
    if evidence.platform not in ("cpu", "cuda", "gpu", "rocm"):
        return
    for level in evidence.levels:
        for product in level.jaxpr.equations:
            if product.operation != "dot_general" or product.role != "forward" or _contracted_axes(product) is None:
                continue
            chooser, table = level.producers.get(product.inputs[0]), level.type_of(product.inputs[1])
            one_hot_rows = level.type_of(product.inputs[0])
            axes = _contracted_axes(product)
            if (
                chooser is None
                or table is None
                or one_hot_rows is None
                or axes is None
                or not _is_one_hot(level, chooser)
            ):
                continue
            if not are_written_separately(chooser, product):
                continue
            classes = one_hot_rows.shape[axes[0]]
            zeros = axes[0] == len(one_hot_rows.shape) - 1 and axes[1] == 0 and classes >= MIN_CLASSES
            cost = CallCost.of(evidence, (chooser.path, product.path)) if zeros else None
            if cost is not None:
                rows = math.prod(one_hot_rows.shape) // classes
                yield cost.make_finding(
                    "one-hot product",
                    product,
                    f"{rows:,} rows are chosen from {classes:,} by a product with one-hot rows, {classes - 1:,} of "
                    f"{classes:,} numbers zero: it takes {cost.words}",
                    f"look the rows up: {name_of(level, product.inputs[1], 'table')}[labels]",
                    Measure("operations", product.flops, "FLOP", ESTIMATE),
                    Measure("rows chosen", rows, "", COUNT),
                )


def _is_one_hot(level: Level, chooser: Equation) -> bool:
    """Return whether an equation creates one-hot rows: by comparing with one iota, or calling what does."""
    if len(chooser.bodies) == 1:
        inner = Level(chooser.bodies[0], level.traced)
        return len(inner.jaxpr.outputs) == 1 and _count_iota_operands(inner, inner.jaxpr.outputs[0]) == 1
    return _count_iota_operands(level, chooser.outputs[0]) == 1


def find_integer_products(evidence: Evidence) -> Iterator[Finding]:
    """Find products of integers on a CPU, whose fast products are for floats only."""
    if evidence.platform != "cpu" or evidence.ceilings is None:
        return
    for level in evidence.levels:
        for product in level.jaxpr.equations:
            types = [level.type_of(name) for name in product.inputs]
            if product.operation != "dot_general" or not all(x is not None and "int" in x.dtype for x in types):
                continue
            cost = CallCost.of(evidence, (product.path,)) if product.flops >= MIN_LARGE_FLOPS else None
            flop_rate = product.flops / cost.seconds if cost is not None else math.inf
            if (
                cost is None
                or flop_rate >= SLOW_RATE_FRACTION * evidence.ceilings.flops
                or _runs_per_call(evidence, cost.kernel) >= 2
            ):
                continue
            kind = types[0].dtype if types[0] is not None else ""
            yield cost.make_finding(
                "integer product",
                product,
                f"A product of {kind} matrices reaches {rate(flop_rate, 'OP')}, "
                f"{percent(flop_rate / evidence.ceilings.flops)} of what this machine does in float32: it takes "
                f"{cost.words}",
                f"if no sum exceeds 2**24, multiply in float32, which is exact then, and convert back: "
                f"(a.astype(jnp.float32) @ b.astype(jnp.float32)).astype(jnp.{kind})",
                Measure("operations", product.flops, "FLOP", ESTIMATE),
                Measure("float32 products here", evidence.ceilings.flops, "FLOP/s", evidence.ceilings.source),
            )


def _runs_per_call(evidence: Evidence, kernel: str) -> float:
    kernel_calls = (
        evidence.account.mean.kernels if evidence.account is not None and evidence.account.mean is not None else ()
    )
    return next((kernel_call.runs for kernel_call in kernel_calls if kernel_call.kernel == kernel), 1.0)


def find_float32_products(evidence: Evidence) -> Iterator[Finding]:
    """Find float32 products on a device that has bfloat16 products of several times the speed."""
    if evidence.platform not in ("cuda", "gpu", "rocm", "tpu"):
        return
    products = [
        (level, product)
        for level in evidence.levels
        for product in level.jaxpr.equations
        if product.operation == "dot_general" and all(_is_float32(level, name) for name in product.inputs)
    ]
    cost = CallCost.of(evidence, [product.path for _, product in products])
    if cost is None or cost.share < MIN_FLOAT32_SHARE:
        return
    largest = max((product for _, product in products), key=lambda product: product.flops)
    operand_bytes = sum(
        variable.bytes
        for level, product in products
        for name in (*product.inputs, *product.outputs)
        if (variable := level.type_of(name)) is not None
    )
    yield cost.make_finding(
        "float32 products",
        largest,
        f"{len(products)} product{'s' * (len(products) > 1)} of float32 matrices take{'s' * (len(products) == 1)} "
        f"{cost.words}: bfloat16 would halve their {size(operand_bytes)}",
        'measure it: inspect.what_if(f, ..., change={"dtype": "bfloat16"}), and compare the results',
        Measure("bytes of operands and results", operand_bytes, "B", ESTIMATE),
        Measure("time of all kernels", evidence.kernel_seconds, "s", PROFILER),
        what_if=("dtype", "bfloat16"),
    )


def _is_float32(level: Level, name: str) -> bool:
    variable = level.type_of(name)
    return variable is not None and variable.dtype == "float32"
