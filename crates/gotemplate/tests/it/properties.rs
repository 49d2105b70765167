//! No text makes the parser or the execution panic or loop.

use joiner_gotemplate::{Limits, MissingKey, Options, Template};
use proptest::prelude::*;

use crate::{cases, data};

/// Pieces that templates are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "{{",
        "}}",
        "{{-",
        "-}}",
        " ",
        "\n",
        "(",
        ")",
        "|",
        ",",
        ":=",
        "=",
        ".",
        "$",
        "$x",
        "if",
        "else",
        "end",
        "range",
        "with",
        "define",
        "block",
        "template",
        "break",
        "continue",
        "nil",
        "true",
        "\"a\"",
        "`b`",
        "'c'",
        "1",
        "-2.5e3",
        "0x1p-2",
        "1i",
        ".list",
        ".map",
        ".node.Values",
        ".none.x",
        "index",
        "slice",
        "len",
        "printf",
        "eq",
        "lt",
        "and",
        "or",
        "not",
        "call",
        "html",
        "js",
        "toYaml",
        "toJson",
        "indent",
        "quote",
        "split",
        "regexFind",
        "cidrhost",
        "%v",
        "/*",
        "*/",
        "\"%[3]*.[2]*[1]f\"",
        ".text",
        ".shout",
        ".pointer",
        ".nilPointer",
        "💥",
        "\u{feff}",
    ]);
    let piece = prop_oneof![8 => known.prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Small bounds, so that loops end soon.
fn limits() -> Limits {
    Limits { output_bytes: 100_000, work_units: 20_000, ..Limits::default() }
}

fn survives(source: &[u8]) {
    let limits = limits();
    let Ok(template) = Template::parse("node", source, &cases::functions(), &limits) else {
        return;
    };
    for missing_key in [MissingKey::NoValue, MissingKey::Zero, MissingKey::Error] {
        let options = Options { missing_key, limits: limits.clone() };
        match template.execute(&data::data(), &options) {
            Ok(output) => assert!(output.len() <= limits.output_bytes),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(source in any::<String>()) {
        survives(source.as_bytes());
    }

    #[test]
    fn no_bytes_make_it_panic(source in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&source);
    }

    #[test]
    fn no_pieces_of_templates_make_it_panic(source in pieces()) {
        survives(source.as_bytes());
    }

    #[test]
    fn no_action_makes_it_panic(source in pieces()) {
        survives(format!("{{{{ {source} }}}}").as_bytes());
    }

    #[test]
    fn no_format_makes_it_panic(format in "[%a-zA-Z0-9#+\\- .*\\[\\]]{0,20}", number in any::<i64>()) {
        let source = format!("{{{{printf {format:?} {number} .text .float .list .node.Network}}}}");
        survives(source.as_bytes());
    }

    #[test]
    fn texts_come_back_from_quotes_and_base64(text in any::<String>()) {
        let raw = text.replace('`', "");
        let source = format!("{{{{ `{raw}` | b64enc | b64dec }}}}");
        let expected = cases::Outcome::Output(raw.replace('\r', "").into_bytes());
        prop_assert_eq!(cases::outcome(&source, MissingKey::NoValue), expected);
    }

    #[test]
    fn generated_templates_survive(seed in any::<u64>()) {
        for (source, _) in crate::generate::templates(seed, 3) {
            survives(source.as_bytes());
        }
    }
}
