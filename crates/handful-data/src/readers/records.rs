//! Lines of separated values, each with the number that an editor shows for it.

use csv::{ByteRecord, Reader, ReaderBuilder, Trim};

/// What separates the values of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Comma,
    Semicolon,
    Tab,
}

impl Separator {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
        }
    }

    /// What separates the values of the first line; a comma where nothing does. Spreadsheets set to a language whose
    /// decimal sign is the comma write semicolons.
    pub(crate) fn of_first_line(bytes: &[u8]) -> Self {
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let has = |separator: Self| line.contains(&separator.byte());
        [Self::Comma, Self::Semicolon, Self::Tab].into_iter().find(|&one| has(one)).unwrap_or(Self::Comma)
    }
}

/// Without the mark that some programs put before UTF-8 text.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The records of a text, one after another.
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    reader: Reader<&'a [u8]>,
    record: ByteRecord,
}

impl<'a> Records<'a> {
    pub(crate) fn new(bytes: &'a [u8], separator: Separator, trim: Trim) -> Self {
        let bytes = without_mark(bytes);
        let reader = ReaderBuilder::new()
            .delimiter(separator.byte())
            .has_headers(false)
            .flexible(true)
            .trim(trim)
            .from_reader(bytes);
        Self { bytes, reader, record: ByteRecord::new() }
    }

    /// The next record and its line, from 1.
    ///
    /// The reader stops within the line break of `\r\n` and before empty lines, so the number it gives is that of an
    /// earlier line; the breaks between there and the record are counted here.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, &ByteRecord)>, csv::Error> {
        if !self.reader.read_byte_record(&mut self.record)? {
            return Ok(None);
        }
        let (line, start) =
            self.record.position().map_or((1, 0), |place| (place.line() as usize, place.byte() as usize));
        let rest = self.bytes.get(start..).unwrap_or_default();
        let breaks = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let skipped = breaks.filter(|byte| **byte == b'\n').count();
        Ok(Some((line + skipped, &self.record)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_an_editor() {
        for text in ["\u{feff}a,b\nc,d\n\n\ne,f\n", "a,b\r\nc,d\r\n\r\n\r\ne,f\r\n", "a,b\nc,d\n\n\ne,f"] {
            let mut records = Records::new(text.as_bytes(), Separator::Comma, Trim::None);
            let mut lines = Vec::new();
            while let Some((line, record)) = records.next().unwrap() {
                lines.push((line, record[0].to_vec()));
            }
            assert_eq!(lines, [(1, b"a".to_vec()), (2, b"c".to_vec()), (5, b"e".to_vec())], "{text:?}");
        }
        let text = "a,\"two\r\nlines\"\r\nb,c\r\n";
        let mut records = Records::new(text.as_bytes(), Separator::Comma, Trim::None);
        records.next().unwrap();
        assert_eq!(records.next().unwrap().map(|(line, _)| line), Some(3));
    }

    #[test]
    fn the_first_line_tells_the_separator() {
        let of = |text: &str| Separator::of_first_line(text.as_bytes());
        assert_eq!(of("id;label\n1;a,b\n"), Separator::Semicolon);
        assert_eq!(of("id,label\n1,a;b\n"), Separator::Comma);
        assert_eq!((of("id\tlabel"), of("id")), (Separator::Tab, Separator::Comma));
    }
}
