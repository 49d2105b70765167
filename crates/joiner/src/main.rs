//! The program `joiner`.

use std::process::ExitCode;

fn main() -> ExitCode {
    joiner::main()
}
