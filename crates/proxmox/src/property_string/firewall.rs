//! Rules of an instance's firewall: security groups, in the order in which the class lists them.

/// The comment of rules that this provider has made.
pub const COMMENT: &str = "managed by joiner";

/// A security group on an interface.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The interface it protects.
    pub interface: String,
}

/// A rule that exists, in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// in, out, forward or group.
    pub type_: String,
    /// What it does; for a group its name.
    pub action: String,
    /// The interface.
    pub interface: String,
    /// Whether it is in force.
    pub is_enabled: bool,
    /// Its comment.
    pub comment: String,
}

/// A change of the list. Positions are those at the moment of the change, when all changes are made
/// in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new rule for the group. Proxmox VE puts it before all others.
    Create(Group),
    /// The rule at this position goes.
    Delete(usize),
}

/// The changes that make the list have the wanted groups, in order. `applied` are groups that were
/// wanted before: rules for them are ours even without our comment, as the predecessor made them.
/// Rules of people stay where they are among each other.
///
/// The new rules come first and the old ones go afterwards, from the last to the first, so that the
/// instance is never without and no position shifts under a change.
///
/// COMPAT: upstream creates in the order of the list, which leaves them reversed, and deletes from the
/// first to the last, which hits wrong rules.
pub fn changes(rules: &[Rule], applied: &[Group], wanted: &[Group]) -> Vec<Change> {
    let is_ours = |rule: &Rule| {
        let is_of = |group: &Group| group.name == rule.action && group.interface == rule.interface;
        let is_plain = rule.comment.is_empty();
        rule.type_ == "group"
            && (rule.comment == COMMENT || (is_plain && applied.iter().chain(wanted).any(is_of)))
    };
    let own: Vec<usize> = (0..rules.len()).filter(|at| is_ours(&rules[*at])).collect();
    let is_as_wanted = own.len() == wanted.len()
        && own.iter().zip(wanted).all(|(at, group)| {
            let rule = &rules[*at];
            rule.is_enabled && rule.action == group.name && rule.interface == group.interface
        });
    if is_as_wanted {
        return Vec::new();
    }
    let created = wanted.iter().rev().cloned().map(Change::Create);
    let deleted = own.iter().rev().map(|at| Change::Delete(at + wanted.len()));
    created.chain(deleted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str) -> Group {
        Group { name: name.to_owned(), interface: "net0".to_owned() }
    }

    fn rule(type_: &str, action: &str, comment: &str) -> Rule {
        Rule {
            type_: type_.to_owned(),
            action: action.to_owned(),
            interface: "net0".to_owned(),
            is_enabled: true,
            comment: comment.to_owned(),
        }
    }

    /// Makes the changes as Proxmox VE does, and shows the list that is left.
    #[track_caller]
    fn check(mut rules: Vec<Rule>, applied: &[&str], wanted: &[&str], expected: &[&str]) {
        let groups =
            |names: &[&str]| -> Vec<Group> { names.iter().map(|name| group(name)).collect() };
        let (applied, wanted) = (groups(applied), groups(wanted));
        for change in changes(&rules, &applied, &wanted) {
            match change {
                Change::Create(group) => rules.insert(0, rule("group", &group.name, COMMENT)),
                Change::Delete(at) => {
                    rules.remove(at);
                }
            }
        }
        let left: Vec<&str> = rules.iter().map(|rule| rule.action.as_str()).collect();
        assert_eq!(left, expected);
        assert_eq!(changes(&rules, &applied, &wanted), [], "a second look finds nothing to do");
    }

    #[test]
    fn groups_are_in_the_order_of_the_class() {
        check(vec![], &[], &["a", "b", "c"], &["a", "b", "c"]);
    }

    #[test]
    fn rules_that_came_with_the_template_are_not_there_twice() {
        let of_template = vec![rule("group", "b", ""), rule("group", "a", "")];
        check(of_template, &[], &["a", "b"], &["a", "b"]);
    }

    #[test]
    fn rules_of_people_stay() {
        let rules = vec![
            rule("in", "ACCEPT", ""),
            rule("group", "a", COMMENT),
            rule("group", "audit", "by hand"),
            rule("group", "b", COMMENT),
            rule("group", "other", ""),
        ];
        check(rules, &[], &["c"], &["c", "ACCEPT", "audit", "other"]);
    }

    #[test]
    fn rules_of_the_predecessor_go_when_they_are_no_longer_wanted() {
        check(vec![rule("group", "a", ""), rule("group", "b", "")], &["a", "b"], &["b"], &["b"]);
        check(vec![rule("group", "a", "")], &["a"], &[], &[]);
    }

    #[test]
    fn a_rule_that_is_out_of_force_is_made_anew() {
        let mut off = rule("group", "a", COMMENT);
        off.is_enabled = false;
        assert_eq!(
            changes(&[off], &[], &[group("a")]),
            [Change::Create(group("a")), Change::Delete(1)]
        );
    }
}
