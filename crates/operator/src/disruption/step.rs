//! The next step of a begun command: a pure function of the observed state.

use std::fmt;

use jiff::Timestamp;
use joiner_core::disruption::Paused;

/// The observed state of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidate {
    /// It exists, but lacks a mark of this command.
    Unmarked,
    /// It exists with all marks.
    Marked,
    /// It is being deleted, or gone.
    Leaves,
}

/// The observed state of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// It is not created yet, and its plan is known.
    ToBeMade,
    /// It exists and has until then to be initialized.
    Comes(Timestamp),
    /// It is initialized.
    Ready,
    /// It is being deleted, or gone.
    Lost,
    /// It does not exist, and this process never observed it.
    NeverSeen,
}

/// A command and its claims at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The candidates, by name.
    pub candidates: Vec<(String, Candidate)>,
    /// The replacements, by name.
    pub replacements: Vec<(String, Replacement)>,
    /// Whether this process began it, and so has just validated it.
    pub begun_here: bool,
    /// Whether the deletion of its candidates has begun.
    pub deleting: bool,
    /// The pause that covers it, if there is one.
    pub paused: Option<Paused>,
    /// The deadline for the marks and for creating the replacements.
    pub start_by: Timestamp,
    /// The deadline for all replacements to be initialized: the latest of their deadlines.
    pub ready_by: Timestamp,
    /// The deadline for its candidates to leave.
    pub leave_by: Timestamp,
    /// The time.
    pub now: Timestamp,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Mark these candidates.
    Mark(Vec<String>),
    /// Make these replacements.
    Make(Vec<String>),
    /// Wait for these replacements, until the earliest of their deadlines.
    Wait(Vec<String>, Timestamp),
    /// Delete these candidates.
    Delete(Vec<String>),
    /// The command is done.
    Finish,
    /// Take the command back.
    TakeBack(Cause),
}

/// Why a command is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A replacement vanished before it was ready.
    ReplacementLost(String),
    /// A replacement exceeded its deadline.
    TooLate(Vec<String>),
    /// A replacement cannot be created.
    NotMade(String),
    /// Marks or replacements exceeded their deadline.
    NotStarted,
    /// A candidate was not deleted before the deadline.
    NotDeleted,
    /// The process that began it ended, and its decision is outdated.
    Interrupted,
    /// Disruption is paused.
    Paused(Paused),
}

impl Cause {
    /// Whether the next command of its kind would probably fail for the same reason.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::ReplacementLost(_) | Self::TooLate(_) | Self::NotMade(_) | Self::NotDeleted => {
                true
            }
            Self::NotStarted | Self::Interrupted | Self::Paused(_) => false,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReplacementLost(claim) => write!(
                f,
                "replacement NodeClaim {claim} was deleted before its node was ready; its events \
                 and the cloud say why"
            ),
            Self::TooLate(claims) => write!(
                f,
                "replacement NodeClaim {} did not become ready in time; its conditions say what it \
                 waits for",
                claims.join(", ")
            ),
            Self::NotMade(why) => write!(f, "a replacement cannot be made: {why}"),
            Self::NotStarted => f.write_str(
                "nodes could not be marked or replacements made in time; the log has the API \
                 server's answers",
            ),
            Self::NotDeleted => f.write_str(
                "the NodeClaim could not be deleted in time; the log says why, and an admission \
                 policy or webhook may refuse such deletions",
            ),
            Self::Interrupted => f.write_str(
                "the process that began it ended before it was done; what still makes sense is \
                 proposed anew",
            ),
            Self::Paused(paused) => paused.fmt(f),
        }
    }
}

