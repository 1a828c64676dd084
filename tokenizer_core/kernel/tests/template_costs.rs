//! Whatever a template does with long values: processor time and memory stay in proportion to the steps that it is
//! charged. The operations come from the engine's own tables of names, so that a new one is covered by itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use tokd_kernel::template::names::{DICT_METHODS, FILTERS, LIST_METHODS, STRING_METHODS, TESTS, TUPLE_METHODS};
use tokd_kernel::template::{Chat, Clock, Kind, Rendering, Result, Template};

/// Counts what a thread has allocated, and the most of it.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// So much is asked for and given back at once, to see that it is there.
const ASKED: isize = 64 << 20;

fn count(bytes: isize) {
    if bytes.abs() == ASKED {
        return;
    }
    let live = LIVE.get() + bytes;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: everything is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as given.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as given.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as given.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTED: Counting = Counting;

/// Steps that each operation has, behind those that make its values.
const STEPS: u64 = 60_000;
/// Processor time for them: tests are hardly optimized, and a step is some nanoseconds.
const TIME: Duration = Duration::from_millis(80);
/// Bytes that a step may take.
const BYTES: isize = 6;
/// Bytes that any rendering may take.
const SMALL: isize = 1 << 20;

const MESSAGES: &str = r#"[{"role":"user","content":"ab"}]"#;

/// Long values and short ones like them.
const VALUES: [(&str, &str); 15] = [
    ("('ab' * 1000) * 500", "'ab'"),
    ("('é' * 1000) * 250", "'é'"),
    ("(messages[0].content ~ '.') * 100000", "messages[0].content"),
    ("('real.' * 1000) * 100", "'real'"),
    ("('a,' * 1000) * 100", "'a'"),
    ("('%(a)s{a}' * 1000) * 50", "'%(a)s{a}'"),
    ("(' \n' * 1000) * 200", "' \n'"),
    ("('9' * 1000) * 1000", "'9'"),
    ("('9' * 4300)|int", "99999999999999999999"),
    ("range(99999)|list", "[1, 2]"),
    ("[('ab' * 1000) * 500] * 2000", "['ab', 'ab']"),
    ("(('ab' * 1000) * 500,) * 9999", "('ab', 'ab')"),
    ("dict.fromkeys(range(4000)|map('string'), 1)", "{'a': 1}"),
    ("dict.fromkeys(range(4000), 'a')", "{1: 'a'}"),
    ("range(99999)", "range(2)"),
];

/// Those that are given as arguments.
const GIVEN: [usize; 6] = [0, 2, 3, 8, 10, 12];

const FIRST: [&str; 5] = ["'ab'", "5", "['a', 'b']", "{'a': 'b'}", "[{'a': 1}]"];
const KEYWORDS: [&str; 11] =
    ["attribute", "default", "d", "width", "indent", "separators", "end", "chars", "start", "by", "base"];
const OPERATORS: [&str; 18] =
    ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"];

/// What is done with `V` itself, and with it as an argument; much of it makes no sense, which short values show.
fn operations() -> [Vec<String>; 2] {
    let (mut own, mut given) = (Vec::new(), Vec::new());
    let mut called = |owners: &[&str], call: &str, keywords: &[&str]| {
        own.extend(
            ["", "('a')", "(1)", "('upper')", "('a', 'b')", "(1, 2)"].map(|arguments| format!("V{call}{arguments}")),
        );
        for owner in owners {
            let places = ["V", "V, 'a'", "'a', V", "'upper', V", "'string', V", "1, V", "'a', 'b', V", "*V", "**V"];
            let places = places.iter().map(|&place| place.to_owned());
            let places = places.chain(keywords.iter().map(|name| format!("{name}=V")));
            given.extend(places.map(|arguments| format!("{owner}{call}({arguments})")));
        }
    };
    for filter in FILTERS {
        called(&FIRST, &format!("|{filter}"), &KEYWORDS);
    }
    for method in STRING_METHODS {
        called(&["'ab'"], &format!(".{method}"), &[]);
    }
    for method in DICT_METHODS {
        called(&["{'a': 'b'}"], &format!(".{method}"), &[]);
    }
    for method in LIST_METHODS.iter().chain(&TUPLE_METHODS) {
        called(&["[1]", "('a',)"], &format!(".{method}"), &[]);
    }
    for test in TESTS.iter().filter(|test| test.starts_with(char::is_alphabetic)) {
        given.extend(FIRST.iter().map(|first| format!("{first} is {test}(V)")));
        own.extend([format!("V is {test}"), format!("V is {test}(1)"), format!("V is {test}(V ~ 'a')")]);
    }
    for other in FIRST.iter().chain(&["V", "(V)[:-1]", "[V]"]) {
        own.extend(OPERATORS.iter().flat_map(|sign| [format!("V {sign} {other}"), format!("{other} {sign} V")]));
        own.extend(["A[V]", "V[A]", "V[A:]", "V[:A]", "A[V:]", "V[::A]"].map(|item| item.replace('A', other)));
    }
    let rest = [
        "-V",
        "not V",
        "V.a",
        "V[::-1]",
        "V[1:]",
        "{V: 1}",
        "{'a': V}",
        "[V]",
        "(V,)",
        "{}[V]",
        "{'a': 1}.get(V)",
        "range(V)",
        "dict(V)",
        "dict(**V)",
        "dict.fromkeys(V)",
        "namespace(V)",
        "namespace(**V).a",
        "namespace(**V).b",
        "cycler(V).next()",
        "cycler(*V).next()",
        "joiner(V)()",
        "strftime_now(V)",
        "m(V)",
        "m(*V)",
        "m(**V)",
        "m(a=V)",
        "(1 if false)",
        "V.b.c is defined",
        "loop.cycle(V)",
        "loop.cycle(*V)",
        "loop.changed(V)",
        "loop.changed(*V)",
        "loop[V]",
        "V|list|length",
        "n[V]",
        "1|attr(V)",
        "m|attr(V)",
        "range(9)|map(attribute=V)|list",
        "range(9)|map('default', *V)|list",
    ];
    own.extend(rest.map(str::to_owned));
    [own, given]
}

const STATEMENTS: [&str; 14] = [
    "{% for x in V %}{% break %}{% endfor %}",
    "{% for x in V %}{{ loop.length }}{{ loop.last }}{% break %}{% endfor %}",
    "{% for x in V if x %}{{ loop.length }}{% break %}{% endfor %}",
    "{% for x in V recursive %}{% break %}{% endfor %}",
    "{% for x, y in [V] %}{% endfor %}",
    "{% set x, y = V %}",
    "{% with x = V %}{% endwith %}",
    "{{ V }}",
    "{% if V %}{% endif %}",
    "{% filter replace(V, 'a') %}b{% endfilter %}",
    "{% set x | replace('b', V) %}b{% endset %}",
    "{% set x %}{{ V }}{% endset %}",
    "{% call m(V) %}{% endcall %}",
    "{% generation %}{{ V }}{% endgeneration %}",
];

/// Names and numbers of parts that are long in the source.
fn long_sources() -> Vec<String> {
    let name = "a".repeat(20_000);
    let names = |count: usize| (0..count).map(|at| format!("a{at}")).collect::<Vec<_>>();
    let macros = format!("{{% macro m({name}) %}}{{% set n.k = [n.k, {name}][1:] %}}{{% endmacro %}}");
    let looped = |body: &str| format!("{{% for i in range(99999) %}}{body}{{% endfor %}}");
    let given: Vec<_> = names(4_000).into_iter().map(|name| format!("{name}=1")).collect();
    let read: Vec<_> = names(4_000).into_iter().map(|name| format!("{{{{ {name} }}}}")).collect();
    let set: Vec<_> = names(1_500).into_iter().map(|name| format!("{{% set {name} = 1 %}}")).collect();
    vec![
        macros + &looped("{{ m() }}"),
        looped(&format!("{{% if {{}}.{name} %}}{{% endif %}}")),
        looped(&format!("{{% if n.{name} %}}{{% endif %}}")),
        looped(&format!("{{% if {name} is defined %}}{{% endif %}}")),
        looped(&format!("{{% if {{'{name}': 1}} %}}{{% endif %}}")),
        looped(&format!("{{% for {} in [0] if false %}}{{% endfor %}}", names(8_000).join(","))),
        format!("{{% set t = [1] * 8000 %}}{}", looped(&format!("{{% set {} = t %}}", names(8_000).join(",")))),
        looped(&format!("{{% if false %}}{}{{% endif %}}", read.join(""))),
        looped(&format!("{{% for j in [1] %}}{{% if false %}}{}{{% endif %}}{{% endfor %}}", read.join(""))),
        format!("{}{}", set.join(""), looped(&format!("{{% for j in [1] %}}{}{{% endfor %}}", set.join("")))),
        format!("{{% macro m({}) %}}{{% endmacro %}}", names(8_000).join(",")) + &looped("{{ m() }}"),
        looped(&format!("{{% set x = namespace({}) %}}", given.join(","))),
        looped(&format!("{{% set n.k = '{}'.format(0) %}}", "{0!r}".repeat(8_000))),
        looped(&format!("{{% set x = '{}' % (1,) %}}", "%%".repeat(10_000))),
        format!("{{% set d = dict.fromkeys(range(9999)) %}}{}", looped("{% if d.x %}{% endif %}")),
        looped("{% if (messages[0].content ~ 'b').split('b') | join('b' * 999) %}{% endif %}"),
    ]
}

fn render(source: &str, most: Option<u64>) -> Result<Rendering> {
    let chat = Chat { messages: MESSAGES, most, ..Chat::default() };
    Template::compile(source)?.render(&chat, &Clock::default())
}

/// Processor time of this thread.
fn cpu() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The steps that a template takes.
fn steps_of(source: &str) -> u64 {
    let left = |source: &str| render(source, None).unwrap().after.left;
    left("") - left(source)
}

/// Render what may take so many steps, and tell if it takes longer or more memory than these allow.
fn check(source: &str, most: u64, told: &str, found: &mut Vec<String>) {
    let template = Template::compile(source).unwrap();
    let chat = Chat { messages: MESSAGES, most: Some(most), ..Chat::default() };
    let (before, begun) = (LIVE.get(), cpu());
    PEAK.set(before);
    let failure = template.render(&chat, &Clock::default()).err();
    let (time, bytes) = (cpu() - begun, PEAK.get() - before);
    let setup = Duration::from_nanos(60 * (most - STEPS));
    if time > TIME + setup || bytes > BYTES * most as isize + SMALL {
        let kind = failure.map(|failure| failure.kind);
        found.push(format!("{time:?}, {} bytes a step: {told} {kind:?}", bytes as f64 / most as f64));
    }
}

const START: &str = "{% set n = namespace(k=[]) %}{% macro m(a=1) %}{{ varargs }}{{ kwargs }}{% endmacro %}";

/// All operations with each of the values; those that fail with short ones are left out.
fn check_all(operations: &[String], values: &[(&str, &str)]) {
    let mut found = Vec::new();
    let mut checked = 0;
    for (long, short) in values {
        let start = format!("{START}{{% set V = {long} %}}");
        let most = steps_of(&start) + STEPS;
        for operation in operations {
            // What is made item by item has to be asked for them.
            let probe = format!("{{{{ 'g' if ({operation}) is iterable and ({operation}) is not sequence }}}}");
            let probe = format!("{START}{{% set V = {short} %}}{{% for i in [1] %}}{probe}{{% endfor %}}");
            let lazy = match render(&probe, None) {
                Ok(rendering) => rendering.text == "g",
                Err(failure) if failure.kind == Kind::Limit => false,
                Err(_) => continue,
            };
            let whole = if lazy { format!("({operation})|list") } else { operation.clone() };
            // The results are kept.
            let body = format!("{{% set n.k = n.k + [[{}]] %}}", vec![whole; 40].join(","));
            let source = format!("{start}{{% for i in range(99999) %}}{body}{{% endfor %}}");
            check(&source, most, &format!("{operation} of {long}"), &mut found);
            checked += 1;
        }
    }
    assert!(checked > values.len() * 50, "only {checked} operations work at all");
    assert!(found.is_empty(), "{checked} checked, {} take too much:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_operation_on_a_long_value_is_charged_for() {
    check_all(&operations()[0], &VALUES);
}

#[test]
fn every_operation_with_a_long_argument_is_charged_for() {
    check_all(&operations()[1], &GIVEN.map(|at| VALUES[at]));
}

#[test]
fn every_statement_about_a_long_value_is_charged_for() {
    let statements: Vec<_> = STATEMENTS.iter().map(|&statement| statement.to_owned()).collect();
    let mut found = Vec::new();
    for (long, _) in VALUES {
        let start = format!("{START}{{% set V = {long} %}}");
        let most = steps_of(&start) + STEPS;
        for statement in &statements {
            let source = format!("{start}{{% for i in range(99999) %}}{statement}{{% endfor %}}");
            check(&source, most, &format!("{statement} of {long}"), &mut found);
        }
    }
    for source in long_sources() {
        check(&source, 8 * STEPS, &source[..source.len().min(120)], &mut found);
    }
    assert!(found.is_empty(), "{} take too much:\n{}", found.len(), found.join("\n"));
}
