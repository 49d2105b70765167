//! The form of an upload, which the server reads in one pass.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::refusal::Refusal;

/// The fields of a form and its file.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) fields: BTreeMap<String, String>,
    pub(super) file: Bytes,
}

/// The boundary of a form, from its content type.
pub(super) fn boundary(content_type: &str) -> Option<String> {
    let rest = content_type.strip_prefix("multipart/form-data")?;
    let boundary = rest.split(';').find_map(|part| part.trim().strip_prefix("boundary="))?;
    Some(boundary.trim_matches('"').to_owned())
}

/// Reads a form: `content`, `checksum-algorithm` and `checksum`, in this order, and then the file.
pub(super) fn read(body: &Bytes, boundary: &str) -> Result<Upload, Refusal> {
    const ORDER: [&str; 3] = ["content", "checksum-algorithm", "checksum"];
    let wrong = |text: &str| Refusal::new(500, format!("upload failed - {text}"));
    let mark = format!("--{boundary}\r\n");
    let mut rest = body.strip_prefix(mark.as_bytes()).ok_or_else(|| wrong("no boundary"))?;
    let end = format!("\r\n--{boundary}");
    let mut fields = BTreeMap::new();
    let mut reached = 0;
    loop {
        let head = position(rest, b"\r\n\r\n").ok_or_else(|| wrong("a part without end"))?;
        let lines = String::from_utf8_lossy(&rest[..head]).into_owned();
        let content = &rest[head + 4..];
        let length =
            position(content, end.as_bytes()).ok_or_else(|| wrong("a part without end"))?;
        let disposition = disposition(&lines).ok_or_else(|| wrong("no content disposition"))?;
        if let Some(name) = disposition.strip_prefix("form-data; name=\"filename\"; filename=\"") {
            let name = name.strip_suffix('"').ok_or_else(|| wrong("no file name"))?;
            fields.insert("filename".to_owned(), name.to_owned());
            return Ok(Upload { fields, file: body.slice_ref(&content[..length]) });
        }
        let name = disposition.strip_prefix("form-data; name=\"");
        let name = name.and_then(|name| name.strip_suffix('"')).filter(|name| !name.contains('"'));
        let name = name.ok_or_else(|| wrong("wrong field name for the file, it is 'filename'"))?;
        let place = ORDER.iter().skip(reached).position(|known| *known == name);
        reached += 1 + place.ok_or_else(|| wrong(&format!("unexpected field '{name}'")))?;
        let value = String::from_utf8_lossy(&content[..length]).into_owned();
        fields.insert(name.to_owned(), value);
        let next = &content[length + end.len()..];
        rest = next.strip_prefix(b"\r\n").ok_or_else(|| wrong("no file"))?;
    }
}

fn disposition(lines: &str) -> Option<&str> {
    lines.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-disposition").then_some(value.trim())
    })
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
