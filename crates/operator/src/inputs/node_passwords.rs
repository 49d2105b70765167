//! Passwords that supervisors of RKE2 and k3s keep for nodes.
//!
//! A supervisor remembers each node's first contact and refuses its name from another disk. An instance
//! that is made anew for the same claim, before its node was there, would be refused for ever.

use joiner_cloud::{
    CloudError,
    bootstrap::{Distro, node_password_secret, token},
};
use k8s_openapi::api::core::v1::Node;
use kube::api::DeleteParams;

use super::tokens::secrets;
use crate::context::Context;

/// Has the supervisor forget an instance of this name whose node was never there. An instance that is
/// there already and knows its password is remembered again at its next contact.
pub(super) async fn forget(
    context: &Context,
    distro: Distro,
    instance: &str,
) -> Result<(), CloudError> {
    let Some(name) = node_password_secret(distro, instance) else { return Ok(()) };
    let is_node = context.cache.read(|world| world.nodes.named(instance).is_some());
    // One that cannot be read may be it.
    if is_node || context.sure_of::<Node>().is_err() {
        return Ok(());
    }
    let what = || format!("delete Secret {}/{name}", token::NAMESPACE);
    let call = secrets(context);
    let deleted =
        context.cluster.call_if_allowed(what, call.delete(&name, &DeleteParams::default())).await;
    match deleted {
        Ok(_) => {
            tracing::info!(
                Secret = name,
                "deleted the password of an instance that never became a node, so that another may"
            );
            Ok(())
        }
        // Hardly ever is there one; and who may not delete Secrets has to look after it themselves.
        Err(trouble) if matches!(trouble.code(), Some(403 | 404)) => Ok(()),
        Err(trouble) => {
            Err(CloudError::Create { reason: "NodePasswordLeft", message: trouble.told() })
        }
    }
}
