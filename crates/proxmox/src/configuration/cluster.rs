//! One cluster of the configuration.

use std::path::PathBuf;

use joiner_cloud::bootstrap::Secret;
use joiner_core::label;
use serde::Deserialize;
use serde_json::Value;

use super::{Files, Problem, address, from_json, shown, unknown_keys};

/// A Proxmox VE cluster: a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The value of the region label.
    pub region: String,
    /// Addresses of its API, the preferred one first.
    pub urls: Vec<String>,
    /// Whose certificate is trusted.
    pub trust: Trust,
    /// How we log in.
    pub login: Login,
}

/// Whose certificate is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Those that the system trusts.
    System,
    /// These authorities, as PEM.
    Authorities(String),
    /// The one certificate with this SHA-256.
    Fingerprint([u8; 32]),
    /// Any certificate.
    AnyCertificate,
}

/// How we log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// With a token of the API.
    Token {
        /// `user@realm!name`; capitals count.
        id: String,
        /// Its secret.
        secret: Secret<String>,
    },
    /// With a password.
    Password {
        /// `user@realm`.
        username: String,
        /// The password.
        password: Secret<String>,
    },
}

impl Login {
    /// Whether this is the one user whom Proxmox VE lets pin CPUs. A token of that user is not.
    pub fn may_pin_cpus(&self) -> bool {
        matches!(self, Self::Password { username, .. } if username == "root@pam")
    }
}

const KEYS: [&str; 13] = [
    "url",
    "urls",
    "insecure",
    "token_id",
    "token_secret",
    "token_id_file",
    "token_secret_file",
    "username",
    "password",
    "region",
    "ca_file",
    "ca_data",
    "fingerprint",
];

/// A cluster as it is written. Its texts may be secrets, so it cannot be printed.
#[derive(Deserialize)]
pub(super) struct Written {
    url: Option<String>,
    urls: Option<Vec<String>>,
    insecure: Option<bool>,
    token_id: Option<Text>,
    token_secret: Option<Text>,
    token_id_file: Option<PathBuf>,
    token_secret_file: Option<PathBuf>,
    username: Option<Text>,
    password: Option<Text>,
    region: Option<Text>,
    ca_file: Option<PathBuf>,
    ca_data: Option<String>,
    fingerprint: Option<String>,
}

/// A text that no error repeats. A whole number or a truth value without quotes is one too, as it is
/// for the predecessor.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct Text(Secret<String>);

impl TryFrom<Value> for Text {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::String(text) => Ok(Self(text.into())),
            Value::Bool(truth) => Ok(Self(truth.to_string().into())),
            Value::Number(number) if !number.is_f64() => Ok(Self(number.to_string().into())),
            _ => Err("is no text; put it in quotes"),
        }
    }
}

/// What is written; none where it is empty.
fn given(text: Option<&Text>) -> Option<&Secret<String>> {
    text.map(|text| &text.0).filter(|text| !text.reveal().is_empty())
}

impl Written {
    pub(super) fn read(
        number: usize,
        cluster: &Value,
        warnings: &mut Vec<String>,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        if let Value::Object(map) = cluster {
            unknown_keys(map, &format!("cluster #{number}: "), &KEYS, warnings);
        }
        from_json(cluster)
            .map_err(|(key, text)| {
                let key = if key == "." { String::new() } else { key };
                problems.push(Problem::at(number, key, text));
            })
            .ok()
    }

