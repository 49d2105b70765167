//! The functions that rules may call, and their types.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use super::types::Ty;

/// The types of one way to call a function. The target of a method is its first argument.
#[derive(Debug)]
pub(super) struct Overload {
    pub(super) method: bool,
    pub(super) args: Vec<Ty>,
    pub(super) result: Ty,
}

impl Overload {
    /// The type of a call with arguments of these types, if it can be called so.
    pub(super) fn result(&self, method: bool, args: &[Ty]) -> Option<Ty> {
        if self.method != method || self.args.len() != args.len() {
            return None;
        }
        let mut decided = BTreeMap::new();
        let fit = args.iter().zip(&self.args).all(|(arg, wanted)| arg.fits(wanted, &mut decided));
        fit.then(|| self.result.decided(&decided))
    }
}

/// The ways to call the function with this name.
pub(super) fn overloads(name: &str) -> Option<&'static [Overload]> {
    OVERLOADS.get(name).map(Vec::as_slice)
}

static OVERLOADS: LazyLock<HashMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<Overload>> = HashMap::new();
    for line in SIGNATURES.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a line has a name");
        for signature in words {
            table.entry(name).or_default().push(read_signature(signature));
        }
    }
    table
});

/// Reads `(A,B)R`, or `.(A,B)R` for methods.
fn read_signature(signature: &str) -> Overload {
    let (method, rest) = match signature.strip_prefix('.') {
        Some(rest) => (true, rest),
        None => (false, signature),
    };
    let (args, result) = rest.split_once(')').expect("arguments end with a bracket");
    let args = args.strip_prefix('(').expect("arguments begin with a bracket");
    let args = args.split(',').filter(|arg| !arg.is_empty()).map(read_type).collect();
    Overload { method, args, result: read_type(result) }
}

/// Types in one word: `[A]` is a list, `{A:B}` a map, `?A` an optional.
fn read_type(word: &str) -> Ty {
    if let Some(inner) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
        return Ty::List(Box::new(read_type(inner)));
    }
    if let Some(inner) = word.strip_prefix('{').and_then(|word| word.strip_suffix('}')) {
        let (key, value) = inner.split_once(':').expect("a map has keys and values");
        return Ty::Map(Box::new(read_type(key)), Box::new(read_type(value)));
    }
    if let Some(inner) = word.strip_prefix('?') {
        return Ty::Optional(Box::new(read_type(inner)));
    }
    match word {
        "A" => Ty::Param('A'),
        "B" => Ty::Param('B'),
        "dyn" => Ty::Dyn,
        "bool" => Ty::Bool,
        "int" => Ty::Int,
        "uint" => Ty::Uint,
        "double" => Ty::Double,
        "string" => Ty::Text,
        "bytes" => Ty::Bytes,
        "duration" => Ty::Duration,
        "timestamp" => Ty::Timestamp,
        "type" => Ty::Type(Box::new(Ty::Param('A'))),
        "quantity" => Ty::Opaque("kubernetes.Quantity"),
        "url" => Ty::Opaque("kubernetes.URL"),
        "ip" => Ty::Opaque("net.IP"),
        "cidr" => Ty::Opaque("net.CIDR"),
        "semver" => Ty::Opaque("kubernetes.Semver"),
        "format" => Ty::Opaque("kubernetes.NamedFormat"),
        other => unreachable!("unknown type {other} in the table of functions"),
    }
}

