//! Chat templates: whatever a source and a chat are, the engine answers, and knows what the caller wrote.

use tokd_kernel::template::{Chat, Clock, Kind, Template};

use super::Reader;

/// What sources are put together from; most of them make no sense, as they should not.
const PARTS: [&str; 94] = [
    "{{ ",
    " }}",
    "{%- ",
    " -%}",
    "{% ",
    " %}",
    "{# c #}",
    "\n",
    " ",
    "text",
    "if ",
    "elif ",
    "else",
    "endif",
    "for ",
    " in ",
    "endfor",
    "set ",
    "endset",
    " = ",
    "macro f(p, q=1)",
    "endmacro",
    "call(v) f(m)",
    "endcall",
    "filter ",
    "endfilter",
    "with a = m",
    "endwith",
    "generation",
    "endgeneration",
    "break",
    "continue",
    " recursive",
    "raw",
    "endraw",
    "m",
    "m.content",
    "messages",
    "messages[0]",
    "m['content']",
    ".split('e')",
    ".strip()",
    ".replace('a', m.k)",
    ".upper()",
    ".join(messages)",
    ".items()",
    ".get('k')",
    "[1:]",
    "[::-1]",
    "[0]",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    " + ",
    " ~ ",
    " * ",
    " - ",
    " % ",
    " ** ",
    " // ",
    " == ",
    " < ",
    " and ",
    " or ",
    "not ",
    " if ",
    " else ",
    " | ",
    "tojson",
    "tojson(indent=2)",
    "upper",
    "trim",
    "join('-')",
    "list",
    "map('upper')",
    "map(attribute='content')",
    "select('string')",
    "sort",
    "dictsort",
    "indent(3)",
    "replace('a', 'b')",
    "default(m)",
    "length",
    "reverse",
    " is string",
    " is defined",
    "range(9)",
    "namespace(a=m)",
    "loop.index",
    "'%s %s' % (m, 1)",
];

/// Written by the caller alone: no source has it.
const MARK: char = '\u{E000}';

/// Render a chat by the template that the input stands for.
pub fn templates(data: &[u8]) {
    let mut reader = Reader::new(data);
    let source = if reader.byte().is_multiple_of(4) {
        reader.text()
    } else {
        let mut source = String::from("{% set m = messages[0] %}");
        while !reader.is_empty() {
            source.push_str(reader.pick::<&str>(&PARTS));
        }
        source
    };
    let source = source.replace(MARK, "");
    let messages = format!(
        r#"[{{"role":"user","content":"{MARK}e{MARK}a","k":"{MARK}{MARK}","n":7,"l":["{MARK}",[1]]}},{{"role":"u"}}]"#
    );
    let template = match Template::compile(&source) {
        Ok(template) => template,
        Err(failure) => {
            assert!(matches!(failure.kind, Kind::Syntax | Kind::Unsupported), "{failure:?}");
            return;
        }
    };
    let chat = Chat { messages: &messages, tools: Some(r#"[{"name":"f"}]"#), ..Chat::default() };
    let Ok(rendering) = template.render(&chat, &Clock::default()) else { return };
    let text = &rendering.text;
    let mut end = 0;
    for span in &rendering.spans {
        assert!(end <= span.bytes.start && span.bytes.start < span.bytes.end && span.bytes.end <= text.len());
        assert!(text.is_char_boundary(span.bytes.start) && text.is_char_boundary(span.bytes.end));
        assert!(!span.field.is_empty());
        end = span.bytes.end;
    }
    for (at, _) in text.match_indices(MARK) {
        assert!(rendering.spans.iter().any(|span| span.bytes.contains(&at)), "{source:?} lost an author: {text:?}");
    }
}
