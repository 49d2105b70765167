//! Settings of CloudStack: how its API is reached, how instances are made, and what they cost and
//! hide.

pub mod declared;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use joiner_core::price::UnitPrices;
use joiner_line::{CredentialFiles, CredentialsSource, Origin};
use joiner_settings::{Reader, Setting};

use crate::{
    client::{Scope, address},
    offerings::Settings,
    provider::Expunge,
    provider_id::FormSetting,
};

/// The longest prefix: half of what a host name may have, so that the claim's name is seen.
const NAME_PREFIX_MAX: usize = 31;
/// What the keys are together, for messages.
const KEYS: &str = "CloudStack's keys";

impl Settings {
    /// Reads what instances cost and hide: CloudStack's own settings first, then those for all
    /// clouds; problems are kept by the reader.
    pub fn read(from: &mut Reader<'_>, prices: UnitPrices, overhead_of_all: Option<f64>) -> Self {
        let share = from.share(&declared::CLOUDSTACK_VM_MEMORY_OVERHEAD_PERCENT);
        Self {
            prices,
            price_per_cpu: own_price(from, &declared::CLOUDSTACK_PRICE_PER_CPU),
            price_per_gib: own_price(from, &declared::CLOUDSTACK_PRICE_PER_GIB),
            memory_overhead: share.or(overhead_of_all).unwrap_or(Self::default().memory_overhead),
            gpu_resources: gpu_resources(from),
        }
    }
}

/// A price, where one is given. None is not the same as a price of 0.
fn own_price(from: &mut Reader<'_>, setting: &Setting) -> Option<f64> {
    from.given(setting).is_some().then(|| from.price(setting))
}

/// What nodes call graphics cards.
fn gpu_resources(from: &mut Reader<'_>) -> BTreeMap<String, String> {
    let setting = &declared::CLOUDSTACK_GPU_RESOURCES;
    let mut by_card = BTreeMap::new();
    for word in from.list(setting) {
        let pair = word.split_once('=').map(|(card, resource)| (card.trim(), resource.trim()));
        match pair.filter(|(card, resource)| !card.is_empty() && is_resource(resource)) {
            Some((card, resource)) => {
                by_card.insert(card.to_owned(), resource.to_owned());
            }
            None => from.refuse(
                setting,
                &word,
                "write a part of the card's name and an extended resource, such as \
                 T4=example.com/t4",
            ),
        }
    }
    by_card
}

/// Whether a text is the name of an extended resource: a domain, and a name.
fn is_resource(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_end = |char: char| char.is_ascii_alphanumeric();
        part.starts_with(is_end)
            && part.ends_with(is_end)
            && part.chars().all(|char| is_end(char) || matches!(char, '-' | '.' | '_'))
    };
    text.split_once('/').is_some_and(|(domain, name)| is_part(domain) && is_part(name))
}

/// How CloudStack's API is reached, and how instances are made there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudStackAccess {
    /// The API's address, as [`address`] understands it.
    pub url: String,
    /// The API key and its secret key.
    pub keys: CredentialFiles,
    /// Whether the server's certificate is checked.
    pub is_checked: bool,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Whose objects are meant.
    pub scope: Scope,
    /// How long one answer may take.
    pub timeout: Duration,
    /// How many requests may leave in a second.
    pub requests_per_second: u32,
    /// How many requests may be under way at once.
    pub requests_in_flight: u32,
    /// Whether removed instances are expunged at once.
    pub expunge: Expunge,
    /// How provider ids are written.
    pub provider_ids: FormSetting,
    /// How names of instances begin.
    pub name_prefix: String,
    /// How long a creation waits for its job.
    pub launch_wait: Duration,
}

impl CloudStackAccess {
    /// Where the keys are found whenever a request is signed.
    pub fn keys(&self) -> CredentialsSource {
        self.keys.clone().source()
    }

    /// Reads what is given; problems are kept by the reader. `why` says what cannot be done without
    /// it.
    pub fn read(from: &mut Reader<'_>, why: &str) -> Self {
        let access = Self {
            url: url(from, why),
            keys: CredentialFiles::new(key(from, &API_KEY, why), key(from, &SECRET_KEY, why), KEYS),
            is_checked: from.switch(&declared::CLOUDSTACK_VERIFY_SSL),
            ca_file: from.path(&declared::CLOUDSTACK_CA_FILE),
            scope: scope(from),
            timeout: from.some_time(&declared::CLOUDSTACK_TIMEOUT),
            requests_per_second: from.count(&declared::CLOUDSTACK_MAX_RPS),
            requests_in_flight: from.count(&declared::CLOUDSTACK_MAX_INFLIGHT),
            expunge: from.choice(
                &declared::CLOUDSTACK_EXPUNGE,
                [("auto", Expunge::Auto), ("true", Expunge::Always), ("false", Expunge::Never)],
            ),
            provider_ids: provider_ids(from),
            name_prefix: name_prefix(from),
            launch_wait: from.some_time(&declared::CLOUDSTACK_LAUNCH_WAIT),
        };
        access.warn(from);
        access
    }

