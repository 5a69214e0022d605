/* SPDX-License-Identifier: MIT */
/* adsm_once.hpp - write-once objects in C++: vectors and tiled matrices whose readers wait until data is written. */
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
 * Write-once vectors and matrices
 *
 * These classes are the data structures of the paper, on top of adsm_once.h. The paper is Breitbart, Programming hybrid
 * systems with implicit memory based synchronization, sections IV and VII. The rules of adsm_once.h hold. The header
 * needs C++11 or later.
 *
 *	adsm::once::vector<int> blocks(n, 256), sums(n / 256);
 *
 *	auto block = blocks.get_uninitialized(i);	// the writer
 *	std::fill(block.begin(), block.end(), 1);
 *	block.set();
 *
 *	for (int x : blocks.get(i))			// a reader: waits until unit i is set
 *		total += x;
 *
 * - Units: the constructor takes the number of elements of a unit. A program can tune this number and need not change
 *   the types.
 * - Ownership: a vector or matrix owns its memory. It can be moved, but not copied. Member functions return views. A
 *   view is valid until the vector or matrix is freed.
 * - Threads: any number of threads may use a vector or matrix at the same time. No thread may use it while another one
 *   moves or frees it.
 * - Errors: member functions throw std::system_error. code() is the errno value of adsm_once.h in generic_category(),
 *   and can be compared with std::errc. what() contains the sentence of adsmLastError().
 * - Cancellation: a wait is a cancellation point, as in adsm_once.h. If a thread is cancelled, its stack is unwound.
 */

/** The place of the units. The functions below and those of adsm_once.h return distributions. */
typedef adsmOnceDistribution distribution;

/* All units in host memory. */
inline distribution on_host()
{
	return adsmOnceMake_(ADSM_ONCE_HOST, 0, 0, 0, 0);
}

/* All units in the memory of one device. @device: its index, or ADSM_DEVICE_CURRENT. */
inline distribution on_device(int device)
{
	return adsmOnceOnDevice(device);
}

/* Stripes of consecutive units, on the devices in turn. @units: units in a stripe; 0: one stripe per device. */
inline distribution striped(std::size_t units = 0)
{
	return adsmOnceStriped(units);
}

/*
 * The tiles of a matrix, distributed cyclically over a grid of devices. The matrix sets the number of tiles.
 *
 * @grid_rows: rows of the grid, a divisor of the number of devices; 0: the grid is as square as possible.
 */
inline distribution tile_cyclic(unsigned grid_rows = 0)
{
	distribution where = adsmOnceTiled(0, 0);

	where.grid_rows = grid_rows;
	return where;
}

/* Throw an error of the library. Not inline: code for errors would slow down its callers. */
[[noreturn]] __attribute__((noinline, cold)) inline void fail_(int error)
{
	throw std::system_error(error < 0 ? -error : error, std::generic_category(), adsmLastError());
}

/* Return the product of two sizes. If it overflows, throw ENOMEM. */
inline std::size_t times_(std::size_t a, std::size_t b)
{
	if (b && a > static_cast<std::size_t>(-1) / b)
		throw std::system_error(ENOMEM, std::generic_category(), "a write-once object larger than memory");
	return a * b;
}

/* Return the number of units that @n elements need. If @size is 0, return 0: adsmOnceAlloc() then reports the error. */
inline std::size_t units_(std::size_t n, std::size_t size)
{
	return size ? n / size + (n % size != 0) : 0;
}

/** A view of a unit of a vector. It is a stripe<const T> if the unit is set, and a stripe<T> while it is written. */
template <class T> class stripe {
public:
	stripe() : data_(nullptr), size_(0) {}
	stripe(T *data, std::size_t size) : data_(data), size_(size) {}
	T *data() const { return data_; }
	/* Return the number of elements. The last unit of a vector contains the remaining elements. */
	std::size_t size() const { return size_; }
	T *begin() const { return data_; }
	T *end() const { return data_ + size_; }
	T &operator[](std::size_t i) const { return data_[i]; }
	/* Return false if the view is empty. try_get() returns an empty view if the unit is not set. */
	explicit operator bool() const { return data_ != nullptr; }

private:
	T *data_;
	std::size_t size_;
};

