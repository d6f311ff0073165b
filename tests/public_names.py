"""What follows from the lists of public names: `make names` writes it, a test says when that was forgotten.

- `lax/primitives.pyi`: the handle of each operation, and the function that stands under its class and has its name.
- `docs/names.md`: every public name with the first sentence of what it says of itself.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from pathlib import Path

import xlascope
from xlascope.ir.operation import Operation
from xlascope.lax import primitives
from xlascope.missing import UNSUPPORTED_NAMES, names_of_jax
from xlascope.names import NameLocation, find_homes

PACKAGE = Path(xlascope.__file__).parent
ROOT = PACKAGE.parents[1]
HANDLES = PACKAGE / "lax/primitives.pyi"
INDEX = ROOT / "docs/names.md"

#: Operations that JAX has no primitives for.
WITHOUT_HANDLE = {"constant", "jit"}
#: Operations whose handles and functions are in `lax.linalg`, which lists them itself.
ELSEWHERE = "xlascope.operations.linalg."
#: Functions that have an operation's name and are not in JAX's `lax`.
INTERNAL = {"copy", "geqrf", "linear_call", "random_unwrap", "random_wrap", "threefry2x32"}
#: The packages whose names are found on first use, and others whose names users import.
LAZY = (
    "xlascope",
    "xlascope.numpy",
    "xlascope.numpy.linalg",
    "xlascope.lax",
    "xlascope.random",
    "xlascope.experimental.sparse",
    "xlascope.scipy.fft",
    "xlascope.scipy.integrate",
    "xlascope.scipy.interpolate",
    "xlascope.scipy.linalg",
    "xlascope.scipy.ndimage",
    "xlascope.scipy.optimize",
    "xlascope.scipy.signal",
    "xlascope.scipy.sparse.linalg",
    "xlascope.scipy.spatial.transform",
    "xlascope.scipy.special",
    "xlascope.scipy.stats",
)
MODULES = (
    *LAZY,
    "xlascope.numpy.fft",
    "xlascope.dlpack",
    "xlascope.lax.linalg",
    "xlascope.nn",
    "xlascope.nn.initializers",
    "xlascope.example_libraries.optimizers",
    "xlascope.example_libraries.stax",
    "xlascope.experimental.ode",
)


def operations() -> list[type[Operation]]:
    """Those of the engine that have a handle, by name."""
    return sorted(
        (
            each
            for name, each in primitives.operations_by_name().items()
            if name not in WITHOUT_HANDLE and not each.__module__.startswith(ELSEWHERE)
        ),
        key=lambda each: each.name,
    )


def listed_in_lax() -> set[str]:
    """The functions that `lax/__init__.pyi` lists itself: they stand before an operation's own."""
    tree = ast.parse((PACKAGE / "lax/__init__.pyi").read_text())
    return {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def functions() -> Iterator[tuple[str, str]]:
    """The function of each operation that has its name, and the module it is in: that of its class."""
    elsewhere = listed_in_lax() | INTERNAL
    for operation in operations():
        function = getattr(importlib.import_module(operation.__module__), operation.name, None)
        if operation.name not in elsewhere and inspect.isfunction(function):
            yield operation.name, operation.__module__.removeprefix("xlascope.")


def handles() -> str:
    """The text of `lax/primitives.pyi`."""
    imports = (f"from ..{module} import {name} as {name}" for name, module in functions())
    return "\n".join(
        [
            '"""Operations by name, for tools that read types. Written by `make names`."""',
            "",
            *sorted(["from ..ir.operation import Primitive", *imports]),
            "",
            *(f"{operation.name}_p: Primitive" for operation in operations()),
            "",
        ]
    )


def sentence(value: object) -> str:
    """The first sentence of a docstring, as Markdown in a table."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    first = text.partition(". ")[0].rstrip(".:")
    return first.replace("``", "`").replace("|", "\\|")


def names_in(module: str) -> dict[str, object]:
    """The public names of a module with what they are, handles and modules apart."""
    if module in LAZY:  # as it is on disk now: a line may have been written since the package was imported
        found = {
            name: getattr(importlib.import_module(home.module), home.name)
            for name, home in listed(module).items()
            if home.name and not name.endswith("_p")
        }
    else:
        exported = exported_from(module)
        found = {
            name: value
            for name, value in vars(importlib.import_module(module)).items()
            if not name.startswith("_")
            and (name in exported or getattr(value, "__module__", "") == module)
            and str(getattr(value, "__module__", "")).startswith("xlascope")
        }
    called = {name: value for name, value in found.items() if callable(value)}
    return dict(sorted(called.items(), key=lambda pair: (pair[0].lower(), pair[0])))


def exported_from(module: str) -> set[str]:
    """Return the names that a module re-exports: those imported as themselves (``import y as y``), and jax's."""
    source = inspect.getsource(importlib.import_module(module))
    imports = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    of_jax = {name.rpartition(".")[2] for name in names_of_jax() if f"xlascope.{name}".rpartition(".")[0] == module}
    return of_jax | {alias.name for node in imports for alias in node.names if alias.asname == alias.name}


def index() -> str:
    """The text of `docs/names.md`."""
    lines = [
        "# Names",
        "",
        "Every public function and class of the modules that programs import most, with what each says of itself.",
        "The list is written by `make names`; `help(jnp.einsum)` says the rest.",
    ]
    for module in MODULES:
        lines += ["", f"## {module}", "", "| name | |", "| --- | --- |"]
        lines += [f"| `{name}` | {sentence(value)} |" for name, value in names_in(module).items()]
    return "\n".join([*lines, ""])


def stub_of(package: str) -> Path:
    """The list of a package's names."""
    return Path(str(importlib.import_module(package).__file__)).with_suffix(".pyi")


def listed(package: str) -> dict[str, NameLocation]:
    """The names in a package's list, and where they live."""
    return dict(find_homes(package, stub_of(package)))


WRITTEN = {HANDLES: handles, INDEX: index}


def missing(path: Path) -> list[str]:
    """The lines that a written file lacks, and those that it should lack."""
    there, wanted = path.read_text(encoding="utf-8").splitlines(), WRITTEN[path]().splitlines()
    lacks = [f"lacks  {line}" for line in wanted if line not in set(there)]
    return lacks + [f"has    {line}" for line in there if line not in set(wanted)]


def presence() -> dict[str, tuple[list[str], list[str], list[str]]]:
    """For each module of jax, its public names: those that are here, those that are left out, those that lack."""
    found: dict[str, tuple[list[str], list[str], list[str]]] = {}
    for name in sorted(names_of_jax()):
        module, _, last = name.rpartition(".")
        here, left_out, lacking = found.setdefault(module, ([], [], []))
        (here if _is_here(module, last) else left_out if name in UNSUPPORTED_NAMES else lacking).append(last)
    return found


def _is_here(module: str, name: str) -> bool:
    try:
        room = importlib.import_module(f"xlascope.{module}".rstrip("."))
    except ImportError:
        return False
    return hasattr(room, name) or _is_module(f"{room.__name__}.{name}")


def _is_module(name: str) -> bool:
    """Whether there is one, which nobody may have imported yet."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def report() -> str:
    """How many of each module's names are here, and which are not."""
    lines = []
    for module, (here, left_out, lacking) in presence().items():
        total = len(here) + len(left_out) + len(lacking)
        said = [f"{what}: {' '.join(names)}" for what, names in (("left out", left_out), ("lacks", lacking)) if names]
        lines.append(f"{module or 'jax':30} {len(here):4} / {total:<4} {'; '.join(said)}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    for path, text in WRITTEN.items():
        path.write_text(text(), encoding="utf-8")
        print(path.relative_to(ROOT))
    print(report())
