//! Settings of the controller that runs in the cluster that is looked at.

use std::time::Duration;

use joiner_operator::settings::{
    PlannerSettings, declared,
    published::{self, Found},
};
use joiner_settings::{Reader, Values};

use crate::{
    clouds,
    connection::{self, ClusterArgs},
    output,
};

/// How long the API server may take to say which controller runs. A plan can be made without it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The settings of the controller that runs in a cluster, as far as it has any of its own. What is
/// worth knowing goes to stderr; the readers of an unreachable cluster report the error.
pub(super) fn settings(cluster: &ClusterArgs) -> Values {
    let looking = async {
        let found = connection::find(cluster).await.ok()?;
        let client = connection::client(&found, None).ok()?;
        let lease = declared::LEADER_ELECTION_NAME.default;
        Some(published::find(&client, lease, &clouds::ALL.published_settings()).await)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let found = runtime.ok().and_then(|runtime| {
        runtime.block_on(async { tokio::time::timeout(PATIENCE, looking).await.ok().flatten() })
    });
    match found {
        None | Some(Ok(None)) => Values::default(),
        Some(Ok(Some(found))) => understood(found),
        Some(Err(problem)) => {
            output::talk(&format!(
                "joiner: the settings of a running controller are not known ({problem}): give the \
                 same ones here, or the verb list on leases.coordination.k8s.io \
                 (examples/rbac/reader.yaml)"
            ));
            Values::default()
        }
    }
}

/// Settings that were found, unless they are those of another version that this one cannot read.
fn understood(found: Found) -> Values {
    let Found { lease, values } = found;
    let mut reader = Reader::new(&values);
    PlannerSettings::read(&mut reader);
    if let Err(problems) = reader.accept(()) {
        output::talk(&format!(
            "joiner: settings of the running controller (lease {lease}) do not count, since this \
             version does not understand them: {}",
            problems.join("; ")
        ));
        return Values::default();
    }
    if values != Values::default() {
        output::talk(&format!(
            "joiner: settings of the running controller (lease {lease}) count where none are given: \
             {}",
            values.told()
        ));
    }
    values
}
