use super::*;

const OURS: &str = "#cloud-config\nhostname: node-1\nruncmd:\n- [sh, -c, \"echo join\"]\n";
const SCRIPT: &str = "#!/bin/bash\necho \"Node initialization script\"\n";
const JINJA: &str = "## template: jinja\n#cloud-config\nfqdn: {{ v1.local_hostname }}\n";

fn joiner() -> Part {
    Part::new("text/cloud-config", "joiner.cfg", false, OURS)
}

fn ours() -> Map {
    cloud_config::read("#cloud-config\nwrite_files: [{path: /join}]\nruncmd: [join]\n", "ours")
        .unwrap()
}

fn report() -> Report {
    use crate::bootstrap::inputs::{Distro, Format};
    Report::new(Distro::K3s, Format::CloudInit)
}

/// The user's parts of a text, or why there are none.
fn parts(text: &str) -> Result<Vec<Part>, String> {
    users_parts(&of_text(text, false), &ours(), "userData", &mut report())
        .map_err(|error| format!("{}: {}", error.field, error.problem))
}

fn sha256_of(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

#[test]
fn a_script_is_the_second_part() {
    let both = [vec![joiner()], parts(SCRIPT).unwrap()].concat();
    let bytes = with_boundary(&both, "==joiner==");
    assert_eq!(
        String::from_utf8_lossy(&bytes),
        "Content-Type: multipart/mixed; boundary=\"==joiner==\"\n\
         MIME-Version: 1.0\n\
         \n\
         --==joiner==\n\
         Content-Type: text/cloud-config; charset=\"utf-8\"\n\
         Content-Transfer-Encoding: 7bit\n\
         Content-Disposition: attachment; filename=\"joiner.cfg\"\n\
         \n\
         #cloud-config\n\
         hostname: node-1\n\
         runcmd:\n\
         - [sh, -c, \"echo join\"]\n\
         \n\
         --==joiner==\n\
         Content-Type: text/x-shellscript; charset=\"utf-8\"\n\
         Content-Transfer-Encoding: 7bit\n\
         Content-Disposition: attachment; filename=\"user-data.sh\"\n\
         \n\
         #!/bin/bash\n\
         echo \"Node initialization script\"\n\
         \n\
         --==joiner==--\n"
    );
    assert_eq!(bytes.len(), 501);
    let hash = "f42b26cd2196060512bfb3ebd28499137cddf6fed090f226ad7ef1c67de8f580";
    assert_eq!(sha256_of(&bytes), hash);
    assert_eq!(boundary(&both), "==joiner-a91bc88e4f0eb3ae==");
}

#[test]
fn a_template_says_how_it_is_merged() {
    let both = [vec![joiner()], parts(JINJA).unwrap()].concat();
    let bytes = with_boundary(&both, "==joiner==");
    assert_eq!(bytes.len(), 575);
    let hash = "5cdea7fe8cbb91092799c1bbc2370c315cd98a10f214c27b9e41843920d67680";
    assert_eq!(sha256_of(&bytes), hash);
}

#[test]
fn what_mail_cannot_carry_is_in_base64() {
    let part = Part::new("text/x-shellscript", "user-data.sh", false, "#!/bin/sh\necho \"café\"\n");
    assert!(part.headers.contains("Content-Transfer-Encoding: base64\n"));
    assert_eq!(part.body, b"IyEvYmluL3NoCmVjaG8gImNhZsOpIgo=");
    for body in ["a\r\nb", "a\0b", &"a".repeat(999)] {
        let part = Part::new("text/plain", "a", false, body);
        assert!(part.headers.contains("base64"), "{body:?}");
        assert!(part.body.split(|byte| *byte == b'\n').all(|line| line.len() <= 76));
    }
    assert!(Part::new("text/plain", "a", false, &"a".repeat(998)).headers.contains("7bit"));
}

#[test]
fn a_boundary_is_in_no_body() {
    let first = boundary(&[joiner()]);
    let part = Part { headers: String::new(), body: format!("x\n--{first}\n").into_bytes() };
    // Whatever the boundary of these two is, a body that has it gets another.
    let own = boundary(std::slice::from_ref(&part));
    assert!(!String::from_utf8(part.body).unwrap().contains(&own));
}

const MULTIPART: &str = "\
Content-Type: multipart/mixed; boundary=\"outer\"
MIME-Version: 1.0

--outer
Content-Type: text/x-shellscript; charset=\"us-ascii\"
Content-Disposition: attachment; filename=\"00-first.sh\"

#!/bin/sh
echo first
--outer
Content-Type: multipart/mixed; boundary=\"inner\"

--inner
Content-Type: text/cloud-config
X-Custom: kept

#cloud-config
packages: [jq]
--inner
Content-Type: text/plain

#cloud-config
runcmd: [a]
--inner--
--outer
Content-Type: text/x-shellscript
Content-Transfer-Encoding: base64

I2Nsb3VkLWNvbmZpZwpydW5jbWQ6IFthXQo=
--outer--
";

#[test]
fn a_multipart_is_taken_apart_and_its_cloud_configs_add_to_ours() {
    let parts = parts(MULTIPART).unwrap();
    let texts: Vec<_> = parts
        .iter()
        .map(|part| format!("{}\n{}", part.headers, String::from_utf8_lossy(&part.body)))
        .collect();
    let merge = "X-Merge-Type: list(append)+dict(no_replace,recurse_list)+str()\n";
    assert_eq!(
        texts,
        [
            "Content-Type: text/x-shellscript; charset=\"us-ascii\"\n\
             Content-Disposition: attachment; filename=\"00-first.sh\"\n\
             \n#!/bin/sh\necho first"
                .to_owned(),
            format!(
                "Content-Type: text/cloud-config\nX-Custom: kept\n{merge}\n#cloud-config\npackages: [jq]"
            ),
            format!("Content-Type: text/plain\n{merge}\n#cloud-config\nruncmd: [a]"),
            format!(
                "Content-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n{merge}\n\
                 I2Nsb3VkLWNvbmZpZwpydW5jbWQ6IFthXQo="
            ),
        ]
    );
}

fn part_with(headers: &str, body: &str) -> String {
    format!(
        "Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n\
         --b\nContent-Type: text/cloud-config\n{headers}\n{body}\n--b--\n"
    )
}

#[test]
fn a_part_that_would_replace_the_join_is_refused() {
    let dropped = "userData: merge_how: merge_how drops the join commands";
    for text in [
        part_with("X-Merge-Type: dict(replace)+list()\n", "#cloud-config\nruncmd: [a]"),
        part_with("", "#cloud-config\nmerge_how: dict(replace)\nruncmd: [a]"),
        "#cloud-config-archive\n- |\n  #cloud-config\n  runcmd: [a]\n".to_owned(),
        "#cloud-config-archive\n- {content: \"#cloud-config\\nwrite_files: []\\n\"}\n".to_owned(),
    ] {
        assert_eq!(parts(&text).err().as_deref(), Some(dropped), "{text}");
    }
    // The text's own rules count before those of the header.
    let both = part_with(
        "Merge-Type: dict(replace)+list(append)\n",
        "#cloud-config\nmerge_how: dict(recurse_list)\nruncmd: [a]",
    );
    assert!(parts(&both).is_ok());
    let archive = "#cloud-config-archive\n- |\n  #cloud-config\n  runcmd: [a]\n";
    let inner =
        part_with("", archive).replace("text/cloud-config\n", "text/cloud-config-archive\n");
    assert_eq!(parts(&inner).err().as_deref(), Some(dropped));
    let damaged = parts("#cloud-config-archive\n- [\n").err().unwrap();
    assert!(damaged.starts_with("userData: line "), "{damaged}");
    let kept =
        part_with("X-Merge-Type: list(prepend)+dict(recurse_list)\n", "#cloud-config\nruncmd: [a]");
    assert!(!parts(&kept).unwrap()[0].headers.contains(ADDING));
    assert!(parts("#cloud-config-archive\n- |\n  #cloud-config\n  packages: [a]\n").is_ok());
}

#[test]
fn commands_before_the_join_need_a_plain_cloud_config() {
    let commands = "#cloud-config\npreJoinCommands: [a]\n";
    for text in [part_with("", commands), format!("## template: jinja\n{commands}")] {
        let refused = parts(&text).err().unwrap();
        assert!(refused.starts_with("userData: preJoinCommands: "), "{refused}");
    }
}

#[test]
fn what_only_looks_like_a_multipart_is_refused() {
    let refused =
        parts("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n--b--\n");
    assert!(refused.is_err());
}
