//! Requests with ids: `/decode`.

use super::Answer;
use super::answer::write_rows;
use crate::decode::{Decoder, SequenceIds};
use crate::encode::Pipeline;
use crate::error::Result;
use crate::json::scan::Scanner;
use crate::json::string::write_string;

/// The most that a request may hold.
#[derive(Debug, Clone, Copy)]
pub struct IdsLimits {
    /// Ids of all lists together.
    pub ids: usize,
    /// Lists.
    pub rows: usize,
    /// The budget of parsing, in ids; a list costs as much as ten.
    pub values: usize,
}

/// The request of a body.
#[derive(Debug)]
pub struct IdsRequest<'a> {
    tokenizer: Option<&'a str>,
    /// One list stands alone, several in a list.
    listed: bool,
    ids: Vec<u32>,
    /// The end of each list.
    ends: Vec<usize>,
    skip_special_tokens: bool,
}

impl<'a> IdsRequest<'a> {
    /// Read a body; `None` if the service has to handle it.
    pub fn read(body: &'a [u8], limits: IdsLimits) -> Option<Self> {
        let mut scanner = Scanner::new(body)?;
        let mut request =
            Self { tokenizer: None, listed: false, ids: Vec::new(), ends: Vec::new(), skip_special_tokens: false };
        scanner.fields(|scanner, key| {
            match key {
                "ids" => request.read_ids(scanner, limits)?,
                "tokenizer" => request.tokenizer = scanner.plain_string_or_null()?,
                "skip_special_tokens" => request.skip_special_tokens = scanner.boolean()?,
                _ => return None,
            }
            Some(())
        })?;
        scanner.end()?;
        let cost = request.ids.len() + 10 * request.ends.len();
        (!request.ends.is_empty() && cost <= limits.values).then_some(request)
    }

    fn read_ids(&mut self, scanner: &mut Scanner<'a>, limits: IdsLimits) -> Option<()> {
        scanner.expect(b'[')?;
        self.listed = scanner.peek()? == b'[';
        if !self.listed {
            return self.read_row(scanner, limits);
        }
        scanner.rest_of_array(|scanner| {
            scanner.expect(b'[')?;
            self.read_row(scanner, limits)?;
            (self.ends.len() <= limits.rows).then_some(())
        })
    }

    /// A list of which the bracket is read.
    fn read_row(&mut self, scanner: &mut Scanner<'a>, limits: IdsLimits) -> Option<()> {
        scanner.rest_of_numbers(&mut self.ids, limits.ids)?;
        self.ends.push(self.ids.len());
        Some(())
    }

    /// The tokenizer that the body names.
    pub fn tokenizer(&self) -> Option<&'a str> {
        self.tokenizer
    }

    /// Answer; `head` is what every answer of the pipeline begins with, up to a comma.
    ///
    /// # Errors
    /// `unknown_token_id`; its place is not used.
    pub fn answer(&self, pipeline: &Pipeline, head: &[u8]) -> Result<Answer> {
        let mut json = head.to_vec();
        let mut start = 0;
        let mut rows = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            let (tokens, skip_special_tokens) = (pipeline.tokens(), self.skip_special_tokens);
            let (ids, mut row) = (&self.ids[start..*end], Vec::new());
            pipeline.decoder().append(SequenceIds { tokens, ids, skip_special_tokens }, &mut row)?;
            rows.push(row);
            start = *end;
        }
        json.extend_from_slice(b"\"text\":");
        write_rows(self.listed, rows.len(), &mut json, |at, json| match simdutf8::basic::from_utf8(&rows[at]) {
            Ok(text) => write_string(text, json),
            Err(_) => write_string(&String::from_utf8_lossy(&rows[at]), json),
        });
        json.push(b'}');
        Ok(Answer { json, tokens: self.ids.len(), rest: String::new() })
    }
}
