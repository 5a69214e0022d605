/* SPDX-License-Identifier: MIT */
/* partition_stubs.c - writes code for a manager: the gates, and a stub for each function that has an address. */
#include "partition_stubs.h"

#include <string.h>

/* In partition_*.S; no C function calls them. */
void adsm_partition_enter(void);
void adsm_partition_leave(void);
/* The same; these save all registers. */
void adsm_partition_enter_all(void);
void adsm_partition_leave_all(void);

#if defined(__x86_64__)

/* movabs $manager, %r11; jmp *0(%rip); .quad function */
static void write_gate(const struct adsm_partitions *partitions, uint8_t *write, void (*function)(void))
{
	static const uint8_t code[24] = { [0] = 0x49, 0xbb, [10] = 0xff, 0x25 };

	memcpy(write, code, sizeof(code));
	memcpy(write + 2, &partitions, 8);
	memcpy(write + 16, &function, 8);
}

/* push $symbol; jmp gate */
static void write_stub(uint8_t *write, uint32_t symbol, int32_t gate)
{
	const int32_t distance = gate - 10;

	memset(write, 0xcc, ADSM_PARTITION_STUB);
	write[0] = 0x68;
	memcpy(write + 1, &symbol, 4);
	write[5] = 0xe9;
	memcpy(write + 6, &distance, 4);
}

#elif defined(__aarch64__)

/* ldr x16, manager; ldr x15, function; br x15; nop; .quad manager, function */
static void write_gate(const struct adsm_partitions *partitions, uint8_t *write, void (*function)(void))
{
	static const uint32_t code[4] = { 0x58000090, 0x580000af, 0xd61f01e0, 0xd503201f };

	memcpy(write, code, sizeof(code));
	memcpy(write + 16, &partitions, 8);
	memcpy(write + 24, &function, 8);
}

/* ldr w17, symbol; b gate; .word symbol, 0 */
static void write_stub(uint8_t *write, uint32_t symbol, int32_t gate)
{
	const uint32_t code[4] = { 0x18000051, 0x14000000 | ((uint32_t)(gate - 4) >> 2 & 0x3ffffff), symbol, 0 };

	memcpy(write, code, sizeof(code));
}

#else
#error "the partition manager has no stubs for this machine"
#endif

void adsm_partition_write_stubs(const struct adsm_partitions *partitions, uint8_t *write)
{
	const struct adsm_image *image = &partitions->image;

	write_gate(partitions, write + ADSM_PARTITION_GATE_ENTER,
		   partitions->all_registers ? adsm_partition_enter_all : adsm_partition_enter);
	write_gate(partitions, write + ADSM_PARTITION_GATE_LEAVE,
		   partitions->all_registers ? adsm_partition_leave_all : adsm_partition_leave);
	for (uint32_t i = 0; i < image->header->n_stubs; i++) {
		const uint32_t at = ADSM_PARTITION_GATES + i * ADSM_PARTITION_STUB;

		write_stub(write + at, image->functions[i].symbol, (int32_t)ADSM_PARTITION_GATE_ENTER - (int32_t)at);
	}
}
