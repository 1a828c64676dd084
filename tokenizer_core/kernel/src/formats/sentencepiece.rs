//! Read a SentencePiece model: its pieces with scores and kinds, and the rules around them.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::protobuf::{Field, Fields, Value};
use crate::error::{Code, Error, Result};
use crate::vocabulary::byte_entry::byte_of;
use crate::vocabulary::{MAX_IDS, Vocabulary};

/// The length at which SentencePiece refuses a piece.
const MAX_PIECE: usize = 8000;

/// The purpose of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

/// The method by which pieces are made of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ModelType {
    Unigram,
    Bpe,
    Word,
    Char,
}

/// All of a model but its pieces and scores.
#[derive(Debug, Serialize)]
struct Rest {
    model_type: ModelType,
    byte_fallback: bool,
    treat_whitespace_as_suffix: bool,
    unk_surface: String,
    unk_piece: String,
    bos_piece: String,
    eos_piece: String,
    pad_piece: String,
    normalizer: NormalizerRules,
    denormalizer_charsmap: String,
    /// Ids by kind; the normal ones are all others.
    unknown: Vec<u32>,
    control: Vec<u32>,
    user_defined: Vec<u32>,
    unused: Vec<u32>,
    byte: Vec<u32>,
}

/// The rules of a normalizer; the charsmap in base64.
#[derive(Debug, Serialize)]
struct NormalizerRules {
    charsmap: String,
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
    escape_whitespaces: bool,
}

impl Default for NormalizerRules {
    fn default() -> Self {
        Self {
            charsmap: String::new(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        }
    }
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            model_type: ModelType::Unigram,
            byte_fallback: false,
            treat_whitespace_as_suffix: false,
            unk_surface: " ⁇ ".to_owned(),
            unk_piece: "<unk>".to_owned(),
            bos_piece: "<s>".to_owned(),
            eos_piece: "</s>".to_owned(),
            pad_piece: "<pad>".to_owned(),
            normalizer: NormalizerRules::default(),
            denormalizer_charsmap: String::new(),
            unknown: Vec::new(),
            control: Vec::new(),
            user_defined: Vec::new(),
            unused: Vec::new(),
            byte: Vec::new(),
        }
    }
}

/// One piece of the file.
struct ModelPiece<'a> {
    text: &'a str,
    score: f32,
    kind: PieceKind,
}

/// The vocabulary of a model, as texts with scores, and the rest of it as JSON.
///
/// # Errors
/// `invalid_file`, `duplicate_token`, `id_out_of_range`, each with the byte or the piece.
pub fn from_sentencepiece(data: &[u8]) -> Result<(Vocabulary, String)> {
    let (mut pieces, mut rest) = (Vec::new(), Rest::default());
    let mut fields = Fields::new(data, 0);
    while let Some(field) = fields.next()? {
        match field.number {
            1 if pieces.len() >= MAX_IDS as usize => {
                let message = format!("there are more than {MAX_IDS} pieces");
                return Err(Error::new(Code::IdOutOfRange, message).at_field("pieces"));
            }
            1 => {
                let path = format!("pieces[{}]", pieces.len());
                pieces.push(read_piece(message(&field, &path)?, &path)?);
            }
            2 => read_trainer(message(&field, "trainer_spec")?, &mut rest)?,
            3 => read_rules(message(&field, "normalizer_spec")?, "normalizer_spec", &mut rest.normalizer)?,
            5 => {
                let mut rules = NormalizerRules::default();
                read_rules(message(&field, "denormalizer_spec")?, "denormalizer_spec", &mut rules)?;
                rest.denormalizer_charsmap = rules.charsmap;
            }
            _ => {}
        }
    }
    sort(&mut pieces, &mut rest)?;
    check_pieces(&pieces, &rest)?;
    let scores = pieces.iter().map(|piece| f64::from(piece.score)).collect();
    let texts = (0..).zip(pieces.iter().map(|piece| piece.text)).collect();
    let vocabulary = Vocabulary::of_texts(texts, Vec::new(), scores)?;
    let rest = serde_json::to_string(&rest).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    Ok((vocabulary, rest))
}

fn broken(message: impl Into<String>, path: impl Into<String>) -> Error {
    Error::new(Code::InvalidFile, message).at_field(path)
}

fn message<'a>(field: &Field<'a>, path: &str) -> Result<Fields<'a>> {
    match field.value {
        Value::Bytes(bytes) => Ok(Fields::new(bytes, field.offset)),
        _ => Err(broken("it is not a message", path)),
    }
}

fn text<'a>(field: &Field<'a>, path: &str) -> Result<&'a str> {
    match field.value {
        Value::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|_| broken("it is not UTF-8", path)),
        _ => Err(broken("it is not text", path)),
    }
}

fn number(field: &Field<'_>, path: &str) -> Result<u64> {
    match field.value {
        Value::Varint(number) => Ok(number),
        _ => Err(broken("it is not a number", path)),
    }
}

fn flag(field: &Field<'_>, path: &str) -> Result<bool> {
    number(field, path).map(|number| number != 0)
}

