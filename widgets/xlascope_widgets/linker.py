"""A linker of ES modules into one script that any JavaScript engine runs; each file keeps its own scope.

A file becomes a function that is called once and returns the file's exports; its imports become constants
taken from the results of other files. So no name leaks between files, and the order follows from the imports.
These forms are supported, each at the beginning of a line (the names of an import may be on separate lines)::

    import { a, b } from "./other.js";
    export function a() {}      export class B {}      export const c = 1;
    export default { a };

Any other import or export is an error with its file and line, but for ``import(url)`` of what is in a variable: code
that comes when the page runs. ``LINKING.md`` compares this with alternatives.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from pathlib import Path

#: The keywords import and export, and the comments, strings and templates in which they have no meaning. Each
#: alternative begins with a distinct character, so that the regex engine can skip ahead.
_KEYWORD_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""
    r"""|(?P<word>import|export)(?<![\w$.].{6})(?![\w$]|\(\w)""",
    re.DOTALL,
)
_SUPPORTED_FORM = re.compile(
    r'import \{(?:\n  | )(?P<names>\w+(?:,\s+\w+)*),?\s\} from "(?P<source>\.[^"\n]+)";\n'
    r"|export (?P<default>default )(?!async |class |function )"
    r"|export (?=(?:async function|function|class|const) (?P<name>\w+))"
)


class LinkError(ValueError):
    """Linking error, whose message has the file, the line and the reason."""


@dataclass(frozen=True, slots=True)
class Import:
    """Import statement: the names that it takes from another file, ``source``."""

    line: int
    source: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JavaScriptModule:
    """JavaScript file: its name relative to the root, its imports and exports, and its text without them."""

    name: str
    imports: tuple[Import, ...]
    exports: tuple[str, ...]
    body: str


def link(root: Path, *entries: str) -> str:
    """Return a JavaScript expression whose value is an object with all exports of the files ``entries``.

    File names are relative to ``root``. Raises LinkError for an unsupported or wrong import or export.
    """
    modules = sort_modules(root, *entries)
    constants = {module.name: f"${number}" for number, module in enumerate(modules)}
    imported = {
        (statement.source, name) for module in modules for statement in module.imports for name in statement.names
    }
    imported.update((module.name, name) for module in modules if module.name in entries for name in module.exports)
    used = [
        replace(module, exports=tuple(name for name in module.exports if (module.name, name) in imported))
        for module in modules
    ]
    scopes = ",\n".join(f"{constants[module.name]} = {_module_scope(module, constants)}" for module in used)
    exported = ", ".join(f"...{constants[entry]}" for entry in entries)
    return f'(() => {{\n"use strict";\nconst {scopes};\nreturn {{ {exported} }};\n}})()'


def sort_modules(root: Path, *entries: str) -> list[JavaScriptModule]:
    """Return JavaScript files and all their imports in evaluation order: each module after its imports.

    ``entries`` are the files to begin with, relative to the folder ``root``.
    """
    modules: dict[str, JavaScriptModule] = {}
    for entry in entries:
        _visit(root, entry, (), modules)
    return list(modules.values())


def parse_module(root: Path, name: str) -> JavaScriptModule:
    """Parse the JavaScript file ``name`` below ``root`` into imports, exports and body.

    Raises LinkError for a form of import or export that is not supported.
    """
    text = (root / name).read_text(encoding="utf-8")
    imports: list[Import] = []
    exports: list[str] = []
    body, end = "", 0
    for match in _KEYWORD_OR_LITERAL.finditer(text):
        if not match["word"]:
            continue
        start = match.start()
        line = text.count("\n", 0, start) + 1
        form = _SUPPORTED_FORM.match(text, start) if not start or text[start - 1] == "\n" else None
        if form is None:
            raise LinkError(
                f"{name}:{line}: no form of {match[0]} that is linked: {text.splitlines()[line - 1].strip()}"
            )
        if form["source"]:
            imports.append(Import(line, _resolve_path(form["source"], name), tuple(re.split(r",\s+", form["names"]))))
        else:
            exports.append(form["name"] or "default")
        body += text[end:start] + ("const $default = " if form["default"] else "")
        end = form.end()
    return JavaScriptModule(name, tuple(imports), tuple(exports), body + text[end:])


def _visit(root: Path, name: str, users: tuple[str, ...], modules: dict[str, JavaScriptModule]) -> None:
    """Add a file to ``modules``, after its imports; ``users`` are the files whose imports led to it.

    Raises LinkError if one of those is the file itself, and for an import that cannot be resolved.
    """
    if name in users:
        raise LinkError(f"files import each other in a circle: {' imports '.join((*users[users.index(name) :], name))}")
    if name in modules:
        return
    module = parse_module(root, name)
    for statement in module.imports:
        at = f"{name}:{statement.line}"
        if not (root / statement.source).is_file():
            raise LinkError(f"{at}: there is no file {statement.source}")
        _visit(root, statement.source, (*users, name), modules)
        if missing := set(statement.names) - set(modules[statement.source].exports):
            raise LinkError(f"{at}: {statement.source} does not export {', '.join(sorted(missing))}")
    modules[name] = module


def _module_scope(module: JavaScriptModule, constants: dict[str, str]) -> str:
    """Return a JavaScript expression that evaluates a module's body in its own scope and returns its exports.

    ``constants`` are the variables that hold the exports of other modules, by file name.
    """
    imports = "".join(
        f"const {{ {', '.join(statement.names)} }} = {constants[statement.source]};\n" for statement in module.imports
    )
    exports = ", ".join("default: $default" if name == "default" else name for name in module.exports)
    return f"(() => {{\n{imports}{module.body}\nreturn {{ {exports} }};\n}})()"


def _resolve_path(source: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), source))
