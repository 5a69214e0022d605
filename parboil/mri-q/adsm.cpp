/* SPDX-License-Identifier: MIT */
/*
 * adsm.cpp - mri-q in C++, as a program of its own: buffers, and kernel calls that the compiler checks. Read beside
 * adsm.c. mri-q-cpp MODULE INPUT OUTPUT TILE
 */
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <vector>

#include "mri_q.hpp"	/* adsmcc --header */

namespace {

/* One record of the table in constant memory; as in kernels.c. */
struct ksample {
	float kx, ky, kz, m;
};

/* Read an array from the file, into shared or private memory. */
template <class Array> Array read(std::istream &in, std::size_t n)
{
	Array array(n);

	in.read(reinterpret_cast<char *>(array.data()), static_cast<std::streamsize>(n * sizeof(*array.data())));
	return array;
}

template <class Array> void write(std::ostream &out, const Array &array)
{
	out.write(reinterpret_cast<const char *>(array.data()), static_cast<std::streamsize>(array.size_bytes()));
}

void run(const char *module_path, const char *input, const char *output, std::size_t tile)
{
	adsm::kernel_module module(module_path);
	adsm::kernel<mri_q::ComputePhiMag> compute_phi_mag(module);
	adsm::kernel<mri_q::ComputeQ> compute_q(module);
	std::ifstream in(input, std::ios::binary);
	std::ofstream out(output, std::ios::binary);
	std::int32_t n_samples = 0, n_voxels = 0;

	in.exceptions(std::ios::failbit | std::ios::badbit);
	out.exceptions(std::ios::failbit | std::ios::badbit);
	in.read(reinterpret_cast<char *>(&n_samples), sizeof(n_samples));
	in.read(reinterpret_cast<char *>(&n_voxels), sizeof(n_voxels));
	const auto k = static_cast<std::size_t>(n_samples), v = static_cast<std::size_t>(n_voxels);
	const auto kx = read<std::vector<float>>(in, k), ky = read<std::vector<float>>(in, k);
	const auto kz = read<std::vector<float>>(in, k);
	const auto x = read<adsm::buffer<float>>(in, v), y = read<adsm::buffer<float>>(in, v);
	const auto z = read<adsm::buffer<float>>(in, v);
	const auto phiR = read<adsm::buffer<float>>(in, k), phiI = read<adsm::buffer<float>>(in, k);
	adsm::buffer<float> phiMag(k), Qr(v), Qi(v);
	std::vector<ksample> samples(k);

	compute_phi_mag.each<512>(k, phiR, phiI, phiMag, n_samples);
	adsm::sync();
	for (std::size_t i = 0; i < k; i++)
		samples[i] = ksample{ kx[i], ky[i], kz[i], phiMag[i] };

	std::fill(Qr.begin(), Qr.end(), 0.0f);
	std::fill(Qi.begin(), Qi.end(), 0.0f);
	for (std::size_t first = 0; first < k; first += tile) {
		const adsm::slice some{ samples.data() + first, std::min(tile, k - first) };

		compute_q.each<256>(v, some, static_cast<int>(some.size()), x, y, z, Qr, Qi);
		adsm::sync();
	}

	out.write(reinterpret_cast<const char *>(&n_voxels), sizeof(n_voxels));
	write(out, Qr);
	write(out, Qi);
	out.close();
}

}	/* namespace */

int main(int argc, char **argv)
{
	if (argc != 5) {
		std::cerr << "usage: mri-q-cpp MODULE INPUT OUTPUT TILE\n";
		return 2;
	}
	try {
		run(argv[1], argv[2], argv[3], std::strtoul(argv[4], nullptr, 10));
	} catch (const std::exception &error) {
		std::cerr << "mri-q-cpp: " << error.what() << '\n';
		return 1;
	}
	return 0;
}
