"""`python -m xlascope port`: imports before, after, and back again."""

import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import xlascope.__main__
from xlascope.missing import REMOVED_NAMES, names_of_jax
from xlascope.tools.porting import cli
from xlascope.tools.porting.command import port
from xlascope.tools.porting.rewriting import rewrite
from xlascope.tools.porting.spelling import TO_JAX, TO_XLASCOPE

#: Statements of jax, and what stands there afterwards. Each comes back as it was.
IMPORTS = {
    "import jax": "import xlascope as jax",
    "import jax  # arrays": "import xlascope as jax  # arrays",
    "import jax as jx": "import xlascope as jx",
    "import jax  as  jx ,os": "import xlascope  as  jx ,os",
    "import jax, jax.numpy as jnp": "import xlascope as jax, xlascope.numpy as jnp",
    "import os, jax.numpy as jnp, sys": "import os, xlascope.numpy as jnp, sys",
    "import jax; import numpy": "import xlascope as jax; import numpy",
    "import jax.numpy as jnp": "import xlascope.numpy as jnp",
    "import jax.numpy": "import xlascope.numpy, xlascope as jax",
    "import jax.scipy.sparse.linalg": "import xlascope.scipy.sparse.linalg, xlascope as jax",
    "import jax.numpy, jax": "import xlascope.numpy, xlascope as jax, xlascope as jax",
    "import jax.scipy.stats, jax.nn": "import xlascope.scipy.stats, xlascope as jax, xlascope.nn, xlascope as jax",
    "from jax import jit, numpy as jnp": "from xlascope import jit, numpy as jnp",
    "from jax import (\n    grad,  # first\n    vmap,\n)": "from xlascope import (\n    grad,  # first\n    vmap,\n)",
    "from jax import *": "from xlascope import *",
    "from  jax.numpy  import ones": "from  xlascope.numpy  import ones",
    "from jax.experimental import sparse": "from xlascope.experimental import sparse",
    "from jax.experimental.shard_map import shard_map": "from xlascope.experimental.shard_map import shard_map",
    "import jax \\\n  as j": "import xlascope \\\n  as j",
    "if 1:\n\timport jax\n": "if 1:\n\timport xlascope as jax\n",
    "try: import jax\nexcept ImportError: pass": "try: import xlascope as jax\nexcept ImportError: pass",
    "def f():\n    from jax import lax\n    return lax": "def f():\n    from xlascope import lax\n    return lax",
    "x = 1\rimport jax\r": "x = 1\rimport xlascope as jax\r",
    "\f\nimport jax\n\f\nx = 1; from jax import lax": "\f\nimport xlascope as jax\n\f\nx = 1; from xlascope import lax",
    "import jax\r\nx = 1\r\n": "import xlascope as jax\r\nx = 1\r\n",
    'é = "ü"; import jax; é': 'é = "ü"; import xlascope as jax; é',
    'import jax\nx: "jax.Array" = jax.numpy.ones(3)': 'import xlascope as jax\nx: "jax.Array" = jax.numpy.ones(3)',
    "import jax\nmatch jax:\n  case jax.Array(): ...": "import xlascope as jax\nmatch jax:\n  case jax.Array(): ...",
}
#: What is not an import of jax.
UNTOUCHED = [
    "# import jax",
    '"""import jax"""',
    "x = 'import jax'",
    "import jaxlib",
    "import jaxtyping, my.jax",
    "from .jax import jit",
    "from . import jax",
    "from my.jax import numpy",
    "jax = 3\njax.numpy",
]
#: Statements of xlascope's own, and what stands there with `--to jax`. Each comes back as it was.
OF_OURS = {
    "import xlascope": "import jax as xlascope",
    "import xlascope as xs": "import jax as xs",
    "import xlascope.numpy": "import jax.numpy, jax as xlascope",
    "from xlascope import jit": "from jax import jit",
}
#: Programs, and what is said of their names: lines, and the beginning of the reason.
MISSING = {
    "import jax\njax.jit(f).lower(x).nothing, jax.numpy.ones(3).at": [],
    "import jax.numpy as jnp\ndef f(jnp):\n    return jnp.sinn": [],
    "import jax\njax.Array.nothing": [],
    "from jax.experimental import sparse\nimport jax.experimental.ode\njax.experimental.ode.odeint": [],
    "from jax.lib import xla_bridge": [],
    "import jax.numpy as jnp\njnp.sinn(1)\njnp.cos(2), jnp.sinn": [
        ("numpy.sinn", (2, 3), "is not a public name of jax 0.10.2 either; did you mean 'sin'")
    ],
    "from jax.experimental import pallas as pl\npl.load": [("experimental.pallas", (1, 2), "is left out for good")],
    "from jax import (jit,\n  export)": [("export", (2,), "is not in xlascope yet")],
    "import jax\nk: jax.random.KeyArray": [("random.KeyArray", (2,), "is removed from jax; use xlascope.Array")],
    'import jax\ndef f(k: "jax.random.KeyArray"): pass': [("random.KeyArray", (2,), "is removed from jax")],
    "import jax.numpy as n\nclass A:\n  n = 3\n  n.a\n  def f(self): n.b\n": [("numpy.b", (5,), "is not")],
    "import jax.numpy as n\n[n.a for n in x], lambda n: n.a, [n.b for x in x]": [("numpy.b", (2,), "is not")],
    "def f():\n  return n.a\nimport jax.numpy as n": [("numpy.a", (2,), "is not")],
    "from jax.config import config": [("config", (1,), "is no module in jax 0.10.2 either: write from xlascope imp")],
    "from jax.numpy.ones import x": [
        ("numpy.ones", (1,), "is no module in jax 0.10.2 either: write from xlascope.numpy")
    ],
    "import jax._src.core": [("_src", (1,), "is private to jax")],
    "import jax\nassert jax.__version__ > '0.4'": [("__version__", (2,), "is the version of xlascope")],
    "import importlib\nimportlib.import_module('jax.numpy')": [("numpy", (2,), "is imported by its name in a string")],
}


