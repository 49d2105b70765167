//! What the API server does with changes: live object and patch in, result out.

mod recorded;
mod support;
