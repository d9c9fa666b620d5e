/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions: the control path. */
#ifndef UROCE_MR_H
#define UROCE_MR_H

#include "mem.h"

struct dma_buf;
struct uroce_cache;

/**
 * struct uroce_pd - a protection domain
 * @ib: first member. Domains are compared by their address
 * @cache: pinned pages that wait to be registered again; NULL until a process
 *	has deregistered a region. Set once
 */
struct uroce_pd {
	struct ib_pd ib;
	struct uroce_cache *cache;
};

static inline struct uroce_pd *to_upd(struct ib_pd *ib)
{
	return container_of(ib, struct uroce_pd, ib);
}


/* mr.c, pin.c, rereg.c, memory.c, advise.c */
struct ib_mr *uroce_mr_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			   int access, UNIV_DMAH_ARG struct ib_udata *udata);
struct ib_mr *uroce_mr_dma(struct ib_pd *pd, int access);
struct ib_mr *uroce_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max);
int uroce_mr_map(struct ib_mr *ib, struct scatterlist *sgl, int n,
		 unsigned int *offset);
int uroce_mr_dereg(struct ib_mr *ib, struct ib_udata *udata);
int uroce_mr_extend(struct ib_mr *ib, u64 length);
struct ib_mr *uroce_mr_share(struct ib_pd *pd, struct ib_mr *of, u64 iova,
			     int access);
int uroce_mr_advise(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		    u32 flags, struct ib_sge *sge, u32 count,
		    struct uverbs_attr_bundle *attrs);
struct ib_mr *uroce_mr_rereg(struct ib_mr *ib, int flags, u64 start, u64 length,
			     u64 iova, int access, struct ib_pd *pd,
			     struct ib_udata *udata);
struct ib_mr *uroce_mr_memory(struct ib_pd *pd, void *memory, u64 length,
			      int access);
struct ib_mr *uroce_mr_dmabuf(struct ib_pd *pd, struct dma_buf *buf, u64 offset,
			      u64 length, u64 iova, int access);

/* removal.c, cache.c */
#ifdef CONFIG_MMU_NOTIFIER
int uroce_removal_init(void);
void uroce_removal_exit(void);
void uroce_cache_close(struct ib_pd *pd);
int uroce_cache_init(void);
void uroce_cache_exit(void);
#else
static inline int uroce_removal_init(void)
{
	return 0;
}

static inline void uroce_removal_exit(void) {}
static inline void uroce_cache_close(struct ib_pd *pd) {}
static inline int uroce_cache_init(void)
{
	return 0;
}

static inline void uroce_cache_exit(void) {}
#endif

#endif
