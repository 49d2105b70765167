//! Network adapters, and their settings in the guest.

use joiner_cloud::{
    bootstrap::{Format, network},
    needs::AddressNeed,
};

use crate::{
    Problem,
    node_class::{Selector, Spec},
};

pub(crate) use crate::node_class::networks::Adapter;

/// An instance has no more adapters than this: vSphere's configuration maximum.
const MAX_ADAPTERS: usize = 10;

impl Spec {
    /// What the class says of its adapters; empty where it has the one that every class has.
    pub(crate) fn adapters(&self) -> &[Adapter] {
        self.networks.as_deref().unwrap_or_default()
    }

    /// What the class says about the guest's network, adapter by adapter.
    pub(crate) fn adapter_settings(&self) -> Vec<network::Adapter<'_>> {
        self.adapters().iter().map(Adapter::settings).collect()
    }

    /// The network selector of the first adapter.
    pub(crate) fn first_adapters_selector(&self) -> Option<&Selector> {
        let selector = self.adapters().first()?.selector.as_ref()?;
        selector.wanted().is_some().then_some(selector)
    }
}

impl Adapter {
    /// Its own hardware address, in lower case.
    pub(crate) fn mac(&self) -> Option<String> {
        self.settings().mac()
    }
}

/// The addresses that each instance of a class needs.
pub(crate) fn address_needs(spec: &Spec) -> Vec<AddressNeed> {
    network::address_needs(&spec.adapter_settings())
}

/// Why guests of this format cannot receive the adapter settings of the class; none if they can, or
/// need no settings.
pub(crate) fn untold(spec: &Spec, format: Format) -> Option<Problem> {
    network::untold(&spec.adapter_settings(), format)
}

/// What is wrong with `spec.networks`.
pub(crate) fn problems(spec: &Spec) -> Vec<Problem> {
    network::problems(&spec.adapter_settings(), MAX_ADAPTERS)
}
