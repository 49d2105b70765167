//! What keeps a class from being used, as far as the object itself shows it.

use joiner_cloud::{
    bootstrap::Distro,
    kubelet,
    spec::{Problem, Reason},
};

use super::{GroupRef, NodeClass, written};
use crate::{NODE_CLASS_KIND, marks, user_data};

/// A tag that CloudStack does not take.
const INVALID_TAGS: Reason = Reason::new("InvalidTags");

/// The longest key and value of a tag or a detail, in characters.
const TEXT_MAX: usize = 255;
/// How many tags of a user an instance may have, so that ours have room in one request.
const TAGS_MAX: usize = 100;
/// Keys of details that decide about other things than the user means.
const DENIED_DETAILS: [&str; 3] = ["cpuNumber", "cpuSpeed", "memory"];
/// How a detail begins that writes into the hypervisor's own definition.
const DENIED_PREFIX: &str = "extraconfig";

impl NodeClass {
    /// Everything that keeps the class from being used, as far as the object itself shows it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.check_tags(&mut problems);
        self.check_details(&mut problems);
        self.check_words(&mut problems);
        self.check_shapes(&mut problems);
        self.check_references(&mut problems);
        if let Some(kubelet) = &self.spec.kubelet {
            kubelet::check(kubelet, &mut problems);
        }
        problems
    }

    /// Fields that are set and have no effect, each in a sentence.
    pub fn ignored(&self) -> Vec<String> {
        let mut ignored = Vec::new();
        let subject = format!("{NODE_CLASS_KIND} {:?}", self.name());
        for (key, value) in self.spec.tags.iter().flatten() {
            if marks::is_own_tag(key) && !marks::is_written_anyway(key, value) {
                ignored.push(format!(
                    "{subject}: spec.tags[{key:?}] is not used, because it says whose an instance is"
                ));
            }
        }
        if self.spec.disk_size_gib.is_some() && written(self.spec.disk_offering.as_ref()).is_none()
        {
            ignored.push(format!(
                "{subject}: spec.diskSizeGiB is not used, because there is no spec.diskOffering"
            ));
        }
        ignored
    }

    /// Tags are written all at once or not at all, so one that CloudStack refuses loses all of them.
    fn check_tags(&self, problems: &mut Vec<Problem>) {
        let Some(tags) = &self.spec.tags else { return };
        let mut refuse = |field: String, text: String| {
            problems.push(Problem::new(INVALID_TAGS, field, text));
        };
        for (key, value) in tags {
            let field = format!("spec.tags[{key:?}]");
            if value.is_empty() {
                refuse(field, "is empty, which CloudStack refuses; write a value".to_owned());
            } else if key.chars().count() > TEXT_MAX || value.chars().count() > TEXT_MAX {
                refuse(field, format!("is too long; write {TEXT_MAX} characters at most"));
            } else if [key, value].iter().any(|text| text.chars().any(char::is_control)) {
                refuse(field, "has control characters; leave them out".to_owned());
            }
        }
        if tags.len() > TAGS_MAX {
            let text = format!("has {} tags; keep {TAGS_MAX} at most", tags.len());
            refuse("spec.tags".to_owned(), text);
        }
    }

    fn check_details(&self, problems: &mut Vec<Problem>) {
        for (key, value) in self.spec.details.iter().flatten() {
            let mut refuse = |text: &str| {
                let field = format!("spec.details[{key:?}]");
                problems.push(Problem::new(Reason::INVALID_INSTANCE, field, text));
            };
            let is = |own: &&str| key.eq_ignore_ascii_case(own);
            if DENIED_DETAILS.iter().any(is) {
                refuse("is the service offering's to say; use customOfferingShapes");
            } else if key.to_ascii_lowercase().starts_with(DENIED_PREFIX) {
                refuse("changes the hypervisor's own definition; leave it out");
            } else if marks::DETAILS.iter().any(is) {
                refuse("says whose an instance is; leave it out");
            } else if key.is_empty() || key.contains(['[', ']']) {
                refuse("has a key that CloudStack cannot read; write one without brackets");
            } else if value.is_empty() || value.chars().count() > TEXT_MAX {
                refuse("has no value, or one that is too long; write 1 to 255 characters");
            }
        }
    }

    fn check_words(&self, problems: &mut Vec<Problem>) {
        let spec = &self.spec;
        let bootstrap = spec.bootstrap.clone().unwrap_or_default();
        let distros = Distro::ALL.map(Distro::as_str);
        for (field, word, known) in [
            ("antiAffinity", &spec.anti_affinity, &["host", "soft-host"][..]),
            ("bootType", &spec.boot_type, &["UEFI", "BIOS"]),
            ("bootMode", &spec.boot_mode, &["LEGACY", "SECURE"]),
            ("bootstrap.mode", &bootstrap.mode, &["merge", "replace"]),
            ("bootstrap.distro", &bootstrap.distro, &distros),
        ] {
            if let Some(word) = written(word.as_ref()).filter(|word| !known.contains(word)) {
                problems.push(unknown_word(field, word, known));
            }
        }
        if let Err(text) = user_data::format(spec.user_data_format.as_deref()) {
            let field = "spec.userDataFormat";
            problems.push(Problem::new(Reason::INVALID_USER_DATA, field, text));
        }
        let is_uefi = written(spec.boot_type.as_ref()) == Some("UEFI");
        let (problem, field) = match (is_uefi, written(spec.boot_mode.as_ref())) {
            (true, None) => ("is needed with bootType UEFI; write LEGACY or SECURE", "bootMode"),
            (false, Some(_)) => ("means nothing without bootType UEFI; write it too", "bootMode"),
            _ => return,
        };
        let field = format!("spec.{field}");
        problems.push(Problem::new(Reason::INVALID_INSTANCE, field, problem));
    }

    fn check_shapes(&self, problems: &mut Vec<Problem>) {
        for (index, shape) in self.spec.custom_offering_shapes.iter().flatten().enumerate() {
            let mut refuse = |field: &str, text: String| {
                let field = format!("spec.customOfferingShapes[{index}].{field}");
                problems.push(Problem::new(Reason::INVALID_INSTANCE_TYPE, field, text));
            };
            if !(1..=9999).contains(&shape.cpu) {
                refuse("cpu", format!("{} is no number of CPUs; write 1 or more", shape.cpu));
            }
            if shape.memory_mib < 32 {
                let text = format!("{} is too little; write MiB, 32 or more", shape.memory_mib);
                refuse("memoryMiB", text);
            }
            if let Some(mhz) = shape.cpu_mhz.filter(|mhz| *mhz < 1) {
                refuse("cpuSpeedMHz", format!("{mhz} is no speed; write MHz, 1 or more"));
            }
        }
        if let Some(gib) = self.spec.disk_size_gib.filter(|gib| *gib < 1) {
            let text = format!("{gib} is no disk's size; write GiB, 1 or more");
            problems.push(Problem::new(Reason::INVALID_DISK_SIZE, "spec.diskSizeGiB", text));
        }
    }

    fn check_references(&self, problems: &mut Vec<Problem>) {
        let of = [
            ("affinityGroups", &self.spec.affinity_groups),
            ("securityGroups", &self.spec.security_groups),
        ];
        for (field, groups) in of {
            for (index, GroupRef { id, name }) in groups.iter().flatten().enumerate() {
                if written(id.as_ref()).is_none() && written(name.as_ref()).is_none() {
                    let field = format!("spec.{field}[{index}]");
                    let text = "says nothing; write {id: …} or {name: …}";
                    problems.push(Problem::new(Reason::SELECTOR_MISSING, field, text));
                }
            }
        }
        let token = self.spec.bootstrap.as_ref().and_then(|own| own.token_secret_ref.as_ref());
        if token.is_some_and(|secret| secret.name.is_empty()) {
            let field = "spec.bootstrap.tokenSecretRef.name";
            let text = "is empty; write the name of a Secret";
            problems.push(Problem::new(Reason::INVALID_USER_DATA, field, text));
        }
    }
}

fn unknown_word(field: &str, word: &str, known: &[&str]) -> Problem {
    let (last, others) = known.split_last().expect("some words are known");
    let text = format!("{word:?} is not known; write {} or {last}", others.join(", "));
    Problem::new(Reason::INVALID_INSTANCE, format!("spec.{field}"), text)
}
