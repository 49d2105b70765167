//! Removal of empty instances.

use joiner_core::disruption::{DisruptionReason, Method};

use super::{
    candidate::Removable,
    pass::{Pass, Proposal, by_ratio},
    simulate::Question,
    tell,
};

pub(super) fn decide(pass: &mut Pass<'_>) {
    let fleet = pass.scene.fleet;
    let mut empty = pass.candidates(|each| each.may_go_empty(fleet));
    empty.sort_by(by_ratio);
    let reason = DisruptionReason::Empty;
    let set = pass.ledger.within(empty.iter().map(|each| (each, each.pool)), reason);
    for each in empty.iter().filter(|each| !set.iter().any(|gone| gone.at == each.at)) {
        pass.stays_by_budget(each, reason);
    }
    if set.is_empty() {
        return;
    }
    let proposal = proposal(&set);
    let reason = tell::empty(&set, proposal.savings);
    pass.decide(Method::Emptiness, &set, Question::default(), proposal, reason);
}

pub(super) fn proposal(set: &[&Removable<'_>]) -> Proposal {
    Proposal {
        replacements: Vec::new(),
        destinations: Vec::new(),
        savings: set.iter().map(|each| each.price).fold(0.0, |sum, price| sum + price),
        score: 0.0,
        scores: Vec::new(),
    }
}
