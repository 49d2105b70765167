//! Whether nodes of a class get the zone that the class says.

use joiner_cloud::{
    CloudError,
    class::{self, ClassCondition},
};
use joiner_vim::tags::TagError;

use super::{
    Inner,
    status::{condition, is_said},
};
use crate::{
    node_class::NodeClass,
    places::{Resolution, ZONES_READY},
    zones::{self, TopologyTags},
};

impl Inner {
    /// Says whether the cloud controller gives nodes the zone that the class says.
    /// An error says that what was said before stands.
    pub(super) async fn zones_ready(
        &self,
        class: &class::NodeClass,
        read: &NodeClass,
        resolution: &Resolution,
    ) -> Result<ClassCondition, CloudError> {
        let tags = match self.topology_tags(resolution).await {
            Ok(tags) => tags,
            Err(error) => {
                let text = format!("vCenter does not say which zones its clusters are in: {error}");
                if is_said(class, ZONES_READY, "False") {
                    return Err(CloudError::Unknown(format!("looking at the class: {text}")));
                }
                // What nobody can say is no mismatch.
                return Ok(condition(ZONES_READY, Some(true), "TagsUnknown", text));
            }
        };
        Ok(match zones::mismatch(read, resolution, &tags, &self.settings.topology) {
            Some(wrong) => condition(ZONES_READY, Some(false), wrong.reason, wrong.message),
            None => condition(ZONES_READY, Some(true), "", String::new()),
        })
    }

    async fn topology_tags(&self, resolution: &Resolution) -> Result<TopologyTags, TagError> {
        let categories = &self.settings.topology;
        let objects = zones::looked_at(resolution);
        let [zones, regions] =
            self.tags.carried(&objects, [&categories.zone, &categories.region]).await?;
        Ok(TopologyTags { zones, regions })
    }
}
