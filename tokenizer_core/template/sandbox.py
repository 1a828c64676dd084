"""Jinja as Hugging Face sets it up, twice: as it is, and with origins and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from string import Formatter
from types import BuiltinMethodType, MethodType
from typing import Any

import jinja2
from jinja2 import nodes, runtime
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import make_attrgetter
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from tokenizer_core.errors import TemplateLimit, TemplateUntrackable
from tokenizer_core.template import formats, meter
from tokenizer_core.template.string_filters import STRING_FILTERS
from tokenizer_core.template.tracked import Tracked, bare, code_of, concat, generated, number, text_of, tracked, written

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

_NATIVE_FILTERS = [
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

_EXTENTS = ("batch", "slice", "round")


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
        meter.charge(meter.size_of(args))
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        meter.charge(meter.size_of(args))
        return dict.fromkeys(*args, **kwargs)


class Generation(Extension):
    """``{% generation %}``: what the model says."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own declaration

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_generation"), [], [], body).set_lineno(line)

    def _generation(self, caller: Callable[[], str]) -> str:
        text = caller()
        return generated(text) if isinstance(self.environment, TrackingEnvironment) else text


def _raise_exception(message: Any) -> None:
    raise jinja2.exceptions.TemplateError(str(message))


def _strftime_now(format: str) -> str:
    meter.charge(20 * len(format))
    return written(meter.now().strftime(format), code_of(format))


class PlainEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox of Hugging Face: what a tracked rendering must equal.

    Nothing is computed when a template is compiled: what is intercepted, or needs the context, is not folded.
    """

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
        self.filters["tojson"] = formats.plain_json
        self.native_filters = dict(self.filters)
        for name, function in self.native_filters.items():
            self.filters[name] = _unfolded(function)
        self.globals |= {
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
            "dict": TemplateDict(),
            "namespace": TemplateNamespace,
        }
        self.filters["_ticking"] = _contextual(_ticking)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parsed: nodes.Template = _Loops().visit(super()._parse(source, name, filename))
        return parsed


class TrackingEnvironment(PlainEnvironment):
    """The same, for tracked values: every way to make text keeps the origins, and pays first."""

    concat = staticmethod(concat)

    def __init__(self) -> None:
        super().__init__()
        self.finalize = _finalize
        del self.globals["lipsum"]
        for name, native in self.native_filters.items():
            self.filters[name] = _native(name, native) if name in _NATIVE_FILTERS else _refused(name)
        for name, function in STRING_FILTERS.items():
            self.filters[name] = _contextual(function)
        self.filters["join"] = _join
        for name, function in (("_ticking", _ticking), ("_built", meter.weigh), ("_cut", _slice), ("_joined", _joined)):
            self.filters[name] = _contextual(function)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parsed: nodes.Template = _Growth().visit(super()._parse(source, name, filename))
        return parsed

    def call(__self, __context: runtime.Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - Jinja's
        meter.charge(1 + meter.size_of(args))
        owner = getattr(__obj, "__self__", None)
        if isinstance(__obj, (MethodType, BuiltinMethodType)) and owner is not None:
            name = __obj.__name__
            if isinstance(owner, str):
                if name not in _STRING_METHODS:
                    raise TemplateUntrackable(
                        f"the chat template uses the method {name!r} of a string, which is not tracked"
                    )
                meter.charge(len(owner) >> 4)
                __obj = getattr(tracked(owner), name)
            elif isinstance(owner, (Mapping, list, tuple)):
                if name not in _CONTAINER_METHODS:
                    raise jinja2.exceptions.SecurityError(f"{name!r} is not safely callable")
                meter.charge(len(owner))
            elif not isinstance(owner, (*_CALLABLE_OWNERS, TemplateDict, Extension, jinja2.utils.Cycler)):
                raise TemplateUntrackable(f"the chat template uses the method {name!r}, whose result is not tracked")
        return meter.weigh(super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: runtime.Context, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, str):
            if operator == "%":
                return formats.percent(left, right)
            if operator == "+" and isinstance(right, str):
                return concat([left, right])
        if operator == "*":
            _charge_product(left, right)
        elif operator == "**":
            _charge_power(left, right)
        elif operator == "+":
            meter.charge(meter.size_of((left, right)))
        if isinstance(right, str) and operator == "*":
            left, right = right, left
        if isinstance(left, str):
            left = tracked(left)
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, (int, float)):
            return number(_bounded(result), code_of(left) or code_of(right))
        return meter.weigh(result)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if not isinstance(value, (MethodType, BuiltinMethodType)) or value.__name__ not in ("format", "format_map"):
            return None
        template = value.__self__
        if not isinstance(template, str):
            return None
        formatter: Formatter = SandboxedFormatter(self)
        if value.__name__ == "format_map":
            return lambda values: formats.braces(template, (), values, formatter)
        return lambda *args, **kwargs: formats.braces(template, args, kwargs, formatter)


class _Loops(NodeTransformer):
    """Count what loops go over."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named after the node
        self.generic_visit(node)
        if isinstance(node.iter, nodes.Expr):
            node.iter = _filter("_ticking", node.iter)
        return node


class _Growth(NodeTransformer):
    """Send what Jinja compiles to bare Python through the environment."""

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


def _contextual(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep a filter from running when the template is compiled, where nothing is counted."""

    @jinja2.pass_context
    def filtered(_: runtime.Context, *args: Any, **kwargs: Any) -> Any:
        meter.charge(1 + meter.size_of(args))
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

    return _contextual(refuse)


def _native(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Use Jinja's own filter; text or a number that it makes of the caller's is the caller's as a whole."""
    run = _unfolded(function)

    @jinja2.pass_context
    def filtered(context: runtime.Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        meter.charge(1 + meter.size_of((value, *args)))
        if name in _EXTENTS:
            # Columns to fill and digits to round to: the work grows with them, or with their square.
            meter.charge(sum(extent * extent for extent in (*args, *kwargs.values()) if isinstance(extent, int)))
        if name == "sum" and not isinstance(kwargs.get("start", (*args, 0, 0)[1]), (int, float)):
            raise TemplateUntrackable("the chat template sums what are no numbers, which is not tracked")
        result = run(context, value, *args, **kwargs)
        if isinstance(result, str) and not isinstance(result, Tracked):
            return written(bare(result), code_of(value) or code_of(args))
        if isinstance(result, (int, float)) and name not in ("length", "count"):
            return number(_bounded(result), code_of(value))
        return meter.weigh(result)

    return filtered


def _ticking(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        meter.charge(8)
        yield item


def _slice(value: Any, start: Any, stop: Any, step: Any) -> Any:
    meter.charge(meter.size_of((value,)))
    return meter.weigh(value[start:stop:step])


@jinja2.pass_context
def _join(context: runtime.Context, value: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    return tracked(text_of(d)).join(map(_finalize, value))


def _joined(*values: Any) -> str:
    return concat([_finalize(value) for value in values])


def _finalize(value: Any) -> str:
    if isinstance(value, str):
        return value
    meter.charge_weight(value)
    return text_of(value)


def _charge_product(left: Any, right: Any) -> None:
    for value, times in ((left, right), (right, left)):
        if isinstance(value, (str, list, tuple)) and isinstance(times, int):
            meter.charge(max(times, 0) * (len(value) + 1))


def _charge_power(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > meter.MAX_NUMBER_BITS:
        raise TemplateLimit("the chat template computes a number that is larger than any chat needs")


def _bounded(value: float) -> float:
    if isinstance(value, int) and value.bit_length() > meter.MAX_NUMBER_BITS:
        raise TemplateLimit("the chat template computes a number that is larger than any chat needs")
    return value
