//! The crate and Go's own text/template on the same templates.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use joiner_gotemplate::{MissingKey, Value};
use serde_json::{Value as Json, json};

use crate::{
    cases::{self, Outcome},
    data, generate,
};

/// How many templates are generated.
const TEMPLATES: usize = 10_000;

struct Question {
    source: String,
    missing_key: MissingKey,
    data: Value,
}

/// A value with its Go type, as realparts/gotemplate reads it.
fn typed(value: &Value) -> Json {
    let of = value.type_of().to_string();
    let word = |word: String| json!({"type": of, "word": word});
    match value {
        Value::Nil => Json::Null,
        Value::Bool(flag) => word(flag.to_string()),
        Value::Int(_, number) => word(number.to_string()),
        Value::Uint(_, number) => word(number.to_string()),
        Value::Float(number) => word(format!("{number:e}")),
        Value::Text(text) => json!({"type": of, "bytes": STANDARD.encode(text.bytes())}),
        Value::List(list) if list.is_nil() => json!({"type": of}),
        Value::List(list) => {
            let items: Vec<Json> = list.items().iter().map(typed).collect();
            json!({"type": of, "items": items})
        }
        Value::Map(map) if map.is_nil() => json!({"type": of}),
        Value::Map(map) => {
            let named = map.iter().map(|(key, value)| (key.lossy(), typed(value)));
            json!({"type": of, "named": named.collect::<serde_json::Map<_, _>>()})
        }
        Value::Struct(structure) => {
            let fields = structure.fields();
            let named = fields.map(|(field, value)| (field.name().to_owned(), typed(value)));
            json!({"type": of, "named": named.collect::<serde_json::Map<_, _>>()})
        }
        Value::Pointer(pointer) => match pointer.target() {
            Some(target) => json!({"type": of, "to": typed(target)}),
            None => json!({"type": of}),
        },
        Value::Function(_) => {
            let name = if of.starts_with("func(int") { "add" } else { "shout" };
            json!({"calls": name})
        }
    }
}

/// Asks Go, or says that it cannot be asked.
fn ask(questions: &[Question]) -> Option<Vec<Outcome>> {
    let Some(program) = std::env::var_os("JOINER_GOTEMPLATE") else {
        eprintln!(
            "skipped: no Go templates; JOINER_GOTEMPLATE=$(scripts/install-real-parts gotemplate) \
             names the program that compares"
        );
        return None;
    };
    let mut go = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = go.stdin.take().expect("it is piped");
    let lines: Vec<String> = questions
        .iter()
        .map(|question| {
            let missing_key = match question.missing_key {
                MissingKey::NoValue => "default",
                MissingKey::Zero => "zero",
                MissingKey::Error => "error",
            };
            let data = typed(&question.data);
            json!({"template": question.source, "data": data, "missingkey": missing_key})
                .to_string()
        })
        .collect();
    // Both sides would wait for each other if the answers were read only at the end.
    let writer = std::thread::spawn(move || {
        for line in lines {
            if writeln!(input, "{line}").is_err() {
                return;
            }
        }
    });
    let answers = go.wait_with_output().expect("the program ends");
    writer.join().expect("the questions were written");
    assert!(answers.status.success(), "the program failed");
    let answers = String::from_utf8(answers.stdout).expect("JSON is UTF-8");
    Some(answers.lines().map(answer).collect())
}

fn answer(line: &str) -> Outcome {
    let answer: Json = serde_json::from_str(line).expect("the answer is JSON");
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    if let Some(error) = text("parse") {
        return Outcome::Parse(error);
    }
    if let Some(error) = text("error") {
        return Outcome::Error(without_values(&error));
    }
    Outcome::Output(STANDARD.decode(text("output").unwrap_or_default()).expect("it is base64"))
}

/// Go's messages without the values that ours do not tell, and what depends on them.
fn without_values(error: &str) -> String {
    if let (Some((head, _)), true) =
        (error.split_once("error calling cidrslaac: "), error.ends_with("invalid MAC address"))
    {
        return format!("{head}error calling cidrslaac: invalid MAC address");
    }
    for beginning in [
        "range can't iterate over ",
        "error parsing regexp: ",
        "non-comparable type",
        "invalid CIDR address",
        "error calling call: non-function ",
        // For numbers from the end, Go names another number than the one that was given.
        "does not accommodate a host numbered ",
    ] {
        if let Some((head, _)) = error.split_once(beginning) {
            return format!("{head}{beginning}");
        }
    }
    error.to_owned()
}

