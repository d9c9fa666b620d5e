#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each function that a row of Documentation/ordering.rst names contains a release, an acquire or a fence, as the row says, or
# calls a function that does so: one that the document names in a header, or one of HELPERS.

set -u
cd "$(dirname "$0")/../.." || exit 1
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/mutants exec python3 - <<'END'
import re
from mutation import function_body

ORDER = {
    "release": r"\b(smp_store_release|univ_store_release|xa_store|atomic\w*_release)\(|\b__ATOMIC_(RELEASE|ACQ_REL)\b",
    "acquire": r"\b(smp_load_acquire|univ_load_acquire|xa_load)\(|\b__ATOMIC_(ACQUIRE|ACQ_REL)\b",
    "fence": r"\b(smp_mb|smp_store_mb|__sync_synchronize)\(|\b__ATOMIC_SEQ_CST\b|\b__asm__ __volatile__\b",
    "barrier": r"\b(barrier|univ_plain_loads_done)\(",
}
ROWS = dict(release="release", acquire="acquire", process="fence", kernel="fence", newcomer="fence", holder="fence")
NO_FENCE = ("unknown_wait", "univ_ring_set_flags")  # Rows of fences name these for a store or a load.
HELPERS = """user/base/barrier.h: univ_fence_before_recheck(), user/base/lock.h: univ_trylock(), user/base/lock.c: state_change(),
user/base/lock.h: univ_unlock_quiet(), user/ring/shared.h: univ_ring_publish_at(), kernel/core/queue/queues.h: univ_cq_notify(),
kernel/core/pump/comp.c: comp_send_retire(), kernel/core/queue/complete.c: write_all()"""
# Orderings outside of the tables, and functions with several of them
TEXT = """
kernel/core/pump/feed.c: univ_feed_run release fence fence fence, univ_feed_turn fence fence
kernel/core/pump/recv.c: univ_recv_queue_reset acquire release release
kernel/core/pump/send.c: univ_send_queue_reset acquire release, send_watch acquire fence
kernel/core/queue/complete.c: univ_queue_complete_all release fence
kernel/core/queue/native.c: queue_look acquire fence
kernel/include/queue.h: univ_queue_count release release
kernel/include/ring.h: univ_ring_fetch barrier, univ_ring_set_flags release
kernel/uroce/engine/post.c: ring_full acquire, ring_publish release, uroce_post_recv fence, uroce_post_srq_recv fence
kernel/uroce/engine/runner.c: send_step acquire, send_turn fence, send_run release fence, send_piece fence, send_work fence
kernel/uroce/qp/recv.c: recv_load acquire release release
kernel/uroce/qp/send.h: uroce_send_retire release
kernel/uroce/qp/state.c: uroce_queue_reset acquire acquire release release release
user/base/barrier.h: univ_load_acquire_64 acquire acquire acquire acquire, univ_plain_loads_done acquire fence
user/base/barrier.h: univ_fence_before_recheck fence, univ_mmio_store_after_memory fence fence fence fence fence fence fence fence
user/ring/poll.c: univ_poll_cq acquire barrier, poll_broken barrier
"""
text = open("Documentation/ordering.rst", encoding="utf-8").read()
places = re.compile(r"((?:kernel|user)/[\w./-]+\.[ch]): (\w+)\(\)").findall
helpers = {at for at in places(" ".join(text.split())) if at[0].endswith(".h")} | set(places(HELPERS))

def count(path, function, kind):
    source = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
    code = source[slice(*(function_body(source, function) or (0, 0)))]
    called = [at for at in helpers if at[1] != function for _ in re.findall(r"\b%s\(" % at[1], code)]
    return len(re.findall(ORDER[kind], code)) + sum(count(*at, kind) > 0 for at in called)

wanted = [(path, words.split()[0], kind, words.split().count(kind)) for path, functions in re.findall(r"^(\S+): (.*)", TEXT, re.M)
          for words in functions.split(", ") for kind in set(words.split()[1:])]
wanted += [(*at, ROWS[label], 1) for label, row in re.findall(r"^(%s) {3,}(.*(?:\n {8,}\S.*)*)" % "|".join(ROWS), text, re.M)
           for at in places(" ".join(row.split())) if ROWS[label] != "fence" or at[1] not in NO_FENCE]
wrong = ["%s: %s() lacks an ordering: %s" % (path, name, kind) for path, name, kind, n in wanted if count(path, name, kind) < n]
print("\n".join(wrong + ["%d orderings checked" % len(wanted)]))
raise SystemExit(bool(wrong) or len(wanted) < 60)
END
