//! What came of the checks.

use std::fmt;

/// What came of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What should hold.
    pub name: &'static str,
    /// Why it does not.
    pub broken: Option<String>,
}

/// What came of all checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Of each check, in order.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Whether every check holds.
    pub fn is_clean(&self) -> bool {
        self.broken().is_empty()
    }

    /// The names of the checks that do not hold.
    pub fn broken(&self) -> Vec<&'static str> {
        let broken = self.outcomes.iter().filter(|outcome| outcome.broken.is_some());
        broken.map(|outcome| outcome.name).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Outcome { name, broken } in &self.outcomes {
            match broken {
                None => writeln!(f, "holds   {name}")?,
                Some(why) => writeln!(f, "broken  {name}: {why}")?,
            }
        }
        write!(f, "{} of {} hold", self.outcomes.len() - self.broken().len(), self.outcomes.len())
    }
}
