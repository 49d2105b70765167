//! The configuration file: clusters, addresses, tokens, and what is said of what cannot be meant.

use std::{collections::BTreeMap, path::Path};

use expect_test::{Expect, expect};
use joiner_proxmox::configuration::{Configuration, Login, Trust};

/// Reads a file; others that it names have these texts.
fn read(yaml: &str, files: &[(&'static str, &str)]) -> Result<Configuration, String> {
    let files: BTreeMap<&Path, String> =
        files.iter().map(|(path, text)| (Path::new(*path), (*text).to_owned())).collect();
    Configuration::read(yaml, &files)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[track_caller]
fn refused(yaml: &str, expected: &Expect) {
    expected.assert_eq(&read(yaml, &[]).expect_err("it cannot be meant"));
}

/// One cluster with these keys besides its url and region.
fn cluster(keys: &str) -> String {
    format!("clusters: [{{url: 'https://pve:8006', region: r1, {keys}}}]")
}

const TOKEN: &str = "token_id: 'kubernetes@pve!karpenter', token_secret: key";

const TWO_REGIONS: &str = r#"
features:
  provider: default
clusters:
  - url: https://cluster-api-1.example.com:8006/api2/json
    insecure: false
    token_id: "kubernetes@pve!karpenter"
    token_secret: "key"
    region: cluster-1
  - url: https://cluster-api-2.example.com:8006/api2/json
    insecure: true
    token_id_file: /etc/proxmox/token/id
    token_secret_file: /etc/proxmox/token/secret
    region: cluster-2
"#;

const TOKEN_FILES: [(&str, &str); 2] = [
    ("/etc/proxmox/token/id", "kubernetes@pve!files\n"),
    ("/etc/proxmox/token/secret", "  a-secret\n\n"),
];

fn token(configuration: &Configuration, region: &str) -> (String, String) {
    match &configuration.cluster(region).expect("it is there").login {
        Login::Token { id, secret } => (id.clone(), secret.reveal().clone()),
        Login::Password { .. } => unreachable!("it has a token"),
    }
}

#[test]
fn a_file_has_clusters_of_several_regions() {
    let configuration = read(TWO_REGIONS, &TOKEN_FILES).unwrap();
    assert_eq!(
        token(&configuration, "cluster-1"),
        ("kubernetes@pve!karpenter".to_owned(), "key".to_owned())
    );
    let second = configuration.cluster("cluster-2").unwrap();
    assert_eq!(second.urls, ["https://cluster-api-2.example.com:8006/api2/json"]);
    assert_eq!(second.trust, Trust::AnyCertificate);
    assert_eq!(configuration.cluster("cluster-3"), None);
    expect!["cluster #2: insecure: no certificate is checked, so that any host on the network path can read the token: use ca_file, ca_data or fingerprint instead"].assert_eq(&configuration.warnings.join("\n"));
}

/// Upstream: a token has to be in the file itself.
#[test]
fn a_token_may_be_in_files_alone() {
    let configuration = read(TWO_REGIONS, &TOKEN_FILES).unwrap();
    assert_eq!(
        token(&configuration, "cluster-2"),
        ("kubernetes@pve!files".to_owned(), "a-secret".to_owned())
    );
    let named: Vec<&str> = configuration.files.iter().filter_map(|path| path.to_str()).collect();
    assert_eq!(named, ["/etc/proxmox/token/id", "/etc/proxmox/token/secret"]);
}

#[test]
fn a_token_that_rotates_in_its_file_is_another_configuration() {
    let before = read(TWO_REGIONS, &TOKEN_FILES).unwrap();
    let rotated = [TOKEN_FILES[0], ("/etc/proxmox/token/secret", "another\n")];
    let after = read(TWO_REGIONS, &rotated).unwrap();
    assert_ne!(before, after);
    assert_eq!(before.clusters[0], after.clusters[0]);
}

#[test]
fn what_is_written_in_the_file_itself_wins() {
    let yaml = cluster(&format!("{TOKEN}, token_secret_file: /nowhere"));
    let configuration = read(&yaml, &[]).unwrap();
    assert_eq!(token(&configuration, "r1").1, "key");
    assert_eq!(configuration.files.len(), 0);
}

#[test]
fn secrets_are_never_shown() {
    let configuration = read(TWO_REGIONS, &TOKEN_FILES).unwrap();
    let shown = format!("{configuration:?}");
    assert!(!shown.contains("\"key\"") && !shown.contains("a-secret"), "{shown}");
    for yaml in [
        cluster("token_id: 'a@pve!b', token_secret: 1.2345"),
        cluster("token_id: 'a@pve!b', token_secret: [hunter2]"),
        cluster("username: root@pam, password: {hunter2: 12345}"),
        cluster("token_id: hunter2, token_secret: 12345"),
        "clusters:\n- token_secret: 'hunter2\n  region: [12345".to_owned(),
        "clusters: [{url: 'https://root:hunter2@pve', region: r1}]".to_owned(),
    ] {
        let problem = read(&yaml, &[]).unwrap_err();
        assert!(!problem.contains("hunter2") && !problem.contains("12345"), "{yaml}: {problem}");
    }
}

#[test]
fn a_cluster_may_have_several_addresses() {
    let yaml = "clusters:
- {urls: ['https://b', 'https://a:8006/api2/json/'], url: 'https://a:8006', region: r1, token_id: 'u@pve!t', token_secret: s}";
    let configuration = read(yaml, &[]).unwrap();
    assert_eq!(configuration.clusters[0].urls, ["https://a:8006/api2/json", "https://b/api2/json"]);
}

#[test]
fn certificates_are_trusted_in_one_way() {
    let pem = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n";
    let trust = |keys: &str| {
        let yaml = cluster(&format!("{TOKEN}, {keys}"));
        read(&yaml, &[("/ca.pem", pem)]).map(|read| read.clusters[0].trust.clone())
    };
    let hash = ["ab"; 32].join(":");
    assert_eq!(trust("insecure: false"), Ok(Trust::System));
    assert_eq!(trust("ca_file: /ca.pem"), Ok(Trust::Authorities(pem.to_owned())));
    assert_eq!(trust(&format!("ca_data: {pem:?}")), Ok(Trust::Authorities(pem.to_owned())));
    assert_eq!(trust(&format!("fingerprint: '{hash}'")), Ok(Trust::Fingerprint([0xab; 32])));
    let without_colons = hash.replace(':', "");
    assert_eq!(
        trust(&format!("fingerprint: {without_colons}")),
        Ok(Trust::Fingerprint([0xab; 32]))
    );
    for keys in [
        "ca_file: /missing.pem",
        "ca_data: none",
        "fingerprint: 'ab:cd'",
        "insecure: true, ca_file: /ca.pem",
    ] {
        assert!(trust(keys).is_err(), "{keys}");
    }
}

/// Upstream: the last cluster of a region wins.
#[test]
fn two_clusters_of_one_region_are_refused() {
    refused(
        &format!(
            "clusters:
- {{url: 'https://a', region: r1, {TOKEN}}}
- {{url: 'https://b', region: r2, {TOKEN}}}
- {{url: 'https://c', region: r1, {TOKEN}}}"
        ),
        &expect![[r#"cluster #3: region: "r1" is that of cluster #1 too; give each its own"#]],
    );
}

#[test]
fn a_region_that_no_label_can_have_is_refused() {
    refused(
        &format!(
            "clusters:
- {{url: 'https://a', region: 'Region 1', {TOKEN}}}
- {{url: 'https://b', region: '', {TOKEN}}}
- {{url: 'https://b', region: {}, {TOKEN}}}",
            "x".repeat(64)
        ),
        &expect![[r#"
            cluster #1: region: "Region 1" cannot be the value of a label; write 63 characters at most, of letters, digits and, between them, - _ and .
            cluster #2: region: is missing; name the region, which is the value of a label of nodes
            cluster #3: region: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" cannot be the value of a label; write 63 characters at most, of letters, digits and, between them, - _ and ."#]],
    );
}

#[test]
fn what_cannot_be_meant_is_told_by_position_and_key() {
    refused(
        "",
        &expect!["clusters: lists no cluster; add one with url, region, token_id and token_secret"],
    );
    refused(
        "clusters: []",
        &expect!["clusters: lists no cluster; add one with url, region, token_id and token_secret"],
    );
    refused("clusters: yes", &expect!["clusters: is no list; write one"]);
    refused("clusters: [", &expect!["is not valid YAML at line 1, column 11; correct it there"]);
    refused("clusters: [5]", &expect!["cluster #1: invalid type: integer `5`; write an object"]);
    refused(
        "clusters:
- {region: r1}
- {url: pve:8006, region: r2, token_id: 'kubernetes@pve', token_secret: key}
- {url: 'https://pve', region: r3, token_id: 'a@pve!b', token_secret: key, username: root@pam}
- {url: 'https://pve', region: r4, username: root, password: secret}
- {url: 'https://pve', region: r5, username: root@pam}
- {url: 'https://pve', region: r6, token_id_file: /nowhere, token_secret: key}
- {url: 'https://pve', region: 1.10, token_id: 'a@pve!b', token_secret: key}
- {url: 'https://pve', region: r8, token_id: 'a@pve!b', token_secret: [5]}
",
        &expect![[r#"
            cluster #1: url: is missing; write https://HOST:8006
            cluster #1: token_id: is missing; write it, or name a file with token_id_file
            cluster #1: token_secret: is missing; write it, or name a file with token_secret_file
            cluster #2: url: has no scheme; write https://HOST:8006
            cluster #2: token_id: is no id of a token; write USER@REALM!NAME, in quotes
            cluster #3: username: is there beside a token; write username and password, or the token, not both
            cluster #4: username: "root" has no realm; write USER@REALM, such as root@pam
            cluster #5: password: is missing, and username is there; write both
            cluster #6: token_id_file: /nowhere cannot be read; check path and permissions: there is no such file
            cluster #7: region: is no text; put it in quotes
            cluster #8: token_secret: is no text; put it in quotes"#]],
    );
}

#[test]
fn a_number_without_quotes_is_a_text() {
    let yaml = "clusters: [{url: 'https://pve', region: 7, token_id: 'a@pve!b', token_secret: 12}]";
    let configuration = read(yaml, &[]).unwrap();
    assert_eq!(token(&configuration, "7").1, "12");
    let twins = yaml.replace("}]", &format!("}}, {{url: 'https://b', region: '7', {TOKEN}}}]"));
    assert!(read(&twins, &[]).unwrap_err().contains("cluster #2: region"));
}

#[test]
fn keys_that_are_not_known_are_told_and_nothing_else_happens() {
    let yaml = format!(
        "clusters: [{{url: 'http://pve', region: r1, tokenid: x, {TOKEN}}}]\nfeature: {{}}\nfeatures: {{provider: other}}"
    );
    let configuration = read(&yaml, &[]).unwrap();
    expect![[r#"
        feature: is no key, and is not used
        features.provider: "other" is not known; write default or capmox
        cluster #1: tokenid: is no key, and is not used
        cluster #1: url: is not HTTPS, so that any host on the network path can read the token: use https://HOST:8006"#]].assert_eq(&configuration.warnings.join("\n"));
}

#[test]
fn only_the_password_of_root_pins_cpus() {
    let may = |keys: &str| read(&cluster(keys), &[]).unwrap().clusters[0].login.may_pin_cpus();
    assert!(may("username: root@pam, password: x"));
    assert!(!may("username: kubernetes@pve, password: x"));
    assert!(!may("token_id: 'root@pam!karpenter', token_secret: x"));
}
