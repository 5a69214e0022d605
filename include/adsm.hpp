/* SPDX-License-Identifier: MIT */
/* adsm.hpp - shared memory in C++: buffers, allocators, modules, kernel calls that the compiler checks, errors. */
#ifndef ADSM_HPP
#define ADSM_HPP

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif
#if __cplusplus >= 202002L && __has_include(<span>)
#include <span>
#endif

#include "adsm.h"

namespace adsm {

/**
 * The interface of adsm.h for C++17 and later
 *
 * The rules of adsm.h hold. All functions of adsm.h can be used beside these classes.
 *
 *	#include "kernel.hpp"				// adsmcc -o kernel.adsm --header kernel.hpp kernel.c
 *
 *	adsm::kernel_module module("kernel.adsm");
 *	adsm::kernel<kernel::vecadd> vecadd(module);
 *	adsm::buffer<float> a(n), b(n), c(n);
 *
 *	std::iota(a.begin(), a.end(), 0.0f);
 *	std::fill(b.begin(), b.end(), 1.0f);
 *	vecadd.each<256>(n, a, b, c, int(n));
 *	adsm::sync();
 *	std::cout << c[n - 1];
 *
 * - Errors: a function with a parameter of type std::error_code & stores the error there. Functions whose names begin
 *   with try_ return it. All others throw adsm::error.
 * - Without exceptions (-fno-exceptions) these others print the error and call std::terminate().
 * - Threads: as in adsm.h. No thread may use a buffer or module while another one moves or frees it.
 */

/* ---- errors ------------------------------------------------------------------------------ */

namespace detail {

class category_of_errors final : public std::error_category {
public:
	const char *name() const noexcept override { return "adsm"; }
	std::string message(int value) const override { return adsmErrorString(-value); }
	/* Codes can be compared with std::errc. */
	std::error_condition default_error_condition(int value) const noexcept override
	{
		return std::error_condition(value, std::generic_category());
	}
};

}	/* namespace detail */

/** Return the category of the library's error codes. Values are those of errno; messages those of adsmErrorString(). */
inline const std::error_category &category() noexcept
{
	static const detail::category_of_errors only;

	return only;
}

/** Convert 0 or a negative errno value, as functions of the library return it, to an error code. */
inline std::error_code make_error_code(int result) noexcept
{
	return std::error_code(result < 0 ? -result : result, category());
}

/** An error of the library. what() contains the sentence of adsmLastError(). */
class error : public std::system_error {
public:
	explicit error(const std::error_code &code, const char *sentence = adsmLastError())
		: std::system_error(code, sentence) {}
};

namespace detail {

/* Not inline: code for errors would slow down its callers. */
[[noreturn]] __attribute__((noinline, cold)) inline void raise(const std::error_code &code,
							       const char *sentence = adsmLastError())
{
#if defined(__cpp_exceptions)
	throw error(code, sentence);
#else
	std::fprintf(stderr, "adsm: %s (%s)\n", sentence, adsmErrorString(-code.value()));
	std::terminate();
#endif
}

inline void check(const std::error_code &code)
{
	if (code)
		raise(code);
}

}	/* namespace detail */

/** Wait for the calls that the thread has made since its last sync: adsmSync(). */
inline std::error_code try_sync() noexcept
{
	return make_error_code(adsmSync());
}

inline void sync()
{
	detail::check(try_sync());
}

/* ---- shared memory ----------------------------------------------------------------------- */

/** Options of an allocation. The fields have the same meaning as in adsmAllocOptions. */
struct alloc_options {
	const char *protocol = nullptr;
	std::size_t block_size = 0;
	int device = ADSM_DEVICE_CURRENT;
	bool populate = false;		/* ADSM_ALLOC_POPULATE */
	bool zero = false;		/* ADSM_ALLOC_ZERO; otherwise the contents are undefined */
};

namespace detail {

/* Allocate memory for @n elements of @size bytes. If the product overflows, the library reports the error. */
inline void *allocate(std::size_t n, std::size_t size, const alloc_options &options, std::error_code &error) noexcept
{
	const std::size_t most = std::numeric_limits<std::size_t>::max();
	adsmAllocOptions how = ADSM_ALLOC_OPTIONS_INIT;
	void *p;

	how.protocol = options.protocol;
	how.block_size = options.block_size;
	how.device = options.device;
	how.flags = (options.populate ? ADSM_ALLOC_POPULATE : 0) | (options.zero ? ADSM_ALLOC_ZERO : 0);
	p = adsmAllocWith(n > most / size ? most : n * size, &how);
	error = p ? std::error_code() : make_error_code(-errno);
	return p;
}

/* Objects begin at pages. */
constexpr std::size_t alignment = 4096;

}	/* namespace detail */

/**
 * An array in shared memory. It owns its memory, and can be moved, but not copied.
 *
 * Its elements are undefined at first, unless alloc_options::zero is set. An empty buffer has no memory. Kernel calls
 * take buffers in place of pointers. In C++20 a buffer converts to a std::span.
 */
template <class T> class buffer {
	static_assert(std::is_trivially_copyable<T>::value, "elements are bytes, for the CPU and for devices");
	static_assert(alignof(T) <= detail::alignment, "objects begin at pages");

public:
	using value_type = T;
	using size_type = std::size_t;
	using difference_type = std::ptrdiff_t;
	using reference = T &;
	using const_reference = const T &;
	using pointer = T *;
	using const_pointer = const T *;
	using iterator = T *;
	using const_iterator = const T *;
	using reverse_iterator = std::reverse_iterator<iterator>;
	using const_reverse_iterator = std::reverse_iterator<const_iterator>;

	buffer() noexcept = default;
	/* @n: number of elements. */
	explicit buffer(size_type n, const alloc_options &options = alloc_options())
	{
		std::error_code error;

		*this = buffer(n, options, error);
		detail::check(error);
	}
	/* If the allocation fails, @error is set and the buffer is empty. */
	buffer(size_type n, const alloc_options &options, std::error_code &error) noexcept
		: data_(n ? static_cast<T *>(detail::allocate(n, sizeof(T), options, error)) : nullptr),
		  size_(data_ ? n : 0)
	{
		if (!n)
			error.clear();
	}
	buffer(size_type n, std::error_code &error) noexcept : buffer(n, alloc_options(), error) {}
	buffer(buffer &&other) noexcept
		: data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
	buffer &operator=(buffer &&other) noexcept
	{
		buffer moved(std::move(other));

		swap(moved);
		return *this;
	}
	/* Waits for calls that may use the memory. Ignores errors: if a range is held, the memory is not freed. */
	~buffer() { adsmFree(data_); }

	/* Free the memory before the destructor does. The buffer is empty then. The errors are those of adsmFree(). */
	std::error_code try_free() noexcept
	{
		const std::error_code error = make_error_code(adsmFree(data_));

		if (!error)
			release();
		return error;
	}
	void free() { detail::check(try_free()); }
	/* Give up the memory, which the caller frees by adsmFree(). */
	T *release() noexcept
	{
		size_ = 0;
		return std::exchange(data_, nullptr);
	}
	void swap(buffer &other) noexcept
	{
		std::swap(data_, other.data_);
		std::swap(size_, other.size_);
	}
	friend void swap(buffer &a, buffer &b) noexcept { a.swap(b); }

	/* Name the object, for reports and messages: adsmSetName(). An empty buffer has no name. */
	buffer &name(const char *text) noexcept
	{
		if (data_)
			adsmSetName(data_, text);
		return *this;
	}

	T *data() noexcept { return data_; }
	const T *data() const noexcept { return data_; }
	size_type size() const noexcept { return size_; }
	size_type size_bytes() const noexcept { return size_ * sizeof(T); }
	bool empty() const noexcept { return !size_; }
	T &operator[](size_type i) noexcept { return data_[i]; }
	const T &operator[](size_type i) const noexcept { return data_[i]; }
	T &front() noexcept { return data_[0]; }
	const T &front() const noexcept { return data_[0]; }
	T &back() noexcept { return data_[size_ - 1]; }
	const T &back() const noexcept { return data_[size_ - 1]; }
	iterator begin() noexcept { return data_; }
	iterator end() noexcept { return data_ + size_; }
	const_iterator begin() const noexcept { return data_; }
	const_iterator end() const noexcept { return data_ + size_; }
	const_iterator cbegin() const noexcept { return data_; }
	const_iterator cend() const noexcept { return data_ + size_; }
	reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
	reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
	const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
	const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
#if defined(__cpp_lib_span)
	std::span<T> span() noexcept { return std::span<T>(data_, size_); }
	std::span<const T> span() const noexcept { return std::span<const T>(data_, size_); }
#endif

private:
	T *data_ = nullptr;
	size_type size_ = 0;
};

/**
 * An allocator of shared memory, for containers: std::vector<float, adsm::allocator<float>>.
 *
 * Each allocation is an object of whole pages. Use it for a small number of large arrays. Any such allocator can free
 * what another one has allocated. allocate() throws adsm::error.
 */
template <class T> class allocator {
	static_assert(alignof(T) <= detail::alignment, "objects begin at pages");

public:
	using value_type = T;
	using is_always_equal = std::true_type;
	using propagate_on_container_move_assignment = std::true_type;

	allocator() noexcept = default;
	explicit allocator(const alloc_options &options) noexcept : options_(options) {}
	template <class U> allocator(const allocator<U> &other) noexcept : options_(other.options()) {}

	T *allocate(std::size_t n)
	{
		std::error_code error;
		void *p = detail::allocate(n ? n : 1, sizeof(T), options_, error);

		detail::check(error);
		return static_cast<T *>(p);
	}
	void deallocate(T *p, std::size_t) noexcept { adsmFree(p); }
	const alloc_options &options() const noexcept { return options_; }

private:
	alloc_options options_;
};

template <class T, class U> bool operator==(const allocator<T> &, const allocator<U> &) noexcept
{
	return true;
}

template <class T, class U> bool operator!=(const allocator<T> &, const allocator<U> &) noexcept
{
	return false;
}

#if defined(__cpp_lib_memory_resource)
/**
 * A resource of shared memory, for containers of std::pmr. Each allocation is an object of whole pages. For small
 * allocations, use a pool or a monotonic buffer whose upstream is this resource:
 * std::pmr::unsynchronized_pool_resource pool(&resource).
 */
class memory_resource : public std::pmr::memory_resource {
public:
	memory_resource() noexcept = default;
	explicit memory_resource(const alloc_options &options) noexcept : options_(options) {}

private:
	void *do_allocate(std::size_t size, std::size_t alignment) override
	{
		std::error_code error;
		void *p;

		if (alignment > detail::alignment)
			detail::raise(make_error_code(-EINVAL), "the alignment is larger than a page");
		p = detail::allocate(size ? size : 1, 1, options_, error);
		detail::check(error);
		return p;
	}
	void do_deallocate(void *p, std::size_t, std::size_t) override { adsmFree(p); }
	bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

