/* SPDX-License-Identifier: MIT */
/* host.cpp - numbers of 16 bits on the CPU: results where a second rounding would be wrong. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>

static int n_wrong;

static void same(const char *what, unsigned short got, unsigned short want)
{
	if (got != want) {
		std::printf("%s: %#x, expected %#x\n", what, (unsigned)got, (unsigned)want);
		n_wrong++;
	}
}

int main()
{
	/* 1.5 * 1.0078125 is between two numbers, and 2^-60 decides. */
	const __nv_bfloat16 x(1.5f), y(1.0078125f), z(0x1p-60f), zero(0.0f), huge(3e38f);
	const __half one(1.0f), more(1 + 0x1p-10f), small(0x1p-24f);

	same("below the middle", __hfma(x, y, __hneg(z)).adsm_bits, 0x3fc1);
	same("above the middle", __hfma(x, y, z).adsm_bits, 0x3fc2);
	same("in the middle", __hfma(x, y, zero).adsm_bits, 0x3fc2);
	same("above the middle, negative", __hfma(__hneg(x), y, __hneg(z)).adsm_bits, 0xbfc2);
	same("below the middle, negative", __hfma(__hneg(x), y, z).adsm_bits, 0xbfc1);
	same("only the addend", __hfma(zero, y, z).adsm_bits, z.adsm_bits);
	same("infinite", __hfma(huge, huge, __hneg(huge)).adsm_bits, 0x7f80);
	same("of half", __hfma(more, more, small).adsm_bits, 0x3c02);
	same("of half, small", __hfma(one, small, __hneg(small)).adsm_bits, 0);
	same("NaN", __hfma(zero, __hmul(huge, huge), zero).adsm_bits, 0x7fff);
	return n_wrong != 0;
}
