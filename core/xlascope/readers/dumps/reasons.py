"""Explanations of XLA's reasons in plain words; a reason without an entry has only XLA's words."""

from __future__ import annotations

import re

_EXPLANATIONS = (
    (
        r"operand can not be duplicated",
        "The compiler found beforehand that this result has to be stored anyway, because it cannot be fused into every "
        "one of its users: computing it again in this one would save nothing.",
    ),
    (
        r"expensive producer would be duplicated|too expensive to duplicate|duplicated and expensive",
        "The producer is costly to compute (such as an exponential, a division or a reduction), and the fused loop "
        "would compute it several times over.",
    ),
    (r"Fusion is not profitable", "The compiler's rules for this pair of operations see nothing to gain."),
    (
        r"[Pp]roducer is not (?:loop-fusible|compatible for loop fusion)",
        "The producer cannot be computed one element at a time inside the consumer's loop: it is a matrix product, "
        "a library call, or of some other kind that runs as a whole.",
    ),
    (
        r"the producer is not fusible",
        "The producer runs as a unit of its own (a matrix product, a library call, or a parameter), and is not taken "
        "into loops.",
    ),
    (
        r"the consumer is not fusible",
        "The consumer cannot take others in: it is the program's result, a library call, or a kernel made by another "
        "part of the compiler.",
    ),
    (
        r"will execute slower if fused",
        "By the compiler's cost model the fused kernel takes longer than the two apart, mostly because it would "
        "compute things again that are read from memory now.",
    ),
    (
        r"fusion into output of a reduce fusion would create a loop fusion",
        "The producer ends in a reduction; going on after it in the same kernel would lose the fast way to reduce.",
    ),
    (
        r"both the producer and the consumer contain a reduce",
        "One kernel can do one reduction at a time: the second needs the whole result of the first.",
    ),
    (
        r"consumer not eligible as multi-output fusion root",
        "A kernel with several results can end only in certain operations, and the consumer is not one of them.",
    ),
    (
        r"would introduce a cycle|creates a cycle",
        "Something outside would need a part of the fused kernel and feed another part of it: it could not be ordered.",
    ),
    (
        r"are connected$",
        "One of the two depends on the other, so they cannot run side by side in one kernel.",
    ),
    (
        r"[Nn]ot enough|exceed|too large|shared memory|too many (?:parameters|operands|instructions)",
        "The fused kernel would not fit what the device has for one kernel.",
    ),
    (
        r"Don't fuse instructions from custom fusions/calls",
        "This belongs to a kernel that is handed to a library as a whole, and stays as it is.",
    ),
    (
        r"insufficient non-constant nodes|not found a fusible case",
        "The rules for library kernels find nothing here worth handing to the library together.",
    ),
    (r"is not fusible", "This kind of operation is never fused."),
    (
        r"output fusion is disabled",
        'Taking what follows into the kernel of a matrix product or reduction ("output fusion") is switched off for '
        "this one.",
    ),
    (
        r"[Ss]hould not fuse with elementwise",
        "The compiler does not take this producer into a loop over single elements.",
    ),
    (r"different loop shapes", "One loop can compute both only where both run over the same shape."),
    (r"producer is tuple", "The producer computes nothing: it only holds values together."),
    (
        r"effective scalar",
        "A single number is not worth fusing, unless it says where an array is updated in place.",
    ),
    (
        r"Not fusing MOF at: ",
        "This step looks only for kernels with several results (MOF), and this pair does not make one.",
    ),
    (
        r"Not allowed at: ",
        "A rule of the TPU's compiler forbids it; that compiler names the line of its rule and not the reason.",
    ),
    (r"only bitcast users", "Its users only rename its bytes: there is no computation to take it into."),
    (
        r"can not be tiled",
        "The code generator for tiled kernels (Triton) cannot divide the fused kernel into tiles.",
    ),
    (r"multi-output fusion not supported by this pass", "This pass makes kernels with one result only."),
)
_TABLE = tuple((re.compile(pattern), words) for pattern, words in _EXPLANATIONS)


def explain_reason(reason: str) -> str:
    """Return the explanation of a reason of XLA's in plain words, or ``""`` for an unknown one.

    >>> explain_reason("Fusion is not profitable. ; multi-output fusion not supported by this pass")
    "The compiler's rules for this pair of operations see nothing to gain."
    """
    for pattern, words in _TABLE:
        if pattern.search(reason):
            return words
    return ""
