#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

/// The cells of a block mask, used like a vector. Copies share them until one is changed, so that a problem,
/// its plans and its answers hold one mask; which tiles attend is listed once, and from then on the work
/// follows the pairs that attend, not the cells. A reference to a cell is good for one change.
class MaskCells {
 public:
  using Cells = std::vector<TileWork>;
  using value_type = TileWork;

  MaskCells() = default;
  MaskCells(Cells cells) : shared_(std::make_shared<Shared>(std::move(cells))) {}  // NOLINT: is its cells
  MaskCells(std::initializer_list<TileWork> cells) : MaskCells(Cells(cells)) {}
  operator const Cells&() const { return cells(); }  // NOLINT: is its cells

  [[nodiscard]] std::size_t size() const { return cells().size(); }
  [[nodiscard]] bool empty() const { return cells().empty(); }
  [[nodiscard]] TileWork operator[](std::size_t cell) const { return cells()[cell]; }
  [[nodiscard]] Cells::const_iterator begin() const { return cells().begin(); }
  [[nodiscard]] Cells::const_iterator end() const { return cells().end(); }

  [[nodiscard]] TileWork& operator[](std::size_t cell) { return own()[cell]; }
  [[nodiscard]] Cells::iterator begin() { return own().begin(); }
  [[nodiscard]] Cells::iterator end() { return own().end(); }
  void push_back(TileWork work) { own().push_back(work); }
  void resize(std::size_t size) { own().resize(size); }
  void reserve(std::size_t size) { own().reserve(size); }
  template <typename Iterator>
  void insert(Cells::iterator before, Iterator first, Iterator last) {
    shared_->cells.insert(before, first, last);
  }

  /// Requires rows * columns cells, row-major by Q tile. From any number of threads, while nobody changes it.
  [[nodiscard]] const AttendedTiles& attended(std::int32_t q_tiles, std::int32_t kv_tiles) const;

  friend bool operator==(const MaskCells& a, const MaskCells& b) {
    return a.shared_ == b.shared_ || a.cells() == b.cells();
  }

 private:
  struct Shared {
    explicit Shared(Cells given) : cells(std::move(given)) {}
    Cells cells;
    std::mutex listing;
    std::unique_ptr<const AttendedTiles> attended;
  };
  [[nodiscard]] const Cells& cells() const {
    static const Cells kNone;
    return shared_ ? shared_->cells : kNone;
  }
  /// For changing them.
  [[nodiscard]] Cells& own() {
    if (!shared_ || shared_.use_count() > 1) shared_ = std::make_shared<Shared>(cells());
    shared_->attended.reset();
    return shared_->cells;
  }

  std::shared_ptr<Shared> shared_;
};

}  // namespace natten_sim
