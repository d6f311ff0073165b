"""What XLA made of a program: the kernels of its optimized HLO, each with the equations that ended up inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...records.compiled import Kernel
from ...records.op_names import repeats_in, stacked_paths
from ...records.paths import EquationPath
from .collectives import collective_in
from .layouts import is_wait, memory_bytes, result_type, special_layout
from .provenance import Known, Paths, data_of, provenance_of
from .reads import Reads
from .text import Computation, Instruction, Module, read_module, without_layout
from .traffic import Traffic
from .uses import MOVES

#: Opcodes that only name buffers: nothing runs for them.
_NAMES_ONLY = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"})
#: Opcodes that do no work inside a fusion either (a bitcast there is somebody's reshape, and counts).
_NO_WORK = frozenset({"parameter", "constant", "tuple", "get-tuple-element"})
#: Opcodes that compute nothing, and fusions, which have the name of what is inside.
_ENDS = _NO_WORK | {"fusion", "copy", "reshape", "transpose"}
#: Opcodes whose called computations run kernel by kernel, each under its own name.
_HOLDS_KERNELS = frozenset({"call", "while", "conditional"})
#: Opcodes that XLA hands to a library as a whole.
_LIBRARY = frozenset({"dot", "convolution", "fft", "cholesky", "triangular-solve", "custom-call"})
#: How libraries appear in a custom fusion's configuration.
_LIBRARY_FUSIONS = ("__ynn", "__onednn", "__cublas", "__cudnn")


def read_kernels(text: str) -> tuple[Kernel, ...]:
    """The kernels of a module, in the order they run, from ``executable.hlo_modules()[0].to_string()``.

    Kernels in the bodies of ``call``, ``while`` and ``conditional`` follow the instruction that runs them, which
    itself carries only its own equation. Constants, and broadcasts of constants, say nothing about
    equations: XLA merges them across the program and keeps the first one's name. An instruction without a name has
    equations where its content proves them (:mod:`xlascope.readers.hlo.provenance`).
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
    known = provenance_of(module)
    return kernels_of(module, known, data_of(module, known))


def kernels_of(module: Module, known: Known, data: Known) -> tuple[Kernel, ...]:
    """The kernels of a module that was read; ``known`` is what
    :func:`~xlascope.readers.hlo.provenance.provenance_of` makes of it, and ``data`` what
    :func:`~xlascope.readers.hlo.provenance.data_of` makes of that.
    """
    order = list(running(module))
    reads, traffic = Reads(module, order), Traffic(module)
    named = _without_names_for_results(module, known)
    return tuple(_kernel(module, named, data, reads, traffic, computation, each) for computation, each in order)


def _without_names_for_results(module: Module, known: Known) -> Known:
    """What is known, without bitcasts that have the name of an equation which others compute.

    A product's result may be looked at under another shape by the kernel that reads it: that is none of the product's
    work.
    """
    computed, renamed = set[EquationPath](), list[tuple[str, str]]()
    for computation in module.computations.values():
        for each in computation.instructions.values():
            if each.opcode == "bitcast":
                renamed.append((computation.name, each.name))
            elif each.opcode not in _ENDS:
                computed.update(known[computation.name, each.name])
    return {**known, **{place: () for place in renamed if computed.issuperset(known[place])}}


def running(module: Module) -> Iterator[tuple[Computation, Instruction]]:
    """Every instruction that runs, in order, with its computation; a computation that is called twice appears once."""
    seen = {module.entry.name}
    pending = [(module.entry, iter(module.entry.instructions.values()))]
    while pending:
        computation, instructions = pending[-1]
        each = next(instructions, None)
        if each is None:
            pending.pop()
        elif each.opcode not in _NAMES_ONLY and not is_wait(each):
            yield computation, each
            if each.opcode in _HOLDS_KERNELS:
                bodies = [body for body in _called(module, each) if body.name not in seen]
                seen.update(body.name for body in bodies)
                pending.extend((body, iter(body.instructions.values())) for body in reversed(bodies))


def _kernel(
    module: Module,
    known: Known,
    data: Known,
    reads: Reads,
    traffic: Traffic,
    computation: Computation,
    instruction: Instruction,
) -> Kernel:
    holds = instruction.opcode in _HOLDS_KERNELS
    inside = () if holds else tuple(_looked_into(module, instruction))
    own = (computation, instruction)
    work = [(where, each) for where, each in _work(inside) if each.opcode not in _NO_WORK] or [own]
    read, written = traffic.of(computation, instruction)
    equations = _equations(known, inside, own)
    return Kernel(
        name=instruction.name,
        opcode=instruction.opcode,
        kind=_kind(instruction),
        type_text=without_layout(instruction.type_text),
        equations=equations,
        instructions=len(work),
        unknown=sum(not known[where.name, each.name] and not _tells_nothing(where, each) for where, each in work),
        bytes_read=min(read, sum(_operand_bytes(computation, name) for name in instruction.operands)),
        bytes_written=min(written, memory_bytes(result_type(computation, instruction))),
        bytes_saved=2 * sum(_saved_bytes(module, each) for each in inside),
        reads=() if instruction.opcode == "call" else reads.of(computation, instruction),
        layout=special_layout(instruction.type_text),
        moves=() if equations else _stacked(work) or _moved(data, own, work),
        collective=None if holds else collective_in([own, *work]),
        repeats=max(repeats_in(each.op_name) for _, each in [own, *work]),
    )


