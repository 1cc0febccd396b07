#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// The pairs of tiles that attend, by KV tile and by Q tile; ascending.
struct AttendedTiles {
  std::vector<std::vector<std::int32_t>> q_of_kv;
  std::vector<std::vector<std::int32_t>> kv_of_q;
  std::int64_t count = 0;
  bool some_full = false, some_partial = false;
};

/// The cells of a block mask, used like a vector, in two bits each. Copies share them until one is changed,
/// so that a problem, its plans and its answers hold one mask; which tiles attend is listed once, and from
/// then on the work follows the pairs that attend, not the cells.
class MaskCells {
 public:
  using value_type = TileWork;
  class Cell;
  class const_iterator;

  MaskCells() = default;
  MaskCells(const std::vector<TileWork>& cells);  // NOLINT: is its cells
  MaskCells(std::initializer_list<TileWork> cells) : MaskCells(std::vector(cells)) {}
  MaskCells(std::size_t size, TileWork each);

  [[nodiscard]] std::size_t size() const { return shared_ ? shared_->size : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] TileWork operator[](std::size_t cell) const {
    return static_cast<TileWork>(shared_->words[cell / kCellsOfWord] >> shift_of(cell) & 3);
  }
  [[nodiscard]] Cell operator[](std::size_t cell);
  [[nodiscard]] const_iterator begin() const;
  [[nodiscard]] const_iterator end() const;

  void set(std::size_t cell, TileWork work);
  void push_back(TileWork work);
  void append(const MaskCells& cells);
  void resize(std::size_t size);  ///< new cells are kNone

  /// Requires rows * columns cells, row-major by Q tile. From any number of threads, while nobody changes it.
  [[nodiscard]] const AttendedTiles& attended(std::int32_t q_tiles, std::int32_t kv_tiles) const;

  friend bool operator==(const MaskCells& a, const MaskCells& b);

 private:
  static constexpr std::size_t kCellsOfWord = 32;
  static constexpr unsigned shift_of(std::size_t cell) {
    return 2 * static_cast<unsigned>(cell % kCellsOfWord);
  }

  struct Shared {
    std::vector<std::uint64_t> words;  // bits behind the last cell are 0
    std::size_t size = 0;
    std::mutex listing;
    std::unique_ptr<const AttendedTiles> attended;
  };
  /// For changing them.
  [[nodiscard]] Shared& own();
  [[nodiscard]] static AttendedTiles list_attended(const Shared& cells, std::size_t q_tiles,
                                                   std::size_t kv_tiles);

  std::shared_ptr<Shared> shared_;
};

/// A cell that may be read and changed.
class MaskCells::Cell {
 public:
  operator TileWork() const { return std::as_const(*cells_)[cell_]; }  // NOLINT: is its value
  Cell& operator=(TileWork work) {
    cells_->set(cell_, work);
    return *this;
  }
  Cell& operator=(const Cell& other) { return *this = static_cast<TileWork>(other); }
  Cell(const Cell&) = default;

 private:
  friend class MaskCells;
  Cell(MaskCells* cells, std::size_t cell) : cells_(cells), cell_(cell) {}
  MaskCells* cells_;
  std::size_t cell_;
};

class MaskCells::const_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = TileWork;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = TileWork;

  const_iterator() = default;
  TileWork operator*() const { return (*cells_)[cell_]; }
  const_iterator& operator++() {
    ++cell_;
    return *this;
  }
  const_iterator operator++(int) {
    const const_iterator before = *this;
    ++cell_;
    return before;
  }
  friend bool operator==(const const_iterator&, const const_iterator&) = default;

 private:
  friend class MaskCells;
  const_iterator(const MaskCells* cells, std::size_t cell) : cells_(cells), cell_(cell) {}
  const MaskCells* cells_ = nullptr;
  std::size_t cell_ = 0;
};

inline MaskCells::Cell MaskCells::operator[](std::size_t cell) { return {this, cell}; }
inline MaskCells::const_iterator MaskCells::begin() const { return {this, 0}; }
inline MaskCells::const_iterator MaskCells::end() const { return {this, size()}; }

}  // namespace natten_sim
