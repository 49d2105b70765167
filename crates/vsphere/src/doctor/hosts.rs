//! The hosts that instances of a class would run on.

use joiner_cloud::doctor::{Finding, Subject};
use joiner_vim::MoRef;

use crate::{places::Place, room::Host};

/// Whether instances of a place have hosts to run on.
pub(crate) fn hosts(class: &str, place: &Place, hosts: &[Host]) -> Finding {
    let subject = Subject::new("hosts", class);
    let datastores: Vec<MoRef> =
        place.datastores.usable.iter().map(|own| own.named.reference.clone()).collect();
    let networks: Vec<MoRef> =
        place.networks.iter().map(|own| own.named.reference.clone()).collect();
    judge(subject, &place.compute.named.path, &datastores, &networks, hosts)
}

fn judge(
    subject: Subject<'_>,
    compute: &str,
    datastores: &[MoRef],
    networks: &[MoRef],
    hosts: &[Host],
) -> Finding {
    let unfit: Vec<String> = hosts
        .iter()
        .filter_map(|host| {
            Some(format!("{} {}", host.name, host.objection(datastores.iter(), networks)?))
        })
        .collect();
    let fit = hosts.len() - unfit.len();
    if hosts.is_empty() {
        let text = format!("the account sees no host of {compute}");
        return subject.not_checked(text);
    }
    let told = format!("{fit} of {} hosts of {compute} can take instances", hosts.len());
    let remedy = "mend that, or choose what all hosts have";
    match (fit, unfit.is_empty()) {
        (_, true) => subject.fine(told),
        (0, _) => subject.problem("NoHostFits", &format!("{told}: {}; {remedy}", unfit.join(", "))),
        _ => subject.warning("SomeHostsUnfit", &format!("{told}: {}; {remedy}", unfit.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joiner_cloud::doctor::Severity;

    fn object(id: &str) -> MoRef {
        MoRef::new("Datastore", id)
    }

    fn host(name: &str) -> Host {
        Host {
            name: name.to_owned(),
            out_of_use: None,
            datastores: vec![object("datastore")],
            networks: vec![object("network")],
        }
    }

    fn judged(hosts: &[Host]) -> (Severity, String) {
        let subject = Subject::new("hosts", "class");
        let found =
            judge(subject, "/dc1/host/c", &[object("datastore")], &[object("network")], hosts);
        (found.severity, found.text)
    }

    #[test]
    fn one_host_that_fits_is_enough_and_the_others_are_named() {
        let away = Host { out_of_use: Some("is not connected"), ..host("esx2") };
        let maintained = Host { out_of_use: Some("is in maintenance"), ..host("esx3") };
        let blind = Host { networks: Vec::new(), ..host("esx4") };
        let apart = Host { datastores: Vec::new(), ..host("esx5") };
        assert_eq!(judged(&[host("esx1")]).0, Severity::Ok);
        let (severity, text) = judged(&[host("esx1"), away.clone(), maintained, blind, apart]);
        assert_eq!(severity, Severity::Warning);
        assert_eq!(
            text,
            "1 of 5 hosts of /dc1/host/c can take instances: esx2 is not connected, esx3 is in \
             maintenance, esx4 does not see all networks, esx5 mounts none of the datastores"
        );
        assert_eq!(judged(&[away]).0, Severity::Problem);
        assert_eq!(judged(&[]).0, Severity::NotChecked);
    }
}
