//! What explanations of instances have in common: the cluster with what is decided about it.

use std::collections::BTreeSet;

use joiner_check::{Finding, check_disruptions};
use joiner_core::{
    disruption::{Command, Decision, Disruptions, Fleet, Staying},
    label,
    reason::{Reason, ReasonId},
    resources::{CPU, MEMORY, Resources},
    snapshot::{Node, Snapshot},
};
use joiner_operator::objects::Objects;
use joiner_plan::{
    Moves,
    disrupt::{self, consider, disrupt, tell_places},
    provision,
};
use serde::Serialize;

use super::{loaded::Loaded, near::near_matches};
use crate::{
    cli::AskingArgs,
    errors::{Exit, Failure},
    input::Input,
    output::{self, Format},
    plan::{refuse, tell_unusable_pools},
    settings::Settings,
    table::share,
    text,
};

/// A cluster, and what is decided about its instances.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) objects: Objects,
    pub(super) settings: Settings,
    pub(super) snapshot: Snapshot,
    pub(super) fleet: Fleet,
    /// The same with the pods of instances that are leaving still on them.
    pub(super) loaded: Loaded,
    pub(super) disruptions: Disruptions,
    /// What the checker has against the decisions.
    findings: Vec<Finding>,
}

/// What becomes of an instance.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict<'j> {
    /// It goes.
    Goes(&'j Command),
    /// It stays, nearest reason first.
    Stays(&'j [Reason]),
    /// It is on its way out already, as the reasons say.
    Leaving(&'j [Reason]),
    /// It belongs to an unknown owner, so it is ignored.
    Foreign,
}

impl Judged {
    /// Reads a cluster and judges its instances.
    pub(super) fn read(args: &AskingArgs) -> Result<Self, Failure> {
        let settings = Settings::read(&args.settings, &args.input)?;
        let input = Input::read(&args.input, &settings)?;
        let snapshot = input.snapshot(&args.input, &settings)?;
        tell_unusable_pools(&provision(&snapshot, &settings.plan).report);
        let fleet = input.fleet(&snapshot, &settings);
        let loaded = Loaded::new(&input, &snapshot, &settings);
        let mut disruptions = disrupt(&snapshot, &fleet, &settings.plan, &settings.disruption);
        let findings = check_disruptions(&snapshot, &fleet, &settings.plan, &disruptions);
        tell_places(&snapshot, &fleet, &settings.plan, &mut disruptions.commands);
        let objects = input.objects;
        Ok(Self { objects, settings, snapshot, fleet, loaded, disruptions, findings })
    }

    /// Prints the answer to a question about it.
    pub(super) fn answer(
        &self,
        answer: &impl Serialize,
        render: impl FnOnce() -> String,
        format: Format,
    ) -> Result<Exit, Failure> {
        match format {
            Format::Table | Format::Wide => output::text(&render())?,
            Format::Json => output::json(answer)?,
            Format::Yaml => output::yaml(answer)?,
        }
        if self.findings.is_empty() {
            return Ok(Exit::Success);
        }
        refuse(&self.findings);
        Ok(Exit::Refused)
    }

    /// The position of the instance that goes by this name, as a Node or as a claim.
    pub(super) fn find(&self, name: &str) -> Result<usize, Failure> {
        self.position(name).ok_or_else(|| Failure::bad_input(self.not_there(name)))
    }

    fn position(&self, name: &str) -> Option<usize> {
        let nodes = &self.snapshot.nodes;
        let is_called = |called: Option<&str>| called == Some(name);
        let by_node = nodes.iter().position(|node| is_called(node.node.as_deref()));
        let by_claim = || nodes.iter().position(|node| is_called(node.claim.as_deref()));
        by_node.or_else(by_claim)
    }

    /// The positions of the instances that go by these names, each once. All that are not there are
    /// told together.
    pub(super) fn find_all(&self, names: &[String]) -> Result<Vec<usize>, Failure> {
        let mut found: BTreeSet<usize> = BTreeSet::new();
        let mut missing = Vec::new();
        for name in names {
            match self.position(name) {
                Some(at) => found.extend([at]),
                None => missing.push(self.not_there(name)),
            }
        }
        if missing.is_empty() {
            Ok(found.into_iter().collect())
        } else {
            Err(Failure::BadInput(missing))
        }
    }

    fn not_there(&self, name: &str) -> String {
        let nodes = &self.snapshot.nodes;
        let near = near_matches(name, nodes.iter().map(|node| node.name().to_owned()));
        let hint = match near.as_slice() {
            [] if nodes.is_empty() => "there are no nodes at all".to_owned(),
            [] => format!(
                "there {}, none with a similar name; joiner explain nodes lists them",
                match nodes.len() {
                    1 => "is 1 node".to_owned(),
                    many => format!("are {}", text::count(many, "node")),
                }
            ),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        format!("no Node and no NodeClaim is called {name}: {hint}")
    }

    /// What becomes of the instance at this position.
    pub(super) fn verdict(&self, at: usize) -> Verdict<'_> {
        let node = &self.snapshot.nodes[at];
        let Some(claim) = node.claim.as_deref() else { return Verdict::Foreign };
        for command in &self.disruptions.commands {
            if command.candidates.iter().any(|candidate| candidate.node_claim == claim) {
                return Verdict::Goes(command);
            }
        }
        let is_it = |staying: &&Staying| staying.claim == claim;
        let staying = self.disruptions.staying.iter().find(is_it);
        match staying.map_or(&[][..], |staying| &staying.reasons) {
            // A pause does not hold what has been told to go.
            [first, others @ ..] if node.leaving && first.id == ReasonId::DisruptionPaused => {
                Verdict::Leaving(others)
            }
            reasons if node.leaving => Verdict::Leaving(reasons),
            reasons @ [first, ..] if first.id == ReasonId::NodeExpired => Verdict::Leaving(reasons),
            reasons => Verdict::Stays(reasons),
        }
    }

    /// Where the pods of these instances go when they are drained now.
    pub(super) fn drain(&self, instances: &[usize]) -> Moves {
        let Loaded { snapshot, fleet } = &self.loaded;
        joiner_plan::drain(snapshot, fleet, &self.settings.plan, instances)
    }

    /// Where the pods of an instance would go if it were removed after all decided commands, ignoring
    /// blockers.
    pub(super) fn without(&self, at: usize) -> Moves {
        let commands = &self.disruptions.commands;
        consider(&self.snapshot, &self.fleet, &self.settings.plan, commands, at)
    }

    /// Who has paused the removal of instances for the whole cluster, as a sentence.
    pub(super) fn paused(&self) -> Option<String> {
        self.fleet.paused.as_ref().map(text::paused)
    }
}

impl Verdict<'_> {
    /// For programs.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Goes(command) => match command.decision {
                Decision::Delete => "delete",
                Decision::Replace => "replace",
            },
            Self::Stays(_) => "stay",
            Self::Leaving(_) => "leaving",
            Self::Foreign => "foreign",
        }
    }

    /// For people.
    pub(super) fn phrase(self) -> &'static str {
        match self {
            Self::Goes(command) => match command.decision {
                Decision::Delete => "goes",
                Decision::Replace => "is replaced",
            },
            Self::Stays(_) => "stays",
            Self::Leaving(_) => "is leaving",
            Self::Foreign => "is not ours",
        }
    }

    /// The reason for it, where nothing was decided.
    pub(super) fn reason(self) -> Option<&'static str> {
        match self {
            Self::Goes(_) | Self::Stays(_) => None,
            Self::Leaving(reasons) => {
                let is = |id: ReasonId| reasons.iter().any(|reason| reason.id == id);
                Some(if is(ReasonId::NodeQueued) {
                    "a command that is being carried out removes it"
                } else if is(ReasonId::NodeExpired) {
                    "it has expired, and is removed whatever runs on it"
                } else {
                    "it has been told to go already"
                })
            }
            Self::Foreign => {
                Some("no NodeClaim belongs to it, so that nobody removes it by itself")
            }
        }
    }
}

