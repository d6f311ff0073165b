"""Sampler of mutants: cosmic-ray's changes of expressions and statements in the bodies of our functions.

A file is drawn by the number of statements in its functions, a position in it uniformly, and one of the changes that
cosmic-ray's operators make there: first the kind of change, then the change. The draws follow from a seed.
"""

from __future__ import annotations

import ast
import functools
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cosmic_ray.ast
import cosmic_ray.plugins
from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("core/xlascope", "kernel_ext/xlascope_ipython", "kernel_ext/xlascope_jax", "widgets/xlascope_widgets")
#: Operators that need arguments of ours, or that change no body of a function.
EXCLUDED = ("VariableReplacer", "VariableInserter", "RemoveDecorator")

Position = tuple[int, int]


class Change(NamedTuple):
    """A change that an operator makes: its number among all that the operator makes in the file."""

    operator: str
    occurrence: int
    start: Position
    end: Position

    @property
    def kind(self) -> str:
        return self.operator.partition("_")[0]


def draw(seed: str, count: int) -> list[MutationSpec]:
    """Return so many different mutants of files of the repository, by paths that start at its root."""
    source = random.Random(seed)
    files = [path.relative_to(ROOT) for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    weights = [count_statements((ROOT / file).read_text(encoding="utf-8")) for file in files]
    mutants: dict[tuple[Path, Change], MutationSpec] = {}
    while len(mutants) < count:
        file = source.choices(files, weights)[0]
        positions = changes_by_position(file)
        if positions:
            change = pick(source, positions)
            mutants.setdefault((file, change), MutationSpec(file, *change))
    return list(mutants.values())


def pick(source: random.Random, positions: list[list[Change]]) -> Change:
    """Return a change at a random position, of a random kind."""
    changes = source.choice(positions)
    kind = source.choice(sorted({change.kind for change in changes}))
    return source.choice([change for change in changes if change.kind == kind])


@functools.cache
def changes_by_position(file: Path) -> list[list[Change]]:
    """Return the changes in bodies of functions of a file, those of each position together."""
    text = (ROOT / file).read_text(encoding="utf-8")
    tree = ast.parse(text)
    inside, outside = list(_bodies(tree)), list(_annotations(tree))
    positions: dict[tuple[Position, Position], list[Change]] = defaultdict(list)
    for change in list_changes(text):
        if _is_within(change.start, inside) and not _is_within(change.start, outside):
            positions[change.start, change.end].append(change)
    return [positions[place] for place in sorted(positions)]


def list_changes(text: str) -> Iterator[Change]:
    """Yield all changes that cosmic-ray's operators make in a program."""
    operators = {name: cosmic_ray.plugins.get_operator(name)() for name in _operator_names()}
    counts: dict[str, int] = defaultdict(int)
    for node in cosmic_ray.ast.ast_nodes(cosmic_ray.ast.get_ast(text)):
        for name, operator in operators.items():
            for start, end in operator.mutation_positions(node):
                yield Change(name, counts[name], start, end)
                counts[name] += 1


def _operator_names() -> list[str]:
    names: Any = cosmic_ray.plugins.operator_names()
    return sorted(name for name in names if not name.endswith(EXCLUDED))


def count_statements(text: str) -> int:
    """Return the number of statements in bodies of functions.

    >>> count_statements("x = 1\\ndef f():\\n    'text'\\n    y = 1\\n    return y")
    2
    """
    tree = ast.parse(text)
    bodies = list(_bodies(tree))
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return sum(_is_within((node.lineno, node.col_offset), bodies) for node in statements)


def _bodies(tree: ast.AST) -> Iterator[tuple[Position, Position]]:
    """Yield where the bodies of functions begin and end, without docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                yield (body[0].lineno, body[0].col_offset), _end(body[-1])


def _annotations(tree: ast.AST) -> Iterator[tuple[Position, Position]]:
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                yield (annotation.lineno, annotation.col_offset), _end(annotation)


def _end(node: ast.stmt | ast.expr) -> Position:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _is_within(place: Position, ranges: list[tuple[Position, Position]]) -> bool:
    return any(start <= place < end for start, end in ranges)
