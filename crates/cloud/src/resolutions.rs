//! The remembered resolutions of a cloud's classes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;

use crate::class::NodeClass;

/// Resolutions of classes, by the class's name. `R` is the cloud's: image, places, storages.
#[derive(Debug)]
pub struct Resolutions<R>(BTreeMap<String, Kept<R>>);

/// The resolution of a class, with its time.
#[derive(Debug)]
struct Kept<R> {
    uid: String,
    generation: i64,
    at: Timestamp,
    resolution: Arc<R>,
}

impl<R> Default for Resolutions<R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<R> Resolutions<R> {
    /// Remembers the resolution of a class.
    pub fn remember(&mut self, class: &NodeClass, resolution: Arc<R>, now: Timestamp) {
        let (uid, generation) = (class.uid.clone(), class.generation);
        self.0.insert(class.name.clone(), Kept { uid, generation, at: now, resolution });
    }

    /// The resolution of this version of a class, unless it is older than `age`.
    pub fn fresh(&self, class: &NodeClass, age: Duration, now: Timestamp) -> Option<Arc<R>> {
        let kept = self.0.get(&class.name)?;
        let is_it = kept.uid == class.uid && kept.generation == class.generation;
        let is_fresh = now.duration_since(kept.at).unsigned_abs() < age;
        (is_it && is_fresh).then(|| Arc::clone(&kept.resolution))
    }

    /// The last resolution of any version of a class, of any age.
    pub fn of(&self, class: &NodeClass) -> Option<&Arc<R>> {
        let kept = self.0.get(&class.name).filter(|kept| kept.uid == class.uid)?;
        Some(&kept.resolution)
    }

    /// The last resolution of a class with this name, of any age.
    pub fn named(&self, class: &str) -> Option<&Arc<R>> {
        self.0.get(class).map(|kept| &kept.resolution)
    }

    /// The resolutions of all classes.
    pub fn all(&self) -> impl Iterator<Item = &Arc<R>> {
        self.0.values().map(|kept| &kept.resolution)
    }

    /// Forgets a class: an object that it resolved to no longer exists.
    pub fn forget(&mut self, class: &str) {
        self.0.remove(class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_resolution_is_used_for_a_while_and_for_its_own_version_only() {
        let class = NodeClass {
            name: "general".to_owned(),
            uid: "uid-1".to_owned(),
            generation: 1,
            ..NodeClass::default()
        };
        let mut resolutions = Resolutions::default();
        resolutions.remember(&class, Arc::new("image"), at(0));
        let age = Duration::from_mins(1);
        assert!(resolutions.fresh(&class, age, at(59)).is_some());
        assert!(resolutions.fresh(&class, age, at(60)).is_none(), "it is too old");
        let changed = NodeClass { generation: 2, ..class.clone() };
        assert!(resolutions.fresh(&changed, age, at(1)).is_none(), "the class has changed");
        assert!(resolutions.of(&changed).is_some());
        let namesake = NodeClass { uid: "uid-2".to_owned(), ..class };
        assert!(resolutions.of(&namesake).is_none(), "another class of the same name");
        resolutions.forget("general");
        assert!(resolutions.named("general").is_none());
    }
}