def called_by(module: Module, kernel: Instruction) -> Iterator[tuple[Computation, Instruction]]:
    """The instructions fused into a kernel, with their computations; none for one that only runs others."""
    inside = () if kernel.opcode in _HOLDS_KERNELS else tuple(_looked_into(module, kernel))
    return _work(inside)


def _called(module: Module, instruction: Instruction) -> list[Computation]:
    return [module.computations[name] for name in instruction.called if name in module.computations]


def _looked_into(module: Module, instruction: Instruction) -> Iterator[Computation]:
    """The computations fused into an instruction, those fused into them included."""
    pending, seen = [instruction], set[str]()
    while pending:
        for computation in _called(module, pending.pop()):
            if computation.name not in seen:
                seen.add(computation.name)
                yield computation
                pending.extend(each for each in computation.instructions.values() if each.called)


def _work(computations: Iterable[Computation]) -> Iterator[tuple[Computation, Instruction]]:
    """What the computations do; a fusion in there stands for its own computation."""
    for computation in computations:
        for each in computation.instructions.values():
            if not each.called:
                yield computation, each


def _equations(known: Known, inside: tuple[Computation, ...], own: tuple[Computation, Instruction]) -> Paths:
    """The equations of the work inside, in order; of merged constants only if there is nothing else."""
    telling = (
        path
        for computation, each in _work(inside)
        if each.opcode not in _NO_WORK and not _is_constant(computation, each)
        for path in known[computation.name, each.name]
    )
    return tuple(dict.fromkeys(telling)) or known[own[0].name, own[1].name]


def _stacked(work: list[tuple[Computation, Instruction]]) -> tuple[EquationPath, ...]:
    """The equations whose values a kernel copies into a stack, or out of one."""
    return tuple(dict.fromkeys(path for _, each in work for path in stacked_paths(each.op_name)))


def _moved(
    data: Known, own: tuple[Computation, Instruction], work: list[tuple[Computation, Instruction]]
) -> tuple[EquationPath, ...]:
    """The equations whose results a kernel copies that does nothing else."""
    computation, instruction = own
    if any(each.opcode not in MOVES for _, each in work) or len(instruction.operands) != 1:
        return ()
    return tuple(dict.fromkeys(data.get((computation.name, instruction.operands[0]), ())))


def _tells_nothing(computation: Computation, instruction: Instruction) -> bool:
    """Whether an instruction needs no equation: nothing is computed for it."""
    return instruction.opcode == "bitcast" or _is_constant(computation, instruction)


def _is_constant(computation: Computation, instruction: Instruction) -> bool:
    if instruction.opcode != "broadcast":
        return instruction.opcode == "constant"
    return all(_opcode(computation, name) == "constant" for name in instruction.operands)


def _saved_bytes(module: Module, computation: Computation) -> int:
    """The bytes of the results that stay inside: neither the computation's own, nor values that are never stored."""
    root = computation.root
    results = {root.name, *(root.operands if root.opcode == "tuple" else ())} if root else set[str]()
    return sum(
        each.bytes
        for each in computation.instructions.values()
        if each.name not in results and not _only_names(module, each) and not _is_constant(computation, each)
    )


def _only_names(module: Module, instruction: Instruction) -> bool:
    """Whether nothing is computed: a TPU's products look at their operands through fusions of bitcasts."""
    inside = [each for body in _called(module, instruction) for each in body.instructions.values()]
    return all(each.opcode in _NAMES_ONLY for each in inside or [instruction])


def _operand_bytes(computation: Computation, name: str) -> int:
    operand = computation.instructions.get(name)
    return memory_bytes(operand.type_text) if operand else 0


def _opcode(computation: Computation, name: str) -> str:
    operand = computation.instructions.get(name)
    return operand.opcode if operand else ""


def _kind(instruction: Instruction) -> str:
    if instruction.opcode in _HOLDS_KERNELS:
        return "call"
    if instruction.opcode.removesuffix("-start") == "fusion":
        return _fusion_kind(instruction)
    if instruction.opcode in _LIBRARY and "callback" not in instruction.attribute("custom_call_target"):
        return "library call"
    return "single"


def _fusion_kind(instruction: Instruction) -> str:
    if any(f'"kind":"{library}' in instruction.attributes for library in _LIBRARY_FUSIONS):
        return "library call"
    return instruction.attribute("kind").removeprefix("k").lower() or "loop"
