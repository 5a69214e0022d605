/* SPDX-License-Identifier: MIT */
/* refused.cpp - calls that the compiler must refuse. The comment of each has a part of the error. */
#include "cpp_kernels.hpp"

#include <vector>

namespace {

using namespace cpp_kernels;

struct other {
	char bytes[12];
};

adsm::kernel_module module_;
const adsm::kernel<scale> scale_;
const adsm::kernel<mix> mix_;
const adsm::kernel<class_> class_k;
adsm::buffer<float> f;
adsm::buffer<int> p;
adsm::buffer<double> d;
adsm::buffer<other> o;
const adsm::buffer<float> c;
const int table[4] = {};
struct pair { float x, y; } pair_;
const adsm::buffer<pair> cp;
adsm::buffer<pair> pairs;

void right()
{
	scale_.each<256>(10, f, f, 1.0f, 10);
	scale_.each<256>(10, c, nullptr, short{1}, short{10});
	mix_.each<64>(10, adsm::in(p), table, pair_, pairs, 10, adsm::use::all());
}

}	/* namespace */

void wrong()
{
	right();
	scale_.each<256>(10, f, f, 1.0f);	// refused: fewer arguments than the kernel
	scale_.each<256>(10, f, f, 1.0f, 10, 11);	// refused: more arguments than the kernel
	scale_.each<512>(10, f, f, 1.0f, 10);	// refused: the kernel's blocks have fewer threads
	scale_.each<256>(10, p, f, 1.0f, 10);	// refused: do not have the type that the kernel declares
	scale_.each<256>(10, f, c, 1.0f, 10);	// refused: which is const
	scale_.each<256>(10, f, d.data(), 1.0f, 10);	// refused: do not have the type that the kernel declares
	scale_.each<256>(10, 5, f, 1.0f, 10);	// refused: pass a pointer or a buffer
	scale_.each<256>(10, f, f, 1.0, 10);	// refused: cannot hold all values
	scale_.each<256>(10, f, f, 1.0f, 10L);	// refused: cannot hold all values
	scale_.each<256>(10, f, f, 1.0f, 10u);	// refused: cannot hold all values
	scale_.each<256>(10, f, f, f, 10);	// refused: cannot hold all values
	scale_.each<256>(10, adsm::inout(f), f, 1.0f, 10);	// refused: declares another access
	mix_.each<64>(10, p, table, pair_, o, 10);	// refused: do not have the type that the kernel declares
	mix_.each<64>(10, p, table, o, pairs, 10);	// refused: another size than the parameter
	mix_.each<64>(10, p, f, pair_, pairs, 10);	// refused: do not have the type that the kernel declares
	mix_.each<64>(10, p, table, pair_, cp, 10);	// refused: which is const
	class_k.each<64>(10, table);	// refused: do not have the type that the kernel declares
}
