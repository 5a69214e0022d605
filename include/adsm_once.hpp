/* SPDX-License-Identifier: MIT */
/* adsm_once.hpp - write-once objects in C++: vectors and tiled matrices that readers wait for. */
#ifndef ADSM_ONCE_HPP
#define ADSM_ONCE_HPP

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <type_traits>
#include <utility>

#include "adsm_once.h"

namespace adsm {
namespace once {

/**
 * The data structures of the paper (Breitbart, Programming hybrid systems with implicit memory based synchronization,
 * sections IV and VII) over adsm_once.h, which has the rules. C++11 or later.
 *
 *	adsm::once::vector<int> blocks(n, 256), sums(n / 256);
 *
 *	auto block = blocks.get_uninitialized(i);	one thread
 *	std::fill(block.begin(), block.end(), 1);
 *	block.set();
 *
 *	for (int x : blocks.get(i))			another one: waits until it is set
 *		total += x;
 *
 * What an element is does not depend on how many of them make a unit: the size of synchronisation is a number that the
 * constructor takes, and may be tuned. Data structures are owned by one, who may move them; what they give are views,
 * valid as long as the structure is. Any number of threads may use one structure at once, but for moving and freeing.
 *
 * What goes wrong is a std::system_error: code() has the errno of adsm_once.h (in generic_category(), so that it can be
 * compared with std::errc), what() the library's sentence. Where a thread is cancelled it is unwound.
 */

/** Where the elements are: of adsm_once.h, or from these functions. */
typedef adsmOnceDistribution distribution;

inline distribution on_host()
{
	return adsmOnceMake_(ADSM_ONCE_HOST, 0, 0, 0, 0);
}

inline distribution on_device(int device)
{
	return adsmOnceOnDevice(device);
}

/* @units: of each stripe; 0: as many stripes as there are devices. */
inline distribution striped(std::size_t units = 0)
{
	return adsmOnceStriped(units);
}

/* For a matrix, which says how many tiles there are. @grid_rows: of devices; 0: the squarest grid. */
inline distribution tile_cyclic(unsigned grid_rows = 0)
{
	distribution where = adsmOnceTiled(0, 0);

	where.grid_rows = grid_rows;
	return where;
}

/* Not inline where it is called: what goes wrong does not slow down what does not. */
[[noreturn]] __attribute__((noinline, cold)) inline void fail_(int error)
{
	throw std::system_error(error < 0 ? -error : error, std::generic_category(), adsmLastError());
}

/* Sizes that no memory has are told as such. */
inline std::size_t times_(std::size_t a, std::size_t b)
{
	if (b && a > static_cast<std::size_t>(-1) / b)
		throw std::system_error(ENOMEM, std::generic_category(), "a write-once object larger than memory");
	return a * b;
}

/* How many units of @size elements @n make; none where that is 0, which the library is asked to tell. */
inline std::size_t units_(std::size_t n, std::size_t size)
{
	return size ? n / size + (n % size != 0) : 0;
}

/** The elements of a unit of a vector: const T of one that is set, T of one to be written. */
template <class T> class stripe {
public:
	stripe() : data_(nullptr), size_(0) {}
	stripe(T *data, std::size_t size) : data_(data), size_(size) {}
	T *data() const { return data_; }
	/* The last unit of a vector has what is left. */
	std::size_t size() const { return size_; }
	T *begin() const { return data_; }
	T *end() const { return data_ + size_; }
	T &operator[](std::size_t i) const { return data_[i]; }
	/* try_get() gives none where the unit is not set. */
	explicit operator bool() const { return data_ != nullptr; }

private:
	T *data_;
	std::size_t size_;
};

/** The elements of a tile of a matrix; row by row, row(r + 1) == row(r) + stride(). */
template <class T> class tile {
public:
	tile() : data_(nullptr), rows_(0), columns_(0), stride_(0) {}
	tile(T *data, std::size_t rows, std::size_t columns, std::size_t stride)
		: data_(data), rows_(rows), columns_(columns), stride_(stride) {}
	T *data() const { return data_; }
	/* Tiles at the matrix's lower and right edge have what is left. */
	std::size_t rows() const { return rows_; }
	std::size_t columns() const { return columns_; }
	std::size_t stride() const { return stride_; }
	T *row(std::size_t r) const { return data_ + r * stride_; }
	T &operator()(std::size_t r, std::size_t c) const { return data_[r * stride_ + c]; }
	explicit operator bool() const { return data_ != nullptr; }

private:
	T *data_;
	std::size_t rows_, columns_, stride_;
};

/**
 * A unit that is being written: a stripe<T> or tile<T>, and set(). Moved, not copied: who has it writes the unit.
 * Where it ends without set(), by an exception, nobody is told of a unit that may be half written: it can be begun
 * again by get_uninitialized().
 */
template <class View> class fresh : public View {
public:
	fresh(const View &view, adsmOnce *once, std::size_t unit) : View(view), once_(once), unit_(unit) {}
	fresh(fresh &&other) noexcept : View(other), once_(other.once_), unit_(other.unit_)
	{
		other.end();
	}
	fresh &operator=(fresh &&other) noexcept
	{
		fresh moved(std::move(other));

		std::swap(static_cast<View &>(*this), static_cast<View &>(moved));
		std::swap(once_, moved.once_);
		std::swap(unit_, moved.unit_);
		return *this;
	}

	/* All is written: whoever waits for it goes on. It names no elements any more, as they must not change. */
	void set()
	{
		int error = once_ ? adsmOnceSet(once_, unit_) : -EINVAL;

		if (error)
			fail_(error);
		end();
	}

private:
	void end()
	{
		static_cast<View &>(*this) = View();
		once_ = nullptr;
	}

	adsmOnce *once_;
	std::size_t unit_;
};

/** What vectors and matrices have in common: units, by number. */
template <class T> class object {
	static_assert(std::is_trivially_copyable<T>::value, "elements are bytes, for the CPU and for devices");
	static_assert(alignof(T) <= 4096, "objects begin at pages");

public:
	object(object &&other) noexcept : once_(other.once_) { other.once_ = nullptr; }
	object &operator=(object &&other) noexcept
	{
		object moved(std::move(other));

		std::swap(once_, moved.once_);
		return *this;
	}
	/* As a file's stream: what goes wrong here is not told. While somebody waits the memory stays. */
	~object() { adsmOnceFree(once_); }

	/* Frees the elements before the end, and tells: EBUSY while somebody waits for a unit. */
	void free()
	{
		int error = adsmOnceFree(once_);

		if (error)
			fail_(error);
		once_ = nullptr;
	}

	std::size_t units() const { return once_->count; }
	bool is_set(std::size_t unit) const { return adsmOnceTry(once_, unit) != nullptr; }
	/* Where the unit begins: a device, or ADSM_ONCE_ON_HOST. */
	int place(std::size_t unit) const
	{
		int device = ADSM_ONCE_ON_HOST, error = adsmOncePlace(once_, unit, &device);

		if (error)
			fail_(error);
		return device;
	}
	/* For the functions of adsm_once.h. */
	adsmOnce *handle() { return once_; }
	const adsmOnce *handle() const { return once_; }
	/* For kernels, adsmPtr(object.address()), and for plain loads that wait. */
	void *address() const { return once_->address; }

protected:
	object(std::size_t units, std::size_t size, const distribution &where)
		: once_(adsmOnceAlloc(units, size, &where))
	{
		if (!once_)
			fail_(errno);
	}
	const T *read(std::size_t unit) const
	{
		const void *p = adsmOnceGet(once_, unit);

		if (!p)
			fail_(errno);
		return static_cast<const T *>(p);
	}
	const T *try_read(std::size_t unit) const { return static_cast<const T *>(adsmOnceTry(once_, unit)); }
	T *write(std::size_t unit)
	{
		void *p = adsmOnceFresh(once_, unit);

		if (!p)
			fail_(errno);
		return static_cast<T *>(p);
	}
	void publish(std::size_t unit)
	{
		int error = adsmOnceSet(once_, unit);

		if (error)
			fail_(error);
	}

private:
	adsmOnce *once_;
};

/** Elements one after the other; so many of them as the constructor is told make a unit. */
template <class T> class vector : public object<T> {
public:
	/* Reads the elements in order, waiting for each: so algorithms of the standard library can start early. */
	class const_iterator {
	public:
		typedef std::forward_iterator_tag iterator_category;
		typedef T value_type;
		typedef std::ptrdiff_t difference_type;
		typedef const T *pointer;
		typedef const T &reference;

		const_iterator() : vector_(nullptr), at_(0) {}
		const_iterator(const vector *of, std::size_t at) : vector_(of), at_(at) {}
		reference operator*() const { return (*vector_)[at_]; }
		pointer operator->() const { return &(*vector_)[at_]; }
		const_iterator &operator++()
		{
			at_++;
			return *this;
		}
		const_iterator operator++(int) { return const_iterator(vector_, at_++); }
		bool operator==(const const_iterator &other) const { return at_ == other.at_; }
		bool operator!=(const const_iterator &other) const { return at_ != other.at_; }

	private:
		const vector *vector_;
		std::size_t at_;
	};
	typedef T value_type;

	/* @size: elements. @unit: elements that are set at once; 1: each by itself. */
	explicit vector(std::size_t size, std::size_t unit = 1, const distribution &where = on_host())
		: object<T>(units_(size, unit), times_(unit, sizeof(T)), where), size_(size), unit_(unit) {}

	std::size_t size() const { return size_; }
	std::size_t unit_size() const { return unit_; }

	/* Waits until the unit is set. */
	stripe<const T> get(std::size_t unit) const { return stripe<const T>(this->read(unit), elements(unit)); }
	/* Does not wait: none where the unit is not set. */
	stripe<const T> try_get(std::size_t unit) const
	{
		const T *p = this->try_read(unit);

		return p ? stripe<const T>(p, elements(unit)) : stripe<const T>();
	}
	fresh<stripe<T> > get_uninitialized(std::size_t unit)
	{
		return fresh<stripe<T> >(stripe<T>(this->write(unit), elements(unit)), this->handle(), unit);
	}
	/* As set() of what get_uninitialized() gave, which also several threads may have. */
	void set(std::size_t unit) { this->publish(unit); }

	/* An element; waits until its unit is set. */
	const T &operator[](std::size_t i) const { return this->read(i / unit_)[i % unit_]; }
	const_iterator begin() const { return const_iterator(this, 0); }
	const_iterator end() const { return const_iterator(this, size_); }

private:
	std::size_t elements(std::size_t unit) const
	{
		return size_ - unit * unit_ < unit_ ? size_ - unit * unit_ : unit_;
	}

	std::size_t size_, unit_;
};

/** A matrix of tiles, row by row, each of which is a unit and in one piece, row by row. */
template <class T> class matrix : public object<T> {
public:
	/* @where: also tile_cyclic(). */
	matrix(std::size_t rows, std::size_t columns, std::size_t tile_rows, std::size_t tile_columns,
	       const distribution &where = on_host())
		: object<T>(times_(units_(rows, tile_rows), units_(columns, tile_columns)),
			    times_(times_(tile_rows, tile_columns), sizeof(T)),
			    tiled(where, units_(rows, tile_rows), units_(columns, tile_columns))),
		  rows_(rows), columns_(columns), tile_rows_(tile_rows), tile_columns_(tile_columns),
		  across_(units_(columns, tile_columns)) {}

	std::size_t rows() const { return rows_; }
	std::size_t columns() const { return columns_; }
	/* Of the matrix: how many tiles lie below, and beside, each other. */
	std::size_t tiles_down() const { return units_(rows_, tile_rows_); }
	std::size_t tiles_across() const { return across_; }
	/* The number of a tile among the units; one beyond all of them where there is no such tile. */
	std::size_t unit(std::size_t down, std::size_t across) const
	{
		return across < across_ && down < tiles_down() ? down * across_ + across : this->units();
	}

	tile<const T> get(std::size_t down, std::size_t across) const
	{
		return cut(this->read(unit(down, across)), down, across);
	}
	tile<const T> try_get(std::size_t down, std::size_t across) const
	{
		const T *p = this->try_read(unit(down, across));

		return p ? cut(p, down, across) : tile<const T>();
	}
	fresh<tile<T> > get_uninitialized(std::size_t down, std::size_t across)
	{
		const std::size_t at = unit(down, across);

		return fresh<tile<T> >(cut(this->write(at), down, across), this->handle(), at);
	}
	void set(std::size_t down, std::size_t across) { this->publish(unit(down, across)); }

	/* An element; waits until its tile is set. */
	const T &operator()(std::size_t row, std::size_t column) const
	{
		const T *p = this->read(unit(row / tile_rows_, column / tile_columns_));

		return p[row % tile_rows_ * tile_columns_ + column % tile_columns_];
	}

private:
	static distribution tiled(distribution where, std::size_t down, std::size_t across)
	{
		where.rows = down;
		where.columns = across;
		return where;
	}
	template <class U> tile<U> cut(U *p, std::size_t down, std::size_t across) const
	{
		const std::size_t below = rows_ - down * tile_rows_, beside = columns_ - across * tile_columns_;

		return tile<U>(p, below < tile_rows_ ? below : tile_rows_,
			       beside < tile_columns_ ? beside : tile_columns_, tile_columns_);
	}

	std::size_t rows_, columns_, tile_rows_, tile_columns_, across_;
};

}	/* namespace once */
}	/* namespace adsm */

#endif
