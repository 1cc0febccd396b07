#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>

namespace natten_sim {
namespace {

/// How many rows ahead memory is prefetched, since rows are far apart.
constexpr std::size_t kAhead = 16;

/// Below this many rows, caching does not pay.
constexpr std::int64_t kSmallTable = std::int64_t{1} << 16;
constexpr int kFirstBits = 12;

}  // namespace

RowTally::RowTally(std::int64_t rows) : rows_(rows) {
  if (rows <= kSmallTable) {
    array_.resize(static_cast<std::size_t>(rows));
  } else {
    table_.resize(std::size_t{1} << kFirstBits);
    shift_ -= kFirstBits;
  }
}

RowTally::Counts& RowTally::inserted(std::int64_t row) {
  if (2 * (used_ + 1) > table_.size()) {
    const std::vector<Entry> old = std::move(table_);
    table_.clear();
    if (2 * old.size() * sizeof(Entry) >= static_cast<std::size_t>(rows_) * sizeof(Counts)) {
      array_.resize(static_cast<std::size_t>(rows_));
      for (const Entry& entry : old) {
        if (entry.key != 0) array_[entry.key - 1] = entry.counts;
      }
      return array_[static_cast<std::size_t>(row)];
    }
    table_.resize(2 * old.size());
    --shift_;
    for (const Entry& entry : old) {
      if (entry.key != 0) table_[find(entry.key - 1)] = entry;
    }
  }
  ++used_;
  Entry& entry = table_[find(row)];
  entry.key = static_cast<std::uint32_t>(row + 1);
  return entry.counts;
}

std::int64_t RowTally::total_of(std::int64_t row) const {
  return array_.empty() ? table_[find(row)].counts.total : array_[static_cast<std::size_t>(row)].total;
}

CollisionCount RowTally::result() const {
  CollisionCount result;
  result.updates = updates_;
  result.serial_multiplicity = serial_ + hottest_;
  result.phases = phases_;
  if (updates_ > 0) result.close_updates = 2 * static_cast<double>(pairs_) / static_cast<double>(updates_);
  std::map<std::int64_t, std::int64_t> histogram;
  result.touched.resize(static_cast<std::size_t>(rows_));
  const auto take = [&](std::int64_t row, std::int64_t multiplicity) {
    if (multiplicity == 0) return;
    ++result.rows_touched;
    result.touched[static_cast<std::size_t>(row)] = true;
    ++histogram[multiplicity];
    if (multiplicity > result.max_multiplicity ||
        (multiplicity == result.max_multiplicity && row < result.hottest_row)) {
      result.max_multiplicity = multiplicity;
      result.hottest_row = row;
    }
  };
  for (std::size_t row = 0; row < array_.size(); ++row)
    take(static_cast<std::int64_t>(row), array_[row].total);
  for (const Entry& entry : table_) take(static_cast<std::int64_t>(entry.key) - 1, entry.counts.total);
  result.near_first = std::max<std::int64_t>(result.hottest_row - kNearRows, 0);
  const std::int64_t near_end = std::min(result.hottest_row + kNearRows + 1, rows_);
  for (std::int64_t row = result.near_first; row < near_end; ++row) result.near.push_back(total_of(row));
  const double most = static_cast<double>(result.max_multiplicity);
  const double as_hot = 0.9 * most - 3 * std::sqrt(most);  // as the header defines it
  for (const auto& [multiplicity, count] : histogram) {
    result.histogram.push_back({multiplicity, count});
    if (static_cast<double>(multiplicity) >= as_hot) result.hottest_rows += count;
  }
  return result;
}

std::int64_t touched_units(const CollisionCount& collisions, std::int64_t row_bytes,
                           std::int64_t unit_bytes) {
  if (row_bytes < 1) throw InvalidParameter("row_bytes", std::to_string(row_bytes), "1 or more");
  if (unit_bytes < 1) throw InvalidParameter("unit_bytes", std::to_string(unit_bytes), "1 or more");
  if (row_bytes % unit_bytes == 0)
    return checked_multiply(collisions.rows_touched, row_bytes / unit_bytes, "touched units");
  (void)checked_multiply(std::ssize(collisions.touched), row_bytes, "bytes of the rows");
  std::int64_t units = 0, counted_to = 0;  // units below `counted_to` are counted, or not touched
  for (std::size_t row = 0; row < collisions.touched.size(); ++row) {
    poll();
    if (!collisions.touched[row]) continue;
    const std::int64_t begin = static_cast<std::int64_t>(row) * row_bytes;
    const std::int64_t end = ceil_divide(begin + row_bytes, unit_bytes);
    units += end - std::max(begin / unit_bytes, counted_to);
    counted_to = end;
  }
  return units;
}

std::int64_t slice_sectors(const CollisionCount& collisions, std::int64_t row_bytes) {
  constexpr std::int64_t kSector = 32, kUnit = 256, kBlock = 1024;
  if (row_bytes < 1) throw InvalidParameter("row_bytes", std::to_string(row_bytes), "1 or more");
  const std::int64_t hottest = checked_multiply(collisions.hottest_row, row_bytes, "bytes of the rows");
  const std::int64_t first_unit = hottest / kUnit * kUnit;
  const std::int64_t block = hottest / kBlock * kBlock;
  std::int64_t sectors = 0;
  for (std::int64_t begin = block + first_unit % (2 * kUnit); begin < block + kBlock; begin += 2 * kUnit) {
    for (std::size_t i = 0; i < collisions.near.size(); ++i) {
      const std::int64_t row = (collisions.near_first + static_cast<std::int64_t>(i)) * row_bytes;
      const std::int64_t from = std::max(row, begin), to = std::min(row + row_bytes, begin + kUnit);
      if (from >= to) continue;
      sectors = checked_add(
          sectors,
          checked_multiply(collisions.near[i], ceil_divide(to, kSector) - from / kSector, "slice sectors"),
          "slice sectors");
    }
  }
  return sectors;
}

std::int64_t sent_sectors(const CollisionCount& collisions, std::int64_t row_bytes, std::int64_t warp_bytes) {
  constexpr std::int64_t kSector = 32;
  if (row_bytes < 2 || row_bytes % 2 != 0)
    throw InvalidParameter("row_bytes", std::to_string(row_bytes), "an even number from 2 on");
  if (warp_bytes < kSector || 512 % warp_bytes != 0)
    throw InvalidParameter("warp_bytes", std::to_string(warp_bytes), "32, 64, 128, 256 or 512");
  std::int64_t sectors = 0;
  for (std::int64_t source = 0; source < UpdatePhases::kSourcePhases; ++source) {
    const std::int64_t in_warp = source * row_bytes % warp_bytes;
    const std::int64_t ends = (in_warp + row_bytes - 1) / warp_bytes;  // of warps, within the row
    for (std::int64_t row = 0; row < UpdatePhases::kRowPhases; ++row) {
      const std::int64_t begin = row * row_bytes % kSector;
      const std::int64_t begun = ceil_divide(begin + row_bytes, kSector) - (begin > 0 ? 1 : 0);
      const std::int64_t cut = (begin - in_warp) % kSector != 0 ? ends : 0;
      for (const bool follows : {false, true}) {
        const std::int64_t opens = begin > 0 && (!follows || in_warp == 0) ? 1 : 0;
        sectors = checked_add(
            sectors,
            checked_multiply(collisions.phases.count(follows, source, row), begun + cut + opens, "sectors"),
            "sectors");
      }
    }
  }
  return sectors;
}

CollisionCount count_collisions(IndexStream& stream, std::int64_t rows,
                                const std::function<void(std::int64_t)>& progress) {
  if (rows < 1 || rows > kMaxRows)
    throw InvalidParameter("rows", std::to_string(rows), "1.." + std::to_string(kMaxRows));
  RowTally tally(rows);
  std::vector<std::int64_t> buffer(static_cast<std::size_t>(kCollisionStretch));
  for (std::size_t got = 0; (got = stream.read(buffer)) > 0;) {
    for (std::size_t i = 0; i < got; ++i) {
      if (buffer[i] < 0 || buffer[i] >= rows)
        throw InvalidParameter("row", std::to_string(buffer[i]), "0.." + std::to_string(rows - 1));
    }
    if (tally.updates() + static_cast<std::int64_t>(got) > kMaxUpdates)
      throw InvalidParameter("updates", "more than " + std::to_string(kMaxUpdates), "at most 2^32 - 1");
    for (std::size_t i = 0; i < got; ++i) {
      poll();
      if (i + kAhead < got) tally.prefetch(buffer[i + kAhead]);
      tally.add(buffer[i]);
    }
    if (progress) progress(tally.updates());
  }
  return tally.result();
}

}  // namespace natten_sim
