/* SPDX-License-Identifier: MIT */
/* cpp.cpp - write-once vectors and matrices of C++: views, units of any size, what is thrown, what is owned. */
#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "adsm_once.hpp"

#define CHECK_MORE adsmLastError()
#include "../check.h"

using adsm::once::matrix;
using adsm::once::vector;

template <class T> static constexpr bool only_moves()
{
	return std::is_nothrow_move_constructible<T>::value && std::is_nothrow_move_assignable<T>::value &&
		!std::is_copy_constructible<T>::value && !std::is_copy_assignable<T>::value;
}

static_assert(only_moves<vector<int> >() && only_moves<matrix<int> >(), "who has it owns it");
static_assert(only_moves<decltype(std::declval<vector<int> &>().get_uninitialized(0))>(), "one writes");
static_assert(std::is_same<decltype(std::declval<const vector<int> &>().get(0)[0]), const int &>::value,
	      "what is set is only read");

/* It throws that, with a sentence that has the word. */
template <class Run> static void throws(std::errc wanted, const char *word, Run run)
{
	bool thrown = false;

	try {
		run();
	} catch (const std::system_error &error) {
		thrown = true;
		CHECKF(error.code() == wanted, "%d", error.code().value());
		CHECKF(std::string(error.what()).find(word) != std::string::npos, "%s", error.what());
	}
	CHECK(thrown);
}

/* The same elements by units of any size: only a number differs. */
static void units()
{
	static const std::size_t sizes[] = { 1, 2, 7, 256, 1000, 1001 };
	const std::size_t n = 1000;

	for (std::size_t size : sizes) {
		vector<int> v(n, size);
		std::thread writer([&] {
			for (std::size_t u = v.units(); u-- > 0;) {
				auto unit = v.get_uninitialized(u);

				for (std::size_t i = 0; i < unit.size(); i++)
					unit[i] = static_cast<int>(u * size + i);
				unit.set();
				CHECK(!unit && !unit.size());
			}
		});
		std::size_t seen = 0;

		CHECK_EQ(v.size(), n);
		CHECK_EQ(v.unit_size(), size);
		CHECK_EQ(v.units(), (n + size - 1) / size);
		for (std::size_t u = 0; u < v.units(); u++)
			for (int x : v.get(u))
				CHECK_AT(x, u, seen++);
		CHECK_EQ(seen, n);
		for (std::size_t i = 0; i < n; i++)
			CHECK_AT(v[i], i, i);
		writer.join();
		CHECK_EQ(v.place(0), ADSM_ONCE_ON_HOST);
	}
}

/* A sum over what is still being computed: units of one element. */
static void reduction()
{
	const int n = 20000;
	vector<long> v(n);
	std::thread writers[2];
	long sum;

	for (int w = 0; w < 2; w++)
		writers[w] = std::thread([&v, w] {
			for (int i = w; i < n; i += 2) {
				auto unit = v.get_uninitialized(static_cast<std::size_t>(i));

				unit[0] = i;
				unit.set();
			}
		});
	sum = std::accumulate(v.begin(), v.end(), 0L);
	for (std::thread &writer : writers)
		writer.join();
	CHECK_EQ(sum, static_cast<long>(n) * (n - 1) / 2);
	CHECK_EQ(*std::max_element(v.begin(), v.end()), n - 1);
	CHECK_EQ(std::distance(v.begin(), v.end()), n);
}

static int value(std::size_t row, std::size_t column)
{
	return static_cast<int>((row * 31 + column * 7) % 23) - 11;
}

static void fill(matrix<int> &m, std::size_t tile_rows, std::size_t tile_columns)
{
	for (std::size_t down = 0; down < m.tiles_down(); down++)
		for (std::size_t across = 0; across < m.tiles_across(); across++) {
			auto tile = m.get_uninitialized(down, across);

			for (std::size_t r = 0; r < tile.rows(); r++)
				for (std::size_t c = 0; c < tile.columns(); c++)
					tile(r, c) = value(down * tile_rows + r, across * tile_columns + c);
			tile.set();
		}
}

/* A tile of the product as soon as a row of tiles and a column of tiles are set; nothing divides anything. */
static void product()
{
	const std::size_t rows = 70, inner = 45, columns = 58, th = 16, tk = 20, tw = 12;
	matrix<int> a(rows, inner, th, tk), b(inner, columns, tk, tw), c(rows, columns, th, tw);
	std::vector<std::thread> threads;

	for (std::size_t first = 0; first < 3; first++)
		threads.emplace_back([&, first] {
			for (std::size_t u = first; u < c.units(); u += 3) {
				const std::size_t down = u / c.tiles_across(), across = u % c.tiles_across();
				auto out = c.get_uninitialized(down, across);

				for (std::size_t r = 0; r < out.rows(); r++)
					std::fill(out.row(r), out.row(r) + out.columns(), 0);
				for (std::size_t k = 0; k < a.tiles_across(); k++) {
					auto x = a.get(down, k), y = b.get(k, across);

					CHECK_EQ(x.columns(), y.rows());
					for (std::size_t r = 0; r < out.rows(); r++)
						for (std::size_t i = 0; i < x.columns(); i++)
							for (std::size_t q = 0; q < out.columns(); q++)
								out(r, q) += x(r, i) * y(i, q);
				}
				out.set();
			}
		});
	threads.emplace_back([&] { fill(b, tk, tw); });
	threads.emplace_back([&] { fill(a, th, tk); });
	for (std::size_t r = 0; r < rows; r++)
		for (std::size_t q = 0; q < columns; q++) {
			int want = 0;

			for (std::size_t i = 0; i < inner; i++)
				want += value(r, i) * value(i, q);
			CHECK_AT(c(r, q), r, want);
		}
	for (std::thread &thread : threads)
		thread.join();
	CHECK_EQ(c.get(4, 4).rows(), 6);
	CHECK_EQ(c.get(4, 4).columns(), 10);
	CHECK_EQ(c.get(4, 4).stride(), tw);
	throws(std::errc::invalid_argument, "counted from 0", [&] { c.get(0, 5); });
	throws(std::errc::invalid_argument, "counted from 0", [&] { c.get(5, 0); });
	CHECK(!c.try_get(0, 5) && !c.try_get(static_cast<std::size_t>(-1), 0));
}

