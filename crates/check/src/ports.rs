//! The ports in use on an instance.

use std::collections::HashMap;

use joiner_core::pod::{HostPort, Pod};

/// The ports in use on one instance.
#[derive(Debug, Default)]
pub(crate) struct Ports<'a>(HashMap<(i32, &'a str), Vec<(&'a HostPort, &'a Pod)>>);

impl<'a> Ports<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Assigns `port` to `pod`. Returns another pod that uses it already.
    pub(crate) fn take(&mut self, port: &'a HostPort, pod: &'a Pod) -> Option<&'a Pod> {
        let taken = self.0.entry((port.port, port.protocol.as_str())).or_default();
        let others = taken.iter().filter(|(_, other)| !std::ptr::eq(*other, pod));
        let holder = others.clone().find(|(other, _)| other.conflicts(port)).map(|(_, pod)| *pod);
        taken.push((port, pod));
        holder
    }

    /// A pod with a port that conflicts with `port`.
    pub(crate) fn holder(&self, port: &HostPort) -> Option<&'a Pod> {
        let taken = self.0.get(&(port.port, port.protocol.as_str()))?;
        taken.iter().find(|(other, _)| other.conflicts(port)).map(|(_, pod)| *pod)
    }
}
