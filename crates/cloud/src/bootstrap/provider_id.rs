//! Which program writes a Node's provider id.

use super::{
    error::{Error, ErrorKind},
    inputs::{GuestLookup, ProviderId},
};

/// Clouds whose instances get their id when they are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdCloud {
    /// `vsphere://<uuid>`, from the controller or the guest.
    Vsphere,
    /// `external-cloudstack://<uuid>` by its controller, `cloudstack:///<uuid>` by the guest.
    CloudStack,
}

/// What a `NodeClass` says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdSetting {
    /// A cloud controller writes it.
    Cloud,
    /// The guest passes it to its kubelet.
    Guest,
}

/// The state of the cluster; `None` means that it could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Provider ids of Nodes that Joiner did not make. Its own would prove nothing: their guests
    /// write the same form.
    pub foreign_ids: Option<Vec<String>>,
    /// Images of running DaemonSets and Deployments in `kube-system`.
    pub images: Option<Vec<String>>,
}

impl IdCloud {
    fn controller_ids(self) -> &'static str {
        match self {
            Self::Vsphere => "vsphere://",
            Self::CloudStack => "external-cloudstack://",
        }
    }

    fn controller_images(self) -> &'static [&'static str] {
        match self {
            Self::Vsphere => &["cloud-provider-vsphere", "vsphere-cpi"],
            Self::CloudStack => &["cloudstack-kubernetes-provider", "cloudstack-ccm"],
        }
    }

    fn guest(self) -> ProviderId {
        ProviderId::Guest(match self {
            Self::Vsphere => GuestLookup::Dmi,
            Self::CloudStack => GuestLookup::Metadata,
        })
    }
}

/// Decides who gives a Node its provider id.
///
/// A wrong answer is permanent. Nodes that expect a missing controller never become ready, and a
/// written id never changes. So doubt is an error.
pub fn choose(
    cloud: IdCloud,
    setting: Option<IdSetting>,
    seen: &Evidence,
) -> Result<ProviderId, Error> {
    match setting {
        Some(IdSetting::Cloud) => return Ok(ProviderId::Cloud),
        Some(IdSetting::Guest) => return Ok(cloud.guest()),
        None => {}
    }
    let of_controller = |id: &String| id.starts_with(cloud.controller_ids());
    let runs_controller =
        |image: &String| cloud.controller_images().iter().any(|name| image.contains(name));
    let found = |texts: &Option<Vec<String>>, is: &dyn Fn(&String) -> bool| {
        texts.as_ref().is_some_and(|texts| texts.iter().any(is))
    };
    if found(&seen.foreign_ids, &of_controller) || found(&seen.images, &runs_controller) {
        return Ok(ProviderId::Cloud);
    }
    let unread = match (&seen.foreign_ids, &seen.images) {
        (Some(_), Some(_)) => return Ok(cloud.guest()),
        (None, _) => "Nodes",
        (Some(_), None) => "DaemonSets and Deployments in kube-system",
    };
    Err(Error::new(
        ErrorKind::ProviderIdUnknown,
        "providerID",
        format!("{unread} could not be read, so that nobody knows whether a cloud controller runs"),
        "let the controller list them, or write providerID: cloud or guest",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(cloud: IdCloud, ids: Option<&[&str]>, images: Option<&[&str]>) -> String {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let seen = Evidence { foreign_ids: ids.map(owned), images: images.map(owned) };
        match choose(cloud, None, &seen) {
            Ok(id) => format!("{id:?}"),
            Err(error) => error.problem,
        }
    }

    #[test]
    fn a_cloud_controller_that_is_seen_writes_the_id() {
        use IdCloud::{CloudStack, Vsphere};
        for (cloud, ids, images, expected) in [
            (Vsphere, &["vsphere://1"][..], &[][..], "Cloud"),
            (Vsphere, &[], &["example.org/cloud-provider-vsphere:v1"], "Cloud"),
            (Vsphere, &["rke2://a"], &["example.org/proxy:v1"], "Guest(Dmi)"),
            (CloudStack, &["external-cloudstack://1"], &[], "Cloud"),
            (CloudStack, &["cloudstack:///1"], &[], "Guest(Metadata)"),
            (CloudStack, &[], &["example.org/cloudstack-kubernetes-provider"], "Cloud"),
        ] {
            assert_eq!(chosen(cloud, Some(ids), Some(images)), expected);
        }
    }

    #[test]
    fn what_was_not_seen_may_still_be_there() {
        assert_eq!(chosen(IdCloud::Vsphere, None, Some(&["a/vsphere-cpi"])), "Cloud");
        assert!(chosen(IdCloud::Vsphere, None, Some(&[])).starts_with("Nodes could not be read"));
        assert!(chosen(IdCloud::Vsphere, Some(&[]), None).starts_with("DaemonSets"));
    }

    #[test]
    fn the_class_has_the_last_word() {
        let nothing_seen = Evidence::default();
        let chosen = |setting| choose(IdCloud::CloudStack, Some(setting), &nothing_seen);
        assert_eq!(chosen(IdSetting::Cloud), Ok(ProviderId::Cloud));
        assert_eq!(chosen(IdSetting::Guest), Ok(ProviderId::Guest(GuestLookup::Metadata)));
    }
}
