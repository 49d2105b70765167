//! Which providers are on.

use joiner_settings::Reader;

use super::declared;

/// A provider that this program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// The variable that holds its endpoint, and turns it on by being set. The provider that has
    /// none is on where no other is.
    pub endpoint: Option<&'static str>,
}

/// The providers that are on: those that are named, those whose endpoint is set, and where that is
/// nobody, those that need no endpoint. Names that no provider has are refused.
pub fn chosen<'k>(
    from: &mut Reader<'_>,
    known: &'k [Known],
    is_set: impl Fn(&str) -> bool,
) -> Vec<&'k Known> {
    let named = from.list(&declared::PROVIDERS);
    for name in &named {
        if !known.iter().any(|provider| provider.name == name) {
            let names: Vec<&str> = known.iter().map(|provider| provider.name).collect();
            let remedy = format!("use some of {}, separated by commas", names.join(", "));
            from.refuse(&declared::PROVIDERS, name, &remedy);
        }
    }
    let asked_for = |provider: &&Known| {
        named.iter().any(|name| name == provider.name) || provider.endpoint.is_some_and(&is_set)
    };
    let on: Vec<&Known> = known.iter().filter(asked_for).collect();
    if on.is_empty() {
        known.iter().filter(|provider| provider.endpoint.is_none()).collect()
    } else {
        on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joiner_settings::Values;

    const KNOWN: [Known; 3] = [
        Known { name: "kwok", endpoint: None },
        Known { name: "vsphere", endpoint: Some("GOVC_URL") },
        Known { name: "proxmox", endpoint: Some("CLOUD_CONFIG") },
    ];

    /// Names of the providers that are on, or what is wrong.
    fn on(named: &str, set: &[&str]) -> String {
        let mut values = Values::default();
        values.give(&declared::PROVIDERS, named);
        let mut reader = Reader::new(&values);
        let chosen = chosen(&mut reader, &KNOWN, |variable| set.contains(&variable));
        let names: Vec<&str> = chosen.iter().map(|provider| provider.name).collect();
        match reader.accept(names) {
            Ok(accepted) => accepted.settings.join(" "),
            Err(problems) => problems.join("\n"),
        }
    }

    #[test]
    fn kwok_is_on_where_no_other_is() {
        assert_eq!(on("", &[]), "kwok");
        assert_eq!(on("", &["GOVC_URL"]), "vsphere");
    }

    #[test]
    fn a_provider_is_on_when_it_is_named_or_its_endpoint_is_set() {
        assert_eq!(on("kwok, vsphere", &[]), "kwok vsphere");
        assert_eq!(on("kwok", &["CLOUD_CONFIG"]), "kwok proxmox");
    }

    #[test]
    fn a_name_that_no_provider_has_is_refused() {
        assert_eq!(
            on("vsphere,aws", &[]),
            "--providers (PROVIDERS) cannot be \"aws\": use some of kwok, vsphere, proxmox, separated \
             by commas"
        );
    }
}