/* An exception in the midst of writing tells nobody; the unit can be begun again. */
static void unwinding()
{
	vector<int> v(4, 2);

	try {
		auto unit = v.get_uninitialized(1);

		unit[0] = 1;
		throw std::runtime_error("half written");
	} catch (const std::runtime_error &) {
	}
	CHECK(!v.is_set(1) && !v.try_get(1));
	{
		auto unit = v.get_uninitialized(1);
		auto moved = std::move(unit);

		CHECK(!unit && moved.size() == 2);
		throws(std::errc::invalid_argument, "", [&] { unit.set(); });
		moved[0] = 5;
		moved[1] = 6;
		unit = std::move(moved);
		CHECK(!moved && unit.size() == 2);
		unit.set();
	}
	CHECK(v.is_set(1) && v.try_get(1)[1] == 6);
	CHECK_EQ(v[2], 5);
}

static void misuse()
{
	vector<int> v(10, 5);
	matrix<short> m(4, 4, 2, 2);

	v.get_uninitialized(0);
	v.set(0);
	throws(std::errc::file_exists, "unit 0", [&] { v.set(0); });
	throws(std::errc::file_exists, "unit 0", [&] { v.get_uninitialized(0); });
	throws(std::errc::invalid_argument, "adsmOnceFresh()", [&] { v.set(1); });
	throws(std::errc::invalid_argument, "has 2 units", [&] { v.get(2); });
	throws(std::errc::invalid_argument, "has 2 units", [&] { v[10]; });
	throws(std::errc::invalid_argument, "has 2 units", [&] { v.place(2); });
	throws(std::errc::invalid_argument, "at least 1", [] { vector<int> none(0); });
	throws(std::errc::invalid_argument, "at least 1", [] { vector<int> none(10, 0); });
	throws(std::errc::invalid_argument, "at least 1", [] { matrix<int> none(10, 10, 5, 0); });
	throws(std::errc::not_enough_memory, "memory", [] { vector<long> none(4, static_cast<std::size_t>(-1) / 4); });
	throws(std::errc::not_enough_memory, "arena", [] { vector<long> none(static_cast<std::size_t>(1) << 60); });
	throws(std::errc::invalid_argument, "device 7: there are ", [] {
		vector<int> none(10, 1, adsmOncePlaced([](void *, std::size_t) { return 7; }, nullptr));
	});
	m.get_uninitialized(1, 1);
	m.set(1, 1);
	throws(std::errc::file_exists, "unit 3", [&] { m.set(1, 1); });
	throws(std::errc::invalid_argument, "counted from 0", [&] { m.get_uninitialized(2, 0); });
}

static void owning()
{
	std::vector<vector<int> > all;
	vector<int> one(3);

	for (int i = 0; i < 20; i++) {
		vector<int> v(100, 10);

		v.get_uninitialized(0)[0] = i;
		v.set(0);
		all.push_back(std::move(v));
	}
	for (int i = 0; i < 20; i++)
		CHECK_EQ(all[static_cast<std::size_t>(i)][0], i);
	one = std::move(all[7]);
	CHECK_EQ(one.size(), 100);
	CHECK_EQ(one[0], 7);
	one.free();

	/* While somebody waits it is not freed, and says so. */
	std::unique_ptr<vector<int> > awaited(new vector<int>(2));
	std::thread reader([&] { CHECK_EQ((*awaited)[1], 3); });

	while (adsmOnceWaiters(nullptr, 0, 0) < 1)
		std::this_thread::yield();
	throws(std::errc::device_or_resource_busy, "unit 1", [&] { awaited->free(); });
	awaited->get_uninitialized(1)[0] = 3;
	awaited->set(1);
	reader.join();
	awaited->free();
}

/* Many generations pass through few units. */
static void generations()
{
	const std::size_t n = 2000;
	vector<int> v(8, 2);
	matrix<int> m(2, 3, 2, 1);
	std::thread writer([&] {
		for (std::size_t i = 0; i < n; i++) {
			auto unit = v.get_room(i % v.units());

			std::fill(unit.begin(), unit.end(), static_cast<int>(i));
			unit.set();
		}
	});
	std::thread middle([&] {
		for (std::size_t i = 0; i < n; i++) {
			auto out = m.get_room(0, i % 3);
			auto in = v.get(i % v.units());

			out(1, 0) = in[1] + 1;
			v.make_empty(i % v.units());
			out.set();
		}
	});

	for (std::size_t i = 0; i < n; i++) {
		CHECK_EQ(m.get(0, i % 3)(1, 0), static_cast<int>(i) + 1);
		m.make_empty(0, i % 3);
	}
	writer.join();
	middle.join();
	throws(std::errc::invalid_argument, "is not set", [&] { m.make_empty(1); });
	throws(std::errc::invalid_argument, "unit 3", [&] { m.make_empty(1, 0); });
}

int main()
{
	units();
	reduction();
	product();
	unwinding();
	misuse();
	owning();
	generations();
	/* Nothing has stayed. */
	CHECK_OK(adsmShutdown());
	return 0;
}
