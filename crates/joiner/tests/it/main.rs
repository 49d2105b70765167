//! The program as users run it: arguments in, text and an exit code out.

mod bad_input;
mod behaviours;
mod bench;
mod cloudstack;
mod commands;
mod demo;
mod disrupt;
mod explain;
mod explain_nodes;
mod house;
mod install;
mod lab;
mod live;
mod log_fields;
mod plan;
mod right_size;
mod vcenter_life;
mod version;
mod vsphere;

use std::{
    fmt::{self, Display, Formatter},
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use expect_test::Expect;

/// What a run of the program said, and how it ended.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Display for Run {
    /// Everything, with markers for what was on stderr and for an exit code other than 0.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stdout)?;
        for line in self.stderr.lines() {
            writeln!(f, "{}", format!("stderr: {line}").trim_end())?;
        }
        match self.code {
            Some(0) => Ok(()),
            Some(code) => writeln!(f, "exit code: {code}"),
            None => writeln!(f, "killed"),
        }
    }
}

/// Runs the program in the repository's folder, with nothing but `variables` in its environment.
fn run_with(args: &[&str], stdin: &str, variables: &[(&str, &str)]) -> Run {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut child = Command::new(env!("CARGO_BIN_EXE_joiner"))
        .args(args)
        .current_dir(root)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    // A program that stops before it has read everything is what some tests are about.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program prints UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the program without input.
fn run(args: &[&str]) -> Run {
    run_with(args, "", &[])
}

/// Runs the program on objects given as text, and compares all that it says.
#[track_caller]
fn check(args: &[&str], objects: &str, expected: &Expect) {
    expected.assert_eq(&run_with(args, objects, &[]).to_string());
}
