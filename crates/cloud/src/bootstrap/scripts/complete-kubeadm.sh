
id=$(/bin/sh "$provider_id") || fail "this instance does not know its provider id, see the line above"
sed -i "s|@JOINER_PROVIDER_ID@|$id|" "$config"
