"""Jinja as Hugging Face sets it up, within bounds: every operation that makes text or lists grow is charged first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinMethodType, CodeType, MethodType
from typing import Any

import jinja2
from jinja2 import nodes, runtime
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import make_attrgetter
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from tokenizer_core.errors import TemplateFailed, TemplateLimit, TemplateUntrackable
from tokenizer_core.template import formatting, meter
from tokenizer_core.template.growth import (
    charge_filter,
    charge_indent,
    charge_method,
    charge_product,
    parts_of,
    ticking,
)
from tokenizer_core.template.tracked import code_of, written

_PREDICATES = frozenset(
    [
        "count",
        "endswith",
        "find",
        "index",
        "isalnum",
        "isalpha",
        "isascii",
        "isdecimal",
        "isdigit",
        "isidentifier",
        "islower",
        "isnumeric",
        "isprintable",
        "isspace",
        "istitle",
        "isupper",
        "rfind",
        "rindex",
        "startswith",
    ]
)
_STRING_METHODS = _PREDICATES | frozenset(
    [
        "capitalize",
        "casefold",
        "center",
        "expandtabs",
        "join",
        "ljust",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rjust",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "strip",
        "swapcase",
        "title",
        "upper",
        "zfill",
    ]
)
_CONTAINER_METHODS = frozenset(["copy", "count", "fromkeys", "get", "index", "items", "keys", "values"])
_CALLABLE_OWNERS = (runtime.LoopContext, runtime.Macro)
"""Methods of anything else do work that is not counted, such as those of integers that make bytes."""

FUNCTIONS = ("cycler", "dict", "joiner", "namespace", "raise_exception", "range", "strftime_now")
"""Functions that a template can call beside its own macros."""

NATIVE_FILTERS = [
    "abs",
    "attr",
    "batch",
    "count",
    "d",
    "default",
    "dictsort",
    "filesizeformat",
    "first",
    "float",
    "groupby",
    "int",
    "items",
    "last",
    "length",
    "list",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "reverse",
    "round",
    "select",
    "selectattr",
    "slice",
    "sort",
    "sum",
    "truncate",
    "unique",
    "wordcount",
    "e",
    "escape",
    "forceescape",
]

_TEXT_CHARGES: dict[str, Callable[..., None]] = {
    "center": lambda text, width=80: charge_method(text, "center", width),
    "indent": lambda text, width=4, *_, **__: charge_indent(text, width),
    "replace": lambda text, old, new, count=-1: charge_method(text, "replace", str(old), str(new), count),
}
"""Charges for the results of Jinja's own text filters, by their arguments."""

_TEXT_FILTERS = frozenset(["capitalize", "lower", "safe", "string", "title", "trim", "upper", *_TEXT_CHARGES])

_OUTPUT = 4
"""Units for each text that one run through a loop may write: its place among the others, as their list grows."""

MAX_PYTHON = 280_000
"""Characters of Python that a template may become: five times the longest of forty real ones. Python compiles them in
one go, in which no other thread runs: of this length that takes a tenth of a second or two. 60,000 characters of a
template can become 1.7 million."""

MAX_NAMED = 255
"""Named arguments of one call: Python compares each with all others when it compiles them."""

_RECURSION = 500
"""Units for each item of a loop that calls itself, whose body is not known then."""


class TemplateNamespace(Namespace):
    """A ``namespace()`` that takes no names with an underscore, as in Hugging Face."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *values = args
        attributes = dict(*values, **kwargs)
        for name in attributes:
            _public(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _public(name)
        super().__setitem__(name, value)


def _public(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a namespace takes no name with an underscore, such as {name!r}")


class TemplateDict:
    """``dict`` as a template may use it: to build one, and no more of the type."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        meter.charge(meter.OBJECT * meter.size_of(args))
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        meter.charge(meter.OBJECT * meter.size_of(args))
        return dict.fromkeys(*args, **kwargs)


