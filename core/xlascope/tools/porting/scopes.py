"""Uses of a package's names in a text: attributes of imported names, resolved by Python's scoping rules."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from .spelling import Direction

#: Functions that import a module by its name.
_IMPORT_FUNCTIONS = frozenset({"import_module", "__import__", "importorskip", "find_spec"})


class NameUse(NamedTuple):
    """Use of a name of the source package: its dotted path without the package, and its line.

    ``is_module`` says that it must be a module; ``in_string`` that it is in a string literal, which is not changed.
    """

    path: str
    line: int
    is_module: bool = False
    in_string: bool = False


class _Scope:
    """Names that a function, class or module binds, each with the dotted names it may be imported from, or ``""``."""

    def __init__(self, parent: _Scope | None = None, *, is_class: bool = False) -> None:
        self.parent, self.is_class = parent, is_class
        self.bindings: dict[str, set[str]] = {}

    def bind(self, name: str, imported: str = "") -> None:
        self.bindings.setdefault(name, set()).add(imported)

    def resolve(self, name: str) -> set[str]:
        """Return the dotted names that a name used in this scope may be imported from; empty if it is bound nowhere."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.bindings and (scope is self or not scope.is_class):
                return scope.bindings[name]
            scope = scope.parent
        return set()


def find_uses(tree: ast.Module, direction: Direction) -> list[NameUse]:
    """Return the uses of names of the source package in a program, its imports included, ordered by line."""
    finder = _UseFinder(direction)
    finder.visit_children(tree, _Scope())
    for scope, chain, line in finder.chains:
        name, _, attributes = chain.partition(".")
        for imported in scope.resolve(name):
            path = direction.path_in(f"{imported}.{attributes}")
            if path:
                finder.uses.append(NameUse(path, line))
    return sorted(finder.uses, key=lambda use: use.line)


class _UseFinder:
    """Visitor of a syntax tree that collects uses of the source package.

    ``chains`` are attribute accesses (scope, ``a.b.c``, line), which are resolved once all names are bound.
    """

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.uses: list[NameUse] = []
        self.chains: list[tuple[_Scope, str, int]] = []

    def visit_children(self, node: ast.AST, scope: _Scope) -> None:
        """Visit the children of a node; ``scope`` is the one in which they bind names."""
        for child in ast.iter_child_nodes(node):
            self._visit(child, scope)

    def _visit(self, node: ast.AST, scope: _Scope) -> None:
        match node:
            case ast.Import():
                self._visit_import(node, scope)
            case ast.ImportFrom():
                self._visit_import_from(node, scope)
            case ast.Attribute():
                self._visit_attribute(node, scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                self._visit_scope(node, scope)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self.visit_children(node, _Scope(scope))
            case _:
                for name in _iter_bound_names(node):
                    scope.bind(name)
                if isinstance(node, ast.Call):
                    self._visit_call(node)
                for annotation in _iter_annotations(node):
                    self._visit_annotation(annotation, scope)
                self.visit_children(node, scope)

    def _visit_scope(self, node: ast.AST, outer: _Scope) -> None:
        inner = _Scope(outer, is_class=isinstance(node, ast.ClassDef))
        if name := getattr(node, "name", ""):
            outer.bind(name)
        for annotation in _iter_annotations(node):
            self._visit_annotation(annotation, outer)
        self.visit_children(node, inner)

    def _visit_import(self, node: ast.Import, scope: _Scope) -> None:
        for alias in node.names:
            package = alias.name.partition(".")[0]
            scope.bind(alias.asname or package, alias.name if alias.asname else package)
            path = self.direction.path_in(alias.name)
            if path is not None:
                self.uses.append(NameUse(path, alias.lineno, is_module=True))

    def _visit_import_from(self, node: ast.ImportFrom, scope: _Scope) -> None:
        path = self.direction.path_in(node.module) if node.module and not node.level else None
        if path is not None:
            self.uses.append(NameUse(path, node.lineno, is_module=True))
        for alias in node.names:
            scope.bind(alias.asname or alias.name, f"{node.module}.{alias.name}" if path is not None else "")
            if path is not None and alias.name != "*":
                self.uses.append(NameUse(f"{path}.{alias.name}".lstrip("."), alias.lineno))

    def _visit_attribute(self, node: ast.Attribute, scope: _Scope) -> None:
        chain: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            chain.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            self.chains.append((scope, ".".join([inner.id, *reversed(chain)]), node.lineno))
        else:
            self._visit(inner, scope)

    def _visit_call(self, node: ast.Call) -> None:
        function_name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if function_name not in _IMPORT_FUNCTIONS or not node.args or not isinstance(node.args[0], ast.Constant):
            return
        path = self.direction.path_in(str(node.args[0].value))
        if path is not None:
            self.uses.append(NameUse(path, node.lineno, is_module=True, in_string=True))

    def _visit_annotation(self, node: ast.expr | None, scope: _Scope) -> None:
        """Visit an annotation that is a string as the expression in it; ignore any other."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                inner = ast.parse(node.value.strip(), mode="eval")
        except (SyntaxError, ValueError):
            return
        for descendant in ast.walk(inner):
            if hasattr(descendant, "lineno"):
                descendant.lineno = node.lineno
        self.visit_children(inner, scope)


def _iter_bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds in its scope."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name


def _iter_annotations(node: ast.AST) -> Iterator[ast.expr | None]:
    yield getattr(node, "annotation", None)
    yield getattr(node, "returns", None)