/// Whether Go printed where something is in its memory, which is another place every time.
fn has_address(answer: &Outcome) -> bool {
    let Outcome::Output(output) = answer else { return false };
    let output = String::from_utf8_lossy(output);
    output.contains("0xc000") || output.contains("map[add:0x")
}

fn ours(question: &Question) -> Outcome {
    match cases::outcome_of(&question.source, question.missing_key, &question.data) {
        Outcome::Error(error) => Outcome::Error(without_values(&error)),
        outcome => outcome,
    }
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Output(output) => format!("\"{}\"", output.escape_ascii()),
        Outcome::Parse(error) | Outcome::Error(error) => error.clone(),
    }
}

/// Compares all answers, and shows the first that differ.
fn compare(questions: &[Question], context: &str) {
    let Some(answers) = ask(questions) else { return };
    assert_eq!(questions.len(), answers.len(), "{context}: Go left questions unanswered");
    let mut differences = Vec::new();
    for (question, go) in questions.iter().zip(&answers) {
        if has_address(go) {
            continue;
        }
        let ours = ours(question);
        if ours != *go {
            differences.push(format!(
                "{:?}\n    Go:   {}\n    ours: {}",
                question.source,
                shown(go),
                shown(&ours)
            ));
        }
    }
    let first: Vec<String> = differences.iter().take(20).cloned().collect();
    let count = differences.len();
    assert!(count == 0, "{context}: {count} of {} differ:\n{}", questions.len(), first.join("\n"));
}

#[test]
fn the_table_of_cases_is_what_go_says() {
    let questions = |case: &cases::Case| Question {
        source: case.source.clone(),
        missing_key: case.missing_key,
        data: data::data(),
    };
    let all: Vec<Question> = cases::table()
        .iter()
        .filter_map(|entry| match entry {
            cases::Entry::Case(case) => Some(questions(case)),
            cases::Entry::Remark(_) => None,
        })
        .collect();
    compare(&all, "the table of cases");
}

#[test]
fn samples_render_as_with_go() {
    let questions: Vec<Question> = crate::dumps::SAMPLES
        .iter()
        .map(|source| Question {
            source: (*source).to_owned(),
            missing_key: MissingKey::NoValue,
            data: data::node(),
        })
        .collect();
    compare(&questions, "samples");
}

#[test]
fn generated_templates_render_as_with_go() {
    let seed = std::env::var("JOINER_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let templates = generate::templates(seed, TEMPLATES);
    let questions: Vec<Question> = templates
        .into_iter()
        .map(|(source, missing_key)| Question { source, missing_key, data: data::data() })
        .collect();
    compare(&questions, &format!("templates of JOINER_SEED={seed}"));
}

/// Characters that Unicode 16 and 17 brought, or gave a partner in the other case. Go 1.26 knows
/// Unicode 15.
fn is_newer_than_go(c: char) -> bool {
    matches!(
        c,
        '\u{19b}' | '\u{264}' | '\u{1c89}'..='\u{1c8a}' | '\u{a7cb}'..='\u{a7dc}'
            | '\u{10d50}'..='\u{10d85}' | '\u{16ea0}'..='\u{16ed3}'
    )
}

#[test]
fn characters_change_their_case_as_with_go() {
    let all: Vec<char> =
        ('\u{20}'..=char::MAX).filter(|c| *c != '`' && !is_newer_than_go(*c)).collect();
    let questions: Vec<Question> = all
        .chunks(4096)
        .flat_map(|characters| {
            let text: String = characters.iter().collect();
            ["upper", "lower"].map(|function| Question {
                source: format!("{{{{{function} `{text}`}}}}"),
                missing_key: MissingKey::NoValue,
                data: Value::Nil,
            })
        })
        .collect();
    compare(&questions, "upper and lower case");
}

#[test]
fn go_knows_all_functions_that_there_are() {
    let names = joiner_gotemplate::library::functions().into_iter().map(|(name, _)| name);
    // A call without arguments is refused when it is executed, an unknown function before that.
    let questions: Vec<Question> = names
        .map(|name| Question {
            source: format!("{{{{{name}}}}}"),
            missing_key: MissingKey::NoValue,
            data: Value::Nil,
        })
        .collect();
    compare(&questions, "functions");
}
