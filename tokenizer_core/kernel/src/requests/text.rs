//! Requests with texts: `/encode`, `/count`, `/offsets`.

use super::Answer;
use super::answer::write_rows;
use crate::added_tokens::SpecialPolicy;
use crate::batch::Batch;
use crate::capacity::for_ids;
use crate::decode::token_widths::Unit;
use crate::encode::{EncodeOptions, Pipeline};
use crate::error::Result;
use crate::json::numbers::{write_ids, write_number, write_spans};
use crate::json::scan::{Place, Scanner};
use crate::output::count::Count;
use crate::output::offsets::Offsets;

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Ids and their number.
    Encode,
    /// The number of ids alone.
    Count,
    /// Ids and their spans.
    Offsets,
}

/// A field of an answer to `/encode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnField {
    /// The ids.
    Ids,
    /// Their number.
    Count,
}

/// The request of a body.
#[derive(Debug)]
pub struct TextRequest<'a> {
    route: Route,
    body: &'a str,
    unescaped: String,
    /// One text stands alone, several in a list.
    listed: bool,
    places: Vec<Place>,
    tokenizer: Option<&'a str>,
    options: EncodeOptions,
    unit: Unit,
    fields: Vec<ReturnField>,
}

impl<'a> TextRequest<'a> {
    /// Read a body with at most `max_items` texts; `None` if the service has to handle it.
    pub fn read(body: &'a [u8], route: Route, max_items: usize) -> Option<Self> {
        let mut scanner = Scanner::new(body)?;
        let options = EncodeOptions { policy: SpecialPolicy::Reject, add_special_tokens: true };
        let mut request = Self {
            route,
            body: "",
            unescaped: String::new(),
            listed: false,
            places: Vec::new(),
            tokenizer: None,
            options,
            unit: Unit::Char,
            fields: vec![ReturnField::Ids, ReturnField::Count],
        };
        let mut has_text = false;
        scanner.fields(|scanner, key| {
            match key {
                "text" => {
                    has_text = true;
                    request.read_texts(scanner, max_items)?;
                }
                "tokenizer" => request.tokenizer = scanner.plain_string_or_null()?,
                "special_tokens" => {
                    request.options.policy = match scanner.plain_string()? {
                        "reject" => SpecialPolicy::Reject,
                        "text" => SpecialPolicy::Text,
                        "parse" => SpecialPolicy::Parse,
                        _ => return None,
                    };
                }
                "add_special_tokens" => request.options.add_special_tokens = scanner.boolean()?,
                "return" if route == Route::Encode => request.fields = read_fields(scanner)?,
                "unit" if route == Route::Offsets => {
                    request.unit = match scanner.plain_string()? {
                        "byte" => Unit::Byte,
                        "char" => Unit::Char,
                        "utf16" => Unit::Utf16,
                        _ => return None,
                    };
                }
                _ => return None,
            }
            Some(())
        })?;
        scanner.end()?;
        (request.body, request.unescaped) = scanner.into_texts()?;
        has_text.then_some(request)
    }

    fn read_texts(&mut self, scanner: &mut Scanner<'a>, max_items: usize) -> Option<()> {
        self.listed = scanner.peek()? == b'[';
        if !self.listed {
            self.places.push(scanner.string()?);
            return Some(());
        }
        scanner.array(|scanner| {
            self.places.push(scanner.string()?);
            (self.places.len() <= max_items).then_some(())
        })
    }

    /// The tokenizer that the body names.
    pub fn tokenizer(&self) -> Option<&'a str> {
        self.tokenizer
    }

    /// The texts, in order.
    fn texts(&self) -> Option<Vec<&str>> {
        let text = |place: &Place| match place {
            Place::Body(range) => self.body.get(range.clone()),
            Place::Unescaped(range) => self.unescaped.get(range.clone()),
        };
        self.places.iter().map(text).collect()
    }

    /// Answer; `head` is what every answer of the pipeline begins with, up to a comma. `threads` share a list out.
    ///
    /// # Errors
    /// As [`Pipeline::encode`]; its place is not used.
    pub fn answer(&self, pipeline: &Pipeline, head: &[u8], threads: usize) -> Result<Option<Answer>> {
        let Some(texts) = self.texts() else { return Ok(None) };
        let mut json = head.to_vec();
        let tokens = match self.route {
            Route::Encode if self.fields == [ReturnField::Count] => self.count(pipeline, &texts, &mut json)?,
            Route::Encode => self.encode(pipeline, &texts, threads, &mut json)?,
            Route::Count => self.count(pipeline, &texts, &mut json)?,
            Route::Offsets => self.offsets(pipeline, &texts, &mut json)?,
        };
        json.push(b'}');
        Ok(Some(Answer { json, tokens, rest: String::new() }))
    }

    fn encode(&self, pipeline: &Pipeline, texts: &[&str], threads: usize, json: &mut Vec<u8>) -> Result<usize> {
        let batch = match texts {
            [text] => {
                let mut ids = for_ids(text.len());
                pipeline.encode(text, self.options, &mut ids)?;
                Batch { row_offsets: vec![0, ids.len() as i64], ids }
            }
            _ => pipeline.encode_batch(texts, self.options, threads)?,
        };
        let row = |at: usize| &batch.ids[batch.row_offsets[at] as usize..batch.row_offsets[at + 1] as usize];
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                json.push(b',');
            }
            match field {
                ReturnField::Ids => {
                    json.extend_from_slice(b"\"ids\":");
                    write_rows(self.listed, texts.len(), json, |at, json| write_ids(row(at), json));
                }
                ReturnField::Count => {
                    json.extend_from_slice(b"\"count\":");
                    write_rows(self.listed, texts.len(), json, |at, json| write_number(row(at).len(), json));
                }
            }
        }
        Ok(batch.ids.len())
    }

    fn count(&self, pipeline: &Pipeline, texts: &[&str], json: &mut Vec<u8>) -> Result<usize> {
        let mut counts = Vec::with_capacity(texts.len());
        for text in texts {
            let mut count = Count::default();
            pipeline.encode(text, self.options, &mut count)?;
            counts.push(count.0);
        }
        json.extend_from_slice(b"\"count\":");
        write_rows(self.listed, counts.len(), json, |at, json| write_number(counts[at], json));
        Ok(counts.iter().sum())
    }

    fn offsets(&self, pipeline: &Pipeline, texts: &[&str], json: &mut Vec<u8>) -> Result<usize> {
        let mut rows = Vec::with_capacity(texts.len());
        for text in texts {
            let mut offsets = Offsets::new(pipeline.stands_for(), text, self.unit);
            pipeline.encode(text, self.options, &mut offsets)?;
            rows.push((offsets.ids, offsets.spans));
        }
        json.extend_from_slice(b"\"ids\":");
        write_rows(self.listed, rows.len(), json, |at, json| write_ids(&rows[at].0, json));
        json.extend_from_slice(b",\"spans\":");
        write_rows(self.listed, rows.len(), json, |at, json| write_spans(&rows[at].1, json));
        Ok(rows.iter().map(|(ids, _)| ids.len()).sum())
    }
}

/// The fields that an answer to `/encode` is to hold, each once.
pub fn read_fields(scanner: &mut Scanner<'_>) -> Option<Vec<ReturnField>> {
    let mut fields = Vec::with_capacity(2);
    scanner.array(|scanner| {
        let field = match scanner.plain_string()? {
            "ids" => ReturnField::Ids,
            "count" => ReturnField::Count,
            _ => return None,
        };
        let new = !fields.contains(&field);
        fields.push(field);
        new.then_some(())
    })?;
    (!fields.is_empty()).then_some(fields)
}
