//! Damage as transfers, editors and attackers do it, by chance that is the same on every machine.

/// Chance that is the same on every machine.
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Numbers at which programs overflow.
const EXTREMES: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];
const WORDS: [&str; 14] = [
    "99999999999999999999",
    "-1",
    "1e999",
    "nan",
    "",
    "\"",
    "[",
    "{",
    "null",
    "\u{0}",
    "\u{1b}[31m",
    "../",
    "=1+1",
    "\u{feff}",
];

/// One to four changes of the kinds that transfers, editors and attackers make.
pub fn mutated(seed: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        let end = (at + 1 + chance.below(64)).min(bytes.len());
        match chance.below(10) {
            _ if bytes.is_empty() => bytes.push(chance.next() as u8),
            0 => bytes[at] ^= 1 << chance.below(8),
            1 => bytes[at] = chance.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            5 | 6 => {
                let value = EXTREMES[chance.below(EXTREMES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][chance.below(4)].min(bytes.len() - at);
                let mut value = value[..width].to_vec();
                if chance.below(2) == 0 {
                    value.reverse();
                }
                bytes[at..at + width].copy_from_slice(&value);
            }
            7 => {
                let word = WORDS[chance.below(WORDS.len())].bytes();
                bytes.splice(at..end.min(at + 8), word);
            }
            8 => {
                let from = chance.below(other.len());
                let piece = other[from..(from + 1 + chance.below(256)).min(other.len())].to_vec();
                bytes.splice(at..end, piece);
            }
            _ => {
                let digits: Vec<usize> =
                    (at..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).take(20).collect();
                for at in digits {
                    bytes[at] = b'0' + chance.below(10) as u8;
                }
            }
        }
    }
    bytes
}
