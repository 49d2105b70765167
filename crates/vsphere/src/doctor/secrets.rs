//! Secrets that hold the texts of classes.

use std::collections::BTreeMap;

use joiner_cloud::{inputs::SecretData, needs::SecretName};

use super::{Finding, SecretSeen, Subject};
use crate::{node_class::NodeClass, user_data};

/// What a class's text is made with, as far as it is in Secrets, or what is to be said instead.
pub(crate) fn users_secret(
    subject: Subject<'_>,
    class: &NodeClass,
    seen: &BTreeMap<SecretName, SecretSeen>,
) -> Result<BTreeMap<SecretName, SecretData>, Finding> {
    let Some(need) = user_data::secret_need(class) else { return Ok(BTreeMap::new()) };
    let SecretName { namespace, name } = &need.secret;
    let field = &need.field;
    let of_namespace = namespace.iter().map(|own| format!("{own}/"));
    let named = of_namespace.chain([name.clone()]).collect::<String>();
    let data = match seen.get(&need.secret) {
        Some(SecretSeen::Found(data)) => data,
        Some(SecretSeen::Absent) => {
            let message =
                format!("{field}: Secret {named} is not there; create it, or refer to another");
            return Err(subject.problem("SecretNotFound", &message));
        }
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
    if let Some(key) = need.keys.iter().find(|key| !data.contains_key(*key)) {
        let message = format!("{field}: Secret {named} has no key {key:?}; add it");
        return Err(subject.problem("SecretIncomplete", &message));
    }
    Ok([(need.secret.clone(), data.clone())].into())
}
