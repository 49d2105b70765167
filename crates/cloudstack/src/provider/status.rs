//! What is said of a class: whether it can be used, and what it comes to.

use joiner_cloud::{
    CloudError,
    bootstrap::class_text::{Fetched, Recipient},
    class::{self, BOOTSTRAP_READY, ClassStatus},
    inputs::ClassInputs,
    judgement::{VALIDATION, add_bootstrap, add_version, condition, orders_accepted, refuse},
    notes::Note,
};
use serde_json::Value;

use super::{Inner, Resolved, resolve::Unread};
use crate::{NODE_CLASS_KIND, node_class::NodeClass, user_data};

impl Inner {
    /// What is to be said of a class.
    pub(super) async fn judge(
        &self,
        class: &class::NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        let mut status = ClassStatus::default();
        let read = match NodeClass::read(&class.object()) {
            Ok(read) => read,
            Err(error) => {
                let why = error.to_string();
                status.conditions.push(condition(VALIDATION, Some(false), "InvalidSpec", why));
                return Ok(status);
            }
        };
        let known = self.look_at(class, &read).await;
        match &known {
            Ok(resolved) => {
                let resolution = &resolved.resolution;
                status.conditions.extend(resolution.conditions.iter().cloned());
                let fields = serde_json::to_value(&resolution.status).unwrap_or_default();
                if let Value::Object(fields) = fields {
                    status.fields = fields;
                }
                self.say_of_texts(&mut status, &read, resolved, inputs);
            }
            // A server that restarts must not take classes out of use with it.
            Err(Unread { why, .. }) if self.kept(class).is_some() => {
                return Err(CloudError::Unknown(format!("looking at the class: {why}")));
            }
            Err(Unread { resolution, .. }) => {
                status.conditions.extend(resolution.conditions.iter().cloned());
            }
        }
        let named = format!("{NODE_CLASS_KIND} {:?}", class.name);
        let refused = {
            let state = self.state();
            orders_accepted(&named, "CloudStack", state.invalid_orders.why(class, self.now()))
        };
        status.conditions.push(refused);
        match self.judge_scope(class).await {
            Ok((scope_confirmed, scope)) => {
                status.conditions.push(scope_confirmed);
                status.fields.insert("scope".to_owned(), scope.into());
            }
            // Without a scope nothing can be compared with it; what was known stays.
            Err(why) => {
                tracing::debug!(NodeClass = class.name, "the scope is not known: {why}");
                if let Some(scope) = class.status.get("scope") {
                    status.fields.insert("scope".to_owned(), scope.clone());
                }
            }
        }
        let facts = inputs.and_then(Fetched::of).map(|fetched| fetched.facts);
        add_version(&mut status, facts);
        self.tell_troubles(class, &status);
        Ok(status)
    }

    /// Says whether a text can be made for instances of a class.
    fn say_of_texts(
        &self,
        status: &mut ClassStatus,
        read: &NodeClass,
        resolved: &Resolved,
        inputs: Option<&ClassInputs>,
    ) {
        let recipient = resolved.types.first().map(|instance_type| Recipient {
            node_name: "trial",
            instance_type,
            token: None,
            order: None,
        });
        let letters_max = self.settings.user_data_max;
        if read.spec.bootstrap.is_some() {
            let Some(fetched) = inputs.and_then(Fetched::of) else { return };
            let class_text = user_data::class_text(read, letters_max);
            let trial = recipient.map(|own| class_text.trial(&fetched, own.instance_type));
            add_bootstrap(status, trial, |_| None);
            return;
        }
        let trial = recipient.and_then(|own| user_data::text(read, letters_max, None, &own));
        if let Some(Err(error)) = trial {
            refuse(status, error.kind.reason(), error.to_string());
        }
    }

    /// Tells, once, what is wrong with a class.
    fn tell_troubles(&self, class: &class::NodeClass, status: &ClassStatus) {
        let broken = status.conditions.iter().filter(|own| own.holds == Some(false));
        let Some(first) = broken.clone().find(|own| own.type_ != BOOTSTRAP_READY) else {
            self.state().told.forget(&class.name);
            return;
        };
        if self.state().told.is_new(&class.name, &first.message) {
            let note = Note::wrong_with_class(class, "ResolutionFailed", first.message.clone());
            self.notes.write(note);
        }
    }
}
