"""The order of the house: each line of LAYERS may import only the lines below it, and no import hides in a function.

An import by a name in quotes (``import_module("…")``) is an import, and judged like one.
"""

import ast
import functools
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "xlascope": ROOT / "core/xlascope",
    "xlascope_ipython": ROOT / "kernel_ext/xlascope_ipython",
    "xlascope_jax": ROOT / "kernel_ext/xlascope_jax",
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
    "scripts",
    "inspect",
    "api",
    "control",
    "transforms",
    "operations",
    "trace",
    "xla",
    "ir",
    "analysis",
    "readers",
    "records",
    "tree dtypes key_types cache_keys errors settings names missing bootstrap lru_cache entry_points",
    "runtime",
)
FACADE = -1
RANK = {module: rank for rank, line in enumerate(LAYERS) for module in line.split()}

#: Rooms that need no engine, and all that each may import of the rest.
APART: dict[str, set[str]] = {
    "records": {"names"},
    "readers": {"records", "names"},
    "analysis": {"records", "readers"},
}

#: Within a layer: its rooms, top to bottom. What stands beside the rooms stands above them all.
ROOMS = {
    "control": ("debugging", "checkpoint", "rules", "special", "loop_rerolling", "flow", "parallel", "jit", "programs"),
    "xla": (
        *(
            "explain",
            "targets",
            "profiling",
            "execution",
            "compilation",
            "cache",
            "lowering",
            "known_faults",
            "materialization",
        ),
        *("mlir", "arrays", "sharding", "devices", "platforms", "processes", "system"),
    ),
}

# Who may import whom from outside.
FOREIGN_TO_ENGINE = {"IPython", "anywidget", "ipykernel", "ipywidgets", "jax", "traitlets"}
MAY_IMPORT_JAXLIB = {"runtime", "xla", "readers"}


#: Imports by name that are meant, each by its module and function. The façade on top hands down how the engine is
#: started and arrays' methods are filled, and knows the notebook's side; `names` finds public names by the lists.
BY_NAME = {
    ("xlascope", "__getattr__"),
    ("xlascope", "_start_engine"),
    ("xlascope", "load_ipython_extension"),
    ("xlascope.cluster", "_load_implementation"),  # the notebook's side, which needs ipyparallel
    ("xlascope", "unload_ipython_extension"),
    ("xlascope.__main__", "main"),
    ("xlascope", "_fill_methods"),
    ("xlascope", "_ufunc_methods"),
    ("xlascope", "_register_with_library"),
    ("xlascope", "_filter_traceback"),
    ("xlascope.names", "get_attribute"),
    ("xlascope.names", "_make_error"),
    ("xlascope.names", "find_spec"),
    ("xlascope.xla.platforms.plugin_loader", "register_cuda_calls"),  # what is installed beside a plugin
    ("xlascope.lax.primitives", "operations_by_name"),  # every file of two layers below
    (
        "xlascope.runtime.jax_coexistence",
        "__getattr__",
    ),  # jax, for a thread that imported it when something stood in for it
    ("xlascope_widgets.panes", "_load_all"),  # every file of the package
    ("xlascope.scripts.watcher", "_start"),  # what loads NumPy and jaxlib: once the script has
    ("xlascope.tools.device.programs.engine", "load_engine"),  # jax, in a process that imports nothing of ours
    ("xlascope.tools.porting.cli", "main"),  # what needs libcst, which may not be installed
    ("xlascope.tools.porting.names", "_missing_here"),  # the modules whose names a program uses
    ("xlascope.tools.porting.names", "_attribute"),
    ("xlascope_jax.watching", "_attach"),  # what imports jax, when it is there
}


class Import(NamedTuple):
    """One module imported by one line of code: in `from source import target` the target may be a module too.

    `function` is the innermost one around it, `""` at the top of a module; `by_name` says that it is a call with the
    module's name as text.
    """

    path: Path
    importer: str
    line: int
    source: str
    target: str
    function: str
    by_name: bool = False

    @property
    def meant(self) -> bool:
        return self.by_name and (self.importer, self.function) in BY_NAME

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
    """Every import of a file, wherever it stands."""
    yield from imports_in(path.read_text(encoding="utf-8"), importer, path)


def imports_in(text: str, importer: str, path: Path) -> Iterator[Import]:
    """Every import of a text; `from package import submodule` counts as the submodule."""
    package = importer if path.name == "__init__.py" else importer.rpartition(".")[0]
    tree = ast.parse(text)
    names = Names(tree, package)

    def visit(node: ast.AST, function: str) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(path, importer, child.lineno, alias.name, alias.name, function)
            elif isinstance(child, ast.ImportFrom):
                source = absolute("." * child.level + (child.module or ""), package)
                for target in dict.fromkeys(
                    submodule if (submodule := f"{source}.{alias.name}") in MODULES else source for alias in child.names
                ):
                    yield Import(path, importer, child.lineno, source, target, function)
            else:
                if isinstance(child, ast.Call) and names.imports(child.func):
                    name = names.imported(child)
                    yield Import(path, importer, child.lineno, name, name, function, by_name=True)
                yield from visit(child, name_of(child) or function)

    yield from visit(tree, "")


