//! A command as it is recorded on claims, for the next process.
//!
//! A replacement carries the whole command. A candidate carries only itself as candidate: a command
//! may have thousands, and the full list on each would overload the API server. Records with the
//! same id are merged.

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

/// The unique id of a command.
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
    /// The command's id.
    pub id: CommandId,
    /// The method that proposed it.
    pub method: Method,
    /// The reason that budgets count it under.
    pub reason: DisruptionReason,
    /// Whether replacements are created first.
    pub decision: Decision,
    /// The instances to remove.
    pub candidates: Vec<Going>,
    /// The names of the replacement claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replacements: Vec<String>,
    /// When it began.
    pub begun: Time,
    /// The cause, in a sentence. It is not recorded: a process that takes the command over shows
    /// the reason instead.
    #[serde(skip)]
    pub why: String,
}

/// An instance to remove. The UID excludes a later object of the same name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Going {
    /// Its claim.
    pub node_claim: String,
    /// The UID of its claim.
    pub uid: String,
    /// The name of its Node.
    pub node: String,
}

impl Record {
    /// When it began.
    pub fn begun(&self) -> Timestamp {
        self.begun.0
    }

    /// The cause as users read it.
    pub fn told(&self) -> &str {
        if self.why.is_empty() { self.reason.as_str() } else { &self.why }
    }

    /// The text on a replacement.
    pub fn text(&self) -> String {
        // Names, words and times always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The text on a candidate.
    pub fn text_for(&self, candidate: &Going) -> String {
        Self { candidates: vec![candidate.clone()], ..self.clone() }.text()
    }
}

/// The id of the command that a claim is part of, if it is part of one.
pub fn id_on(claim: &NodeClaim) -> Option<CommandId> {
    read(claim)?.ok().map(|record| record.id)
}

/// The command that a claim is part of, or why it cannot be read.
fn read(claim: &NodeClaim) -> Option<Result<Record, serde_json::Error>> {
    let text = claim.metadata.annotations.as_ref()?.get(DISRUPTION_COMMAND)?;
    Some(serde_json::from_str(text))
}

/// The merged commands of these claims, and the claims whose command is unreadable. Claims that are
/// being deleted are skipped: their command is over.
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
