//! Node passwords of RKE2 and k3s supervisors.
//!
//! A supervisor stores a password at a node's first contact, and refuses the same name from another
//! disk. An instance that is created again for the same claim would then be refused forever.

use joiner_cloud::{
    CloudError,
    bootstrap::{Distro, node_password_secret, token},
};
use k8s_openapi::api::core::v1::Node;
use kube::api::DeleteParams;

use super::tokens::secrets;
use crate::context::Context;

/// Deletes the password of an instance whose Node never existed. An instance that already runs is
/// stored again at its next contact.
pub(super) async fn forget(
    context: &Context,
    distro: Distro,
    instance: &str,
) -> Result<(), CloudError> {
    let Some(name) = node_password_secret(distro, instance) else { return Ok(()) };
    let is_node = context.cache.read(|world| world.nodes.named(instance).is_some());
    // An unreadable Node may be this one.
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
        // The Secret rarely exists. Without permission to delete Secrets, users must delete it.
        Err(trouble) if matches!(trouble.code(), Some(403 | 404)) => Ok(()),
        Err(trouble) => {
            Err(CloudError::Create { reason: "NodePasswordLeft", message: trouble.told() })
        }
    }
}