def name_of(node: ast.AST) -> str:
    """The name of a function, `""` for what is none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name
    return "lambda" if isinstance(node, ast.Lambda) else ""


def absolute(name: str, package: str) -> str:
    """The module that a name with leading dots means in a package."""
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    above = package.split(".")
    return ".".join([*above[: len(above) - level + 1], *filter(None, [name[level:]])])


class Names:
    """What the names of a module mean that an import by name may use: what imports, and texts that never change."""

    def __init__(self, tree: ast.Module, package: str) -> None:
        self.package = package
        self.importers = {"import_module", "__import__"}
        self.texts: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                self.importers |= {each.asname or each.name for each in node.names if each.name in self.importers}
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.texts |= {each.id: node.value for each in targets if isinstance(each, ast.Name)}
                if isinstance(node.value, ast.Name | ast.Attribute) and self.imports(node.value):  # under another name
                    self.importers |= {each.id for each in targets if isinstance(each, ast.Name)}

    def imports(self, called: ast.expr) -> bool:
        """Whether calling this imports a module by its name."""
        if isinstance(called, ast.Attribute):
            return called.attr in ("import_module", "__import__")
        return isinstance(called, ast.Name) and called.id in self.importers

    def imported(self, call: ast.Call) -> str:
        """The name that a call imports, as far as it is written there: up to the first part that is computed."""
        given = call.args[0] if call.args else next((each.value for each in call.keywords if each.arg == "name"), None)
        text, _ = self.text(given)
        return absolute(text.rstrip(".") if text.strip(".") else text, self.package)

    def text(self, node: ast.expr | None, depth: int = 0) -> tuple[str, bool]:
        """What an expression is known to begin with, and whether that is all of it."""
        match node:
            case ast.Constant(value=str(value)):
                return value, True
            case ast.Name(id=name) if name in self.texts and depth < 9:
                return self.text(self.texts[name], depth + 1)
            case ast.JoinedStr(values=parts):
                return self.joined(parts, depth)
            case ast.FormattedValue(value=value):
                return self.text(value, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.joined([left, right], depth)
        return "", False

    def joined(self, parts: list[ast.expr], depth: int) -> tuple[str, bool]:
        known = ""
        for each in parts:
            text, whole = self.text(each, depth)
            known += text
            if not whole:
                return known, False
        return known, True


@functools.cache
def every_import() -> list[Import]:
    """Every import of ours, read by the first test that asks."""
    return [found for importer, path in MODULES.items() for found in imports_of(importer, path)]


def own_imports() -> list[Import]:
    return [found for found in every_import() if found.target.partition(".")[0] in PACKAGES and not found.meant]


def engine_imports() -> list[Import]:
    return [found for found in every_import() if found.package == "xlascope" and not found.meant]


def part(module: str) -> str:
    """Return the part of the engine that a module belongs to: `lax` for `xlascope.lax.slicing`."""
    return f"{module}.".split(".")[1]


def room(module: str) -> str:
    """Return the room of a layer that a module belongs to: `flow` for `xlascope.control.flow.scan_op`."""
    return f"{module}..".split(".")[2]


def room_rank(module: str) -> int:
    """Return the number of a module's room from the top of its layer; what is in no room is a façade."""
    rooms = ROOMS[part(module)]
    return rooms.index(room(module)) if room(module) in rooms else FACADE


def layer_complaint(found: Import) -> str | None:
    """Say what is wrong with one import inside the engine."""
    here, there = part(found.importer), part(found.target)
    if not there:
        return "the whole package: name the module below that has it"
    if here == there:
        return None
    if there not in APART.get(here, {there}):
        return f"but {here} imports {' and '.join(sorted(APART[here])) or 'nothing'} of the rest"
    here_rank, there_rank = RANK.get(here, FACADE), RANK.get(there, FACADE)
    if there_rank < here_rank:
        return "which lies above it"
    return None


def expect_none(complaints: list[str]) -> None:
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


def test_there_is_something_to_check() -> None:
    assert "xlascope.records" in MODULES and len(own_imports()) > 1


def test_each_layer_imports_only_the_layers_below() -> None:
    inside = [found for found in engine_imports() if found.target.partition(".")[0] == "xlascope"]
    expect_none([found.says(complaint) for found in inside if (complaint := layer_complaint(found))])


