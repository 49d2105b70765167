//! What becomes of commands: step by step, after a restart, when something happens meanwhile, and
//! what is told of it.

mod bad_input;
mod carrying_out;
mod looking;
mod marks;
mod meanwhile;
mod restart;
mod restarted_pods;
mod scene;
mod stories;
mod telling;
