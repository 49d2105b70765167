//! Words about virtual machines that a class may use.

use std::time::Duration;

/// The default time that a guest may take to shut down.
const DEFAULT_PATIENCE: Duration = Duration::from_mins(5);

/// How an instance's disks come from its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CloneMode {
    /// Linked where that is possible, in full otherwise.
    #[default]
    Auto,
    /// As a difference to a snapshot of the template: seconds, but the disk cannot grow.
    Linked,
    /// As a copy.
    Full,
}

impl CloneMode {
    /// Reads the word; an error says what to write.
    pub(crate) fn read(word: Option<&str>) -> Result<Self, String> {
        match word.unwrap_or_default() {
            "" | "auto" => Ok(Self::Auto),
            "linkedClone" => Ok(Self::Linked),
            "fullClone" => Ok(Self::Full),
            other => Err(format!("{other:?} is not known; write auto, linkedClone or fullClone")),
        }
    }
}

/// The version of an instance's virtual hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HardwareVersion(u32);

impl HardwareVersion {
    /// The oldest that vSphere's volumes can be attached to.
    pub(crate) const FOR_VOLUMES: Self = Self(15);

    /// Reads the version; none where it is not set. An error states the allowed values.
    pub(crate) fn read(word: Option<&str>) -> Result<Option<Self>, String> {
        let Some(word) = word.filter(|word| !word.is_empty()) else { return Ok(None) };
        let number = word.strip_prefix("vmx-").and_then(|number| number.parse().ok());
        let known = number.filter(|number| (4..100).contains(number));
        known.map(|number| Some(Self(number))).ok_or_else(|| {
            format!("{word:?} is no version of virtual hardware; write one such as vmx-19")
        })
    }
}

impl std::fmt::Display for HardwareVersion {
    /// As vSphere writes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "vmx-{:02}", self.0)
    }
}

/// Whether instances are kept on different hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AntiAffinity {
    /// No preference.
    #[default]
    None,
    /// Where that is possible.
    Preferred,
}

impl AntiAffinity {
    /// Reads the word; an error says what to write.
    pub(crate) fn read(word: Option<&str>) -> Result<Self, String> {
        match word.unwrap_or_default() {
            "" | "none" => Ok(Self::None),
            "preferred" => Ok(Self::Preferred),
            other => Err(format!("{other:?} is not known; write none or preferred")),
        }
    }
}

/// How a running instance is switched off before it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PowerOff {
    /// At once.
    #[default]
    Hard,
    /// The guest may shut down for so long.
    Soft(Duration),
}

impl PowerOff {
    /// Reads the word and the patience that goes with it; an error says what to write.
    pub(crate) fn read(
        word: Option<&str>,
        patience: Option<&joiner_api::duration::Duration>,
    ) -> Result<Self, String> {
        match word.unwrap_or_default() {
            "" | "hard" => Ok(Self::Hard),
            "trySoft" => {
                let nanos = patience.map(|patience| patience.nanos().max(0).unsigned_abs());
                Ok(Self::Soft(nanos.map_or(DEFAULT_PATIENCE, Duration::from_nanos)))
            }
            other => Err(format!("{other:?} is not known; write hard or trySoft")),
        }
    }
}

/// How the blocks of a disk come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Provisioning {
    /// As the datastore has it.
    #[default]
    Default,
    /// When they are written.
    Thin,
    /// At once, zeroed when they are first used.
    Thick,
    /// At once, and zeroed at once.
    EagerlyZeroed,
}

impl Provisioning {
    /// Reads the word; an error says what to write.
    pub(crate) fn read(word: Option<&str>) -> Result<Self, String> {
        match word.unwrap_or_default() {
            "" => Ok(Self::Default),
            "Thin" => Ok(Self::Thin),
            "Thick" => Ok(Self::Thick),
            "EagerlyZeroed" => Ok(Self::EagerlyZeroed),
            other => Err(format!("{other:?} is not known; write Thin, Thick or EagerlyZeroed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_or_told() {
        assert_eq!(CloneMode::read(None), Ok(CloneMode::Auto));
        assert_eq!(CloneMode::read(Some("linkedClone")), Ok(CloneMode::Linked));
        assert_eq!(
            CloneMode::read(Some("instant")),
            Err("\"instant\" is not known; write auto, linkedClone or fullClone".to_owned())
        );
        assert_eq!(AntiAffinity::read(Some("preferred")), Ok(AntiAffinity::Preferred));
        assert_eq!(
            AntiAffinity::read(Some("required")),
            Err("\"required\" is not known; write none or preferred".to_owned())
        );
        assert_eq!(Provisioning::read(Some("Thin")), Ok(Provisioning::Thin));
        assert!(Provisioning::read(Some("thin")).is_err());
    }

    #[test]
    fn versions_of_hardware_are_compared_by_their_numbers() {
        let read = |word| HardwareVersion::read(Some(word)).ok().flatten();
        assert!(read("vmx-09") < read("vmx-19"));
        assert_eq!(read("vmx-19").map(|own| own.to_string()).as_deref(), Some("vmx-19"));
        assert_eq!(HardwareVersion::read(Some("")), Ok(None));
        assert_eq!(
            HardwareVersion::read(Some("19")),
            Err("\"19\" is no version of virtual hardware; write one such as vmx-19".to_owned())
        );
    }

    #[test]
    fn a_soft_shutdown_has_five_minutes_unless_said_otherwise() {
        assert_eq!(PowerOff::read(None, None), Ok(PowerOff::Hard));
        assert_eq!(
            PowerOff::read(Some("trySoft"), None),
            Ok(PowerOff::Soft(Duration::from_mins(5)))
        );
        let patience = "90s".to_owned().try_into().unwrap();
        assert_eq!(
            PowerOff::read(Some("trySoft"), Some(&patience)),
            Ok(PowerOff::Soft(Duration::from_secs(90)))
        );
        assert!(PowerOff::read(Some("soft"), None).is_err());
    }
}
