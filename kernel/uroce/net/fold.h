/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 of long data with VPCLMULQDQ. Linux has such code since 6.15, and
 * with PCLMULQDQ before, which takes twice as many instructions.
 */
#ifndef UROCE_FOLD_H
#define UROCE_FOLD_H

/* All in bytes. Lengths are multiples of the unit. */
#define UROCE_FOLD_UNIT 32
#define UROCE_FOLD_MIN 128
#define UROCE_FOLD_REST 16

/*
 * Reduces @len bytes to the bytes of @rest, with
 *	crc32_le(crc, data, len) == crc32_le(0, rest, UROCE_FOLD_REST)
 * The caller has the vector registers (kernel_fpu_begin()), and has checked
 * that the processor has AVX2 and VPCLMULQDQ.
 */
void uroce_fold(unsigned char *rest, unsigned int crc,
		const unsigned char *data, unsigned long len);

#endif
