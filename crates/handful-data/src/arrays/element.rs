//! Element types: what one number (or fixed-width text) of an array looks like in bytes.

use half::{bf16, f16};

/// The family of an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementKind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// The upper half of a 32-bit float, as torch and safetensors know it.
    BrainFloat,
    /// NumPy `U`: UTF-32, padded with zeros.
    Text,
    /// NumPy `S`: bytes, padded with zeros.
    Bytes,
}

/// One element: family, bytes, and whether the most significant byte comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementType {
    pub kind: ElementKind,
    pub size: usize,
    pub big_endian: bool,
}

impl ElementType {
    pub(crate) const fn little(kind: ElementKind, size: usize) -> Self {
        Self { kind, size, big_endian: false }
    }

    /// Parses a NumPy type string such as `<f4`, `|u1` or `>U12`; the error says why the type is refused.
    pub(crate) fn parse_numpy(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("the element type `{text}` {why}"));
        let (big_endian, rest) = match text.as_bytes().first() {
            Some(b'>') => (true, &text[1..]),
            Some(b'<' | b'|' | b'=') => (false, &text[1..]),
            Some(_) => (false, text),
            None => return refuse("is empty"),
        };
        let mut letters = rest.chars();
        let Some(letter) = letters.next() else { return refuse("is incomplete") };
        let digits = letters.as_str();
        let kind = match letter {
            'b' | '?' => ElementKind::Bool,
            'i' => ElementKind::Signed,
            'u' => ElementKind::Unsigned,
            'f' => ElementKind::Float,
            'U' => ElementKind::Text,
            'S' | 'a' => ElementKind::Bytes,
            'O' => {
                return refuse(
                    "holds Python objects, which are not read: save numbers or fixed-width text instead",
                );
            }
            'c' => return refuse("is complex; features are real numbers"),
            'V' => return refuse("is structured or raw; one number per element is needed"),
            'M' | 'm' => return refuse("is a date or duration; features are numbers"),
            _ => return refuse("is not known"),
        };
        let Ok(width) = (if letter == '?' { Ok(1) } else { digits.parse::<usize>() }) else {
            return refuse("has no readable width");
        };
        let (size, valid) = match kind {
            ElementKind::Bool => (width, width == 1),
            ElementKind::Signed | ElementKind::Unsigned => (width, matches!(width, 1 | 2 | 4 | 8)),
            ElementKind::Float => (width, matches!(width, 2 | 4 | 8)),
            // A width of zero would let an array of any length take no bytes at all.
            ElementKind::Text => (width.saturating_mul(4), (1..1 << 24).contains(&width)),
            ElementKind::Bytes | ElementKind::BrainFloat => (width, (1..1 << 24).contains(&width)),
        };
        if valid { Ok(Self { kind, size, big_endian }) } else { refuse("has a width that is not supported") }
    }

    /// A name for messages.
    pub(crate) fn name(&self) -> String {
        let order = if self.big_endian { "big-endian " } else { "" };
        match self.kind {
            ElementKind::Bool => "bool".to_owned(),
            ElementKind::Signed => format!("{order}int{}", self.size * 8),
            ElementKind::Unsigned => format!("{order}uint{}", self.size * 8),
            ElementKind::Float => format!("{order}float{}", self.size * 8),
            ElementKind::BrainFloat => format!("{order}bfloat16"),
            ElementKind::Text | ElementKind::Bytes => "text".to_owned(),
        }
    }

    pub(crate) fn is_float(&self) -> bool {
        matches!(self.kind, ElementKind::Float | ElementKind::BrainFloat)
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self.kind, ElementKind::Signed | ElementKind::Unsigned | ElementKind::Bool)
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.kind, ElementKind::Text | ElementKind::Bytes)
    }

    /// The float in `bytes`, which hold exactly one element.
    pub(crate) fn float(&self, bytes: &[u8]) -> f64 {
        match (self.kind, self.size) {
            (ElementKind::BrainFloat, _) => bf16::from_bits(self.bits(bytes) as u16).to_f64(),
            (_, 2) => f16::from_bits(self.bits(bytes) as u16).to_f64(),
            (_, 4) => f64::from(f32::from_bits(self.bits(bytes) as u32)),
            _ => f64::from_bits(self.bits(bytes)),
        }
    }

    /// The integer in `bytes`, which hold exactly one element; `None` where it exceeds an `i64`.
    pub(crate) fn integer(&self, bytes: &[u8]) -> Option<i64> {
        let bits = self.bits(bytes);
        match self.kind {
            ElementKind::Signed => {
                let unused = 64 - 8 * self.size as u32;
                Some(((bits << unused) as i64) >> unused)
            }
            _ => i64::try_from(bits).ok(),
        }
    }

    /// The text in `bytes`, which hold exactly one element; `None` where it is not valid Unicode.
    pub(crate) fn text(&self, bytes: &[u8]) -> Option<String> {
        if self.kind == ElementKind::Bytes {
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            return std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned);
        }
        let letter = Self { kind: ElementKind::Unsigned, size: 4, big_endian: self.big_endian };
        let codes: Vec<u32> = bytes.chunks_exact(4).map(|code| letter.bits(code) as u32).collect();
        let end = codes.iter().rposition(|&code| code != 0).map_or(0, |last| last + 1);
        codes[..end].iter().map(|&code| char::from_u32(code)).collect()
    }

    fn bits(&self, bytes: &[u8]) -> u64 {
        let join = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        if self.big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
    }
}

