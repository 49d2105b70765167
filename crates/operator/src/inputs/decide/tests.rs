use expect_test::expect;
use joiner_cloud::bootstrap::provider_id::IdCloud;

use super::*;

const CLASS: &str = "TestNodeClass \"general\"";
const PEM: &str = include_str!("../../../../cloud/tests/it/ca.pem");

fn away<T>() -> Read<T> {
    Err(Unread::Away("timed out".to_owned()))
}

fn refused<T>() -> Read<T> {
    Err(Unread::Refused("forbidden".to_owned()))
}

/// What was decided, or its reason, or that nothing is known.
fn shown<T: std::fmt::Debug>(decided: Result<T, Missing>) -> String {
    match decided {
        Ok(decided) => format!("{decided:?}"),
        Err(Missing::Problem { reason, .. }) => reason.to_owned(),
        Err(Missing::Unknown(_)) => "unknown".to_owned(),
    }
}

fn info(ca: Option<&str>) -> ClusterInfo {
    let server = Some("https://10.0.0.10:6443".to_owned());
    ClusterInfo { server, ca: ca.map(str::to_owned) }
}

#[test]
fn what_kubeadm_publishes_is_read() {
    let text = |data: &str| {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster:\n    \
             certificate-authority-data: {data}\n    server: https://10.0.0.10:6443\n"
        )
    };
    assert_eq!(ClusterInfo::read(&text(&STANDARD.encode(PEM))), Ok(info(Some(PEM))));
    expect!["ConfigMap kube-public/cluster-info: kubeconfig: certificate-authority-data is no text in base64"]
        .assert_eq(&ClusterInfo::read(&text("???")).unwrap_err());
    expect!["ConfigMap kube-public/cluster-info: kubeconfig: there is no cluster in it"]
        .assert_eq(&ClusterInfo::read("apiVersion: v1\nkind: Config\n").unwrap_err());
}

#[test]
fn the_class_has_the_first_word_on_the_distribution_and_the_setting_the_second() {
    let (rke2, k3s) = (Some(Distro::Rke2), Some(Distro::K3s));
    assert_eq!(written_distro(Some("k3s"), rke2), Ok(k3s));
    assert_eq!(written_distro(Some(""), rke2), Ok(rke2));
    assert_eq!(written_distro(None, None), Ok(None));
    assert_eq!(written_distro(Some("k8s"), rke2).unwrap_err().kind, ErrorKind::DistroUnknown);
}

#[test]
fn a_distribution_is_unknown_only_when_the_cluster_has_said_so() {
    let decided = |version, info: Read<Option<ClusterInfo>>| shown(distro(CLASS, version, &info));
    assert_eq!(decided("v1.33.4+rke2r1", away()), "Rke2");
    assert_eq!(decided("v1.33.4+k3s1", refused()), "K3s");
    assert_eq!(decided("v1.33.4", Ok(Some(info(None)))), "Kubeadm");
    assert_eq!(decided("v1.33.4", Ok(None)), "DistroUnknown");
    assert_eq!(decided("v1.33.4", refused()), "DistroUnknown");
    assert_eq!(decided("v1.33.4", away()), "unknown");
}

#[test]
fn rke2_is_joined_by_its_supervisor_and_the_others_where_the_api_is() {
    let servers = ["10.0.0.1:6443".parse().unwrap(), "[fd00::1]:6443".parse().unwrap()];
    let texts = |distro| {
        let addresses = join_addresses(distro, &servers);
        addresses.iter().map(|address| format!("https://{address}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(texts(Distro::Rke2Airgapped), "https://10.0.0.1:9345 https://[fd00::1]:9345");
    assert_eq!(texts(Distro::K3s), "https://10.0.0.1:6443 https://[fd00::1]:6443");
}

#[test]
fn the_authority_is_what_pods_trust_or_what_kubeadm_publishes() {
    let decided = |root: Read<Option<String>>, info: Option<Read<Option<ClusterInfo>>>| {
        let decided = authority(CLASS, &root, info.as_ref());
        shown(decided.map(|ca| ca.is_some()))
    };
    let published = || Some(Ok(Some(info(Some(PEM)))));
    assert_eq!(decided(Ok(Some(PEM.to_owned())), None), "true");
    assert_eq!(decided(Ok(None), published()), "true");
    assert_eq!(decided(away(), published()), "true");
    assert_eq!(decided(Ok(None), Some(Ok(None))), "false");
    assert_eq!(decided(refused(), Some(Ok(None))), "false");
    assert_eq!(decided(away(), Some(Ok(None))), "unknown");
    assert_eq!(decided(Ok(Some("no PEM".to_owned())), None), "CAUnknown");
}

#[test]
fn nobody_is_without_a_token_because_nobody_answered() {
    let given = Secret::from("abc");
    let decided = |given: Option<&Secret<String>>, mint, may: Read<bool>| {
        shown(token_source(CLASS, given, mint, &may))
    };
    assert_eq!(decided(Some(&given), MintTokens::Auto, away()), "Given([redacted])");
    assert_eq!(decided(None, MintTokens::Auto, Ok(true)), "Mint");
    assert_eq!(decided(None, MintTokens::Auto, Ok(false)), "JoinTokenMissing");
    assert_eq!(decided(None, MintTokens::Auto, refused()), "JoinTokenMissing");
    assert_eq!(decided(None, MintTokens::Auto, away()), "unknown");
    assert_eq!(decided(Some(&given), MintTokens::Always, away()), "unknown");
    assert_eq!(decided(None, MintTokens::Never, away()), "JoinTokenMissing");
}

#[test]
fn who_gives_ids_is_unknown_while_nobody_answers() {
    let decided = |ids: Option<&str>, images: Read<Vec<String>>| {
        let need = IdNeed { cloud: IdCloud::Vsphere, setting: None };
        let ids = ids.map(|id| vec![id.to_owned()]);
        shown(id_giver(CLASS, need, ids, &images))
    };
    assert_eq!(decided(Some("vsphere://1"), away()), "Cloud");
    assert_eq!(decided(Some(""), Ok(vec![])), "Guest(Dmi)");
    assert_eq!(decided(Some(""), refused()), "ProviderIDUnknown");
    assert_eq!(decided(Some(""), away()), "unknown");
    assert_eq!(decided(None, Ok(vec![])), "ProviderIDUnknown");
}
