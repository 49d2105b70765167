use joiner_core::testing::*;
use joiner_core::{label, pod::Pod, settings::PlanSettings};
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut seed = 42u64;
    let mut next = move |k: usize| { seed = seed.wrapping_add(0x9E3779B97F4A7C15); let mut z = seed; z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9); z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB); ((z ^ (z >> 31)) % k as u64) as usize };
    let l = ["a","b","c","d","e","f","g"]; let cpus=["100m","250m","500m","1","1500m"]; let mems=["100Mi","256Mi","512Mi","1Gi","2Gi","4Gi"];
    let q = n/5;
    let mut cache: std::collections::HashMap<(usize,usize,usize,usize,usize), Pod> = Default::default();
    let mut pods = Vec::new();
    for i in 0..n {
        let kind = if i < 5*q { i / q } else { 0 };
        let (l1,l2) = (next(7), next(7)); let (c,m)=(next(5),next(6));
        let key = (kind,l1,if kind==1||kind==2 {l2} else {0},c,m);
        let p = cache.entry(key).or_insert_with(|| { let p = pod("x").cpu(cpus[c]).mem(mems[m]);
            match kind { 0 => p.label("my-label", l[l1]), 1 => p.label("my-label", l[l1]).spread(label::ZONE,1,selector([("my-label",l[l2])])),
            2 => p.label("my-label", l[l1]).spread(label::HOSTNAME,1,selector([("my-label",l[l2])])),
            3 => p.label("my-affinity", l[l1]).affinity(label::ZONE, selector([("my-affinity",l[l1])])),
            _ => p.label("app","nginx").anti_affinity(label::HOSTNAME, selector([("app","nginx")])) }.build() });
        let mut p = p.clone(); p.name = format!("pod-{i:06}").into(); p.uid = format!("{:016x}", next(usize::MAX)).into();
        pods.push(p);
    }
    let s = snapshot().pool(pool("default").limit("cpu","1000000000").limit("memory","1000000000Gi"), fake_instance_types(400)).pods(pods).build();
    for _ in 0..3 {
    let t = std::time::Instant::now();
    let planned = joiner_plan::provision(&s, &PlanSettings::default());
    let e = t.elapsed();
    let t = std::time::Instant::now(); let f = joiner_check::check(&s, &PlanSettings::default(), &planned.plan); let ce = t.elapsed(); let lb = joiner_check::lower_bound(&s, &planned.plan); println!("check {ce:?} findings {} lb {lb:.1} {:?}", f.len(), f.first()); println!("{n} pods: {:?}, claims {}, price {:.1} unsched {}", e, planned.plan.claims.len(), planned.plan.price(), planned.plan.unschedulable.len());
    }
    let st = std::fs::read_to_string("/proc/self/status").unwrap(); println!("{}", st.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