	alloc_options options_;
};
#endif

/* ---- arguments of calls ------------------------------------------------------------------ */

/** A pointer with an access for one call. If the kernel declares an access, the two must be equal. In CUDA C a kernel
 *  declares none: this access counts instead of the one that adsmcc has inferred. */
template <class T, unsigned Access> struct accessed {
	T *pointer;
};

/** Elements in ordinary memory, for a parameter of constants. */
template <class T> struct slice {
	T *pointer;
	std::size_t count;

	T *data() const noexcept { return pointer; }
	std::size_t size() const noexcept { return count; }
};
template <class T> slice(T *, std::size_t) -> slice<T>;

/** Memory that the threads of a block share, for kernels in the device's own language: adsmLocal(). size: in bytes. */
struct local {
	std::size_t size;
};

/** An object that the kernel reaches through pointers in memory: adsmUse() and adsmUseAll(). Follows all arguments. If
 * access is 0, the call is unnamed. */
struct use {
	use(const volatile void *p, unsigned access) noexcept : arg_(adsmUse(p, access)) {}
	static use all() noexcept { return use(adsmUseAll()); }
	adsmArg arg() const noexcept { return arg_; }

private:
	explicit use(const adsmArg &arg) noexcept : arg_(arg) {}
	adsmArg arg_;
};

namespace detail {

/* Return the address that an argument names: a pointer, or the first element of a contiguous container. */
template <class T> constexpr T *address(T *p) noexcept
{
	return p;
}

template <class T, unsigned Access> constexpr T *address(const accessed<T, Access> &p) noexcept
{
	return p.pointer;
}

template <class C> constexpr auto address(C &container) noexcept -> decltype(std::data(container))
{
	return std::data(container);
}

template <class A, class = void> constexpr bool has_address = false;
template <class A>
constexpr bool has_address<A, std::void_t<decltype(detail::address(std::declval<A &>()))>> = true;

/* Can each value of @From be stored in a @To? */
template <class To, class From> constexpr bool is_lossless()
{
	using to = std::numeric_limits<To>;
	using from = std::numeric_limits<From>;

	if constexpr (std::is_same<To, From>::value)
		return true;
	else if constexpr (!std::is_arithmetic<To>::value || !std::is_arithmetic<From>::value)
		return false;
	else
		return from::digits <= to::digits && (to::is_signed || !from::is_signed) &&
			(!to::is_integer || from::is_integer);
}

}	/* namespace detail */

/** Name the access of a pointer or buffer for one call, for a parameter without a declared access. */
template <class A> auto in(const A &a) noexcept
{
	auto *p = detail::address(a);

	return accessed<std::add_const_t<std::remove_pointer_t<decltype(p)>>, ADSM_ACCESS_IN>{ p };
}

template <class A> auto out(A &&a) noexcept
{
	auto *p = detail::address(a);

	return accessed<std::remove_pointer_t<decltype(p)>, ADSM_ACCESS_OUT>{ p };
}

template <class A> auto inout(A &&a) noexcept
{
	auto *p = detail::address(a);

	return accessed<std::remove_pointer_t<decltype(p)>, ADSM_ACCESS_INOUT>{ p };
}

/* ---- parameters of kernels, as adsmcc --header writes them -------------------------------- */

/** Stands for a type that the header of adsmcc cannot name: any type of this size. */
template <std::size_t Size> struct bytes {};

/** The description of a parameter in a module. */
struct parameter {
	const char *name, *type;	/* as in the source; of CUDA C, as in the PTX */
	unsigned kind, access;		/* ADSM_ARG_*; ADSM_ACCESS_*, or 0: not declared */
	std::size_t size;		/* bytes of the value, or of one element */
};

namespace param {

namespace detail {

using namespace adsm::detail;

/* Is @Got what a parameter of type @Want takes? */
template <class Want, class Got> struct fits : std::is_same<Want, Got> {};
template <class Got> struct fits<void, Got> : std::true_type {};
template <std::size_t Size, class Got> struct fits<bytes<Size>, Got> {
	static constexpr bool value = std::is_trivially_copyable<Got>::value && sizeof(Got) == Size;
};
template <std::size_t Size> struct fits<bytes<Size>, void> : std::false_type {};

struct ready {
	adsmArg arg_;

