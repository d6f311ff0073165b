"""How the front end's files become one text: scopes, order, what is refused, and what of it is shipped."""

import re

import pytest
import quickjs

from xlascope_widgets import assets
from xlascope_widgets.linker import LinkError, link, sort_modules

FILES = sorted(path.relative_to(assets.STATIC).as_posix() for path in assets.STATIC.rglob("*.js"))


@pytest.fixture
def write(tmp_path):
    """`write({name: text})` makes files and returns the folder that they are in."""

    def write(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write


def value(root, expression, *entries):
    """What an expression gives where the exports of the entries are known as `e`."""
    return quickjs.Context().eval(f"(e => {expression})({link(root, *entries)})")


def test_a_file_gets_what_it_imports(write):
    root = write(
        {
            "main.js": 'import { twice, Box } from "./deep/tools.js";\nexport const four = new Box(twice(2)).value;\n',
            "deep/tools.js": 'import { two } from "../two.js";\nexport function twice(x) {\n  return two * x;\n}\n'
            "export class Box {\n  constructor(value) {\n    this.value = value;\n  }\n}\n",
            "two.js": "export const two = 2;\n",
        }
    )
    assert value(root, "e.four", "main.js") == 4
    assert [module.name for module in sort_modules(root, "main.js")] == ["two.js", "deep/tools.js", "main.js"]


def test_a_file_that_several_import_runs_once(write):
    count = "export const seen = [];\n"
    add = 'import {{ seen }} from "./count.js";\nseen.push("{0}");\nexport const {0} = seen.length;\n'
    root = write({"count.js": count, "a.js": add.format("a"), "b.js": add.format("b")})
    assert value(root, "[e.a, e.b].join()", "a.js", "b.js") == "1,2"


def test_a_default_export(write):
    root = write({"main.js": 'const secret = 7;\nexport default { secret, "export": 1 };\n'})
    assert value(root, "e.default.secret", "main.js") == 7


def test_names_do_not_leak(write):
    """A file that uses what it does not import finds nothing, though another file declares and exports it."""
    used = 'import { use } from "./use.js";\nexport const found = use();\nconst hidden = 1;\n'
    root = write(
        {
            "main.js": used,
            "use.js": "export function use() {\n  return shown() + hidden;\n}\n",
            "shown.js": "export function shown() {\n  return 1;\n}\n",
        }
    )
    with pytest.raises(quickjs.JSException, match=r"'?shown'? is not defined"):
        value(root, "e.found", "shown.js", "main.js")


def test_two_files_may_use_one_name(write):
    one = 'import { x } from "./x.js";\nconst own = 1;\nexport const a = own + x;\n'
    root = write({"a.js": one, "x.js": "const own = 10;\nexport const x = own;\n"})
    assert value(root, "e.a", "a.js") == 11


@pytest.mark.parametrize(
    "line",
    [
        'import * as all from "./x.js";',
        'import whole from "./x.js";',
        'import { x as y } from "./x.js";',
        'import "./x.js";',
        'import {x} from "./x.js";',
        'import { x } from "elsewhere";',
        'import { x } from "./x.js"; const y = 1;',
        '  import { x } from "./x.js";',
        'const y = await import("./x.js");',
        "const y = import.meta.url;",
        'export { x } from "./x.js";',
        'export * from "./x.js";',
        "const y = 1; export { y };",
        "export let y = 1;",
        "export const { y } = {};",
        "export function* y() {}",
        "export default function y() {}",
        "export default class {}",
    ],
)
def test_other_forms_are_refused(write, line):
    root = write({"main.js": f"// import and export may be said here\n\n{line}\n", "x.js": "export const x = 1;\n"})
    with pytest.raises(LinkError, match=r"^main\.js:3: no form of (im|ex)port that is linked: ") as told:
        link(root, "main.js")
    assert str(told.value).endswith(line.strip())


@pytest.mark.parametrize(
    "text",
    [
        "() => import(url)",
        "/* export { y }; */",
        '"export { y };"',
        "`\nexport { y };\n`",
        "box.import",
        "({ reimport: 1 })",
    ],
)
def test_words_that_mean_nothing_are_left_alone(write, text):
    root = write(
        {
            "main.js": f"const box = {{}};\nexport const kept = {text};\n"
            if text[0] != "/"
            else f"{text}\nexport const kept = 1;\n"
        }
    )
    assert text in link(root, "main.js")
    value(root, "1", "main.js")


def test_a_circle_is_refused(write):
    one = 'import {{ {1} }} from "./{1}.js";\nexport const {0} = 1;\n'
    root = write({f"{a}.js": one.format(a, b) for a, b in ("ab", "bc", "ca")})
    with pytest.raises(LinkError, match="in a circle") as told:
        link(root, "a.js")
    assert {"a.js", "b.js", "c.js"} <= set(re.findall(r"\w+\.js", str(told.value)))
    assert "a.js imports b.js" in str(told.value)


def test_what_is_not_there_is_named(write):
    root = write({"main.js": '\nimport { x, y } from "./x.js";\n', "x.js": "export const x = 1, y = 2;\n"})
    with pytest.raises(LinkError, match=r"main\.js:2: x\.js does not export y"):
        link(root, "main.js")
    with pytest.raises(LinkError, match=r"main\.js:2: there is no file x\.js"):
        (root / "x.js").unlink()
        link(root, "main.js")


def test_pictures_need_two_names_and_leave_no_others():
    context = quickjs.Context()
    context.eval(assets.drawing_script())
    assert (
        context.eval("[typeof drawPicture, typeof drawDiffPicture, typeof Program].join()")
        == "function,function,undefined"
    )


def test_the_whole_front_end_is_one_module():
    """It loads where there is no page: what a page gives is asked for when something is drawn."""
    context = quickjs.Context()
    script = assets.browser_module()
    assert script.startswith("export default")
    assert re.findall(r"\bexport\b|\bimport\b.{5}", script) == ["export", "import(url)"]  # the view of arrays
    context.eval("globalThis.found = " + script.removeprefix("export default"))
    assert context.eval("Object.keys(found).join()") == "initialize,render"


def test_each_file_follows_what_it_imports():
    seen = set()
    for module in sort_modules(assets.STATIC, assets.WIDGET):
        assert {each.source for each in module.imports} <= seen
        seen.add(module.name)


def test_every_file_is_shipped():
    """Every module is reached from one that a host runs, every style sheet is named."""
    entries = (assets.WIDGET, assets.PAGE, assets.LOADER, assets.ARRAY_VIEW, *assets.PICTURES, *assets.pane_files())
    linked = {module.name for entry in entries for module in sort_modules(assets.STATIC, entry)}
    names = {path.relative_to(assets.STATIC).as_posix() for path in assets.STATIC.rglob("*.*")}
    assert names == {*linked, *assets.STYLES, assets.ARRAY_STYLE, "ground/wire.d.ts"}


def test_imports_lead_to_files():
    for path in assets.STATIC.rglob("*.js"):
        for found in re.findall(r'(?:from |import\()"(\.[^"]*)"', path.read_text(encoding="utf-8")):
            file = path.parent / found  # of types alone there is only a declaration
            assert file.is_file() or file.with_suffix(".d.ts").is_file(), f"{path.name} imports {found}"


def nested_templates(text):
    """Lines on which a template literal stands inside of another: rjsmin takes the inner one's words for code."""
    found, modes, line, at = [], [], 1, 0
    while at < len(text):
        rest = text[at:]
        step = 1
        if modes[-1:] == ["`"]:
            if rest[0] == "\\":
                step = 2
            elif rest[0] == "`":
                modes.pop()
            elif rest.startswith("${"):
                modes.append("$")
                step = 2
        elif match := re.match(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", rest[:2000], re.DOTALL):
            step = match.end()
        elif rest[0] == "`":
            if "$" in modes:
                found.append(line)
            modes.append("`")
        elif rest[0] == "{" and modes:
            modes.append("{")
        elif rest[0] == "}" and modes:
            modes.pop()
        line += text.count("\n", at, at + step)
        at += step
    return found


@pytest.mark.parametrize("name", FILES)
def test_the_minifier_can_read_every_file(name):
    if name == "ground/element.js":  # it has quotes in regular expressions, and no template inside of another
        return
    assert nested_templates((assets.STATIC / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("script", "short"),
    [
        ("const a = 1;\nconst b = a + 1;\n", "const a=1,b=a+1;"),
        (
            "const f = () => {\n  const c = 2;\n  return c;\n};\nconst b = f();\n",
            "const f=()=>{const c=2;return c},b=f();",
        ),
        ("/** @type {X} */ const a = 1;\n// why\n/** @type {Y} */ const b = 2;\n", "const a=1,b=2;"),
        ("const a = [\n  1,\n];\nconst [b] = a;\n", "const a=[1],[b]=a;"),
        ("let a = 1;\nconst b = 2;\n", "let a=1;const b=2;"),
        ("const a = [];\nif (a) a.push(1);\nconst b = 2;\n", "const a=[];if(a)a.push(1);const b=2;"),
        ("const a = [];\n/** @type {X} */ let c = 1;\nconst b = 2;\n", "const a=[];let c=1;const b=2;"),
        ("const a = {};\n/** @type {X} */ a.b = 1;\nconst b = 2;\n", "const a={};a.b=1;const b=2;"),
        ("for (const a of []) {\n  const b = a;\n}\nconst c = 1;\n", "for(const a of[]){const b=a}const c=1;"),
        ("const f = (x) => x;\nconst g = async (x) => x;\n", "const f=x=>x,g=async(x)=>x;"),
        ("const f = (x, y) => x;\nconst g = ({ x }) => x;\n", "const f=(x,y)=>x,g=({x})=>x;"),
        ("const f = `${[].map((x) => x)}`;\n", "const f=`${[].map((x) => x)}`;"),
    ],
)
def test_a_script_without_what_says_nothing(script, short):
    """It is shorter, and as it was: constants that follow each other are one declaration."""
    assert assets._minify(script).replace("\n", "") == short
    quickjs.Context().eval(script.replace("async ", ""))
    quickjs.Context().eval(short.replace("async", ""))


def test_what_nobody_imports_is_not_exported(write):
    root = write(
        {
            "main.js": 'import { used } from "./other.js";\nexport const both = used();\nexport const more = 1;\n',
            "other.js": "export function used() {\n  return spare();\n}\nexport function spare() {\n  return 7;\n}\n",
        }
    )
    assert value(root, "[e.both, e.more, e.spare].join()", "main.js") == "7,1,"
    text = link(root, "main.js")
    assert "return { used };" in text and "return { both, more };" in text
