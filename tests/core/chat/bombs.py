"""Templates that would take a server's time or memory."""

LOOP = "{%% set ns = namespace(s='aaaaaaaaaa', l=[0], d={}, t=(0,), n=9) %%}{%% for i in range(60) %%}%s{%% endfor %%}"

LONG_LOOP = "{%% set ns = namespace(n=7, l=[0]) %%}{%% for i in range(90000) %%}%s{%% endfor %%}"
DEEP = LONG_LOOP % "{% set ns.l = [ns.l] %}"

BOMBS = {
    "nested ranges": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a long range": "{{ range(10**9) | list }}",
    "doubling by ~": LOOP % "{% set ns.s = ns.s ~ ns.s %}",
    "doubling by +": LOOP % "{% set ns.s = ns.s + ns.s %}",
    "doubling by set": LOOP % "{% set x %}{{ ns.s }}{{ ns.s }}{% endset %}{% set ns.s = x %}",
    "doubling a caller's text": "{% set ns = namespace(s=messages[0].content) %}"
    "{% for i in range(60) %}{% set ns.s = ns.s * 9 %}{% endfor %}",
    "a wide %": "{{ '%999999999d' % 1 }}",
    "a wide % from an argument": "{{ '%*d' % (999999999, 1) }}",
    "a wide filter": "{% if '%999999999s' | format('x') %}{% endif %}",
    "a precise %": "{{ '%.999999999f' % 1.5 }}",
    "a repeated string": "{{ 'x' * 10**9 }}",
    "a repeated list": "{{ ([1] * 10**9) | length }}",
    "a macro that calls itself": "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
    "a tree of calls": "{% macro m(x) %}{% if x %}{{ m(x - 1) }}{{ m(x - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "a recursive loop": "{% for x in [1, 1] recursive %}{{ loop([1, 1]) if loop.depth < 60 }}{% endfor %}",
    "replace": LOOP % "{% set ns.s = ns.s.replace('a', 'aaaaaaaaaa') %}",
    "the filter replace": LOOP % "{% set ns.s = ns.s | replace('', ns.s) %}",
    "join": "{{ ('x' * 100000).join(range(90000) | map('string')) }}",
    "the filter join": LOOP % "{% set ns.s = ns.s | join(ns.s) %}",
    "an indent of JSON": "{{ [1, [1]] | tojson(indent=999999999) }}",
    "a shared list as JSON": LOOP % "{% set ns.l = [ns.l, ns.l] %}" + "{{ ns.l | tojson }}",
    "a shared dict as text": LOOP % "{% set ns.d = dict(a=ns.d, b=ns.d) %}" + "{{ ns.d }}",
    "a shared tuple as a key": LOOP % "{% set ns.t = (ns.t, ns.t) %}" + "{{ {ns.t: 1} }}",
    "a growing list": LOOP % "{% set ns.l = ns.l + ns.l %}",
    "copies of a list": "{% set ns = namespace(a=[]) %}{% set b = range(99999) | list %}"
    "{% for i in range(9999) %}{% set ns.a = ns.a + [b[:]] %}{% endfor %}",
    "a power": "{{ 9 ** (9 ** 9) }}",
    "a growing number": LOOP % "{% set ns.n = ns.n * ns.n %}",
    "indent": "{{ 'x\ny' | indent(999999999) }}",
    "bytes of a number": "{{ (1).to_bytes(999999999, 'big') }}",
    "translate": "{{ 'aaaa'.translate({97: 'b' * 1000}) }}",
    "a long search": "{% set b = 'a' * 500000 %}{% for i in range(99999) %}{{ 'b' in b }}{% endfor %}",
    "deep JSON": DEEP + "{{ ns.l | tojson }}",
    "deep text": DEEP + "{{ ns.l }}",
    "a big division": LONG_LOOP % "{% set ns.n = ns.n * 7 // 2 %}",
    "a long comparison": "{% set a = 'a' * 900000 %}{% set b = 'a' * 900000 %}"
    "{% for i in range(99999) %}{{ 'x' if a == b }}{% endfor %}",
    "a loop of a caller's text": "{% for i in range(99999) %}{{ messages[0].content * 999 }}{% endfor %}",
    "only where origins are not tracked": "{% set m = messages[0] %}"
    "{% if m.content | int(5) is sameas 5 %}{{ 'x' * 10**9 }}{% endif %}",
    "many separators": "{% set c = messages[0].content %}{% for i in range(90000) %}"
    "{{ (c ~ i ~ c).split(i | string) | join('a separator') }}{% endfor %}",
    "a long separator": "{% set c = messages[0].content %}{% for i in range(90000) %}"
    "{{ (c ~ i ~ c).split(i | string) | join('x' * 9999) }}{% endfor %}",
    "a replacement that holds many separators": "{% set c = messages[0].content %}{% for i in range(90000) %}"
    "{{ (c ~ i).replace(i | string, '0123456789' * 999) }}{% endfor %}",
    "names of what is undefined": "{% set b = 'ab' * 500000 %}{% set l = range(99999)|map(attribute=b)|list %}",
    "names that a filter asks for": "{% set b = 'ab' * 500000 %}"
    "{% set l = range(99999)|map('attr', b)|list %}{{ l|length }}",
    "sorting": "{% for i in range(99999) %}{{ (range(99999) | sort | list)[0] }}{% endfor %}",
}

KEPT = "{%% set n = namespace(l=[1], s='ab', d={}, u=[]) %%}{%% for i in range(99999) %%}%s{%% endfor %%}"

GROWING = {
    "a list": KEPT % "{% set n.l = n.l + n.l %}",
    "a repeated list": KEPT % "{% set n.u = [[i] * 99999, n.u] %}",
    "a text": KEPT % "{% set n.s = n.s ~ n.s %}",
    "a long text": "{{ (('ab' * 1000) * 40000)|length }}",
    "output": "{% set t = 'ab' * 99999 %}" + KEPT % "{{ t }}",
    "a block": "{% set t = 'ab' * 99999 %}{% set x %}" + KEPT % "{{ t }}" + "{% endset %}",
    "small objects": KEPT % "{% set n.u = [('a' * 99999)|map('list')|list, n.u] %}",
    "dicts": KEPT % "{% set n.u = [dict.fromkeys(range(9999)), n.u] %}",
    "pieces": KEPT % "{% set n.u = [('a,' * 99999).split(','), n.u] %}",
    "what is undefined": KEPT % "{% set n.u = [range(99999)|map(attribute='a')|list, n.u] %}",
    "JSON": KEPT % "{% set n.l = n.l + n.l %}{% set n.s = n.l|tojson %}",
    "text of a list": KEPT % "{% set n.l = n.l + n.l %}{% set n.s = n.l|string %}",
    "other letters": KEPT % "{% set n.s = (n.s ~ n.s)|upper|replace('A', 'BA') %}",
}
"""Templates that keep more and more."""
