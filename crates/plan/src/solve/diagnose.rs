//! Why a pod found no place, pool by pool.
//!
//! Works on names rather than numbers, and only for classes that were refused, so it need not be fast.

use joiner_core::{
    label,
    pod::PodSpec,
    pool::{NodePool, Readiness},
    reason::{Reason, ReasonId},
    requirement::{Incompatible, Requirements},
    resources::PODS,
    taint::first_untolerated,
};

use super::{
    Refusal, Solver,
    bits::Bits,
    class::Variant,
    labels::{Key, ReqId},
    settle_domains,
    template::{RowSetId, template_requirements},
    topology::{Kind, Use},
};

/// How near a refusal is to acceptance: the further a pod gets, the nearer. The second number tells refusals of one kind
/// apart, in thousandths of what was missing.
type Nearness = (u8, i64);

impl<'s> Solver<'s> {
    /// The reasons of every pool, nearest miss first.
    pub(crate) fn reasons(&mut self, class: usize, refusal: Refusal) -> Vec<Reason> {
        if refusal == Refusal::Reserved {
            let reason = Reason::new(
                ReasonId::WaitingReservation,
                "one or more instance types with compatible reserved offerings are available, but could not be \
                 reserved; the pod waits until one is free",
            );
            return vec![reason];
        }
        let mut found: Vec<(Nearness, usize, Reason)> = Vec::new();
        for (order, pool) in self.pools_in_order().into_iter().enumerate() {
            if let Err((nearness, reason)) = self.verdict(class, pool) {
                found.push((nearness, order, reason.in_pool(&pool.name).with("nodePool", &pool.name)));
            }
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, _, reason)| reason).collect()
    }

    /// What a new machine of each pool would say to a pod.
    pub(crate) fn pool_verdicts(&mut self, pod: u32) -> Vec<(String, Option<Reason>)> {
        let class = self.classes.of_pod[pod as usize] as usize;
        let pools = self.pools_in_order();
        pools
            .into_iter()
            .map(|pool| {
                let refusal = self.verdict(class, pool).err();
                (pool.name.clone(), refusal.map(|(_, reason)| reason.in_pool(&pool.name)))
            })
            .collect()
    }

    /// Pools that pods can go to in the order they are tried, then the others that are not static.
    pub(crate) fn pools_in_order(&self) -> Vec<&'s NodePool> {
        let mut pools = self.snapshot.usable_pools();
        let others = self.snapshot.pools.iter();
        pools.extend(others.filter(|pool| !pool.is_static && pool.readiness != Readiness::Ready));
        pools
    }

    /// Whether a new machine of `pool` would take a pod of `class` that has given up all its preferences.
    pub(crate) fn verdict(&mut self, class: usize, pool: &NodePool) -> Result<(), (Nearness, Reason)> {
        match &pool.readiness {
            Readiness::Ready => {}
            Readiness::NotReady(why) => {
                return Err(((0, 0), Reason::new(ReasonId::PoolNotReady, format!("pool {:?} is not ready: {why}", pool.name))));
            }
            Readiness::Deleting => {
                let message = format!("pool {:?} is being deleted", pool.name);
                return Err(((0, 0), Reason::new(ReasonId::PoolNotReady, message)));
            }
        }
        let Some(template) = self.templates.iter().position(|template| template.pool.name == pool.name) else {
            let message = format!("pool {:?} has no instance types", pool.name);
            return Err(((1, 0), Reason::new(ReasonId::PoolNoTypes, message)));
        };
        if !self.usable[template] {
            let message = format!(
                "nodepool requirements filtered out all available instance types: nothing is left of the {} types of \
                 pool {:?}",
                self.templates[template].types.len(),
                pool.name
            );
            return Err(((1, 0), Reason::new(ReasonId::PoolNoTypes, message)));
        }
        let last = self.classes.all[class].variants.len() - 1;
        let spec = &*self.classes.all[class].example.spec;
        self.taints(class, last, pool)?;
        let joined = self.requirements(class, last, template)?;
        let rows = self.shapes(class, template, &joined)?;
        self.ports(spec, template)?;
        self.volumes(class, template, &rows)?;
        self.min_values(class, template, &joined)?;
        let options = self.domains(class, last, template, &joined)?;
        self.settled(class, template, &options)?;
        self.limits(class, template, &options, &rows)
    }

    fn taints(&self, class: usize, variant: usize, pool: &NodePool) -> Result<(), (Nearness, Reason)> {
        let tolerations = &self.classes.all[class].variants[variant].tolerations;
        let Some(taint) = first_untolerated(&pool.taints, tolerations) else { return Ok(()) };
        let reason = Reason::new(
            ReasonId::PoolTaintUntolerated,
            format!("did not tolerate taint {taint} of pool {:?}", pool.name),
        );
        Err(((2, 0), reason.with("taint", taint)))
    }

    /// What the template's requirements become, per alternative of the volumes.
    fn requirements(
        &mut self,
        class: usize,
        variant: usize,
        template: usize,
    ) -> Result<Vec<ReqId>, (Nearness, Reason)> {
        let own = template_requirements(self.templates[template].pool);
        let wanted = self.classes.all[class].variants[variant].wanted.strict;
        let well_known = &self.snapshot.catalog.well_known;
        if let Err(why) = own.compatible(&self.labels.decode(wanted), Some(well_known)) {
            return Err(self.incompatible(template, &why));
        }
        let Some(joined) = self.labels.join(self.templates[template].requirements, wanted) else {
            return Ok(Vec::new());
        };
        let alternatives = self.classes.all[class].volume_alternatives.clone();
        let joins: Vec<ReqId> =
            alternatives.iter().filter_map(|volumes| self.labels.join(joined, *volumes)).collect();
        if joins.is_empty() {
            let wanted: Vec<String> =
                alternatives.iter().map(|volumes| self.labels.decode(*volumes).to_string()).collect();
            let message = format!(
                "incompatible volume requirements: the pod's volumes need {}, which pool {:?} does not allow",
                wanted.join(" or "),
                self.templates[template].pool.name
            );
            return Err(((5, 0), Reason::new(ReasonId::ZoneVolume, message).with("volumes", wanted.join(" or "))));
        }
        Ok(joins)
    }

    fn incompatible(&self, template: usize, why: &Incompatible) -> (Nearness, Reason) {
        let pool = &self.templates[template].pool.name;
        let message = format!("incompatible requirements with pool {pool:?}: {why}");
        match why {
            Incompatible::Unknown { key, .. } => {
                ((3, 0), Reason::new(ReasonId::PoolLabelUnknown, message).with("key", key))
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

    /// The rows that the requirements leave, of which one must be large enough.
    fn shapes(&mut self, class: usize, template: usize, joined: &[ReqId]) -> Result<Bits, (Nearness, Reason)> {
        let mut rows = Bits::new();
        for option in joined {
            rows = rows.or(&self.templates[template].meeting(*option, &self.labels));
        }
        if rows.is_empty() {
            return Err(self.no_type_meets(template, joined));
        }
        let requests = &self.classes.all[class].requests;
        let template = &self.templates[template];
        if rows.iter().any(|row| template.room_of_row(row).iter().zip(requests).all(|(room, need)| need <= room)) {
            return Ok(rows);
        }
        Err(self.too_small(class, template.pool, &rows))
    }

    /// No type meets the requirements, or none that does is offered: says which.
    fn no_type_meets(&self, template: usize, joined: &[ReqId]) -> (Nearness, Reason) {
        let template = &self.templates[template];
        let wanted: Vec<Requirements> = joined.iter().map(|id| self.labels.decode(*id)).collect();
        let types = || template.types.iter().map(|info| info.instance_type);
        let meets = |wanted: &Requirements| types().any(|t| t.requirements.intersects(wanted).is_ok());
        let shown = |wanted: &Requirements| {
            let mut shown = wanted.clone();
            for assumed in [label::HOSTNAME, label::REGISTERED, label::INITIALIZED, label::NODE_POOL] {
                shown.remove(assumed);
            }
            shown.to_string()
        };
        let asked = wanted.first().map(shown).unwrap_or_default();
        if let Some(wanted) = wanted.iter().find(|wanted| meets(wanted)) {
            let message = format!(
                "no instance type of pool {:?} has the required offering: nothing that meets {} is available",
                template.pool.name,
                shown(wanted)
            );
            return ((7, 0), Reason::new(ReasonId::OfferingNone, message).with("requirements", shown(wanted)));
        }
        // The label that no type can satisfy on its own is the one to name.
        let culprit = wanted.first().and_then(|wanted| {
            wanted.iter().find(|(key, requirement)| {
                let offers = |t: &joiner_core::instance_type::InstanceType| {
                    t.requirements.get(key).is_none_or(|own| own.has_intersection(requirement))
                };
                !types().any(offers)
            })
        });
        let mut reason = Reason::new(
            ReasonId::PoolRequirementConflict,
            match culprit {
                Some((key, requirement)) => format!(
                    "no instance type of pool {:?} met all requirements: none has {key} {requirement}",
                    template.pool.name
                ),
                None => format!("no instance type of pool {:?} met all requirements: {asked}", template.pool.name),
            },
        );
        if let Some((key, requirement)) = culprit {
            reason = reason.with("key", key).with("wanted", requirement);
        }
        ((4, 0), reason)
    }

    /// Says of which resource the largest type has too little, and by how much.
    fn too_small(&self, class: usize, pool: &NodePool, rows: &Bits) -> (Nearness, Reason) {
        let class = &self.classes.all[class];
        let Some(template) = self.templates.iter().find(|template| template.pool.name == pool.name) else {
            return ((6, 0), Reason::new(ReasonId::ShapeTooSmall, "no instance type has enough resources"));
        };
        let largest = |column: usize| rows.iter().map(|row| template.room_of_row(row)[column]).max().unwrap_or(0);
        let short: Vec<(usize, i64, i64)> = (0..self.columns.len())
            .map(|column| (column, class.requests[column], largest(column)))
            .filter(|(_, need, room)| need > room)
            .collect();
        let Some((column, need, room)) = short.first().copied() else {
            let message = format!(
                "no instance type of pool {:?} has enough resources: each of {} is there, but no single type has all \
                 of it",
                pool.name, class.example.spec.requests
            );
            return ((6, -1), Reason::new(ReasonId::ShapeTooSmall, message));
        };
        let name = self.columns.name(column);
        let need_shown = class.example.spec.requests.get(name);
        let room_shown = self.columns.quantity(column, room.max(0), need_shown);
        let missing = need_shown - room_shown;
        let id = if name == PODS { ReasonId::ShapePodsMax } else { ReasonId::ShapeTooSmall };
        let message = if room <= 0 {
            format!("no instance type of pool {:?} has enough resources: none has {name}, the pod needs {need_shown}", pool.name)
        } else {
            let typo = if name == joiner_core::resources::CPU && need_shown.as_f64() >= 1e6 {
                " (CPU request >= 1 Million, m vs M typo?)"
            } else {
                ""
            };
            format!(
                "no instance type of pool {:?} has enough resources: the largest leaves {name} {room_shown} besides \
                 daemons, the pod needs {need_shown}, {missing} more{typo}",
                pool.name
            )
        };
        let nearness = -(i128::from(need - room) * 1000 / i128::from(need.max(1))) as i64;
        let reason = Reason::new(id, message)
            .with("resource", name)
            .with("requested", need_shown)
            .with("largest", room_shown)
            .with("missing", missing);
        ((6, nearness), reason)
    }

    fn ports(&mut self, spec: &PodSpec, template: usize) -> Result<(), (Nearness, Reason)> {
        let template = &mut self.templates[template];
        let rows = template.rows_with_ports(RowSetId::ALL, spec);
        if !template.row_set(rows).is_empty() {
            return Ok(());
        }
        let ports: Vec<String> = spec.host_ports.iter().map(ToString::to_string).collect();
        let message = format!(
            "a daemon has taken a host port on every machine of pool {:?}: the pod wants {}",
            template.pool.name,
            ports.join(", ")
        );
        Err(((7, 0), Reason::new(ReasonId::HostPortTaken, message).with("ports", ports.join(","))))
    }

    fn volumes(&self, class: usize, template: usize, rows: &Bits) -> Result<(), (Nearness, Reason)> {
        let attached = super::count_by_driver(self.classes.all[class].example);
        let template = &self.templates[template];
        let count = attached.iter().map(|(driver, count)| (*driver, *count));
        if !template.with_volumes(rows, count).is_empty() {
            return Ok(());
        }
        let wanted: Vec<String> = attached.iter().map(|(driver, n)| format!("{n} of {driver}")).collect();
        let message = format!(
            "no instance type of pool {:?} can attach the pod's volumes besides those of daemons: {}",
            template.pool.name,
            wanted.join(", ")
        );
        Err(((7, 0), Reason::new(ReasonId::VolumeLimit, message).with("volumes", wanted.join(","))))
    }

    fn min_values(&mut self, class: usize, template: usize, joined: &[ReqId]) -> Result<(), (Nearness, Reason)> {
        if self.settings.min_values == joiner_core::settings::MinValuesPolicy::BestEffort {
            return Ok(());
        }
        let requests = self.classes.all[class].requests.clone();
        let mut last = None;
        for option in joined {
            let template = &mut self.templates[template];
            let rows = template.remaining(*option, RowSetId::ALL, &requests, &self.labels);
            let short = template.short_of_min_values(*option, &template.types_of(&rows), &self.labels);
            let Some((key, achieved)) = short.first().copied() else { return Ok(()) };
            last = Some((key, achieved, *option));
        }
        let Some((key, achieved, option)) = last else { return Ok(()) };
        let name = self.labels.key_name(key);
        let min = self.labels.get(option, key).and_then(super::labels::Req::min_values).unwrap_or(0);
        let message = format!(
            "minValues requirement is not met for label {name:?}: pool {:?} wants {min} values, the types that fit the \
             pod have {achieved}",
            self.templates[template].pool.name
        );
        let reason = Reason::new(ReasonId::MinValuesUnmet, message)
            .with("key", name)
            .with("minValues", min)
            .with("achieved", achieved);
        Err(((8, 0), reason))
    }

    /// The ways in which the machine could settle for domains.
    fn domains(
        &mut self,
        class: usize,
        variant: usize,
        template: usize,
        joined: &[ReqId],
    ) -> Result<Vec<ReqId>, (Nearness, Reason)> {
        let variant: &Variant = &self.classes.all[class].variants[variant];
        for used in &variant.host_uses {
            if !self.topology.group(used.group).allows_new_host(used.selects_self) {
                return Err(((9, 0), self.topology_reason(*used, template)));
            }
        }
        let mut options = Vec::new();
        for requirements in joined {
            options.extend(settle_domains(variant, *requirements, &self.topology, &mut self.labels));
        }
        if !options.is_empty() {
            return Ok(options);
        }
        let strict = variant.wanted.strict;
        let culprit = variant.domain_uses.iter().copied().find(|used| {
            let group = self.topology.group(used.group);
            let key = group.key();
            let own = self.labels.get(strict, key);
            !joined.iter().any(|requirements| {
                let machine = self.labels.get(*requirements, key);
                let allowed = group.allowed(
                    used.selects_self,
                    |domain| self.labels.allows(key, own, domain),
                    |domain| self.labels.allows(key, machine, domain),
                );
                !allowed.domains.is_empty()
            })
        });
        let culprit = culprit.or_else(|| variant.domain_uses.first().copied());
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
            format!("; no machine has a value of {name}")
        } else {
            format!("; pods there now: {}", census.join(" "))
        };
        let selector = group.selector().map_or_else(|| "<nothing>".to_owned(), ToString::to_string);
        let (id, what) = match group.kind() {
            Kind::Spread { max_skew, .. } => (
                ReasonId::TopologySpread,
                format!("no domain of pool {pool:?} keeps {selector} spread over {name} within maxSkew {max_skew}"),
            ),
            Kind::Affinity => (
                ReasonId::AffinityUnmet,
                format!("no domain of pool {pool:?} has a pod with {selector} that this pod must share its {name} with"),
            ),
            Kind::AntiAffinity => (
                ReasonId::AntiAffinityBlocked,
                format!("every domain of pool {pool:?} may have a pod with {selector} that this pod must not share its {name} with"),
            ),
            Kind::KeptAway => (
                ReasonId::AntiAffinityBlocked,
                format!("every domain of pool {pool:?} may have a pod that keeps {selector} away from its {name}"),
            ),
        };
        Reason::new(id, format!("unsatisfiable topology constraint: {what}{there}"))
            .with("key", name)
            .with("selector", selector)
            .with("counts", census.join(","))
    }

    /// Whether a type that fits is offered in one of the domains the machine could settle for.
    fn settled(&mut self, class: usize, template: usize, options: &[ReqId]) -> Result<(), (Nearness, Reason)> {
        let requests = self.classes.all[class].requests.clone();
        let fits = options.iter().any(|option| {
            let rows = self.templates[template].remaining(*option, RowSetId::ALL, &requests, &self.labels);
            !rows.is_empty()
        });
        if fits {
            return Ok(());
        }
        let last = self.classes.all[class].variants.last();
        let settled = last.and_then(|variant| variant.domain_uses.first()).copied();
        Err(match settled {
            Some(used) => {
                let reason = self.topology_reason(used, template);
                let message = format!("{}; where the pod may go, no type that fits is offered", reason.message);
                ((9, 0), Reason { message, ..reason })
            }
            None => self.no_type_meets(template, options),
        })
    }

    fn limits(
        &mut self,
        class: usize,
        template: usize,
        options: &[ReqId],
        rows: &Bits,
    ) -> Result<(), (Nearness, Reason)> {
        let pool = self.templates[template].pool;
        let remaining = &mut self.remaining[template];
        if remaining.out_of_nodes() {
            let message = format!(
                "node limits have been exhausted for pool {:?}: it may have {} machines",
                pool.name,
                pool.limits.get(joiner_core::resources::NODES)
            );
            let reason = Reason::new(ReasonId::PoolLimitReached, message)
                .with("resource", joiner_core::resources::NODES)
                .with("limit", pool.limits.get(joiner_core::resources::NODES));
            return Err(((10, 0), reason));
        }
        let within = remaining.rows(&mut self.templates[template]).unwrap_or(RowSetId::ALL);
        let requests = self.classes.all[class].requests.clone();
        let fits = |solver: &mut Self, base| {
            options.iter().any(|option| {
                !solver.templates[template].remaining(*option, base, &requests, &solver.labels).is_empty()
            })
        };
        if fits(self, within) {
            return Ok(());
        }
        let types = self.templates[template].types_of(rows);
        let infos = types.iter().map(|t| &self.templates[template].types[*t]);
        let exceeded = infos.filter_map(|info| self.remaining[template].exceeded_by(info)).next();
        let mut reason = Reason::new(
            ReasonId::PoolLimitReached,
            format!("all available instance types exceed limits for pool {:?}", pool.name),
        );
        if let Some((column, left)) = exceeded {
            let name = self.columns.name(column);
            let limit = pool.limits.get(name);
            let left = self.columns.quantity(column, left, limit);
            reason.message = format!("{}: {left} is left of its limit of {name} {limit}", reason.message);
            reason = reason.with("resource", name).with("limit", limit).with("left", left);
        }
        Err(((10, 0), reason))
    }
}
