# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A program of ours (tests/user/tools/carry.c) carries messages in both directions and checks each byte, polled and sleeping.

# shellcheck source=lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

# carry TRANSPORT KIND
carry() {
	local command
	next_port
	command=(env UNIV_TEST_DEVICE="$DEVICE" UNIV_SLOW="${UNIV_SLOW:-1}" "$UNIV_REPO/build/tests/carry" "$port" "$@")
	pair tcp "$port" "${command[@]}" -- "${command[@]}" "$SERVER" || return
	expect "^carry $1 $2: 192 messages, 0 failed checks" "$client_out" "$server_out"
}

kinds=("RC send" "RC write" "RC read" "RC atomic" "UC send" "UC write" "UD send")
! offers_xrc || kinds+=("XRC send" "XRC write" "XRC read" "XRC atomic")
for what in "${kinds[@]}"; do
	# shellcheck disable=SC2086 # two words
	try "carry $what" 60 carry $what
done
