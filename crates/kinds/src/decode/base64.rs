//! Base64 as Go's encoder and decoder have it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text for some bytes, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for at in 0..4 {
            if at <= chunk.len() {
                text.push(char::from(ALPHABET[(bits >> (18 - 6 * at) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// The text without the line breaks that the decoder ignores, or where it is wrong.
pub(super) fn check(text: &str) -> Result<String, usize> {
    let mut clean = String::with_capacity(text.len());
    let mut padding = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' | b'\r' => continue,
            // Padding may only end a group of four, as its third and fourth character.
            b'=' if clean.len() % 4 >= 2 || padding == 1 && clean.len() % 4 == 3 => padding += 1,
            _ if padding == 0 && ALPHABET.contains(&byte) => {}
            _ => return Err(at),
        }
        clean.push(char::from(byte));
    }
    if clean.len().is_multiple_of(4) { Ok(clean) } else { Err(clean.len() / 4 * 4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_padded() {
        for (bytes, text) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj")] {
            assert_eq!(encode(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn wrong_text_is_located() {
        assert_eq!(check("YWI=\n"), Ok("YWI=".to_owned()));
        assert_eq!(check("!!"), Err(0));
        assert_eq!(check("YQ"), Err(0));
        assert_eq!(check("YWJjYQ"), Err(4));
        assert_eq!(check("YQ==YQ=="), Err(4));
    }
}
