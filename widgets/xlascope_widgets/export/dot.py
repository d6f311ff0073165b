"""A program as a graph for Graphviz: a cluster for each body, a colour for each kernel."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

import graphviz

from xlascope.analysis.diff import Diff
from xlascope.records import Compiled, Equation, EquationPath, Jaxpr, Traced
from xlascope.records.plain import plain

from ..program_store import ProgramState, ProgramStore

#: Fill colours on which black text is readable; kernels cycle through them.
COLOURS = ("#dbe7fb", "#fde3d3", "#e2f2df", "#efe1f7", "#fdf3c8", "#d8f1f0", "#f9dbe6", "#e6e6e0", "#d5dcf4", "#f6e0c0")
PASSES = {"forward": "#2f6fde", "backward": "#c0541b", "tangent": "#54309c"}
SIGNS = {"+": ("#d7f0dd", "added"), "-": ("#fbd9d6", "removed"), "~": ("#dbe7fb", "changed"), "=": ("#ffffff", "")}

NO_GRAPHVIZ = (
    "a PDF is drawn by Graphviz's program `dot`, which is not on the path; "
    "install Graphviz (https://graphviz.org/download/), or save as .dot, .svg or .png"
)


def dot_source(store: ProgramStore) -> str:
    """Return Graphviz source of the main program, or of both programs of a comparison."""
    graph = graphviz.Digraph("xlascope")
    graph.attr(rankdir="TB", fontname="Helvetica", fontsize="11", compound="true")
    graph.attr("node", shape="box", style="rounded,filled", fontname="Helvetica", fontsize="10", fillcolor="#ffffff")
    graph.attr("edge", fontname="Helvetica", fontsize="8", color="#5d6878", arrowsize="0.6")
    shown = store.main.static_view if store.main is not None else None
    if store.diff is not None:
        _draw_comparison(graph, store.diff)
    elif shown is not None and shown.traced is not None:
        graph.attr(label=_caption(shown), labelloc="t", labeljust="l")
        _GraphDrawing(graph, shown.traced, shown.compiled, "", {}).draw()
    return str(graph.source)


def render_pdf(text: str) -> bytes:
    """Render Graphviz source as PDF; raise ValueError if Graphviz is not installed or fails."""
    if shutil.which("dot") is None:
        raise ValueError(NO_GRAPHVIZ)
    try:
        return bytes(graphviz.Source(text).pipe(format="pdf"))
    except graphviz.CalledProcessError as error:
        raise ValueError(f"Graphviz could not draw it: {plain(str(error), 300)}") from error


def _caption(program: ProgramState) -> str:
    """Return the caption of a graph: what is drawn, and what its colours mean."""
    parts = [plain(program.function, 60), f"{program.equations:,} equations"]
    if program.compiled is not None:
        target = f" for {program.compiled.target}" if program.compiled.target else ""
        parts.append(f"{len(program.compiled.kernels):,} kernels{target} (one fill each)")
    parts.append("outlines: blue forward, violet tangent, orange backward")
    return _escape_label(" · ".join(parts), 200)


def _draw_comparison(graph: graphviz.Digraph, diff: Diff) -> None:
    sides = (("before", diff.before, diff.labels[0]), ("after", diff.after, diff.labels[1]))
    for side, side_records, label in sides:
        signs = {getattr(item, side): item.sign for item in diff.equations}
        with graph.subgraph(name=f"cluster_{side}") as inner:
            inner.attr(label=_escape_label(label, 80), color="#d3d8e0")
            traced = next((item for item in side_records if isinstance(item, Traced)), None)
            if traced is not None:
                _GraphDrawing(inner, traced, None, f"{side} ", signs).draw()


def _escape_label(text: str, most: int = 60) -> str:
    """Return text, shortened to ``most`` characters and escaped so that Graphviz shows it literally."""
    return graphviz.escape(plain(text, most))  # type: ignore[no-any-return]


def _multiline_label(texts: Sequence[str]) -> str:
    return graphviz.nohtml("\\n".join(_escape_label(text, 48) for text in texts if text))  # type: ignore[no-any-return]


def _is_call(equation: Equation) -> bool:
    """Return whether an equation only runs its one body, with its own operands."""
    loops = ("scan", "while", "cond")
    return (
        len(equation.bodies) == 1
        and equation.operation not in loops
        and len(equation.bodies[0].inputs) == len(equation.inputs)
    )


class _GraphDrawing:
    """Drawing of one program into a graph.

    ``prefix`` begins its node names, so that they differ from those of another program in the graph. ``signs`` says
    of each equation how it compares with the other program (``+``, ``-``, ``~``, ``=``). ``producer_of`` has the node
    that computes each variable drawn so far.
    """

    def __init__(
        self,
        graph: graphviz.Digraph,
        traced: Traced,
        compiled: Compiled | None,
        prefix: str,
        signs: Mapping[EquationPath, str],
    ) -> None:
        self.graph, self.traced, self.prefix, self.signs = graph, traced, prefix, signs
        self.kernel_of: dict[str, tuple[int, str]] = {}
        for number, kernel in enumerate(compiled.kernels if compiled else ()):
            for path in kernel.equations:
                self.kernel_of.setdefault(path, (number, kernel.name))
        self.producer_of: dict[str, str] = {}

    def draw(self) -> None:
        jaxpr = self.traced.jaxpr
        self._draw_inputs(self.graph, jaxpr, "")
        self._draw_equations(self.graph, jaxpr)
        for position, name in enumerate(jaxpr.outputs):
            node = f"{self.prefix}result {position}"
            self.graph.node(node, f"result {position}", shape="plaintext", style="")
            self._draw_edge(name, node)

    def _draw_inputs(self, graph: graphviz.Digraph, jaxpr: Jaxpr, path: str) -> None:
        """Draw the arguments and constants that are used; ``path`` is that of the equation whose body this is."""
        used = {name for equation in jaxpr.equations for name in equation.inputs} | set(jaxpr.outputs)
        for name in (*jaxpr.constants, *jaxpr.inputs):
            if name in used:
                variable = jaxpr.variables.get(name)
                lines = [variable.label or name, variable.type_text] if variable else [name]
                node = self.producer_of[name] = f"{self.prefix}{path} given {name}"
                graph.node(node, _multiline_label(lines), shape="ellipse", style="", fontsize="9")

    def _draw_equations(self, graph: graphviz.Digraph, jaxpr: Jaxpr) -> None:
        for equation in jaxpr.equations:
            if _is_call(equation):
                self._draw_call(graph, equation)
            else:
                self._draw_equation(graph, equation, jaxpr)

    def _draw_call(self, graph: graphviz.Digraph, equation: Equation) -> None:
        """Draw a call as a cluster of its body's equations, connected to the call's operands and results."""
        (body,) = equation.bodies
        makers = [self.producer_of.get(name) for name in equation.inputs]
        for name, maker in zip(body.inputs, makers, strict=True):
            self.producer_of.pop(name, None)
            if maker is not None:
                self.producer_of[name] = maker
        with graph.subgraph(name=f"cluster_{self.prefix}{equation.path}") as cluster:
            sign = self.signs.get(equation.path, "=")
            cluster.attr(label=_multiline_label([equation.name, SIGNS[sign][1]]), style="rounded", color="#9aa5b5")
            self._draw_equations(cluster, body)
        for name, inner in zip(equation.outputs, body.outputs, strict=False):
            if inner in self.producer_of:
                self.producer_of[name] = self.producer_of[inner]

    def _draw_equation(self, graph: graphviz.Digraph, equation: Equation, jaxpr: Jaxpr) -> None:
        """Draw an equation with its bodies, and edges from what computes its operands; ``jaxpr`` contains it."""
        node = self.prefix + equation.path
        if equation.bodies:
            with graph.subgraph(name=f"cluster_{node}") as cluster:
                cluster.attr(label="", style="rounded", color="#9aa5b5")
                self._draw_node(cluster, equation, jaxpr)
                for body in equation.bodies:
                    self._draw_body(cluster, equation, body)
        else:
            self._draw_node(graph, equation, jaxpr)
        for name in dict.fromkeys(equation.inputs):
            self._draw_edge(name, node)
        self.producer_of.update(dict.fromkeys(equation.outputs, node))

    def _draw_body(self, graph: graphviz.Digraph, equation: Equation, body: Jaxpr) -> None:
        """Draw a body of a loop or branch, ``equation``, with dotted lines from it to the body's inputs."""
        outer = dict(self.producer_of)
        self._draw_inputs(graph, body, equation.path)
        for name in body.inputs:
            if self.producer_of.get(name) != outer.get(name):
                graph.edge(self.prefix + equation.path, self.producer_of[name], style="dotted", arrowhead="none")
        self._draw_equations(graph, body)

    def _draw_node(self, graph: graphviz.Digraph, equation: Equation, jaxpr: Jaxpr) -> None:
        """Draw the box of an equation: its name, result types, kernel, and how it differs from the other program."""
        types = ", ".join(v.type_text for name in equation.outputs if (v := jaxpr.variables.get(name)))
        number, kernel = self.kernel_of.get(equation.path, (None, ""))
        sign = self.signs.get(equation.path, "=")
        fill, word = SIGNS[sign]
        name = equation.name if sign == "=" else f"{sign} {equation.name}"
        graph.node(
            self.prefix + equation.path,
            _multiline_label([name, types, kernel, word]),
            fillcolor=fill if number is None else COLOURS[number % len(COLOURS)],
            color=PASSES[equation.role],
            tooltip=_escape_label(f"{equation.operation} {equation.parameters}", 160),
            penwidth="2" if equation.bodies else "1",
        )

    def _draw_edge(self, name: str, node: str) -> None:
        maker = self.producer_of.get(name)
        if maker is not None and maker != node:
            self.graph.edge(maker, node)
