//! Which workload a pod belongs to, for people who read about hundreds of pods at once.
//!
//! A snapshot keeps no owners, so this goes by the names and labels that Kubernetes' own controllers
//! give. It only ever groups lines of text; no decision depends on it.

use joiner_core::{label::Labels, pod::Pod};

/// `namespace/workload` of a pod: `shop/web` for `shop/web-7d4b9c6f5-x2x4z`.
pub(crate) fn of(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, name(&pod.name, &pod.labels))
}

/// The workload's name, or the pod's own name where the pod has no workload.
fn name<'n>(pod: &'n str, labels: &Labels) -> &'n str {
    let Some((stem, suffix)) = pod.rsplit_once('-') else { return pod };
    if suffix.bytes().all(|byte| byte.is_ascii_digit()) {
        return stem;
    }
    if !is_generated(suffix) {
        return pod;
    }
    match stem.rsplit_once('-') {
        Some((deployment, hash)) if labels.get("pod-template-hash").is_some_and(|l| l == hash) => {
            deployment
        }
        _ => stem,
    }
}

/// Whether Kubernetes may have drawn this suffix: five characters of an alphabet without vowels,
/// chosen so that no words come out.
fn is_generated(suffix: &str) -> bool {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    suffix.len() == 5 && suffix.bytes().all(|byte| ALPHABET.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pod: &str, hash: Option<&str>, expected: &str) {
        let labels = hash.map(|hash| ("pod-template-hash".to_owned(), hash.to_owned()));
        assert_eq!(name(pod, &labels.into_iter().collect()), expected);
    }

    #[test]
    fn pods_are_known_by_their_workload() {
        check("web-7d4b9c6f5-x2x4z", Some("7d4b9c6f5"), "web");
        check("web-7d4b9c6f5-x2x4z", None, "web-7d4b9c6f5");
        check("nightly-report-28391040-bq5zt", None, "nightly-report-28391040");
        check("postgres-2", None, "postgres");
        check("agent-hk7rl", None, "agent");
        check("debug-shell", None, "debug-shell");
        check("one", None, "one");
    }
}
