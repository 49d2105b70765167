//! The difference of two values as text, which errors about immutable parts carry.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use serde_json::Value;

use super::internal;

/// A unified diff of two values of a struct of the API server, which `kind` names.
pub(crate) fn unified(kind: &str, old: &Value, new: &Value) -> String {
    unified_lines(&internal::lines(kind, old), &internal::lines(kind, new))
}

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;

/// A stretch of lines of both sides, and whether they are the same.
#[derive(Clone, Debug)]
struct Stretch {
    same: bool,
    old: Range<usize>,
    new: Range<usize>,
}

fn unified_lines(old: &[String], new: &[String]) -> String {
    let mut stretches = Vec::new();
    let sides = Sides { old, new, popular: popular(new) };
    sides.compare(0..old.len(), 0..new.len(), &mut stretches);
    let mut text = String::new();
    for hunk in hunks(&stretches) {
        let first = hunk.first().expect("a hunk has a change");
        let last = hunk.last().expect("a hunk has a change");
        let old_lines = header(&(first.old.start..last.old.end));
        let new_lines = header(&(first.new.start..last.new.end));
        text.extend(["@@ -", &old_lines, " +", &new_lines, " @@\n"]);
        for stretch in hunk {
            let mark = if stretch.same { " " } else { "-" };
            for line in &old[stretch.old.clone()] {
                text.extend([mark, line, "\n"]);
            }
            if !stretch.same {
                for line in &new[stretch.new.clone()] {
                    text.extend(["+", line, "\n"]);
                }
            }
        }
    }
    text
}

fn header(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        length => format!("{},{length}", lines.start + 1),
    }
}

/// Lines that are there so often that no common stretch is found by them: it may only be longer for
/// them. The API server looks for them in long texts only.
fn popular(lines: &[String]) -> BTreeSet<&str> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    if lines.len() >= 200 {
        for line in lines {
            *times.entry(line).or_default() += 1;
        }
    }
    let many = lines.len() / 100 + 1;
    times.into_iter().filter(|(_, times)| *times > many).map(|(line, _)| line).collect()
}

/// Two texts that are compared.
struct Sides<'a> {
    old: &'a [String],
    new: &'a [String],
    popular: BTreeSet<&'a str>,
}

impl Sides<'_> {
    /// Splits both sides at their longest common stretch, and again what is before and after it.
    fn compare(&self, in_old: Range<usize>, in_new: Range<usize>, found: &mut Vec<Stretch>) {
        let (at_old, at_new, length) = self.longest_common(&in_old, &in_new);
        if length == 0 {
            if !in_old.is_empty() || !in_new.is_empty() {
                found.push(Stretch { same: false, old: in_old, new: in_new });
            }
            return;
        }
        self.compare(in_old.start..at_old, in_new.start..at_new, found);
        let same =
            Stretch { same: true, old: at_old..at_old + length, new: at_new..at_new + length };
        match found.last_mut().filter(|last| last.same) {
            Some(last) => (last.old.end, last.new.end) = (same.old.end, same.new.end),
            None => found.push(same),
        }
        self.compare(at_old + length..in_old.end, at_new + length..in_new.end, found);
    }

    /// Where the longest common stretch starts on both sides, and how long it is: the first of them.
    fn longest_common(
        &self,
        in_old: &Range<usize>,
        in_new: &Range<usize>,
    ) -> (usize, usize, usize) {
        let mut best = (in_old.start, in_new.start, 0);
        let mut above = vec![0_usize; in_new.len() + 1];
        for i in in_old.clone() {
            let mut current = vec![0_usize; in_new.len() + 1];
            let counts = !self.popular.contains(&*self.old[i]);
            for j in in_new.clone().filter(|j| counts && self.old[i] == self.new[*j]) {
                let column = j - in_new.start;
                let length = above[column] + 1;
                current[column + 1] = length;
                if length > best.2 {
                    best = (i + 1 - length, j + 1 - length, length);
                }
            }
            above = current;
        }
        let (mut at_old, mut at_new, mut length) = best;
        while at_old > in_old.start
            && at_new > in_new.start
            && self.old[at_old - 1] == self.new[at_new - 1]
        {
            (at_old, at_new, length) = (at_old - 1, at_new - 1, length + 1);
        }
        while at_old + length < in_old.end
            && at_new + length < in_new.end
            && self.old[at_old + length] == self.new[at_new + length]
        {
            length += 1;
        }
        (at_old, at_new, length)
    }
}

/// Changes with the lines around them; changes that are near to each other share a hunk.
fn hunks(stretches: &[Stretch]) -> Vec<Vec<Stretch>> {
    let mut hunks: Vec<Vec<Stretch>> = Vec::new();
    let mut open: Vec<Stretch> = Vec::new();
    for (index, stretch) in stretches.iter().enumerate() {
        if !stretch.same {
            open.push(stretch.clone());
            continue;
        }
        let length = stretch.old.len();
        let (is_first, is_last) = (index == 0, index + 1 == stretches.len());
        let head = Stretch {
            same: true,
            old: stretch.old.start..stretch.old.start + length.min(CONTEXT),
            new: stretch.new.start..stretch.new.start + length.min(CONTEXT),
        };
        let tail = Stretch {
            same: true,
            old: stretch.old.end - length.min(CONTEXT)..stretch.old.end,
            new: stretch.new.end - length.min(CONTEXT)..stretch.new.end,
        };
        if is_first {
            open.push(tail);
        } else if is_last {
            open.push(head);
        } else if length > 2 * CONTEXT {
            open.push(head);
            hunks.push(std::mem::take(&mut open));
            open.push(tail);
        } else {
            open.push(stretch.clone());
        }
    }
    if open.iter().any(|stretch| !stretch.same) {
        hunks.push(open);
    }
    hunks
}
