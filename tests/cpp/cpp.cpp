/* SPDX-License-Identifier: MIT */
/* cpp.cpp - buffers, allocators, modules, kernel calls and errors of adsm.hpp: cpp MODULE. Also without exceptions. */
#include "cpp_kernels.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "adsm_lend.h"
#include "adsm_split.h"

#define CHECK_MORE adsmLastError()
#include "../check.h"

namespace {

using adsm::buffer;

static_assert(std::is_nothrow_move_constructible<buffer<int>>::value, "");
static_assert(std::is_nothrow_move_assignable<buffer<int>>::value, "");
static_assert(!std::is_copy_constructible<buffer<int>>::value, "its owner frees the memory");
static_assert(std::is_nothrow_swappable<buffer<int>>::value, "");
static_assert(std::is_same<decltype(std::declval<const buffer<int> &>()[0]), const int &>::value, "");
static_assert(!std::is_copy_constructible<adsm::kernel_module>::value, "");

using described = cpp_kernels::scale;

static_assert(described::parameters.size() == 4 && described::parameters[1].access == ADSM_ACCESS_OUT, "");
static_assert(described::parameters[2].size == sizeof(float) && described::max_threads == 256, "");
static_assert(!described::is_task && cpp_kernels::count::is_task && cpp_kernels::nothing::parameters.empty(), "");

struct pair {
	float x, y;
};

const char *module_path;

/* The code, and with exceptions also what is thrown. */
template <class Run> void fails(std::errc wanted, const char *sentence, Run run)
{
	const std::error_code code = run();

	CHECKF(code == wanted, "%d", code.value());
	CHECKF(&code.category() == &adsm::category(), "%s", code.category().name());
	CHECKF(code.message() == adsmErrorString(-code.value()), "%s", code.message().c_str());
	CHECKF(std::string(adsmLastError()).find(sentence) != std::string::npos, "%s", sentence);
}

template <class Run> void throws(std::errc wanted, const char *sentence, Run run)
{
#if defined(__cpp_exceptions)
	bool thrown = false;

	try {
		run();
	} catch (const adsm::error &error) {
		thrown = true;
		CHECKF(error.code() == wanted, "%d", error.code().value());
		CHECKF(std::string(error.what()).find(sentence) != std::string::npos, "%s", error.what());
	}
	CHECK(thrown);
#else
	static_cast<void>(wanted);
	static_cast<void>(sentence);
	static_cast<void>(run);
#endif
}

/* ---- memory */

void buffers()
{
	const std::size_t n = 10000;
	buffer<int> a(n), empty, b;
	int *p = a.data();

	CHECK(adsmIsShared(p) && a.size() == n && a.size_bytes() == n * sizeof(int) && !a.empty());
	CHECK(empty.empty() && !empty.data() && empty.begin() == empty.end());
	std::iota(a.begin(), a.end(), 1);
	CHECK_EQ(std::accumulate(a.cbegin(), a.cend(), 0LL), n * (n + 1) / 2);
	CHECK(a.front() == 1 && a.back() == 10000 && *a.rbegin() == 10000 && a[7] == 8);
	std::sort(a.rbegin(), a.rend());
	CHECK(a.front() == 10000 && std::is_sorted(a.rbegin(), a.rend()));
	b = std::move(a);
	CHECK(a.empty() && !a.data() && b.data() == p && b.size() == n);
	swap(a, b);
	CHECK(a.data() == p && b.empty());
	a.name("numbers");
	empty.name("none");
	CHECK_OK(adsmHold(p, sizeof(int), ADSM_ACCESS_IN));
	fails(std::errc::device_or_resource_busy, "is held", [&] { return a.try_free(); });
	throws(std::errc::device_or_resource_busy, "is held", [&] { a.free(); });
	CHECK(a.data() == p);
	CHECK_OK(adsmUnhold(p, sizeof(int)));
	a.free();
	CHECK(a.empty() && !adsmIsShared(p));
	b = buffer<int>(3);
	p = b.release();
	CHECK(b.empty() && adsmIsShared(p));
	CHECK_OK(adsmFree(p));
}

void options()
{
	adsm::alloc_options how;
	adsmObjectProps props;
	std::error_code error;

	how.zero = how.populate = true;
	how.block_size = 8192;
	how.protocol = "rolling";
	buffer<unsigned char> zeros(20000, how);
	props.struct_size = sizeof(props);
	CHECK_OK(adsmObjectInfo(zeros.data(), &props));
	CHECK_EQ(props.block_size, 8192);
	CHECK_EQ(props.size, 20000);
	CHECK_EQ(std::count(zeros.begin(), zeros.end(), 0), 20000);
	how.protocol = "magic";
	fails(std::errc::invalid_argument, "magic", [&] {
		buffer<int> b(1, how, error);

		CHECK(b.empty());
		return error;
	});
	throws(std::errc::invalid_argument, "magic", [&] { buffer<int> b(1, how); });
	fails(std::errc::not_enough_memory, "", [&] {
		buffer<long> b(static_cast<std::size_t>(-1) / 4, error);

		CHECK(b.empty());
		return error;
	});
	throws(std::errc::not_enough_memory, "", [] { buffer<long> b(static_cast<std::size_t>(1) << 60); });
	error = adsm::make_error_code(-EIO);
	buffer<int> none(0, error);
	CHECK(!error && none.empty());
}

void containers()
{
	std::vector<int, adsm::allocator<int>> v, w;

	for (int i = 0; i < 5000; i++)
		v.push_back(i);
	CHECK(adsmIsShared(v.data()) && v[4999] == 4999);
	w = std::move(v);
	v.assign(3, 7);
	v.swap(w);
	CHECK(v.size() == 5000 && w.size() == 3 && w[2] == 7);
	CHECK((adsm::allocator<int>() == adsm::allocator<char>()));
	throws(std::errc::not_enough_memory, "", [] {
		static_cast<void>(adsm::allocator<int>().allocate(static_cast<std::size_t>(1) << 60));
	});
#if defined(__cpp_lib_memory_resource)
	adsm::memory_resource shared;
	std::pmr::unsynchronized_pool_resource pool(&shared);
	std::pmr::vector<std::pmr::string> words(&pool);

	for (int i = 0; i < 300; i++)
		words.emplace_back(std::string(static_cast<std::size_t>(i), 'x'));
	for (const std::pmr::string &word : words)
		CHECK(word.size() < 16 || adsmIsShared(word.data()));
	CHECK(adsmIsShared(words.data()) && words[299].size() == 299);
	CHECK(shared.is_equal(shared) && !shared.is_equal(pool));
	throws(std::errc::invalid_argument, "alignment", [&] { static_cast<void>(shared.allocate(8, 8192)); });
#endif
}

#if defined(__cpp_lib_span)
void spans()
{
	buffer<int> a(100);
	const buffer<int> &constant = a;
	std::span<int> all = a;
	std::span<const int> readable = constant;

	std::iota(all.begin(), all.end(), 0);
	CHECK(readable[99] == 99 && a.span().subspan(10)[0] == 10 && constant.span().size() == 100);
	static_assert(std::ranges::contiguous_range<buffer<int>> && std::ranges::sized_range<buffer<int>>);
}
#else
void spans() {}
#endif

/* ---- calls */

void split(adsmKernel *scale, const buffer<float> &in, buffer<float> &out)
{
	const adsmSplitRows rows = { out.data(), 256 * sizeof(float) };
	adsmSplit how = ADSM_SPLIT_INIT;

	how.rows = &rows;
	how.n_rows = 1;
	CHECK_OK(adsmCallSplit(scale, adsmDim3(12, 1, 1), adsmDim3(256, 1, 1), &how, adsmIn(in.data()),
			       adsmOut(out.data()), adsmVal(5.0f), adsmVal(3000)));
	CHECK(out.front() == 0 && out.back() == 2999 * 5.0f);
}

void calls()
{
	const int n = 3000;
	adsm::kernel_module module(module_path);
	const adsm::kernel<cpp_kernels::scale> scale(module);
	const adsm::kernel<cpp_kernels::class_> increment(module);
	buffer<float> in(n), out(n);
	std::vector<float, adsm::allocator<float>> twice(n);
	const buffer<float> &constant = in;
	buffer<unsigned char> bytes(256);

	std::iota(in.begin(), in.end(), 0.0f);
	scale.each<256>(n, constant, out, 3.0f, n);
	scale(adsmDim3(12, 1, 1), adsmDim3(256, 1, 1), out.data(), twice, 2.0f, short{3000});
	adsm::sync();
	for (int i = 0; i < n; i++)
		CHECK(out[static_cast<std::size_t>(i)] == 3.0f * static_cast<float>(i) &&
		      twice[static_cast<std::size_t>(i)] == 6.0f * static_cast<float>(i));
	std::fill(bytes.begin(), bytes.end(), 255);
	increment.each<128>(bytes.size(), bytes);
	increment.each<1>(0, bytes);
	adsm::sync();
	CHECK_EQ(std::count(bytes.begin(), bytes.end(), 0), 256);
	split(scale.handle(), in, out);
	adsm::kernel<cpp_kernels::nothing>{ module }(adsmDim3(1, 1, 1), adsmDim3(1, 1, 1));
	adsm::sync();
}

void kinds()
{
	const int n = 64;
	adsm::kernel_module module(module_path);
	const adsm::kernel<cpp_kernels::mix> mix(module);
	const int table[] = { 10, 20, 30, 40 };
	const std::vector<int> other = { 1, 2, 3, 4 };
	buffer<int> p(n);
	buffer<pair> pairs(n);

	std::fill(pairs.begin(), pairs.end(), pair{ 1, 1 });
	mix.each<64>(n, adsm::out(p), table, pair{ 2, 3 }, pairs, n);
	adsm::sync();
	CHECK(p[5] == 21 && pairs[63].x == 3 && pairs[63].y == -2);
	mix.each<64>(n, p.data(), adsm::slice{ other.data(), std::size_t{4} }, pair{ 0, 0 }, pairs.data(), n);
	adsm::sync();
	CHECK(p[5] == 3 && pairs[0].x == 3);
	mix.each<64>(n, adsm::inout(p.data()), other, pair{ 0, 0 }, adsm::inout(pairs), n);
	adsm::sync();
	CHECK_EQ(p[7], 5);
}

void uses()
{
	const int n = 16;
	adsm::kernel_module module(module_path);
	const adsm::kernel<cpp_kernels::follow> follow(module);
	buffer<unsigned long> links(n);
	buffer<int> targets(n), out(n);

	for (std::size_t i = 0; i < n; i++) {
		targets[i] = static_cast<int>(i * i);
		links[i] = adsmSafe(&targets[n - 1 - i]);
	}
	follow.each<16>(n, links, out, n, adsm::use(targets.data(), ADSM_ACCESS_IN));
	adsm::sync();
	CHECK_EQ(out[0], 225);
	targets[15] = 7;
	follow.each<16>(n, links, out, n, adsm::use::all());
	adsm::sync();
	CHECK_EQ(out[0], 7);
}

void tasks()
{
	adsm::kernel_module module(module_path);
	const adsm::kernel<cpp_kernels::count> count(module);
	buffer<int> total(1);

	total[0] = 1;
	count(adsmDim3(2, 1, 1), adsmDim3(1, 1, 1), total, 20);
	adsm::sync();
	CHECK_EQ(total[0], 41);
}

/* ---- errors */

void errors()
{
	adsm::kernel_module module(module_path), moved;
	const adsm::kernel<cpp_kernels::scale> scale(module);
	std::error_code error;
	buffer<float> in(256);
	std::vector<float> ordinary(256);

	fails(std::errc::no_such_file_or_directory, "missing.adsm", [&] {
		adsm::kernel_module none("missing.adsm", error);

		CHECK(!none && !none.handle());
		return error;
	});
	throws(std::errc::no_such_file_or_directory, "missing.adsm", [] { adsm::kernel_module none("missing.adsm"); });
	fails(std::errc::executable_format_error, "", [&] {
		adsm::kernel_module none("no module", std::size_t{9}, error);

		return error;
	});
	fails(std::errc::no_such_file_or_directory, "scale", [&] {
		CHECK(!module.find("shrink", error));
		return error;
	});
	throws(std::errc::no_such_file_or_directory, "scale", [&] { module.find("shrink"); });
	throws(std::errc::no_such_file_or_directory, "", [&] { module.global<int>("variable"); });
	moved = std::move(module);
	CHECK(!module && moved && moved.find("scale", error) == scale.handle() && !error);
	fails(std::errc::invalid_argument, "'in'", [&] { return scale.try_each<256>(256, ordinary, in, 1.0f, 256); });
	throws(std::errc::invalid_argument, "'in'", [&] { scale.each<256>(256, ordinary, in, 1.0f, 256); });
	fails(std::errc::invalid_argument, "", [&] {
		return scale.try_call(adsmDim3(1, 1, 1), adsmDim3(257, 1, 1), in, in, 1.0f, 256);
	});
	CHECK(scale.try_each<1>(std::size_t{1} << 40, in, in, 1.0f, 1) == std::errc::invalid_argument);
	throws(std::errc::invalid_argument, "4294967295 blocks", [&] {
		scale.each<1>(std::size_t{1} << 40, in, in, 1.0f, 1);
	});
	CHECK(!adsm::try_sync());
	CHECK(adsm::make_error_code(0) == std::error_code() || !adsm::make_error_code(0));
	CHECK(adsm::make_error_code(-ENODEV) == std::errc::no_such_device);
}

}	/* namespace */

int main(int argc, char **argv)
{
	CHECK_EQ(argc, 2);
	module_path = argv[1];
	buffers();
	options();
	containers();
	spans();
	calls();
	kinds();
	uses();
	tasks();
	errors();
	/* All memory and modules are free again. */
	CHECK_OK(adsmShutdown());
	return 0;
}
