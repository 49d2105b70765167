//! The installed programs.

use std::path::PathBuf;

use super::StartError;

/// The installed programs, as `scripts/install-real-parts` prints them.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// etcd.
    pub etcd: PathBuf,
    /// The API server.
    pub kube_apiserver: PathBuf,
    /// The controller manager, for those who want controllers.
    pub kube_controller_manager: Option<PathBuf>,
    /// The scheduler, for those who want pods placed.
    pub kube_scheduler: Option<PathBuf>,
    /// KWOK, for those who want nodes that run them.
    pub kwok: Option<PathBuf>,
    /// Karpenter with its KWOK provider, for those who want to compare.
    pub karpenter_kwok: Option<PathBuf>,
}

impl Parts {
    /// Finds the programs among paths, one per line, by their file names.
    pub fn from_listing(listing: &str) -> Result<Self, StartError> {
        let find = |name: &str| {
            let mut paths = listing.lines().map(|line| PathBuf::from(line.trim()));
            paths.find(|path| path.file_name().is_some_and(|file| file == name))
        };
        Ok(Self {
            etcd: needed(find("etcd"), "etcd")?,
            kube_apiserver: needed(find("kube-apiserver"), "kube-apiserver")?,
            kube_controller_manager: find("kube-controller-manager"),
            kube_scheduler: find("kube-scheduler"),
            kwok: find("kwok"),
            karpenter_kwok: find("karpenter-kwok"),
        })
    }
}

/// A part that somebody wants to run, or the name of what is to be installed.
pub fn needed<P>(path: Option<P>, name: &'static str) -> Result<P, StartError> {
    path.ok_or(StartError::NoPart { name })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn parts_are_found_by_their_names() {
        let parts = Parts::from_listing(
            "/c/etcd-1/etcd\n/c/kube-apiserver-2/kube-apiserver\n/c/karpenter-kwok-3/karpenter-kwok\n",
        );
        let parts = parts.unwrap();
        assert_eq!(parts.etcd, Path::new("/c/etcd-1/etcd"));
        assert_eq!(parts.kube_apiserver, Path::new("/c/kube-apiserver-2/kube-apiserver"));
        assert_eq!(
            parts.karpenter_kwok.as_deref(),
            Some(Path::new("/c/karpenter-kwok-3/karpenter-kwok"))
        );
        assert_eq!(parts.kube_scheduler, None);
        assert_eq!(parts.kwok, None, "what only ends alike is something else");
    }

    #[test]
    fn a_missing_part_is_named_with_the_remedy() {
        let error = Parts::from_listing("/c/etcd-1/etcd").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no kube-apiserver among the installed parts; \
             list it too: scripts/install-real-parts > FILE lists all"
        );
    }
}
