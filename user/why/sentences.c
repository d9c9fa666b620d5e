// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The sentences that depend on the numbers of a failure: EXPLAIN() in reasons.def. */
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "why/line.h"
#include "why/names.h"

void univ_explain_errno(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s", strerror(f->err));
	if (f->subject[0])
		univ_say(line, " (%s)", f->subject);
}

/* "IBV_QP_EX_WITH_FLUSH, 0x40000000" */
static void say_bits(struct univ_line *line, uint32_t word, uint64_t flags)
{
	const char *separator = "", *name;
	uint64_t unnamed = 0, bit;

	for (bit = 1; bit; bit <<= 1) {
		name = flags & bit ? univ_flag_name(word, bit) : NULL;
		if (name) {
			univ_say(line, "%s%s", separator, name);
			separator = ", ";
		} else {
			unnamed |= flags & bit;
		}
	}
	if (unnamed)
		univ_say(line, "%s0x%llx", separator, (ull)unnamed);
}

/* "IBV_QP_EX_WITH_FLUSH (send_ops_flags)" */
static void say_flags(struct univ_line *line, uint32_t word, uint64_t flags)
{
	const char *name = univ_flags_word(word);

	say_bits(line, word, flags);
	if (name)
		univ_say(line, " (%s)", name);
}

void univ_explain_flags(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "flags ");
	say_flags(line, f->detail, f->value & ~f->bound);
	univ_say(line, " are not supported");
	if (!f->bound)
		return;
	univ_say(line, "; supported are ");
	say_bits(line, f->detail, f->bound);
}

void univ_explain_flags_missing(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "add ");
	say_flags(line, f->detail, f->value);
}

/* "IBV_QP_PATH_MTU, IBV_QP_DEST_QPN" */
static void say_attributes(struct univ_line *line, uint64_t mask)
{
	const char *separator = "";
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		if (!(mask >> bit & 1))
			continue;
		univ_say(line, "%s%s", separator, univ_attribute_name(bit));
		separator = ", ";
	}
}

/* Only failures of ibv_modify_qp(3) have attributes. */
static void say_given(struct univ_line *line, const struct univ_failure *f)
{
	if (!f->bound)
		return;
	univ_say(line, "; given: ");
	say_attributes(line, f->bound);
}

void univ_explain_refused(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the device's driver refused: %s (see dmesg, and the device's limits in "
		 "ibv_devinfo -v)", strerror((int)f->value));
	say_given(line, f);
}

void univ_explain_unsupported(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the device does not offer this");
	say_given(line, f);
}

void univ_explain_permission(struct univ_line *line, const struct univ_failure *f)
{
	if (f->detail == UNIV_PERMISSION_NETNS) {
		univ_say(line, "the process is in another network namespace than the net device of the RDMA "
			 "device; run it there (ip netns exec)");
		return;
	}
	univ_say(line, "this needs the capability %s", univ_capability_name((uint32_t)f->value));
}

void univ_explain_gone(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the device was removed");
	if (f->subject[0])
		univ_say(line, " (%s)", f->subject);
}

void univ_explain_no_module(struct univ_line *line, const struct univ_failure *f)
{
	if (f->bound)
		univ_say(line, "the module univerbs speaks version %llu of the interface, this "
			 "library version %llu", (ull)f->value, (ull)f->bound);
	else
		univ_say(line, "the module univerbs is not loaded (modprobe univerbs)");
	if (f->subject[0])
		univ_say(line, "; device %s", f->subject);
}

void univ_explain_no_device(struct univ_line *line, const struct univ_failure *f)
{
	if (f->subject[0])
		univ_say(line, "there is no %s (is udev running?)", f->subject);
	else
		univ_say(line, "there is no RDMA device (rdma link)");
}

void univ_explain_node_permission(struct univ_line *line, const struct univ_failure *f)
{
	if (f->err == EPERM)
		univ_say(line, "%s may not be opened here: its device is in another network "
			 "namespace, or a device cgroup excludes the node", f->subject);
	else
		univ_say(line, "no permission on %s (add the user to the group of that node)",
			 f->subject);
}

void univ_explain_handle(struct univ_line *line, const struct univ_failure *f)
{
	if (f->value)
		univ_say(line, "there is no such %s (handle %llu)", univ_object_name(f->detail),
			 (ull)f->value);
	else
		univ_say(line, "no %s was given", univ_object_name(f->detail));
}

