//! Types of instances as people read them.
//!
//! A cloud derives the name of a type from its size where the class gives it none:
//! `<cloud>-vm.cpu-16.mem-32gb.os-linux`. Such a name says nothing but the size, and takes the room of
//! half a line.

/// `16 cpu 32Gi` for a name that a cloud derived from a size; any other name stays as it is.
pub(crate) fn in_words(name: &str) -> String {
    derived(name).unwrap_or_else(|| name.to_owned())
}

/// The same for each derived name in a sentence.
pub(crate) fn in_sentence(sentence: &str) -> String {
    renamed(sentence, derived)
}

/// A sentence in which names are replaced by others, where there are any.
pub(crate) fn renamed(sentence: &str, other: impl Fn(&str) -> Option<String>) -> String {
    let word = |part: &str| {
        let name = part.trim_end_matches([' ', ',', ';', ':', '.', ')']);
        other(name).map_or_else(|| part.to_owned(), |words| words + &part[name.len()..])
    };
    sentence.split_inclusive(' ').map(word).collect()
}

/// What a derived name says; systems and architectures only where they are not the usual ones.
fn derived(name: &str) -> Option<String> {
    let (_cloud, sizes) = name.split_once("-vm.cpu-")?;
    let (cpus, rest) = sizes.split_once(".mem-")?;
    let (memory, rest) = rest.split_once("gb.os-")?;
    let (os, arch) = match rest.split_once(".arch-") {
        Some((os, arch)) => (os, Some(arch)),
        None => (rest, None),
    };
    if cpus.is_empty() || memory.is_empty() || os.is_empty() {
        return None;
    }
    // Memory in another unit is written with it.
    let unit = if memory.bytes().all(|byte| byte.is_ascii_digit()) { "Gi" } else { "" };
    let mut words = format!("{cpus} cpu {memory}{unit}");
    for part in Some(os).filter(|os| *os != "linux").into_iter().chain(arch) {
        words.push(' ');
        words.push_str(part);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_derived_from_a_size_is_told_as_that_size() {
        assert_eq!(in_words("vsphere-vm.cpu-16.mem-32gb.os-linux"), "16 cpu 32Gi");
        assert_eq!(in_words("vsphere-vm.cpu-2.mem-512Migb.os-linux"), "2 cpu 512Mi");
        assert_eq!(in_words("vsphere-vm.cpu-8.mem-32gb.os-windows"), "8 cpu 32Gi windows");
        assert_eq!(in_words("vsphere-vm.cpu-8.mem-32gb.os-linux.arch-arm64"), "8 cpu 32Gi arm64");
    }

    #[test]
    fn any_other_name_stays_as_it_is() {
        for name in ["c-16x-amd64-linux", "large", "", "vsphere-vm.cpu-.mem-32gb.os-linux"] {
            assert_eq!(in_words(name), name);
        }
    }

    #[test]
    fn derived_names_are_told_so_in_sentences_too() {
        assert_eq!(
            in_sentence("fits on a new vsphere-vm.cpu-8.mem-32gb.os-linux, at 0.06; others do not"),
            "fits on a new 8 cpu 32Gi, at 0.06; others do not"
        );
        assert_eq!(in_sentence(" of two  blanks "), " of two  blanks ");
        let claims = |node: &str| node.strip_prefix("kwok-").map(str::to_owned);
        assert_eq!(renamed("kwok-a and kwok-b: 1 pod (kwok-c)", claims), "a and b: 1 pod (kwok-c)");
    }
}