#: Whole files as people write them; what each line with an import becomes, and what is told of the file.
MESSY = {
    "conditional": (
        """
        try:
            import jax
            import jax.numpy as jnp
        except ImportError:
            jax = jnp = None
        if jax is not None:
            from jax import (
                grad,  # the gradient
                jit,
            )
        else:
            def jit(f): return f
        """,
        {
            "import jax\n": "import xlascope as jax\n",
            "import jax.numpy as": "import xlascope.numpy as",
            "from jax import (": "from xlascope import (",
        },
        [],
    ),
    "all names": (
        """
        from jax import *
        from jax.numpy import *
        from jax.random import normal as randn, key
        print(jit(lambda x: x + 1)(ones(3)), randn(key(0)))
        """,
        {"from jax": "from xlascope"},
        [],
    ),
    "other names": (
        """
        import jax as j, numpy as np, jax.numpy as jn
        from jax import numpy as jnp2, lax as L
        j.jit(jn.sin)(1.0), jnp2.ones(2), L.add(1, 2), j.numpy.zeros(1), j.numpy.sinn
        """,
        {"import jax as j": "import xlascope as j", " jax.numpy as": " xlascope.numpy as", "from jax": "from xlascope"},
        ["train.py:4: jax.numpy.sinn is not a public name"],
    ),
    "handed on": (
        """
        from jax.numpy import array as array, zeros as zeros
        from jax import jit as jit, vmap as vectorize
        import jax.numpy as np
        __all__ = ["array", "zeros", "jit", "vectorize", "np"]
        """,
        {"from jax": "from xlascope", "import jax.numpy": "import xlascope.numpy"},
        [],
    ),
    "for the type checker": (
        """
        from typing import TYPE_CHECKING, Union
        if TYPE_CHECKING:
            import jax
            from jax.typing import ArrayLike
            from jax._src.core import Tracer
        def f(x: "jax.Array", y: "ArrayLike") -> "Union[jax.Array, Tracer]":
            return x
        """,
        {"import jax\n": "import xlascope as jax\n", "from jax": "from xlascope"},
        ["train.py:6: jax._src is private to jax"],
    ),
    "by names in strings": (
        """
        import importlib, pytest
        jax = pytest.importorskip("jax")
        jnp = pytest.importorskip("jax.numpy", minversion="0.4")
        stats = importlib.import_module("jax.scipy.stats")
        lazy = __import__("jax")
        """,
        {},
        [
            "train.py:3: jax is imported by its name in a string",
            "train.py:4: jax.numpy is imported by its name",
            "train.py:5: jax.scipy.stats is imported by its name",
        ],
    ),
    "in functions and classes": (
        """
        def f(x):
            import jax, os; import jax.scipy.linalg as jsl
            if x: from jax import pmap; return pmap
            jax.config.update("jax_enable_x64", True)
        class A:
            from jax import jit as _jit
            import jax.numpy as xp
        """,
        {
            "import jax, os; import jax.scipy": "import xlascope as jax, os; import xlascope.scipy",
            "from jax": "from xlascope",
            "import jax.numpy": "import xlascope.numpy",
        },
        [],
    ),
    "programs in strings": (
        """
        '''Like numpy.

        >>> import jax.numpy as jnp
        '''
        import os, sys
        CODE = "import jax; print(jax.__version__)"
        backend = {"jax": "jax.numpy"}
        if "jax" in sys.modules: jax = sys.modules["jax"]
        os.environ["JAX_PLATFORMS"] = "cpu"; import jax
        """,
        {'"cpu"; import jax': '"cpu"; import xlascope as jax'},
        [],
    ),
    "names that others have": (
        """
        import jax
        import jaxlib, jaxtyping
        from . import jax as local_jax
        from .jax import thing
        def g(jax): return jax.foo
        def h():
            jax = object()
            return jax.bar
        jax.xla_computation(g)
        del jax
        """,
        {"import jax\n": "import xlascope as jax\n"},
        ["train.py:10: jax.xla_computation is removed from jax"],
    ),
    "several in one line": (
        """
        import jax.random as jr, jax.nn as jnn, jax
        from jax import numpy as \\
            jnp
        x = (jr.key(0), jnn.relu(jnp.ones(2)), jax.experimental.sparse)
        """,
        {
            "jax.random as": "xlascope.random as",
            "jax.nn as": "xlascope.nn as",
            ", jax\n": ", xlascope as jax\n",
            "from jax": "from xlascope",
        },
        [],
    ),
}