	adsmArg arg() const noexcept { return arg_; }
};

template <class T> struct copied {
	T value;

	adsmArg arg() const noexcept { return adsmVal(value); }
};

/* The access that an argument names; 0: none. */
template <class A> struct access_of { static constexpr unsigned value = 0; };
template <class T, unsigned Access> struct access_of<accessed<T, Access>> { static constexpr unsigned value = Access; };

}	/* namespace detail */

template <class... P> struct list {};

/** A pointer. Takes a pointer, a buffer, another container that has data(), in(), out(), inout(), or nullptr. */
template <class T, unsigned Access> struct pointer {
	template <class A> static auto hold(A &&a) noexcept
	{
		using argument = std::remove_cv_t<std::remove_reference_t<A>>;

		if constexpr (std::is_null_pointer<argument>::value) {
			return detail::ready{ adsmPtr(nullptr) };
		} else {
			static_assert(detail::has_address<std::remove_reference_t<A>>,
				      "this parameter is a pointer: pass a pointer or a buffer");
			using element = std::remove_pointer_t<decltype(detail::address(a))>;
			constexpr unsigned named = detail::access_of<argument>::value;

			static_assert(detail::fits<T, std::remove_cv_t<element>>::value,
				      "the elements do not have the type that the kernel declares");
			static_assert(Access == ADSM_ACCESS_IN || named == ADSM_ACCESS_IN ||
				      !std::is_const<element>::value,
				      "the kernel writes to this memory, which is const");
			static_assert(!named || !Access || named == Access || std::is_void<T>::value,
				      "the kernel declares another access");
			return detail::ready{ adsmArgMake_(ADSM_ARG_POINTER, named,
							   const_cast<const std::remove_cv_t<element> *>(
								   detail::address(a)), 0) };
		}
	}
};
template <class T> using in = pointer<T, ADSM_ACCESS_IN>;
template <class T> using out = pointer<T, ADSM_ACCESS_OUT>;
template <class T> using inout = pointer<T, ADSM_ACCESS_INOUT>;
template <class T> using any = pointer<T, 0>;

/** A value. Takes any type whose values the parameter can represent without loss of digits or sign. */
template <class T> struct value {
	template <class A> static auto hold(const A &a) noexcept
	{
		static_assert(detail::is_lossless<T, A>(),
			      "the parameter cannot hold all values of this type: convert the argument");
		return detail::copied<T>{ static_cast<T>(a) };
	}
};
template <std::size_t Size> struct value<bytes<Size>> {
	template <class A> static auto hold(const A &a) noexcept
	{
		static_assert(detail::fits<bytes<Size>, A>::value, "the argument has another size than the parameter");
		return detail::copied<A>{ a };
	}
};

/** An integer of unknown sign, of a kernel in CUDA C. If it has 8 bytes, it may also be an address. */
template <std::size_t Size> struct integer {
	template <class A> static auto hold(A &&a) noexcept
	{
		using argument = std::remove_cv_t<std::remove_reference_t<A>>;

		if constexpr (std::is_integral<argument>::value || std::is_enum<argument>::value) {
			static_assert(sizeof(argument) == Size, "the argument has another size than the parameter");
			return detail::copied<argument>{ a };
		} else {
			static_assert(Size == sizeof(void *), "this parameter is an integer");
			return pointer<void, 0>::hold(std::forward<A>(a));
		}
	}
};

/** Constant bytes, which the library copies. Takes an array, a container that has data() and size(), or slice(). */
template <class T> struct constant {
	template <class A> static auto hold(const A &a) noexcept
	{
		using element = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(a))>>;

		static_assert(detail::fits<T, element>::value,
			      "the elements do not have the type that the kernel declares");
		return detail::ready{ adsmConst(std::data(a), std::size(a) * sizeof(element)) };
	}
};

/** A write-once object. Takes an adsmOnce *, or a vector or matrix of adsm_once.hpp. */
template <class T, unsigned Access> struct once {
	template <class A> static auto hold(const A &a) noexcept
	{
		if constexpr (std::is_pointer<A>::value)
			return detail::ready{ adsmPtr(a->address) };
		else
			return detail::ready{ adsmPtr(a.address()) };
	}
};

/** Memory that the threads of a block share. Takes local{ size }. */
struct shared {
	static auto hold(const local &a) noexcept { return detail::ready{ adsmLocal(a.size) }; }
};

}	/* namespace param */