void univ_explain_handle_type(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "handle %llu is of another kind: %s instead of %s", (ull)f->value,
		 univ_object_name((uint32_t)f->bound), univ_object_name(f->detail));
}

void univ_explain_busy(struct univ_line *line, const struct univ_failure *f)
{
	const char *users = univ_object_users(f->detail);

	univ_say(line, "the %s is still in use", univ_object_name(f->detail));
	if (f->bound)
		univ_say(line, " by %llu %s", (ull)f->bound, f->bound == 1 ? "object" : "objects");
	if (users)
		univ_say(line, ": %s", users);
}

void univ_explain_domain(struct univ_line *line, const struct univ_failure *f)
{
	if (f->detail)
		univ_say(line, "the %s belongs to another protection domain",
			 univ_object_name(f->detail));
	else
		univ_say(line, "the buffer was allocated in another protection domain "
			 "(ibv_alloc_buf)");
}

void univ_explain_fd(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "file descriptor %llu is not a %s", (ull)f->value,
		 f->bound ? "context of a device (pass the cmd_fd of an ibv_context)" :
			    "completion channel of this context");
}

void univ_explain_xrcd_file(struct univ_line *line, const struct univ_failure *f)
{
	static const char *const why[] = {
		[UNIV_XRCD_FILE_CLOSED] = "is not open",
		[UNIV_XRCD_FILE_NONE] = "has no XRC domain, and O_CREAT was not given",
		[UNIV_XRCD_FILE_EXISTS] = "has an XRC domain, and O_EXCL was given",
	};

	if (f->detail < sizeof(why) / sizeof(why[0]))
		univ_say(line, "descriptor %llu %s", (ull)f->value, why[f->detail]);
}

void univ_explain_limit(struct univ_line *line, const struct univ_failure *f)
{
	switch (f->detail) {
	case UNIV_LIMIT_RINGS:
		univ_say(line, "%llu bytes of ring memory were requested, %llu are left (parameters "
			 "max_ring_mib and max_device_ring_mib of the module)", (ull)f->value,
			 (ull)f->bound);
		return;
	case UNIV_LIMIT_OBJECTS:
		univ_say(line, "the context has %llu objects and may have no more (parameter "
			 "max_objects of the module)", (ull)f->bound);
		return;
	case UNIV_LIMIT_POLLERS:
		univ_say(line, "%llu poller threads run already (parameter max_pollers of the "
			 "module), so posting makes system calls", (ull)f->bound);
		return;
	case UNIV_LIMIT_CONTEXTS:
		univ_say(line, "%s is open too many times (parameter max_contexts of the module), "
			 "or there are too many open files", f->subject);
		return;
	}
	univ_say(line, "%llu %s were requested, the limit is %llu", (ull)f->value,
		 univ_limit_name(f->detail), (ull)f->bound);
}

void univ_explain_cgroup(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the rdma cgroup allows no further %s (rdma.max)",
		 f->detail ? univ_object_name(f->detail) : "context");
}

void univ_explain_memory(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "there is no memory");
	if (f->value)
		univ_say(line, " for %llu bytes", (ull)f->value);
	univ_say(line, f->detail ? " in the process" : " in the kernel");
}

void univ_explain_access(struct univ_line *line, const struct univ_failure *f)
{
	const uint64_t writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	if ((f->value & writes) && !(f->value & IBV_ACCESS_LOCAL_WRITE)) {
		univ_say(line, "%s needs IBV_ACCESS_LOCAL_WRITE",
			 f->value & IBV_ACCESS_REMOTE_WRITE ?
			 "IBV_ACCESS_REMOTE_WRITE" : "IBV_ACCESS_REMOTE_ATOMIC");
		return;
	}
	if (f->bound & IBV_ACCESS_FLUSH_PERSISTENT) {
		univ_say(line, "IBV_ACCESS_FLUSH_PERSISTENT needs persistent memory, and a device that "
			 "flushes it (device_cap_flags_ex); ordinary memory has "
			 "IBV_ACCESS_FLUSH_GLOBAL alone");
		return;
	}
	if (f->err == EINVAL && f->value & IBV_ACCESS_ON_DEMAND && f->value & IBV_ACCESS_HUGETLB) {
		univ_say(line, "IBV_ACCESS_HUGETLB needs an address and a length; a region of all addresses "
			 "has pages of every size");
		return;
	}
	univ_say(line, "not all of these flags are offered by the device: ");
	say_flags(line, UNIV_FLAGS_ACCESS, f->value);
}

