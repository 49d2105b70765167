//! Whether a pod can join a claim, and what the claim's requirements become.

use std::{collections::BTreeMap, rc::Rc};

use joiner_core::{
    pod::Pod,
    settings::{MinValuesPolicy, PlanSettings},
};

use super::{
    Choices, Solver, amounts,
    bits::Bits,
    claims::{Claim, Joining},
    class::{Parts, Uses, Variant},
    labels::{Key, LabelSpace, ReqId},
    nodes::Nodes,
    reservations::Reservations,
    template::Template,
    topology::Topology,
    zones::Zones,
};

/// The most ways to choose a claim's domains that are tried for one pod and claim. The value was chosen and bounds
/// the work; it was not measured separately.
const OPTIONS_MAX: usize = 64;

/// Why a pod cannot join a claim.
#[derive(Debug, Clone, Copy)]
pub(super) struct JoinRefusal {
    /// Whether the pod can never join the claim.
    pub(super) for_good: bool,
    /// Whether reserved capacity would fit, but is taken.
    pub(super) reserved: bool,
}

impl JoinRefusal {
    const FOR_GOOD: Self = Self { for_good: true, reserved: false };
}

impl Solver<'_> {
    /// The possible requirements of a claim once a pod joins it: one entry for each alternative of its volumes and
    /// each choice of domains, in the order they are tried.
    pub(super) fn options(&mut self, requirements: ReqId, variant: &Variant) -> Vec<ReqId> {
        let Self { labels, topology, zones, nodes, classes, choices, .. } = self;
        let Parts { volume_alternatives, form, .. } =
            classes.all[variant.class].parts(variant.form, labels);
        let wanted = form.wanted;
        let joins = match form.joins.get(&requirements) {
            Some(known) => Rc::clone(known),
            None => {
                let joins: Rc<[ReqId]> = labels
                    .join(requirements, wanted.all)
                    .into_iter()
                    .flat_map(|joined| {
                        volume_alternatives.iter().map(move |volumes| (joined, *volumes))
                    })
                    .filter_map(|(joined, volumes)| labels.join(joined, volumes))
                    .collect();
                form.joins.insert(requirements, Rc::clone(&joins));
                joins
            }
        };
        if variant.uses.domains.is_empty() {
            return joins.to_vec();
        }
        let settle = |joined: &ReqId| {
            let (uses, strict) = (&variant.uses, wanted.strict);
            settle_domains(uses, strict, *joined, *choices, topology, (zones, nodes), labels)
        };
        joins.iter().flat_map(settle).collect()
    }

    /// Whether a pod can join a claim, or open one, with one of `options`.
    pub(super) fn join(
        &mut self,
        pod: &Pod,
        class_index: usize,
        template_index: usize,
        claim: Option<usize>,
        options: &[ReqId],
    ) -> Result<Joining, JoinRefusal> {
        let Self { claims, templates, labels, classes, remaining, settings, reservations, .. } =
            self;
        let template = &mut templates[template_index];
        let requests = &classes.all[class_index].requests;
        let existing = claim.map(|claim| claims.get(claim));
        labels.work.count(1 + pod.spec.host_ports.len() + pod.volumes.attached.len());
        if existing.is_some_and(|claim| !claim.ports_free(pod)) {
            return Err(JoinRefusal::FOR_GOOD);
        }
        let mut rows = match existing {
            Some(claim) => claim.rows,
            None => remaining[template_index].rows(template).ok_or(JoinRefusal::FOR_GOOD)?,
        };
        if template.has_daemon_ports && !pod.spec.host_ports.is_empty() {
            rows = template.rows_with_ports(rows, &pod.spec);
        }
        let zero;
        let before = match claim {
            Some(claim) => claims.requests(claim),
            None => {
                zero = vec![0; requests.len()];
                &zero
            }
        };
        let mut refusal = JoinRefusal { for_good: false, reserved: false };
        let mut fitted = false;
        for option in options {
            if !template.front(*option, rows, labels).fits(before, requests) {
                continue;
            }
            fitted = true;
            let joining = Joining {
                requirements: *option,
                rows,
                reserved: Vec::new(),
                min_values_relaxed: existing.is_some_and(|claim| claim.min_values_relaxed),
            };
            let terms =
                Terms::of(pod, existing, template, settings, labels.has_min_values(*option));
            if terms.none() {
                return Ok(joining);
            }
            let mut total = before.to_vec();
            amounts::add(&mut total, requests);
            let left = template.remaining(*option, rows, &total, labels);
            let context = JoinContext { pod, existing, template, settings, reservations };
            match context.agree(terms, joining, left, labels) {
                Ok(joining) => return Ok(joining),
                Err(disagreed) => refusal.reserved |= disagreed.reserved,
            }
        }
        // A claim without capacity for the pod will not have it later either, whatever domain is chosen.
        refusal.for_good = !fitted
            && existing.is_some_and(|claim| {
                !template.front(claim.requirements, rows, labels).fits(before, requests)
            });
        Err(refusal)
    }
}

/// Constraints besides requirements and capacity. Most pods have none.
#[derive(Debug, Clone, Copy)]
struct Terms {
    volumes: bool,
    min_values: bool,
    reservations: bool,
}

