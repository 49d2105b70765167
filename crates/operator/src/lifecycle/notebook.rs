//! The notebook of a creation: annotations of its claim.

use async_trait::async_trait;
use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudError, notebook::ClaimAnnotations, order::ClaimId};
use joiner_core::label::Labels;

use crate::{claims, cluster::Lock, context::Context, world::Key};

/// Writes on one claim.
pub(super) struct OnClaim {
    pub(super) context: Context,
    pub(super) claim: ClaimId,
}

#[async_trait]
impl ClaimAnnotations for OnClaim {
    async fn write(&self, annotations: Labels) -> Result<(), CloudError> {
        let Self { context, claim } = self;
        let known =
            context.cache.read(|world| world.node_claims.get(&Key::cluster(&claim.name)).cloned());
        let known = known.filter(|known| claims::id(known) == *claim);
        let unknown = |why: String| {
            CloudError::Unknown(format!("NodeClaim {} could not be annotated: {why}", claim.name))
        };
        let known = known.ok_or_else(|| unknown("it is gone".to_owned()))?;
        let mut noted = NodeClaim::clone(&known);
        noted.metadata.annotations.get_or_insert_default().extend(annotations);
        match context.cluster.patch(&*known, &noted, Lock::None).await {
            Ok(_) => Ok(()),
            Err(trouble) => Err(unknown(trouble.told())),
        }
    }
}