void univ_explain_address(struct univ_line *line, const struct univ_failure *f)
{
	if (f->err == EFAULT)
		univ_say(line, "not all of the %llu bytes at 0x%llx are mapped with that permission",
			 (ull)f->bound, (ull)f->value);
	else if (f->detail == UNIV_ADDRESS_NULL)
		univ_say(line, "no address was given for the %llu bytes", (ull)f->bound);
	else if (f->detail == UNIV_ADDRESS_OUTSIDE)
		univ_say(line, "not all of the %llu bytes at 0x%llx lie within the buffer",
			 (ull)f->bound, (ull)f->value);
	else
		univ_say(line, "iova 0x%llx and the memory's address differ in their low 12 bits; "
			 "both must have the same offset in their page", (ull)f->value);
}

void univ_explain_dmabuf(struct univ_line *line, const struct univ_failure *f)
{
	switch (f->detail) {
	case UNIV_DMABUF_RANGE:
		univ_say(line, "not all of the bytes from offset %llu on lie within the dma-buf, which "
			 "has %llu bytes", (ull)f->value, (ull)f->bound);
		return;
	case UNIV_DMABUF_MODE:
		univ_say(line, "descriptor %llu of the dma-buf is not open for the access that the flags "
			 "grant; export it for reading and writing (O_RDWR)", (ull)f->value);
		return;
	case UNIV_DMABUF_MEMORY:
		univ_say(line, "the device cannot use the memory of dma-buf %llu, or not with these access "
			 "flags: uroce needs memory that its exporter maps in the kernel, and not "
			 "memory of a device", (ull)f->value);
		return;
	}
	univ_say(line, f->err == EBADF ? "descriptor %d is not open" :
		 "descriptor %d is not a dma-buf", (int)f->value);
}

void univ_explain_dmah(struct univ_line *line, const struct univ_failure *f)
{
	switch (f->detail) {
	case UNIV_DMAH_FAULT_NO_PH:
		univ_say(line, "a DMA handle needs a processing hint (IBV_DMAH_INIT_ATTR_MASK_PH)");
		return;
	case UNIV_DMAH_FAULT_PH:
		univ_say(line, "ph is %llu, and PCI has the processing hints 0 to %llu", (ull)f->value,
			 (ull)f->bound);
		return;
	case UNIV_DMAH_FAULT_PARTIAL:
		univ_say(line, "comp_mask lacks %s, which belongs to %s",
			 f->value & UNIV_DMAH_CPU ? "IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE" :
						    "IBV_DMAH_INIT_ATTR_MASK_CPU_ID",
			 f->value & UNIV_DMAH_CPU ? "cpu_id" : "tph_mem_type");
		return;
	case UNIV_DMAH_FAULT_MEM_TYPE:
		univ_say(line, "there is no tph_mem_type %llu (IBV_TPH_MEM_TYPE_VM, "
			 "IBV_TPH_MEM_TYPE_PM)", (ull)f->value);
		return;
	case UNIV_DMAH_FAULT_AFFINITY:
		univ_say(line, "this thread may not run on processor %llu (sched_setaffinity, taskset, "
			 "cpuset)", (ull)f->value);
		return;
	case UNIV_DMAH_FAULT_ON_DEMAND:
		univ_say(line, "a region of on-demand paging (IBV_ACCESS_ON_DEMAND) cannot use a DMA handle");
		return;
	}
	univ_say(line, "there is no processor %llu; the host has at most %llu, counted from 0",
		 (ull)f->value, (ull)f->bound);
}

static void say_transition(struct univ_line *line, const struct univ_failure *f)
{
	uint32_t from = f->detail >> 8, to = f->detail & 0xff;

	univ_say(line, "%s -> %s", univ_state_name(from), univ_state_name(to));
	if (f->bound)
		univ_say(line, " of %s queue pair", univ_qp_type_name((uint32_t)f->bound));
}

void univ_explain_qp_state(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "there is no transition ");
	say_transition(line, f);
}