/* ---- modules and kernels ----------------------------------------------------------------- */

/** A module of kernels: adsmModuleLoad(). It owns its kernels, and can be moved, but not copied. */
class kernel_module {
public:
	kernel_module() noexcept = default;
	explicit kernel_module(const char *file)
	{
		std::error_code error;

		*this = kernel_module(file, error);
		detail::check(error);
	}
	kernel_module(const char *file, std::error_code &error) noexcept
		: kernel_module(adsmModuleLoad(file), 0, error) {}
	explicit kernel_module(const std::string &file) : kernel_module(file.c_str()) {}
	kernel_module(const std::string &file, std::error_code &error) noexcept : kernel_module(file.c_str(), error) {}
	/* @image, @size: the contents of a module's file: adsmModuleLoadMemory(). */
	kernel_module(const void *image, std::size_t size)
	{
		std::error_code error;

		*this = kernel_module(image, size, error);
		detail::check(error);
	}
	kernel_module(const void *image, std::size_t size, std::error_code &error) noexcept
		: kernel_module(adsmModuleLoadMemory(image, size), 0, error) {}
	kernel_module(kernel_module &&other) noexcept : module_(std::exchange(other.module_, nullptr)) {}
	kernel_module &operator=(kernel_module &&other) noexcept
	{
		kernel_module moved(std::move(other));

		std::swap(module_, moved.module_);
		return *this;
	}
	/* Waits for calls of the kernels. */
	~kernel_module() { adsmModuleUnload(module_); }

