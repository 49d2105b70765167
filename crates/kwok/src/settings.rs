//! Every setting of KWOK, once.

use joiner_settings::settings;

settings! {
    /// Where the types of instances come from.
    TYPES:
    INSTANCE_TYPES_FILE_PATH "instance-types-file-path" "FILE" ""
        "Instance types of KWOKNodeClass pools, instead of the built-in ones";
}