    /// The files that are used.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let of_token = [
            (self.token_id_file.as_ref(), given(self.token_id.as_ref()).is_some()),
            (self.token_secret_file.as_ref(), given(self.token_secret.as_ref()).is_some()),
        ];
        let of_token = of_token.into_iter().filter(|(_, is_inline)| !is_inline);
        let files = of_token.filter_map(|(path, _)| path).chain(&self.ca_file);
        files.filter(|path| !path.as_os_str().is_empty()).cloned().collect()
    }

    pub(super) fn check(
        &self,
        number: usize,
        files: &impl Files,
        warnings: &mut Vec<String>,
        problems: &mut Vec<Problem>,
    ) -> Option<Cluster> {
        let mut refuse = |key: &str, text: String| problems.push(Problem::at(number, key, text));
        let urls = self.urls(&mut refuse);
        let region = self.region(&mut refuse);
        let login = self.login(files, &mut refuse);
        let trust = self.trust(files, &mut refuse);
        if trust == Some(Trust::AnyCertificate) {
            warnings.push(format!(
                "cluster #{number}: insecure: no certificate is checked, so that any host on the \
                 network path can read the token: use ca_file, ca_data or fingerprint instead"
            ));
        }
        if urls.iter().any(|url| url.starts_with("http://")) {
            warnings.push(format!(
                "cluster #{number}: url: is not HTTPS, so that any host on the network path can \
                 read the token: use https://HOST:8006"
            ));
        }
        Some(Cluster { region: region?, urls, trust: trust?, login: login? })
    }

    fn urls(&self, refuse: &mut impl FnMut(&str, String)) -> Vec<String> {
        let first =
            self.url.iter().filter(|url| !url.is_empty()).map(|url| ("url".to_owned(), url));
        let others = self.urls.iter().flatten().enumerate();
        let others = others.map(|(i, url)| (format!("urls[{i}]"), url));
        let mut read: Vec<String> = Vec::new();
        let mut is_given = false;
        for (key, url) in first.chain(others) {
            is_given = true;
            match address::read(url) {
                Ok(url) if read.contains(&url) => {}
                Ok(url) => read.push(url),
                Err(problem) => refuse(&key, problem.to_owned()),
            }
        }
        if !is_given {
            refuse("url", "is missing; write https://HOST:8006".to_owned());
        }
        read
    }

    fn region(&self, refuse: &mut impl FnMut(&str, String)) -> Option<String> {
        let Some(region) = given(self.region.as_ref()).map(|region| region.reveal().clone()) else {
            let text = "is missing; name the region, which is the value of a label of nodes";
            refuse("region", text.to_owned());
            return None;
        };
        if !label::is_valid_value(&region) {
            refuse(
                "region",
                format!(
                    "{region:?} cannot be the value of a label; write 63 characters at most, of \
                     letters, digits and, between them, - _ and ."
                ),
            );
            return None;
        }
        Some(region)
    }

    /// COMPAT: upstream demands the token itself before it reads the files, so that files alone are
    /// never enough.
    fn login(&self, files: &impl Files, refuse: &mut impl FnMut(&str, String)) -> Option<Login> {
        let (id, secret) = (given(self.token_id.as_ref()), given(self.token_secret.as_ref()));
        let (username, password) = (given(self.username.as_ref()), given(self.password.as_ref()));
        let has_password = username.is_some() || password.is_some();
        let has_token = id.is_some()
            || secret.is_some()
            || self.token_id_file.is_some()
            || self.token_secret_file.is_some();
        if has_password && has_token {
            let text =
                "is there beside a token; write username and password, or the token, not both";
            refuse("username", text.to_owned());
            return None;
        }
        if has_password {
            return password_login(username, password, refuse);
        }
        let id = from_file("token_id", id, self.token_id_file.as_ref(), files, refuse);
        let secret =
            from_file("token_secret", secret, self.token_secret_file.as_ref(), files, refuse);
        let id = id?.reveal().clone();
        let is_token =
            id.split_once('!').is_some_and(|(user, name)| has_realm(user) && !name.is_empty());
        if !is_token {
            let text = "is no id of a token; write USER@REALM!NAME, in quotes";
            refuse("token_id", text.to_owned());
            return None;
        }
        Some(Login::Token { id, secret: secret? })
    }

    fn trust(&self, files: &impl Files, refuse: &mut impl FnMut(&str, String)) -> Option<Trust> {
        let fingerprint = self.fingerprint.as_deref().filter(|text| !text.is_empty());
        let data = self.ca_data.as_deref().filter(|text| !text.is_empty());
        let file = self.ca_file.as_ref().filter(|path| !path.as_os_str().is_empty());
        let given = [
            ("fingerprint", fingerprint.is_some()),
            ("ca_data", data.is_some()),
            ("ca_file", file.is_some()),
            ("insecure", self.insecure.unwrap_or_default()),
        ];
        let mut given = given.into_iter().filter_map(|(key, is_there)| is_there.then_some(key));
        if let (Some(one), Some(other)) = (given.next(), given.next()) {
            refuse(other, format!("is there beside {one}; write one of them"));
            return None;
        }
        if let Some(text) = fingerprint {
            let read = read_fingerprint(text);
            if read.is_none() {
                let text = "is no SHA-256; write 32 hex numbers separated by ':'";
                refuse("fingerprint", text.to_owned());
            }
            return read.map(Trust::Fingerprint);
        }
        if let Some(data) = data {
            return certificates("ca_data", data.to_owned(), refuse);
        }
        if let Some(path) = file {
            return match files.read(path) {
                Ok(text) => certificates("ca_file", text, refuse),
                Err(problem) => {
                    refuse("ca_file", unreadable(path, &problem));
                    None
                }
            };
        }
        Some(if self.insecure.unwrap_or_default() { Trust::AnyCertificate } else { Trust::System })
    }
}

