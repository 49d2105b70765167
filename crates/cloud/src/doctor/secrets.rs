//! Secrets with the user data of classes.

use std::collections::BTreeMap;

use super::{Finding, SecretSeen, Subject};
use crate::{
    inputs::SecretData,
    needs::{SecretName, SecretNeed},
};

/// The data of the Secret that a class needs, or the finding that says why it is missing.
pub fn users_secret(
    subject: Subject<'_>,
    need: Option<SecretNeed>,
    seen: &BTreeMap<SecretName, SecretSeen>,
) -> Result<BTreeMap<SecretName, SecretData>, Finding> {
    let Some(need) = need else { return Ok(BTreeMap::new()) };
    let SecretName { namespace, name } = &need.secret;
    let of_namespace = namespace.iter().map(|own| format!("{own}/"));
    let named = of_namespace.chain([name.clone()]).collect::<String>();
    let data = match seen.get(&need.secret) {
        Some(SecretSeen::Found(data)) => Some(data),
        Some(SecretSeen::Absent) => None,
        Some(SecretSeen::Unread(why)) => {
            let text = format!("the text is in Secret {named}, which could not be read: {why}");
            return Err(subject.not_checked(text));
        }
        None => {
            return Err(subject.not_checked(format!(
                "the text is in Secret {named}, and no cluster is read; leave -f out, and give \
                 --kubeconfig with an account that may get it"
            )));
        }
    };
    match need.problem(&named, data) {
        Some((reason, message)) => Err(subject.problem(reason, &message)),
        None => Ok(data.map(|data| (need.secret, data.clone())).into_iter().collect()),
    }
}
