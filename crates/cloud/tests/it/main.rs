//! The text that makes an instance a worker, from outside: what goes in and what comes out. And the
//! suite that providers run, on the cloud for tests: as it is, and with one flaw at a time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::panic, reason = "a test that cannot go on has failed")]

mod butane;
mod conformance;
mod distributions;
mod facts;
mod flawed;
mod guest;
mod meeting;
mod merging;
mod proxies;
mod replace;
mod secrets;
mod shared;
mod sizes;
mod talos;
mod tokens;
mod trust;

#[test]
fn every_reason_is_explained() {
    let page = include_str!("../../../../docs/bootstrap.md");
    for kind in joiner_cloud::bootstrap::ErrorKind::ALL {
        let row = page.lines().find(|line| line.contains(&format!("`{kind}`")));
        let row = row.unwrap_or_else(|| panic!("docs/bootstrap.md says nothing about {kind}"));
        assert!(row.starts_with(&format!("| `{}` |", kind.condition())), "{row}");
    }
}