void univ_explain_attr_missing(struct univ_line *line, const struct univ_failure *f)
{
	say_transition(line, f);
	univ_say(line, " needs ");
	say_attributes(line, f->value);
}

void univ_explain_attr_surplus(struct univ_line *line, const struct univ_failure *f)
{
	say_transition(line, f);
	univ_say(line, " does not take ");
	say_attributes(line, f->value);
}

void univ_explain_attr_value(struct univ_line *line, const struct univ_failure *f)
{
	say_attributes(line, f->detail);
	if (f->detail == IBV_QP_PATH_MTU)
		univ_say(line, " must be one of IBV_MTU_256 to IBV_MTU_4096");
	else if (f->detail == IBV_QP_AV)
		univ_say(line, ": ah_attr.port_num is %llu, it must be the queue pair's port, %llu",
			 (ull)f->value, (ull)f->bound);
	else if (f->err == ETIME)	/* a warning */
		univ_say(line, " is %llu, which no queue pair can have; %llu is used instead",
			 (ull)f->value, (ull)f->bound);
	else
		univ_say(line, " is %llu, the highest allowed is %llu", (ull)f->value,
			 (ull)f->bound);
}

void univ_explain_cur_state(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "IBV_QP_CUR_STATE says %s, but the queue pair is in state %s",
		 univ_state_name((uint32_t)f->value), univ_state_name((uint32_t)f->bound));
}

void univ_explain_qp_size(struct univ_line *line, const struct univ_failure *f)
{
	ull value = (ull)f->value, bound = (ull)f->bound;

	switch (f->detail) {
	case UNIV_QP_SIZE_ALONE:
		univ_say(line, "IBV_QP_CAP changes the size of a queue pair and nothing else; change these "
			 "attributes in another call: ");
		say_attributes(line, (uint32_t)f->value);
		break;
	case UNIV_QP_SIZE_STATE:
		univ_say(line, "the size of a queue pair does not change in state %s",
			 univ_state_name((uint32_t)f->value));
		break;
	case UNIV_QP_SIZE_SGE:
		univ_say(line, "only max_send_wr and max_recv_wr of a queue pair change; %llu entries or inline "
			 "bytes of a request are more than the %llu that it has", value, bound);
		break;
	case UNIV_QP_SIZE_SEND_SHRINK:
	case UNIV_QP_SIZE_RECV_SHRINK:
		univ_say(line, "%llu %s requests are posted, which do not fit into a queue for %llu", bound,
			 f->detail == UNIV_QP_SIZE_SEND_SHRINK ? "send" : "receive", value);
		break;
	case UNIV_QP_SIZE_BUSY:
		univ_say(line, "send requests are being executed; wait for their completions, or drain the send "
			 "queue (IBV_QPS_SQD) first");
		break;
	default:
		univ_say(line, "the size of a queue pair does not change on this device (IBV_QP_CAP); create "
			 "another one");
	}
}

void univ_explain_path_mig(struct univ_line *line, const struct univ_failure *f)
{
	switch (f->detail) {
	case UNIV_PATH_MIG_NO_PATH:
		univ_say(line, "no alternate path is loaded; set IBV_QP_ALT_PATH, also after each migration, "
			 "which makes the alternate path the primary one");
		break;
	case UNIV_PATH_MIG_NOT_ARMED:
		univ_say(line, "the queue pair cannot migrate before it is in state ARMED, which the next "
			 "packet from a rearmed peer causes");
		break;
	default:
		univ_say(line, "the queue pair is in state ARMED and may migrate at any time; load another "
			 "alternate path together with path_mig_state IBV_MIG_REARM");
	}
}

void univ_explain_cntr_state(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "a completion counter is attached in state RESET or INIT, and the queue pair "
		 "is in state %s", univ_state_name((uint32_t)f->value));
}

void univ_explain_cntr_taken(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the queue pair has a completion counter already for ");
	say_bits(line, UNIV_FLAGS_CNTR_OPS, f->value);
}

void univ_explain_gid_index(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "there is no GID at index %llu", (ull)f->value);
	if (f->bound && f->value >= f->bound)
		univ_say(line, "; the port's table ends at %llu", (ull)f->bound - 1);
	else
		univ_say(line, " now (the table: /sys/class/infiniband/*/ports/*/gids)");
}

