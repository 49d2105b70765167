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

/// The text without the line breaks that the decoder ignores, or where the decoder says it is wrong.
pub(super) fn check(text: &str) -> Result<String, usize> {
    let bytes = text.as_bytes();
    let mut clean = String::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\n' | b'\r' => {}
            b'=' => {
                let given = clean.len() % 4;
                clean.push('=');
                if given < 2 {
                    return Err(at - 1);
                }
                skip_line_breaks(bytes, &mut at);
                if given == 2 {
                    if bytes.get(at) != Some(&b'=') {
                        return Err(if at < bytes.len() { at - 1 } else { at });
                    }
                    at += 1;
                    clean.push('=');
                    skip_line_breaks(bytes, &mut at);
                }
                return if at < bytes.len() { Err(at) } else { Ok(clean) };
            }
            _ if ALPHABET.contains(&byte) => clean.push(char::from(byte)),
            _ => return Err(at - 1),
        }
    }
    // A group that is not complete is reported as many bytes before the end as it has.
    match clean.len() % 4 {
        0 => Ok(clean),
        started => Err(bytes.len() - started),
    }
}

fn skip_line_breaks(bytes: &[u8], at: &mut usize) {
    while matches!(bytes.get(*at), Some(b'\n' | b'\r')) {
        *at += 1;
    }
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
        assert_eq!(check("YQ="), Err(3));
        assert_eq!(check("YQ=a"), Err(2));
        assert_eq!(check("Y\nQ"), Err(1));
    }
}
