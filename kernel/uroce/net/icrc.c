// SPDX-License-Identifier: GPL-2.0
/* See icrc.h. */
#include <crypto/hash.h>
#include <linux/crc32.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

#include "fold.h"
#include "icrc.h"
#include "net.h"
#include "wire.h"

/* The length of the pseudo header of ones. */
#define SEED_LEN 8

/* Below this length the crypto API costs more than it saves. */
#define LONG_RUN 256

/*
 * The fastest CRC-32 of this machine; NULL if only the library function exists.
 */
static struct crypto_shash *fast;

/*
 * Linux has such code since 6.15; the function that is probed came in 6.14.
 * KMSAN does not see what assembly code writes.
 */
#if defined(CONFIG_X86_64) && !defined(CONFIG_KMSAN) && \
	!defined(UNIV_HAS_CRC32_ARCH)
#define ICRC_FOLDS
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>

static DEFINE_STATIC_KEY_FALSE(folds);

static void fold_init(void)
{
	if (boot_cpu_has(X86_FEATURE_AVX2) &&
	    boot_cpu_has(X86_FEATURE_VPCLMULQDQ) &&
	    cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL))
		static_branch_enable(&folds);
}

static bool may_fold(void)
{
	return static_branch_unlikely(&folds) && irq_fpu_usable();
}

static u32 add_folded(u32 crc, const u8 *data, size_t len)
{
	size_t whole = round_down(len, UROCE_FOLD_UNIT);
	u8 rest[UROCE_FOLD_REST];

	BUILD_BUG_ON(LONG_RUN < UROCE_FOLD_MIN + UROCE_FOLD_UNIT);
	kernel_fpu_begin();
	uroce_fold(rest, crc, data, whole);
	kernel_fpu_end();
	crc = crc32_le(0, rest, sizeof(rest));
	return crc32_le(crc, data + whole, len - whole);
}
#else
static void fold_init(void)
{
}

static bool may_fold(void)
{
	return false;
}

static u32 add_folded(u32 crc, const u8 *data, size_t len)
{
	return crc;
}
#endif

void uroce_icrc_exit(void)
{
	if (fast)
		crypto_free_shash(fast);
	fast = NULL;
}

int uroce_icrc_init(void)
{
	fold_init();
	fast = crypto_alloc_shash("crc32", 0, 0);
	if (IS_ERR(fast))
		fast = NULL;
	if (fast && crypto_shash_descsize(fast) != sizeof(u32))
		uroce_icrc_exit();
	return 0;
}

/*
 * SHASH_DESC_ON_STACK() has room for the state of any hash. A kernel that
 * clears variables on the stack would clear all of it for each packet.
 */
static u32 add_long(u32 crc, const void *data, size_t len)
{
	char room[sizeof(struct shash_desc) + sizeof(u32)]
		__aligned(__alignof__(struct shash_desc));
	struct shash_desc *desc = (struct shash_desc *)room;

	/* The descriptor's state is the remainder in native byte order. */
	desc->tfm = fast;
	*(u32 *)shash_desc_ctx(desc) = crc;
	if (crypto_shash_update(desc, data, len))
		return crc32_le(crc, data, len);
	return *(u32 *)shash_desc_ctx(desc);
}

u32 uroce_icrc_add(u32 crc, const void *data, size_t len)
{
	if (len < LONG_RUN)
		return crc32_le(crc, data, len);
	if (may_fold())
		return add_folded(crc, data, len);
	return fast ? add_long(crc, data, len) : crc32_le(crc, data, len);
}

u32 uroce_icrc_add_skb(u32 crc, const struct sk_buff *skb, unsigned int offset,
		       unsigned int len)
{
	struct skb_seq_state state;
	const u8 *data;
	unsigned int done = 0, run;

	if (offset + len <= skb_headlen(skb))
		return uroce_icrc_add(crc, skb->data + offset, len);
	skb_prepare_seq_read((struct sk_buff *)skb, offset, offset + len,
			     &state);
	while (done < len && (run = skb_seq_read(done, &data, &state))) {
		/*
		 * skb_seq_read() returns the rest of a fragment, which may
		 * extend beyond the range.
		 */
		run = min(run, len - done);
		crc = uroce_icrc_add(crc, data, run);
		done += run;
	}
	skb_abort_seq_read(&state);
	return crc;
}

static u32 seeded(const void *headers, size_t len)
{
	/* crc32_le(~0, ones, 8): eight bytes of ones, computed once. */
	static const u32 seed = 0xdebb20e3;

	return crc32_le(seed, headers, len);
}

static void mask_transport(struct udphdr *udp, struct uroce_bth *bth)
{
	udp->check = CSUM_MANGLED_0;
	bth->qpn |= cpu_to_be32(UROCE_BTH_RESV8A);
}

u32 uroce_icrc_ipv4(const struct iphdr *ip, const struct udphdr *udp,
		    const struct uroce_bth *bth)
{
	struct {
		struct iphdr ip;
		struct udphdr udp;
		struct uroce_bth bth;
	} __packed __aligned(4) h = { *ip, *udp, *bth };

	h.ip.tos = 0xff;
	h.ip.ttl = 0xff;
	h.ip.check = CSUM_MANGLED_0;
	mask_transport(&h.udp, &h.bth);
	return seeded(&h, sizeof(h));
}

u32 uroce_icrc_ipv6(const struct ipv6hdr *ip, const struct udphdr *udp,
		    const struct uroce_bth *bth)
{
	struct {
		struct ipv6hdr ip;
		struct udphdr udp;
		struct uroce_bth bth;
	} __packed __aligned(4) h = { *ip, *udp, *bth };

	*(__be32 *)&h.ip |= htonl(0x0fffffff);
	h.ip.hop_limit = 0xff;
	mask_transport(&h.udp, &h.bth);
	return seeded(&h, sizeof(h));
}

__le32 uroce_net_fcs(const void *head, u32 head_len, const struct sk_buff *skb,
		     u32 offset, u32 len)
{
	u32 crc = uroce_icrc_add(~0, head, head_len);

	return uroce_icrc_end(uroce_icrc_add_skb(crc, skb, offset, len));
}
