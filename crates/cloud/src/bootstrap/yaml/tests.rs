use proptest::prelude::*;

use super::*;

fn printed(text: &str) -> String {
    documents(text).unwrap()[0].print()
}

#[test]
fn strings_that_look_like_something_else_are_quoted() {
    for text in [
        "yes",
        "No",
        "on",
        "off",
        "y",
        "true",
        "null",
        "~",
        "",
        "0640",
        "1e3",
        "0x1F",
        "1_000",
        "12:30:45",
        "2026-01-02",
        ".5",
        "-.inf",
        ".NaN",
        "=",
        "<<",
        "- a",
        "a: b",
        "a #b",
        "a:",
        "@x",
        "%x",
        "*x",
        "&x",
        "!x",
        "|",
        ">",
        "{a}",
        "[a]",
        " a",
        "a ",
        "\t",
        "#a",
        "? a",
        "-",
        "\u{85}",
        "\u{feff}a",
        "'",
        "\"",
    ] {
        let printed = Yaml::text(text).print();
        assert!(printed.starts_with('"'), "{printed}");
        assert_eq!(documents(&printed).unwrap()[0].as_str(), Some(text), "{printed}");
    }
    for text in ["a", "/etc/motd", "a=b", "echo hello world", "https://10.0.0.10:6443", "root:root"]
    {
        assert_eq!(Yaml::text(text).print(), format!("{text}\n"));
    }
}

#[test]
fn what_was_written_plain_stays_plain() {
    let text = "a: 0644\nb: yes\nc: 'x'\nd: !!binary aGk=\ne: null\nf: 1.0\n";
    assert_eq!(printed(text), text.replace("'x'", "x"));
    assert_eq!(printed("a:\nb: ''\n"), "a: ~\nb: \"\"\n");
}

#[test]
fn long_texts_are_blocks() {
    let block = "a: |\n  x\n   y\n\n  z\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: e\n";
    assert_eq!(printed(block), block);
    for text in [" x\ny", "x\ty\nz", "\nx\n", "x\r\ny\n", "x\n \ny\n", "x\n\ty\n", "\n", "x\n\n\n"]
    {
        let map: Yaml = [("a", Yaml::List(vec![Yaml::text(text)]))].into_iter().collect();
        assert!(documents(&map.print()).unwrap()[0] == map, "{text:?}: {}", map.print());
    }
}

#[test]
fn nesting_is_kept() {
    let text = "a:\n- b: c\n  d:\n  - - e\n    - []\n  - {}\nf:\n  g: h\n";
    assert_eq!(printed(text), text);
}

#[test]
fn damaged_texts_say_where() {
    for (text, line) in [("a: b\nc: [", 2), ("a: *b\n", 1), ("- a\nb\n", 2)] {
        let error = documents(text).err().unwrap();
        assert_eq!(error.line, line, "{text:?}: {}", error.problem);
    }
}

fn tree() -> impl Strategy<Value = Yaml> {
    let text = prop_oneof![
        "[ -~\n\t]{0,12}",
        "[a-z0-9:#\\-. ]{0,8}",
        "\\PC{0,6}",
        any::<String>().prop_map(|text| text.replace('\0', ""))
    ];
    let leaf = text.prop_map(Yaml::text);
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Yaml::List),
            prop::collection::btree_map("[ -~é]{0,6}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn every_tree_comes_back(tree in tree()) {
        let printed = tree.print();
        let read = documents(&printed);
        prop_assert!(read.is_ok_and(|read| read == [tree]), "{}", printed);
    }
}