/// The next step.
///
/// Candidates are deleted only when all are marked and every replacement is ready. There is one
/// exception: without replacements, the marked candidates go alone once the deadline is over. A
/// fully prepared command of an ended process continues while it is as recent as one of this
/// process could be. All other commands of an ended process are taken back.
pub fn decide(seen: &Seen) -> Step {
    let names = |wanted: Candidate| -> Vec<String> {
        let of_kind = seen.candidates.iter().filter(|(_, candidate)| *candidate == wanted);
        of_kind.map(|(name, _)| name.clone()).collect()
    };
    let replacements = |wanted: Replacement| -> Vec<String> {
        let of_kind = seen.replacements.iter().filter(|(_, found)| *found == wanted);
        of_kind.map(|(name, _)| name.clone()).collect()
    };
    let (unmarked, marked) = (names(Candidate::Unmarked), names(Candidate::Marked));
    if unmarked.is_empty() && marked.is_empty() {
        return Step::Finish;
    }
    if let Some(paused) = seen.paused.as_ref().filter(|_| !seen.deleting) {
        return Step::TakeBack(Cause::Paused(paused.clone()));
    }
    if let Some(lost) = replacements(Replacement::Lost).into_iter().next() {
        return Step::TakeBack(Cause::ReplacementLost(lost));
    }
    let was_prepared = unmarked.is_empty() && !seen.replacements.is_empty();
    let is_whole = replacements(Replacement::NeverSeen).is_empty();
    if !is_whole || !(seen.begun_here || was_prepared) {
        return Step::TakeBack(Cause::Interrupted);
    }
    let to_be_made = replacements(Replacement::ToBeMade);
    let is_under_way = to_be_made.is_empty() && !seen.replacements.is_empty();
    let start_by = if is_under_way { seen.ready_by } else { seen.start_by };
    if !(unmarked.is_empty() && to_be_made.is_empty()) && seen.now >= start_by {
        // Instances without replacements do not wait for one that cannot be marked.
        return if seen.replacements.is_empty() && !marked.is_empty() {
            delete(seen, marked)
        } else {
            Step::TakeBack(Cause::NotStarted)
        };
    }
    if !unmarked.is_empty() {
        return Step::Mark(unmarked);
    }
    if !to_be_made.is_empty() {
        return Step::Make(to_be_made);
    }
    let coming = || {
        seen.replacements.iter().filter_map(|(name, found)| match found {
            Replacement::Comes(ready_by) => Some((name.clone(), *ready_by)),
            _ => None,
        })
    };
    let Some(first_end) = coming().map(|(_, ready_by)| ready_by).min() else {
        return if seen.now >= seen.ready_by && !seen.begun_here {
            Step::TakeBack(Cause::Interrupted)
        } else {
            delete(seen, marked)
        };
    };
    if seen.now >= first_end {
        let late = coming().filter(|(_, ready_by)| seen.now >= *ready_by);
        return Step::TakeBack(Cause::TooLate(late.map(|(name, _)| name).collect()));
    }
    Step::Wait(coming().map(|(name, _)| name).collect(), first_end)
}

