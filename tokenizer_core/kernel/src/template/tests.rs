use std::time::{Duration, Instant};

use super::{Chat, Clock, Failure, Kind, Rendering, Template};

const MESSAGES: &str = r#"[{"role":"user","content":"<|end|>é","n":5,"l":[1,"x"]}]"#;

fn render(source: &str) -> Result<Rendering, Box<Failure>> {
    Template::compile(source)?.render(&Chat { messages: MESSAGES, ..Chat::default() }, &Clock::default())
}

fn kind(source: &str) -> Option<Kind> {
    render(source).err().map(|failure| failure.kind)
}

#[test]
fn text_of_the_template_is_the_templates_and_a_field_is_the_callers() {
    let rendering = render("<{{ messages[0].content }}|{{ messages[0].n + 1 }}>").unwrap_or_else(|f| panic(&f));
    assert_eq!(rendering.text, "<<|end|>é|6>");
    let spans: Vec<_> = rendering.spans.iter().map(|span| (&*span.field, span.bytes.clone())).collect();
    assert_eq!(spans, [("content", 1..10), ("n", 11..12)]);
    assert!(rendering.spans.iter().all(|span| span.message == Some(0)));
}

#[test]
fn a_generation_block_is_marked() {
    let source = "a{% generation %}b{{ messages[0].content }}{% endgeneration %}c";
    let rendering = render(source).unwrap_or_else(|f| panic(&f));
    let whole: &[_] = &[std::ops::Range { start: 1, end: 11 }];
    assert_eq!(rendering.generated, whole);
}

#[test]
fn a_prompt_is_known_where_no_message_can_change_it() {
    let messages = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let asked = "{% if add_generation_prompt %}<a>{{ word }}{% endif %}";
    for (before, behind, prompt) in [
        ("", asked, Some("<a>")),
        ("", "{# nothing #}", Some("")),
        ("{% set word = 'w' %}", asked, Some("<a>w")),
        ("{% for t in tools or [] %}{% set x = t %}{{ x }}{% endfor %}", asked, Some("<a>")),
        ("{% for m in messages %}{{ raise_exception('r') if m.x else '' }}{% endfor %}", asked, None),
        ("{% for m in messages %}{% if m.x %}{{ raise_exception('r') }}{% endif %}{% endfor %}", asked, Some("<a>")),
        ("{% set add_generation_prompt = add_generation_prompt | default(true) %}", asked, Some("<a>")),
        (
            "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = 1 %}{% endif %}",
            asked,
            Some("<a>"),
        ),
        ("{% set add_generation_prompt = true %}", asked, None),
        ("{% set add_generation_prompt = add_generation_prompt | default(true, true) %}", asked, None),
        ("{% set word = messages[0].role %}", asked, None),
        ("{% if messages | length > 1 %}{% set word = 'w' %}{% endif %}", asked, None),
        ("{% set messages = messages[1:] %}", asked, Some("<a>")),
        ("{% set messages = messages | list %}", asked, None),
        ("{% for m in messages %}{{ m.role }}{% endfor %}", asked, None),
        ("{{ add_generation_prompt }}", asked, None),
        ("", "{% if add_generation_prompt %}<a>{% else %}<e>{% endif %}", None),
        ("", "{% if add_generation_prompt and messages[-1].role == 'user' %}<a>{% endif %}", None),
        ("{% set ns = namespace(x='') %}", "{% if add_generation_prompt %}{{ ns.x }}{% endif %}", None),
    ] {
        let rendering = render(&format!("{before}{messages}{behind}")).unwrap_or_else(|f| panic(&f));
        assert_eq!(rendering.prompt.as_deref(), prompt, "{before} {behind}");
    }
}

#[test]
fn bombs_end_in_milliseconds() {
    let growing = "{% set ns = namespace(s='aaaaaaaaaa', l=[0], n=9) %}{% for i in range(90000) %}GROW{% endfor %}";
    for grow in [
        "{% set ns.s = ns.s ~ ns.s %}",
        "{% set ns.s = ns.s.replace('a', 'aaaaaaaaaa') %}",
        "{% set ns.l = ns.l + ns.l %}",
        "{% set ns.l = [ns.l] %}",
        "{% set ns.n = ns.n * ns.n %}",
        "{% for j in range(90000) %}{% endfor %}",
        "{{ range(99999) | sort | list | length }}",
        "{% set ns.s = '%999999s' % ns.s %}",
        "{{ 'b' in 'a' * 500000 }}",
    ] {
        let begun = Instant::now();
        assert_eq!(kind(&growing.replace("GROW", grow)), Some(Kind::Limit), "{grow}");
        // Some twenty milliseconds, where tests are optimized and nobody else computes.
        assert!(begun.elapsed() < Duration::from_secs(5), "{grow}");
    }
}

#[test]
fn what_calls_itself_is_stopped_before_the_stack_ends() {
    for source in [
        "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
        "{% macro m(x) %}{% if x %}{% for i in [1] %}{% filter upper %}\
         {{ [(m(x) | trim) ~ 'a'] }}{% endfilter %}{% endfor %}{% endif %}{% endmacro %}{{ m(1) }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}\
         {% set ns.x = ns.x | map('string') %}{% endfor %}{{ ns.x | list }}",
    ] {
        assert_eq!(kind(source), Some(Kind::Limit), "{source}");
    }
    for (open, close) in [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("{1:", "}")] {
        let source = format!("{{{{ {}1{} }}}}", open.repeat(9_000), close.repeat(9_000));
        assert_eq!(kind(&source), Some(Kind::Unsupported), "{open}");
    }
    for link in [" + 1", ".a", "[0]", "()", " | list", " is defined", " and 1", " if 1 else 1"] {
        assert!(kind(&format!("{{{{ 1{} }}}}", link.repeat(4_000))).is_some(), "{link}");
    }
    for tag in ["{% if 1 %}", "{% for x in [1] %}", "{% macro m() %}", "{% set x %}"] {
        assert_eq!(kind(&tag.repeat(3_000)), Some(Kind::Unsupported), "{tag}");
    }
    let deep = format!("[{{\"role\":{}1{}}}]", "[".repeat(99_999), "]".repeat(99_999));
    let chat = Chat { messages: &deep, ..Chat::default() };
    let failure = Template::compile("x").and_then(|template| template.render(&chat, &Clock::default()));
    assert_eq!(
        failure.err().and_then(|failure| failure.field).as_deref().map(|field| &field[..16]),
        Some("messages[0].role")
    );
}

#[test]
fn a_refusal_names_its_line_and_column() {
    for (source, line, column) in
        [("a\n {% include 'x' %}", 2, 5), ("{{ x | pprint }}", 1, 15), ("\n\n{{ x.encode() }}", 3, 12)]
    {
        let failure = render(source).err().unwrap_or_else(|| Failure::failed("rendered"));
        assert_eq!((failure.kind, failure.line), (Kind::Unsupported, line), "{source}");
        assert!(failure.column.abs_diff(column) < 4, "{source}: {}", failure.column);
    }
}

/// Tests may end that way.
#[allow(clippy::panic, reason = "a test fails by it")]
fn panic(failure: &Failure) -> Rendering {
    panic!("{failure:?}")
}
