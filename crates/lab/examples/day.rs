//! A day of a quiet cluster in virtual time: `cargo run --release -p joiner-lab --example day`.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let started = std::time::Instant::now();
    let lab = runtime.block_on(joiner_lab::story::quiet_day(1, 100, 2000, 0.01));
    println!(
        "a day of 100 machines and 2,000 pods: {:.2?}, {} changes, {} kept in the history",
        started.elapsed(),
        lab.server().version(),
        lab.history().len(),
    );
}
