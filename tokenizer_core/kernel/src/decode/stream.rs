//! Text of ids that arrive in parts.

use super::{Decoder, LoadId, SequenceIds};
use crate::error::Result;

/// The state of a decoder and of its text after the parts so far.
#[derive(Debug)]
pub struct TextStream<D: Decoder> {
    state: D::State,
    text: StreamDecoder,
}

impl<D: Decoder> Default for TextStream<D> {
    fn default() -> Self {
        Self { state: D::State::default(), text: StreamDecoder::default() }
    }
}

impl<D: Decoder> TextStream<D> {
    /// Take ids; return all text that is complete by now.
    ///
    /// # Errors
    /// As [`Decoder::push`]; then nothing was taken.
    pub fn push(&mut self, decoder: &D, ids: SequenceIds<'_, impl LoadId>) -> Result<String> {
        let mut bytes = Vec::new();
        decoder.push(ids, &mut self.state, &mut bytes)?;
        Ok(self.text.push(&bytes))
    }

    /// End the stream.
    ///
    /// # Errors
    /// As [`Decoder::finish`].
    pub fn finish(&mut self, decoder: &D) -> Result<String> {
        let mut bytes = Vec::new();
        decoder.finish(&mut std::mem::take(&mut self.state), &mut bytes)?;
        Ok(self.text.push(&bytes) + &self.text.finish())
    }

    /// The beginning of a character that is held back.
    pub fn pending(&self) -> &[u8] {
        self.text.pending()
    }
}

/// A UTF-8 decoder for bytes that arrive in parts: what `push` and `finish` return, joined, is the whole text.
#[derive(Debug, Clone, Default)]
pub struct StreamDecoder {
    /// The beginning of a character: at most three bytes.
    pending: Vec<u8>,
}

impl StreamDecoder {
    /// Take bytes; return all text that is complete by now. Invalid UTF-8 becomes U+FFFD by maximal subparts.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let held = incomplete_tail(&self.pending);
        let certain = self.pending.len() - held;
        let text = String::from_utf8_lossy(&self.pending[..certain]).into_owned();
        self.pending.drain(..certain);
        text
    }

    /// End the stream: what was held back is an incomplete character.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        text
    }

    /// The bytes held back.
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }
}

/// Count the bytes at the end that are the beginning of a character that more bytes could complete.
fn incomplete_tail(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    (1..=longest)
        .rev()
        .find(|tail| {
            let tail = &bytes[bytes.len() - tail..];
            matches!(std::str::from_utf8(tail), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::TokenBytes;
    use crate::vocabulary::Vocabulary;

    /// Words with spaces between them; `##` joins one to the word before, and a full stop needs no space.
    #[derive(Debug, Default)]
    struct WordDecoder;

    impl Decoder for WordDecoder {
        /// True if a word came before; and the last word, which has not been written.
        type State = (bool, Vec<u8>);

        fn push(
            &self,
            ids: SequenceIds<'_, impl LoadId>,
            (begun, held): &mut (bool, Vec<u8>),
            bytes: &mut Vec<u8>,
        ) -> Result<()> {
            for (_, token) in ids.decoded()? {
                bytes.append(held);
                match token.strip_prefix(b"##") {
                    Some(rest) => held.extend_from_slice(rest),
                    None if *begun && token != b"." => held.extend([b" ", token].concat()),
                    None => held.extend_from_slice(token),
                }
                *begun = true;
            }
            Ok(())
        }

        fn finish(&self, (_, held): &mut (bool, Vec<u8>), bytes: &mut Vec<u8>) -> Result<()> {
            bytes.append(held);
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_sequence_in_parts_has_the_text_of_the_whole(
            ids in prop::collection::vec(0_u32..5, 0..40), lengths in prop::collection::vec(0_usize..5, 1..20),
        ) {
            let entries = ["play", "##ing", ".", "été", "##👍"];
            let vocabulary = (0..).zip(entries.map(str::as_bytes)).collect();
            let tokens = TokenBytes::new(&Vocabulary::new(vocabulary, Vec::new(), Vec::new()).unwrap(), &[]).unwrap();
            let mut whole = Vec::new();
            let part_of = |ids| SequenceIds { tokens: &tokens, ids, skip_special_tokens: false };
            WordDecoder.append(part_of(&ids), &mut whole).unwrap();
            let truth = ids.iter().map(|id| entries[*id as usize]).collect::<Vec<_>>().join(" ");
            let truth = truth.replace(" ##", "").replace(" .", ".").replace("##", "");
            prop_assert_eq!(String::from_utf8(whole).unwrap(), &*truth);
            let (mut stream, mut text, mut rest) = (TextStream::default(), String::new(), &ids[..]);
            for length in lengths {
                let (part, others) = rest.split_at(length.min(rest.len()));
                text += &stream.push(&WordDecoder, part_of(part)).unwrap();
                rest = others;
            }
            text += &stream.push(&WordDecoder, part_of(rest)).unwrap();
            prop_assert_eq!(text + &stream.finish(&WordDecoder).unwrap(), truth);
        }
    }
}
