//! `ProxmoxUnmanagedTemplate`: a template that is made outside of Joiner, found by its name
//! or its tags.

use joiner_cloud::class::ClassKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    UNMANAGED_TEMPLATE,
    object::{self, Object, Problem, TemplateStatus},
};

/// A template that is made outside of Joiner.
pub type UnmanagedTemplate = Object<Spec>;

/// How a template is found. A name and tags have to match both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "message": "at least one of templateName or tags must be specified",
    "rule": "has(self.templateName) || has(self.tags)",
}]))]
pub struct Spec {
    /// The region it is looked for in; every region where it is left out.
    #[schemars(extend("minLength" = 1))]
    pub region: Option<String>,
    /// Its name.
    #[schemars(extend("minLength" = 1))]
    pub template_name: Option<String>,
    /// Tags, all of which it has.
    #[schemars(extend("minItems" = 1, "maxItems" = 10))]
    pub tags: Option<Vec<String>>,
}

impl object::Spec for Spec {
    type Status = TemplateStatus;
    const KIND: ClassKind = UNMANAGED_TEMPLATE;
    const COLUMNS: &'static [(&'static str, &'static str)] =
        &[("Zones", ".status.resources.zones"), ("Name", ".spec.templateName")];
}

impl Object<Spec> {
    /// Everything that keeps the template from being used, as far as the object itself shows it.
    pub fn problems(&self) -> Vec<Problem> {
        let name = self.spec.template_name.as_deref().unwrap_or_default();
        let has_tags = self.spec.tags.as_ref().is_some_and(|tags| !tags.is_empty());
        if name.is_empty() && !has_tags {
            let text = "is empty, and so is spec.tags; write one of them";
            return vec![Problem::new("spec.templateName", text)];
        }
        Vec::new()
    }

    /// Whether a template of this name and with these tags is meant.
    pub fn matches(&self, name: &str, tags: &[&str]) -> bool {
        let wanted = self.spec.template_name.as_deref().filter(|wanted| !wanted.is_empty());
        let mut wanted_tags = self.spec.tags.iter().flatten();
        self.problems().is_empty()
            && wanted.is_none_or(|wanted| wanted == name)
            && wanted_tags.all(|tag| tags.contains(&tag.as_str()))
    }
}
