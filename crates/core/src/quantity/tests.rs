//! The vectors in `check` were printed by Kubernetes' own `resource.ParseQuantity` (v0.35.1) with
//! the text it keeps thrown away; `!` stands for an error.

use proptest::prelude::*;

use super::{Format, MAX_NANOS, NANOS, Quantity};

fn canonical(text: &str) -> Option<String> {
    text.parse::<Quantity>().ok().map(|quantity| quantity.to_string())
}

fn quantity(text: &str) -> Quantity {
    text.parse().unwrap()
}

/// `vectors` are `text=canonical form`, apart by white space.
fn check(vectors: &str) {
    let expected: Vec<&str> = vectors.split_whitespace().collect();
    let actual: Vec<String> = expected
        .iter()
        .map(|vector| {
            let text = vector.split_once('=').unwrap().0;
            format!("{text}={}", canonical(text).as_deref().unwrap_or("!"))
        })
        .collect();
    assert_eq!(actual, expected);
}

#[test]
fn plain_numbers() {
    check(
        "0=0 1=1 -1=-1 +1=1 00=0 01=1 -0=0 +0=0 007=7 1.=1 1.0=1 .5=500m -.5=-500m +.5=500m
         0.5=500m 1.500=1500m -1.5=-1500m 12.345=12345m 0.10=100m 00.10=100m 10=10 100=100 1000=1k
         1024=1024 10000=10k 123456=123456 1000000=1M 1234567890=1234567890",
    );
}

#[test]
fn decimal_suffixes() {
    check(
        "1n=1n 1u=1u 1m=1m 1k=1k 1M=1M 1G=1G 1T=1T 1P=1P 1E=1E 100m=100m 1000m=1 1500m=1500m
         0.1m=100u 2.5k=2500 1000k=1M 1001k=1001k 0.001k=1 1000n=1u 1000000n=1m 1000000000n=1
         999999999n=999999999n 12E=12E -12E=-12E 999E=999E .001=1m 1.5E=1500P",
    );
}

#[test]
fn binary_suffixes_print_in_decimal_below_1024_and_for_fractions() {
    check(
        "1Ki=1Ki 1Mi=1Mi 1Gi=1Gi 1Ti=1Ti 1Pi=1Pi 1Ei=1Ei 7Ei=7Ei 1024Ki=1Mi 1023Ki=1023Ki
         1025Ki=1025Ki 512Mi=512Mi 1024Mi=1Gi 1.5Gi=1536Mi 0.5Gi=512Mi 0.5Ki=512 0.1Ki=102400m
         0.25Ki=256 1.1Ki=1126400m 1.0001Ki=1024102400u 0Ki=0 0.0Gi=0 0.0001Ki=102400u
         0.0009765625Ki=1 -1Ki=-1Ki -0.5Ki=-512 -0.0001Ki=-102400u 0.3Mi=314572800m
         0.999Ki=1022976m 3.5Ti=3584Gi 2048=2048 2047.9990234375Ki=2097151",
    );
}

#[test]
fn binary_amounts_are_cut_to_the_largest_integer() {
    check(
        "8Ei=9223372036854775807 7.999999999999999999Ei=9223372036854775806847078496n 8191Pi=8191Pi
         8192Pi=9223372036854775807 9000Ei=9223372036854775807 -8Ei=-9223372036854775807
         9007199254740991Ki=9007199254740991Ki 9007199254740992Ki=9223372036854775807
         99999999999999999999999999999999999Ki=9223372036854775807
         9223372036854775807=9223372036854775807 9223372036854775808=9223372036854775808
         -9223372036854775808=-9223372036854775808",
    );
}

#[test]
fn exponents_print_in_steps_of_three() {
    check(
        "1e0=1 1e1=10 1e2=100 1e3=1e3 1e4=10e3 1E3=1e3 1e+3=1e3 1e-3=1e-3 1e-1=100e-3 1E-9=1e-9
         12e6=12e6 1.5e3=1500 1500e3=1500e3 1e003=1e3 1e18=1e18 1e21=1e21 1E21=1e21
         123.456e3=123456 1e-9=1e-9 0e5=0 0e-5=0 0e5000=0 0e-5000=0 1e27=1e27 -1e3=-1e3 5e-10=1e-9
         1e19=10e18 10e18=10e18",
    );
}

#[test]
fn exponents_keep_their_low_32_bits() {
    check(
        "1e4294967296=1 1e4294967299=1e3 1e-4294967293=1e3 1e9223372036854775807=100e-3
         1e9223372036854775808=! 1e-9223372036854775809=! 1e99999999999999999999=!",
    );
}

