//! What many trials come to, for somebody who wants to know within ten seconds.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter, Write},
};

use crate::compare::{CHANCE, Comparison, Cost, Verdict};

/// One scenario in so many may be above the median of Karpenter's runs by chance: ours is the best
/// of several plans, so it should hardly ever be.
const UNLUCKY_ONE_IN: usize = 200;

/// How many scenarios that are worse are told one by one.
const OFFENDERS: usize = 15;

/// What many trials come to.
#[derive(Debug)]
pub struct Report {
    /// The command that repeats one trial, without its seed.
    repeat: &'static str,
    /// Where instances and prices can be compared.
    comparable: &'static str,
    verdicts: Tally,
    by_kind: BTreeMap<&'static str, Tally>,
    /// How many scenarios each defect explains, and the seed of the first of them.
    by_defect: BTreeMap<&'static str, (usize, u64)>,
    compared: usize,
    total: Total,
    offenders: Vec<Offender>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    same: usize,
    better: usize,
    named: usize,
    worse: usize,
}

#[derive(Debug, Default)]
struct Total {
    our_instances: usize,
    our_price: f64,
    their_instances: usize,
    their_price: f64,
}

#[derive(Debug)]
struct Offender {
    seed: u64,
    name: String,
    differences: Vec<String>,
}

impl Tally {
    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Same => self.same += 1,
            Verdict::Better => self.better += 1,
            Verdict::Named(_) => self.named += 1,
            Verdict::Worse => self.worse += 1,
        }
    }

    fn all(self) -> usize {
        self.same + self.better + self.named + self.worse
    }
}

impl Total {
    fn add(&mut self, cost: Cost) {
        self.our_instances += cost.our_instances;
        self.our_price += cost.our_price;
        self.their_instances += cost.their_instances;
        self.their_price += cost.their_price;
    }
}

impl Report {
    /// A report on nothing yet. `repeat` is the command that repeats one trial, without its seed;
    /// `comparable` says where instances and prices can be compared.
    pub fn new(repeat: &'static str, comparable: &'static str) -> Self {
        Self {
            repeat,
            comparable,
            verdicts: Tally::default(),
            by_kind: BTreeMap::new(),
            by_defect: BTreeMap::new(),
            compared: 0,
            total: Total::default(),
            offenders: Vec::new(),
        }
    }

    /// Takes in the outcome of one scenario, which is about these kinds.
    pub fn add(&mut self, seed: u64, kinds: &[&'static str], comparison: &Comparison) {
        let verdict = comparison.verdict();
        self.verdicts.add(verdict);
        for kind in kinds {
            self.by_kind.entry(kind).or_default().add(verdict);
        }
        if let Verdict::Named(id) = verdict {
            self.by_defect.entry(id).or_insert((0, seed)).0 += 1;
        }
        if let Some(cost) = comparison.cost {
            self.compared += 1;
            self.total.add(cost);
        }
        if verdict == Verdict::Worse {
            let told =
                |(difference, verdict): &(_, Verdict)| format!("{}: {difference}", verdict.name());
            self.offenders.push(Offender {
                seed,
                name: kinds.join("+"),
                differences: comparison.differences.iter().map(told).collect(),
            });
        }
    }

    /// How many scenarios somebody must look at: those that are worse, and those in which chance
    /// was against us, if they are more than chance would have.
    pub fn to_look_at(&self) -> usize {
        let unlucky = self.by_defect.get(CHANCE).map_or(0, |(count, _)| *count);
        let unlucky_max = self.verdicts.all() / UNLUCKY_ONE_IN + 1;
        self.verdicts.worse + if unlucky > unlucky_max { unlucky } else { 0 }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write_kinds(f)?;
        self.write_offenders(f)?;
        self.write_summary(f)
    }
}

impl Report {
    fn write_kinds(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<26} {:>6} {:>6} {:>6} {:>6} {:>6}",
            "kind", "all", "same", "better", "named", "worse"
        )?;
        for (kind, tally) in &self.by_kind {
            let Tally { same, better, named, worse } = *tally;
            let mark = if worse > 0 { "  <" } else { "" };
            let all = tally.all();
            writeln!(f, "{kind:<26} {all:>6} {same:>6} {better:>6} {named:>6} {worse:>6}{mark}")?;
        }
        f.write_char('\n')
    }

    fn write_offenders(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The fewer kinds a scenario mixes, the easier it is to understand.
        let mut offenders: Vec<&Offender> = self.offenders.iter().collect();
        offenders.sort_by_key(|offender| (offender.name.matches('+').count(), offender.seed));
        for offender in offenders.iter().take(OFFENDERS) {
            writeln!(f, "{} {} ({})", self.repeat, offender.seed, offender.name)?;
            for difference in &offender.differences {
                writeln!(f, "  {difference}")?;
            }
        }
        if offenders.len() > OFFENDERS {
            let rest: Vec<String> =
                offenders[OFFENDERS..].iter().map(|offender| offender.seed.to_string()).collect();
            writeln!(f, "worse, too, each with {}: {}", self.repeat, rest.join(" "))?;
        }
        if offenders.is_empty() { Ok(()) } else { f.write_char('\n') }
    }

    fn write_summary(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Tally { same, better, named, worse } = self.verdicts;
        writeln!(
            f,
            "{} scenarios: {same} same, {better} better, {named} named, {worse} worse",
            self.verdicts.all()
        )?;
        if named > 0 {
            writeln!(f, "named, by number in docs/compat.md:")?;
            for (id, (count, first)) in &self.by_defect {
                writeln!(f, "  {id:<4} {count:>5}, such as {} {first}", self.repeat)?;
            }
        }
        let total = &self.total;
        writeln!(
            f,
            "{} ({} scenarios): \
             instances {} to Karpenter's {} ({}), price {:.3} to {:.3} ({})",
            self.comparable,
            self.compared,
            total.our_instances,
            total.their_instances,
            percent(total.our_instances as f64, total.their_instances as f64),
            total.our_price,
            total.their_price,
            percent(total.our_price, total.their_price),
        )
    }
}

fn percent(ours: f64, theirs: f64) -> String {
    if theirs == 0.0 { "-".to_owned() } else { format!("{:+.2} %", (ours / theirs - 1.0) * 100.0) }
}
