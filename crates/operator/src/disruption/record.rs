//! A command as it is written on claims, for whoever acts next.
//!
//! A replacement carries the whole command. A candidate carries the same with itself as the only
//! candidate: thousands can go at once, and a list of all of them on each would be too much for the
//! API server. What is found under one id is put together again.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use joiner_api::node_claim::NodeClaim;
use joiner_core::disruption::{Decision, DisruptionReason, Method};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use crate::{
    claims::{is_deleting, name},
    marks::DISRUPTION_COMMAND,
};

/// What tells commands apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommandId(pub String);

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A command that was begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Which one.
    pub id: CommandId,
    /// Who proposed it.
    pub method: Method,
    /// What budgets call it.
    pub reason: DisruptionReason,
    /// Whether instances come before instances go.
    pub decision: Decision,
    /// The instances that go.
    pub candidates: Vec<Going>,
    /// The names of the claims that come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replacements: Vec<String>,
    /// When it was begun.
    pub begun: Time,
    /// Why, in a sentence for people. It is not written with the command: whoever takes the command
    /// over says the reason's word instead.
    #[serde(skip)]
    pub why: String,
}

/// An instance that goes: this very one, not another of its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Going {
    /// Its claim.
    pub node_claim: String,
    /// The identity of its claim.
    pub uid: String,
    /// Its Node.
    pub node: String,
}

impl Record {
    /// When it was begun.
    pub fn begun(&self) -> Timestamp {
        self.begun.0
    }

    /// Why an instance goes, for people.
    pub fn told(&self) -> &str {
        if self.why.is_empty() { self.reason.as_str() } else { &self.why }
    }

    /// What a replacement carries.
    pub fn text(&self) -> String {
        // Names, words and times can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What a candidate carries.
    pub fn text_for(&self, candidate: &Going) -> String {
        Self { candidates: vec![candidate.clone()], ..self.clone() }.text()
    }
}

/// The id of the command that a claim is part of, if it is part of one.
pub fn id_on(claim: &NodeClaim) -> Option<CommandId> {
    read(claim)?.ok().map(|record| record.id)
}

/// The command that a claim is part of: as it is written, or why it cannot be read.
fn read(claim: &NodeClaim) -> Option<Result<Record, serde_json::Error>> {
    let text = claim.metadata.annotations.as_ref()?.get(DISRUPTION_COMMAND)?;
    Some(serde_json::from_str(text))
}

/// The commands that claims tell of, put together, and claims whose command cannot be read. Claims
/// that are being deleted have nothing more to tell: for them the command is over.
pub fn found<'c>(
    claims: impl Iterator<Item = &'c NodeClaim>,
) -> (BTreeMap<CommandId, Record>, Vec<String>) {
    let mut commands: BTreeMap<CommandId, Record> = BTreeMap::new();
    let mut unreadable = Vec::new();
    for claim in claims.filter(|claim| !is_deleting(*claim)) {
        match read(claim) {
            None => {}
            Some(Err(error)) => unreadable.push(format!(
                "NodeClaim {:?}: annotation {DISRUPTION_COMMAND} cannot be read, and the \
                 controller removes it: {error}",
                name(&claim.metadata)
            )),
            Some(Ok(record)) => match commands.get_mut(&record.id) {
                Some(known) => known.candidates.extend(record.candidates),
                None => {
                    commands.insert(record.id.clone(), record);
                }
            },
        }
    }
    for record in commands.values_mut() {
        record.candidates.sort();
        record.candidates.dedup();
    }
    (commands, unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn going(claim: &str) -> Going {
        Going { node_claim: claim.to_owned(), uid: format!("uid-{claim}"), node: claim.to_owned() }
    }

    fn record() -> Record {
        Record {
            id: CommandId("c1".to_owned()),
            method: Method::MultiNode,
            reason: DisruptionReason::Underutilized,
            decision: Decision::Replace,
            candidates: vec![going("a"), going("b")],
            replacements: vec!["general-x".to_owned()],
            begun: Time("2026-01-01T00:00:00Z".parse().unwrap()),
            why: String::new(),
        }
    }

    fn claim(name: &str, text: Option<String>) -> NodeClaim {
        let mut claim = NodeClaim::default();
        claim.metadata.name = Some(name.to_owned());
        claim.metadata.annotations =
            text.map(|text| [(DISRUPTION_COMMAND.to_owned(), text)].into());
        claim
    }

    #[test]
    fn what_is_written_is_stable() {
        expect_test::expect![[r#"{"id":"c1","method":"multiNodeConsolidation","reason":"Underutilized","decision":"replace","candidates":[{"nodeClaim":"a","uid":"uid-a","node":"a"}],"replacements":["general-x"],"begun":"2026-01-01T00:00:00Z"}"#]]
            .assert_eq(&record().text_for(&going("a")));
    }

    #[test]
    fn a_command_is_put_together_from_its_candidates_or_read_from_its_replacement() {
        let record = record();
        let on_candidates: Vec<NodeClaim> = record
            .candidates
            .iter()
            .map(|going| claim(&going.node_claim, Some(record.text_for(going))))
            .collect();
        let whole = BTreeMap::from([(record.id.clone(), record.clone())]);
        assert_eq!(found(on_candidates.iter()), (whole.clone(), Vec::new()));
        let replacement = claim("general-x", Some(record.text()));
        assert_eq!(found([&replacement].into_iter()), (whole, Vec::new()));
    }

    #[test]
    fn claims_that_are_being_deleted_tell_of_nothing() {
        let mut gone = claim("a", Some(record().text()));
        gone.metadata.deletion_timestamp = Some(record().begun);
        assert_eq!(found([&gone, &claim("b", None)].into_iter()), (BTreeMap::new(), Vec::new()));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let (commands, unreadable) = found([&claim("a", Some("{".to_owned()))].into_iter());
        assert!(commands.is_empty());
        assert!(
            unreadable[0].starts_with(
                "NodeClaim \"a\": annotation joiner.sh/disruption-command cannot be read"
            ),
            "{unreadable:?}"
        );
    }
}
