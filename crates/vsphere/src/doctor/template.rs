//! The template that instances of a class are cloned from.

use joiner_cloud::doctor::{Finding, Subject};

use crate::{
    clone_spec::Copying, image::doubts, instances::Instances, inventory::Template,
    node_class::NodeClass, vm_settings::CloneMode,
};

/// What there is to say of a template that can be used.
pub(crate) fn template(
    object: &str,
    class: &NodeClass,
    image: &Template,
    instances: &Instances,
) -> Vec<Finding> {
    let subject = Subject::new("template", object);
    let details = &image.details;
    let known = |text: &str, name: &str| match text {
        "" => format!("{name} unknown"),
        text => text.to_owned(),
    };
    let path = &image.named.path;
    let mut found = vec![subject.fine(format!(
        "{path}: {} GiB, {}, {}, {}; clones get disk.enableUUID",
        image.disk_gib().unwrap_or_default(),
        known(&details.guest_id, "guest"),
        known(&details.hw_version, "hardware"),
        known(&details.firmware, "firmware"),
    ))];
    found.push(copying(Subject::new("snapshot", object), class, image, instances));
    found.extend(
        doubts(class, image)
            .iter()
            .map(|doubt| subject.warning(doubt.code, &format!("{}; {}", doubt.text, doubt.remedy))),
    );
    found
}

/// Whether clones are quick, or why they are not.
fn copying(
    subject: Subject<'_>,
    class: &NodeClass,
    image: &Template,
    instances: &Instances,
) -> Finding {
    let path = &image.named.path;
    let mut ways = instances
        .hardware
        .values()
        .filter_map(|hardware| Copying::choose(class, image, hardware.disk_gib).ok());
    let is_full = ways.any(|way| way == Copying::Full);
    let mode = CloneMode::read(class.spec.clone_mode.as_deref()).unwrap_or_default();
    match (is_full, mode) {
        (false, _) => subject.fine(format!("instances are linked clones of a snapshot of {path}")),
        (true, CloneMode::Full) => {
            subject.fine("every instance is a full copy, as spec.cloneMode says")
        }
        (true, _) if image.details.current_snapshot.is_none() => subject.warning(
            "NoSnapshot",
            &format!(
                "{path} has no snapshot, so that every instance is a full copy, which takes minutes; \
                 take a snapshot of it, or write spec.cloneMode: fullClone if that is meant"
            ),
        ),
        (true, _) => subject.warning(
            "DiskGrows",
            &format!(
                "the disk that spec.diskSize asks for is larger than that of {path}, so that every \
                 instance is a full copy, which takes minutes; make the template's disk as large, \
                 or write spec.cloneMode: fullClone if that is meant"
            ),
        ),
    }
}
