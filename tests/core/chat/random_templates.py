"""Templates at random over the whole language that the engine takes, many of them nonsense, as real ones never are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

VARIABLES: dict[str, Any] = {
    "text": " Hé <b>'x'</b> &amp; \"q\"\n\tÉnd  ",
    "word": "word",
    "empty": "",
    "lines": "one\ntwo\r\n\n three \x0bfour\u2028five",
    "csv": "b,a,,c,b",
    "mixed": "aßİ ΑΣ ﬁǆ İstanbul don't 你好",
    "digits": " -42 ",
    "point": "1.50",
    "number": 7,
    "zero": 0,
    "negative": -13,
    "real": 2.5,
    "tiny": 1e-7,
    "huge": 1e22,
    "big": 10**30,
    "yes": True,
    "no": False,
    "nothing": None,
    "items_list": [3, 1, 2, 1, "b", "A", None, 2.0, True],
    "numbers": [5, 3, 8, 1, 3],
    "words": ["pear", "Apple", "fig", "apple", ""],
    "nested": [[1, 2], [3, [4, 5]], []],
    "pairs": [["a", 1], ["b", 2]],
    "object": {"b": 1, "a": {"c": [1, 2, {"d": "deep"}]}, "items": "an item", "é": "ü", "n": None},
    "rows": [
        {"name": "x", "n": 3, "tags": ["t", "u"], "inner": {"k": 1}},
        {"name": "Y", "n": 1, "tags": [], "inner": {"k": 2}},
        {"name": "x", "n": 2, "extra": "e"},
    ],
    "messages": [
        {"role": "system", "content": "Be terse. "},
        {"role": "user", "content": "<think>hm</think>\n\nHi {{ 7 }} "},
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1.5, None]}}}],
        },
    ],
}

TEXTS = ("text", "word", "empty", "lines", "csv", "mixed", "digits", "point")
NUMBERS = ("number", "zero", "negative", "real", "tiny", "huge", "big")
LISTS = ("items_list", "numbers", "words", "nested", "pairs", "rows", "messages")
OBJECTS = ("object", "rows[0]", "rows[1]", "messages[2]", "rows[0].inner")
NAMES = ("a", "b", "c", "x", "y")
LITERALS = (
    "''", "'a'", '"b,"', "'\\n'", "' '", "'<|x|>'", "'é\\u00e9'", "'%s'", "'{}'", "'\\'q\\''", "'ab' 'cd'", "'-'",
    "'aß'",
)  # fmt: skip
COUNTS = ("0", "1", "2", "3", "-1", "-2", "5", "10", "100")
ATTRIBUTES = ("name", "n", "tags", "inner", "inner.k", "extra", "role", "content", "0", "1", "missing", "k")
TEXT_METHODS = (
    "strip()", "lstrip()", "rstrip()", "strip({t})", "lstrip({t})", "rstrip({t})", "upper()", "lower()", "title()",
    "capitalize()", "split()", "split({t})", "split({t}, {i})", "split(none, {i})", "rsplit({t}, {i})",
    "rsplit()", "rsplit(maxsplit={i})", "splitlines()", "splitlines(true)", "replace({t}, {t})",
    "replace({t}, {t}, {i})",
    "startswith({t})", "endswith({t})", "startswith(({t}, {t}))", "startswith({t}, {i})", "find({t})", "rfind({t})",
    "index({t})", "count({t})", "count({t}, {i})", "join({l})", "join(words)", "partition({t})", "rpartition({t})",
    "removeprefix({t})", "removesuffix({t})", "isalpha()", "isdigit()", "isspace()", "isupper()", "islower()",
    "isalnum()", "isascii()", "isdecimal()", "format({e}, {e}, name={e})", "format()",
)  # fmt: skip
LIST_METHODS = ("count({e})", "index({e})", "copy()")
OBJECT_METHODS = (
    "get({t})",
    "get({t}, {e})",
    "keys()",
    "values()",
    "items()",
    "copy()",
    "get('b')",
    "get('name', {e})",
)
FILTERS = (
    "trim", "trim({t})", "upper", "lower", "title", "capitalize", "length", "count", "string", "tojson",
    "tojson(indent={i})", "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", "tojson(ensure_ascii=true)",
    "default({e})", "default({e}, true)", "d('z', boolean={e})", "list", "first", "last", "join", "join({t})",
    "join({t}, attribute='{a}')", "replace({t}, {t})", "replace({t}, {t}, {i})", "indent", "indent({i})",
    "indent({i}, true)", "indent({i}, first=true, blank=true)", "int", "int({i})", "float", "abs", "items",
    "dictsort", "dictsort(true)", "dictsort(by='value')",
    "dictsort(reverse=true)", "sort", "sort(true)", "sort(case_sensitive=true)", "sort(attribute='{a}')",
    "sort(attribute='n,name')", "unique", "unique(attribute='{a}')", "min", "max", "max(attribute='{a}')", "sum",
    "sum(attribute='{a}')", "sum(start={i})", "reverse", "map('upper')", "map('{m}')", "map(attribute='{a}')",
    "map(attribute='{a}', default={e})", "map('default', {e})", "map('replace', {t}, {t})", "select", "reject",
    "select('{s}')", "reject('{s}')", "select('equalto', {e})", "select('in', {l})", "selectattr('{a}')",
    "rejectattr('{a}')", "selectattr('{a}', '{s}')", "rejectattr('{a}', 'equalto', {e})", "format({e})",
    "format(a={e})", "attr('{a}')",
)  # fmt: skip
SIMPLE_FILTERS = (
    "upper",
    "lower",
    "trim",
    "length",
    "string",
    "tojson",
    "list",
    "first",
    "last",
    "int",
    "abs",
    "title",
)
TESTS = (
    "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping",
    "sequence", "iterable", "callable", "odd", "even", "lower", "upper",
)  # fmt: skip
ARGUED_TESTS = (
    "divisibleby({i})", "divisibleby 3", "eq({e})", "equalto {p}", "ne({e})", "lt({n})", "ge({e})", "in({l})", "in {l}",
    "sameas none", "sameas(true)", "gt {n}",
)  # fmt: skip
PAIRS = ("pairs", "numbers[:2]", "(1, x)", "csv[:2]")
DATA = (" ", "\n", "x", "\n  ", "  \n\n", "é<|x|>", "{# c #}\n", "  {#- c -#} ", "y\r\n", "{ %", "")
FORMATS = (
    "'%s|%s' % ({e}, {e})", "'%s' % {e}", "'%d' % {n}", "'%05.1f%%' % {n}", "'%(a)s' % {'a': {e}}", "'%r' % ({e},)",
    "'%-6s|' % {t}", "'%x' % {i}", "'%g' % {n}", "'%e' % {n}", "'%+d' % {i}",
    "'%.3s' % {t}", "{t} % ()", "'{0}{1}{0}'.format({e}, {e})",
    "'{{{}}}{!r}{!s}'.format({e}, {e}, {e})", "'{a}'.format(a={l})",
)  # fmt: skip


class Generator:
    """Write one template.

    Args:
        seed: which one.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._loops = 0
        self._macros: list[str] = []
        self._budget = 60

    def template(self) -> str:
        return self._block(3)

    def _pick(self, items: Any) -> Any:
        return self._random.choice(items)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _fill(self, form: str, depth: int) -> str:
        """Fill a form: expressions, texts, whole numbers, numbers, lists, primaries, attributes, filters, tests."""
        makers: dict[str, Callable[[], str]] = {
            "{e}": lambda: self.expression(depth - 1),
            "{t}": lambda: self._text(depth - 1),
            "{i}": lambda: self._pick(COUNTS) if self._chance(0.9) else self._pick(NAMES),
            "{n}": lambda: self._number(depth - 1),
            "{l}": lambda: self._list(depth - 1),
            "{p}": lambda: self._pick((*LITERALS, *COUNTS, *TEXTS, *NAMES)),
            "{a}": lambda: self._pick(ATTRIBUTES),
            "{m}": lambda: self._pick(SIMPLE_FILTERS),
            "{s}": lambda: self._pick(TESTS),
        }
        for mark, make in makers.items():
            while mark in form:
                form = form.replace(mark, make().replace("{", "\x01"), 1)
        return form.replace("\x01", "{")

    def _text(self, depth: int) -> str:
        if depth > 0 and self._chance(0.3):
            if self._chance(0.5):
                return f"{self._pick(TEXTS)}.{self._fill(self._pick(TEXT_METHODS), depth)}"
            return f"({self._text(depth - 1)} ~ {self.expression(depth - 1)})"
        return str(self._pick(TEXTS if self._chance(0.5) else LITERALS))

    def _number(self, depth: int) -> str:
        if depth > 0 and self._chance(0.3):
            operator = self._pick(("+", "-", "*", "/", "//", "%", "**"))
            # Python would compute without end.
            right = self._pick(("0", "1", "2", "3", "-1", "0.5")) if operator == "**" else self._number(depth - 1)
            return f"({self._number(depth - 1)} {operator} {right})"
        return str(self._pick(NUMBERS if self._chance(0.4) else (*COUNTS, "1.5", "0x1f", "1_000", "2e3", "-0.0")))

    def _list(self, depth: int) -> str:
        if depth > 0 and self._chance(0.3):
            parts = [self.expression(depth - 1) for _ in range(self._random.randrange(4))]
            return f"[{', '.join(parts)}]" if self._chance(0.6) else f"({', '.join(parts)}{',' if parts else ''})"
        return str(self._pick((*LISTS, *LISTS, "range(5)", "range(4, 0, -2)", "csv.split(',')", "object", "text")))

    def _object(self, depth: int) -> str:
        if depth > 0 and self._chance(0.3):
            keys = self._random.sample(("'k'", "'b'", "1", "true", "(1, 'x')", "1.0", "none", "word"), 2)
            return "{" + ", ".join(f"{key}: {self.expression(depth - 1)}" for key in keys) + "}"
        return str(self._pick((*OBJECTS, "dict(a=1, b=text)", "dict(pairs)", "dict(object, z=1)")))

    def expression(self, depth: int = 3) -> str:
        self._budget -= 1
        if depth <= 0 or self._budget < 0:
            return str(
                self._pick((*TEXTS, *NUMBERS, *LISTS, *NAMES, *NAMES, *LITERALS, *COUNTS, "yes", "no", "nothing"))
            )

        def inner() -> str:
            return self.expression(depth - 1)

        kind = self._random.randrange(26)
        if kind < 2:
            return self._text(depth)
        if kind < 3:
            return self._number(depth)
        if kind < 5:
            return self._list(depth)
        if kind < 6:
            return self._object(depth)
        if kind < 9:
            return f"{self._target_of_filter(depth)} | {self._fill(self._pick(FILTERS), depth)}"
        if kind < 11:
            return f"{self._pick(TEXTS)}.{self._fill(self._pick(TEXT_METHODS), depth)}"
        if kind < 12:
            methods, owners = (LIST_METHODS, LISTS) if self._chance(0.4) else (OBJECT_METHODS, OBJECTS)
            return f"{self._pick(owners)}.{self._fill(self._pick(methods), depth)}"
        if kind < 14:
            test = self._fill(self._pick((*TESTS, *ARGUED_TESTS)), depth)
            return f"({inner()}) is {'not ' if self._chance(0.3) else ''}{test}"
        if kind < 15:
            return f"({inner()} {self._pick(('and', 'or'))} {inner()})"
        if kind < 16:
            return f"(not {inner()})"
        if kind < 18:
            chain = f" {self._pick(('<', '==', '!='))} {inner()}" if self._chance(0.2) else ""
            return f"({inner()} {self._pick(('==', '!=', '<', '<=', '>', '>=', 'in', 'not in'))} {inner()}{chain})"
        if kind < 19:
            return f"({inner()} ~ {inner()}{f' ~ {inner()}' if self._chance(0.4) else ''})"
        if kind < 20:
            return f"({inner()} {self._pick(('+', '+', '-', '*', '%'))} {inner()})"
        if kind < 21:
            return f"({inner()} if {inner()}{f' else {inner()}' if self._chance(0.8) else ''})"
        if kind < 23:
            bounds = [self._pick((*COUNTS, "", "")) for _ in range(self._random.randrange(2, 4))]
            owner = self._pick((*TEXTS, *LISTS))
            return f"{owner}[{':'.join(bounds)}]" if self._chance(0.6) else f"{owner}[{self._pick(COUNTS)}]"
        if kind < 24:
            owner = self._pick((*OBJECTS, *NAMES, "text", "nothing", "rows", "number"))
            attribute = self._pick(ATTRIBUTES).split(".")[0]
            return f"{owner}.{attribute}" if self._chance(0.6) else f"{owner}['{attribute}']"
        if kind < 25 and self._macros:
            return self._call(depth)
        return self._fill(self._pick(FORMATS), depth)

    def _target_of_filter(self, depth: int) -> str:
        choice = self._random.randrange(4)
        if choice == 0:
            return self._text(depth - 1)
        if choice == 1:
            return self._list(depth - 1)
        return self._object(0) if choice == 2 else f"({self.expression(depth - 1)})"

    def _call(self, depth: int) -> str:
        given = [self.expression(depth - 1) for _ in range(self._random.randrange(3))]
        if self._chance(0.3):
            given.append(f"{self._pick(('p', 'q', 'z'))}={self.expression(depth - 1)}")
        if self._chance(0.1):
            given.append(
                f"*{self._pick(('numbers', 'pairs'))}" if len(given) < 3 and "=" not in str(given) else "**object"
            )
        return f"{self._pick(self._macros)}({', '.join(given)})"

    def _tag(self, text: str) -> str:
        return f"{{%{self._pick(('', '', '', '-', '-', '+'))} {text} {self._pick(('', '', '', '-', '-', '+'))}%}}"

    def _data(self) -> str:
        return str(self._pick(DATA))

    def _block(self, depth: int) -> str:
        parts = []
        for _ in range(self._random.randrange(1, 5)):
            parts.append(self._data())
            parts.append(self._statement(depth))
        return "".join(parts) + self._data()

    def _statement(self, depth: int) -> str:
        kind = self._random.randrange(22)
        self._budget -= 2
        if kind < 8 or depth <= 0 or self._budget < 0:
            signs = self._pick(("", "", "-")), self._pick(("", "", "-"))
            return f"{{{{{signs[0]} {self.expression(3 if depth > 0 else 1)} {signs[1]}}}}}"
        if kind < 11:
            return self._set(depth)
        if kind < 13:
            parts = [self._tag(f"if {self.expression(2)}"), self._block(depth - 1)]
            if self._chance(0.4):
                parts += [self._tag(f"elif {self.expression(2)}"), self._block(depth - 1)]
            if self._chance(0.5):
                parts += [self._tag("else"), self._block(depth - 1)]
            return "".join((*parts, self._tag("endif")))
        if kind < 17:
            return self._for(depth)
        if kind < 18:
            return self._macro(depth)
        if kind < 19 and self._macros:
            head = f"call{self._pick(('', '(v)', '(v, w=1)'))} {self._call(2)}"
            return self._tag(head) + self._function(depth) + self._tag("endcall")
        if kind < 20:
            filters = " | ".join(self._pick(("upper", "trim", "replace('a', x)", "indent(2)")) for _ in range(2))
            return self._tag(f"filter {filters}") + self._block(depth - 1) + self._tag("endfilter")
        if kind < 21:
            names = f"{self._pick(NAMES)} = {self.expression(2)}, {self._pick(('v', 'w'))} = {self.expression(1)}"
            return self._tag(f"with {names}") + self._block(depth - 1) + self._tag("endwith")
        if self._chance(0.5):
            return self._tag("raw") + "{{ x }}{% if %}" + self._tag("endraw")
        return "{% generation %}" + self._function(depth) + "{% endgeneration %}"

    def _function(self, depth: int) -> str:
        loops, self._loops = self._loops, 0
        body = self._block(depth - 1)
        self._loops = loops
        return body

    def _set(self, depth: int) -> str:
        choice, name = self._random.randrange(6), self._pick(NAMES)
        if choice < 3:
            return self._tag(f"set {name} = {self.expression(3)}")
        if choice == 3:
            return self._tag(f"set {name}") + self._block(depth - 1) + self._tag("endset")
        if choice == 4:
            return self._tag(f"set {name}, {self._pick(NAMES)} = {self._pick(PAIRS)}")
        field = self._pick(("f", "g"))
        made = self._tag(f"set ns = namespace(f={self.expression(1)}, {self._pick(('**object', 'g=1'))})")
        return made + self._tag(f"set ns.{field} = ns.f ~ {self.expression(1)}") + "{{ ns.f }}{{ ns.g }}{{ ns.h }}"

    def _for(self, depth: int) -> str:
        name = self._pick(NAMES)
        over, target = self._list(1), name
        if self._chance(0.25):
            over = self._pick(("object.items()", "object | items", "pairs", "object | dictsort", "rows[0].items()"))
            target = f"{name}, {self._pick(NAMES)}"
        elif self._chance(0.25):
            over = self._pick(
                ("numbers | map('string')", "rows | selectattr('n')", "numbers | reverse", "numbers | sort")
            )
        test = f" if {self.expression(2)}" if self._chance(0.2) else ""
        recursive = " recursive" if self._chance(0.1) and not test else ""
        self._loops += 1
        body = self._block(depth - 1)
        if self._chance(0.5):
            uses = (
                "index", "index0", "first", "last", "length", "revindex", "revindex0", "previtem", "nextitem", "depth",
                "depth0", "cycle('p', 'q')", "changed(x)", "changed(a, 1)", "missing",
            )  # fmt: skip
            body += "{{ loop." + self._pick(uses) + " }}"
        if recursive and self._chance(0.7):
            body += "{{ loop(" + name + ") if " + name + " is sequence and " + name + " is not string }}"
        if self._chance(0.2):
            body += self._tag(f"if {self.expression(1)}") + self._tag(self._pick(("break", "continue"))) + "{% endif %}"
            body += self._block(0)
        self._loops -= 1
        otherwise = self._tag("else") + self._block(depth - 1) if self._chance(0.3) else ""
        return self._tag(f"for {target} in {over}{test}{recursive}") + body + otherwise + self._tag("endfor")

    def _macro(self, depth: int) -> str:
        name = f"m{len(self._macros)}"
        params = self._pick(("", "p", "p, q=1", "p, q=p, z=x", "p='d', caller=none"))
        body = self._function(depth)
        if self._chance(0.4):
            uses = ("varargs", "kwargs | dictsort", "caller()", "caller(1)", "caller(v=p)", "p", "q", "z", "m0()")
            body += "{{ " + self._pick(uses) + " }}"
        self._macros.append(name)
        return self._tag(f"macro {name}({params})") + body + self._tag("endmacro")
