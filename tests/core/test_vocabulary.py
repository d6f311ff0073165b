"""The vocabulary of the code: verbs for functions, unique class names, locals and constants that say what they hold.

CONTRIBUTING.md has the rules. Public names and names that other libraries give are excluded.
"""

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.core.test_layering import PACKAGES, ROOT

#: Participles by their form that are nouns of the field, or verbs.
NOUNS_AND_VERBS = {"padding", "put", "read", "replicated", "set", "sharding", "spacing", "split", "string"}
PARTICIPLE = re.compile(
    r"[a-z]+(?:ed|ing)|begun|bound|brought|built|caught|cut|done|drawn|felt|found|given|gone|grown|held|hidden|kept|known"
    r"|laid|left|lent|lost|made|meant|met|paid|put|read|said|seen|sent|set|shown|spent|split|spoken|spread|stood|stuck"
    r"|taken|thought|thrown|told|understood|worn|written"
)
#: Public functions and methods: of `xlascope.inspect`, of settings, and those that register rules as jax's do.
PUBLIC_NAMES = re.compile(
    "cancelled|changed|compiled|copied|defbroadcasting|defvectorized|inspecting|kept|measured|removed|running|scaling"
    "|setting|shared|unmeasured|watching"
)
EMPTY_WORD = re.compile(
    "each|found|given|here|held|kept|known|made|others|ours|own|place|said|seen|taken|theirs|there|things?|told|whole"
)
#: Keyword parameters of public functions.
PUBLIC_PARAMETERS = {("FormatError.__init__", "known")}
#: Names of classes of the engine and of records, both public.
PUBLIC_CLASSES = {"Compiled", "Equation", "JaxRuntimeError", "Jaxpr", "Lowered", "Traced"}
#: What a constant with a number counts or measures; mathematical constants are not among those that have to say it.
QUANTITY = re.compile(
    "BASE|BITS|BYTES|CALLS|CHARS|COUNT|DEPTH|DIGITS|DPI|FACTOR|FRACTION|INDEX|INTERVAL|ITERATIONS|LENGTH|LIMIT|LINES"
    "|MASK|MAX|MIN|OFFSET|ORDER|PIXELS|PORT|PROGRAMS|RADIUS|RATE|RATIO|RUNS|SAMPLES|SECONDS|SEED|SHARE|SHIFT|SIZE"
    "|STATUS|STEPS|TERMS|THRESHOLD|TIMEOUT|TOLERANCE|VERSION|WIDTH|WINDOWS|PER_|PROBABILITY|SCALE|STDDEV|UNKNOWN|^NO_"
)
MATHEMATICAL = {"_LOG_UNDERFLOW", "_PARITY"}
ENDING = re.compile(r"(?:ations?|ings?|ions?|ers?|ed|es|s|e)$")


class Function(NamedTuple):
    """A function of a package, with its qualified name."""

    path: Path
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.node.lineno} {self.name}"


@functools.cache
def trees(package: str) -> dict[Path, ast.Module]:
    """Return the syntax trees of a package's files."""
    paths = sorted(PACKAGES[package].rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def functions_in(node: ast.AST, path: Path, prefix: str = "") -> Iterator[Function]:
    """Yield the functions in a tree, nested ones included."""
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(path, prefix + child.name, child)
            inner = f"{prefix}{child.name}."
        elif isinstance(child, ast.ClassDef):
            inner = f"{prefix}{child.name}."
        yield from functions_in(child, path, inner)


def functions_of(package: str) -> Iterator[Function]:
    for path, tree in trees(package).items():
        yield from functions_in(tree, path)


def is_participle(name: str) -> bool:
    """Return whether a name is one word that has the form of a participle.

    >>> [is_participle(name) for name in ("_forced", "told", "force", "is_forced", "sharding")]
    [True, True, False, False, False]
    """
    word = name.strip("_")
    return word not in NOUNS_AND_VERBS and PARTICIPLE.fullmatch(word) is not None


@functools.cache
def numpy_names() -> frozenset[str]:
    return frozenset({*dir(np), *dir(np.ndarray), *dir(np.linalg), *dir(np.fft), *dir(np.random)})


def local_names(function: Function) -> Iterator[str]:
    """Yield the parameters and the names bound in a function, without those of nested functions."""
    stack: list[ast.AST] = list(ast.iter_child_nodes(function.node))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.arg):
            yield node.arg
        stack += ast.iter_child_nodes(node)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_function_is_no_bare_participle(package: str) -> None:
    names = [
        str(function)
        for function in functions_of(package)
        if is_participle(name := function.node.name)
        and not (name.startswith("__") or name in numpy_names() or PUBLIC_NAMES.fullmatch(name))
    ]
    assert not names, "\n".join(["a function is a verb:", *names])


@pytest.mark.parametrize("package", PACKAGES)
def test_a_class_name_is_unique(package: str) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees(package).items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name not in PUBLIC_CLASSES:
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    assert not repeated


@pytest.mark.parametrize("package", PACKAGES)
def test_a_local_says_what_it_holds(package: str) -> None:
    names = [
        f"{function}: {name}"
        for function in functions_of(package)
        for name in sorted({*local_names(function)})
        if EMPTY_WORD.fullmatch(name) and (function.name, name) not in PUBLIC_PARAMETERS
    ]
    assert not names, "\n".join(["name it for what it holds:", *names])


def stem(module: str) -> str:
    """Return a module's name without the ending that makes a verb, a plural or a participle of it.

    >>> stem("compile") == stem("compiling") == stem("compiled") == "compil"
    True
    """
    return ENDING.sub("", module)


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_of_a_folder_differ_by_more_than_an_ending(package: str) -> None:
    by_stem: dict[tuple[Path, str], list[str]] = defaultdict(list)
    for path in trees(package):
        if path.name != "__init__.py":
            by_stem[path.parent, stem(path.stem)].append(path.stem)
    alike = [(str(folder.relative_to(ROOT)), *names) for (folder, _), names in by_stem.items() if len(names) > 1]
    assert not alike


def number_constants(package: str) -> Iterator[str]:
    """Yield the constants of modules that are a number: written out, negated or computed from numbers."""
    for path, tree in trees(package).items():
        for node in tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            value = getattr(node, "value", None)
            numbers = value is not None and all(
                isinstance(part, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
                or (isinstance(part, ast.Constant) and type(part.value) in (int, float))
                for part in ast.walk(value)
            )
            if isinstance(target, ast.Name) and target.id.isupper() and numbers:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {target.id}"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_constant_says_what_it_counts(package: str) -> None:
    names = [
        constant
        for constant in number_constants(package)
        if not QUANTITY.search(name := constant.rpartition(" ")[2]) and name not in MATHEMATICAL
    ]
    assert not names, "\n".join(["say quantity and unit:", *names])
