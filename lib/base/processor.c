/* SPDX-License-Identifier: MIT */
/* processor.c - see processor.h. On x86-64 the levels are those of its psABI. */
#include "base/processor.h"

#include <stddef.h>
#include <stdint.h>

static const char *const names[] = {
#if defined(__x86_64__)
	"-march=x86-64-v2", "-march=x86-64-v3", "-march=x86-64-v4",
#elif defined(__aarch64__)
	"-march=armv8-a+lse", "-march=armv8.2-a+fp16+dotprod",
#else
	"",
#endif
};

const char *adsm_processor_option(unsigned levels)
{
	const char *name = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && (levels >> i & 1); i++)
		name = names[i];
	return name;
}

#if defined(__x86_64__)
#include <cpuid.h>

/* What a level needs: bits of registers that the instruction cpuid returns. */
static const struct needs { uint32_t ecx1, ebx7, ecx_extended, saved; } needs[] = {
	/* sse3, ssse3, cmpxchg16b, sse4.1, sse4.2, popcnt; lahf */
	{ 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23, 0, 1u << 0, 0 },
	/* fma, movbe, xsave by the system, avx, f16c; bmi1, avx2, bmi2; lzcnt. Registers of 256 bits are saved */
	{ 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29, 1u << 3 | 1u << 5 | 1u << 8, 1u << 5, 0x6 },
	/* avx512f, avx512dq, avx512cd, avx512bw, avx512vl. Registers of 512 bits, and masks, are saved */
	{ 0, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31, 0, 0xe6 },
};

static uint32_t saved_registers(uint32_t ecx1)
{
	uint32_t low, high;

	if (!(ecx1 & 1u << 27))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

unsigned adsm_processor_levels(void)
{
	uint32_t eax, ebx, ecx1 = 0, edx, ebx7 = 0, ecx = 0, ecx_extended = 0, saved;
	unsigned levels = 0;

	__get_cpuid(1, &eax, &ebx, &ecx1, &edx);
	if (!__get_cpuid_count(7, 0, &eax, &ebx7, &ecx, &edx))
		ebx7 = 0;
	if (!__get_cpuid(0x80000001, &eax, &ebx, &ecx_extended, &edx))
		ecx_extended = 0;
	saved = saved_registers(ecx1);
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		const struct needs *need = &needs[i];

		if ((ecx1 & need->ecx1) != need->ecx1 || (ebx7 & need->ebx7) != need->ebx7 ||
		    (ecx_extended & need->ecx_extended) != need->ecx_extended || (saved & need->saved) != need->saved)
			break;
		levels |= 1u << i;
	}
	return levels;
}

#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

unsigned adsm_processor_levels(void)
{
	const unsigned long lse = HWCAP_ATOMICS;
	const unsigned long more = lse | HWCAP_CRC32 | HWCAP_ASIMDRDM | HWCAP_DCPOP | HWCAP_FPHP | HWCAP_ASIMDHP |
				   HWCAP_ASIMDDP;
	const unsigned long has = getauxval(AT_HWCAP);

	return ((has & lse) == lse ? 1u : 0) | ((has & more) == more ? 2u : 0);
}

#else

unsigned adsm_processor_levels(void)
{
	return 0;
}
#endif