/// An instance at a glance.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Glance<'j> {
    /// Its Node's name, or nothing while there is none.
    pub(super) node: &'j str,
    /// Its claim's name, or nothing where it is not ours.
    pub(super) node_claim: &'j str,
    pub(super) node_pool: &'j str,
    pub(super) instance_type: &'j str,
    pub(super) zone: &'j str,
    /// For an hour; nothing where its type is not known.
    pub(super) price: Option<f64>,
    /// How many pods need another place if it goes.
    pub(super) pods: usize,
    /// The share of its CPUs that pods have asked for.
    pub(super) cpu: Option<f64>,
    pub(super) memory: Option<f64>,
    pub(super) verdict: &'static str,
}

impl<'j> Glance<'j> {
    /// The instance at this position.
    pub(super) fn new(judged: &'j Judged, at: usize) -> Self {
        let node = judged.loaded.node(at);
        let label = |key: &str| node.labels.get(key).map_or("", String::as_str);
        let requested = requested(node);
        Self {
            node: node.node.as_deref().unwrap_or_default(),
            node_claim: node.claim.as_deref().unwrap_or_default(),
            node_pool: node.pool.as_deref().unwrap_or_default(),
            instance_type: label(label::INSTANCE_TYPE),
            zone: label(label::ZONE),
            price: disrupt::price(&judged.snapshot, node),
            pods: judged.loaded.pods(at).filter(|(_, facts)| facts.reschedulable).count(),
            cpu: share(&requested, &node.allocatable, CPU),
            memory: share(&requested, &node.allocatable, MEMORY),
            verdict: judged.verdict(at).word(),
        }
    }

    /// What it is called.
    pub(super) fn name(&self) -> &'j str {
        if self.node.is_empty() { self.node_claim } else { self.node }
    }
}

/// What the pods of an instance have asked for.
fn requested(node: &Node) -> Resources {
    let mut requested = Resources::new();
    for pod in &node.pods {
        requested.add(&pod.spec.requests);
    }
    requested
}
