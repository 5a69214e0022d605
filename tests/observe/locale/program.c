/* SPDX-License-Identifier: MIT */
/* program.c - a program with its user's locale, which uses a device with counters: program MODULE. */
#include <adsm.h>
#include <locale.h>
#include <string.h>

#define CHECK_MORE adsmLastError()
#include "../../check.h"

int main(int argc, char **argv)
{
	const adsmDim workers = { 4, 1, 1 }, one = { 1, 1, 1 };
	adsmModule *module;
	int *numbers, *total;

	CHECK_EQ(argc, 2);
	CHECK(setlocale(LC_ALL, ""));
	printf("%s\n", localeconv()->decimal_point);
	/* In Turkish 'i' and 'I' are different letters. */
	CHECK(!adsmOption("cpu_link", "1.5GB/s,2.5us"));
	CHECK(!adsmOption("block_size", "64k"));
	CHECK(adsmOption("block_sise", "64k"));
	CHECK(strstr(adsmLastError(), "BLOCK_SIZE"));
	module = adsmModuleLoad(argv[1]);
	CHECK(module);
	numbers = adsmAlloc(100000 * sizeof(*numbers));
	total = adsmAlloc(sizeof(*total));
	CHECK(numbers && total);
	for (int i = 0; i < 100000; i++)
		numbers[i] = i % 10;
	*total = 0;
	CHECK(!adsmCall(adsmKernelGet(module, "sum"), workers, one, adsmPtr(numbers), adsmVal((int)100000),
			adsmPtr(total)));
	CHECK(!adsmSync());
	CHECK_EQ(*total, 450000);
	return 0;
}
