//! Tokens of WordPiece: a space before each but the first, unless it goes on with a word.

/// The replacements of the cleaning, one after the other, for spaces that English does not have.
const CLEANED: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

/// The text of a token; `is_first` says whether none came before.
pub(super) fn decode(prefix: &str, cleanup: bool, token: String, is_first: bool) -> String {
    let text = match token.strip_prefix(prefix) {
        _ if is_first => token,
        Some(rest) => rest.to_owned(),
        None => format!(" {token}"),
    };
    if cleanup { cleaned(text) } else { text }
}

/// Take away spaces before punctuation and in contractions.
pub(super) fn cleaned(mut text: String) -> String {
    // Whatever is replaced begins with a space.
    if text.contains(' ') {
        for (from, to) in CLEANED {
            if text.contains(from) {
                text = text.replace(from, to);
            }
        }
    }
    text
}
