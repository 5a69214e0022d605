/* SPDX-License-Identifier: MIT */
/* gpu.cpp - kernels and variables of a module in CUDA C by adsm.hpp: gpu MODULE. */
#include "cpp_gpu.hpp"

#include <algorithm>

#define CHECK_MORE adsmLastError()
#include "../check.h"

namespace {

template <class Run> void throws(std::errc wanted, Run run)
{
	bool thrown = false;

	try {
		run();
	} catch (const adsm::error &error) {
		thrown = true;
		CHECKF(error.code() == wanted, "%s", error.what());
	}
	CHECK(thrown);
}

void run(const char *path)
{
	const unsigned n = 1000;
	adsm::kernel_module module(path);
	const adsm::kernel<cpp_gpu::look_up> look_up(module);
	int(&table)[4] = module.global<int[4]>("table");
	adsm::buffer<int> in(n), out(n);
	adsm::buffer<float> floats(n);
	adsm::buffer<long> longs(n);

	for (unsigned i = 0; i < n; i++)
		in[i] = static_cast<int>(i % 4);
	for (int i = 0; i < 4; i++)
		table[i] = 10 * i;
	module.global<float>("factor") = 3;
	look_up.each<128>(n, out, in, n, adsm::local{ 128 * sizeof(int) });
	adsm::sync();
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(out[i], i, 30 * (i % 4));
	table[1] = 7;
	look_up.each<128>(n, out.data(), in.data(), n, adsm::local{ 128 * sizeof(int) });
	adsm::sync();
	CHECK_EQ(out[1], 21);

	adsm::kernel<cpp_gpu::fill_1>(module).each<256>(n, floats, 2.5f, static_cast<int>(n));
	adsm::kernel<cpp_gpu::fill_2>(module).each<256>(n, adsm::out(longs), -5L, static_cast<int>(n));
	adsm::sync();
	CHECK_EQ(std::count(floats.begin(), floats.end(), 2.5f), n);
	CHECK_EQ(std::count(longs.begin(), longs.end(), -5), n);
	throws(std::errc::invalid_argument, [&] { module.global<int[5]>("table"); });
	throws(std::errc::no_such_file_or_directory, [&] { module.global<int>("tables"); });
}

}	/* namespace */

int main(int argc, char **argv)
{
	CHECK_EQ(argc, 2);
	run(argv[1]);
	CHECK_OK(adsmShutdown());
	return 0;
}
