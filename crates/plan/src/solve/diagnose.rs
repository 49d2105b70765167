//! Why a pod has no place, pool by pool.
//!
//! This works on names rather than numbers, and only for refused classes, so it need not be fast.

mod lack;

use std::cmp::Reverse;

use joiner_core::{
    pod::{Pod, PodSpec},
    pool::{NodePool, Readiness},
    quantity::Quantity,
    reason::{Reason, ReasonId},
    requirement::{Incompatible, Requirements},
    resources::{CPU, NODES, PODS},
    settings::MinValuesPolicy,
    taint::first_untolerated,
};

use self::lack::{Lack, shown, types_lack};
use super::{
    Refusal, Solver, Usable,
    bits::Bits,
    class::Variant,
    join::{count_by_driver, settle_domains},
    labels::{Key, ReqId},
    template::{RowSetId, template_requirements},
    topology::{Kind, Use},
};
use crate::work::used_up;

/// How near a refusal is to acceptance: the more checks a pod passes, the nearer. The second number orders refusals
/// of one kind, in thousandths of the missing amount.
type Nearness = (u8, i64);

/// A refusal with its nearness.
type Refused = (Nearness, Reason);

impl<'s> Solver<'s> {
    /// The reasons of every pool, nearest miss first.
    pub(crate) fn reasons(&mut self, pod: u32, refusal: Refusal) -> Vec<Reason> {
        match refusal {
            Refusal::NoPlace => {}
            Refusal::Reserved => return vec![waiting_for_reservation()],
            Refusal::UsedUp => return vec![used_up()],
        }
        let verdicts = self.pool_verdicts(pod);
        verdicts.into_iter().filter_map(|(_, refusal)| refusal).collect()
    }

    /// Whether a new instance of each pool would take a pod. Pools that would take it come first, in the order they
    /// are tried; the others follow, nearest miss first.
    pub(crate) fn pool_verdicts(&mut self, pod: u32) -> Vec<(String, Option<Reason>)> {
        let pools = self.pools_in_order();
        let mut verdicts: Vec<(&NodePool, Option<Refused>)> =
            pools.into_iter().map(|pool| (pool, self.verdict(pod, pool).err())).collect();
        verdicts
            .sort_by_key(|(_, refused)| refused.as_ref().map(|(nearness, _)| Reverse(*nearness)));
        let named = |(pool, refused): (&NodePool, Option<Refused>)| {
            let refusal = refused.map(|(_, reason)| reason.in_pool(&pool.name));
            (pool.name.clone(), refusal)
        };
        verdicts.into_iter().map(named).collect()
    }

    /// The reasons why pools cannot create instances, by pool name.
    pub(crate) fn unusable_pools(&self) -> Vec<Reason> {
        let mut pools = self.pools_in_order();
        pools.sort_by(|left, right| left.name.cmp(&right.name));
        pools
            .into_iter()
            .filter_map(|pool| Some(self.usable_template(pool).err()?.1.in_pool(&pool.name)))
            .collect()
    }

