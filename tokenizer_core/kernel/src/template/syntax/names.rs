//! The filters, tests and methods that there are.

/// Filters, sorted.
pub const FILTERS: [&str; 47] = [
    "abs",
    "attr",
    "batch",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "filesizeformat",
    "first",
    "float",
    "forceescape",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "wordcount",
];

/// Tests, sorted.
pub const TESTS: [&str; 39] = [
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// Filters of Jinja that no chat template uses and that would lose who wrote what.
const REFUSED_FILTERS: [&str; 7] = ["pprint", "random", "striptags", "urlencode", "urlize", "wordwrap", "xmlattr"];

/// Methods of strings and numbers that this engine does not have.
pub const REFUSED_METHODS: [&str; 16] = [
    "as_integer_ratio",
    "bit_count",
    "bit_length",
    "casefold",
    "conjugate",
    "encode",
    "from_bytes",
    "fromhex",
    "hex",
    "is_integer",
    "isidentifier",
    "isnumeric",
    "isprintable",
    "maketrans",
    "to_bytes",
    "translate",
];

/// Methods of strings.
pub const STRING_METHODS: [&str; 40] = [
    "capitalize",
    "center",
    "count",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "islower",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

/// Methods of dictionaries.
pub const DICT_METHODS: [&str; 5] = ["copy", "get", "items", "keys", "values"];
/// Methods of lists.
pub const LIST_METHODS: [&str; 3] = ["copy", "count", "index"];
/// Methods of tuples and ranges.
pub const TUPLE_METHODS: [&str; 2] = ["count", "index"];
/// Methods of `loop`.
pub const LOOP_METHODS: [&str; 2] = ["changed", "cycle"];
/// What changes a dictionary or a list, which the sandbox forbids.
pub const CHANGING_DICT: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];
/// See [`CHANGING_DICT`].
pub const CHANGING_LIST: [&str; 8] = ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];

/// Whether this engine has a filter.
pub fn is_filter(name: &str) -> bool {
    FILTERS.binary_search(&name).is_ok()
}

/// Whether this engine has a test.
pub fn is_test(name: &str) -> bool {
    TESTS.binary_search(&name).is_ok()
}

/// Whether Jinja has a filter that this engine does not have.
pub fn known_to_jinja(name: &str) -> bool {
    REFUSED_FILTERS.contains(&name)
}