	/* Return a kernel, for adsmCall(), or nullptr; then @error is set. The module owns the kernel. */
	adsmKernel *find(const char *name, std::error_code &error) const noexcept
	{
		adsmKernel *found = adsmKernelGet(module_, name);

		error = found ? std::error_code() : make_error_code(-errno);
		return found;
	}
	adsmKernel *find(const char *name) const
	{
		std::error_code error;
		adsmKernel *found = find(name, error);

		detail::check(error);
		return found;
	}
	/* Return a variable of a module in CUDA C: adsmModuleGlobal(). An array has the type of the array. */
	template <class T> T &global(const char *name, int device = ADSM_DEVICE_CURRENT) const
	{
		std::size_t size = 0;
		void *p = adsmModuleGlobal(module_, device, name, &size);

		if (!p)
			detail::raise(make_error_code(-errno));
		if (size != sizeof(T))
			detail::raise(make_error_code(-EINVAL), "the variable has another size than the type");
		return *static_cast<T *>(p);
	}
	/* Return the module, for the functions of adsm.h. */
	adsmModule *handle() const noexcept { return module_; }
	explicit operator bool() const noexcept { return module_ != nullptr; }

private:
	kernel_module(adsmModule *module, int, std::error_code &error) noexcept : module_(module)
	{
		error = module ? std::error_code() : make_error_code(-errno);
	}