    /// Usable pools in the order they are tried, then the others that are not static.
    fn pools_in_order(&self) -> Vec<&'s NodePool> {
        let mut pools = self.snapshot.usable_pools();
        let others = self.snapshot.pools.iter();
        let mut others: Vec<&NodePool> =
            others.filter(|pool| !pool.is_static && pool.readiness != Readiness::Ready).collect();
        others.sort_by(|left, right| left.name.cmp(&right.name));
        pools.extend(others);
        pools
    }

    /// Whether a new instance of `pool` would take a pod that has given up all its preferences. The refusal is the
    /// first check that no type passes.
    fn verdict(&mut self, pod: u32, pool: &NodePool) -> Result<(), Refused> {
        let template = self.usable_template(pool)?;
        let class = self.classes.of_pod[pod as usize] as usize;
        let pod = self.pods.get(pod);
        let Some(last) = self.last_variant(class) else {
            return Err(((0, 0), contradiction()));
        };
        self.taints(&last, pool)?;
        let joined = self.requirements(&last, template)?;
        let rows = self.large_enough(class, template, &joined)?;
        let rows = self.with_ports(&pod.spec, template, &rows)?;
        let rows = self.with_volumes(pod, template, &rows)?;
        self.min_values(template, &joined, &rows)?;
        let options = self.domains(&last, template, &joined)?;
        self.settled(class, template, &options, &rows)?;
        self.limits(template, &options, &rows)?;
        match self.join(pod, class, template, None, &options) {
            Ok(_) => Ok(()),
            Err(refusal) if refusal.reserved => Err(((11, 0), waiting_for_reservation())),
            Err(_) => {
                let message =
                    format!("no instance type of pool {:?} meets everything at once", pool.name);
                Err(((10, 0), Reason::new(ReasonId::ShapeTooSmall, message)))
            }
        }
    }

    /// The least demanding of the variants that any node could satisfy.
    fn last_variant(&mut self, class_index: usize) -> Option<Variant> {
        let Self { classes, labels, .. } = self;
        let class = &mut classes.all[class_index];
        let form = class.last_possible(labels)?;
        let uses = class.uses(form, class.variants(form) - 1, &labels.work);
        Some(Variant { class: class_index, form, uses })
    }

    /// The template of a pool that can create instances.
    fn usable_template(&self, pool: &NodePool) -> Result<usize, Refused> {
        let not_ready = |why: String| Err(((0, 0), Reason::new(ReasonId::PoolNotReady, why)));
        match &pool.readiness {
            Readiness::Ready => {}
            Readiness::NotReady(why) => {
                return not_ready(format!("pool {:?} is not ready: {why}", pool.name));
            }
            Readiness::Deleting => {
                return not_ready(format!("pool {:?} is being deleted", pool.name));
            }
        }
        let no_types = |why: String| Err(((1, 0), Reason::new(ReasonId::PoolNoTypes, why)));
        let Some(index) =
            self.templates.iter().position(|template| template.pool.name == pool.name)
        else {
            return no_types(format!("pool {:?} has no instance types", pool.name));
        };
        let template = &self.templates[index];
        match &self.usable[index] {
            Usable::Contradiction(key) => no_types(format!(
                "nodepool requirements filtered out all available instance types: pool {:?} sets the label {key:?} to a \
                 value that its own requirements rule out",
                pool.name
            )),
            Usable::NoTypes => Err(self.nothing_left(index)),
            Usable::ShortOfMinValues(key, achieved) if !self.makes_instances(index) => {
                Err(self.short_of_min_values(index, template.requirements, *key, *achieved))
            }
            Usable::Yes | Usable::ShortOfMinValues(..) => Ok(index),
        }
    }

    /// The reason why a pool's own requirements exclude all its types.
    fn nothing_left(&self, template: usize) -> Refused {
        let wanted = self.labels.decode(self.templates[template].requirements);
        let template = &self.templates[template];
        let (pool, types) = (&template.pool.name, template.types.len());
        let culprit = types_lack(template, &wanted);
        let why = match &culprit {
            Some(Lack { key, wanted, offered }) => {
                format!(
                    "none of the {types} types of pool {pool:?} has {key} {wanted}; on offer: {offered}"
                )
            }
            None => format!(
                "of the {types} types of pool {pool:?} none that is available has all of {}",
                shown(template.pool, &wanted)
            ),
        };
        let message =
            format!("nodepool requirements filtered out all available instance types: {why}");
        let reason = Reason::new(ReasonId::PoolNoTypes, message);
        let reason = match culprit {
            Some(lack) => lack.told(reason),
            None => reason,
        };
        ((1, 0), reason)
    }

    fn taints(&self, variant: &Variant, pool: &NodePool) -> Result<(), Refused> {
        let tolerations = &self.classes.all[variant.class].tolerance(variant.form).tolerations;
        let Some(taint) = first_untolerated(&pool.taints, tolerations) else { return Ok(()) };
        let reason = Reason::new(
            ReasonId::PoolTaintUntolerated,
            format!("did not tolerate taint {taint} of pool {:?}", pool.name),
        );
        Err(((2, 0), reason.with("taint", taint)))
    }

    /// The template's requirements joined with the pod's, for each alternative of the volumes.
    fn requirements(&mut self, variant: &Variant, template: usize) -> Result<Vec<ReqId>, Refused> {
        let offered = template_requirements(self.templates[template].pool);
        let class = variant.class;
        let wanted = self.classes.all[class].form(variant.form, &mut self.labels).wanted.strict;
        let well_known = &self.snapshot.catalog.well_known;
        if let Err(why) = offered.compatible(&self.labels.decode(wanted), Some(well_known)) {
            return Err(self.incompatible(template, &why));
        }
        let Some(joined) = self.labels.join(self.templates[template].requirements, wanted) else {
            return Ok(Vec::new());
        };
        let alternatives = self.classes.all[class].volume_alternatives.clone();
        let joins: Vec<ReqId> =
            alternatives.iter().filter_map(|volumes| self.labels.join(joined, *volumes)).collect();
        if joins.is_empty() {
            return Err(self.zone_volume(template, &alternatives));
        }
        Ok(joins)
    }

    fn incompatible(&self, template: usize, why: &Incompatible) -> Refused {
        let pool = &self.templates[template].pool.name;
        let message = format!("incompatible requirements with pool {pool:?}: {why}");
        match why {
            Incompatible::Unknown { key, like } => {
                let reason = Reason::new(ReasonId::PoolLabelUnknown, message).with("key", key);
                let reason = match like {
                    Some(like) => reason.with("like", like),
                    None => reason,
                };
                ((3, 0), reason)
            }
            Incompatible::Conflict { key, wanted, offered } => (
                (4, 0),
                Reason::new(ReasonId::PoolRequirementConflict, message)
                    .with("key", key)
                    .with("wanted", wanted)
                    .with("offered", offered),
            ),
        }
    }

    /// The rows that satisfy the requirements and are large enough.
    fn large_enough(
        &mut self,
        class: usize,
        template: usize,
        joined: &[ReqId],
    ) -> Result<Bits, Refused> {
        let mut rows = Bits::new();
        for option in joined {
            rows = rows.or(&self.templates[template].meeting(*option, &self.labels));
        }
        if rows.is_empty() {
            return Err(self.no_type_meets(class, template, joined));
        }
        let requests = &self.classes.all[class].requests;
        let room = |row| self.templates[template].room_of_row(row).iter();
        let fitting = rows.filtered(|row| room(row).zip(requests).all(|(room, need)| need <= room));
        if fitting.is_empty() { Err(self.too_small(class, template, &rows)) } else { Ok(fitting) }
    }

    /// The reason why no type satisfies the requirements, or why none that does is available.
    fn no_type_meets(&mut self, class: usize, template: usize, joined: &[ReqId]) -> Refused {
        if let Some(refused) = self.volumes_elsewhere(class, template) {
            return refused;
        }
        let template = &self.templates[template];
        let wanted: Vec<Requirements> = joined.iter().map(|id| self.labels.decode(*id)).collect();
        let types = || template.types.iter().map(|info| info.instance_type);
        let meets = |wanted: &Requirements| {
            types().any(|instance_type| instance_type.requirements.intersects(wanted).is_ok())
        };
        let shown = |wanted: &Requirements| shown(template.pool, wanted);
        let asked = wanted.first().map(shown).unwrap_or_default();
        if let Some(wanted) = wanted.iter().find(|wanted| meets(wanted)) {
            let message = format!(
                "no instance type of pool {:?} has the required offering: nothing that meets {} is available",
                template.pool.name,
                shown(wanted)
            );
            return (
                (7, 0),
                Reason::new(ReasonId::OfferingNone, message).with("requirements", shown(wanted)),
            );
        }
        let culprit = wanted.first().and_then(|wanted| types_lack(template, wanted));
        let reason = Reason::new(
            ReasonId::PoolRequirementConflict,
            match &culprit {
                Some(Lack { key, wanted, offered }) => format!(
                    "no instance type of pool {:?} met all requirements: none has {key} {wanted}; on offer: {offered}",
                    template.pool.name
                ),
                None => format!(
                    "no instance type of pool {:?} met all requirements: {asked}",
                    template.pool.name
                ),
            },
        );
        let reason = match culprit {
            Some(lack) => lack.told(reason),
            None => reason,
        };
        ((4, 0), reason)
    }

    /// The refusal if types would fit with the volumes in another place.
    fn volumes_elsewhere(&mut self, class: usize, template: usize) -> Option<Refused> {
        let class = &mut self.classes.all[class];
        let wanted = class.form(class.forms() - 1, &mut self.labels).wanted.strict;
        let alternatives = class.volume_alternatives.clone();
        let without = self.labels.join(self.templates[template].requirements, wanted)?;
        let offered = !self.templates[template].meeting(without, &self.labels).is_empty();
        (offered && alternatives != [ReqId::ANY]).then(|| self.zone_volume(template, &alternatives))
    }

    fn zone_volume(&self, template: usize, alternatives: &[ReqId]) -> Refused {
        let wanted: Vec<String> =
            alternatives.iter().map(|volumes| self.labels.decode(*volumes).to_string()).collect();
        let wanted = wanted.join(" or ");
        let message = format!(
            "incompatible volume requirements: the pod's volumes need {wanted}, where pool {:?} has no instances",
            self.templates[template].pool.name
        );
        ((5, 0), Reason::new(ReasonId::ZoneVolume, message).with("volumes", wanted))
    }

    /// The reason that names the resource of which the largest type has too little.
    fn too_small(&self, class: usize, template: usize, rows: &Bits) -> Refused {
        let class = &self.classes.all[class];
        let template = &self.templates[template];
        let pool = &template.pool.name;
        let largest = |column: usize| {
            rows.iter().map(|row| template.room_of_row(row)[column]).max().unwrap_or(0)
        };
        let lacking = |(column, need, room): (usize, i64, i64)| {
            let share = i128::from(need - room) * 1000 / i128::from(need.max(1));
            (i64::try_from(share).unwrap_or(i64::MAX), column, room)
        };
        // Of several resources, the one with the largest relative shortage is named.
        let worst = (0..self.columns.len())
            .map(|column| (column, class.requests[column], largest(column)))
            .filter(|(_, need, room)| need > room)
            .map(lacking)
            .max_by_key(|(share, column, _)| (*share, Reverse(self.columns.name(*column))));
        let Some((share, column, room)) = worst else {
            let message = format!(
                "no instance type of pool {pool:?} has enough resources: each of {} is there, but no single type has \
                 all of it",
                class.example.spec.requests
            );
            return ((6, -1), Reason::new(ReasonId::ShapeTooSmall, message));
        };
        let requests = &class.example.spec.requests;
        let name = self.columns.name_in(column, requests);
        let need = requests.get(name);
        // Printed in the unit that the types use, because the pod does not request this resource.
        let offered = template.types.first().map(|info| info.instance_type.capacity.get(name));
        let like = if need == Quantity::ZERO { offered.unwrap_or(need) } else { need };
        let left = self.columns.quantity(column, room.max(0), like);
        let missing = need - self.columns.quantity(column, room, like);
        let id = if name == PODS { ReasonId::ShapePodsMax } else { ReasonId::ShapeTooSmall };
        let anywhere = template
            .types_of(rows)
            .iter()
            .any(|position| template.types[*position].capacity[column] > 0);
        let message = if anywhere {
            let typo = if name == CPU && need.as_f64() >= 1e6 {
                " (CPU request >= 1 Million, m vs M typo?)"
            } else {
                ""
            };
            format!(
                "no instance type of pool {pool:?} has enough resources: the largest leaves {name} {left} besides \
                 daemons, the pod needs {need}, {missing} more{typo}"
            )
        } else {
            format!(
                "no instance type of pool {pool:?} has enough resources: none has {name}, the pod needs {need}"
            )
        };
        let reason = Reason::new(id, message)
            .with("resource", name)
            .with("requested", need)
            .with("largest", left)
            .with("missing", missing);
        ((6, -share), reason)
    }

    fn with_ports(
        &mut self,
        spec: &PodSpec,
        template: usize,
        rows: &Bits,
    ) -> Result<Bits, Refused> {
        let template = &mut self.templates[template];
        let free = template.rows_with_ports(RowSetId::ALL, spec);
        let left = rows.and(template.row_set(free));
        if !left.is_empty() {
            return Ok(left);
        }
        let ports: Vec<String> = spec.host_ports.iter().map(ToString::to_string).collect();
        let message = format!(
            "a daemon has taken a host port on every instance of pool {:?} that would fit: the pod wants {}",
            template.pool.name,
            ports.join(", ")
        );
        Err(((7, 0), Reason::new(ReasonId::HostPortTaken, message).with("ports", ports.join(","))))
    }

    fn with_volumes(&self, pod: &Pod, template: usize, rows: &Bits) -> Result<Bits, Refused> {
        let attached = count_by_driver(pod);
        let template = &self.templates[template];
        let left = template.with_volumes(rows, &attached);
        if !left.is_empty() {
            return Ok(left);
        }
        let wanted: Vec<String> =
            attached.iter().map(|(driver, count)| format!("{count} of {driver}")).collect();
        let message = format!(
            "no instance type of pool {:?} that would fit can attach the pod's volumes besides those of daemons: {}",
            template.pool.name,
            wanted.join(", ")
        );
        Err(((7, 0), Reason::new(ReasonId::VolumeLimit, message).with("volumes", wanted.join(","))))
    }

    fn min_values(
        &mut self,
        template: usize,
        joined: &[ReqId],
        rows: &Bits,
    ) -> Result<(), Refused> {
        if self.settings.min_values == MinValuesPolicy::BestEffort {
            return Ok(());
        }
        let mut refused = None;
        for option in joined {
            let left = self.templates[template].meeting(*option, &self.labels).and(rows);
            let types = self.templates[template].types_of(&left);
            let short = self.templates[template].short_of_min_values(*option, &types, &self.labels);
            let Some((key, achieved)) = short.first() else { return Ok(()) };
            refused = Some(self.short_of_min_values(template, *option, *key, *achieved));
        }
        refused.map_or(Ok(()), Err)
    }

    fn short_of_min_values(
        &self,
        template: usize,
        requirements: ReqId,
        key: Key,
        achieved: u32,
    ) -> Refused {
        let name = self.labels.key_name(key);
        let min = self
            .labels
            .get(requirements, key)
            .and_then(super::labels::Req::min_values)
            .unwrap_or(0);
        let message = format!(
            "minValues requirement is not met for label {name:?}: pool {:?} wants {min} values, the types that would \
             fit have {achieved}",
            self.templates[template].pool.name
        );
        let reason = Reason::new(ReasonId::MinValuesUnmet, message)
            .with("key", name)
            .with("minValues", min)
            .with("achieved", achieved);
        ((8, 0), reason)
    }

    /// The ways to choose the domains of the instance.
    fn domains(
        &mut self,
        variant: &Variant,
        template: usize,
        joined: &[ReqId],
    ) -> Result<Vec<ReqId>, Refused> {
        let form = self.classes.all[variant.class].form(variant.form, &mut self.labels);
        let strict = form.wanted.strict;
        for used in &variant.uses.hosts {
            if !self.topology.group(used.group).allows_new_host(used.selects_self) {
                return Err(((9, 0), self.topology_reason(*used, template)));
            }
        }
        let mut options = Vec::new();
        for requirements in joined {
            options.extend(settle_domains(
                &variant.uses,
                strict,
                *requirements,
                self.choices,
                &self.topology,
                (&self.zones, &self.nodes),
                &mut self.labels,
            ));
        }
        if !options.is_empty() {
            return Ok(options);
        }
        let culprit = variant.uses.domains.iter().copied().find(|used| {
            let group = self.topology.group(used.group);
            let key = group.key();
            let required = self.labels.get(strict, key);
            !joined.iter().any(|requirements| {
                let instance = self.labels.get(*requirements, key);
                let allowed = group.allowed(
                    used.selects_self,
                    |domain| self.labels.allows(key, required, domain),
                    |domain| self.labels.allows(key, instance, domain),
                );
                !allowed.domains.is_empty()
            })
        });
        let culprit = culprit.or_else(|| variant.uses.domains.first().copied());
        match culprit {
            Some(used) => Err(((9, 0), self.topology_reason(used, template))),
            None => Ok(options),
        }
    }

    fn topology_reason(&self, used: Use, template: usize) -> Reason {
        const SHOWN: usize = 10;
        let group = self.topology.group(used.group);
        let (key, pool) = (group.key(), &self.templates[template].pool.name);
        let name = self.labels.key_name(key);
        let census: Vec<String> = group
            .census()
            .take(SHOWN)
            .map(|(domain, count)| format!("{}={count}", self.labels.value_name(key, domain)))
            .collect();
        let there = if key == Key::HOSTNAME {
            String::new()
        } else if census.is_empty() {
            format!("; no instance has a value of {name}")
        } else {
            format!("; pods there now: {}", census.join(" "))
        };
        let selector = group.selector().map_or_else(|| "<nothing>".to_owned(), ToString::to_string);
        let (id, what) = match group.kind() {
            Kind::Spread { max_skew, .. } => (
                ReasonId::TopologySpread,
                format!(
                    "no domain of pool {pool:?} keeps {selector} spread over {name} within maxSkew {max_skew}"
                ),
            ),
            Kind::Affinity => (
                ReasonId::AffinityUnmet,
                format!(
                    "no domain of pool {pool:?} has a pod with {selector} that this pod must share its {name} with"
                ),
            ),
            Kind::AntiAffinity => (
                ReasonId::AntiAffinityBlocked,
                format!(
                    "every domain of pool {pool:?} may have a pod with {selector} that this pod must not share its {name} with"
                ),
            ),
            Kind::KeptAway => (
                ReasonId::AntiAffinityBlocked,
                format!(
                    "every domain of pool {pool:?} may have a pod that keeps {selector} away from its {name}"
                ),
            ),
        };
        Reason::new(id, format!("unsatisfiable topology constraint: {what}{there}"))
            .with("key", name)
            .with("selector", selector)
            .with("counts", census.join(","))
    }

    /// Whether a type that fits is offered in one of the domains that can be chosen.
    fn settled(
        &mut self,
        class: usize,
        template: usize,
        options: &[ReqId],
        rows: &Bits,
    ) -> Result<(), Refused> {
        let offered = |option: &ReqId| {
            self.templates[template].meeting(*option, &self.labels).intersects(rows)
        };
        if options.iter().any(offered) {
            return Ok(());
        }
        let settled =
            self.classes.all[class].strict_uses(&self.labels.work).domains.first().copied();
        Err(match settled {
            Some(used) => {
                let reason = self.topology_reason(used, template);
                let message = format!(
                    "{}; where the pod may go, no type that fits is offered",
                    reason.message
                );
                ((9, 0), Reason { message, ..reason })
            }
            None => self.no_type_meets(class, template, options),
        })
    }

    fn limits(&mut self, template: usize, options: &[ReqId], rows: &Bits) -> Result<(), Refused> {
        let pool = self.templates[template].pool;
        let Some(within) = self.remaining[template].rows(&mut self.templates[template]) else {
            let limit = pool.limits.get(NODES);
            let message = format!(
                "node limits have been exhausted for pool {:?}: it may have {limit} instances",
                pool.name
            );
            let reason = Reason::new(ReasonId::PoolLimitReached, message);
            return Err(((10, 0), reason.with("resource", NODES).with("limit", limit)));
        };
        let within = rows.and(self.templates[template].row_set(within));
        let offered = |option: &ReqId| {
            self.templates[template].meeting(*option, &self.labels).intersects(&within)
        };
        if options.iter().any(offered) {
            return Ok(());
        }
        let template_types = &self.templates[template];
        let mut infos = template_types
            .types_of(rows)
            .into_iter()
            .map(|position| &template_types.types[position]);
        let exceeded = infos.find_map(|info| self.remaining[template].exceeded_by(info));
        let mut reason = Reason::new(
            ReasonId::PoolLimitReached,
            format!("all available instance types exceed limits for pool {:?}", pool.name),
        );
        if let Some((column, left)) = exceeded {
            let name = self.columns.name(column);
            let limit = pool.limits.get(name);
            let left = self.columns.quantity(column, left, limit);
            reason.message =
                format!("{}: {left} is left of its limit of {name} {limit}", reason.message);
            reason = reason.with("resource", name).with("limit", limit).with("left", left);
        }
        Err(((10, 0), reason))
    }
}

/// The reason of a pod with requirements that no node can satisfy.
pub(crate) fn contradiction() -> Reason {
    Reason::new(
        ReasonId::PodSelectorInvalid,
        "spec.nodeSelector and spec.affinity.nodeAffinity contradict each other: no value of a label \
         meets all that they require of it",
    )
}

fn waiting_for_reservation() -> Reason {
    Reason::new(
        ReasonId::WaitingReservation,
        "one or more instance types with compatible reserved offerings are available, but could not be reserved; the \
         pod waits until one is free",
    )
}
