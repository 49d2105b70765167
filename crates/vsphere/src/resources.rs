//! What an instance is promised of its host, in vSphere's units.

use joiner_core::quantity::Quantity;
use joiner_vim::spec::{Allocation, Shares};

use crate::{
    MIB, Problem, Reason,
    node_class::{
        Spec,
        resources::{Amounts, HostResources},
    },
};

/// Hertz in a megahertz.
const MHZ: i64 = 1_000_000;

/// What vSphere takes for shares.
const SHARES: std::ops::RangeInclusive<i32> = 1..=1_000_000;

/// What an instance of so much memory is promised: processors, then memory. None leaves it as the
/// template has it.
pub(crate) fn allocations(
    spec: &Spec,
    memory_mib: u64,
) -> (Option<Allocation>, Option<Allocation>) {
    let Some(said) = &spec.resources else { return (None, None) };
    let cpu = allocation(
        said,
        |amounts| amounts.cpu.map(|own| rounded_up(own, MHZ)),
        |shares| shares.cpu,
    );
    // No instance can have more for certain than it has.
    let memory = allocation(
        said,
        |amounts| amounts.memory.map(|own| rounded_up(own, MIB)),
        |shares| shares.memory,
    );
    let memory = memory.map(|own| Allocation {
        reservation: own.reservation.map(|promised| promised.min(memory_mib)),
        ..own
    });
    (cpu, memory)
}

fn allocation(
    said: &HostResources,
    amount: fn(&Amounts) -> Option<u64>,
    shares: fn(&crate::node_class::resources::Shares) -> Option<i32>,
) -> Option<Allocation> {
    let limit = said.limits.as_ref().and_then(amount);
    let allocation = Allocation {
        reservation: said.requests.as_ref().and_then(amount),
        limit: limit.and_then(|limit| i64::try_from(limit).ok()),
        shares: said
            .shares
            .as_ref()
            .and_then(shares)
            .and_then(|own| u32::try_from(own).ok())
            .map(Shares::Custom),
    };
    (allocation != Allocation::default()).then_some(allocation)
}

fn rounded_up(amount: Quantity, unit: i64) -> u64 {
    amount.floor().max(0).unsigned_abs().div_ceil(unit.unsigned_abs())
}

/// What is wrong with `spec.resources`.
pub(crate) fn problems(spec: &Spec) -> Vec<Problem> {
    let Some(said) = &spec.resources else { return Vec::new() };
    let mut problems = Vec::new();
    let mut refuse = |field: &str, text: String| {
        let field = format!("spec.resources.{field}");
        problems.push(Problem::new(Reason::INVALID_INSTANCE, field, text));
    };
    for (name, amounts) in [("requests", &said.requests), ("limits", &said.limits)] {
        let amounts = amounts.clone().unwrap_or_default();
        for (resource, amount, unit, remedy) in [
            ("cpu", amounts.cpu, MHZ, "a megahertz; write hertz such as 2G, or leave it out"),
            (
                "memory",
                amounts.memory,
                MIB,
                "a mebibyte; write an amount such as 8Gi, or leave it out",
            ),
        ] {
            if let Some(amount) = amount.filter(|own| *own < Quantity::whole(unit)) {
                refuse(&format!("{name}.{resource}"), format!("{amount} is less than {remedy}"));
            }
        }
    }
    let (requests, limits) =
        (said.requests.clone().unwrap_or_default(), said.limits.clone().unwrap_or_default());
    for (resource, request, limit) in
        [("cpu", requests.cpu, limits.cpu), ("memory", requests.memory, limits.memory)]
    {
        if let (Some(request), Some(limit)) = (request, limit)
            && request > limit
        {
            let text = format!(
                "{limit} is less than spec.resources.requests.{resource}, {request}; write as much \
                 or more, or leave it out"
            );
            refuse(&format!("limits.{resource}"), text);
        }
    }
    let shares = said.shares.clone().unwrap_or_default();
    for (resource, own) in [("cpu", shares.cpu), ("memory", shares.memory)] {
        if let Some(own) = own.filter(|own| !SHARES.contains(own)) {
            let text = format!("{own} cannot be had; write a number from 1 to 1000000");
            refuse(&format!("shares.{resource}"), text);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::node_class::NodeClass;

    fn spec(resources: Value) -> Spec {
        let object = json!({"metadata": {"name": "a"}, "spec": {"resources": resources}});
        NodeClass::read(&object).unwrap().spec
    }

    #[test]
    fn what_nobody_says_is_the_templates() {
        assert_eq!(allocations(&spec(json!({})), 1024), (None, None));
    }

    #[test]
    fn hertz_become_megahertz_and_bytes_mebibytes() {
        let spec = spec(json!({
            "requests": {"cpu": "2G", "memory": "1025Ki"},
            "limits": {"cpu": "4000000001", "memory": "8Gi"},
            "shares": {"cpu": 4000},
        }));
        let (cpu, memory) = allocations(&spec, 8192);
        assert_eq!(
            cpu,
            Some(Allocation {
                reservation: Some(2000),
                limit: Some(4001),
                shares: Some(Shares::Custom(4000)),
            })
        );
        assert_eq!(
            memory,
            Some(Allocation { reservation: Some(2), limit: Some(8192), shares: None })
        );
    }

    #[test]
    fn no_instance_is_promised_more_memory_than_it_has() {
        let (_, memory) = allocations(&spec(json!({"requests": {"memory": "8Gi"}})), 4096);
        assert_eq!(memory.and_then(|own| own.reservation), Some(4096));
    }

    #[test]
    fn what_cannot_be_meant_is_told() {
        let spec = spec(json!({
            "requests": {"cpu": 4, "memory": "8Gi"},
            "limits": {"memory": "4Gi"},
            "shares": {"memory": 0},
        }));
        let told: Vec<String> = problems(&spec).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "InvalidInstance: spec.resources.requests.cpu: 4 is less than a megahertz; write \
                 hertz such as 2G, or leave it out",
                "InvalidInstance: spec.resources.limits.memory: 4Gi is less than \
                 spec.resources.requests.memory, 8Gi; write as much or more, or leave it out",
                "InvalidInstance: spec.resources.shares.memory: 0 cannot be had; write a number \
                 from 1 to 1000000",
            ]
        );
    }
}
