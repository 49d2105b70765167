
mark=/var/lib/joiner/joined
if [ -e "$mark" ]; then
  exit 0
fi

say() { echo "joiner: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

# Runs a command until it succeeds, ten times at most, 15 seconds apart.
ten_times() {
  attempt=1
  until "$@"; do
    if [ "$attempt" -ge 10 ]; then
      return 1
    fi
    say "try $attempt of 10 did not succeed ($1), the next one is in 15 seconds"
    attempt=$((attempt + 1))
    sleep 15
  done
}
