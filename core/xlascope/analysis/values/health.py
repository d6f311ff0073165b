"""Rules of the doctor about values: born NaNs, overflow, underflow, gradients by depth, dead units, saturation."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...records import (
    Birth,
    Diagnosis,
    Equation,
    EquationPath,
    Finding,
    Jaxpr,
    Measure,
    ProbedValue,
    SourceRange,
    ValueReport,
)
from ...records.values import ValueStatistics
from ..doctor import MAX_FINDINGS
from ..formatting import percent
from .births import ValueFlow

#: Source of the evidence.
PROBED = "values of one call"
HALF_PRECISION = ("float16", "bfloat16", "float8")
#: Share of a gradient's elements that become zero or subnormal by an equation.
MIN_UNDERFLOW_SHARE = 0.3
#: Factor per layer, factor over all layers, and number of layers from which a change of scale matters.
MIN_FACTOR_PER_LAYER, MIN_TOTAL_FACTOR, MIN_LAYERS = 10.0, 1e6, 4
#: Share of zeros in a result of relu.
MIN_DEAD_SHARE = 0.95
#: Sum of squared probabilities, on average over the rows of a softmax: 1 where each row has one probability of 1.
MIN_CONCENTRATION = 0.999

#: The rules about births, which the doctor evaluates on every call whose results are known.
BIRTH_RULES = ("NaN born", "infinity born", "overflow in half precision")
_DEPTH_WORDS = f"a factor of {MIN_FACTOR_PER_LAYER:g} per layer, or {MIN_TOTAL_FACTOR:g} in all; {MIN_LAYERS} layers"
#: What the rules need, by their names.
VALUE_RULES = {
    "NaN born": "a result that holds NaN",
    "infinity born": "a result that holds infinity",
    "overflow in half precision": "infinity in float16, bfloat16 or float8",
    "underflow": f"{percent(MIN_UNDERFLOW_SHARE)} of a gradient lost in half precision",
    "gradients by depth": _DEPTH_WORDS,
    "scale by depth": _DEPTH_WORDS,
    "dead units": f"{percent(MIN_DEAD_SHARE)} of a relu's results",
    "saturated softmax": f"squares of probabilities that sum to {MIN_CONCENTRATION:g}",
}


def find_problems(flow: ValueFlow, births: Sequence[Birth]) -> tuple[Finding, ...]:
    """Return the findings of all rules about values, at most one of each, the births first."""
    depth = list(_find_scale_by_depth(flow))
    groups = (
        list(_find_births(births)),
        list(_find_underflow(flow)),
        sorted(depth, key=lambda finding: finding.rule),
        list(_find_dead_units(flow)),
        list(_find_saturated_softmax(flow)),
    )
    findings: dict[str, Finding] = {}
    for finding in (finding for group in groups for finding in group):
        if finding.rule not in findings or finding.share > findings[finding.rule].share:
            findings[finding.rule] = finding
    return tuple(findings.values())


def add_value_findings(diagnosis: Diagnosis, report: ValueReport | None) -> Diagnosis:
    """Return the doctor's diagnosis with the births of a report before its other findings, at most three in all.

    ``report`` is None for a call whose results are finite: then nothing was born that matters.
    """
    born = [finding for finding in report.findings if finding.rule in BIRTH_RULES] if report is not None else []
    findings = (*born, *diagnosis.findings)[:MAX_FINDINGS]
    return replace(diagnosis, findings=findings, rules=(*BIRTH_RULES, *diagnosis.rules))


def _find_births(births: Sequence[Birth]) -> Iterator[Finding]:
    for birth in births:
        if not birth.reaches_results:
            continue
        is_half = birth.kind == "inf" and any(name in birth.sentence for name in HALF_PRECISION)
        rule = "NaN born" if birth.kind == "nan" else "overflow in half precision" if is_half else "infinity born"
        action = _ACTIONS.get(
            birth.operation, "keep its operands in range before it (clip, add an epsilon, or rescale)"
        )
        if is_half:
            action = "scale the loss or the values down, or compute this in float32 (bfloat16 has float32's range)"
        if birth.kind == "inf" and birth.operation == "div":
            action = _ACTIONS.get(birth.sentence.rpartition("in the derivative of ")[2], action)
        if birth.is_argument:
            action = "ask about the call that made it; of a step made with xlascope.jit, watch_values finds that call"
        where = "".join(f" in iteration {number}" for number in birth.iterations[-1:])
        yield _make_finding(rule, f"{birth.sentence}{where}", action, 1.0, birth.source, birth.path or None)


_ACTIONS = {
    "log": "keep the operand away from 0: jnp.log(jnp.maximum(x, tiny)), log1p, or log_softmax instead of log(softmax)",
    "sqrt": "make the operand positive before it: jnp.sqrt(x + eps), or for its gradient at 0 where(x > 0, x, 1)",
    "rsqrt": "add an epsilon to the operand: lax.rsqrt(variance + eps)",
    "div": "add an epsilon to the divisor, or select a harmless divisor before the division: where(d == 0, 1, d)",
    "exp": "subtract the maximum before exp, or use logsumexp, softmax or expit, which do",
    "integer_pow": "add an epsilon to the base, or select a harmless base where it is 0",
    "pow": "keep the base positive: jnp.maximum(x, eps)",
    "mul": "find what made one factor infinite; a mask that multiplies does not remove infinities: use jnp.where",
    "gather": "check the indices, or pass mode='clip'",
}


def _find_underflow(flow: ValueFlow) -> Iterator[Finding]:
    """Find a gradient in half precision of which an equation loses a large part to zeros and subnormals."""
    for value in _results(flow):
        stats, equation = value.statistics, flow.places[value.path].equation
        if stats is None or not value.dtype.startswith(HALF_PRECISION) or not stats.elements:
            continue
        if equation.role == "forward":
            continue
        before = max((_lost_share(operand.statistics) for operand in _operands(flow, value.path)), default=0.0)
        lost = _lost_share(stats) - before
        if lost > MIN_UNDERFLOW_SHARE:
            yield _make_finding(
                "underflow",
                f"{equation.operation} loses {percent(lost)} of a gradient: {stats.zeros:,} of {stats.elements:,} "
                f"elements are 0 and {stats.subnormals:,} subnormal in {value.dtype}",
                "scale the loss up and the gradients down again, or use bfloat16, which has float32's range",
                lost,
                value.source,
                value.path,
            )


def _lost_share(stats: ValueStatistics | None) -> float:
    return (stats.zeros + stats.subnormals) / stats.elements if stats is not None and stats.elements else 0.0


def _find_scale_by_depth(flow: ValueFlow) -> Iterator[Finding]:
    """Find equations of one line, one after the other, whose results shrink or grow by a factor each."""
    groups: dict[Any, list[ProbedValue]] = {}
    for value in _results(flow):
        equation = flow.places[value.path].equation
        if equation.operation not in ("dot_general", "conv_general_dilated") or value.statistics is None:
            continue
        line = None if value.source is None else (value.source.file, value.source.line)
        key = (equation.path.parent, equation.role, line, equation.operation, equation.parameters, value.shape)
        groups.setdefault(key, []).append(value)
    for key, values in groups.items():
        sizes = [value.statistics.root_mean_square or 0.0 for value in values if value.statistics is not None]
        factor = _factor_per_layer(sizes)
        if factor is None:
            continue
        step, total = abs(math.log(factor)), abs(math.log(factor)) * (len(sizes) - 1)
        if step < math.log(MIN_FACTOR_PER_LAYER) and total < math.log(MIN_TOTAL_FACTOR):
            continue
        is_gradient = key[1] != "forward"
        what = "gradient" if is_gradient else "value"
        change = f"shrink {_times(1 / factor)}" if factor < 1 else f"grow {_times(factor)}"
        yield _make_finding(
            "gradients by depth" if is_gradient else "scale by depth",
            f"The {what}s {change} from layer to layer, over {len(sizes)} layers: their root mean square goes from "
            f"{sizes[0]:.3g} to {sizes[-1]:.3g}",
            "scale the initial weights by 1/sqrt(inputs) (nn.initializers.he_normal), normalize between layers, or add "
            "the input of each layer to its result",
            1.0,
            values[0].source,
            values[-1].path,
        )


def _times(factor: float) -> str:
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.2g} times"


def _factor_per_layer(sizes: Sequence[float]) -> float | None:
    """Return the median factor between neighbours; None for fewer than the least number of layers."""
    finite = [size for size in sizes if size > 0 and math.isfinite(size)]
    if len(sizes) < MIN_LAYERS or len(finite) < MIN_LAYERS - 1:
        return None
    return math.exp(statistics.median(math.log(b / a) for a, b in itertools.pairwise(finite)))


def _find_dead_units(flow: ValueFlow) -> Iterator[Finding]:
    """Find a relu whose results are nearly all zero."""
    for value in _results(flow):
        stats, equation = value.statistics, flow.places[value.path].equation
        if stats is None or not is_relu(equation) or stats.elements < 2:
            continue
        share = stats.zeros / stats.elements
        if share >= MIN_DEAD_SHARE:
            yield _make_finding(
                "dead units",
                f"{percent(share)} of the results of a relu are 0 ({stats.zeros:,} of {stats.elements:,}), and so are "
                "their gradients",
                "lower the learning rate or the biases before it, or use leaky_relu, gelu or silu",
                share,
                value.source,
                value.path,
            )


def is_relu(equation: Equation) -> bool:
    """Return whether an equation is a relu: a maximum with 0."""
    is_zero = any(text.partition(":")[0] in ("0", "0.0") for text in equation.inputs)
    return equation.operation == "max" and equation.role == "forward" and is_zero


def _find_saturated_softmax(flow: ValueFlow) -> Iterator[Finding]:
    """Find probabilities of a softmax that are all 0 or 1: quotients of exponentials that sum to 1 along an axis."""
    for value in _results(flow):
        stats, equation = value.statistics, flow.places[value.path].equation
        if stats is None or equation.operation != "div" or equation.role != "forward" or len(value.shape) < 1:
            continue
        if stats.mean is None or stats.root_mean_square is None or stats.minimum is None or stats.maximum is None:
            continue
        if stats.minimum < 0 or stats.maximum > 1 or stats.mean <= 0 or not _is_probability(stats.mean, value.shape):
            continue
        concentration = stats.root_mean_square**2 / stats.mean
        if concentration >= MIN_CONCENTRATION:
            yield _make_finding(
                "saturated softmax",
                f"Each row of a softmax has one probability of 1, and the others are 0 ({stats.zeros:,} of "
                f"{stats.elements:,} elements exactly): gradients through it vanish",
                "scale the logits down (attention: by 1/sqrt(size of a head)), or normalize queries and keys",
                concentration,
                value.source,
                value.path,
            )


def _is_probability(mean: float, shape: Sequence[int]) -> bool:
    """Return whether elements of that mean may sum to 1 along an axis of at least 2."""
    return any(size > 1 and abs(mean * size - 1) < 1e-2 for size in shape)


def _results(flow: ValueFlow) -> Iterator[ProbedValue]:
    return (value for value in flow.values.values() if value.position == "result" and value.path in flow.places)


def _operands(flow: ValueFlow, path: EquationPath) -> Iterator[ProbedValue]:
    for index in range(len(flow.places[path].equation.inputs)):
        value = flow.values.get((path, "operand", index))
        if value is not None:
            yield value


def _make_finding(
    rule: str, sentence: str, action: str, share: float, source: SourceRange | None, path: EquationPath | None
) -> Finding:
    evidence = (Measure("share", share, "", PROBED),)
    return Finding(rule, sentence, action, min(share, 1.0), 0.0, source, "", path, evidence)


def interesting_equations(jaxpr: Jaxpr) -> Iterable[EquationPath]:
    """Return the equations whose statistics the rules read."""
    for equation in jaxpr.walk():
        is_product = equation.operation in ("dot_general", "conv_general_dilated")
        is_quotient = equation.operation == "div" and equation.role == "forward"
        if is_product or is_quotient or is_relu(equation) or _is_half_precision_gradient(jaxpr, equation):
            yield equation.path


def _is_half_precision_gradient(jaxpr: Jaxpr, equation: Equation) -> bool:
    """Return whether a derivative's equation at the top level computes in half precision."""
    variables = (jaxpr.variables.get(name) for name in equation.outputs)
    is_half = any(variable is not None and variable.dtype.startswith(HALF_PRECISION) for variable in variables)
    return is_half and equation.role != "forward"
