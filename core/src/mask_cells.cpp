#include <bit>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/mask_cells.hpp>

namespace natten_sim {
namespace {

/// Two bits of each of 32 cells.
constexpr std::uint64_t word_of(TileWork each) {
  return 0x5555555555555555 * static_cast<std::uint64_t>(each);
}

}  // namespace

MaskCells::MaskCells(const std::vector<TileWork>& cells) : MaskCells(cells.size(), TileWork::kNone) {
  for (std::size_t cell = 0; cell < cells.size(); ++cell) set(cell, cells[cell]);
}

MaskCells::MaskCells(std::size_t size, TileWork each) : shared_(std::make_shared<Shared>()) {
  shared_->words.assign((size + kCellsOfWord - 1) / kCellsOfWord, word_of(each));
  shared_->size = shared_->words.size() * kCellsOfWord;
  resize(size);
}

MaskCells::Shared& MaskCells::own() {
  if (!shared_) {
    shared_ = std::make_shared<Shared>();
  } else if (shared_.use_count() > 1) {
    auto copy = std::make_shared<Shared>();
    copy->words = shared_->words;
    copy->size = shared_->size;
    shared_ = std::move(copy);
  }
  shared_->attended.reset();
  return *shared_;
}

void MaskCells::set(std::size_t cell, TileWork work) {
  std::uint64_t& word = own().words[cell / kCellsOfWord];
  const std::uint64_t before = word >> shift_of(cell) & 3;
  word ^= (before ^ static_cast<std::uint64_t>(work)) << shift_of(cell);
}

void MaskCells::push_back(TileWork work) {
  Shared& cells = own();
  if (cells.size % kCellsOfWord == 0) cells.words.push_back(0);
  set(cells.size++, work);
}

void MaskCells::append(const MaskCells& cells) {
  const MaskCells added = cells;  // they may be these
  const std::size_t before = size();
  resize(before + added.size());
  for (std::size_t cell = 0; cell < added.size(); ++cell) set(before + cell, std::as_const(added)[cell]);
}

void MaskCells::resize(std::size_t size) {
  Shared& cells = own();
  cells.words.resize((size + kCellsOfWord - 1) / kCellsOfWord);
  if (size < cells.size && size % kCellsOfWord != 0)
    cells.words.back() &= (std::uint64_t{1} << shift_of(size)) - 1;
  cells.size = size;
}

bool operator==(const MaskCells& a, const MaskCells& b) {
  if (a.shared_ == b.shared_ || (a.empty() && b.empty())) return true;
  return a.size() == b.size() && a.shared_->words == b.shared_->words;
}

AttendedTiles MaskCells::list_attended(const Shared& cells, std::size_t q_tiles, std::size_t kv_tiles) {
  AttendedTiles tiles;
  tiles.q_of_kv.resize(kv_tiles);
  tiles.kv_of_q.resize(q_tiles);
  for (std::size_t at = 0; at < cells.words.size(); ++at) {
    poll();
    for (std::uint64_t left = cells.words[at]; left != 0;) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(left)) & ~std::size_t{1};
      const auto work = static_cast<TileWork>(left >> bit & 3);
      left &= ~(std::uint64_t{3} << bit);
      const std::size_t cell = at * kCellsOfWord + bit / 2, q = cell / kv_tiles, kv = cell % kv_tiles;
      (work == TileWork::kFull ? tiles.some_full : tiles.some_partial) = true;
      tiles.q_of_kv[kv].push_back(static_cast<std::int32_t>(q));
      tiles.kv_of_q[q].push_back(static_cast<std::int32_t>(kv));
      ++tiles.count;
    }
  }
  return tiles;
}

const AttendedTiles& MaskCells::attended(std::int32_t q_tiles, std::int32_t kv_tiles) const {
  if (!shared_) {
    static const AttendedTiles kNone;
    return kNone;
  }
  const std::lock_guard lock(shared_->listing);
  const auto rows = static_cast<std::size_t>(q_tiles), columns = static_cast<std::size_t>(kv_tiles);
  if (!shared_->attended || shared_->attended->kv_of_q.size() != rows)
    shared_->attended = std::make_unique<const AttendedTiles>(list_attended(*shared_, rows, columns));
  return *shared_->attended;
}

}  // namespace natten_sim
