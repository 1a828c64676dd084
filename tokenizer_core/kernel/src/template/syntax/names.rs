//! The filters, tests and methods that there are.

/// Filters, sorted.
pub const FILTERS: [&str; 36] = [
    "abs", "attr", "capitalize", "count", "d", "default", "dictsort", "first", "float", "format", "indent", "int",
    "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace",
    "reverse", "safe", "select", "selectattr", "sort", "string", "sum", "title", "tojson", "trim", "unique", "upper",
];

/// Tests, sorted.
pub const TESTS: [&str; 38] = [
    "!=", "<", "<=", "==", ">", ">=", "boolean", "callable", "defined", "divisibleby", "eq", "equalto", "even",
    "false", "filter", "float", "ge", "greaterthan", "gt", "in", "integer", "iterable", "le", "lessthan", "lower",
    "lt", "mapping", "ne", "none", "number", "odd", "sameas", "sequence", "string", "test", "true", "undefined",
    "upper",
];

/// Filters and tests of Jinja that no chat template uses.
const REFUSED: [&str; 19] = [
    "batch", "center", "e", "escape", "escaped", "filesizeformat", "forceescape", "groupby", "pprint", "random",
    "round", "slice", "striptags", "truncate", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr",
];

/// Methods of strings that this engine does not have, most since no chat template uses them.
pub const REFUSED_OF_STRINGS: [&str; 15] = [
    "casefold", "center", "encode", "expandtabs", "format_map", "isidentifier", "isnumeric", "isprintable", "istitle",
    "ljust", "maketrans", "rjust", "swapcase", "translate", "zfill",
];

/// Methods of numbers that this engine does not have.
pub const REFUSED_OF_NUMBERS: [&str; 9] = [
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "from_bytes", "fromhex", "hex", "is_integer",
    "to_bytes",
];

/// Methods of strings.
pub const STRING_METHODS: [&str; 32] = [
    "capitalize", "count", "endswith", "find", "format", "index", "isalnum", "isalpha", "isascii", "isdecimal",
    "isdigit", "islower", "isspace", "isupper", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix",
    "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
    "title", "upper",
];

/// Methods of dictionaries.
pub const DICT_METHODS: [&str; 5] = ["copy", "get", "items", "keys", "values"];
/// Methods of lists.
pub const LIST_METHODS: [&str; 3] = ["copy", "count", "index"];
/// Methods of tuples and ranges.
pub const TUPLE_METHODS: [&str; 2] = ["count", "index"];
/// Methods of `loop`.
pub const LOOP_METHODS: [&str; 2] = ["changed", "cycle"];
/// The methods that change a dictionary or a list, which the sandbox forbids.
pub const CHANGING_DICT: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];
/// See [`CHANGING_DICT`].
pub const CHANGING_LIST: [&str; 8] = ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];

/// A field of a format that is a name or a number, with a conversion at most.
pub fn is_plain_field(field: &str) -> bool {
    let name = field.strip_suffix("!s").or_else(|| field.strip_suffix("!r")).unwrap_or(field);
    !name.contains(['.', '[', ':', '{', '!'])
}

/// Tell whether Python has a method that this engine does not have.
pub fn is_refused_method(name: &str) -> bool {
    REFUSED_OF_STRINGS.contains(&name) || REFUSED_OF_NUMBERS.contains(&name)
}

/// Tell whether this engine has a filter.
pub fn is_filter(name: &str) -> bool {
    FILTERS.binary_search(&name).is_ok()
}

/// Tell whether this engine has a test.
pub fn is_test(name: &str) -> bool {
    TESTS.binary_search(&name).is_ok()
}

/// Tell whether Jinja has a filter or a test that this engine does not have.
pub fn known_to_jinja(name: &str) -> bool {
    REFUSED.contains(&name)
}
