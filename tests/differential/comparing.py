"""What is a difference between our answer to a call and jax's."""

from __future__ import annotations

import builtins
import re
from typing import Any, NamedTuple

from . import accuracy

Answer = dict[str, Any]

#: What a compiler says, and no user should have to read.
COMPILER_TEXT = re.compile(
    r"stablehlo\.|'mhlo\.|op operand|op result|INVALID_ARGUMENT|INTERNAL:|UNIMPLEMENTED|loc\(|error: |RET_CHECK"
    r"|mlir|MLIR|INVALID ARG|Unknown PrimitiveType|xla/|Verification failed|tensor<"
)
#: Classes by which our own code fails, rather than says that an argument is wrong.
INTERNAL = (
    "KeyError",
    "AttributeError",
    "AssertionError",
    "UnboundLocalError",
    "RecursionError",
    "StopIteration",
    "SystemError",
)
#: What Python or NumPy says when a value was used before anybody looked at it: it names no argument.
UNCLEAR = re.compile(
    r"tuple index out of range|list index out of range|list assignment index|modulo by zero|division by zero"
    r"|not supported between instances|argument must be a string|must be real number|has no len\(\)|unhashable type"
    r"|object is not iterable|is not subscriptable|cannot unpack|values to unpack|indices must be integers"
    r"|object cannot be interpreted as an integer|non-int of type|cannot convert float|object is not callable"
    r"|Invalid integer data type|data type .* not understood|zip\(\) argument|is not in list|Cannot interpret"
    r"|inhomogeneous|^Non-hashable static|unsupported operand type\(s\) for|^$|only length-1 arrays"
)
#: In which order of badness differences are reported.
KINDS = (
    "ended", "compiler text", "internal error", "unclear error", "alias", "value", "sign of zero", "type", "dtype",
    "shape", "weak type", "fails only here", "accepted only here", "error class", "accuracy", "signature",
)  # fmt: skip


class Difference(NamedTuple):
    """One call, what differs, and both answers in short."""

    kind: str
    text: str


def compared(ours: Answer, theirs: Answer) -> Difference | None:
    """The worst difference between two answers."""
    if "ended" in ours:
        if ours["ended"].startswith("no answer") and ours == theirs:  # a loop that has no end
            return None
        return Difference("ended", ours["ended"])
    if "error" in ours:
        return _failed(ours, theirs)
    if ours.get("alias"):
        return Difference("alias", f"{ours['type']}: changes when the argument is written to")
    if "ended" in theirs:
        return None
    if "error" in theirs:
        return Difference("accepted only here", f"{said(ours)}; jax: {said(theirs)}")
    return _results(ours, theirs)


def mishap(ours: Answer) -> str:
    """What is wrong with how a call failed, whatever jax says; nothing where it says that an argument is wrong."""
    if "ended" in ours:
        return f"ended: {ours['ended']}"
    if "error" not in ours:
        return ""
    found = _failed(ours, {**ours, "error": "", "message": ""})
    return f"{found.kind}: {found.text}" if found else ""


def _failed(ours: Answer, theirs: Answer) -> Difference | None:
    if COMPILER_TEXT.search(ours["message"]) or ours["error"] in ("JaxRuntimeError", "XlaRuntimeError", "MLIRError"):
        return Difference("compiler text", said(ours))
    if ours["error"] in INTERNAL and not (ours["error"] == "AttributeError" == theirs.get("error")):
        return Difference("internal error", f"{said(ours)} at {ours['place']}; jax: {said(theirs)}")
    if UNCLEAR.search(ours["message"]) and "/xlascope/" in ours["place"] and ours["error"] != "TypePromotionError":
        return Difference("unclear error", f"{said(ours)} at {ours['place']}; jax: {said(theirs)}")
    if "ended" in theirs:
        return None
    if "error" not in theirs:
        return Difference("fails only here", f"{said(ours)}; jax: {said(theirs)}")
    if not same_class(ours, theirs):
        return Difference("error class", f"{said(ours)}; jax: {said(theirs)}")
    return None


def same_class(ours: Answer, theirs: Answer) -> bool:
    """Whether who catches jax's error catches ours: its class, or the nearest of Python's own."""
    return theirs["error"] in ours["classes"] or _builtin(theirs) in ours["classes"]


def _builtin(answer: Answer) -> str:
    return next((name for name in answer["classes"] if hasattr(builtins, name)), "Exception")


def said(answer: Answer) -> str:
    """An answer on one line."""
    if "ended" in answer:
        return answer["ended"]
    if "error" in answer:
        message = " ".join(answer["message"].split())
        return f"{answer['error']}: {message[:160]}"
    if "items" in answer:
        inner = ", ".join(said(each) for each in answer["items"][:4])
        return f"{answer['type']}({inner}{', …' if len(answer['items']) > 4 else ''})"
    if "dtype" in answer:
        weak = ", weak" if answer.get("weak") else ""
        return f"{answer['type']} {answer['dtype']}{answer['shape']}{weak} {_values(answer)}".rstrip()
    return f"{answer['type']} {answer.get('value', '')}".rstrip()


def _values(answer: Answer) -> str:
    if "bits" not in answer:
        return ""
    values = accuracy.contents(answer).reshape(-1)
    return f"[{' '.join(str(each) for each in values[:12])}{' …' if values.size > 12 else ''}]"


def _results(ours: Answer, theirs: Answer) -> Difference | None:
    both = f"{said(ours)}; jax: {said(theirs)}"
    if ours["type"] != theirs["type"]:
        return Difference("type", both)
    if len(ours.get("items", ())) != len(theirs.get("items", ())):
        return Difference("shape", both)
    found = [_results(*pair) for pair in zip(ours.get("items", ()), theirs.get("items", ()), strict=True)]
    if differences := [each for each in found if each]:
        return Difference(min((each.kind for each in differences), key=KINDS.index), differences[0].text)
    for field in ("dtype", "shape"):
        if ours.get(field) != theirs.get(field):
            return Difference(field, both)
    if "bits" in ours and "bits" in theirs and (kind := _unequal(ours, theirs)):
        return Difference(kind, both)
    if ours.get("weak") != theirs.get("weak"):
        return Difference("weak type", both)
    if ours.get("value") != theirs.get("value") or ours.get("order") != theirs.get("order"):
        return Difference("value", both)
    return None


def _unequal(ours: Answer, theirs: Answer) -> str | None:
    mine, other = accuracy.contents(ours), accuracy.contents(theirs)
    if accuracy.same_bits(mine, other):
        return None
    if not accuracy.is_inexact(ours["dtype"]):
        return "value"
    if accuracy.lost_signs(mine, other):
        return "sign of zero"
    return "accuracy"