void univ_explain_not_offered(struct univ_line *line, const struct univ_failure *f)
{
	static const char *const why[] = {
		[UNIV_LACK_ANY] = "univerbs does not offer this",
		[UNIV_LACK_TAGS] = "univerbs does not offer tag matching, which devices do and the "
			"kernel's verbs do not pass on",
		[UNIV_LACK_ECE] = "univerbs does not offer enhanced connection establishment, by which "
			"devices of one vendor agree on options of their own",
		[UNIV_LACK_IPSEC] = "univerbs does not offer flow actions, which need a device that "
			"does IPsec",
		[UNIV_LACK_DMABUF] = "the buffer is ordinary memory; a dma-buf has at most 4 MiB, and "
			"is allocated over uroce in a parent domain with "
			"IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC",
	};

	univ_say(line, "%s", why[f->detail < UNIV_COUNT(why) ? f->detail : UNIV_LACK_ANY]);
}

void univ_explain_wr_batch(struct univ_line *line, const struct univ_failure *f)
{
	const char *opcode = univ_opcode_name((uint32_t)f->value);

	univ_say(line, "%s is posted by %s alone, on a queue pair created with IBV_QP_EX_WITH_%s",
		 opcode, f->value == IBV_WR_FLUSH ? "ibv_wr_flush" : "ibv_wr_atomic_write",
		 opcode + sizeof("IBV_WR_") - 1);
}

void univ_explain_wr_inline(struct univ_line *line, const struct univ_failure *f)
{
	if (f->value)
		univ_say(line, "%llu bytes inline, but the queue pair was created with a "
			 "max_inline_data of %llu", (ull)f->value, (ull)f->bound);
	else
		univ_say(line, "IBV_SEND_INLINE is for data that is sent, but not for data that is read, "
			 "and not for data that is segmented (IBV_WR_TSO)");
}

void univ_explain_full(struct univ_line *line, const struct univ_failure *f)
{
	if (f->detail == UNIV_LIMIT_CQE && !f->bound) {
		univ_say(line, "completions are lost, because ibv_resize_cq could not map the queue's new "
			 "ring: destroy the queue");
		return;
	}
	if (f->detail == UNIV_LIMIT_CQE) {
		univ_say(line, "the completion queue has overrun: all of its %llu entries were used and "
			 "a completion was lost", (ull)f->bound);
		if (f->value > f->bound)
			univ_say(line, "; its queue pairs may have %llu requests outstanding, so "
				 "create it with as many entries", (ull)f->value);
		return;
	}
	univ_say(line, "the queue is full: %llu requests of %llu have not completed",
		 (ull)f->value, (ull)f->bound);
	if (f->detail == UNIV_LIMIT_SEND_WR)
		univ_say(line, "; poll the completion queue, and signal one request in %llu "
			 "at least (IBV_SEND_SIGNALED)", (ull)f->bound);
}

void univ_explain_post_state(struct univ_line *line, const struct univ_failure *f)
{
	if (f->detail == UNIV_POST_NO_QUEUE) {
		univ_say(line, f->bound ?
			 "the queue pair uses a shared receive queue (ibv_post_srq_recv)" :
			 "the queue pair was created without a receive queue (max_recv_wr)");
		return;
	}
	if (f->detail == UNIV_POST_WQ) {
		univ_say(line, "the work queue is in state RESET; receive requests are taken from RDY "
			 "on (ibv_modify_wq)");
		return;
	}
	univ_say(line, "the queue pair is in state %s; %s (ibv_modify_qp)",
		 univ_state_name((uint32_t)f->value),
		 f->detail == UNIV_POST_RECV ?
		 "receive requests are taken from INIT on" : "send requests are taken from RTS on");
}

void univ_explain_unacknowledged(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "waits until %llu %s of the %s that the program has read %s acknowledged "
		 "(%s)",
		 (ull)f->value, f->value == 1 ? "event" : "events", univ_object_name(f->detail),
		 f->value == 1 ? "is" : "are",
		 f->detail == UNIV_OBJECT_CQ ? "ibv_ack_cq_events, ibv_ack_async_event" :
					       "ibv_ack_async_event");
}

void univ_explain_left_objects(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%llu %s of the context %s not destroyed before it; the kernel destroys "
		 "what is left, and the library's memory is leaked", (ull)f->value,
		 f->value == 1 ? "object" : "objects", f->value == 1 ? "was" : "were");
}
