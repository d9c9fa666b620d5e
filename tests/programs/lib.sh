# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Runs pairs of third-party programs, server and client, over one stack or the other.
#
# Settings, all in the environment:
#   STACK   stock or univerbs
#   SERVER  SERVER6  CLIENT  addresses of the two sides, the same one in a guest that plays both
#   REMOTE  not empty: servers run in the guest at $SERVER, started through its agent
#   DEVICE  the RDMA device, the same name on both sides

# shellcheck source=../vm/lib.sh
. "$UNIV_REPO/tests/vm/lib.sh"

: "${STACK:=univerbs}" "${DEVICE:=rxe0}" "${REMOTE:=}" "${AGENT_PORT:=7000}"
: "${SERVER:=10.77.0.1}" "${SERVER6:=fd77:0::1}" "${CLIENT:=$SERVER}"
export STACK DEVICE REMOTE AGENT_PORT SERVER SERVER6 CLIENT
pairs_dir=$UNIV_STATE/pairs
mkdir -p "$pairs_dir"

# setup_stack: sets up the requirements of STACK in a guest of its own.
setup_stack() {
	modprobe -a rdma_ucm ib_uverbs || return
	# Multicast needs a route.
	ip route replace 239.0.0.0/8 dev "$(netdev_of "$DEVICE")" || return
	[ "$STACK" = stock ] || load_univerbs
}

run_programs() {
	local script
	for script in devices pingpong carry perftest rdmacm suites; do
		# shellcheck disable=SC1090
		. "$UNIV_REPO/tests/programs/$script.sh"
	done
}

# ---- is a server ready, and on the right stack? --------------------------------------------------------------------

cm_listens() { rdma resource show cm_id | grep -q "state LISTEN .*:$1\\>"; }
has_said() { grep -q -- "$1" "$server_out"; }

# server_ready HOW WHAT: true when the server is ready, or when it has ended.
server_ready() {
	group_leader_gone "$server_pid" && return 0
	case $1 in
	tcp) tcp_listens "$2" ;;
	cm) cm_listens "$2" ;;
	says) has_said "$2" ;;
	esac
}

# A program that fell back to the system's library would pass every test of univerbs.
right_library() {
	local maps ours=no
	maps=$(<"/proc/$1/maps")
	[[ $maps != *"$UNIV_LIBDIR/libibverbs.so.1"* ]] || ours=yes
	case $STACK:$ours in
	stock:no|univerbs:yes) return 0 ;;
	esac
	echo "server $1 does not run over $STACK"
	return 1
}

# ---- the server's side ---------------------------------------------------------------------------------------------

# local_serve HOW WHAT COMMAND...: starts the server and waits until it is ready.
local_serve() {
	local how=$1 what=$2
	shift 2
	server_out=$pairs_dir/server.out
	on_stack "$STACK" exec_server "$@" >"$server_out" 2>&1 &
	server_pid=$!
	wait_until 60 server_ready "$how" "$what" || { echo "server is not ready"; cat "$server_out"; return 1; }
	if group_leader_gone "$server_pid"; then
		echo "the server ended at once"
		cat "$server_out"
		return 1
	fi
	right_library "$server_pid"
}

# The process that runs the server is the process that local_served waits for.
exec_server() { exec stdbuf -oL "$@"; }

# local_served [kill]: waits for the server; kill: its client has failed, so the server may wait for ever and is killed.
local_served() {
	local status
	[ "${1:-}" != kill ] || kill -KILL "$server_pid" 2>/dev/null
	if ! WAIT_STEP=0.1 wait_until 30 group_leader_gone "$server_pid"; then
		echo "the server does not end"
		kill -KILL "$server_pid"
	fi
	wait "$server_pid" 2>/dev/null
	status=$?
	[ $status -eq 0 ] || echo "server: exit status $status"
	return $status
}

# ---- the same through another guest's agent ------------------------------------------------------------------------

# The agent answers "ready" or "failed", and after "end" or "kill" with the server's output and "status N".
remote_serve() {
	local how=$1 what=$2 answer
	shift 2
	server_out=$pairs_dir/server.out
	exec {agent}<>"/dev/tcp/$SERVER/$AGENT_PORT" || return
	printf '%s %s %s\n' "$STACK" "$how" "$what" >&"$agent"
	printf '%q ' "$@" >&"$agent"
	echo >&"$agent"
	read -r answer <&"$agent"
	[ "$answer" = ready ] || { echo "remote server: $answer"; cat <&"$agent"; return 1; }
}

