"""What the model of XLA's fusion says of programs, and what XLA did: in how many kernels each equation is computed.

``python -m bench.predicted`` makes the table anew, in REPORTS.md too. Nothing is timed, and nothing is kept in these
programs: it is about what XLA does on its own.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from xlascope import inspect, records
from xlascope.readers.hlo.equations import executed_computations
from xlascope.readers.hlo.text import read_module
from xlascope.records.op_names import absolute_paths, equation_path
from xlascope.xla.materialization.cost_model import DATA_MOVEMENT_OPS
from xlascope.xla.materialization.fusion_model import simulate_fusion
from xlascope.xla.materialization.graph import build_graphs, full_op_name

from .kinds import KINDS
from .results import replace_table
from .sides import side

PROGRAMS = (
    "transformer_wide",
    "transformer_12",
    "mixer",
    "residual_convolutions",
    "residual_layers",
    "softmax_large",
    "messages",
    "hessian",
)
HEAD = [
    "| program | equations that compute | in as many kernels as said | at most one off | computed more than once: "
    "said, XLA | of those found | times computed, mean: said, XLA | kernels: said, XLA |",
    "|---|---|---|---|---|---|---|---|",
]


#: What computes nothing, by StableHLO's names and by HLO's.
_MOVES = (DATA_MOVEMENT_OPS - {"reduce"}) | {"constant", "convert", "iota", "transpose"}
_STAYS = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "broadcast", "reshape", "transpose", "copy"}
_STAYS |= {"concatenate", "convert", "dynamic-slice", "dynamic-update-slice", "gather", "iota", "pad", "reverse"}
_STAYS |= {"slice", "fusion", "while", "conditional", "call"}


class Seen(NamedTuple):
    """In how many kernels each equation is computed, and how many kernels there are."""

    times: Mapping[str, int]
    kernels: int


def said(module: Any) -> Seen:
    """What the model says of a module."""
    kernels_by_path: dict[str, set[tuple[int, int]]] = defaultdict(set)
    count = 0
    for number, graph in enumerate(build_graphs(module)):
        for kernel in simulate_fusion(graph).kernels():
            count += 1
            for value in kernel.computed:
                maker = graph.defining_op(value)
                path = None if maker is None or graph.kind[value] in _MOVES else equation_path(full_op_name(maker))
                if path is not None:
                    kernels_by_path[path].add((number, kernel.root))
    return Seen({path: len(found) for path, found in kernels_by_path.items()}, count)


def done(compiled: records.Compiled) -> Seen:
    """What XLA did."""
    module = read_module(compiled.hlo)
    kernels_by_path: dict[str, set[str]] = defaultdict(set)
    for computation in executed_computations(module):
        for each in computation.instructions.values():
            inside = module.computations[each.called[0]] if each.opcode == "fusion" else None
            for part in [each] if inside is None else inside.instructions.values():
                for path in absolute_paths(part.op_name) if part.opcode not in _STAYS else ():
                    kernels_by_path[path].add(each.name)
    return Seen({path: len(found) for path, found in kernels_by_path.items()}, len(compiled.kernels))


def row(name: str) -> str:
    """A program's row."""
    made = KINDS[name](side("xlascope"))
    module = made.function.lower(*made.arguments).compiler_ir("stablehlo")
    model = said(module)
    found = inspect.fusions(made.function, *made.arguments).records
    xla = done(next(each for each in found if isinstance(each, records.Compiled)))
    both = sorted(model.times.keys() & xla.times.keys())
    right = sum(model.times[each] == xla.times[each] for each in both) / len(both)
    near = sum(abs(model.times[each] - xla.times[each]) <= 1 for each in both) / len(both)
    several, really = ({each for each in both if seen.times[each] > 1} for seen in (model, xla))
    hit = f"{len(several & really) / len(really):.0%}" if really else "-"
    means = ", ".join(f"{sum(seen.times[each] for each in both) / len(both):.2f}" for seen in (model, xla))
    return (
        f"| {name} | {len(both):,} | **{right:.0%}** | {near:.0%} | {len(several):,}, {len(really):,} | {hit} "
        f"| {means} | {model.kernels:,}, {xla.kernels:,} |"
    )


def main(names: Sequence[str]) -> None:
    """Print the rows of some programs; of all, and into REPORTS.md, when none is named."""
    table = [*HEAD]
    print("\n".join(table))
    for name in names or PROGRAMS:
        table.append(row(name))
        print(table[-1], flush=True)
    if not names:
        replace_table(table)


if __name__ == "__main__":
    main(sys.argv[1:])
