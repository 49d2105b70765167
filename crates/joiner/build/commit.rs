// Which commit the program is made from: for the build script, and for its tests.

/// As many digits as tell commits apart, and a line of the log has room for.
const DIGITS: usize = 12;

/// The first commit that is known: what the variable `JOINER_COMMIT` gives, what git says is checked
/// out, or what `git archive` wrote into the file `COMMIT`.
pub(crate) fn commit(
    given: Option<&str>,
    checked_out: Option<&str>,
    archived: &str,
) -> Result<String, String> {
    let given = given.map(str::trim).filter(|text| !text.is_empty());
    if let Some(given) = given.filter(|text| !is_commit(text)) {
        return Err(format!(
            "JOINER_COMMIT is {given:?}: give a commit as 7 or more hexadecimal digits, or leave it out"
        ));
    }
    let archived = Some(archived.trim()).filter(|text| is_commit(text));
    let known = given.or(checked_out.map(str::trim)).or(archived).unwrap_or("unknown");
    Ok(known.chars().take(DIGITS).collect())
}

fn is_commit(text: &str) -> bool {
    text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
