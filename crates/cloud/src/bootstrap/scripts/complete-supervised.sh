
id=$(/bin/sh "$provider_id") || fail "this instance does not know its provider id, see the line above"
umask 077
mkdir -p "${drop_in%/*}"
printf 'kubelet-arg+:\n- "provider-id=%s"\n' "$id" >"$drop_in"
