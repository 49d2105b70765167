//! The files and scripts with which each distribution joins.

mod kubeadm;
mod mirrors;
mod proxy;
mod supervised;
pub(crate) mod talos;

pub use self::supervised::node_password_secret;

use joiner_core::taint::Taint;

use super::{
    endpoint::Endpoint,
    error::Error,
    inputs::{Distro, Format, GuestLookup, Inputs, ProviderId},
    join::{File, Join, Layout},
    kubelet::NodeLabels,
    script,
    secret::Secret,
    version::KubeVersion,
};

/// The inputs, checked and in the forms in which they are written.
pub(crate) struct Ready<'i> {
    pub(crate) inputs: &'i Inputs,
    pub(crate) endpoint: Endpoint,
    pub(crate) token: Secret<String>,
    /// `None` where the image decides.
    pub(crate) version: Option<KubeVersion>,
    pub(crate) labels: NodeLabels,
    pub(crate) taints: Vec<Taint>,
}

/// Files and scripts for a system that runs scripts.
pub(crate) fn join(ready: &Ready<'_>, format: Format) -> Result<Join, Error> {
    let layout = Layout::of(format);
    match ready.inputs.distro {
        Distro::Kubeadm => kubeadm::join(ready, layout),
        Distro::Rke2 | Distro::Rke2Airgapped | Distro::K3s => supervised::join(ready, layout),
        Distro::Talos | Distro::None => unreachable!("they have no scripts"),
    }
}

/// The script that runs before the join, with the programs that it starts.
fn pre_join(
    lookup: Option<GuestLookup>,
    layout: Layout,
    values: &[(&str, &str)],
    parts: &[&str],
) -> (Option<String>, Vec<File>) {
    if parts.is_empty() {
        return (None, Vec::new());
    }
    let (path, program) = (layout.script("pre-join.sh"), layout.script("provider-id"));
    let (mut files, mut values) = (Vec::new(), values.to_vec());
    if let Some(lookup) = lookup {
        values.push(("provider_id", &program));
        files.push(File::program(program.clone(), script::provider_id(lookup)));
    }
    let purpose = "Prepares this instance for joining its cluster. Can be run again.";
    let parts: Vec<_> = [script::COMMON].into_iter().chain(parts.iter().copied()).collect();
    files.push(File::script(path.clone(), script::script(purpose, &values, &parts)));
    (Some(path), files)
}

fn guest_lookup(inputs: &Inputs) -> Option<GuestLookup> {
    match inputs.provider_id {
        ProviderId::Guest(lookup) => Some(lookup),
        ProviderId::Known(_) | ProviderId::Cloud => None,
    }
}

pub(crate) fn known_id(inputs: &Inputs) -> Option<&str> {
    match &inputs.provider_id {
        ProviderId::Known(id) => Some(id),
        ProviderId::Guest(_) | ProviderId::Cloud => None,
    }
}
