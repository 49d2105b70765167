//! What the firmware of an instance shows: `smbios1`.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::PropertyString;

/// Texts that are encoded where the option says so; the uuid never is.
const TEXTS: [&str; 4] = ["manufacturer", "product", "version", "family"];

/// Writes type and identity of an instance beside what is there: the uuid above all.
pub fn identify(smbios: &str, sku: &str, serial: &str) -> String {
    let mut smbios = PropertyString::parse(smbios);
    if smbios.get("base64") != Some("1") {
        // From now on all texts are read as encoded ones.
        for key in TEXTS {
            if let Some(encoded) = smbios.get(key).map(|text| STANDARD.encode(text)) {
                smbios.set(key, encoded);
            }
        }
    }
    smbios.set("sku", STANDARD.encode(sku));
    smbios.set("serial", STANDARD.encode(serial));
    smbios.set("base64", "1");
    smbios.to_string()
}

/// The uuid that the firmware shows.
pub fn uuid(smbios: &str) -> Option<String> {
    PropertyString::parse(smbios).get("uuid").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7";

    #[test]
    fn the_uuid_stays_and_type_and_identity_are_added() {
        assert_eq!(
            identify(&format!("uuid={UUID},family=F"), "c1.2", "h=x;i=1"),
            format!("uuid={UUID},family=Rg==,sku=YzEuMg==,serial=aD14O2k9MQ==,base64=1")
        );
        assert_eq!(
            identify(&format!("base64=1,family=Zg==,serial=b2xk,uuid={UUID}"), "a", "b"),
            format!("base64=1,family=Zg==,serial=Yg==,uuid={UUID},sku=YQ==")
        );
        assert_eq!(uuid(&format!("base64=1,uuid={UUID}")).as_deref(), Some(UUID));
    }
}