	adsmModule *module_ = nullptr;
};

namespace detail {

template <class List> struct caller;
template <class... P> struct caller<param::list<P...>> {
	template <class... A> static int call(adsmKernel *kernel, adsmDim grid, adsmDim block, A &&...args) noexcept
	{
		static_assert(sizeof...(A) >= sizeof...(P),
			      "the call has fewer arguments than the kernel has parameters");
		if constexpr (sizeof...(A) >= sizeof...(P))
			return with(kernel, grid, block, std::forward_as_tuple(std::forward<A>(args)...),
				    std::make_index_sequence<sizeof...(P)>(),
				    std::make_index_sequence<sizeof...(A) - sizeof...(P)>());
	}

private:
	/* What follows the kernel's arguments can only be uses. */
	template <class A> static const use &as_use(const A &a) noexcept
	{
		static_assert(std::is_same<A, use>::value,
			      "the call has more arguments than the kernel has parameters");
		return a;
	}

	template <class Args, std::size_t... I, std::size_t... U>
	static int with(adsmKernel *kernel, adsmDim grid, adsmDim block, [[maybe_unused]] Args args,
			std::index_sequence<I...>, std::index_sequence<U...>) noexcept
	{
		/* The values live here until the library has copied them. */
		const auto held = std::make_tuple(P::hold(std::get<I>(std::move(args)))...,
						  as_use(std::get<sizeof...(P) + U>(std::move(args)))...);

		return std::apply([&](const auto &...each) {
			const adsmArg all[] = { adsmArgMake_(ADSM_ARG_NONE, 0, nullptr, 0), each.arg()... };

			return adsmCallArgs(kernel, grid, block, all, sizeof(all) / sizeof(all[0]));
		}, held);
	}
};

}	/* namespace detail */

/**
 * A kernel of a module. @K: its description, which adsmcc --header writes. The compiler checks the number, types and
 * constness of arguments. The module must live longer than the kernel.
 */
template <class K> class kernel {
public:
	using description = K;

	kernel() noexcept = default;
	explicit kernel(const kernel_module &module) : kernel_(module.find(K::kernel_name)) {}
	kernel(const kernel_module &module, std::error_code &error) noexcept
		: kernel_(module.find(K::kernel_name, error)) {}

	/* Call the kernel: adsmCall(). Values of type use may follow the arguments. */
	template <class... A>
	[[nodiscard]] std::error_code try_call(adsmDim grid, adsmDim block, A &&...args) const noexcept
	{
		return make_error_code(detail::caller<typename K::parameter_list>::call(kernel_, grid, block,
											std::forward<A>(args)...));
	}
	template <class... A> void operator()(adsmDim grid, adsmDim block, A &&...args) const
	{
		detail::check(try_call(grid, block, std::forward<A>(args)...));
	}

	/*
	 * Call the kernel with a thread for each of @n elements, in blocks of @Threads threads. The grid is rounded up
	 * to whole blocks, so the kernel compares its index with @n. If @n is 0, nothing happens.
	 */
	template <unsigned Threads, class... A>
	[[nodiscard]] std::error_code try_each(std::size_t n, A &&...args) const noexcept
	{
		static_assert(Threads > 0 && Threads <= K::max_threads, "the kernel's blocks have fewer threads");
		if (blocks<Threads>(n) > most_blocks)
			return make_error_code(-EINVAL);
		return n ? try_call(adsmDim3(static_cast<unsigned>(blocks<Threads>(n)), 1, 1), adsmDim3(Threads, 1, 1),
				    std::forward<A>(args)...) : std::error_code();
	}
	template <unsigned Threads, class... A> void each(std::size_t n, A &&...args) const
	{
		if (blocks<Threads>(n) > most_blocks)
			detail::raise(make_error_code(-EINVAL), "a grid has at most 4294967295 blocks");
		detail::check(try_each<Threads>(n, std::forward<A>(args)...));
	}

	/* Return the kernel, for the functions of adsm.h. */
	adsmKernel *handle() const noexcept { return kernel_; }

private:
	static constexpr std::size_t most_blocks = std::numeric_limits<unsigned>::max();
	template <unsigned Threads> static constexpr std::size_t blocks(std::size_t n) noexcept
	{
		return n / Threads + (n % Threads != 0);
	}

	adsmKernel *kernel_ = nullptr;
};

}	/* namespace adsm */

#endif
