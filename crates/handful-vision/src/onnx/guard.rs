//! A look through an ONNX file before it is read.
//!
//! The library that reads it reserves whatever length a field declares, and calls itself for every message within a
//! message: a damaged file could ask for more memory than there is, or for more stack, and either ends the process.
//! Here every length is held against the bytes that are there, and the nesting counted.

/// Graphs within attributes of nodes within graphs: real ones have a few.
const DEEPEST: usize = 64;

/// The messages of ONNX that hold other messages.
#[derive(Clone, Copy)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    Sequence,
    /// One that holds none.
    Plain,
}

impl Message {
    /// The message in a field.
    fn within(self, field: u64) -> Option<Self> {
        Some(match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6) => Self::Graph,
            (Self::Graph, 1) => Self::Node,
            (Self::Graph, 5) | (Self::Attribute, 5) => Self::Tensor,
            (Self::Graph, 11..=13) => Self::Value,
            (Self::Node, 5) => Self::Attribute,
            (Self::Value, 2) | (Self::Sequence, 1) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            (Self::Type, 4) => Self::Sequence,
            (Self::TensorType, 2) => Self::Shape,
            (Self::Model, 8 | 14) | (Self::Tensor, 13) | (Self::Shape, 1) => Self::Plain,
            _ => return None,
        })
    }
}

/// Whether a file can be read without harm; else what is wrong with it.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    walk(bytes, Message::Model, 0)
}

fn walk(mut rest: &[u8], message: Message, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("its graphs are nested more than {DEEPEST} deep"));
    }
    while !rest.is_empty() {
        let tag = number(&mut rest)?;
        match tag & 7 {
            0 => {
                number(&mut rest)?;
            }
            1 => rest = rest.get(8..).ok_or_else(cut_off)?,
            5 => rest = rest.get(4..).ok_or_else(cut_off)?,
            2 => {
                let length = usize::try_from(number(&mut rest)?).map_err(|_| cut_off())?;
                let (field, after) = rest.split_at_checked(length).ok_or_else(cut_off)?;
                if let Some(inner) = message.within(tag >> 3) {
                    walk(field, inner, depth + 1)?;
                }
                rest = after;
            }
            kind => return Err(format!("it has a field of the unknown kind {kind}")),
        }
    }
    Ok(())
}

fn cut_off() -> String {
    "a field is longer than the file".to_owned()
}

/// A number of seven bits a byte, the lowest first.
fn number(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for (at, &byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            *rest = &rest[at + 1..];
            return Ok(value);
        }
    }
    Err(cut_off())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let (low, high) = (bytes.len() as u8 & 0x7f | 0x80, (bytes.len() >> 7) as u8);
        [&[number << 3 | 2, low, high | 0x80, 0], bytes].concat()
    }

    #[test]
    fn lengths_beyond_the_file_are_refused_wherever_they_stand() {
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&field(7, &field(5, &field(9, b"weights")))), Ok(()));
        // A graph, a tensor in it, and its data of 2^62 bytes.
        let huge = [9 << 3 | 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
        assert!(check(&field(7, &field(5, &huge))).unwrap_err().contains("longer than the file"));
        assert!(check(&huge).is_err());
        assert!(check(&[0x08]).is_err() && check(&[0x0b]).is_err() && check(&[0xff; 20]).is_err());
    }

    #[test]
    fn graphs_within_graphs_have_an_end() {
        let nested =
            |depth: usize| (0..depth).fold(Vec::new(), |graph, _| field(1, &field(5, &field(6, &graph))));
        assert_eq!(check(&field(7, &nested(20))), Ok(()));
        assert!(check(&field(7, &nested(40))).unwrap_err().contains("nested"));
    }
}
