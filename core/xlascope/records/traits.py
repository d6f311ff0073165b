"""Traits of operations: facts on which passes, the doctor and pictures decide.

Each operation of the engine declares its traits (`ir/operation.py`); records carry them by the operation's
name, for readers without an engine.
"""

from __future__ import annotations

from enum import StrEnum


class Trait(StrEnum):
    """Fact about an operation that readers of records need, such as whether it is elementwise."""

    #: Each element of the result is computed from the elements of the operands at the same index.
    ELEMENTWISE = "elementwise"
    #: XLA's CPU compiler computes it again in each kernel that needs it.
    CHEAP = "cheap"
    #: Elementwise, and an element takes about as long as ten sums.
    TRANSCENDENTAL = "transcendental"
    #: Elementwise, and an element takes about as long as a division.
    DIVIDES = "divides"
    #: It moves, reshapes or creates elements without arithmetic.
    MOVES = "moves"
    #: It moves elements and keeps their order; a broadcast repeats them.
    KEEPS_ORDER = "keeps order"
    #: It moves each element to one index.
    PERMUTES = "permutes"
    #: It multiplies and adds: a product of matrices, or a convolution.
    PRODUCT = "product"
    #: It begins a kernel of its own on a CPU.
    KERNEL = "kernel"
    #: It runs a program again and again.
    LOOP = "loop"
    #: It only wraps the program that it holds.
    CALL = "call"
    #: Operations after it are not fused with operations before it.
    BARRIER = "barrier"
    #: It calls a function of Python.
    PYTHON = "python"


Traits = frozenset[Trait]

NO_TRAITS: Traits = frozenset()
#: Traits of elementwise functions, by their cost per element.
SIMPLE: Traits = frozenset({Trait.ELEMENTWISE, Trait.CHEAP})
DIVISION: Traits = frozenset({Trait.ELEMENTWISE, Trait.DIVIDES})
TRANSCENDENTAL: Traits = frozenset({Trait.ELEMENTWISE, Trait.TRANSCENDENTAL})
#: Transcendental functions that XLA's CPU compiler computes again all the same.
CIRCULAR: Traits = TRANSCENDENTAL | {Trait.CHEAP}
#: Traits of operations that move elements.
MOVES: Traits = frozenset({Trait.MOVES})
KEEPS_ORDER: Traits = MOVES | {Trait.KEEPS_ORDER}
PERMUTES: Traits = MOVES | {Trait.PERMUTES}
#: Traits of other operations.
KERNEL: Traits = frozenset({Trait.KERNEL})
PRODUCT: Traits = frozenset({Trait.PRODUCT})
LOOP: Traits = frozenset({Trait.LOOP})
CALL: Traits = frozenset({Trait.CALL})
PYTHON: Traits = frozenset({Trait.PYTHON})
