/* SPDX-License-Identifier: MIT */
/* test_served.c - faults the engine claims: which access, with what mask and errno, and giving up the signal. */
#include "fault.h"

static volatile int n_reads, n_writes;
static uint64_t handler_mask;
static uintptr_t last_address, last_instruction;

/* As a lazy protocol: the first read opens a page for reading, the first write for writing. */
static enum adsm_fault_result on_fault(struct adsm_fault *fault)
{
	void *p = (void *)(fault->address & ~(ADSM_PAGE_SIZE - 1));

	if (!in_range(fault->address))
		return ADSM_FAULT_FOREIGN;
	n_reads += !fault->write;
	n_writes += fault->write;
	last_address = fault->address;
	last_instruction = fault->instruction;
	handler_mask = mask_now();
	CHECK(permit(p, fault->write ? ADSM_PROT_RW : ADSM_PROT_READ) == 0);
	errno = 5;
	return ADSM_FAULT_SERVED;
}

/* The faults since the last call were this many reads and writes. */
static bool saw(int reads, int writes)
{
	bool same = n_reads == reads && n_writes == writes;

	if (!same)
		fprintf(stderr, "%d reads, %d writes\n", n_reads, n_writes);
	n_reads = n_writes = 0;
	return same;
}

static void test_accesses(void)
{
	int expected = 1;

	errno = 1234;
	CHECK(load(page(0) + 12) == 0);
	CHECK(errno == 1234 && saw(1, 0));
	CHECK(last_address == (uintptr_t)page(0) + 12);
	CHECK(last_instruction - (uintptr_t)load < 256);
	store(page(0), 1);
	CHECK(errno == 1234 && saw(0, 1));
	CHECK(last_instruction - (uintptr_t)store < 256);
	store(page(0), 2);
	CHECK(load(page(0)) == 2 && saw(0, 0));

	store(page(1), 1);
	CHECK(load(page(1)) == 1 && saw(0, 1));
	/* Not where ThreadSanitizer makes the access itself, with a lock held that our handler needs. */
	if (!WITH_TSAN) {
		CHECK(__atomic_fetch_add((int *)page(2), 1, __ATOMIC_SEQ_CST) == 0 && saw(0, 1));
		CHECK(!__atomic_compare_exchange_n((int *)page(3), &expected, 2, 0, __ATOMIC_SEQ_CST,
						   __ATOMIC_SEQ_CST));
#if defined(__x86_64__)
		CHECK(saw(0, 1));	/* one that fails writes all the same */
#else
		n_reads = n_writes = 0;
#endif
	}
	memset(page(4), 7, ADSM_PAGE_SIZE);
	CHECK(load(page(5) - 4) == 0x07070707 && saw(0, 1));
	memcpy(page(6), page(5), ADSM_PAGE_SIZE);
	CHECK(load(page(6)) == 0 && saw(1, 1));
	CHECK(memcmp(page(7), page(6), ADSM_PAGE_SIZE) == 0 && saw(1, 0));

	/* Protection, both ways. */
	CHECK(permit(page(1), ADSM_PROT_READ) == 0);
	CHECK(load(page(1)) == 1 && saw(0, 0));
	store(page(1), 3);
	CHECK(saw(0, 1));
	CHECK(permit(page(1), ADSM_PROT_NONE) == 0);
	CHECK(load(page(1)) == 3 && saw(1, 0));
	CHECK(permit(page(1), ADSM_PROT_RW) == 0);
	store(page(1), 4);
	CHECK(saw(0, 0));
}

/* All signals wait, also the C library's own. */
static void test_mask(void)
{
	const uint64_t before = mask_now(), open = SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP);

	CHECK(load(page(8)) == 0);
	if (!WITH_TSAN)
		CHECK(handler_mask == ~open);
	CHECK(mask_now() == before && saw(1, 0));
}

static void on_segv(int sig)
{
	_exit(sig == SIGSEGV ? 0 : 1);
}