fn password_login(
    username: Option<&Secret<String>>,
    password: Option<&Secret<String>>,
    refuse: &mut impl FnMut(&str, String),
) -> Option<Login> {
    match username {
        None => refuse("username", "is missing, and password is there; write both".to_owned()),
        Some(username) if !has_realm(username.reveal()) => {
            let text =
                format!("{:?} has no realm; write USER@REALM, such as root@pam", username.reveal());
            refuse("username", text);
        }
        Some(_) => {}
    }
    if password.is_none() {
        refuse("password", "is missing, and username is there; write both".to_owned());
    }
    let username = username?.reveal().clone();
    has_realm(&username).then_some(Login::Password { username, password: password?.clone() })
}

/// The value itself, or that of its file.
fn from_file(
    key: &str,
    inline: Option<&Secret<String>>,
    path: Option<&PathBuf>,
    files: &impl Files,
    refuse: &mut impl FnMut(&str, String),
) -> Option<Secret<String>> {
    if inline.is_some() {
        return inline.cloned();
    }
    let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) else {
        refuse(key, format!("is missing; write it, or name a file with {key}_file"));
        return None;
    };
    let key = format!("{key}_file");
    match files.read(path).map(Secret::new) {
        Ok(text) if text.reveal().trim().is_empty() => {
            refuse(&key, format!("{} is empty; write the value into it", shown(path)));
            None
        }
        Ok(text) => Some(Secret::from(text.reveal().trim())),
        Err(problem) => {
            refuse(&key, unreadable(path, &problem));
            None
        }
    }
}

fn unreadable(path: &std::path::Path, problem: &str) -> String {
    format!("{} cannot be read; check path and permissions: {problem}", shown(path))
}

fn certificates(key: &str, text: String, refuse: &mut impl FnMut(&str, String)) -> Option<Trust> {
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        refuse(key, "has no certificate; write certificates as PEM".to_owned());
        return None;
    }
    Some(Trust::Authorities(text))
}

/// A hash as programs print it: hex numbers, separated by colons or not.
fn read_fingerprint(text: &str) -> Option<[u8; 32]> {
    let digits: String = text.chars().filter(|char| *char != ':').collect();
    let is_hash = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(())?;
    let bytes = (0..32).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok());
    bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

fn has_realm(user: &str) -> bool {
    user.rsplit_once('@').is_some_and(|(name, realm)| !name.is_empty() && !realm.is_empty())
}