/// Appends the floats in `bytes` to `values`.
pub(crate) fn decode(element: ElementType, bytes: &[u8], values: &mut Vec<f32>) {
    match (element.kind, element.size, element.big_endian) {
        (ElementKind::Float, 4, false) => {
            values.extend(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        }
        (ElementKind::Float, 2, false) => {
            values.extend(bytes.as_chunks().0.iter().map(|&bytes| f16::from_le_bytes(bytes).to_f32()));
        }
        _ => values.extend(bytes.chunks_exact(element.size).map(|bytes| element.float(bytes) as f32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_either_endianness() {
        let big = ElementType::parse_numpy(">i2").unwrap();
        assert_eq!(big.integer(&[0xff, 0xfe]), Some(-2));
        let little = ElementType::parse_numpy("<i2").unwrap();
        assert_eq!(little.integer(&[0xfe, 0xff]), Some(-2));
        let unsigned = ElementType::parse_numpy("<u8").unwrap();
        assert_eq!(unsigned.integer(&[0xff; 8]), None);
        assert_eq!(ElementType::parse_numpy(">f8").unwrap().float(&1.5f64.to_be_bytes()), 1.5);
        assert_eq!(
            ElementType::parse_numpy("<f2").unwrap().float(&f16::from_f32(-0.25).to_le_bytes()),
            -0.25
        );
    }

    #[test]
    fn text_loses_its_padding() {
        let wide = ElementType::parse_numpy("<U3").unwrap();
        let bytes: Vec<u8> = ['é' as u32, 'a' as u32, 0].iter().flat_map(|code| code.to_le_bytes()).collect();
        assert_eq!(wide.text(&bytes).as_deref(), Some("éa"));
        assert_eq!(ElementType::parse_numpy("|S4").unwrap().text(b"ab\0\0").as_deref(), Some("ab"));
        assert_eq!(wide.text(&[0xff; 12]), None);
    }

    #[test]
    fn unusable_types_say_why() {
        for (text, word) in [
            ("|O", "Python objects"),
            ("<c8", "complex"),
            ("|V8", "structured"),
            ("<f16", "width"),
            ("", "empty"),
            ("<q", "not known"),
            ("<f", "width"),
            ("<U0", "width"),
        ] {
            let error = ElementType::parse_numpy(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
