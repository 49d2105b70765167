//! Lines of fault scripts.

use joiner_sim::{
    script::{Counter, Often, duration},
    trouble::{Effect, parse},
};

use crate::counter::Reset;

#[test]
fn a_line_says_what_goes_wrong_with_which_call_and_how_often() {
    let script = "
        # a comment
        lost before                                # the next call
        silence after  on Destroy_Task  always
        http 503       on /rest  of \"web-1\"  2 times
        cut short
        slow 1500ms    on x  after 2 calls  once
        reset          on POST
    ";
    let rules = parse::<Reset>(script).unwrap();
    let effects: Vec<_> = rules.iter().map(|rule| rule.effect.clone()).collect();
    assert_eq!(
        effects,
        [
            Effect::Lost { after: false },
            Effect::Silence { after: true },
            Effect::Http(503),
            Effect::CutShort,
            Effect::Slow(std::time::Duration::from_millis(1500)),
            Effect::Cloud(Reset),
        ]
    );
    assert_eq!((rules[2].call.as_str(), rules[2].object.as_str()), ("/rest", "web-1"));
    let often: Vec<_> = rules.iter().map(|rule| (rule.often.skip, rule.often.times)).collect();
    assert_eq!(
        often,
        [(0, Some(1)), (0, None), (0, Some(2)), (0, Some(1)), (2, Some(1)), (0, Some(1))]
    );
}

#[test]
fn an_unknown_line_is_an_error_with_its_number_and_a_remedy() {
    let problem = |script| parse::<Reset>(script).unwrap_err().to_string();
    assert!(problem("\nfoul").starts_with(
        "line 2 of the fault script: cannot understand \"foul\"; write `reset`, `lost before|after`"
    ));
    assert!(problem("http 200").contains("from 400 to 599"));
    assert!(problem("lost after on X twice").contains("`N times`"));
    assert!(problem("reset on GET").ends_with("cannot happen to GET: only `POST` resets"));
    for time in ["3", "s", "-1s", "1d", "18446744073709551615h"] {
        assert!(duration(time).unwrap_err().contains("write it as 1500ms"), "{time}");
    }
}

#[test]
fn the_first_calls_get_through_and_it_happens_so_many_times() {
    let often = Often::read(&["after", "2", "calls", "2", "times"]).unwrap();
    let mut counter = Counter::default();
    let strikes = |counter: &mut Counter| !counter.is_spent(often) && counter.strikes(often);
    let struck: Vec<bool> = (0..6).map(|_| strikes(&mut counter)).collect();
    assert_eq!(struck, [false, false, true, true, false, false]);
    assert_eq!(counter.happened(), 2);
}