/** A view of a tile of a matrix. Elements are stored row by row: row(r + 1) == row(r) + stride(). */
template <class T> class tile {
public:
	tile() : data_(nullptr), rows_(0), columns_(0), stride_(0) {}
	tile(T *data, std::size_t rows, std::size_t columns, std::size_t stride)
		: data_(data), rows_(rows), columns_(columns), stride_(stride) {}
	T *data() const { return data_; }
	/* Tiles at the lower and right edges of the matrix contain the remaining rows and columns. */
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
 * A unit while it is written: a stripe<T> or tile<T> with the member set(). It can be moved, but not copied.
 *
 * If it is destroyed before set(), for instance because of an exception, the unit stays unset. Readers do not see a
 * unit that is written in part. get_uninitialized() begins the unit again.
 */
template <class View> class fresh : public View {
public:
	fresh(const View &view, adsmOnce *once, std::size_t unit) : View(view), once_(once), unit_(unit) {}
	fresh(fresh &&other) noexcept : View(other), once_(other.once_), unit_(other.unit_)
	{
		other.close();
	}
	fresh &operator=(fresh &&other) noexcept
	{
		fresh moved(std::move(other));

		std::swap(static_cast<View &>(*this), static_cast<View &>(moved));
		std::swap(once_, moved.once_);
		std::swap(unit_, moved.unit_);
		return *this;
	}

	/* Set the unit, and wake the threads and kernels that wait for it. The view is empty then. */
	void set()
	{
		int error = once_ ? adsmOnceSet(once_, unit_) : -EINVAL;

		if (error)
			fail_(error);
		close();
	}

private:
	void close()
	{
		static_cast<View &>(*this) = View();
		once_ = nullptr;
	}

	adsmOnce *once_;
	std::size_t unit_;
};

/** The base class of vectors and matrices: an array of units. */
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
	/* Ignores errors, as the destructor of a file stream does. If a unit has waiters, its memory is not freed. */
	~object() { adsmOnceFree(once_); }

	/* Free the elements before the destructor does. Throws EBUSY if a thread, kernel or call waits for a unit. */
	void free()
	{
		int error = adsmOnceFree(once_);

		if (error)
			fail_(error);
		once_ = nullptr;
	}

	std::size_t units() const { return once_->count; }
	bool is_set(std::size_t unit) const { return adsmOnceTry(once_, unit) != nullptr; }
	/* Make a set unit empty, for the next generation. Throws EINVAL if it is not set; ENOTSUP on clusters. */
	void make_empty(std::size_t unit)
	{
		int error = adsmOnceEmpty(once_, unit);

		if (error)
			fail_(error);
	}
	/* Return the index of the device whose memory contains the unit's first byte, or ADSM_ONCE_ON_HOST. */
	int place(std::size_t unit) const
	{
		int device = ADSM_ONCE_ON_HOST, error = adsmOncePlace(once_, unit, &device);

		if (error)
			fail_(error);
		return device;
	}
	/* Return the write-once object, for the functions of adsm_once.h. */
	adsmOnce *handle() { return once_; }
	const adsmOnce *handle() const { return once_; }
	/* Return the object's address, for kernels, as adsmPtr(v.address()), and for plain loads that wait. */
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
	T *write_room(std::size_t unit)
	{
		void *p = adsmOnceRoom(once_, unit);

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

/** A vector. Each unit is a number of consecutive elements. */
template <class T> class vector : public object<T> {
public:
	/* An iterator that waits for each element. Algorithms of the standard library can start before all are set. */
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

	/*
	 * @size: number of elements, more than 0.
	 * @unit: number of elements in a unit, more than 0. The elements of a unit are set together.
	 * @where: the place of the units.
	 */
	explicit vector(std::size_t size, std::size_t unit = 1, const distribution &where = on_host())
		: object<T>(units_(size, unit), times_(unit, sizeof(T)), where), size_(size), unit_(unit) {}

	std::size_t size() const { return size_; }
	std::size_t unit_size() const { return unit_; }

	/* Wait until a unit is set, and return its elements. */
	stripe<const T> get(std::size_t unit) const { return stripe<const T>(this->read(unit), elements(unit)); }
	/* Return the elements of a unit, or an empty view if the unit is not set. The function does not wait. */
	stripe<const T> try_get(std::size_t unit) const
	{
		const T *p = this->try_read(unit);

		return p ? stripe<const T>(p, elements(unit)) : stripe<const T>();
	}
	/* Begin to write a unit. Several threads may begin the same unit and write parts of it; one of them sets it. */
	fresh<stripe<T> > get_uninitialized(std::size_t unit)
	{
		return fresh<stripe<T> >(stripe<T>(this->write(unit), elements(unit)), this->handle(), unit);
	}
	/* The same, but wait until the unit is not set: until its reader has called make_empty(). */
	fresh<stripe<T> > get_room(std::size_t unit)
	{
		return fresh<stripe<T> >(stripe<T>(this->write_room(unit), elements(unit)), this->handle(), unit);
	}
	/* Set a unit, like set() of the result of get_uninitialized(). */
	void set(std::size_t unit) { this->publish(unit); }

	/* Wait until the unit of an element is set, and return the element. */
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

/** A matrix of tiles. Each tile is a unit. Tiles, and the elements of a tile, are stored row by row. */
template <class T> class matrix : public object<T> {
public:
	/*
	 * @rows, @columns: number of rows and columns of elements.
	 * @tile_rows, @tile_columns: number of rows and columns of elements in a tile.
	 * @where: the place of the tiles, for instance tile_cyclic().
	 */
	matrix(std::size_t rows, std::size_t columns, std::size_t tile_rows, std::size_t tile_columns,
	       const distribution &where = on_host())
		: object<T>(times_(units_(rows, tile_rows), units_(columns, tile_columns)),
			    times_(times_(tile_rows, tile_columns), sizeof(T)),
			    tiled(where, units_(rows, tile_rows), units_(columns, tile_columns))),
		  rows_(rows), columns_(columns), tile_rows_(tile_rows), tile_columns_(tile_columns),
		  across_(units_(columns, tile_columns)) {}

	std::size_t rows() const { return rows_; }
	std::size_t columns() const { return columns_; }
	/* Return the number of tiles in a column, and in a row, of the matrix. */
	std::size_t tiles_down() const { return units_(rows_, tile_rows_); }
	std::size_t tiles_across() const { return across_; }
	/* Return the number of a tile's unit. If there is no such tile, return units(), which is no unit's number. */
	std::size_t unit(std::size_t down, std::size_t across) const
	{
		return across < across_ && down < tiles_down() ? down * across_ + across : this->units();
	}

	/* These functions are like those of vector. @down, @across: row and column of the tile, counted in tiles. */
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
	fresh<tile<T> > get_room(std::size_t down, std::size_t across)
	{
		const std::size_t at = unit(down, across);

		return fresh<tile<T> >(cut(this->write_room(at), down, across), this->handle(), at);
	}
	void set(std::size_t down, std::size_t across) { this->publish(unit(down, across)); }
	using object<T>::make_empty;
	void make_empty(std::size_t down, std::size_t across) { this->make_empty(unit(down, across)); }

	/* Wait until the tile of an element is set, and return the element. */
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