#[test]
fn what_is_finer_than_a_billionth_is_rounded_away_from_zero() {
    check(
        "0.1n=1n 1.1n=2n -0.1n=-1n -1.1n=-2n 0.0000000001=1n 0.00000000000000000000000001=1n
         1e-10=1e-9 1e-30=1e-9 -1e-2000=-1e-9 1.0000000001=1000000001n 0.9999999999=1
         1.0000000000=1 0.00000000051Ki=523n 0.0000000000001Ki=1n
         1.00000000000000000000000000000000000000001Ki=1024000000001n
         123456789.0123456789=123456789012345679n 0.000000000000=0",
    );
}

#[test]
fn many_digits() {
    check(
        "123456789012345678=123456789012345678 1234567890123456789=1234567890123456789
         12345678901234567890=12345678901234567890
         123456789012345678901234567890n=123456789012345678901234567890n
         1.23456789012345678901234567890=1234567891n
         99999999999999999999999999999=99999999999999999999999999999 100000000000000000000=100E
         00000000000000000000000000000000000000001=1
         0.00000000000000000000000000000000000000000000Gi=0",
    );
}

#[test]
fn no_digit_at_all_is_zero_on_kubernetes_fast_path() {
    check("+=0 -=0 .=0 -.=0 m=0 k=0 E=0 Ki=0 Ti=0 .Ki=0 e3=0 e-9=0 n=0 Pi=! Ei=! e-10=!");
}

#[test]
fn other_texts_are_refused() {
    for text in [
        "", " ", "1 ", " 1", "1.1.1", "..", "+-1", "--1", "1-", "1K", "1ki", "1KI", "1kI", "1Kib",
        "1i", "1mi", "1e", "1e+", "1e-", "1e1.5", "1ee3", "1e3e3", "1Ee3", "1em", "1e3k", "1Mm",
        "1,5", "0x10", "1_000", "abc", "١", "1\0", "NaN", "inf", "1e٣",
    ] {
        assert_eq!(canonical(text), None, "{text:?}");
    }
}

#[test]
fn an_error_shows_the_beginning_of_the_text_and_the_remedy() {
    assert_eq!(
        "1KB".parse::<Quantity>().unwrap_err().to_string(),
        "\"1KB\" is not a quantity: \
         write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"
    );
    assert_eq!("ö".repeat(1000).parse::<Quantity>().unwrap_err().0, "ö".repeat(64));
}

#[test]
fn compat_amounts_beyond_exa_keep_their_suffix() {
    // Kubernetes prints `1`, `-20` and `1`, and would read them back as such.
    assert_eq!(canonical("1000E").as_deref(), Some("1000E"));
    assert_eq!(canonical("-20000E").as_deref(), Some("-20000E"));
    assert_eq!(canonical("1000000000000000000000000000000000000n").as_deref(), Some("1000000000E"));
}

#[test]
fn compat_amounts_stop_at_ten_to_the_29th() {
    for text in ["1e29", "1e30", "1e2000000000", "999999999999999999999999999999", "1000000000000E"]
    {
        assert_eq!(quantity(text).nanos(), MAX_NANOS, "{text}");
        assert_eq!(quantity(&format!("-{text}")).nanos(), -MAX_NANOS, "-{text}");
    }
    assert_eq!(quantity("99999999999999999999999999999.999999999").nanos(), MAX_NANOS - 1);
    assert_eq!(canonical("1e30").as_deref(), Some("100e27"));
    assert_eq!(canonical("1000000000000E").as_deref(), Some("100000000000E"));
    assert_eq!(Quantity::from_nanos(i128::MIN, Format::DecimalSi).nanos(), -MAX_NANOS);
    let largest = quantity("1e29");
    assert_eq!(largest + largest, largest);
    assert_eq!(largest - largest - largest - largest, quantity("-1e29"));
}

#[test]
fn compat_binary_amounts_that_would_be_cut_print_in_decimal() {
    // Kubernetes prints `8Ei` and reads that as one less.
    let sum = quantity("4Ei") + quantity("4Ei");
    assert_eq!(sum.to_string(), "9223372036854775808");
    assert_eq!(quantity(&sum.to_string()), sum);
}

#[test]
fn sums_print_like_their_first_part_that_is_not_zero() {
    assert_eq!((quantity("1Gi") + quantity("1024")).to_string(), "1048577Ki");
    assert_eq!((quantity("1024") + quantity("1Gi")).to_string(), "1073742848");
    assert_eq!((quantity("0") + quantity("1Gi")).to_string(), "1Gi");
    assert_eq!((quantity("0") - quantity("1Gi")).to_string(), "-1Gi");
    assert_eq!((quantity("1e3") - quantity("1Ki")).to_string(), "-24");
}

#[test]
fn equality_and_order_ignore_the_format() {
    assert_eq!(quantity("1Ki"), quantity("1024"));
    assert_eq!(quantity("1e3"), quantity("1k"));
    assert!(quantity("1k") < quantity("1Ki"));
    assert!(quantity("-1Ki") < quantity("-1k"));
    assert!(quantity("999999999n") < quantity("1"));
}

