//! The timeouts of a claim's steps. The pool overrides its class, the class the settings, and the
//! settings the cloud's default.

use std::time::Duration;

use joiner_api::{duration, node_pool::NodePool};
use joiner_cloud::class::NodeClass;
use joiner_core::label::Labels;

use crate::{
    claims::name,
    marks::{INITIALIZATION_TIMEOUT, LAUNCH_TIMEOUT, REGISTRATION_TIMEOUT},
    settings,
};

/// The timeouts of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Timeouts {
    /// From the claim to the instance.
    pub(super) launch: Duration,
    /// From the instance to its node.
    pub(super) registration: Duration,
    /// From the registered node to the initialized one; none for no limit.
    pub(super) initialization: Option<Duration>,
    /// Invalid annotations, which are ignored.
    pub(super) malformed: Vec<Malformed>,
}

/// An invalid annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed {
    /// The object that carries it.
    pub(super) on: Annotated,
    /// The problem and the remedy.
    pub(super) message: String,
}

/// The object that carries a timeout annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Annotated {
    /// The claim's pool.
    NodePool,
    /// The claim's class.
    NodeClass,
}

/// The timeouts for a claim of this pool and class.
pub(super) fn timeouts(
    pool: Option<&NodePool>,
    class: Option<&NodeClass>,
    settings: &settings::Timeouts,
    launch_of_provider: Duration,
) -> Timeouts {
    let mut malformed = Vec::new();
    let mut annotated = |annotation, may_be_zero| {
        let pool = pool.and_then(|pool| {
            let annotations = pool.metadata.annotations.as_ref()?;
            Some((Annotated::NodePool, name(&pool.metadata), annotations))
        });
        let class =
            class.map(|class| (Annotated::NodeClass, class.name.as_str(), &class.annotations));
        pool.into_iter().chain(class).find_map(|(on, owner, annotations)| {
            read(annotations, annotation, may_be_zero)?
                .map_err(|problem| {
                    let kind = if on == Annotated::NodePool { "NodePool" } else { "NodeClass" };
                    let message = format!(
                        "{kind} {owner:?}: annotation {annotation}: {problem}; it is ignored"
                    );
                    malformed.push(Malformed { on, message });
                })
                .ok()
        })
    };
    let launch = annotated(LAUNCH_TIMEOUT, false);
    let registration = annotated(REGISTRATION_TIMEOUT, false);
    let initialization = annotated(INITIALIZATION_TIMEOUT, true);
    Timeouts {
        launch: launch.or(settings.launch).unwrap_or(launch_of_provider),
        registration: registration.unwrap_or(settings.registration),
        initialization: match initialization {
            Some(time) => Some(time).filter(|time| !time.is_zero()),
            None => settings.initialization,
        },
        malformed,
    }
}

/// The value of an annotation, if it exists.
fn read(
    annotations: &Labels,
    annotation: &str,
    may_be_zero: bool,
) -> Option<Result<Duration, String>> {
    let text = annotations.get(annotation)?;
    let time = text.parse::<duration::Duration>().map_err(|error| error.to_string());
    Some(time.and_then(|time| match u64::try_from(time.nanos()).map(Duration::from_nanos) {
        Ok(time) if may_be_zero || !time.is_zero() => Ok(time),
        _ => Err(format!("\"{text}\" is no time that something may take; write it as 20m")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: settings::Timeouts = settings::Timeouts {
        launch: None,
        registration: Duration::from_mins(15),
        initialization: None,
    };
    const PROVIDER: Duration = Duration::from_mins(5);

    fn pool(annotations: &[(&str, &str)]) -> NodePool {
        let mut pool = NodePool::default();
        pool.metadata.name = Some("general".to_owned());
        pool.metadata.annotations = Some(labels(annotations));
        pool
    }

    fn class(annotations: &[(&str, &str)]) -> NodeClass {
        let annotations = labels(annotations);
        NodeClass { name: "default".to_owned(), annotations, ..NodeClass::default() }
    }

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn without_annotations_the_settings_count_and_then_the_provider() {
        let found = timeouts(None, None, &SETTINGS, PROVIDER);
        assert_eq!(found.launch, PROVIDER);
        assert_eq!(found.registration, Duration::from_mins(15));
        assert_eq!(found.initialization, None);
        let launch = Some(Duration::from_mins(7));
        let set = settings::Timeouts { launch, ..SETTINGS };
        assert_eq!(timeouts(None, None, &set, PROVIDER).launch, Duration::from_mins(7));
    }

    #[test]
    fn the_pool_counts_before_the_class_and_the_class_before_the_settings() {
        let pool = pool(&[(LAUNCH_TIMEOUT, "1m")]);
        let class = class(&[(LAUNCH_TIMEOUT, "2m"), (REGISTRATION_TIMEOUT, "1h30m")]);
        let found = timeouts(Some(&pool), Some(&class), &SETTINGS, PROVIDER);
        assert_eq!(found.launch, Duration::from_mins(1));
        assert_eq!(found.registration, Duration::from_mins(90));
    }

    #[test]
    fn an_annotation_can_turn_the_end_of_initialization_on_and_off() {
        let on =
            timeouts(Some(&pool(&[(INITIALIZATION_TIMEOUT, "10m")])), None, &SETTINGS, PROVIDER);
        assert_eq!(on.initialization, Some(Duration::from_mins(10)));
        let initialization = Some(Duration::from_mins(5));
        let set = settings::Timeouts { initialization, ..SETTINGS };
        let off = timeouts(Some(&pool(&[(INITIALIZATION_TIMEOUT, "0s")])), None, &set, PROVIDER);
        assert_eq!(off.initialization, None);
    }

    #[test]
    fn what_makes_no_sense_is_named_and_the_next_counts() {
        let pool = pool(&[(LAUNCH_TIMEOUT, "soon"), (REGISTRATION_TIMEOUT, "0s")]);
        let class = class(&[(LAUNCH_TIMEOUT, "2m"), (REGISTRATION_TIMEOUT, "-5m")]);
        let found = timeouts(Some(&pool), Some(&class), &SETTINGS, PROVIDER);
        assert_eq!(found.launch, Duration::from_mins(2));
        assert_eq!(found.registration, Duration::from_mins(15));
        let told: Vec<(Annotated, &str)> =
            found.malformed.iter().map(|one| (one.on, one.message.as_str())).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[0].0, Annotated::NodePool);
        assert!(told[0].1.starts_with(
            "NodePool \"general\": annotation joiner.sh/launch-timeout: \"soon\" is no duration"
        ));
        assert!(told[1].1.contains("\"0s\" is no time that something may take; write it as 20m"));
        assert_eq!(told[2].0, Annotated::NodeClass);
    }
}
