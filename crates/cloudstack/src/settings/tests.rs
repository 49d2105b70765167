use std::{fs, time::Duration};

use expect_test::{Expect, expect};
use joiner_core::price::UnitPrices;
use joiner_settings::{Accepted, Reader, Setting, Values};

use super::{
    declared::{
        CLOUDSTACK_ACCOUNT, CLOUDSTACK_API_KEY, CLOUDSTACK_API_KEY_FILE, CLOUDSTACK_API_URL,
        CLOUDSTACK_CA_FILE, CLOUDSTACK_DOMAIN_ID, CLOUDSTACK_EXPUNGE, CLOUDSTACK_GPU_RESOURCES,
        CLOUDSTACK_LAUNCH_WAIT, CLOUDSTACK_MAX_RPS, CLOUDSTACK_PRICE_PER_CPU,
        CLOUDSTACK_PRICE_PER_GIB, CLOUDSTACK_PROJECT_ID, CLOUDSTACK_PROVIDER_ID_FORMAT,
        CLOUDSTACK_SECRET_KEY, CLOUDSTACK_SECRET_KEY_FILE, CLOUDSTACK_TIMEOUT,
        CLOUDSTACK_VERIFY_SSL, CLOUDSTACK_VM_MEMORY_OVERHEAD_PERCENT, CLOUDSTACK_VM_NAME_PREFIX,
    },
    *,
};

type Given<'g> = &'g [(&'g Setting, &'g str)];

fn values(given: Given<'_>) -> Values {
    let mut values = Values::default();
    for (setting, text) in given {
        values.give(setting, *text);
    }
    values
}

/// What is read besides an address and keys, or what is wrong.
fn access(more: Given<'_>) -> Result<Accepted<CloudStackAccess>, String> {
    let least: Given<'_> = &[
        (&CLOUDSTACK_API_URL, "https://cloud.example.org/client/api"),
        (&CLOUDSTACK_API_KEY, "public"),
        (&CLOUDSTACK_SECRET_KEY, "hunter2"),
    ];
    read(&[least, more].concat())
}

fn read(given: Given<'_>) -> Result<Accepted<CloudStackAccess>, String> {
    let values = values(given);
    let mut reader = Reader::new(&values);
    let access = CloudStackAccess::read(&mut reader, "the provider cloudstack is on and needs it");
    reader.accept(access).map_err(|problems| problems.join("\n"))
}

#[track_caller]
fn refused(more: Given<'_>, expected: &Expect) {
    expected.assert_eq(&access(more).unwrap_err());
}

/// The one warning about what is read.
fn warning(more: Given<'_>) -> String {
    access(more).unwrap().warnings.join("\n")
}

fn instances(given: Given<'_>) -> Result<Settings, String> {
    let values = values(given);
    let mut reader = Reader::new(&values);
    let settings = Settings::read(&mut reader, UnitPrices::default(), Some(0.1));
    let accepted = reader.accept(settings).map_err(|problems| problems.join("\n"));
    accepted.map(|accepted| accepted.settings)
}

#[test]
fn address_and_keys_are_enough_and_the_secret_key_is_not_shown() {
    let Accepted { settings, warnings } = access(&[]).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(settings.scope, Scope::default());
    assert_eq!((settings.requests_per_second, settings.requests_in_flight), (20, 10));
    assert_eq!(settings.timeout, Duration::from_mins(1));
    assert_eq!(settings.launch_wait, Duration::from_secs(45));
    assert_eq!((settings.expunge, settings.provider_ids), (Expunge::Auto, FormSetting::Auto));
    assert_eq!((settings.is_checked, &*settings.name_prefix), (true, "karpenter-"));
    assert!(!format!("{settings:?}").contains("hunter2"));
    let keys = (settings.keys())();
    assert_eq!((&*keys.user, &**keys.password), ("public", "hunter2"));
}