static void on_segv_later(int sig)
{
	(void)sig;
}

static void test_start_stop(void)
{
	const int flags = SA_SIGINFO | SA_ONSTACK;
	struct sigaction mine = { .sa_handler = on_segv }, later = { .sa_handler = on_segv_later }, now;

	/* Found, given back. */
	CHECK(sigaction(SIGSEGV, NULL, &now) == 0);
	CHECK((now.sa_flags & flags) == flags);
	adsm_engine_sigsegv.stop();
	CHECK(sigaction(SIGSEGV, &mine, NULL) == 0);
	CHECK(adsm_engine_sigsegv.start(on_fault) == 0);
	CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler != on_segv);
	CHECK((now.sa_flags & flags) == SA_SIGINFO);	/* that one wants no other stack */
	adsm_engine_sigsegv.stop();
	CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == on_segv);
	/* Taken by another meanwhile: left alone. */
	CHECK(adsm_engine_sigsegv.start(on_fault) == 0);
	CHECK(sigaction(SIGSEGV, &later, NULL) == 0);
	adsm_engine_sigsegv.stop();
	CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == on_segv_later);
	/* Not started, nothing is ours. */
	CHECK(sigaction(SIGSEGV, &mine, NULL) == 0);
	load(page(9));
	CHECK(!"a closed page was read");
}

static void test_esr(void)
{
	bool write = true;

	CHECK(adsm_decode_esr(0x92000007, &write) && !write);	/* load, translation fault */
	CHECK(adsm_decode_esr(0x92000047, &write) && write);	/* store */
	CHECK(adsm_decode_esr(0x9200004f, &write) && write);	/* store, permission fault */
	CHECK(adsm_decode_esr(0x92000147, &write) && !write);	/* cache maintenance */
	CHECK(!adsm_decode_esr(0x8200000f, &write));		/* instruction abort */
	CHECK(!adsm_decode_esr(0x96000047, &write));		/* data abort of the kernel's own */
	CHECK(!adsm_decode_esr(0, &write));
}

/* One instruction of each kind, as an assembler has them. */
static void test_a64(void)
{
	static const uint32_t reads[] = {
		0xf9400020, 0x39400420, 0xb8a26820, 0x78c02420, 0xf85f8020, 0xa9400820, 0x69400820, 0xa8400820,
		0x3dc00020, 0xfc626820, 0xad400420, 0x4c407020, 0x0d400420, 0x0d40c020, 0xc85f7c20, 0xc8dffc20,
		0xc87f8820, 0xf8bfc020, 0xd9408020, 0x580000a0, 0xf8200420, 0xf8400820,
	};
	static const uint32_t writes[] = {
		0xf9000020, 0x39000420, 0x78002c20, 0xf81f8020, 0xa9000820, 0xa8000820, 0x3d800020, 0x3d000420,
		0xad000420, 0x4c007020, 0x0dbf2420, 0xc8027c20, 0xc89ffc20, 0xc8238820, 0xc8a07c22, 0x88e0fc22,
		0x48207c82, 0x08a07c22, 0xf8200022, 0xf8208022, 0xb8203022, 0xb820003f, 0xd9008020, 0xf8000820,
		0xd50b7420,
	};
	static const uint32_t others[] = {
		0x8b010000, 0xd503201f, 0x17fffffe, 0xd65f03c0, 0x1e622820,
	};
	bool write;

	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		write = true;
		CHECK(adsm_decode_a64(reads[i], &write) && !write);
	}
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		write = false;
		CHECK(adsm_decode_a64(writes[i], &write) && write);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!adsm_decode_a64(others[i], &write));
}

int main(void)
{
	test_esr();
	test_a64();
	range_create();
	CHECK(adsm_engine_sigsegv.start(on_fault) == 0);
	test_accesses();
	test_mask();
	test_start_stop();
	return 1;
}
