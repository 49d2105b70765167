use std::{fs, io, ops::Range, os::unix::fs::MetadataExt};

use rustix::mm::{Advice, madvise};

/// A controller's memory is small objects that come and go. In huge pages, which the allocator asks
/// for where the system has them, it would hold a third more than it uses.
pub fn use_small_pages() -> io::Result<()> {
    Ok(rustix::thread::disable_transparent_huge_pages(true)?)
}

/// Gives back the pages of the program's own code.
///
/// Starting takes code from all over the program, and the system maps sixteen pages wherever one is
/// needed; waiting takes a tenth of that. Pages that are needed again come back by themselves, from
/// the system's cache of the file.
pub fn give_back_code() -> io::Result<()> {
    let program = fs::metadata("/proc/self/exe")?;
    let maps = fs::read_to_string("/proc/self/maps")?;
    for pages in code(&maps, program.ino()) {
        give_back(pages)?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "no library has a safe way to do this")]
fn give_back(pages: Range<usize>) -> io::Result<()> {
    let start = std::ptr::with_exposed_provenance_mut(pages.start);
    // SAFETY: nothing can have written to these pages, since they are mapped for reading and running
    // only, so what is read from the file when they are next touched is what was there before.
    unsafe { madvise(start, pages.len(), Advice::LinuxDontNeed)? };
    Ok(())
}

/// Where the code of a program is mapped, from the lines of `/proc/self/maps`. Its other parts are
/// left alone: some were written to while it was loaded, and would come back as they are in the file.
fn code(maps: &str, program: u64) -> impl Iterator<Item = Range<usize>> {
    maps.lines().filter_map(move |line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let is_code = fields.next()? == "r-xp";
        let file: u64 = fields.nth(2)?.parse().ok()?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        (is_code && file == program).then_some(address(start)?..address(end)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_the_program_itself_is_meant() {
        let maps = "\
            10000-20000 r--p 00000000 fe:00 77                         /usr/bin/joiner\n\
            20000-90000 r-xp 00010000 fe:00 77                         /usr/bin/joiner (deleted)\n\
            90000-a0000 r--p 00080000 fe:00 77                         /usr/bin/joiner\n\
            a0000-a1000 rw-p 00090000 fe:00 77                         /usr/bin/joiner\n\
            b0000-c0000 rw-p 00000000 00:00 0                          [heap]\n\
            d0000-e0000 r-xp 00000000 fe:00 78                         /usr/lib/libc.so.6\n\
            f0000-f1000 r-xp 00000000 00:00 0                          [vdso]\n";
        assert_eq!(
            code(maps, 77).collect::<Vec<_>>(),
            vec![Range { start: 0x20000, end: 0x90000 }]
        );
    }

    #[test]
    fn the_program_goes_on_without_its_pages() {
        let mapped = || {
            let program = fs::metadata("/proc/self/exe").expect("this program has a file");
            let maps = fs::read_to_string("/proc/self/maps").expect("a process may read its own");
            code(&maps, program.ino()).collect::<Vec<_>>()
        };
        let before = mapped();
        assert_ne!(before, [], "this code is mapped somewhere");
        give_back_code().expect("the pages are this process' own");
        assert_eq!(mapped(), before, "only the pages went, and came back to run this");
    }
}
