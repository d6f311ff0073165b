"""Kernels of an optimized HLO module, each with the equations that were fused into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...records.compiled import Kernel
from ...records.op_names import repeats_in, stacked_paths
from ...records.paths import EquationPath
from .collectives import find_collective
from .kernel_reads import KernelReads
from .layouts import is_wait, memory_bytes, result_type, special_layout
from .provenance import EquationPaths, ProvenanceMap, data_of, provenance_of
from .text import Computation, Instruction, Module, read_module, without_layout
from .traffic import Traffic
from .uses import MOVE_OPCODES

#: Opcodes that only name buffers: nothing runs for them.
_ALIAS_OPCODES = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"}
)
#: Opcodes that do no work inside a fusion either (a bitcast there is a reshape in the program, and counts).
_NO_WORK_OPCODES = frozenset({"parameter", "constant", "tuple", "get-tuple-element"})
#: Opcodes that compute nothing, and fusions, which have the name of an instruction inside.
_NON_COMPUTING_OPCODES = _NO_WORK_OPCODES | {"fusion", "copy", "reshape", "transpose"}
#: Opcodes whose called computations run kernel by kernel, each under its own name.
_CONTROL_FLOW_OPCODES = frozenset({"call", "while", "conditional"})
#: Opcodes that XLA delegates to a library.
_LIBRARY_OPCODES = frozenset({"dot", "convolution", "fft", "cholesky", "triangular-solve", "custom-call"})
#: How libraries appear in a custom fusion's configuration.
_LIBRARY_FUSION_PREFIXES = ("__ynn", "__onednn", "__cublas", "__cudnn")


def read_kernels(text: str) -> tuple[Kernel, ...]:
    """Return the kernels of an HLO text, in the order they run.

    The text is ``executable.hlo_modules()[0].to_string()``. Kernels in the bodies of ``call``, ``while`` and
    ``conditional`` follow the instruction that runs them, which itself carries only its own equation. Constants,
    and broadcasts of constants, are not attributed to equations: XLA merges them across the program and keeps the
    first one's name. An instruction without metadata is attributed to an equation only if its content proves the
    match (:mod:`xlascope.readers.hlo.provenance`).

    Raises FormatError for text that is not HLO or that stops in the middle.

    >>> text = '''HloModule jit_f
    ... %fused (p: f32[4]) -> f32[4] {
    ...   %p = f32[4]{0} parameter(0)
    ...   %sin = f32[4]{0} sine(%p), metadata={op_name="jit(f)/e0/sin"}
    ...   ROOT %mul = f32[4]{0} multiply(%sin, %p), metadata={op_name="jit(f)/e1/mul"}
    ... }
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   ROOT %sine_multiply_fusion = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused
    ... }'''
    >>> (kernel,) = read_kernels(text)
    >>> kernel.name, kernel.kind, kernel.equations, kernel.bytes_read, kernel.bytes_saved
    ('sine_multiply_fusion', 'loop', ('0', '1'), 16, 32)
    """
    module = read_module(text)
    provenance = provenance_of(module)
    return kernels_of(module, provenance, data_of(module, provenance))


def kernels_of(module: Module, provenance: ProvenanceMap, data: ProvenanceMap) -> tuple[Kernel, ...]:
    """Return the kernels of a parsed module, in the order they run.

    ``provenance`` is the result of :func:`~xlascope.readers.hlo.provenance.provenance_of` for the module, and
    ``data`` is the result of :func:`~xlascope.readers.hlo.provenance.data_of` for that.
    """
    order = list(iter_executed(module))
    reads, traffic = KernelReads(module, order), Traffic(module)
    kernel_provenance = _drop_result_aliases(module, provenance)
    return tuple(
        _build_kernel(module, kernel_provenance, data, reads, traffic, computation, instruction)
        for computation, instruction in order
    )


def _drop_result_aliases(module: Module, provenance: ProvenanceMap) -> ProvenanceMap:
    """Return the provenance without bitcasts named after an equation that other instructions compute.

    The kernel that reads a product's result may view it under another shape. That bitcast is not part of the
    product's work.
    """
    computed, renamed = set[EquationPath](), list[tuple[str, str]]()
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            if instruction.opcode == "bitcast":
                renamed.append((computation.name, instruction.name))
            elif instruction.opcode not in _NON_COMPUTING_OPCODES:
                computed.update(provenance[computation.name, instruction.name])
    return {**provenance, **{key: () for key in renamed if computed.issuperset(provenance[key])}}


def iter_executed(module: Module) -> Iterator[tuple[Computation, Instruction]]:
    """Yield every instruction that runs, in order, with its computation.

    The instructions of a computation that is called twice appear once.
    """
    visited = {module.entry.name}
    pending = [(module.entry, iter(module.entry.instructions.values()))]
    while pending:
        computation, instructions = pending[-1]
        instruction = next(instructions, None)
        if instruction is None:
            pending.pop()
        elif instruction.opcode not in _ALIAS_OPCODES and not is_wait(instruction):
            yield computation, instruction
            if instruction.opcode in _CONTROL_FLOW_OPCODES:
                bodies = [body for body in _called_computations(module, instruction) if body.name not in visited]
                visited.update(body.name for body in bodies)
                pending.extend((body, iter(body.instructions.values())) for body in reversed(bodies))


def _build_kernel(
    module: Module,
    provenance: ProvenanceMap,
    data: ProvenanceMap,
    reads: KernelReads,
    traffic: Traffic,
    computation: Computation,
    instruction: Instruction,
) -> Kernel:
    """Return the record of the kernel that an executed instruction is.

    ``provenance`` are the equations that instructions work for, ``data`` those whose results they hold.
    """
    holds = instruction.opcode in _CONTROL_FLOW_OPCODES
    fused = () if holds else tuple(_iter_fused_computations(module, instruction))
    kernel_instruction = (computation, instruction)
    work = [
        (parent, inner) for parent, inner in _iter_leaf_instructions(fused) if inner.opcode not in _NO_WORK_OPCODES
    ] or [kernel_instruction]
    read_bytes, written_bytes = traffic.of(computation, instruction)
    equations = _collect_equations(provenance, fused, kernel_instruction)
    moves = () if equations else _stacked_equations(work) or _copied_equations(data, kernel_instruction, work)
    return Kernel(
        name=instruction.name,
        opcode=instruction.opcode,
        kind=_kernel_kind(instruction),
        type_text=without_layout(instruction.type_text),
        equations=equations,
        instructions=len(work),
        unknown=sum(
            not provenance[parent.name, inner.name] and not _needs_no_equation(parent, inner) for parent, inner in work
        ),
        bytes_read=min(read_bytes, sum(_operand_bytes(computation, name) for name in instruction.operands)),
        bytes_written=min(written_bytes, memory_bytes(result_type(computation, instruction))),
        bytes_saved=2 * sum(_count_saved_bytes(module, inner) for inner in fused),
        reads=() if instruction.opcode == "call" else reads.of(computation, instruction),
        layout=special_layout(instruction.type_text),
        moves=moves,
        copies="" if equations or moves else _find_copied(module, kernel_instruction, work),
        collective=None if holds else find_collective([kernel_instruction, *work]),
        repeats=max(repeats_in(inner.op_name) for _, inner in [kernel_instruction, *work]),
    )


def iter_fused_instructions(module: Module, kernel: Instruction) -> Iterator[tuple[Computation, Instruction]]:
    """Return the instructions fused into a kernel, with their computations.

    The result is empty for an instruction that only runs other kernels.
    """
    fused = () if kernel.opcode in _CONTROL_FLOW_OPCODES else tuple(_iter_fused_computations(module, kernel))
    return _iter_leaf_instructions(fused)


def _called_computations(module: Module, instruction: Instruction) -> list[Computation]:
    return [module.computations[name] for name in instruction.called if name in module.computations]


def _iter_fused_computations(module: Module, instruction: Instruction) -> Iterator[Computation]:
    """Yield the computations fused into an instruction, including nested ones."""
    pending, visited = [instruction], set[str]()
    while pending:
        for computation in _called_computations(module, pending.pop()):
            if computation.name not in visited:
                visited.add(computation.name)
                yield computation
                pending.extend(inner for inner in computation.instructions.values() if inner.called)


def _iter_leaf_instructions(computations: Iterable[Computation]) -> Iterator[tuple[Computation, Instruction]]:
    """Yield the instructions of the computations, without those that call a computation."""
    for computation in computations:
        for instruction in computation.instructions.values():
            if not instruction.called:
                yield computation, instruction


def _collect_equations(
    provenance: ProvenanceMap, fused: tuple[Computation, ...], kernel_instruction: tuple[Computation, Instruction]
) -> EquationPaths:
    """Return the equations of the instructions fused into a kernel, in order.

    ``fused`` are the computations inside. If there are none, or only merged constants, the equations are those of the
    kernel's own instruction.
    """
    paths = (
        path
        for computation, instruction in _iter_leaf_instructions(fused)
        if instruction.opcode not in _NO_WORK_OPCODES and not _is_constant(computation, instruction)
        for path in provenance[computation.name, instruction.name]
    )
    return tuple(dict.fromkeys(paths)) or provenance[kernel_instruction[0].name, kernel_instruction[1].name]


def _stacked_equations(work: list[tuple[Computation, Instruction]]) -> tuple[EquationPath, ...]:
    """Return the equations whose values a kernel copies into or out of a stack, the values of a rerolled loop.

    ``work`` are the instructions that do the kernel's work.
    """
    return tuple(dict.fromkeys(path for _, instruction in work for path in stacked_paths(instruction.op_name)))


def _copied_equations(
    data: ProvenanceMap,
    kernel_instruction: tuple[Computation, Instruction],
    work: list[tuple[Computation, Instruction]],
) -> tuple[EquationPath, ...]:
    """Return the equations whose results a kernel copies; none if it does anything else.

    ``data`` has the equations whose results instructions hold, ``work`` are the instructions that do the kernel's
    work.
    """
    computation, instruction = kernel_instruction
    if any(inner.opcode not in MOVE_OPCODES for _, inner in work) or len(instruction.operands) != 1:
        return ()
    return tuple(dict.fromkeys(data.get((computation.name, instruction.operands[0]), ())))


def _find_copied(
    module: Module,
    kernel_instruction: tuple[Computation, Instruction],
    work: list[tuple[Computation, Instruction]],
) -> str:
    """Return what a kernel copies if it copies an argument of the program or a constant, as text; ``""`` otherwise.

    A copy may be of another shape: an array that is filled with a constant copies it.

    ``work`` are the instructions that do the kernel's work.
    """
    computation, instruction = kernel_instruction
    copied: Instruction | None = instruction
    moves = MOVE_OPCODES | {"broadcast"}
    if any(inner.opcode not in moves for _, inner in work):
        return ""
    while copied is not None and len(copied.operands) == 1 and copied.opcode in moves | {"fusion"}:
        if copied.opcode == "fusion" and copied is not instruction:
            return ""
        copied = computation.instructions.get(copied.operands[0])
    if copied is None:
        return ""
    is_argument = copied.opcode == "parameter" and computation.name == module.entry.name
    return "an argument" if is_argument else "a constant" if copied.opcode == "constant" else ""


def _needs_no_equation(computation: Computation, instruction: Instruction) -> bool:
    """Return whether an instruction needs no equation because it computes nothing."""
    return instruction.opcode == "bitcast" or _is_constant(computation, instruction)


def _is_constant(computation: Computation, instruction: Instruction) -> bool:
    if instruction.opcode != "broadcast":
        return instruction.opcode == "constant"
    return all(_opcode(computation, name) == "constant" for name in instruction.operands)


def _count_saved_bytes(module: Module, computation: Computation) -> int:
    """Return the bytes of the intermediate results inside a fusion.

    The results of the fusion itself and values that are never stored are not counted.
    """
    root = computation.root
    results = {root.name, *(root.operands if root.opcode == "tuple" else ())} if root else set[str]()
    return sum(
        instruction.bytes
        for instruction in computation.instructions.values()
        if instruction.name not in results
        and not _is_alias_only(module, instruction)
        and not _is_constant(computation, instruction)
    )


def _is_alias_only(module: Module, instruction: Instruction) -> bool:
    """Return whether an instruction computes nothing, such as a TPU's fusion that holds only bitcasts."""
    inside = [inner for body in _called_computations(module, instruction) for inner in body.instructions.values()]
    return all(inner.opcode in _ALIAS_OPCODES for inner in inside or [instruction])


def _operand_bytes(computation: Computation, name: str) -> int:
    operand = computation.instructions.get(name)
    return memory_bytes(operand.type_text) if operand else 0


def _opcode(computation: Computation, name: str) -> str:
    operand = computation.instructions.get(name)
    return operand.opcode if operand else ""


def _kernel_kind(instruction: Instruction) -> str:
    if instruction.opcode in _CONTROL_FLOW_OPCODES:
        return "call"
    if instruction.opcode.removesuffix("-start") == "fusion":
        return _fusion_kind(instruction)
    if instruction.opcode in _LIBRARY_OPCODES and "callback" not in instruction.attribute("custom_call_target"):
        return "library call"
    return "single"


def _fusion_kind(instruction: Instruction) -> str:
    if any(f'"kind":"{library}' in instruction.attributes for library in _LIBRARY_FUSION_PREFIXES):
        return "library call"
    return instruction.attribute("kind").removeprefix("k").lower() or "loop"