#[test]
fn what_is_missing_is_named_by_flag_and_variable() {
    expect![[r"
        --cloudstack-api-url (CLOUDSTACK_API_URL): it is not given: the provider cloudstack is on and needs it
        --cloudstack-api-key (CLOUDSTACK_API_KEY): it is not given: the provider cloudstack is on and needs it
        --cloudstack-secret-key (CLOUDSTACK_SECRET_KEY): it is not given: the provider cloudstack is on and needs it"]]
    .assert_eq(&read(&[]).unwrap_err());
}

#[test]
fn keys_in_files_are_read_again_when_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let (public, secret) = (folder.path().join("api"), folder.path().join("secret"));
    fs::write(&public, "public\n").unwrap();
    fs::write(&secret, "old\n").unwrap();
    let (public, secret) = (public.display().to_string(), secret.display().to_string());
    let given = [
        (&CLOUDSTACK_API_URL, "cloud.example.org"),
        (&CLOUDSTACK_API_KEY_FILE, &*public),
        (&CLOUDSTACK_SECRET_KEY_FILE, &*secret),
    ];
    let keys = read(&given).unwrap().settings.keys();
    assert_eq!((&*keys().user, &**keys().password), ("public", "old"));
    fs::write(&secret, "new\n").unwrap();
    assert_eq!(&**keys().password, "new");
}

#[test]
fn a_key_that_is_given_twice_or_in_a_file_that_is_not_there_is_refused() {
    refused(
        &[(&CLOUDSTACK_SECRET_KEY_FILE, "/no/such/file")],
        &expect![[r"
            --cloudstack-secret-key-file (CLOUDSTACK_SECRET_KEY_FILE): --cloudstack-secret-key is given too: leave one of the two out
            --cloudstack-secret-key-file (CLOUDSTACK_SECRET_KEY_FILE): /no/such/file cannot be read (No such file or directory (os error 2)): write CloudStack's secret key there"]],
    );
}

#[test]
fn a_wrong_address_is_told_without_repeating_it() {
    let given = [(&CLOUDSTACK_API_URL, "https://root:hunter2@cloud.example.org")];
    let told = access(&given).unwrap_err();
    assert!(!told.contains("hunter2"), "{told}");
    expect![[r"--cloudstack-api-url (CLOUDSTACK_API_URL): no address of CloudStack's API: it carries a user name or a password, which belong elsewhere; write host, host:port or https://host:port/client/api"]]
        .assert_eq(&told);
}

#[test]
fn values_that_mean_nothing_are_refused_together() {
    refused(
        &[
            (&CLOUDSTACK_VERIFY_SSL, "maybe"),
            (&CLOUDSTACK_TIMEOUT, "0s"),
            (&CLOUDSTACK_MAX_RPS, "0"),
            (&CLOUDSTACK_EXPUNGE, "later"),
            (&CLOUDSTACK_PROVIDER_ID_FORMAT, "aws"),
            (&CLOUDSTACK_VM_NAME_PREFIX, "K8s_"),
            (&CLOUDSTACK_LAUNCH_WAIT, "soon"),
        ],
        &expect![[r#"
            --cloudstack-verify-ssl (CLOUDSTACK_VERIFY_SSL) cannot be "maybe": use true or false
            --cloudstack-timeout (CLOUDSTACK_TIMEOUT) cannot be "0s": use a duration of more than 0s, such as 10s
            --cloudstack-max-rps (CLOUDSTACK_MAX_RPS) cannot be "0": use a whole number, 1 or more
            --cloudstack-expunge (CLOUDSTACK_EXPUNGE) cannot be "later": use auto or true or false
            --cloudstack-provider-id-format (CLOUDSTACK_PROVIDER_ID_FORMAT): "aws" is not known; write auto, capi, ccm or legacy
            --cloudstack-vm-name-prefix (CLOUDSTACK_VM_NAME_PREFIX) cannot be "K8s_": use at most 31 lower case letters, digits and '-', a letter in front
            --cloudstack-launch-wait (CLOUDSTACK_LAUNCH_WAIT) cannot be "soon": use a duration such as 10s or 1m30s"#]],
    );
}

#[test]
fn an_account_has_a_domain_and_no_project() {
    let scope = access(&[(&CLOUDSTACK_ACCOUNT, "shop"), (&CLOUDSTACK_DOMAIN_ID, "d1")]);
    let expected = Some(("shop".to_owned(), "d1".to_owned()));
    assert_eq!(scope.unwrap().settings.scope.account, expected);
    let scope = access(&[(&CLOUDSTACK_PROJECT_ID, "p1")]).unwrap().settings.scope;
    assert_eq!(scope.project.as_deref(), Some("p1"));
    refused(
        &[(&CLOUDSTACK_ACCOUNT, "shop"), (&CLOUDSTACK_PROJECT_ID, "p1")],
        &expect![[r"
            --cloudstack-domain-id (CLOUDSTACK_DOMAIN_ID): it is not given: an account is known by its domain
            --cloudstack-account (CLOUDSTACK_ACCOUNT): --cloudstack-project-id is given too, and a project's instances belong to no account: leave one of the two out"]],
    );
    refused(
        &[(&CLOUDSTACK_DOMAIN_ID, "d1")],
        &expect![[
            r"--cloudstack-account (CLOUDSTACK_ACCOUNT): it is not given: a domain means nothing without an account"
        ]],
    );
}

#[test]
fn what_lets_others_read_along_is_warned_of() {
    let unchecked = warning(&[(&CLOUDSTACK_VERIFY_SSL, "false")]);
    assert!(unchecked.contains("CLOUDSTACK_VERIFY_SSL"), "{unchecked}");
    let plain = warning(&[(&CLOUDSTACK_API_URL, "http://cloud.example.org/client/api")]);
    assert!(plain.contains("not encrypted"), "{plain}");
    assert_eq!(warning(&[(&CLOUDSTACK_CA_FILE, "/etc/ca.pem")]), "");
}

#[test]
fn clouds_own_prices_and_share_of_hidden_memory_beat_those_for_all() {
    let of_all = instances(&[]).unwrap();
    let expected = Settings { memory_overhead: 0.1, ..Settings::default() };
    assert_eq!(of_all, expected);
    let own = [
        (&CLOUDSTACK_VM_MEMORY_OVERHEAD_PERCENT, "0"),
        (&CLOUDSTACK_PRICE_PER_CPU, "0.04"),
        (&CLOUDSTACK_PRICE_PER_GIB, "0"),
        (&CLOUDSTACK_GPU_RESOURCES, "T4 = example.com/t4, A2=example.com/a2"),
    ];
    let own = instances(&own).unwrap();
    assert_eq!((own.price_per_cpu, own.price_per_gib), (Some(0.04), Some(0.0)));
    assert_eq!(own.memory_overhead.to_string(), "0");
    let cards: Vec<(&str, &str)> =
        own.gpu_resources.iter().map(|(card, resource)| (&**card, &**resource)).collect();
    assert_eq!(cards, [("A2", "example.com/a2"), ("T4", "example.com/t4")]);
}

#[test]
fn prices_and_cards_that_mean_nothing_are_refused() {
    let given = [
        (&CLOUDSTACK_PRICE_PER_CPU, "cheap"),
        (&CLOUDSTACK_GPU_RESOURCES, "T4, A2=gpu, =example.com/a, ok=example.com/gpu"),
    ];
    expect![[r#"
        --cloudstack-price-per-cpu (CLOUDSTACK_PRICE_PER_CPU) cannot be "cheap": use a price, 0 or more
        --cloudstack-gpu-resources (CLOUDSTACK_GPU_RESOURCES) cannot be "T4": write a part of the card's name and an extended resource, such as T4=example.com/t4
        --cloudstack-gpu-resources (CLOUDSTACK_GPU_RESOURCES) cannot be "A2=gpu": write a part of the card's name and an extended resource, such as T4=example.com/t4
        --cloudstack-gpu-resources (CLOUDSTACK_GPU_RESOURCES) cannot be "=example.com/a": write a part of the card's name and an extended resource, such as T4=example.com/t4"#]]
    .assert_eq(&instances(&given).unwrap_err());
}