remote_served() {
	local status
	echo "${1:-end}" >&"$agent"
	cat <&"$agent" >"$server_out"
	exec {agent}>&-
	status=$(sed -n 's/^status //p' "$server_out")
	[ "$status" = 0 ] || { echo "server: exit status ${status:-unknown}"; return 1; }
}

serve() { if [ -n "$REMOTE" ]; then remote_serve "$@"; else local_serve "$@"; fi; }
served() { if [ -n "$REMOTE" ]; then remote_served "$@"; else local_served "$@"; fi; }

# ---- a pair --------------------------------------------------------------------------------------------------------

# A client may wait for ever for a server that has ended.
client_over() {
	group_leader_gone "$client_pid" && return
	[ -z "$REMOTE" ] && group_leader_gone "$server_pid" || return
	: "${server_gone_at:=$SECONDS}"
	[ $((SECONDS - server_gone_at)) -ge $((15 * ${UNIV_SLOW:-1})) ]
}

# run_client COMMAND...: returns the client's status; 124 if it had to be stopped.
run_client() {
	local status=0 ended server_gone_at=''
	on_stack "$STACK" exec_client "$@" >"$client_out" 2>&1 &
	client_pid=$!
	WAIT_STEP=0.1 wait_until "${pair_limit:-40}" client_over
	if ! group_leader_gone "$client_pid"; then
		status=124
		kill -KILL "$client_pid"
	fi
	wait "$client_pid" 2>/dev/null
	ended=$?
	[ $status -ne 0 ] || status=$ended
	return $status
}

exec_client() { exec "$@"; }

# pair HOW WHAT SERVER COMMAND... -- CLIENT COMMAND...: both must succeed. HOW and WHAT tell when the server is ready:
# tcp PORT, cm PORT, says TEXT. The outputs are left in $server_out and $client_out.
pair() {
	local how=$1 what=$2 server=() client_status=0 server_status=0
	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	client_out=$pairs_dir/client.out
	serve "$how" "$what" "${server[@]}" || return
	run_client "$@" || client_status=$?
	if [ $client_status -eq 0 ]; then
		served
	else
		echo "client: exit status $client_status"
		served kill
	fi || server_status=$?
	[ $client_status -ne 0 ] || [ $server_status -ne 0 ] || return 0
	show_pair
	return 1
}

show_pair() {
	echo "server said:"
	tail -n 25 "$server_out"
	echo "client said:"
	tail -n 25 "$client_out"
}

# expect REGEX FILE...: each file has a line that matches.
expect() {
	local regex=$1 file
	shift
	for file; do
		grep -Eq -- "$regex" "$file" && continue
		echo "no line like '$regex' in ${file##*/}"
		show_pair
		return 1
	done
}

# unpack_rdma_core ROOT DIR: copies rdma-core's tests into DIR. Debian ships them as documentation, most of them compressed.
unpack_rdma_core() {
	local from=${1%/}/usr/share/doc/rdma-core/tests to=$2/tests
	[ -d "$from" ] && [ -e "${1%/}/usr/lib/python3/dist-packages/pyverbs" ] || skip "rdma-core or python3-pyverbs is not installed"
	[ ! -d "$to" ] || return 0
	mkdir -p "$to" && cp "$from"/* "$to" && gzip -d "$to"/*.gz
}

# next_port: sets $port to a port that no test in this guest has used.
# shellcheck disable=SC2034
next_port() {
	count port
	port=$((20000 + counted))
}

# wants_case NAME: true if ONLY=regex, if set, matches the name.
wants_case() { [ -z "${ONLY:-}" ] || [[ $1 =~ $ONLY ]]; }

# Two guests are three times slower than one and add only the network between them, so they leave some cases out.
in_one_guest() { [ -z "$REMOTE" ]; }

# Only uroce offers XRC, so both sides have to be uroce.
offers_xrc() { [ "$STACK" = univerbs ] && [ "$UNIV_LINK" = uroce ] && [ "${SERVER_LINK:-uroce}" = uroce ]; }

# try NAME SECONDS COMMAND...: calls run_test with the stack in the name.
try() {
	local name=$1 limit=$2 again_as=
	shift 2
	wants_case "$name" || return 0
	# shellcheck disable=SC2034 # read by again
	[ -n "$REMOTE" ] || again_as=$name
	# The pair must end before the test does, so that the output of both sides can be shown.
	pair_limit=$((limit - 8))
	run_test "$STACK${REMOTE:+ two guests}${LINKS:-}: $name" "$limit" "$@"
}