/// Deletes candidates. If the deadline is over, the command is taken back: remaining candidates are
/// more useful unmarked.
fn delete(seen: &Seen, marked: Vec<String>) -> Step {
    if seen.now >= seen.leave_by {
        return Step::TakeBack(Cause::NotDeleted);
    }
    Step::Delete(marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replacement that is not ready, and has time until 2100.
    const COMES: Replacement = Replacement::Comes(Timestamp::constant(2100, 0));

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn seen(candidates: &[Candidate], replacements: &[Replacement]) -> Seen {
        let named = |prefix: &str, index: usize| format!("{prefix}{}", index + 1);
        Seen {
            candidates: candidates
                .iter()
                .enumerate()
                .map(|(index, candidate)| (named("old", index), *candidate))
                .collect(),
            replacements: replacements
                .iter()
                .enumerate()
                .map(|(index, found)| (named("new", index), *found))
                .collect(),
            begun_here: true,
            deleting: false,
            paused: None,
            start_by: at(60),
            ready_by: at(2100),
            leave_by: at(if replacements.is_empty() { 120 } else { 2160 }),
            now: at(1),
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn candidates_are_marked_then_replacements_made_then_waited_for_then_candidates_deleted() {
        use Candidate::{Leaves, Marked, Unmarked};
        use Replacement::{Ready, ToBeMade};
        let steps = [
            (seen(&[Unmarked, Marked], &[ToBeMade]), Step::Mark(names(&["old1"]))),
            (seen(&[Marked, Marked], &[ToBeMade]), Step::Make(names(&["new1"]))),
            (seen(&[Marked, Marked], &[COMES]), Step::Wait(names(&["new1"]), at(2100))),
            (seen(&[Marked, Marked], &[Ready]), Step::Delete(names(&["old1", "old2"]))),
            (seen(&[Leaves, Marked], &[Ready]), Step::Delete(names(&["old2"]))),
            (seen(&[Leaves, Leaves], &[Ready]), Step::Finish),
        ];
        for (seen, step) in steps {
            assert_eq!(decide(&seen), step, "{seen:?}");
        }
    }

    /// K-06.
    #[test]
    fn every_replacement_has_to_be_ready() {
        let two = seen(&[Candidate::Marked], &[Replacement::Ready, COMES]);
        assert_eq!(decide(&two), Step::Wait(names(&["new2"]), at(2100)));
    }

    /// K-07.
    #[test]
    fn a_command_without_replacements_deletes_once_candidates_are_marked() {
        assert_eq!(decide(&seen(&[Candidate::Marked], &[])), Step::Delete(names(&["old1"])));
    }

    #[test]
    fn a_replacement_that_is_gone_or_late_takes_everything_back() {
        let lost = seen(&[Candidate::Marked], &[Replacement::Ready, Replacement::Lost]);
        let cause = Cause::ReplacementLost("new2".to_owned());
        assert_eq!(decide(&lost), Step::TakeBack(cause));
        let mut late = seen(&[Candidate::Marked], &[COMES]);
        late.now = at(2099);
        assert!(matches!(decide(&late), Step::Wait(..)));
        late.now = at(2100);
        assert_eq!(decide(&late), Step::TakeBack(Cause::TooLate(names(&["new1"]))));
    }

    #[test]
    fn the_first_replacement_that_is_late_takes_everything_back() {
        let early = Replacement::Comes(at(700));
        let mut two = seen(&[Candidate::Marked], &[COMES, early]);
        two.now = at(699);
        assert_eq!(decide(&two), Step::Wait(names(&["new1", "new2"]), at(700)));
        two.now = at(700);
        assert_eq!(decide(&two), Step::TakeBack(Cause::TooLate(names(&["new2"]))));
    }

    #[test]
    fn a_candidate_that_somebody_deletes_does_not_stop_the_rest() {
        use Candidate::{Leaves, Marked};
        let one_left = seen(&[Leaves, Marked], &[COMES]);
        assert!(matches!(decide(&one_left), Step::Wait(..)));
        let none_left = seen(&[Leaves], &[COMES]);
        assert_eq!(decide(&none_left), Step::Finish, "its pods need the replacement");
    }

    #[test]
    fn what_cannot_be_started_in_time_is_taken_back() {
        for mut slow in [
            seen(&[Candidate::Unmarked], &[]),
            seen(&[Candidate::Marked], &[Replacement::ToBeMade]),
        ] {
            slow.now = at(60);
            assert_eq!(decide(&slow), Step::TakeBack(Cause::NotStarted));
        }
    }

    #[test]
    fn instances_that_need_no_replacement_do_not_wait_for_one_that_cannot_be_marked() {
        use Candidate::{Leaves, Marked, Unmarked};
        let mut slow = seen(&[Marked, Unmarked], &[]);
        assert_eq!(decide(&slow), Step::Mark(names(&["old2"])));
        slow.now = at(60);
        assert_eq!(decide(&slow), Step::Delete(names(&["old1"])));
        slow.candidates[0].1 = Leaves;
        assert_eq!(decide(&slow), Step::TakeBack(Cause::NotStarted), "the other one is free again");
        let mut slow = seen(&[Marked, Unmarked], &[Replacement::ToBeMade]);
        slow.now = at(60);
        assert_eq!(decide(&slow), Step::TakeBack(Cause::NotStarted), "it was planned for both");
    }

    #[test]
    fn what_cannot_be_deleted_for_a_minute_is_taken_back_also_where_others_have_left() {
        use Candidate::{Leaves, Marked, Unmarked};
        for (mut stuck, leave_by) in [
            (seen(&[Marked, Marked], &[]), 120),
            (seen(&[Marked, Unmarked], &[]), 120),
            (seen(&[Marked], &[Replacement::Ready]), 2160),
            (seen(&[Leaves, Marked], &[]), 120),
            (seen(&[Leaves, Marked], &[Replacement::Ready]), 2160),
        ] {
            stuck.now = at(leave_by - 1);
            assert!(matches!(decide(&stuck), Step::Delete(_)), "{stuck:?}");
            stuck.now = at(leave_by);
            assert_eq!(decide(&stuck), Step::TakeBack(Cause::NotDeleted), "{stuck:?}");
        }
    }

    #[test]
    fn a_mark_that_somebody_takes_while_a_replacement_comes_is_set_again() {
        let mut seen = seen(&[Candidate::Unmarked], &[COMES]);
        for (now, step) in [
            (at(60), Step::Mark(names(&["old1"]))),
            (at(2099), Step::Mark(names(&["old1"]))),
            (at(2100), Step::TakeBack(Cause::NotStarted)),
        ] {
            seen.now = now;
            assert_eq!(decide(&seen), step, "{now}");
        }
    }

    #[test]
    fn after_a_restart_what_was_prepared_is_carried_on_and_all_else_taken_back() {
        use Candidate::{Leaves, Marked, Unmarked};
        use Replacement::{NeverSeen, Ready};
        let interrupted = Step::TakeBack(Cause::Interrupted);
        let steps = [
            (seen(&[Unmarked], &[]), interrupted.clone()),
            (seen(&[Marked], &[]), interrupted.clone()),
            (seen(&[Marked, Leaves], &[]), interrupted.clone()),
            (seen(&[Leaves], &[]), Step::Finish),
            (seen(&[Marked], &[NeverSeen]), interrupted.clone()),
            (seen(&[Marked], &[Ready, NeverSeen]), interrupted.clone()),
            (seen(&[Unmarked], &[Ready]), interrupted),
            (seen(&[Marked], &[COMES]), Step::Wait(names(&["new1"]), at(2100))),
            (seen(&[Marked], &[Ready]), Step::Delete(names(&["old1"]))),
            (seen(&[Leaves, Marked], &[Ready]), Step::Delete(names(&["old2"]))),
            (seen(&[Leaves], &[Ready]), Step::Finish),
        ];
        for (mut seen, step) in steps {
            seen.begun_here = false;
            assert_eq!(decide(&seen), step, "{seen:?}");
        }
    }

    /// The pods of today may have no place where those of an hour ago had one.
    #[test]
    fn what_another_process_has_prepared_too_long_ago_deletes_nothing() {
        let mut old = seen(&[Candidate::Marked], &[Replacement::Ready]);
        old.begun_here = false;
        old.now = at(2099);
        assert_eq!(decide(&old), Step::Delete(names(&["old1"])));
        old.now = at(2100);
        assert_eq!(decide(&old), Step::TakeBack(Cause::Interrupted));
        old.begun_here = true;
        assert_eq!(
            decide(&old),
            Step::Delete(names(&["old1"])),
            "it became ready at the last moment"
        );
    }

    #[test]
    fn whoever_pauses_disruption_stops_what_has_deleted_nothing_yet() {
        let mut paused = seen(&[Candidate::Marked], &[Replacement::Ready]);
        let by_ops = Paused { by: "ops: freeze".to_owned(), on: "NodePool general".to_owned() };
        paused.paused = Some(by_ops.clone());
        assert_eq!(decide(&paused), Step::TakeBack(Cause::Paused(by_ops)));
        paused.deleting = true;
        assert_eq!(decide(&paused), Step::Delete(names(&["old1"])));
    }
}
