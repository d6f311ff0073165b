"""Why cases are slower than their goals, as far as it was looked into: printed behind each case that fails."""

from __future__ import annotations

from collections.abc import Mapping

_PER_EQUATION = "each equation is a call of Python code of ours, as in jax"
_BINDINGS = "jaxlib's MLIR bindings create operations one by one"
_FRAME = "a Python frame around jaxlib's call, 0.2 µs, which tells arrays from tracers and numbers"
_COPIES = "NumPy's memory is copied at each call; jax shares it with a program that may still run"

#: By group; a case that has a reason of its own has that one.
OF_GROUPS: Mapping[str, str] = {
    "lowering": f"XLA's fusion is simulated before it runs, and {_BINDINGS}",
    "eager": _FRAME,
    "numpy_arguments": _COPIES,
}
OF_CASES: Mapping[str, str] = {
    "grad_trace": _PER_EQUATION,
    "vmap_grad_trace": _PER_EQUATION,
    "transformer_trace": _PER_EQUATION,
    "lstm_trace": _PER_EQUATION,
    "lstm_grad_trace": _PER_EQUATION,
    "lstm_vmap_grad_trace": _PER_EQUATION,
    "lower": _BINDINGS,
    "mlp_lower": _BINDINGS,
    "transformer_lower": _BINDINGS,
    "lstm_lower": _BINDINGS,
    "per_example_lower": _BINDINGS,
    "eager_grad": "jaxlib's calls of compiled operations, 4 µs each, are most of it",
    "first call of statistics": "maxima and minima keep NaN, which XLA may lose on a CPU: six more kernels compile",
    "first call of hessian": "results that are kept compile in kernels of their own; a call takes 0.94 of jax's time",
    "first call of hamiltonian": "random numbers are written in place and compile longer; a call takes 0.42",
    "step of attention_forward": "0.96 to 1.10 from process to process, by where its 16 MB of scores lie in memory",
    "step of chain_gradient": "one kernel of the same operations as jax's, in another order",
    "evaluation": f"{_COPIES}: 3 µs for each of two small arrays",
    "first_result_warm": "importing, tracing and reading the compiled program from disk are what remains",
}


def reason_of(group: str, case: str) -> str:
    """Return why a case of a group is slower than its goal, ``""`` if nobody has looked into it.

    >>> reason_of("eager", "unary sin")[:14], reason_of("steps", "step of heat")
    ('a Python frame', '')
    """
    return OF_CASES.get(case) or OF_GROUPS.get(group, "")