    /// What lets others on the way read along.
    fn warn(&self, from: &mut Reader<'_>) {
        let is_encrypted = address(&self.url).map_or(true, |(endpoint, _)| endpoint.encrypted);
        if !is_encrypted {
            from.warn(
                "requests to CloudStack are not encrypted (--cloudstack-api-url, \
                 CLOUDSTACK_API_URL), so that user data can be read on the way: use https://",
            );
        } else if !self.is_checked {
            from.warn(
                "the certificate of CloudStack's server is not checked (--cloudstack-verify-ssl, \
                 CLOUDSTACK_VERIFY_SSL), so that user data can be read on the way: use \
                 CLOUDSTACK_CA_FILE instead",
            );
        }
    }
}

/// A key: the setting that has it, the one that names its file, and what it is.
struct Key {
    given: Setting,
    file: Setting,
    about: &'static str,
}

const API_KEY: Key = Key {
    given: declared::CLOUDSTACK_API_KEY,
    file: declared::CLOUDSTACK_API_KEY_FILE,
    about: "CloudStack's API key",
};
const SECRET_KEY: Key = Key {
    given: declared::CLOUDSTACK_SECRET_KEY,
    file: declared::CLOUDSTACK_SECRET_KEY_FILE,
    about: "CloudStack's secret key",
};

/// Where a key is found. A file that cannot be read now would not be found out before the first
/// request.
fn key(from: &mut Reader<'_>, key: &Key, why: &str) -> Origin {
    let Some(path) = from.path(&key.file) else {
        return Origin::Given(from.required(&key.given, why).to_owned().into());
    };
    if from.given(&key.given).is_some() {
        let problem = format!("--{} is given too: leave one of the two out", key.given.name);
        from.refuse_with(&key.file, &problem);
    }
    let file = Origin::File(path);
    if let Err(problem) = CredentialFiles::new(file.clone(), file.clone(), key.about).read() {
        from.refuse_with(&key.file, &problem);
    }
    file
}

/// The API's address. One that is refused is not repeated: there may be a password in it.
fn url(from: &mut Reader<'_>, why: &str) -> String {
    let setting = &declared::CLOUDSTACK_API_URL;
    let text = from.required(setting, why);
    if text.is_empty() {
        return String::new();
    }
    match address(text) {
        Ok(_) => text.to_owned(),
        Err(error) => {
            from.refuse_with(setting, &error.to_string());
            String::new()
        }
    }
}

fn scope(from: &mut Reader<'_>) -> Scope {
    let given = |from: &Reader<'_>, setting| from.given(setting).map(str::to_owned);
    let project = given(from, &declared::CLOUDSTACK_PROJECT_ID);
    let account = given(from, &declared::CLOUDSTACK_ACCOUNT);
    let domain = given(from, &declared::CLOUDSTACK_DOMAIN_ID);
    let both = [&declared::CLOUDSTACK_ACCOUNT, &declared::CLOUDSTACK_DOMAIN_ID];
    match (&account, &domain) {
        (Some(_), None) => {
            from.refuse_with(both[1], "it is not given: an account is known by its domain");
        }
        (None, Some(_)) => {
            from.refuse_with(both[0], "it is not given: a domain means nothing without an account");
        }
        _ => {}
    }
    if project.is_some() && account.is_some() {
        let problem = "--cloudstack-project-id is given too, and a project's instances belong to \
                       no account: leave one of the two out";
        from.refuse_with(both[0], problem);
    }
    Scope { project, account: account.zip(domain) }
}

fn provider_ids(from: &mut Reader<'_>) -> FormSetting {
    let setting = &declared::CLOUDSTACK_PROVIDER_ID_FORMAT;
    FormSetting::read(from.text(setting)).unwrap_or_else(|problem| {
        from.refuse_with(setting, &problem);
        FormSetting::default()
    })
}

/// How names of instances begin: they are the host names of their guests.
fn name_prefix(from: &mut Reader<'_>) -> String {
    let setting = &declared::CLOUDSTACK_VM_NAME_PREFIX;
    let text = from.text(setting);
    let is_inner = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    let is_legal = text.starts_with(|char: char| char.is_ascii_lowercase())
        && text.chars().all(is_inner)
        && text.len() <= NAME_PREFIX_MAX;
    if !is_legal {
        let remedy = format!(
            "use at most {NAME_PREFIX_MAX} lower case letters, digits and '-', a letter in front"
        );
        from.refuse(setting, text, &remedy);
    }
    text.to_owned()
}