impl Terms {
    fn of(
        pod: &Pod,
        existing: Option<&Claim<'_>>,
        template: &Template<'_>,
        settings: &PlanSettings,
        min_values: bool,
    ) -> Self {
        let attaches = !pod.volumes.attached.is_empty()
            || existing.is_some_and(|claim| !claim.volumes.is_empty());
        Self {
            volumes: template.has_volume_limits && attaches,
            min_values,
            reservations: settings.reserved_capacity && template.has_reserved,
        }
    }

    fn none(self) -> bool {
        !(self.volumes || self.min_values || self.reservations)
    }
}

/// A pod together with a claim or a template.
#[derive(Debug, Clone, Copy)]
struct JoinContext<'c, 's> {
    pod: &'c Pod,
    existing: Option<&'c Claim<'s>>,
    template: &'c Template<'s>,
    settings: &'c PlanSettings,
    reservations: &'c Reservations,
}

impl JoinContext<'_, '_> {
    /// Checks volumes, `minValues` and reservations for the rows that are left.
    fn agree(
        self,
        terms: Terms,
        mut joining: Joining,
        mut left: Bits,
        labels: &mut LabelSpace,
    ) -> Result<Joining, JoinRefusal> {
        let option = joining.requirements;
        if terms.volumes {
            let attached = match self.existing {
                Some(claim) => claim.attached_with(self.pod),
                None => count_by_driver(self.pod),
            };
            left = self.template.with_volumes(&left, &attached);
        }
        if left.is_empty() {
            return Err(JoinRefusal { for_good: false, reserved: false });
        }
        if terms.min_values {
            let types = self.template.types_of(&left);
            let short = self.template.short_of_min_values(option, &types, labels);
            // `minValues` is only lowered for a new claim.
            let relax =
                self.existing.is_none() && self.settings.min_values == MinValuesPolicy::BestEffort;
            if !short.is_empty() && !relax {
                return Err(JoinRefusal { for_good: false, reserved: false });
            }
            for (key, achieved) in short {
                joining.requirements = labels.with_min_values(joining.requirements, key, achieved);
                joining.min_values_relaxed = true;
            }
        }
        if terms.reservations {
            joining.reserved = self
                .to_reserve(&left, option, labels)
                .ok_or(JoinRefusal { for_good: false, reserved: true })?;
        }
        Ok(joining)
    }

    /// The reservations that a claim with these rows would hold; `None` if it must wait for one.
    fn to_reserve(self, rows: &Bits, option: ReqId, labels: &LabelSpace) -> Option<Vec<usize>> {
        let held = self.existing.map_or(&[][..], |claim| &claim.reserved);
        let mut compatible = false;
        let mut reserved = Vec::new();
        for row in rows.iter() {
            for (type_index, offering) in self.template.offerings(row, option, labels) {
                let info = &self.template.types[type_index];
                if !info.instance_type.offerings[offering].is_reserved() {
                    continue;
                }
                let id = self.reservations.id_of(info.offerings[offering], labels);
                let Some(id) = id else { continue };
                compatible |= self.reservations.may_be_free_again(id);
                if self.reservations.can_hold(held, id) && !reserved.contains(&id) {
                    reserved.push(id);
                }
            }
        }
        let must_wait = !self.settings.reserved_fallback
            && reserved.is_empty()
            && (compatible || !held.is_empty());
        (!must_wait).then_some(reserved)
    }
}

/// The ways to choose a claim's domains so that every group allows the pod.
pub(super) fn settle_domains(
    uses: &Uses,
    strict: ReqId,
    requirements: ReqId,
    choices: Choices,
    topology: &Topology,
    (zones, nodes): (&Zones<'_>, &Nodes<'_>),
    labels: &mut LabelSpace,
) -> Vec<ReqId> {
    let mut per_key: Vec<(Key, Bits, bool)> = Vec::new();
    for used in &uses.domains {
        let group = topology.group(used.group);
        let key = group.key();
        labels.work.count(1 + group.domain_count());
        let (required, instance) = (labels.get(strict, key), labels.get(requirements, key));
        let allowed = group.allowed(
            used.selects_self,
            |domain| labels.allows(key, required, domain),
            |domain| labels.allows(key, instance, domain),
        );
        let merged = match per_key.iter_mut().find(|(known, ..)| *known == key) {
            Some((_, domains, one)) => {
                *domains = domains.and(&allowed.domains);
                *one |= allowed.one;
                domains
            }
            None => {
                per_key.push((key, allowed.domains, allowed.one));
                &per_key[per_key.len() - 1].1
            }
        };
        if merged.is_empty() {
            return Vec::new();
        }
    }
    let mut options = vec![requirements];
    for (key, domains, one) in per_key {
        let mut next = Vec::new();
        for option in options {
            if one {
                let mut named: Vec<usize> = domains.iter().collect();
                zones.put_in_order(&mut named, (key, requirements), nodes, labels);
                if choices.last_domain {
                    named.reverse();
                }
                next.extend(named.into_iter().filter_map(|domain| labels.pin(option, key, domain)));
            } else {
                next.extend(labels.narrow(option, key, &domains));
            }
        }
        next.truncate(OPTIONS_MAX);
        options = next;
    }
    options
}

/// The number of volumes of each driver that a pod attaches.
pub(super) fn count_by_driver(pod: &Pod) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for volume in &pod.volumes.attached {
        *counts.entry(volume.driver.as_str()).or_default() += 1;
    }
    counts
}
