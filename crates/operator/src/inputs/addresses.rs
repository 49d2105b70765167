//! Addresses of instances, from pools of an IPAM provider of Cluster API.
//!
//! Each address is requested by an `IPAddressClaim`. Its name follows from the instance, its
//! network card and the pool, so a restarted process finds it again. The `NodeClaim` owns it: the
//! address is released when the claim is gone.

use joiner_cloud::{
    CloudError,
    inputs::Address,
    needs::{AddressNeed, AddressPool},
    order::{ClaimId, Order},
};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::{Value, json};

use super::{Missing, memory::Unread, reading};
use crate::{claims, context::Context, trouble::Trouble};

/// The API group of `IPAddressClaim`.
const GROUP: &str = "ipam.cluster.x-k8s.io";

/// The served version of that API group.
pub(super) async fn served_version(context: &Context, class: &str) -> Result<String, Missing> {
    let read = reading::served_version(context, GROUP);
    match context.inputs.0.lately.ipam.get(&context.clock, (), read).await {
        Ok(Some(version)) => Ok(version),
        Ok(None) => Err(Missing::Problem {
            reason: "AddressesNotServed",
            message: format!(
                "{class}: networks: addresses come from pools, but the cluster does not serve \
                 {GROUP}; install an IPAM provider of Cluster API, or use DHCP"
            ),
        }),
        Err(Unread::Refused(why)) => Err(Missing::Problem {
            reason: "AddressesNotServed",
            message: format!("{class}: networks: {GROUP} may not be looked at: {why}"),
        }),
        Err(away) => Err(Missing::unread(class, GROUP, &away)),
    }
}

/// The addresses of an instance, once all are assigned.
pub(super) async fn fetch(
    context: &Context,
    order: &Order,
    instance: &str,
    needs: &[AddressNeed],
) -> Result<Vec<Address>, CloudError> {
    if needs.is_empty() {
        return Ok(Vec::new());
    }
    let class = format!("{} {:?}", order.class.kind, order.class.name);
    let version = served_version(context, &class).await?;
    let api = |kind: &str, plural: &str| -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(GROUP, &version, kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        Api::namespaced_with(context.cluster.client().clone(), &context.namespace, &resource)
    };
    let (claims, addresses) =
        (api("IPAddressClaim", "ipaddressclaims"), api("IPAddress", "ipaddresses"));
    // All are requested before the first is waited for.
    let mut asked = Vec::new();
    for need in needs {
        asked.push((
            need,
            asked_for(context, &claims, &order.claim, need, instance, &version).await?,
        ));
    }
    let mut found = Vec::new();
    for (need, claim) in asked {
        let named = format!("{}/{}", context.namespace, need.claim_name(instance));
        let bound = bound_to(&claim, &named, &need.pool)?;
        let what = || format!("get IPAddress {}/{bound}", context.namespace);
        let address = context.cluster.call(what, addresses.get(&bound)).await;
        let address = address.map_err(|trouble| failed(&trouble))?;
        found.push(read(need.nic, &address.data, &bound)?);
    }
    Ok(found)
}

/// The current `IPAddressClaim`, created if it does not exist.
async fn asked_for(
    context: &Context,
    claims: &Api<DynamicObject>,
    owner: &ClaimId,
    need: &AddressNeed,
    instance: &str,
    version: &str,
) -> Result<Value, CloudError> {
    let name = need.claim_name(instance);
    let get = || format!("get IPAddressClaim {}/{name}", context.namespace);
    let found = context.cluster.call(get, claims.get_opt(&name)).await;
    let claim = match found.map_err(|trouble| failed(&trouble))? {
        Some(found) => found,
        None => {
            let wanted = claim(owner, need, &name, version);
            let create = || format!("create IPAddressClaim {}/{name}", context.namespace);
            let params = PostParams::default();
            let created = context.cluster.call(create, claims.create(&params, &wanted)).await;
            created.map_err(|trouble| failed(&trouble))?
        }
    };
    let owners = claim.metadata.owner_references.iter().flatten();
    if !owners.clone().any(|known| known.uid == owner.uid) {
        return Err(CloudError::Create {
            reason: "AddressClaimTaken",
            message: format!(
                "IPAddressClaim {}/{name} is there and belongs to another than NodeClaim {}: delete \
                 it if nobody uses its address",
                context.namespace, owner.name
            ),
        });
    }
    Ok(claim.data)
}

/// The `IPAddressClaim` to create on behalf of a claim.
fn claim(owner: &ClaimId, need: &AddressNeed, name: &str, version: &str) -> DynamicObject {
    let AddressPool { group, kind, name: pool } = &need.pool;
    let gvk = GroupVersionKind::gvk(GROUP, version, "IPAddressClaim");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "ipaddressclaims");
    let mut claim = DynamicObject::new(name, &resource)
        .data(json!({"spec": {"poolRef": {"apiGroup": group, "kind": kind, "name": pool}}}));
    claim.metadata.owner_references = Some(vec![claims::owner_reference(owner)]);
    claim
}

/// The name of the `IPAddress` that an `IPAddressClaim` is bound to.
fn bound_to(claim: &Value, named: &str, pool: &AddressPool) -> Result<String, CloudError> {
    let bound = claim["status"]["addressRef"]["name"].as_str().filter(|name| !name.is_empty());
    if let Some(bound) = bound {
        return Ok(bound.to_owned());
    }
    let conditions = claim["status"]["conditions"].as_array().into_iter().flatten();
    let said = conditions.filter(|condition| condition["type"] == "Ready");
    let said: Vec<&str> = said.filter_map(|condition| condition["message"].as_str()).collect();
    let said = match said.join("; ") {
        said if said.is_empty() => String::new(),
        said => format!(" ({said})"),
    };
    Err(CloudError::Create {
        reason: "AddressPending",
        message: format!(
            "IPAddressClaim {named} has no address of {} {:?} yet{said}; look whether the pool has \
             any left, and whether its controller runs",
            pool.kind, pool.name
        ),
    })
}

/// Reads an `IPAddress`.
fn read(nic: usize, address: &Value, named: &str) -> Result<Address, CloudError> {
    let spec = &address["spec"];
    let text = |field: &str| spec[field].as_str().filter(|text| !text.is_empty());
    let wrong = |field: &str| CloudError::Create {
        reason: "AddressInvalid",
        message: format!("IPAddress {named}: spec.{field} is {}: no address", spec[field]),
    };
    let gateway = match text("gateway") {
        Some(gateway) => Some(gateway.parse().map_err(|_| wrong("gateway"))?),
        None => None,
    };
    let parsed = text("address").and_then(|address| address.parse().ok());
    Ok(Address {
        nic,
        address: parsed.ok_or_else(|| wrong("address"))?,
        prefix: spec["prefix"]
            .as_u64()
            .and_then(|prefix| u8::try_from(prefix).ok())
            .ok_or_else(|| wrong("prefix"))?,
        gateway,
    })
}

fn failed(trouble: &Trouble) -> CloudError {
    CloudError::Create { reason: "AddressPending", message: trouble.told() }
}
