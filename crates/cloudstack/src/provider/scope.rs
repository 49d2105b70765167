//! Whose objects are seen.
//!
//! A key of another account, or another project, sees none of the instances that are there. So the
//! scope that a class was resolved in is in its status, and nothing counts as absent in another one.

use std::{fmt::Write, time::Duration};

use joiner_cloud::{
    CloudError,
    class::{ClassCondition, NodeClass},
    judgement::condition,
};
use ring::digest::{SHA256, digest};

use super::{Inner, troubles::unanswered};
use crate::{
    NODE_CLASS_KIND,
    client::{objects::ResourceLimit, requests},
};

/// The annotation of a class by which an operator confirms that the scope has changed: its value is
/// the new scope.
pub(super) const CONFIRM: &str = "karpenter.k8s.cloudstack/confirm-scope";
/// The condition that a class was resolved in the scope that is seen now.
const SCOPE_CONFIRMED: &str = "ScopeConfirmed";

/// How long the scope is used before it is asked for again. Keys may be exchanged at any time.
const SCOPE_FOR: Duration = Duration::from_mins(1);
/// Bytes of the fingerprint.
const FINGERPRINT: usize = 8;

impl Inner {
    /// The fingerprint of address, account and project.
    pub(super) async fn scope(&self) -> Result<String, CloudError> {
        let now = self.now();
        if let Some((at, known)) = &self.state().scope
            && now.duration_since(*at).unsigned_abs() < SCOPE_FOR
        {
            return Ok(known.clone());
        }
        let command = requests::own_limit(self.client.scope());
        let limits = self.client.list::<ResourceLimit>(command).await;
        let limits = limits.map_err(unanswered("asking whose instances are seen"))?;
        let own = limits.first();
        let text = |part: Option<&String>| part.cloned().unwrap_or_default();
        let project = self.client.scope().project.clone().unwrap_or_default();
        let parts = [
            self.settings.endpoint.clone(),
            text(own.and_then(|own| own.domain_id.as_ref())),
            text(own.and_then(|own| own.account.as_ref())),
            project,
        ];
        let scope = fingerprint(&parts);
        self.state().scope = Some((now, scope.clone()));
        Ok(scope)
    }

    /// Fails while instances of a class may be there and not be seen. Asks for the scope only where a
    /// class says in which one it was resolved.
    pub(super) async fn check_scope(&self) -> Result<(), CloudError> {
        let known = self.state().scopes.clone();
        if known.is_empty() {
            return Ok(());
        }
        let scope = self.scope().await?;
        match known.iter().find(|(_, own)| **own != scope) {
            None => Ok(()),
            Some((class, _)) => Err(CloudError::Unknown(changed(class, &scope))),
        }
    }

    /// What is said about the scope of a class, and the scope that its status keeps.
    pub(super) async fn judge_scope(
        &self,
        class: &NodeClass,
    ) -> Result<(ClassCondition, String), CloudError> {
        let scope = self.scope().await?;
        let before = class.status["scope"].as_str().unwrap_or_default().to_owned();
        let is_confirmed = class.annotations.get(CONFIRM) == Some(&scope);
        if before.is_empty() || before == scope || is_confirmed {
            self.state().scopes.insert(class.name.clone(), scope.clone());
            return Ok((condition(SCOPE_CONFIRMED, Some(true), "", String::new()), scope));
        }
        self.state().scopes.insert(class.name.clone(), before.clone());
        let message = changed(&class.name, &scope);
        Ok((condition(SCOPE_CONFIRMED, Some(false), "ScopeChanged", message), before))
    }
}

fn changed(class: &str, scope: &str) -> String {
    format!(
        "{NODE_CLASS_KIND} {class:?} was resolved with another address, account or project, so its \
         instances may be there and not be seen; go back to the former keys, or confirm the change \
         with the annotation {CONFIRM}: {scope}"
    )
}

fn fingerprint(parts: &[String]) -> String {
    let hash = digest(&SHA256, parts.join("\n").as_bytes());
    hash.as_ref().iter().take(FINGERPRINT).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("memory takes everything");
        hex
    })
}