class Generation(Extension):
    """``{% generation %}``: what the model says."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own declaration

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_generation"), [], [], body).set_lineno(line)

    def _generation(self, caller: Callable[[], str]) -> str:
        return self.environment.generated(caller())  # type: ignore[attr-defined, no-any-return]


def _raise_exception(message: Any) -> None:
    raise jinja2.exceptions.TemplateError(str(message))


def _strftime_now(format: str) -> str:
    meter.charge(20 * len(format))
    return written(meter.now().strftime(format), code_of(format))


def _concat(parts: Iterable[str]) -> str:
    parts = parts if isinstance(parts, (list, tuple)) else list(parts)
    meter.charge(sum(map(len, parts)) + 2 * len(parts) + meter.OBJECT)
    return "".join(parts)


class PlainEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox of Hugging Face, within bounds: what a tracked rendering must equal.

    A template can find out which of the two it runs in, so both are bounded alike. Nothing is computed when a template
    is compiled: what is intercepted, or needs the context, is not folded.
    """

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))
    concat = staticmethod(_concat)

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
        self.finalize = _charged_output
        self.native_filters = {name: _unfolded(function) for name, function in self.filters.items()}
        for name, native in self.native_filters.items():
            known = name in NATIVE_FILTERS or name in _TEXT_FILTERS
            self.filters[name] = _charged(name, native) if known else _refused(name)
        self.filters["join"] = _join
        # Jinja's makes a type that escapes what is added to it for HTML. A prompt is no page.
        self.filters["safe"] = self.filters["string"]
        for name, function in (
            ("format", _format),
            ("tojson", formatting.plain_json),
            ("_ticking", _ticking),
            ("_built", meter.weigh),
            ("_cut", _slice),
            ("_joined", _joined),
            ("_named", _named),
            ("_unescaped", _unescaped),
        ):
            self.filters[name] = contextual(function)
        functions = {
            **self.globals,
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
            "dict": TemplateDict(),
            "namespace": TemplateNamespace,
        }
        self.globals = {name: functions[name] for name in FUNCTIONS}

    def generated(self, text: str) -> str:
        """Return what a block of the model's turn holds."""
        return text

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parsed: nodes.Template = _Growth().visit(super()._parse(source, name, filename))
        return parsed

    def _compile(self, source: str, filename: str) -> CodeType:
        if len(source) > MAX_PYTHON:
            raise TemplateFailed(
                f"the chat template becomes {len(source)} characters of Python, which may be {MAX_PYTHON}; "
                "write what it repeats as a loop or a macro"
            )
        return super()._compile(source, filename)

    def call(__self, __context: runtime.Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - Jinja's
        meter.charge(meter.OBJECT + meter.size_of(args))
        if isinstance(__obj, runtime.LoopContext) and args and isinstance(args[0], Iterable):
            args = (ticking(args[0], _RECURSION), *args[1:])
        owner = getattr(__obj, "__self__", None)
        if isinstance(__obj, (MethodType, BuiltinMethodType)) and owner is not None:
            name = __obj.__name__
            if isinstance(owner, str):
                if name not in _STRING_METHODS:
                    raise TemplateUntrackable(
                        f"the chat template uses the method {name!r} of a string, which is not tracked"
                    )
                meter.charge(len(owner) >> 4)
                __obj, args = __self.string_method(owner, __obj, args, kwargs)
            elif isinstance(owner, (Mapping, list, tuple)):
                if name not in _CONTAINER_METHODS:
                    raise jinja2.exceptions.SecurityError(f"{name!r} is not safely callable")
                meter.charge(len(owner) * (meter.OBJECT if name == "copy" else 1))
            elif not isinstance(owner, (*_CALLABLE_OWNERS, TemplateDict, Extension, jinja2.utils.Cycler)):
                raise TemplateUntrackable(f"the chat template uses the method {name!r}, whose result is not tracked")
        return made(super().call(__context, __obj, *args, **kwargs))

    def string_method(
        self, owner: str, method: Any, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        """Charge for a method of a string, and return what is to be called, and with which arguments."""
        name = method.__name__
        charge_method(owner, name, *args, *(options[key] for key in ("sep", "maxsplit", "tabsize") if key in options))
        if name == "join" and args and isinstance(args[0], Iterable):
            args = (parts_of(owner, args[0]), *args[1:])
        return method, args

    def call_binop(self, context: runtime.Context, operator: str, left: Any, right: Any) -> Any:
        meter.charge(meter.OBJECT)
        if operator == "%" and isinstance(left, str):
            right = formatting.charged_values(left, right)
        elif operator == "*":
            charge_product(left, right)
        elif operator == "**":
            _charge_power(left, right)
        elif operator == "+":
            meter.charge(2 * meter.size_of((left, right)))
        return made(super().call_binop(context, operator, left, right))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if not isinstance(value, (MethodType, BuiltinMethodType)) or value.__name__ not in ("format", "format_map"):
            return None
        template = value.__self__
        if not isinstance(template, str):
            return None
        if value.__name__ == "format_map":
            return lambda values: self.formatted(template, (), values)
        return lambda *args, **kwargs: self.formatted(template, args, kwargs)

    def formatted(self, template: str, args: Any, kwargs: Any) -> str:
        """Fill the braces of a template."""
        meter.charge(len(template))
        if isinstance(template, Markup):
            formatter = formatting.ChargedEscapeFormatter(self, escape=template.escape)
            return type(template)(formatter.vformat(template, args, kwargs))
        return formatting.ChargedFormatter(self).vformat(template, args, kwargs)


class _Growth(NodeTransformer):
    """Send what Jinja compiles to bare Python through the environment, and count what loops go over."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named after the node
        self.generic_visit(node)
        if isinstance(node.iter, nodes.Expr):
            units = 8 + _OUTPUT * sum(len(output.nodes) for output in node.find_all(nodes.Output))
            node.iter = _filter("_ticking", node.iter, nodes.Const(units))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - as above
        self.generic_visit(node)
        first, *rest = node.nodes
        return _filter("_joined", first, *rest)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 - as above
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        bounds: tuple[nodes.Expr | None, ...] = (node.arg.start, node.arg.stop, node.arg.step)
        return _filter("_cut", node.node, *(nodes.Const(None) if bound is None else bound for bound in bounds))

    def visit_ScopedEvalContextModifier(  # noqa: N802 - as above
        self, node: nodes.ScopedEvalContextModifier
    ) -> nodes.Node:
        self.generic_visit(node)
        for option in node.options:
            option.value = _filter("_unescaped", option.value)
        return node

    def _visit_starred(self, node: nodes.Call | nodes.Filter | nodes.Test) -> nodes.Node:
        self.generic_visit(node)
        if len(node.kwargs) > MAX_NAMED:
            raise TemplateFailed(
                f"the chat template gives {len(node.kwargs)} named arguments in line {node.lineno}; "
                f"{MAX_NAMED} are the most"
            )
        if node.dyn_args is not None:
            node.dyn_args = _filter("_ticking", node.dyn_args, nodes.Const(meter.PIECE))
        if node.dyn_kwargs is not None:
            node.dyn_kwargs = _filter("_named", node.dyn_kwargs)
        return node

    visit_Call = visit_Filter = visit_Test = _visit_starred  # noqa: N815 - as above

    def _visit_literal(self, node: nodes.Expr) -> nodes.Node:
        constant = all(isinstance(child, nodes.Const) for child in node.iter_child_nodes())
        self.generic_visit(node)
        return node if constant or getattr(node, "ctx", "load") != "load" else _filter("_built", node)

    visit_List = visit_Tuple = visit_Dict = _visit_literal  # noqa: N815 - as above


def _filter(name: str, value: nodes.Expr, *args: nodes.Expr) -> nodes.Expr:
    node = nodes.Filter(value, name, list(args), [], None, None)
    node.set_lineno(value.lineno)
    if value.environment is not None:
        node.set_environment(value.environment)
    return node


def contextual(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep a filter from running when the template is compiled, where nothing is counted."""

    @jinja2.pass_context
    def filtered(_: runtime.Context, *args: Any, **kwargs: Any) -> Any:
        meter.charge(meter.OBJECT + meter.size_of(args))
        return function(*args, **kwargs)

    return filtered


def _unfolded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep one of Jinja's filters from running when the template is compiled."""
    passed = getattr(function, "jinja_pass_arg", None)

    @jinja2.pass_context
    def filtered(context: runtime.Context, *args: Any, **kwargs: Any) -> Any:
        if passed is None:
            return function(*args, **kwargs)
        given = {"context": context, "eval_context": context.eval_ctx, "environment": context.environment}
        return function(given[passed.name], *args, **kwargs)

    return filtered


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise TemplateUntrackable(f"the chat template uses the filter {name!r}, which is not tracked")

    return contextual(refuse)


def _charged(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    @jinja2.pass_context
    def filtered(context: runtime.Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        if name in _TEXT_FILTERS:
            meter.charge_weight(value)
        if name in _TEXT_CHARGES:
            _TEXT_CHARGES[name](str(value), *args, **kwargs)
        return made(run(context, charge_filter(name, value, args, kwargs), *args, **kwargs))

    return filtered


def made(value: Any) -> Any:
    """Charge for a value that an operation made, as far as that was not known before, and return it."""
    if isinstance(value, str):
        meter.charge(len(value))
    elif isinstance(value, int) and value.bit_length() > meter.MAX_NUMBER_BITS:
        raise TemplateLimit("the chat template computes a number that is larger than any chat needs")
    return meter.weigh(value)


def _ticking(items: Iterable[Any], units: int) -> Iterator[Any]:
    # A template may call this too, by its name and with any number.
    return ticking(items, max(units, 8))


def _named(values: Any) -> Any:
    meter.charge(meter.PIECE * meter.size_of((values,)))
    return values


def _unescaped(autoescape: Any) -> bool:
    # What Jinja escapes for HTML becomes a string of its own type, in code that no environment sees.
    if autoescape:
        raise TemplateUntrackable("the chat template escapes text by autoescape, which is not tracked")
    return False


def _slice(value: Any, start: Any, stop: Any, step: Any) -> Any:
    meter.charge(2 * meter.size_of((value,)))
    return meter.weigh(value[start:stop:step])


@jinja2.pass_context
def _join(context: runtime.Context, value: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    separator = str(d)
    return separator.join(parts_of(separator, (str(_charged_output(part)) for part in value)))


def _joined(*values: Any) -> str:
    return _concat([str(_charged_output(value)) for value in values])


def _format(value: Any, *args: Any, **kwargs: Any) -> str:
    if args and kwargs:
        raise jinja2.exceptions.FilterArgumentError("can't handle positional and keyword arguments at the same time")
    meter.charge_weight(value)
    template = value if isinstance(value, str) else str(value)
    text: str = template % formatting.charged_values(template, kwargs or args)
    return text


def _charged_output(value: Any) -> Any:
    if not isinstance(value, str):
        meter.charge(meter.OBJECT)
        meter.charge_weight(value)
    return value


def _charge_power(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > meter.MAX_NUMBER_BITS:
        raise TemplateLimit("the chat template computes a number that is larger than any chat needs")
