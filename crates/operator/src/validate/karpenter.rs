//! The kinds whose CRDs Joiner serves.

use joiner_api::{
    capacity_buffer::CapacityBuffer,
    duration::{Duration, NillableDuration},
    node_claim::NodeClaim,
    node_class_reference::NodeClassReference,
    node_overlay::NodeOverlay,
    node_pool::{Budget, Disruption, NodePool},
    requirement::Requirement,
};
use joiner_core::resources::NODES;
use joiner_plan::overlay::PriceChange;

use super::{Invalid, Sign, Validate, Within, each, one_of, quantities, taint};

/// What a pool's `minValues` may be, by the CRD.
const MIN_VALUES: std::ops::RangeInclusive<i64> = 1..=50;

impl Validate for NodePool {
    fn validate(&self) -> Result<(), Invalid> {
        let spec = &self.spec;
        let template = &spec.template.spec;
        let Some(class) = &template.node_class_ref else {
            let problem = "is missing; write {group: ..., kind: ..., name: ...} of a NodeClass";
            return Err(Invalid::new("spec.template.spec.nodeClassRef", problem));
        };
        node_class(class).within("spec.template.spec.nodeClassRef")?;
        each("requirements", &template.requirements, requirement).within("spec.template.spec")?;
        each("taints", template.taints.iter().flatten(), taint).within("spec.template.spec")?;
        each("startupTaints", template.startup_taints.iter().flatten(), taint)
            .within("spec.template.spec")?;
        let expires = template.expire_after.as_ref().map(NillableDuration::as_str);
        duration("expireAfter", expires).within("spec.template.spec")?;
        let grace = template.termination_grace_period.as_ref().map(Duration::as_str);
        duration("terminationGracePeriod", grace).within("spec.template.spec")?;
        spec.disruption.as_ref().map_or(Ok(()), disruption).within("spec.disruption")?;
        quantities("spec.limits", Some(&spec.limits), Sign::NotNegative)?;
        if let Some(weight) = spec.weight.filter(|weight| !(1..=100).contains(weight)) {
            return Err(Invalid::new("spec.weight", format!("is {weight}; write 1 to 100")));
        }
        if let Some(replicas) = spec.replicas {
            return fixed_size(self, replicas);
        }
        Ok(())
    }
}

fn disruption(disruption: &Disruption) -> Result<(), Invalid> {
    if let Some(policy) = &disruption.consolidation_policy {
        let known = ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"];
        one_of("consolidationPolicy", policy, &known)?;
    }
    let after = disruption.consolidate_after.as_ref().map(NillableDuration::as_str);
    duration("consolidateAfter", after)?;
    each("budgets", disruption.budgets.iter().flatten(), budget)
}

/// Whether a schedule is one is found out when its time is looked for: the CRD does not know either.
fn budget(budget: &Budget) -> Result<(), Invalid> {
    if let Some(nodes) = budget.nodes.as_deref().filter(|nodes| !is_number_of_nodes(nodes)) {
        let problem = format!("is {nodes:?}; write a number, or a percentage from 0% to 100%");
        return Err(Invalid::new("nodes", problem));
    }
    each("reasons", budget.reasons.iter().flatten(), |reason| {
        one_of("", reason, &["Underutilized", "Empty", "Drifted", "Unhealthy"])
    })?;
    match (&budget.schedule, &budget.duration) {
        (Some(_), None) => {
            Err(Invalid::new("duration", "is missing; a schedule needs one, such as 8h"))
        }
        (None, Some(_)) => {
            Err(Invalid::new("schedule", "is missing; a duration needs one, such as 0 9 * * *"))
        }
        (_, Some(duration)) if !is_in_hours_and_minutes(duration.as_str()) => {
            let problem = format!("is {duration}; write hours and minutes, such as 8h or 1h30m");
            Err(Invalid::new("duration", problem))
        }
        _ => Ok(()),
    }
}