def test_each_room_imports_only_the_rooms_below() -> None:
    within = [f for f in engine_imports() if part(f.importer) in ROOMS and part(f.target) == part(f.importer)]
    upward = [f for f in within if room_rank(f.target) < room_rank(f.importer)]
    expect_none([found.says("whose room lies above it") for found in upward])


@pytest.mark.parametrize("layer", ROOMS)
def test_every_room_has_its_place(layer: str) -> None:
    found = {room(module) for module in MODULES if part(module) == layer} - {""}
    assert found == set(ROOMS[layer])


def test_the_engine_imports_no_notebook_no_widgets_no_jax() -> None:
    forbidden = FOREIGN_TO_ENGINE | (PACKAGES.keys() - {"xlascope"})
    expect_none(
        [f.says("which the engine must not know") for f in engine_imports() if f.target.partition(".")[0] in forbidden]
    )


def test_only_the_seam_imports_jaxlib() -> None:
    expect_none(
        [
            found.says("but only runtime/, xla/ and readers/ may")
            for found in every_import()
            if found.target.partition(".")[0] == "jaxlib"
            and not (found.package == "xlascope" and part(found.importer) in MAY_IMPORT_JAXLIB)
        ]
    )


def test_only_the_bridge_imports_jax() -> None:
    """And nobody imports the bridge: it is loaded when the user's program has imported jax."""
    bridge = "xlascope_jax.bridge"
    outside = [f for f in every_import() if not f.importer.startswith(bridge) and not f.meant]
    expect_none([f.says("which is a peer, not a part") for f in outside if f.target.partition(".")[0] == "jax"])
    expect_none([f.says("which imports jax") for f in outside if f.target.startswith(bridge)])


def test_widgets_know_no_engine() -> None:
    allowed = APART.keys()
    expect_none(
        [
            found.says(f"but widgets know {', '.join(sorted(allowed))} and nothing else of the engine")
            for found in own_imports()
            if found.package == "xlascope_widgets"
            and found.target.partition(".")[0] != "xlascope_widgets"
            and part(found.target) not in allowed
        ]
    )


def test_no_import_of_ours_hides_in_a_function() -> None:
    expect_none([found.says("inside a function") for found in own_imports() if found.function])


def test_what_is_imported_by_name_can_be_read() -> None:
    """A name that is computed could be any module's; entry points are the way to what is installed beside us."""
    computed = [found for found in every_import() if found.by_name and not found.meant and not found.target]
    expect_none([found.says("a name that is computed") for found in computed])


BY_QUOTED_NAMES = {
    'import importlib\nimportlib.import_module("xlascope.nn")': "xlascope.nn",
    'import importlib as loader\ndef f():\n    loader.import_module("xlascope.nn")': "xlascope.nn",
    'from importlib import import_module\nimport_module("xlascope.nn")': "xlascope.nn",
    'from importlib import import_module as load\nload(name="xlascope.nn")': "xlascope.nn",
    'import importlib\nload = importlib.import_module\nload("xlascope.nn")': "xlascope.nn",
    '__import__("xlascope.nn")': "xlascope.nn",
    'import_module(f"xlascope.{name}")': "xlascope",
    'import_module(f"xlascope.nn.{name}.more")': "xlascope.nn",
    'HOME = "xlascope"\nimport_module(f"{HOME}.nn")': "xlascope.nn",
    'HOME = "xlascope."\nWHERE = HOME + "nn"\ndef f():\n    import_module(WHERE)': "xlascope.nn",
    'WHERE: str = "xlascope.nn"\nimport_module(WHERE)': "xlascope.nn",
    'import_module("..nn", __package__)': "xlascope.nn",
    'import_module(".", __package__)': "xlascope.trace",
    "import_module(name)": "",
    "import_module(f'{name}.nn')": "",
    "import_module()": "",
}


@pytest.mark.parametrize("text", BY_QUOTED_NAMES)
def test_an_import_by_name_is_seen(text: str) -> None:
    found = [each for each in imports_in(text, "xlascope.trace.line", ROOT / "line.py") if each.by_name]
    assert [each.target for each in found] == [BY_QUOTED_NAMES[text]]
    assert [each.function for each in found] == ["f" if "def f" in text else ""]


def test_an_import_by_name_is_judged_like_one() -> None:
    (upward,) = imports_in('__import__("xlascope.nn")', "xlascope.trace.line", ROOT / "line.py")
    assert layer_complaint(upward) == "which lies above it"
    (facade,) = imports_in("def __getattr__(name):\n    import_module(name)", "xlascope", ROOT / "__init__.py")
    (other,) = imports_in("def __getattr__(name):\n    import_module(name)", "xlascope.nn", ROOT / "__init__.py")
    assert facade.meant and not other.meant


def test_modules_import_each_other_in_no_circle() -> None:
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for found in own_imports():
        if found.target != found.importer:
            graph[found.importer].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other: " + " → ".join(reversed(error.args[1])), pytrace=False)
