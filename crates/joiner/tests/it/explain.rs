//! `joiner explain pod`.

use expect_test::expect;

use crate::check;

fn explain<'a>(pod: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["explain", "pod", pod, "-f", "examples/first-look"], more].concat()
}

#[test]
fn a_pod_without_a_place_learns_what_each_pool_has_against_it() {
    check(&explain("ml/train-0", &[]), "", &expect![[""]]);
}

#[test]
fn a_placed_pod_learns_where() {
    check(&explain("data/postgres-0", &[]), "", &expect![[""]]);
    check(&explain("shop/cart-pqdf8xxpt-2n5w4", &[]), "", &expect![[""]]);
}

#[test]
fn a_waiting_pod_learns_for_what() {
    check(&explain("data/postgres-2", &[]), "", &expect![[""]]);
}

#[test]
fn programs_get_json() {
    check(&explain("ml/train-0", &["-o", "json"]), "", &expect![[""]]);
}

#[test]
fn a_misspelt_pod_is_guessed() {
    check(&explain("ml/trian-0", &[]), "", &expect![[""]]);
    check(&explain("postgres-0", &[]), "", &expect![[""]]);
    check(&explain("nothing/like-it", &[]), "", &expect![[""]]);
}

#[test]
fn a_running_pod_needs_no_explanation() {
    check(&explain("kube-system/agent-XXXXX", &[]), "", &expect![[""]]);
}
