//! Why a command is refused.

/// CloudStack's error codes, which are HTTP statuses too.
pub(crate) mod code {
    pub(crate) const BAD_REQUEST: u16 = 400;
    pub(crate) const UNAUTHORIZED: u16 = 401;
    pub(crate) const TOO_MANY: u16 = 429;
    pub(crate) const MALFORMED: u16 = 430;
    pub(crate) const PARAMETER: u16 = 431;
    pub(crate) const UNSUPPORTED: u16 = 432;
    pub(crate) const INTERNAL: u16 = 530;
    pub(crate) const ACCOUNT: u16 = 531;
    pub(crate) const CAPACITY: u16 = 533;
    pub(crate) const ALLOCATION: u16 = 535;
    pub(crate) const IN_USE: u16 = 536;
}

/// The codes of exceptions inside of the server, which answers to calls carry.
pub(crate) mod exception {
    pub(crate) const INVALID_VALUE: u32 = 4350;
    pub(crate) const PERMISSION_DENIED: u32 = 4365;
    pub(crate) const RESOURCE_IN_USE: u32 = 4375;
    pub(crate) const REQUEST_LIMIT: u32 = 4545;
    /// An error that was not made of another one.
    pub(crate) const WITHOUT_CAUSE: u32 = 9999;
}

/// A refusal of a call, or the failure of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    /// Absent where the server refuses who calls.
    pub(crate) exception: Option<u32>,
    pub(crate) text: String,
}

impl Refusal {
    fn of(code: u16, exception: u32, text: impl Into<String>) -> Self {
        Self { code, exception: Some(exception), text: text.into() }
    }

    /// The caller's signature is not accepted.
    pub(crate) fn unauthorized() -> Self {
        let text = "unable to verify user credentials and/or request signature".to_owned();
        Self { code: code::UNAUTHORIZED, exception: None, text }
    }

    /// A refusal with no other error behind it.
    pub(crate) fn plain(code: u16, text: impl Into<String>) -> Self {
        Self::of(code, exception::WITHOUT_CAUSE, text)
    }

    /// A value that the server's logic does not take.
    pub(crate) fn value(text: impl Into<String>) -> Self {
        Self::of(code::PARAMETER, exception::INVALID_VALUE, text)
    }

    /// Something that the caller may not do.
    pub(crate) fn denied(text: impl Into<String>) -> Self {
        Self::of(code::ACCOUNT, exception::PERMISSION_DENIED, text)
    }

    /// Something that is used.
    pub(crate) fn in_use(text: impl Into<String>) -> Self {
        Self::of(code::IN_USE, exception::RESOURCE_IN_USE, text)
    }

    /// Too many calls.
    pub(crate) fn too_many(wait_ms: u128) -> Self {
        let text = format!(
            "The given user has reached his/her account api limit, please retry after {wait_ms} ms."
        );
        Self::of(code::TOO_MANY, exception::REQUEST_LIMIT, text)
    }

    /// An id that no object of the kind has.
    pub(crate) fn no_such_entity(parameter: &str, value: &str) -> Self {
        Self::value(format!(
            "Invalid parameter {parameter} value={value}: incorrect format, or entity does not \
             exist"
        ))
    }

    /// The refusal as deployVirtualMachine passes it on: without what it was made of.
    pub(crate) fn without_cause(self) -> Self {
        Self { exception: self.exception.map(|_| exception::WITHOUT_CAUSE), ..self }
    }
}
