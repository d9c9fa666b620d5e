# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests/check: one line that says how far the stages are that run, and how long the rest takes if it takes as long as the
# last time that it passed on this machine. On a terminal the line stays the last one; elsewhere there is one a minute.
# Nothing here decides a result.

progress_times=${UNIV_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/univerbs}/times
progress_now=$UNIV_LOGS/progress.$$
progress_pid=''

# progress_began NAME: the stage runs from now on
progress_began() { echo "$EPOCHSECONDS" >"$progress_now/$1.began"; } 2>/dev/null

# progress_ended NAME PASSED RESULTS: it has ended; how long it took is remembered if PASSED is yes and all of it ran
progress_ended() {
	local began=''
	read -r began <"$progress_now/$1.began"
	: >"$progress_now/$1.ended"
	[ "$2" != yes ] || [ -n "${UNIV_QUICK:-}" ] || [ -z "$began" ] ||
		echo "$((EPOCHSECONDS - began)) $3" >"$progress_times/$1"
} 2>/dev/null

# progress_of NAME: sets $left, the seconds that the stage has to go, and $far, how far it is if it runs; $more if it has never
# passed here
progress_of() {
	local name=$1 began=$EPOCHSECONDS took=0 all='?' results
	left=0 far=''
	[ ! -e "$progress_now/$name.ended" ] || return 0
	{ read -r took all <"$progress_times/$name"; } 2>/dev/null || more='more than '
	left=$took
	[ -e "$progress_now/$name.began" ] || return 0
	{ read -r began <"$progress_now/$name.began"; } 2>/dev/null
	left=$((began + took - EPOCHSECONDS))
	[ "$left" -gt 0 ] || left=0
	results=$(grep -cE '^(not )?ok ' "$UNIV_LOGS/$name.log" 2>/dev/null)
	far=" $name ${results:-0} of $all"
}

# progress_line LANES NAME...: prints the line; names of stages that run side by side begin with a +
progress_line() {
	local lanes=$1 name left far more='' sum=0 beside=0 running=''
	shift
	for name; do
		progress_of "${name#+}"
		running+=$far
		if [ "$name" = "${name#+}" ]; then
			sum=$((sum + left))
		else
			beside=$((beside + left))
		fi
	done
	sum=$(((sum + beside / lanes + 59) / 60))
	[ $sum -gt 0 ] || [ -z "$more" ] || { printf '== how long it takes is not known yet:%s' "$running"; return; }
	printf '== %s%s min left:%s' "$more" $sum "$running"
}

# progress_start LANES NAME...: prints the line again and again until progress_stop, or until this process is gone
progress_start() {
	local line each=60
	mkdir -p "$progress_now" "$progress_times" || return
	[ ! -t 1 ] || each=2
	(
		# A reader of ours is not to wait for the sleep when all else is over
		while sleep $each >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
			line=$(progress_line "$@")
			if [ -t 1 ]; then printf '\r\e[K%s\r' "$line"; else printf '%s\n' "$line"; fi
		done
	) &
	progress_pid=$!
	disown "$progress_pid"
}

progress_stop() {
	[ -n "$progress_pid" ] || return
	kill "$progress_pid" 2>/dev/null
	[ ! -t 1 ] || printf '\r\e[K'
	rm -rf "$progress_now"
}

# progress_clear: a filter, with which lines take the place of the progress line
progress_clear() { if [ -t 1 ]; then sed -u $'s/^/\r\e[K/'; else cat; fi; }
