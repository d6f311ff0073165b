"""Text about a program compiled for targets; every time is an estimate with its source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...analysis.formatting import plural, seconds, size
from ...records import Compiled, Equation, EquationPath, Kernel, Traced
from ..text import describe_equation_count, describe_kernel_count, format_notes, join_operations, table


def target_text(traced: Traced, compiled: Compiled) -> str:
    """Return a heading, a table of the kernels compiled for one target, and notes."""
    equations = {equation.path: equation for equation in traced.jaxpr.walk()}
    many, kernels = describe_equation_count(traced), describe_kernel_count(compiled)
    chip = f" ({', '.join(compiled.devices)})" if compiled.platform != "cpu" else ""
    first = (
        f"{compiled.function} for {compiled.target}{chip}: {many}, compiled in {seconds(compiled.seconds)} to {kernels}"
    )
    return "\n".join([first, *_kernel_table(compiled, equations), *_notes(compiled)])


def targets_text(traced: Traced, compilations: Sequence[Compiled]) -> str:
    """Return a table with one row for each target, and the sources of its numbers."""
    leaves = {item.path for item in traced.jaxpr.walk() if not item.bodies}
    rows: list[tuple[str, ...]] = [
        ("target", "kernels", "fused equations", "saved", "moved", "memory", "at least", "compiled in")
    ]
    rows += [_row(item, leaves) for item in compilations]
    count = describe_equation_count(traced)
    return "\n".join(
        [
            f"{traced.function}: {count}, for {plural(len(compilations), 'target')}; nothing was run",
            *table(rows, right=(1, 2, 3, 4, 5, 6, 7)),
            "saved: bytes that stay inside kernels, moved: bytes that they read and write (roofline estimates, loops "
            "once)",
            "memory: at the peak, the compilers' plans",
            *_source_lines(compilations),
            *dict.fromkeys(line for item in compilations for line in format_notes(item)),
        ]
    )


def _source_lines(compilations: Sequence[Compiled]) -> list[str]:
    """Return the sources of the estimates, in one line if all targets have the same."""
    targets_by_source: dict[str, list[str]] = {}
    for compiled in compilations:
        if compiled.estimated_by:
            targets_by_source.setdefault(compiled.estimated_by, []).append(compiled.target)
    return [f"at least: for {', '.join(names)} {source}" for source, names in targets_by_source.items()]


def _row(compiled: Compiled, leaves: set[EquationPath]) -> tuple[str, ...]:
    """Return the table row of one target; ``leaves`` are the paths of equations without bodies."""
    fused = {path for kernel in compiled.kernels if len(kernel.equations) > 1 for path in kernel.equations} & leaves
    nbytes = sum(item.bytes_read + item.bytes_written for item in compiled.kernels)
    return (
        compiled.target,
        f"{len(compiled.kernels):,}",
        f"{len(fused):,} of {len(leaves):,}",
        size(sum(item.bytes_saved for item in compiled.kernels)),
        size(nbytes),
        size(compiled.memory.peak) if compiled.memory is not None else "",
        seconds(compiled.estimated_seconds) if compiled.estimated_seconds is not None else "not estimated",
        seconds(compiled.seconds),
    )


def _kernel_table(compiled: Compiled, equations: dict[EquationPath, Equation]) -> list[str]:
    """Return a table of kernels, without columns that are empty for all; ``equations`` are the program's by path."""
    heads = ("kernel", "kind", "equations", "saved", "moved", "at least", "cycles", "launch", "layout", "operations")
    rows = [heads, *(_kernel_row(kernel, equations) for kernel in compiled.kernels)]
    shown = [column for column in range(len(heads)) if column < 3 or any(row[column] for row in rows[1:])]
    right = [position for position, column in enumerate(shown) if column in (2, 3, 4, 5, 6)]
    return table([tuple(row[column] for column in shown) for row in rows], right=right)


def _kernel_row(kernel: Kernel, equations: dict[EquationPath, Equation]) -> tuple[str, ...]:
    """Return the table row of one kernel; ``equations`` are those of the program by path."""
    row_equations = [equations[path] for path in kernel.equations if path in equations]
    nbytes = kernel.bytes_read + kernel.bytes_written
    estimated = kernel.estimated_seconds
    return (
        kernel.name,
        kernel.kind,
        str(len(row_equations)),
        size(kernel.bytes_saved) if kernel.bytes_saved else "",
        size(nbytes) if nbytes else "",
        "" if estimated is None else "< 1 ns" if estimated < 1e-9 else seconds(estimated),
        f"{kernel.estimated_cycles:,}" if kernel.estimated_cycles is not None else "",
        kernel.launch,
        _format_layout(kernel.layout),
        join_operations(row_equations) if row_equations else "(a copy)" if kernel.opcode.startswith("copy") else "",
    )


def _format_layout(type_text: str) -> str:
    """Return the layout in a result's type, of a tuple's first element: ``{1,0:T(8,128)S(1)}``; ``""`` if none."""
    match = re.search(r"\{[^{}]*\}", type_text)
    return match[0] if match else ""


def _notes(compiled: Compiled) -> list[str]:
    """Return notes about the sources of the numbers, and what they leave out."""
    sizes = "bytes that stay inside the kernel, and that it reads and writes (roofline estimates, one run)"
    notes = [f"saved and moved: {sizes}"]
    if compiled.platform == "tpu":
        notes.append("what stays on the chip, S(1) in its layout, is not moved; copies bring it there and back")
    if compiled.estimated_seconds is not None:
        notes.append(f"at least {seconds(compiled.estimated_seconds)} for one run ({compiled.estimated_by})")
    if any(kernel.estimated_cycles is not None for kernel in compiled.kernels):
        notes.append("cycles: the TPU compiler's estimate of one run of the kernel")
    if compiled.platform == "cuda":
        notes.append(
            "no device, no tuning: on one XLA measures tiles of matrix products, and may choose others or a library"
        )
    return [*notes, *_format_counts(compiled), *format_notes(compiled)]


def _format_counts(compiled: Compiled) -> list[str]:
    lines = []
    if compiled.flops is not None:
        is_incomplete = compiled.platform == "cuda" and any(
            kernel.kind == "library call" for kernel in compiled.kernels
        )
        exception = ", library calls apart" if is_incomplete else ""
        lines.append(f"{compiled.flops:,.0f} floating-point operations (XLA's count, each loop once{exception})")
    if compiled.memory is not None:
        use = compiled.memory
        lines.append(
            f"{size(use.peak)} of memory at the peak: arguments {size(use.arguments)}, results {size(use.outputs)}, "
            f"temporaries {size(use.temporaries)} (the compiler's plan)"
        )
    return lines
