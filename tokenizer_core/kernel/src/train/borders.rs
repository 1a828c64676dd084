//! Borders within words that no entry crosses, as SentencePiece's trainer has them.

use unicode_script::{Script, UnicodeScript};

/// A space in pieces.
pub const SPACE: char = '▁';

/// The same in UTF-8.
pub const SPACE_BYTES: &[u8] = "▁".as_bytes();

/// The neighbours that no entry has both of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Borders {
    /// Characters of different scripts; kana count as Chinese characters, and a combining mark as what it stands on.
    pub scripts: bool,
    /// Digits and characters of any script. Without this, digits go with every script.
    pub numbers: bool,
    /// A digit and anything else: each stands alone.
    pub digits: bool,
    /// A lone space is no word: spaces are joined before text is encoded.
    pub lone_spaces: bool,
    /// A space begins an entry or stands within one, and ends none.
    pub spaces_begin: bool,
    /// A space ends an entry or stands within one, and begins none.
    pub spaces_end: bool,
    /// Several spaces may be an entry, whatever the two above say.
    pub space_runs: bool,
}

impl Borders {
    /// Set a border by its name.
    pub fn set(&mut self, name: &str) -> Option<()> {
        let flag = match name {
            "scripts" => &mut self.scripts,
            "numbers" => &mut self.numbers,
            "digits" => &mut self.digits,
            "lone_spaces" => &mut self.lone_spaces,
            "spaces_begin" => &mut self.spaces_begin,
            "spaces_end" => &mut self.spaces_end,
            "space_runs" => &mut self.space_runs,
            _ => return None,
        };
        *flag = true;
        Some(())
    }

    /// Tell whether a piece of the corpus is a word.
    pub fn is_word(self, piece: &str) -> bool {
        !self.lone_spaces || !piece.chars().eq([SPACE])
    }

    /// Tell whether an entry of several characters has its spaces where they may be: bytes, or numbers of characters.
    pub fn allows<T: PartialEq>(self, entry: &[T], space: &[T]) -> bool {
        let is_right = !(self.spaces_begin && entry.ends_with(space) || self.spaces_end && entry.starts_with(space));
        is_right || self.space_runs && entry.chunks(space.len()).all(|part| part == space)
    }

    /// Cut a word at its borders.
    pub fn stretches(self, word: &str) -> impl Iterator<Item = &str> {
        let mut rest = word;
        std::iter::from_fn(move || {
            let (stretch, behind) = rest.split_at(self.first_border(rest));
            rest = behind;
            (!stretch.is_empty()).then_some(stretch)
        })
    }

    /// The end of the first stretch.
    fn first_border(self, word: &str) -> usize {
        let (mut before, mut was_digit) = (None, false);
        for (at, character) in word.char_indices() {
            let is_digit = character.is_ascii_digit();
            if self.digits && at > 0 && (is_digit || was_digit) {
                return at;
            }
            was_digit = is_digit;
            if character == SPACE {
                continue;
            }
            let has_script = self.scripts && (self.numbers || !is_digit);
            let script = if has_script { script_of(character, before) } else { None };
            if before.is_some() && script.is_some() && before != script {
                // The space before a word is not cut from it.
                let has_space = self.spaces_begin && word[..at].ends_with(SPACE);
                return if has_space { at - SPACE.len_utf8() } else { at };
            }
            before = script;
        }
        word.len()
    }
}

/// The script of a character behind one of the script `before`.
fn script_of(character: char, before: Option<Script>) -> Option<Script> {
    match character.script() {
        // The sign of a long vowel.
        _ if character == '\u{30FC}' => Some(Script::Han),
        Script::Hiragana | Script::Katakana => Some(Script::Han),
        Script::Inherited => before,
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(borders: Borders, word: &str) -> Vec<&str> {
        borders.stretches(word).collect()
    }

    #[test]
    fn words_are_cut_between_scripts() {
        let borders = Borders { scripts: true, numbers: true, ..Borders::default() };
        assert_eq!(cut(borders, "▁don't12日本ガラー"), ["▁don", "'", "t", "12", "日本ガラー"]);
        assert_eq!(cut(borders, "e\u{301}t▁a"), ["e\u{301}t▁a"]);
        assert_eq!(cut(borders, ""), [""; 0]);
        let with_numbers = Borders { numbers: false, ..borders };
        assert_eq!(cut(with_numbers, "a1b,2"), ["a1b", ",2"]);
    }

    #[test]
    fn spaces_are_where_they_may_be() {
        let begin = Borders { scripts: true, numbers: true, spaces_begin: true, ..Borders::default() };
        assert_eq!(cut(begin, "▁a▁b▁▁12"), ["▁a▁b▁", "▁12"]);
        let allowed =
            |borders: Borders| ["a▁b", "▁a", "a▁", "▁▁"].map(|entry| borders.allows(entry.as_bytes(), SPACE_BYTES));
        assert_eq!(allowed(begin), [true, true, false, false]);
        assert_eq!(allowed(Borders { space_runs: true, ..begin }), [true, true, false, true]);
        let end = Borders { spaces_end: true, ..Borders::default() };
        assert_eq!(allowed(end), [true, false, true, false]);
        assert_eq!(allowed(Borders::default()), [true; 4]);
    }

    #[test]
    fn digits_stand_alone() {
        let borders = Borders { digits: true, ..Borders::default() };
        assert_eq!(cut(borders, "▁12a日3"), ["▁", "1", "2", "a日", "3"]);
        assert_eq!(cut(Borders::default(), "▁12a日3"), ["▁12a日3"]);
    }
}