@pytest.mark.parametrize("name", MESSY)
def test_messy_files(name: str, folder: "Folder") -> None:
    text, changes, told = MESSY[name]
    before = after = textwrap.dedent(text)
    for old, new in changes.items():
        assert old in after
        after = after.replace(old, new)
    path = folder.write("train.py", before)
    status, output = folder.port("train.py")
    assert path.read_text() == after
    said = [line for line in output.splitlines()[:-1] if "changed" not in line]
    assert len(said) == len(told) and status == bool(told)
    assert all(line.startswith(words) for line, words in zip(said, told, strict=True))
    folder.port("train.py", "--to", "jax")
    assert path.read_text() == before


@pytest.mark.parametrize("before", IMPORTS)
def test_imports_are_changed_and_come_back(before: str) -> None:
    after = rewrite(before, TO_XLASCOPE).text
    assert after == IMPORTS[before]
    assert rewrite(after, TO_JAX).text == before


@pytest.mark.parametrize("before", OF_OURS)
def test_imports_of_xlascope_are_changed_and_come_back(before: str) -> None:
    after = rewrite(before, TO_JAX).text
    assert after == OF_OURS[before]
    assert rewrite(after, TO_XLASCOPE).text == before


@pytest.mark.parametrize("text", UNTOUCHED)
def test_nothing_else_is_touched(text: str) -> None:
    rewritten = rewrite(text, TO_XLASCOPE)
    assert rewritten.text == text and not rewritten.changes


@pytest.mark.parametrize("text", MISSING)
def test_missing_names_are_told(text: str, folder: "Folder") -> None:
    folder.write("train.py", text)
    status, output = folder.port("train.py", "--check")
    told = [line.partition(": ")[::2] for line in output.splitlines()[:-1] if "to change" not in line]
    assert len(told) == len(MISSING[text])
    for (place, what), (name, lines, why) in zip(told, MISSING[text], strict=True):
        assert place == f"train.py:{lines[0]}" and what.startswith(f"jax.{name} {why}")
        assert all(f"line {line}" in what for line in lines[1:])
    assert status == 1