/// Every function with its overloads: cel-go's standard ones, its extensions for strings, lists,
/// sets and optionals, and Kubernetes' own.
const SIGNATURES: &str = "
!_ (bool)bool
-_ (int)int (double)double
_+_ (int,int)int (uint,uint)uint (double,double)double (string,string)string (bytes,bytes)bytes ([A],[A])[A] (duration,duration)duration (duration,timestamp)timestamp (timestamp,duration)timestamp
_-_ (int,int)int (uint,uint)uint (double,double)double (duration,duration)duration (timestamp,duration)timestamp (timestamp,timestamp)duration
_*_ (int,int)int (uint,uint)uint (double,double)double
_/_ (int,int)int (uint,uint)uint (double,double)double
_%_ (int,int)int (uint,uint)uint
_==_ (A,A)bool
_!=_ (A,A)bool
_<_ (bool,bool)bool (int,int)bool (uint,uint)bool (double,double)bool (string,string)bool (bytes,bytes)bool (timestamp,timestamp)bool (duration,duration)bool (int,double)bool (int,uint)bool (double,int)bool (double,uint)bool (uint,int)bool (uint,double)bool
_<=_ (bool,bool)bool (int,int)bool (uint,uint)bool (double,double)bool (string,string)bool (bytes,bytes)bool (timestamp,timestamp)bool (duration,duration)bool (int,double)bool (int,uint)bool (double,int)bool (double,uint)bool (uint,int)bool (uint,double)bool
_>_ (bool,bool)bool (int,int)bool (uint,uint)bool (double,double)bool (string,string)bool (bytes,bytes)bool (timestamp,timestamp)bool (duration,duration)bool (int,double)bool (int,uint)bool (double,int)bool (double,uint)bool (uint,int)bool (uint,double)bool
_>=_ (bool,bool)bool (int,int)bool (uint,uint)bool (double,double)bool (string,string)bool (bytes,bytes)bool (timestamp,timestamp)bool (duration,duration)bool (int,double)bool (int,uint)bool (double,int)bool (double,uint)bool (uint,int)bool (uint,double)bool
_&&_ (bool,bool)bool
_||_ (bool,bool)bool
_?_:_ (bool,A,A)A
@in (A,[A])bool (A,{A:B})bool
_[_] ([A],int)A ({A:B},A)B (?[A],int)?A (?{A:B},A)?B
_[?_] ([A],int)?A ({A:B},A)?B (?[A],int)?A (?{A:B},A)?B
size (string)int (bytes)int ([A])int ({A:B})int .(string)int .(bytes)int .([A])int .({A:B})int
type (A)type
dyn (A)dyn
bool (bool)bool (string)bool
bytes (bytes)bytes (string)bytes
double (double)double (int)double (string)double (uint)double
duration (duration)duration (int)duration (string)duration
int (int)int (double)int (duration)int (string)int (timestamp)int (uint)int
uint (uint)uint (double)uint (int)uint (string)uint
string (string)string (bool)string (bytes)string (double)string (duration)string (int)string (timestamp)string (uint)string (ip)string (cidr)string
timestamp (timestamp)timestamp (int)timestamp (string)timestamp
contains .(string,string)bool
startsWith .(string,string)bool
endsWith .(string,string)bool
matches .(string,string)bool (string,string)bool
getFullYear .(timestamp)int .(timestamp,string)int
getMonth .(timestamp)int .(timestamp,string)int
getDayOfYear .(timestamp)int .(timestamp,string)int
getDayOfMonth .(timestamp)int .(timestamp,string)int
getDate .(timestamp)int .(timestamp,string)int
getDayOfWeek .(timestamp)int .(timestamp,string)int
getHours .(timestamp)int .(timestamp,string)int .(duration)int
getMinutes .(timestamp)int .(timestamp,string)int .(duration)int
getSeconds .(timestamp)int .(timestamp,string)int .(duration)int
getMilliseconds .(timestamp)int .(timestamp,string)int .(duration)int
charAt .(string,int)string
indexOf .(string,string)int .(string,string,int)int .([A],A)int
lastIndexOf .(string,string)int .(string,string,int)int .([A],A)int
lowerAscii .(string)string
upperAscii .(string)string
replace .(string,string,string)string .(string,string,string,int)string
split .(string,string)[string] .(string,string,int)[string]
substring .(string,int)string .(string,int,int)string
trim .(string)string
join .([string])string .([string],string)string
format .(string,[dyn])string
strings.quote (string)string
find .(string,string)string
findAll .(string,string)[string] .(string,string,int)[string]
isSorted .([int])bool .([uint])bool .([double])bool .([bool])bool .([duration])bool .([timestamp])bool .([string])bool .([bytes])bool
sum .([int])int .([uint])uint .([double])double .([duration])duration
min .([int])int .([uint])uint .([double])double .([bool])bool .([duration])duration .([timestamp])timestamp .([string])string .([bytes])bytes
max .([int])int .([uint])uint .([double])double .([bool])bool .([duration])duration .([timestamp])timestamp .([string])string .([bytes])bytes
slice .([A],int,int)[A]
flatten .([[A]])[A] .([dyn],int)[dyn]
distinct .([A])[A]
first .([A])?A
last .([A])?A
reverse .([A])[A]
sort .([int])[int] .([uint])[uint] .([double])[double] .([bool])[bool] .([duration])[duration] .([timestamp])[timestamp] .([string])[string] .([bytes])[bytes]
lists.range (int)[int]
sets.contains ([A],[A])bool
sets.equivalent ([A],[A])bool
sets.intersects ([A],[A])bool
optional.of (A)?A
optional.ofNonZeroValue (A)?A
optional.none ()?A
hasValue .(?A)bool
value .(?A)A
or .(?A,?A)?A
orValue .(?A,A)A
url (string)url
isURL (string)bool
getScheme .(url)string
getHost .(url)string
getHostname .(url)string
getPort .(url)string
getEscapedPath .(url)string
getQuery .(url){string:[string]}
ip (string)ip .(cidr)ip
isIP (string)bool
ip.isCanonical (string)bool
family .(ip)int
isUnspecified .(ip)bool
isLoopback .(ip)bool
isLinkLocalMulticast .(ip)bool
isLinkLocalUnicast .(ip)bool
isGlobalUnicast .(ip)bool
cidr (string)cidr
isCIDR (string)bool
containsIP .(cidr,string)bool .(cidr,ip)bool
containsCIDR .(cidr,string)bool .(cidr,cidr)bool
prefixLength .(cidr)int
masked .(cidr)cidr
quantity (string)quantity
isQuantity (string)bool
sign (quantity)int
isGreaterThan .(quantity,quantity)bool .(semver,semver)bool
isLessThan .(quantity,quantity)bool .(semver,semver)bool
compareTo .(quantity,quantity)int .(semver,semver)int
asApproximateFloat .(quantity)double
asInteger .(quantity)int
isInteger .(quantity)bool
add .(quantity,quantity)quantity .(quantity,int)quantity
sub .(quantity,quantity)quantity .(quantity,int)quantity
semver (string)semver (string,bool)semver
isSemver (string)bool (string,bool)bool
major .(semver)int
minor .(semver)int
patch .(semver)int
validate .(format,string)?[string]
format.named (string)?format
format.dns1123Label ()format
format.dns1123Subdomain ()format
format.dns1035Label ()format
format.qualifiedName ()format
format.dns1123LabelPrefix ()format
format.dns1123SubdomainPrefix ()format
format.dns1035LabelPrefix ()format
format.labelValue ()format
format.uri ()format
format.uuid ()format
format.byte ()format
format.date ()format
format.datetime ()format
";
