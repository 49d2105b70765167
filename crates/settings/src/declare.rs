//! How settings are declared.

/// One setting, as its users know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The name of the flag, without dashes in front.
    pub name: &'static str,
    /// The variable that is read where the flag is not given: the same name in capitals, except where
    /// a cloud's users have known another one for long.
    pub variable: &'static str,
    /// What stands for the value in help texts. A `BOOL` needs no value to be on.
    pub value: &'static str,
    /// The default as a user would type it; empty for none.
    pub default: &'static str,
    /// What it is for, in a line.
    pub help: &'static str,
}

impl Setting {
    /// A setting with this flag, variable, placeholder, default and help.
    pub const fn new(
        name: &'static str,
        variable: &'static str,
        value: &'static str,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self { name, variable, value, default, help }
    }

    /// Whether the flag alone, without a value, means that it is on.
    pub fn is_switch(&self) -> bool {
        self.value == "BOOL"
    }
}

/// Declares settings and the list of them all. Each has its constant, flag, placeholder, default and
/// help. The constant's name is the variable, unless `as` gives another one.
#[macro_export]
macro_rules! settings {
    ($(#[$doc:meta])* $list:ident: $(
        $constant:ident $(as $variable:literal)?
        $name:literal $value:literal $default:literal $help:literal;
    )*) => {
        $(
            #[doc = $help]
            pub const $constant: $crate::Setting = $crate::Setting::new(
                $name,
                $crate::settings!(@variable $constant $($variable)?),
                $value,
                $default,
                $help,
            );
        )*

        $(#[$doc])*
        pub const $list: &[&$crate::Setting] = &[$(&$constant),*];
    };
    (@variable $constant:ident) => {
        stringify!($constant)
    };
    (@variable $constant:ident $variable:literal) => {
        $variable
    };
}
