// SPDX-License-Identifier: GPL-2.0
/*
 * See fold.h. A CRC is the remainder of a polynomial. A block of 128 bits that
 * lies d bits before another one has the same remainder as its product with
 * x^d, so it may be multiplied by x^d modulo the polynomial and added to the
 * other one. "To fold" means this. Each register holds two blocks.
 *
 * No statement names the registers that it changes, and values stay in them
 * from one statement to the next: the kernel is compiled without vector
 * registers. tests/user/host/fold.c compiles this file in the same way
 * (-mgeneral-regs-only), and runs it in user space.
 */
#include "fold.h"

/*
 * x^(d + 32) and x^(d - 32) modulo the polynomial of CRC-32 for the two halves
 * of a block, in the reflected order of bits and shifted by one.
 */
struct factors {
	unsigned long long low, high;
};

static const struct factors by_1024_bits = { 0x1e88ef372, 0x14a7fe880 };
static const struct factors by_256_bits = { 0x0f1da05aa, 0x15a546366 };
static const struct factors by_128_bits = { 0x1751997d0, 0x0ccaa009e };

/* Register 7 has the factors; register @tmp is changed as well. */
#define MULTIPLY(kind, acc, tmp)				\
	"vpclmulqdq $0x00, %%" kind "7, %%" kind acc		\
	", %%" kind tmp "\n\t"					\
	"vpclmulqdq $0x11, %%" kind "7, %%" kind acc		\
	", %%" kind acc "\n\t"					\
	"vpxor %%" kind tmp ", %%" kind acc ", %%" kind acc "\n\t"

#define ADD_BYTES(acc, at) "vpxor " at "(%0), %%ymm" acc ", %%ymm" acc "\n\t"
#define ADD(from, acc) "vpxor %%ymm" from ", %%ymm" acc ", %%ymm" acc "\n\t"

static void multiply_by(const struct factors *factors)
{
	asm volatile("vbroadcasti128 %0, %%ymm7" : : "m"(*factors));
}

static void load_128_bytes(unsigned int crc, const unsigned char *data)
{
	asm volatile("vmovdqu 0x00(%0), %%ymm0\n\t"
		     "vmovdqu 0x20(%0), %%ymm1\n\t"
		     "vmovdqu 0x40(%0), %%ymm2\n\t"
		     "vmovdqu 0x60(%0), %%ymm3\n\t"
		     "vmovd %1, %%xmm4\n\t"
		     ADD("4", "0")
		     : : "r"(data), "r"(crc) : "memory");
}

static void fold_into_128_bytes(const unsigned char *data)
{
	asm volatile(MULTIPLY("ymm", "0", "4") ADD_BYTES("0", "0x00")
		     MULTIPLY("ymm", "1", "5") ADD_BYTES("1", "0x20")
		     MULTIPLY("ymm", "2", "6") ADD_BYTES("2", "0x40")
		     MULTIPLY("ymm", "3", "4") ADD_BYTES("3", "0x60")
		     : : "r"(data) : "memory");
}

/* The four registers become register 3. */
static void fold_registers(void)
{
	asm volatile(MULTIPLY("ymm", "0", "4") ADD("0", "1")
		     MULTIPLY("ymm", "1", "4") ADD("1", "2")
		     MULTIPLY("ymm", "2", "4") ADD("2", "3") : : );
}

static void fold_into_32_bytes(const unsigned char *data)
{
	asm volatile(MULTIPLY("ymm", "3", "4") ADD_BYTES("3", "0x00")
		     : : "r"(data) : "memory");
}

static void store_rest(unsigned char *rest)
{
	asm volatile("vextracti128 $1, %%ymm3, %%xmm1\n\t"
		     MULTIPLY("xmm", "3", "4")
		     "vpxor %%xmm1, %%xmm3, %%xmm3\n\t"
		     "vmovdqu %%xmm3, (%0)\n\t"
		     "vzeroupper"
		     : : "r"(rest) : "memory");
}

void uroce_fold(unsigned char *rest, unsigned int crc,
		const unsigned char *data, unsigned long len)
{
	const unsigned char *end = data + len;

	load_128_bytes(crc, data);
	data += 128;
	multiply_by(&by_1024_bits);
	for (; end - data >= 128; data += 128)
		fold_into_128_bytes(data);
	multiply_by(&by_256_bits);
	fold_registers();
	for (; data < end; data += UROCE_FOLD_UNIT)
		fold_into_32_bytes(data);
	multiply_by(&by_128_bits);
	store_rest(rest);
}
