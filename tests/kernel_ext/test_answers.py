"""Questions about a program by its number: the call behind it is found again, without keeping anything of it alive."""

import gc
import threading
import weakref

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.control.jit.program_calls import find_program_call
from xlascope.records import Compiled, Explained, Passes
from xlascope.xla.targets import MissingTargetError
from xlascope_ipython.answers import Answers
from xlascope_ipython.views import make_panel


class Reply:
    """Somebody who waits for an answer."""

    def __init__(self):
        self.messages, self.stop, self.began = [], None, threading.Event()

    def on_cancel(self, stop):
        self.stop = stop

    def progress(self, share, message=""):
        self.messages.append(message)
        if message:
            self.began.set()


def plain(x, y=1.0):
    return jnp.tanh(x @ x + y) * 2.0


def with_static(x, power, *, twice=False):
    return x**power * (2.0 if twice else 1.0)


def of_tree(params, x):
    return [params["w"] @ x, params["b"]]


X = np.ones((8, 8), np.float32)

#: Calls of each kind: function, arguments, keyword arguments.
CALLS = {
    "a function": (plain, (X,), {}),
    "a Python scalar": (plain, (X, 2.0), {}),
    "keywords": (plain, (X,), {"y": X}),
    "jitted": (xs.jit(plain), (X,), {}),
    "static arguments": (xs.jit(with_static, static_argnums=1, static_argnames="twice"), (X, 3), {"twice": True}),
    "a tree": (of_tree, ({"w": X, "b": None}, X), {}),
    "options": (xs.jit(plain, donate_argnums=0), (X,), {}),
}


def program(function, *args, **kwargs):
    return inspect.explore(function, *args, **kwargs).records[0].program


@pytest.mark.parametrize("kind", CALLS)
def test_a_call_is_found_again(kind):
    function, args, kwargs = CALLS[kind]
    number = program(function, *args, **kwargs)
    known = find_program_call(number)
    assert known is not None
    again, args, kwargs = known.rebuild()
    assert program(again, *args, **kwargs) == number


def test_a_program_that_nobody_knows():
    assert find_program_call(10**9) is None


class Held:
    """Stands for an array that a function closes over."""


def closing_over(held):
    def function(x):
        assert held is not None
        return jnp.sin(x)

    return function


def test_what_is_asked_about_may_go_away():
    held = Held()
    function = closing_over(held)
    number, gone = program(function, X), weakref.ref(held)
    assert find_program_call(number) is not None
    del function, held
    gc.collect()
    assert find_program_call(number) is None and gone() is None
    with pytest.raises(LookupError, match="Run the cell again"):
        Answers()({"question": "why", "program": number}, Reply())


def test_an_array_is_not_kept():
    def taking(x):
        return jnp.sin(x)

    x = jnp.arange(3.0) + 1.0
    number, gone = program(taking, x), weakref.ref(x)
    known = find_program_call(number)
    del x
    gc.collect()
    assert gone() is None and known is not None


def test_an_unknown_question():
    with pytest.raises(ValueError, match="no question 'what'; there are why, passes, target, split, code, whatif"):
        Answers()({"question": "what", "program": 1}, Reply())


def test_why_an_edge_is_not_fused():
    number = program(plain, X)
    reply = Reply()
    records, text = Answers()({"question": "why", "program": number, "edge": ["0", "1"], "target": ""}, reply)
    (found,) = [record for record in records if isinstance(record, Explained)]
    assert (found.program, found.edge, found.outcome, found.target) == (number, ("0", "1"), "refused", "cpu")
    assert found.decisions[found.about[-1]].reason and text == ""
    assert "compiling" in reply.messages


def test_the_passes():
    records, _ = Answers()({"question": "passes", "program": program(plain, X)}, Reply())
    (found,) = [record for record in records if isinstance(record, Passes)]
    assert found.complete and found.passes


def test_a_split():
    _, text = Answers()({"question": "split", "program": program(plain, X), "edge": ["1", "2"]}, Reply())
    assert "optimization_barrier" in text


def test_the_code_of_a_kernel():
    compiled = inspect.fusions(plain, X).records[-1]
    kernel = next(kernel.name for kernel in compiled.kernels if kernel.kind == "loop")
    _, text = Answers()({"question": "code", "program": compiled.program, "from": kernel, "to": "asm"}, Reply())
    assert kernel in text and "ret" in text


def test_a_split_without_an_edge_says_what_it_takes():
    with pytest.raises(ValueError, match="two equations"):
        Answers()({"question": "split", "program": program(plain, X)}, Reply())


def test_another_target():
    answers = Answers()
    assert "gpu:h100" in answers.targets and "cpu" not in answers.targets
    number = program(plain, X)
    try:
        records, _ = answers({"question": "target", "program": number, "target": "gpu:h100"}, Reply())
    except MissingTargetError as error:
        pytest.skip(str(error))
    (found,) = [record for record in records if isinstance(record, Compiled)]
    assert (found.program, found.target) == (number, "gpu:h100")
    assert any(kernel.launch for kernel in found.kernels)


def test_cancelling_ends_the_compiler_at_once():
    def long(x):
        for _ in range(300):
            x = jnp.tanh(x @ x) + x
        return x

    number, reply, ended = program(long, X), Reply(), []

    def ask():
        ended.append(Answers()({"question": "why", "program": number}, reply))

    thread = threading.Thread(target=ask)
    thread.start()
    assert reply.began.wait(30)
    reply.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert list(ended[0][0]) == []


class Elsewhere:
    """Another producer, which has one program and no call."""

    def __init__(self, known):
        self.known = known

    def program(self, asked):
        return None

    def find(self, number):
        return self.known if number == self.known.record.program else None


def test_a_program_of_another_producer():
    known = inspect.Program(str(inspect.hlo(plain, X, stage="stablehlo")), number=10**9)
    undo = inspect.register_producer(Elsewhere(known))
    try:
        records, _ = Answers()({"question": "why", "program": 10**9, "edge": ["0", "1"]}, Reply())
        (found,) = [record for record in records if isinstance(record, Explained)]
        assert (found.program, found.outcome) == (10**9, "refused")
        with pytest.raises(inspect.ChangeError, match="no call"):
            Answers()({"question": "split", "program": 10**9, "edge": ["1", "2"]}, Reply())
    finally:
        undo()
    with pytest.raises(LookupError, match="Run the cell again"):
        Answers()({"question": "why", "program": 10**9}, Reply())


def test_nobody_is_asked_about_the_programs_of_a_file():
    records = inspect.explore(plain, X).records
    ours, theirs = make_panel(records), make_panel(records, answerable=False)
    assert "why" in ours.questions and theirs.questions == ["share"]
    ours.close()
    theirs.close()


def updated(params, x):
    return params - 0.1 * x


def test_what_if_arguments_were_donated_or_narrower():
    number = program(updated, X, X)
    _, text = Answers()({"question": "whatif", "program": number, "change": ["donate", "params"]}, Reply())
    assert "argument 0 donated" in text and "not measured" in text
    _, text = Answers()({"question": "whatif", "program": number, "change": ["dtype", "bfloat16"]}, Reply())
    assert "bf16" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["donate", "y"], "no argument 'y'"),
        (["donate"], "takes a change"),
        (["donate", 0], "takes a change"),
        (["options", "xla_a=1"], "takes a change"),
    ],
)
def test_a_change_that_is_none_says_what_it_takes(change, words):
    number = program(updated, X, X)
    with pytest.raises(ValueError, match=words):
        Answers()({"question": "whatif", "program": number, "change": change}, Reply())
