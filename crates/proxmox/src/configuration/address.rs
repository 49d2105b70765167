//! Addresses of a cluster's API.

/// The path of the API on every host.
const API: &str = "/api2/json";

/// The address of the API, of a URL with the API's path or without it. An error says what to write;
/// it does not repeat the text, which may hold a password.
pub(super) fn read(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let (scheme, rest) = text.split_once("://").ok_or("has no scheme; write https://HOST:8006")?;
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err("is neither HTTP nor HTTPS; write https://HOST:8006");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err("has a user in it; write token_id and token_secret instead");
    }
    if !is_authority(authority) {
        return Err("has no host, or a port that is none; write https://HOST:8006");
    }
    let path = path.trim_end_matches('/');
    if !path.is_empty() && !path.ends_with(API) {
        return Err("has another path than /api2/json; leave the path out");
    }
    let prefix = path.strip_suffix(API).unwrap_or(path);
    if prefix.contains(['?', '#']) {
        return Err("has more than a path; leave out ? and #");
    }
    Ok(format!("{scheme}://{authority}{prefix}{API}"))
}

fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').or(rest.is_empty().then_some(""))),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("")),
        },
    };
    let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:%".contains(&byte);
    let ends_in_colon = authority.ends_with(':');
    !host.is_empty() && host.bytes().all(is_host) && port.is_some_and(is_port) && !ends_in_colon
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_api_may_be_left_out() {
        let full = "https://pve.example.com:8006/api2/json";
        for text in [
            full,
            "https://pve.example.com:8006",
            "https://pve.example.com:8006/",
            "https://pve.example.com:8006/api2/json/",
            " HTTPS://pve.example.com:8006/api2/json ",
        ] {
            assert_eq!(read(text).as_deref(), Ok(full), "{text}");
        }
        assert_eq!(
            read("https://gate.example.com/pve/api2/json").as_deref(),
            Ok("https://gate.example.com/pve/api2/json")
        );
        assert_eq!(
            read("https://[2001:db8::1]:8006").as_deref(),
            Ok("https://[2001:db8::1]:8006/api2/json")
        );
        assert_eq!(read("http://pve").as_deref(), Ok("http://pve/api2/json"));
    }

    #[test]
    fn what_is_no_address_is_told_without_repeating_it() {
        for text in [
            "",
            "pve.example.com:8006",
            "ftp://pve",
            "https://",
            "https://:8006",
            "https://pve:",
            "https://pve:0",
            "https://pve:99999",
            "https://user:hunter2@pve",
            "https://pve/api2/extjs",
            "https://pve?x=1",
            "https://a b",
        ] {
            let problem = read(text).unwrap_err();
            assert!(!problem.contains("hunter2"), "{text}: {problem}");
        }
    }
}