#[test]
fn constructors() {
    assert_eq!(Quantity::whole(1500).to_string(), "1500");
    assert_eq!(Quantity::milli(1500).to_string(), "1500m");
    assert_eq!(Quantity::bytes(1 << 30).to_string(), "1Gi");
    assert_eq!(Quantity::bytes(i64::MIN).to_string(), "-9223372036854775808");
    assert_eq!(Quantity::from_nanos(1, Format::DecimalExponent).to_string(), "1e-9");
    assert_eq!(Quantity::default(), Quantity::ZERO);
    assert!((quantity("1.5Gi").as_f64() - 1_610_612_736.0).abs() < f64::EPSILON);
}

#[test]
fn json_is_text_number_or_null() {
    for (json, expected) in [
        (r#""1.5Gi""#, "1536Mi"),
        (r#"" 100m\n""#, "100m"),
        ("2", "2"),
        ("-2", "-2"),
        ("18446744073709551615", "18446744073709551615"),
        ("0.1", "100m"),
        ("1e3", "1k"),
        ("1e300", "100000000000E"),
        ("null", "0"),
    ] {
        assert_eq!(serde_json::from_str::<Quantity>(json).unwrap().to_string(), expected, "{json}");
    }
    for json in [r#""""#, r#""1 Gi""#, "true", "[]", "{}"] {
        assert!(serde_json::from_str::<Quantity>(json).is_err(), "{json}");
    }
    assert_eq!(serde_json::to_string(&quantity("0.5")).unwrap(), r#""500m""#);
}

#[test]
fn a_megabyte_is_read_in_linear_time() {
    const LENGTH: usize = 1 << 20;
    let nines = "9".repeat(LENGTH);
    let zeros = "0".repeat(LENGTH);
    for suffix in ["", "n", "E", "Ei", "e-1048576", "e1048576", "e-2147483648", "e2147483647"] {
        let _ = canonical(&format!("{nines}{suffix}"));
        let _ = canonical(&format!("{zeros}{suffix}"));
        let _ = canonical(&format!("0.{zeros}1{suffix}"));
        let _ = canonical(&format!("1{zeros}.{zeros}{suffix}"));
    }
    assert_eq!(canonical(&format!("{zeros}1.{zeros}Ki")).as_deref(), Some("1Ki"));
    assert_eq!(canonical(&format!("1.{zeros}1Ki")).as_deref(), Some("1024000000001n"));
    assert_eq!(canonical(&format!("{nines}e-1048575")).as_deref(), Some("10"));
    assert_eq!(canonical(&format!("1e{zeros}3")).as_deref(), Some("1e3"));
    assert_eq!(canonical(&format!("1e{nines}")), None);
    assert_eq!(canonical(&nines.replace('9', ".")), None);
    assert_eq!(canonical(&nines.replace('9', "E")), None);
}

fn any_format() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::DecimalSi), Just(Format::BinarySi), Just(Format::DecimalExponent)]
}

fn any_quantity() -> impl Strategy<Value = Quantity> {
    // Even spread over all amounts would never meet a short one.
    let nanos = prop_oneof![
        any::<i128>(),
        (any::<i64>(), 0..30_u32)
            .prop_map(|(n, power)| i128::from(n).saturating_mul(10_i128.pow(power))),
        (-5000..5000_i64, 0..7_u32)
            .prop_map(|(n, power)| i128::from(n) * 1024_i128.pow(power) * NANOS),
    ];
    (nanos, any_format()).prop_map(|(nanos, format)| Quantity::from_nanos(nanos, format))
}

proptest! {
    /// A binary amount that is no multiple of 1024 is printed without a suffix, and read as a decimal one.
    #[test]
    fn what_is_printed_reads_back_and_prints_the_same(quantity in any_quantity()) {
        let printed = quantity.to_string();
        let read: Quantity = printed.parse().unwrap();
        prop_assert_eq!(read, quantity);
        let again = read.to_string();
        prop_assert!(again == printed || printed.ends_with("000"), "{} became {}", printed, again);
        prop_assert_eq!(again.parse::<Quantity>().unwrap().to_string(), again);
    }

    #[test]
    fn order_is_that_of_the_amounts(a in any_quantity(), b in any_quantity()) {
        prop_assert_eq!(a.cmp(&b), a.nanos().cmp(&b.nanos()));
        prop_assert_eq!((a - b).cmp(&Quantity::ZERO), a.cmp(&b));
    }

    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        if let Some(once) = canonical(&text) {
            prop_assert_eq!(canonical(&once), Some(once));
        }
    }

    #[test]
    fn no_text_of_the_alphabet_is_too_strange(text in "[0-9.+\\-eEinumkKMGTP ]{0,40}") {
        if let Ok(quantity) = text.parse::<Quantity>() {
            prop_assert_eq!(quantity.to_string().parse::<Quantity>().unwrap(), quantity);
        }
    }
}
