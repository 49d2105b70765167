//! Tenants write templates, so output, depth and work have bounds.

use joiner_gotemplate::{LimitReached, Limits, Options, Template};

use crate::{cases::functions, data};

fn run(source: &str, limits: Limits) -> Result<Vec<u8>, String> {
    let template = Template::parse("node", source, &functions(), &limits)
        .map_err(|error| error.to_string())?;
    template
        .execute(&data::data(), &Options { limits, ..Options::default() })
        .map_err(|error| error.to_string())
}

/// What the error of a template that costs too much says.
fn refusal(source: &str) -> String {
    run(source, Limits::default()).expect_err("a bound is reached")
}

#[test]
fn loops_without_end_are_ended() {
    let work = LimitReached::Work.to_string();
    for source in [
        "{{range 9223372036854775807}}{{end}}",
        "{{range 100000}}{{range 100000}}{{end}}{{end}}",
        "{{range .big}}{{end}}",
        "{{define `x`}}{{range 3}}{{template `x`}}{{end}}{{end}}{{template `x`}}",
    ] {
        let error = refusal(source);
        let deep = error.contains("exceeded maximum template depth");
        assert!(error.contains(&work) || deep, "{source}: {error}");
    }
}

#[test]
fn texts_do_not_grow_without_end() {
    let work = LimitReached::Work.to_string();
    for source in [
        "{{$x := `0123456789abcdef`}}{{range 60}}{{$x = print $x $x}}{{end}}{{len $x}}",
        "{{$x := `0123456789abcdef`}}{{range 60}}{{$x = join (split $x ``) $x}}{{end}}",
        "{{range 100}}{{$x := printf `%999999d%999999d%999999d` 1 2 3}}{{end}}",
        "{{printf (printf `%*s` 1000000 `x` | replace ` ` `%1000000s`)}}",
        "{{$x := indent 900000 (replace ` ` `\n` (indent 100000 ``))}}",
        "{{$x := replace `` (indent 9999 ``) (indent 99999 ``)}}",
        "{{$x := regexReplaceAll ` ` (indent 99999 ``) (indent 99999 ``)}}",
        "{{$x := indent 9223372036854775807 ``}}",
        "{{$x := html (indent 20000000 `&`)}}",
        "{{range 10000}}{{$x := regexFind `(a{1,50}){1,50}` `aaaa`}}{{end}}",
    ] {
        let error = refusal(source);
        assert!(error.contains(&work), "{source}: {error}");
    }
}

#[test]
fn output_is_bounded_and_the_error_says_where() {
    let limits = Limits { output_bytes: 10, ..Limits::default() };
    assert_eq!(run("0123456789", limits.clone()), Ok(b"0123456789".to_vec()));
    assert_eq!(
        run("012345678{{ `9` }}\n{{ `x` }}", limits).unwrap_err(),
        "template: node:1:12: executing \"node\" at <{{`9`}}>: the output is longer than 10 bytes; \
         make the template print less"
    );
}

#[test]
fn long_sources_are_refused() {
    let limits = Limits { source_bytes: 10, ..Limits::default() };
    let error = run("01234567890", limits).unwrap_err();
    assert_eq!(error, "template: node:1:0: the template is longer than 10 bytes");
}

#[test]
fn nesting_is_bounded_when_a_template_is_parsed() {
    for (open, close) in
        [("{{if true}}", "{{end}}"), ("{{range 1}}", "{{end}}"), ("{{block `x` 1}}", "{{end}}")]
    {
        let source = format!("{}{}", open.repeat(5000), close.repeat(5000));
        let error = refusal(&source);
        assert!(error.contains("actions are nested deeper than 100"), "{open}: {error}");
    }
    let parentheses = format!("{{{{{}1{}}}}}", "(".repeat(5000), ")".repeat(5000));
    assert!(refusal(&parentheses).contains("actions are nested deeper than 100"));
    let chain = format!("{{{{if no}}}}{}{{{{end}}}}", "{{else if .no}}".repeat(5000));
    assert!(refusal(&chain.replace("if no", "if .no")).contains("nested deeper than 100"));
}

#[test]
fn a_template_that_calls_itself_ends() {
    assert_eq!(
        refusal("{{define `x`}}{{template `x` .}}{{end}}{{template `x` .}}"),
        "template: node:1:25: executing \"x\" at <{{template \"x\" .}}>: exceeded maximum template \
         depth (100)"
    );
}

#[test]
fn as_much_nesting_as_is_allowed_fits_into_the_stack() {
    let nested = format!("{}x{}", "{{if (not .no)}}".repeat(99), "{{end}}".repeat(99));
    // Each level of what is nested runs in a definition of its own.
    assert_eq!(run(&nested, Limits::default()), Ok(b"x".to_vec()));
    let recursion = "{{define `x`}}{{with .}}{{if true}}{{template `x` (printf `%s` (slice . 1))}}\
                     {{end}}{{end}}{{end}}{{template `x` (indent 33 ``)}}";
    assert!(refusal(recursion).contains("exceeded maximum template depth (100)"));
    let parentheses = format!("{{{{{}`x`{}}}}}", "(print ".repeat(99), ")".repeat(99));
    assert_eq!(run(&parentheses, Limits::default()), Ok(b"x".to_vec()));
}

#[test]
fn regular_expressions_are_bounded() {
    for pattern in
        ["((a{1,1000}){1,1000}){1,1000}", &format!("{}a{}", "(".repeat(99), ")".repeat(99))]
    {
        let error = refusal(&format!("{{{{regexFind `{pattern}` `a`}}}}"));
        assert!(error.contains("error calling regexFind: error parsing regexp: "), "{error}");
    }
}

#[test]
fn what_a_node_needs_is_far_from_the_bounds() {
    let source = "{{range 200}}{{range $.node.Network.Interfaces}}{{.Name | upper | quote}}\
                  {{toYaml $.node}}{{end}}{{end}}";
    assert!(run(source, Limits::default()).is_ok());
}
