// SPDX-License-Identifier: GPL-2.0
/* Copies of a packet's payload into memory that is held. */
#include <linux/skbuff.h>

#include "../net/net.h"
#include "mem.h"

/* The general case: the payload may be linear, in fragments or in a list. */
static void put_pieces(const struct uroce_packet *pkt,
		       const struct uroce_vec *vec, u32 offset)
{
	struct skb_seq_state state;
	u32 done = 0, run;
	const u8 *data;

	skb_prepare_seq_read(pkt->skb, pkt->payload, pkt->payload + pkt->len,
			     &state);
	while (done < pkt->len && (run = skb_seq_read(done, &data, &state))) {
		/*
		 * A run ends at the end of a memory area, not at the end of the
		 * payload.
		 */
		run = min(run, pkt->len - done);
		uroce_vec_write(vec, offset + done, data, run);
		done += run;
	}
	skb_abort_seq_read(&state);
}

/*
 * The whole payload lies in fragments and begins at byte @at of them. Every
 * page has a kernel address.
 */
static void put_frags(const struct uroce_packet *pkt,
		      const struct uroce_vec *vec, u32 offset, u32 at)
{
	const skb_frag_t *frag = skb_shinfo(pkt->skb)->frags;
	u32 left = pkt->len, run;

	for (; left; frag++) {
		if (at >= skb_frag_size(frag)) {
			at -= skb_frag_size(frag);
			continue;
		}
		run = min(skb_frag_size(frag) - at, left);
		uroce_vec_write(vec, offset, skb_frag_address(frag) + at, run);
		offset += run;
		left -= run;
		at = 0;
	}
}

/* Copies a packet's payload, however it is divided, to mapped memory. */
void uroce_packet_put(const struct uroce_packet *pkt,
		      const struct uroce_vec *vec, u32 offset)
{
	unsigned int linear = skb_headlen(pkt->skb);

	if (!pkt->len)
		return;
	if (pkt->payload + pkt->len <= linear)
		uroce_vec_write(vec, offset, pkt->skb->data + pkt->payload,
				pkt->len);
	else if (pkt->payload >= linear && !skb_has_frag_list(pkt->skb))
		put_frags(pkt, vec, offset, pkt->payload - linear);
	else
		put_pieces(pkt, vec, offset);
}