/// Durations that are read are those that Go knows; the CRD allows whole hours, minutes and seconds alone.
fn duration(field: &str, text: Option<&str>) -> Result<(), Invalid> {
    let is_whole = |text: &str| {
        let mut parts = text.split_inclusive(['h', 'm', 's']);
        parts.all(|part| part.strip_suffix(['h', 'm', 's']).is_some_and(is_number))
    };
    match text.filter(|text| *text != "Never" && !is_whole(text)) {
        None => Ok(()),
        Some(text) => {
            let problem =
                format!("is {text:?}; write whole hours, minutes and seconds, such as 1h30m");
            Err(Invalid::new(field, problem))
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_number_of_nodes(text: &str) -> bool {
    match text.strip_suffix('%') {
        Some(percent) => percent == "100" || (is_number(percent) && percent.len() <= 2),
        None => is_number(text),
    }
}

fn is_in_hours_and_minutes(text: &str) -> bool {
    let text = text.strip_suffix("0s").unwrap_or(text);
    let are_minutes = |text: &str| text.strip_suffix('m').is_some_and(is_number);
    match text.split_once('h') {
        Some((hours, rest)) => is_number(hours) && (rest.is_empty() || are_minutes(rest)),
        None => are_minutes(text),
    }
}

/// A pool that keeps a number of instances knows neither weight nor other limits.
fn fixed_size(pool: &NodePool, replicas: i64) -> Result<(), Invalid> {
    if replicas < 0 {
        return Err(Invalid::new("spec.replicas", format!("is {replicas}; write 0 or more")));
    }
    if pool.spec.weight.is_some() {
        return Err(Invalid::new("spec.weight", "has no meaning with replicas; remove one"));
    }
    match pool.spec.limits.keys().find(|name| *name != NODES) {
        Some(name) => Err(Invalid::new(
            format!("spec.limits.{name}"),
            "has no meaning with replicas; limit nodes, or remove replicas",
        )),
        None => Ok(()),
    }
}

fn node_class(class: &NodeClassReference) -> Result<(), Invalid> {
    for (field, text) in [("group", &class.group), ("kind", &class.kind), ("name", &class.name)] {
        if text.is_empty() {
            return Err(Invalid::new(field, "is missing; name the NodeClass fully"));
        }
    }
    if class.group.contains('/') {
        return Err(Invalid::new("group", "contains a version; write the group alone"));
    }
    Ok(())
}

fn requirement(requirement: &Requirement) -> Result<(), Invalid> {
    let Requirement { key, operator, values, min_values } = requirement;
    if key.is_empty() {
        return Err(Invalid::new("key", "is empty; name a label"));
    }
    one_of(
        "operator",
        operator,
        &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"],
    )?;
    match operator.as_str() {
        "In" if values.is_empty() => {
            return Err(Invalid::new("values", "is empty; In needs values"));
        }
        "Gt" | "Lt" | "Gte" | "Lte" => match values.as_slice() {
            [value] if value.parse::<i64>().is_ok_and(|number| number >= 0) => {}
            _ => {
                let problem = format!("{operator} needs one whole number of 0 or more");
                return Err(Invalid::new("values", problem));
            }
        },
        _ => {}
    }
    let Some(min) = min_values else { return Ok(()) };
    if !MIN_VALUES.contains(min) {
        let (least, most) = (MIN_VALUES.start(), MIN_VALUES.end());
        return Err(Invalid::new("minValues", format!("is {min}; write {least} to {most}")));
    }
    let count = values.len();
    if operator == "In" && (count as i64) < *min {
        let problem = format!("is {min}, but there are {count} values; add values or lower it");
        return Err(Invalid::new("minValues", problem));
    }
    Ok(())
}

impl Validate for NodeClaim {
    fn validate(&self) -> Result<(), Invalid> {
        let spec = &self.spec;
        each("requirements", &spec.requirements, requirement).within("spec")?;
        each("taints", &spec.taints, taint).within("spec")?;
        each("startupTaints", &spec.startup_taints, taint).within("spec")?;
        let requests = spec.resources.as_ref().map(|resources| &resources.requests);
        quantities("spec.resources.requests", requests, Sign::NotNegative)?;
        let Some(status) = &self.status else { return Ok(()) };
        quantities("status.capacity", Some(&status.capacity), Sign::Any)?;
        quantities("status.allocatable", Some(&status.allocatable), Sign::Any)
    }
}

impl Validate for NodeOverlay {
    fn validate(&self) -> Result<(), Invalid> {
        let spec = &self.spec;
        each("requirements", &spec.requirements, |written| {
            if written.operator == "NotIn" && written.values.is_empty() {
                return Err(Invalid::new("values", "is empty; NotIn needs values"));
            }
            requirement(written)
        })
        .within("spec")?;
        quantities("spec.capacity", Some(&spec.capacity), Sign::NotNegative)?;
        if spec.price.is_some() && spec.price_adjustment.is_some() {
            let problem = "cannot be combined with price; remove one";
            return Err(Invalid::new("spec.priceAdjustment", problem));
        }
        let change = |field: &str, text: Option<&String>, is_right: fn(&PriceChange) -> bool| {
            let Some(text) = text else { return Ok(()) };
            match text.parse::<PriceChange>() {
                Ok(change) if is_right(&change) => Ok(()),
                Ok(_) => Err(Invalid::new(
                    field,
                    format!("is {text:?}; a price has no sign, a change has one"),
                )),
                Err(error) => Err(Invalid::new(field, error.to_string())),
            }
        };
        change("spec.price", spec.price.as_ref(), |c| matches!(c, PriceChange::Set(_)))?;
        change("spec.priceAdjustment", spec.price_adjustment.as_ref(), |c| {
            !matches!(c, PriceChange::Set(_))
        })?;
        match spec.price_adjustment.as_deref().map(str::parse) {
            Some(Ok(PriceChange::AddPercent(percent))) if percent < -100.0 => {
                let problem = format!("is {percent}%; no price falls by more than -100%");
                Err(Invalid::new("spec.priceAdjustment", problem))
            }
            _ => Ok(()),
        }
    }
}

impl Validate for CapacityBuffer {
    fn validate(&self) -> Result<(), Invalid> {
        let spec = &self.spec;
        quantities("spec.limits", Some(&spec.limits), Sign::NotNegative)?;
        for (field, number) in [("replicas", spec.replicas), ("percentage", spec.percentage)] {
            if let Some(number) = number.filter(|number| *number < 0) {
                let problem = format!("is {number}; write 0 or more");
                return Err(Invalid::new(field, problem).within("spec"));
            }
        }
        if spec.pod_template_ref.is_some() && spec.scalable_ref.is_some() {
            let problem = "cannot be combined with podTemplateRef; remove one";
            return Err(Invalid::new("spec.scalableRef", problem));
        }
        if spec.pod_template_ref.is_some() && spec.replicas.is_none() && spec.limits.is_empty() {
            let problem = "is missing; a podTemplateRef needs replicas or limits";
            return Err(Invalid::new("spec.replicas", problem));
        }
        Ok(())
    }
}
