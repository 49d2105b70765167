
PATH="$PATH:/usr/local/bin:/opt/bin:/opt/rke2/bin"
if [ -n "$drop_in" ] && [ ! -s "$drop_in" ]; then
  fail "$drop_in is not there, so the provider id is unknown; the step before this one has said why"
fi
# What the installer fetches goes through the proxy too.
if [ -n "$environment" ]; then
  set -a
  . "$environment"
  set +a
fi

fetch() {
  mkdir -p /run/joiner
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --max-time 120 --output "$2" "$1"
  else
    wget -q -T 120 -O "$2" "$1"
  fi
}

# Sets $script to an install script in this instance.
find_script() {
  if [ -n "$script" ]; then
    [ -e "$script" ] || fail "there is no $script in this image"
    return 0
  fi
  script=/run/joiner/install.sh
  ten_times fetch "$url" "$script" || fail "$url could not be fetched; is there a way out, or a proxy to be set?"
}
