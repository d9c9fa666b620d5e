/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The layout of the structs of memory regions, memory windows and device
 * memory; see layout.h.
 */
#ifndef UNIV_CHECK_MEMORY_LAYOUT_H
#define UNIV_CHECK_MEMORY_LAYOUT_H

#include "asserts.h"
#include "univerbs.h"

SIZE(univ_mr_reg, 88);
AT(univ_mr_reg, hdr, 0);
AT(univ_mr_reg, pd, 32);
AT(univ_mr_reg, access, 36);
AT(univ_mr_reg, addr, 40);
AT(univ_mr_reg, length, 48);
AT(univ_mr_reg, iova, 56);
AT(univ_mr_reg, handle, 64);
AT(univ_mr_reg, lkey, 68);
AT(univ_mr_reg, rkey, 72);
AT(univ_mr_reg, reserved, 76);
AT(univ_mr_reg, dmah, 80);
AT(univ_mr_reg, reserved2, 84);

SIZE(univ_dmah_alloc, 56);
AT(univ_dmah_alloc, hdr, 0);
AT(univ_dmah_alloc, fields, 32);
AT(univ_dmah_alloc, cpu, 36);
AT(univ_dmah_alloc, ph, 40);
AT(univ_dmah_alloc, mem_type, 44);
AT(univ_dmah_alloc, handle, 48);
AT(univ_dmah_alloc, reserved, 52);

SIZE(univ_mw_alloc, 48);
AT(univ_mw_alloc, hdr, 0);
AT(univ_mw_alloc, pd, 32);
AT(univ_mw_alloc, type, 36);
AT(univ_mw_alloc, handle, 40);
AT(univ_mw_alloc, rkey, 44);

SIZE(univ_mr_query, 80);
AT(univ_mr_query, hdr, 0);
AT(univ_mr_query, handle, 32);
AT(univ_mr_query, domain, 36);
AT(univ_mr_query, kind, 40);
AT(univ_mr_query, access, 44);
AT(univ_mr_query, lkey, 48);
AT(univ_mr_query, rkey, 52);
AT(univ_mr_query, addr, 56);
AT(univ_mr_query, length, 64);
AT(univ_mr_query, iova, 72);

SIZE(univ_mw_query, 88);
AT(univ_mw_query, hdr, 0);
AT(univ_mw_query, handle, 32);
AT(univ_mw_query, domain, 36);
AT(univ_mw_query, type, 40);
AT(univ_mw_query, rkey, 44);
AT(univ_mw_query, bound, 48);
AT(univ_mw_query, lkey, 52);
AT(univ_mw_query, access, 56);
AT(univ_mw_query, qp_num, 60);
AT(univ_mw_query, addr, 64);
AT(univ_mw_query, length, 72);
AT(univ_mw_query, offset, 80);

SIZE(univ_mr_share, 72);
AT(univ_mr_share, hdr, 0);
AT(univ_mr_share, mr, 32);
AT(univ_mr_share, pd, 36);
AT(univ_mr_share, access, 40);
AT(univ_mr_share, handle, 44);
AT(univ_mr_share, iova, 48);
AT(univ_mr_share, lkey, 56);
AT(univ_mr_share, rkey, 60);
AT(univ_mr_share, length, 64);

SIZE(univ_mr_extend, 48);
AT(univ_mr_extend, hdr, 0);
AT(univ_mr_extend, handle, 32);
AT(univ_mr_extend, access, 36);
AT(univ_mr_extend, length, 40);

SIZE(univ_mr_advise, 64);
AT(univ_mr_advise, hdr, 0);
AT(univ_mr_advise, pd, 32);
AT(univ_mr_advise, advice, 36);
AT(univ_mr_advise, flags, 40);
AT(univ_mr_advise, lkey, 44);
AT(univ_mr_advise, addr, 48);
AT(univ_mr_advise, length, 56);

SIZE(univ_mr_null_alloc, 48);
AT(univ_mr_null_alloc, hdr, 0);
AT(univ_mr_null_alloc, pd, 32);
AT(univ_mr_null_alloc, handle, 36);
AT(univ_mr_null_alloc, lkey, 40);
AT(univ_mr_null_alloc, reserved, 44);

SIZE(univ_dm_alloc, 64);
AT(univ_dm_alloc, hdr, 0);
AT(univ_dm_alloc, length, 32);
AT(univ_dm_alloc, log_align, 40);
AT(univ_dm_alloc, handle, 44);
AT(univ_dm_alloc, map_offset, 48);
AT(univ_dm_alloc, map_length, 56);

SIZE(univ_mr_dm_reg, 72);
AT(univ_mr_dm_reg, hdr, 0);
AT(univ_mr_dm_reg, pd, 32);
AT(univ_mr_dm_reg, dm, 36);
AT(univ_mr_dm_reg, offset, 40);
AT(univ_mr_dm_reg, length, 48);
AT(univ_mr_dm_reg, access, 56);
AT(univ_mr_dm_reg, handle, 60);
AT(univ_mr_dm_reg, lkey, 64);
AT(univ_mr_dm_reg, rkey, 68);

SIZE(univ_mr_dmabuf_reg, 88);
AT(univ_mr_dmabuf_reg, hdr, 0);
AT(univ_mr_dmabuf_reg, pd, 32);
AT(univ_mr_dmabuf_reg, access, 36);
AT(univ_mr_dmabuf_reg, offset, 40);
AT(univ_mr_dmabuf_reg, length, 48);
AT(univ_mr_dmabuf_reg, iova, 56);
AT(univ_mr_dmabuf_reg, fd, 64);
AT(univ_mr_dmabuf_reg, handle, 68);
AT(univ_mr_dmabuf_reg, lkey, 72);
AT(univ_mr_dmabuf_reg, rkey, 76);
AT(univ_mr_dmabuf_reg, dmah, 80);
AT(univ_mr_dmabuf_reg, reserved, 84);

SIZE(univ_dm_export, 40);
AT(univ_dm_export, hdr, 0);
AT(univ_dm_export, handle, 32);
AT(univ_dm_export, fd, 36);

SIZE(univ_mr_rereg, 80);
AT(univ_mr_rereg, hdr, 0);
AT(univ_mr_rereg, handle, 32);
AT(univ_mr_rereg, change, 36);
AT(univ_mr_rereg, pd, 40);
AT(univ_mr_rereg, access, 44);
AT(univ_mr_rereg, addr, 48);
AT(univ_mr_rereg, length, 56);
AT(univ_mr_rereg, iova, 64);
AT(univ_mr_rereg, lkey, 72);
AT(univ_mr_rereg, rkey, 76);

#endif
