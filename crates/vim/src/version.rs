//! Which version of the interface is spoken.

use crate::xml::Reader;

/// The oldest version that has all we need: `config.createDate` is of 6.7.
pub(crate) const OLDEST: &str = "6.7";

/// The newest version that is known here. A newer server is queried in this version, which it
/// supports.
const NEWEST: &str = "9.1.0.0";

/// The newest version in the server's list of versions (`vimServiceVersions.xml`) that is known here.
/// Without a readable list or a known version it is the oldest version. A server that is older
/// returns an error.
pub(crate) fn best(list: &[u8]) -> String {
    let offered = offered(list).unwrap_or_default();
    let usable = offered.iter().filter(|version| numbers(version) <= numbers(NEWEST));
    let best = usable.max_by_key(|version| numbers(version));
    best.filter(|best| numbers(best) >= numbers(OLDEST))
        .map_or_else(|| OLDEST.to_owned(), Clone::clone)
}

/// All versions of vim25 that a server offers.
fn offered(list: &[u8]) -> Option<Vec<String>> {
    let mut reader = Reader::new(std::str::from_utf8(list).ok()?);
    let namespaces = reader.next_child().ok()??;
    let namespaces = reader.finish(namespaces).ok()?;
    let vim = namespaces
        .children_named("namespace")
        .find(|namespace| namespace.text_at("name") == Some("urn:vim25"))?;
    let prior = vim.child("priorVersions").into_iter().flat_map(|prior| &prior.children);
    let versions = vim.child("version").into_iter().chain(prior);
    Some(versions.map(|version| version.text.trim().to_owned()).collect())
}

/// A version as numbers. What is no number counts as nothing.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best_of(current: &str, prior: &[&str]) -> String {
        let prior = prior.join("</version><version>");
        best(
            format!(
                "<namespaces version=\"1.0\"><namespace><name>urn:sms</name><version>9.9</version>\
                 </namespace><namespace><name>urn:vim25</name><version>{current}</version>\
                 <priorVersions><version>{prior}</version></priorVersions></namespace></namespaces>"
            )
            .as_bytes(),
        )
    }

    #[test]
    fn the_newest_version_that_both_know_is_spoken() {
        assert_eq!(best_of("8.0.3.0", &["8.0.2.0", "6.7"]), "8.0.3.0");
        assert_eq!(best_of("10.0.0.0", &["9.0.0.0", "8.0.3.0"]), "9.0.0.0");
    }

    #[test]
    fn a_list_without_use_leaves_the_oldest() {
        assert_eq!(best_of("6.5", &["6.0"]), OLDEST);
        assert_eq!(best(b"<html>"), OLDEST);
    }
}
