//! Whether nodes of a class get the zone that the class says.

use joiner_cloud::{class::ClassCondition, judgement::condition};
use joiner_vim::tags::TagError;

use super::Inner;
use crate::{
    node_class::NodeClass,
    places::{Resolution, ZONES_READY},
    zones::{self, TopologyTags},
};

impl Inner {
    /// Says whether the cloud controller gives nodes the zone that the class says. Instances are made
    /// in any case: without a cloud controller the tags are harmless, and an existing class may
    /// depend on it.
    pub(super) async fn zones_ready(
        &self,
        read: &NodeClass,
        resolution: &Resolution,
    ) -> ClassCondition {
        let said = match self.topology_tags(resolution).await {
            Ok(tags) => match zones::mismatch(read, resolution, &tags, &self.settings.topology) {
                Some(wrong) => condition(ZONES_READY, Some(false), wrong.reason, wrong.message),
                None => condition(ZONES_READY, Some(true), "", String::new()),
            },
            Err(error) => {
                let text = format!("vCenter does not say which zones its clusters are in: {error}");
                condition(ZONES_READY, None, "TagsUnknown", text)
            }
        };
        ClassCondition { blocks: false, ..said }
    }

    async fn topology_tags(&self, resolution: &Resolution) -> Result<TopologyTags, TagError> {
        let categories = &self.settings.topology;
        let objects = zones::looked_at(resolution);
        let [zones, regions] =
            self.tags.carried(&objects, [&categories.zone, &categories.region]).await?;
        Ok(TopologyTags { zones, regions })
    }
}
