#include <natten_sim/core/mask_cells.hpp>

namespace natten_sim {
namespace {

AttendedTiles list_attended(const std::vector<TileWork>& cells, std::size_t q_tiles, std::size_t kv_tiles) {
  AttendedTiles tiles;
  tiles.q_of_kv.resize(kv_tiles);
  tiles.kv_of_q.resize(q_tiles);
  for (std::size_t q = 0; q < q_tiles; ++q) {
    for (std::size_t kv = 0; kv < kv_tiles; ++kv) {
      const TileWork work = cells[q * kv_tiles + kv];
      if (work == TileWork::kNone) continue;
      (work == TileWork::kFull ? tiles.some_full : tiles.some_partial) = true;
      tiles.q_of_kv[kv].push_back(static_cast<std::int32_t>(q));
      tiles.kv_of_q[q].push_back(static_cast<std::int32_t>(kv));
      ++tiles.count;
    }
  }
  return tiles;
}

}  // namespace

const AttendedTiles& MaskCells::attended(std::int32_t q_tiles, std::int32_t kv_tiles) const {
  if (!shared_) {
    static const AttendedTiles kNone;
    return kNone;
  }
  const std::lock_guard lock(shared_->listing);
  const auto rows = static_cast<std::size_t>(q_tiles), columns = static_cast<std::size_t>(kv_tiles);
  if (!shared_->attended || shared_->attended->kv_of_q.size() != rows)
    shared_->attended = std::make_unique<const AttendedTiles>(list_attended(shared_->cells, rows, columns));
  return *shared_->attended;
}

}  // namespace natten_sim