fn read_piece<'a>(mut fields: Fields<'a>, path: &str) -> Result<ModelPiece<'a>> {
    let mut piece = ModelPiece { text: "", score: 0.0, kind: PieceKind::Normal };
    while let Some(field) = fields.next()? {
        match field.number {
            1 => piece.text = text(&field, &format!("{path}.piece"))?,
            2 => match field.value {
                Value::Fixed32(bits) => piece.score = f32::from_bits(bits),
                _ => return Err(broken("it is not a float", format!("{path}.score"))),
            },
            3 => {
                let path = format!("{path}.type");
                piece.kind = match number(&field, &path)? {
                    1 => PieceKind::Normal,
                    2 => PieceKind::Unknown,
                    3 => PieceKind::Control,
                    4 => PieceKind::UserDefined,
                    5 => PieceKind::Unused,
                    6 => PieceKind::Byte,
                    other => return Err(broken(format!("{other} is no type of a piece"), path)),
                };
            }
            _ => {}
        }
    }
    if piece.text.is_empty() {
        return Err(broken("the piece is empty", path));
    }
    if piece.text.len() >= MAX_PIECE {
        return Err(broken(format!("the piece has {} bytes, and {MAX_PIECE} are too many", piece.text.len()), path));
    }
    if !piece.score.is_finite() {
        return Err(broken(format!("the score is {}", piece.score), format!("{path}.score")));
    }
    Ok(piece)
}

fn read_trainer(mut fields: Fields<'_>, rest: &mut Rest) -> Result<()> {
    while let Some(field) = fields.next()? {
        let path = |name: &str| format!("trainer_spec.{name}");
        match field.number {
            3 => {
                rest.model_type = match number(&field, &path("model_type"))? {
                    1 => ModelType::Unigram,
                    2 => ModelType::Bpe,
                    3 => ModelType::Word,
                    4 => ModelType::Char,
                    other => return Err(broken(format!("{other} is no type of a model"), path("model_type"))),
                }
            }
            24 => rest.treat_whitespace_as_suffix = flag(&field, &path("treat_whitespace_as_suffix"))?,
            35 => rest.byte_fallback = flag(&field, &path("byte_fallback"))?,
            44 => rest.unk_surface = text(&field, &path("unk_surface"))?.to_owned(),
            45 => rest.unk_piece = text(&field, &path("unk_piece"))?.to_owned(),
            46 => rest.bos_piece = text(&field, &path("bos_piece"))?.to_owned(),
            47 => rest.eos_piece = text(&field, &path("eos_piece"))?.to_owned(),
            48 => rest.pad_piece = text(&field, &path("pad_piece"))?.to_owned(),
            _ => {}
        }
    }
    Ok(())
}

fn read_rules(mut fields: Fields<'_>, spec: &str, rules: &mut NormalizerRules) -> Result<()> {
    while let Some(field) = fields.next()? {
        let path = |name: &str| format!("{spec}.{name}");
        match field.number {
            2 => match field.value {
                Value::Bytes(bytes) => rules.charsmap = STANDARD.encode(bytes),
                _ => return Err(broken("it is not bytes", path("precompiled_charsmap"))),
            },
            3 => rules.add_dummy_prefix = flag(&field, &path("add_dummy_prefix"))?,
            4 => rules.remove_extra_whitespaces = flag(&field, &path("remove_extra_whitespaces"))?,
            5 => rules.escape_whitespaces = flag(&field, &path("escape_whitespaces"))?,
            _ => {}
        }
    }
    Ok(())
}

/// List the ids by kind.
fn sort(pieces: &mut [ModelPiece<'_>], rest: &mut Rest) -> Result<()> {
    for (id, piece) in (0..).zip(pieces) {
        if piece.text.contains('\0') {
            // Converters write a zero beside `<0x00>`; SentencePiece does not use it either.
            if piece.text != "\0" || !rest.byte_fallback {
                return Err(broken("the piece has a zero byte", format!("pieces[{id}]")));
            }
            piece.kind = PieceKind::Unused;
        }
        match piece.kind {
            PieceKind::Normal => {}
            PieceKind::Unknown => rest.unknown.push(id),
            PieceKind::Control => rest.control.push(id),
            PieceKind::UserDefined => rest.user_defined.push(id),
            PieceKind::Unused => rest.unused.push(id),
            PieceKind::Byte => rest.byte.push(id),
        }
    }
    Ok(())
}

/// Refuse what SentencePiece refuses.
fn check_pieces(pieces: &[ModelPiece<'_>], rest: &Rest) -> Result<()> {
    if pieces.is_empty() {
        return Err(broken("there are no pieces", "pieces"));
    }
    let mut seen = HashMap::with_capacity(pieces.len());
    let mut found = [false; 256];
    for (id, piece) in pieces.iter().enumerate() {
        // But for BPE, a piece that no text becomes may be spelled like one that text does.
        let reserved = matches!(piece.kind, PieceKind::Unknown | PieceKind::Control | PieceKind::Byte);
        let reserved = reserved && rest.model_type != ModelType::Bpe;
        if let Some(other) = seen.insert((piece.text, reserved), id) {
            let message = format!("the piece {:?} has the ids {other} and {id}", piece.text);
            return Err(Error::new(Code::DuplicateToken, message).at_field(format!("pieces[{id}]")));
        }
        if piece.kind == PieceKind::Byte {
            match byte_of(piece.text.as_bytes()).filter(|_| rest.byte_fallback) {
                Some(byte) => found[usize::from(byte)] = true,
                None => {
                    let message = "a piece of the type byte must be <0x00> to <0xFF>, with byte_fallback";
                    return Err(broken(message, format!("pieces[{id}]")));
                }
            }
        }
    }
    if let [_, second, ..] = rest.unknown[..] {
        return Err(broken("there is another unknown piece", format!("pieces[{second}]")));
    }
    if rest.unknown.is_empty() && !rest.byte_fallback {
        return Err(broken("there is no unknown piece", "pieces"));
    }
    if let Some(byte) = found.iter().position(|found| !found).filter(|_| rest.byte_fallback) {
        let message = format!("byte_fallback is set, and there is no piece <0x{byte:02X}>");
        return Err(Error::new(Code::MissingByte, message).at_field("pieces"));
    }
    Ok(())
}
