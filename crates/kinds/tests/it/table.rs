//! Tables: objects, and below each its row as kube-apiserver 1.36.3 prints it.

use std::fmt::Write;

use expect_test::expect_file;
use joiner_kinds::table;
use serde_json::Value;

#[test]
fn rows() {
    let now = "2026-11-15T09:00:00Z".parse().expect("a time");
    let mut result = String::new();
    for line in include_str!("rules/tables.txt").lines().filter(|line| line.starts_with('{')) {
        let object: Value = serde_json::from_str(line).expect("a line of JSON");
        let version = object["apiVersion"].as_str().expect("apiVersion");
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let kind = object["kind"].as_str().expect("kind");
        let columns = table::columns(group, kind);
        let cells = table::row(group, kind, &object, now);
        assert_eq!(columns.len(), cells.len(), "a cell for each column of {kind}");
        writeln!(result, "{line}").expect("text grows");
        for (column, cell) in columns.iter().zip(cells) {
            let wide = if column.priority == 0 { "" } else { " (wide)" };
            writeln!(result, "  {}{wide}: {cell}", column.name).expect("text grows");
        }
        for condition in table::row_conditions(group, kind, &object) {
            writeln!(result, "  {condition}").expect("text grows");
        }
        result.push('\n');
    }
    expect_file!["rules/tables.txt"].assert_eq(&result);
}

#[test]
fn every_column_says_what_it_shows() {
    for resource in joiner_kinds::resources() {
        for column in table::columns(resource.group, resource.kind) {
            assert!(column.description.ends_with('.'), "{} {}", resource.kind, column.name);
            assert_eq!(column.to_json()["name"], column.name);
        }
    }
}
