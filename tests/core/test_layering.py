"""The order of the house: each line of LAYERS may import only the lines below it, and no import hides in a function."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "xlascope": ROOT / "core/xlascope",
    "xlascope_ipython": ROOT / "kernel_ext/xlascope_ipython",
    "xlascope_widgets": ROOT / "widgets/xlascope_widgets",
}

# Top to bottom. A module of the engine that is not listed is a façade: it stands above them all.
LAYERS = (
    "nn",
    "scipy",
    "image",
    "random",
    "numpy",
    "lax",
    "inspect",
    "api",
    "control",
    "transforms",
    "operations",
    "trace",
    "xla",
    "ir",
    "records",
    "tree dtypes errors settings starting",
    "runtime",
)
FACADE = -1
RANK = {module: rank for rank, line in enumerate(LAYERS) for module in line.split()}

# Who may import whom from outside.
FOREIGN_TO_ENGINE = {"IPython", "anywidget", "ipykernel", "ipywidgets", "jax", "traitlets"}
MAY_IMPORT_JAXLIB = {"runtime", "xla", "records"}


class Import(NamedTuple):
    """One module imported by one line of code: in `from source import target` the target may be a module too."""

    path: Path
    importer: str
    line: int
    source: str
    target: str
    in_function: bool

    @property
    def package(self) -> str:
        return self.importer.partition(".")[0]

    def says(self, complaint: str) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.target}, {complaint}"


def module_names() -> dict[str, Path]:
    """Every module of ours, by its dotted name."""
    names = {}
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            names[".".join((package, *parts)).removesuffix(".__init__")] = path
    return names


MODULES = module_names()


def imports_of(importer: str, path: Path) -> Iterator[Import]:
    """Every import of a file, wherever it stands; `from package import submodule` counts as the submodule."""
    package = importer if path.name == "__init__.py" else importer.rpartition(".")[0]

    def visit(node: ast.AST, in_function: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(path, importer, child.lineno, alias.name, alias.name, in_function)
            elif isinstance(child, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - child.level + 1] if child.level else []
                source = ".".join([*above, *filter(None, [child.module])])
                for target in dict.fromkeys(
                    submodule if (submodule := f"{source}.{alias.name}") in MODULES else source for alias in child.names
                ):
                    yield Import(path, importer, child.lineno, source, target, in_function)
            else:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from visit(child, in_function or function)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), in_function=False)


IMPORTS = [found for importer, path in MODULES.items() for found in imports_of(importer, path)]
OWN = [found for found in IMPORTS if found.target.partition(".")[0] in PACKAGES]
ENGINE = [found for found in IMPORTS if found.package == "xlascope"]


def part(module: str) -> str:
    """Return the part of the engine that a module belongs to: `lax` for `xlascope.lax.slicing`."""
    return f"{module}.".split(".")[1]


def layer_complaint(found: Import) -> str | None:
    """Say what is wrong with one import inside the engine."""
    here, there = part(found.importer), part(found.target)
    if not there:
        return "the whole package: name the module below that has it"
    if here == there:
        return None
    if here == "records":
        return "but records imports nothing of the rest"
    here_rank, there_rank = RANK.get(here, FACADE), RANK.get(there, FACADE)
    if there_rank < here_rank:
        return "which lies above it"
    return None


def expect_none(complaints: list[str]) -> None:
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


def test_there_is_something_to_check() -> None:
    assert "xlascope.records" in MODULES and len(OWN) > 1


def test_each_layer_imports_only_the_layers_below() -> None:
    inside = [found for found in ENGINE if found.target.partition(".")[0] == "xlascope"]
    expect_none([found.says(complaint) for found in inside if (complaint := layer_complaint(found))])


def test_the_engine_imports_no_notebook_no_widgets_no_jax() -> None:
    forbidden = FOREIGN_TO_ENGINE | (PACKAGES.keys() - {"xlascope"})
    expect_none([f.says("which the engine must not know") for f in ENGINE if f.target.partition(".")[0] in forbidden])


#: Where the engine looks up another package by its name, when somebody asks for what that package does.
LOOKED_UP = {"xlascope": {"xlascope_ipython"}, "xlascope.inspect.writing": {"xlascope_widgets"}}


def test_the_engine_looks_up_other_packages_in_two_named_places() -> None:
    found: dict[str, set[str]] = {}
    for importer, path in MODULES.items():
        if importer.partition(".")[0] != "xlascope":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
            if called == "import_module" and isinstance(node, ast.Call) and isinstance(node.args[0], ast.Constant):
                package = str(node.args[0].value).partition(".")[0]
                if package != "xlascope":
                    found.setdefault(importer, set()).add(package)
    assert found == LOOKED_UP


def test_only_the_seam_imports_jaxlib() -> None:
    expect_none(
        [
            found.says("but only runtime/, xla/ and the readers in records/ may")
            for found in IMPORTS
            if found.target.partition(".")[0] == "jaxlib"
            and not (found.package == "xlascope" and part(found.importer) in MAY_IMPORT_JAXLIB)
        ]
    )


def test_nothing_of_ours_imports_jax() -> None:
    expect_none([f.says("which is a peer, not a part") for f in IMPORTS if f.target.partition(".")[0] == "jax"])


def test_widgets_know_records_only() -> None:
    allowed = ("xlascope.records", "xlascope_widgets")
    expect_none(
        [
            found.says("but widgets know xlascope.records and nothing else of ours")
            for found in OWN
            if found.package == "xlascope_widgets" and not found.target.startswith(allowed)
        ]
    )


def test_no_import_of_ours_hides_in_a_function() -> None:
    expect_none([found.says("inside a function") for found in OWN if found.in_function])


def test_modules_import_each_other_in_no_circle() -> None:
    """The one circle allowed: rules reach other operations through the package they are in (`from . import shapes`)."""
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for found in OWN:
        rules = found.source == "xlascope.operations" and part(found.importer) == "operations"
        if found.target != found.importer and not rules:
            graph[found.importer].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other: " + " → ".join(reversed(error.args[1])), pytrace=False)