class Folder:
    """A folder with programs in it, and the command that ports them."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self.capsys = path, capsys

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def port(self, *words: str) -> tuple[int, str]:
        status = xlascope.__main__.main(["port", *words])
        told = self.capsys.readouterr()
        return status, told.out + told.err


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capsys)


@pytest.mark.parametrize("name", REMOVED_NAMES)
def test_what_jax_has_removed_is_not_among_its_names(name: str) -> None:
    assert name not in names_of_jax()
    for word in (word.rstrip(",;") for word in REMOVED_NAMES[name].split() if word.startswith("xlascope.")):
        found: object = xlascope
        for part in word.partition("(")[0].split(".")[1:]:
            found = getattr(found, part)


def test_files_folders_and_their_summary(folder: Folder) -> None:
    folder.write("a.py", "import jax\nimport jax.numpy as jnp\n")
    folder.write("pack/b.py", "import numpy\n")
    folder.write("pack/.hidden/c.py", "import jax\n")
    folder.write("pack/env/pyvenv.cfg", "")
    folder.write("pack/env/d.py", "import jax\n")
    folder.write("pack/notes.txt", "import jax\n")
    status, output = folder.port("a.py", "pack", "pack/b.py")
    assert output.splitlines() == [
        "a.py: 2 imports changed",
        "python -m xlascope port: 2 files: 1 changed, 1 without jax",
    ]
    assert status == 0
    assert (folder.path / "a.py").read_text() == "import xlascope as jax\nimport xlascope.numpy as jnp\n"
    assert (folder.path / "pack/env/d.py").read_text() == "import jax\n"
    assert folder.port("a.py", "pack") == (0, "python -m xlascope port: 2 files: 2 without jax\n")
    assert folder.port("a.py", "--to", "jax")[0] == 0
    assert (folder.path / "a.py").read_text() == "import jax\nimport jax.numpy as jnp\n"


def test_check_and_diff_write_nothing(folder: Folder) -> None:
    path = folder.write("a.py", "import jax\nx = 1")
    status, output = folder.port("a.py", "--check")
    assert status == 1 and output.splitlines()[0] == "a.py: 1 import to change"
    status, output = folder.port("a.py", "--diff")
    assert status == 0 and "-import jax\n+import xlascope as jax\n x = 1\n\\ No newline at end of file\n" in output
    assert path.read_text() == "import jax\nx = 1"
    assert folder.port("a.py", "--check", "--diff")[0] == 1
    folder.port("a.py")
    assert folder.port("a.py", "--check")[0] == 0


def test_what_cannot_be_parsed_is_told_and_left_alone(folder: Folder) -> None:
    path = folder.write("old.py", "import jax\nprint 'a'\n")
    other = folder.write("good.py", "import jax\n")
    status, output = folder.port("old.py", "good.py")
    assert status == 1 and output.startswith("old.py:2: left as it is, it cannot be parsed: ")
    assert "1 changed, 1 cannot be parsed" in output
    assert path.read_text() == "import jax\nprint 'a'\n" and other.read_text() == "import xlascope as jax\n"


def test_libraries_of_jax_are_told(folder: Folder) -> None:
    text = "import jax\nimport flax.linen as nn\nfrom optax import adam\n"
    path = folder.write("a.py", text)
    status, output = folder.port("a.py")
    assert status == 1 and path.read_text() == text
    assert "a.py:2: flax brings jax itself" in output and "a.py:3: optax brings jax itself" in output
    assert "python -m xlascope watch" in output and "1 left to jax" in output
    status, output = folder.port("a.py", "--anyway")
    assert status == 1 and path.read_text() == text.replace("import jax", "import xlascope as jax")
    assert "a.py:2: flax brings jax itself: its functions take arrays of jax" in output
    assert folder.port("a.py", "--to", "jax")[0] == 0 and path.read_text() == text


def test_a_library_of_jax_can_be_ported_itself(folder: Folder) -> None:
    folder.write("src/optax/__init__.py", "import jax\n")
    folder.write("src/optax/adam.py", "import jax\nimport optax, flax\n")
    folder.write("tests/test_adam.py", "import jax\nimport optax\n")
    status, output = folder.port(".")
    assert status == 1 and "2 changed, 1 left to jax" in output
    assert "flax brings" in output and "optax brings" not in output


def test_names_that_jax_lacks_are_told_on_the_way_back(folder: Folder) -> None:
    folder.write("a.py", "import xlascope as xs\nfrom xlascope import inspect, jit, nn\nxs.numpy.ones(3), xs.watch\n")
    status, output = folder.port("a.py", "--to", "jax", "--check")
    assert status == 1
    assert "a.py:2: xlascope.inspect is not a public name of jax 0.10.2\n" in output
    assert "a.py:3: xlascope.watch is not a public name of jax 0.10.2\n" in output and "2 names need a look" in output


def test_encodings_permissions_and_links_stay(folder: Folder) -> None:
    latin = "# -*- coding: latin-1 -*-\nimport jax  # é\n".encode("latin-1")
    paths = {
        folder.write("latin.py", latin): latin,
        folder.write("bom.py", b"\xef\xbb\xbfimport jax\n"): b"\xef\xbb\xbfimport jax\n",
    }
    (folder.path / "link.py").symlink_to(folder.path / "latin.py")
    (folder.path / "latin.py").chmod(0o751)
    assert folder.port("link.py", "bom.py")[0] == 0
    for path, data in paths.items():
        assert path.read_bytes() == data.replace(b"import jax", b"import xlascope as jax")
    assert (folder.path / "link.py").is_symlink() and stat.S_IMODE((folder.path / "latin.py").stat().st_mode) == 0o751
    assert sorted(os.listdir(folder.path)) == ["bom.py", "latin.py", "link.py"]


def test_what_cannot_be_read_is_told(folder: Folder) -> None:
    status, output = folder.port("nothing.py")
    assert status == 2 and "nothing.py: No such file or directory" in output


CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["import jax\n"]},
    {"cell_type": "code", "metadata": {}, "source": ["!pip install jax \\\n", "  --upgrade\n", "%matplotlib inline\n"]},
    {"cell_type": "code", "metadata": {}, "outputs": [{"text": ["import jax"]}], "source": "import jax # é\nx = !ls"},
    {
        "cell_type": "code",
        "metadata": {},
        "source": ["%%time\n", "import jax.numpy as jnp\n", "jnp.sin?\n", "jnp.sinn"],
    },
    {"cell_type": "code", "metadata": {}, "source": ["%%bash\n", "import jax"]},
    {"cell_type": "code", "metadata": {}, "source": []},
    {
        "cell_type": "code",
        "metadata": {},
        "source": ["\n", "  from jax import nn\n", "  if 1:\n", "    import jax.nn"],
    },
    {"cell_type": "code", "metadata": {}, "source": ["y = (x\n", "% 3)\n", "await jax.effects_barrier()"]},
]


def _ported(line: str) -> str:
    return line.replace("from jax", "from xlascope").replace("import jax.nn", "import xlascope.nn, xlascope as jax")


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("style", [{"indent": 1}, {"indent": 4, "ensure_ascii": False}, {"separators": (",", " :  ")}])
def test_notebooks(folder: Folder, style: dict[str, object], end: str) -> None:
    text = json.dumps({"cells": CELLS, "metadata": {"a": 1e3}, "nbformat": 4}, **style).replace("1000.0", "1e3") + end
    path = folder.write("book.ipynb", text)
    status, output = folder.port("book.ipynb")
    assert status == 1
    assert "book.ipynb: 4 imports changed" in output
    assert "book.ipynb: cell 4, line 4: jax.numpy.sinn is not a public name" in output
    after = path.read_text()
    changed = json.loads(json.dumps(CELLS))
    changed[2]["source"] = changed[2]["source"].replace("import jax", "import xlascope as jax")
    changed[3]["source"][1] = "import xlascope.numpy as jnp\n"
    changed[6]["source"] = [_ported(line) for line in changed[6]["source"]]
    assert json.loads(after)["cells"] == changed
    folder.port("book.ipynb", "--to", "jax")
    assert path.read_text() == text, "to the byte"


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"a": "jax"}'])
def test_what_is_no_notebook_is_told(folder: Folder, text: str) -> None:
    path = folder.write("book.ipynb", text)
    status, output = folder.port("book.ipynb")
    assert status == 1 and "cannot be parsed" in output and path.read_text() == text


def test_a_notebook_that_cannot_be_parsed_says_the_cell(folder: Folder) -> None:
    cells = [{"cell_type": "code", "source": "import jax"}, {"cell_type": "code", "source": ["\n", "print 3"]}]
    folder.write("book.ipynb", json.dumps({"cells": cells, "nbformat": 4}))
    assert folder.port("book.ipynb")[1].startswith("book.ipynb: cell 2, line 2: left as it is, it cannot be parsed")


def test_without_libcst_the_line_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(cli.importlib.util, "find_spec", lambda name: None)
    assert xlascope.__main__.main(["port", "a.py"]) == 2
    assert 'pip install "xlascope[port]"' in capsys.readouterr().err


def test_a_ported_program_runs(folder: Folder) -> None:
    folder.write(
        "train.py",
        "import jax, jax.numpy as jnp\nimport jax.scipy.sparse.linalg\nfrom jax import random\n"
        "x, _ = jax.scipy.sparse.linalg.cg(jnp.eye(2), jax.numpy.ones(2))\n"
        "print(jax.jit(lambda x: x + 1)(x), random.key(0).dtype)\n",
    )
    assert folder.port("train.py")[0] == 0
    done = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True, cwd=folder.path, check=True)
    assert done.stdout == "[2. 2.] key<fry>\n"


def test_the_command_needs_no_engine_to_say_its_options(fresh_python) -> None:
    assert port is not None
    program = (
        "import sys, contextlib, xlascope.__main__ as m\n"
        "with contextlib.suppress(SystemExit): m.main(['port', '--help'])\n"
        "print('libcst' in sys.modules)"
    )
    assert fresh_python(program).endswith("False\n")
