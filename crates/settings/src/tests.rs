#![expect(unreachable_pub, reason = "settings are declared for others, and a test has none")]

use std::time::Duration;

use expect_test::expect;

use crate::{Reader, Setting, Values};

crate::settings! {
    /// Settings of a cloud.
    OWN:
    ADDRESS as "GIVEN_ADDRESS" "cloud-address" "ADDRESS" ""
        "Where the cloud is";
    PASSWORD "password" "PASSWORD" ""
        "With which password";
    PATIENCE "patience" "DURATION" "1m30s"
        "How long it may take";
    CHECKED "checked" "BOOL" "true"
        "Whether certificates are checked";
    ZONES "zones" "NAMES" ""
        "Zones, separated by commas";
}

fn values(given: &[(&Setting, &str)]) -> Values {
    let mut values = Values::default();
    for (setting, text) in given {
        values.give(setting, *text);
    }
    values
}

#[test]
fn a_variable_is_the_constants_name_unless_another_one_is_declared() {
    let declared: Vec<String> = OWN
        .iter()
        .map(|own| format!("--{} {} {} {:?}", own.name, own.variable, own.value, own.default))
        .collect();
    expect![[r#"
        --cloud-address GIVEN_ADDRESS ADDRESS ""
        --password PASSWORD PASSWORD ""
        --patience PATIENCE DURATION "1m30s"
        --checked CHECKED BOOL "true"
        --zones ZONES NAMES """#]]
    .assert_eq(&declared.join("\n"));
}

#[test]
fn an_empty_text_counts_as_not_given() {
    let values = values(&[(&PATIENCE, ""), (&ADDRESS, "")]);
    let mut reader = Reader::new(&values);
    assert_eq!(reader.time(&PATIENCE), Some(Duration::from_secs(90)));
    assert_eq!(reader.given(&ADDRESS), None);
}

#[test]
fn booleans_are_written_as_go_programs_write_them() {
    for (text, expected) in [("T", true), ("1", true), ("False", false), ("0", false)] {
        let values = values(&[(&CHECKED, text)]);
        assert_eq!(Reader::new(&values).switch(&CHECKED), expected, "{text}");
    }
}

#[test]
fn words_of_a_list_are_trimmed_and_empty_ones_left_out() {
    let values = values(&[(&ZONES, " az1,, az2 ,")]);
    assert_eq!(Reader::new(&values).list(&ZONES), ["az1", "az2"]);
}

#[test]
fn all_problems_are_told_at_once_by_flag_and_variable() {
    let values = values(&[(&PATIENCE, "soon"), (&CHECKED, "yes")]);
    let mut reader = Reader::new(&values);
    reader.required(&ADDRESS, "the cloud is on and needs it");
    reader.some_time(&PATIENCE);
    reader.switch(&CHECKED);
    reader.refuse_with(&PASSWORD, "it is too short: use 8 characters or more");
    let problems = reader.accept(()).map(|_| ()).unwrap_err();
    expect![[r#"
        --cloud-address (GIVEN_ADDRESS): it is not given: the cloud is on and needs it
        --patience (PATIENCE) cannot be "soon": use a duration such as 10s or 1m30s
        --checked (CHECKED) cannot be "yes": use true or false
        --password (PASSWORD): it is too short: use 8 characters or more"#]]
    .assert_eq(&problems.join("\n"));
}

#[test]
fn what_was_typed_is_not_shown_where_values_are_debugged() {
    assert_eq!(format!("{:?}", values(&[(&PASSWORD, "hunter2")])), r#"{"password"}"#);
}

#[test]
fn of_values_given_twice_the_later_count() {
    let both = values(&[(&ZONES, "a"), (&ADDRESS, "b")]).with(&values(&[(&ZONES, "c")]));
    assert_eq!(both.told(), "--cloud-address=b --zones=c");
}
