#include <algorithm>
#include <bit>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/set_associative_cache.hpp>

namespace natten_sim {
std::int64_t sets_of_capacity(std::int64_t capacity_bytes, std::int32_t ways, std::int64_t line_bytes) {
  if (ways < 1) throw InvalidParameter("ways", std::to_string(ways), "1 or more", "1");
  if (line_bytes < 1) throw InvalidParameter("line_bytes", std::to_string(line_bytes), "1 or more", "1");
  const std::int64_t set_bytes = ways * line_bytes;
  return std::max<std::int64_t>(1, (capacity_bytes + set_bytes / 2) / set_bytes);
}

SetAssociativeCache::SetAssociativeCache(const SetAssociativeGeometry& geometry)
    : geometry_(geometry), random_(hashed_bits(geometry.seed)) {
  constexpr std::int64_t kMax = std::int64_t{1} << 27;  // 2 GiB of lines and stamps
  if (geometry.sets < 1 || geometry.sets > kMax)
    throw InvalidParameter("sets", std::to_string(geometry.sets), "1..2^27");
  if (geometry.ways < 1 || geometry.ways > 64)
    throw InvalidParameter("ways", std::to_string(geometry.ways), "1..64", geometry.ways < 1 ? "1" : "64");
  if (geometry.replacement == Replacement::kTreePlru &&
      !std::has_single_bit(static_cast<std::uint32_t>(geometry.ways))) {
    throw InvalidParameter("ways", std::to_string(geometry.ways), "a power of two for tree-PLRU");
  }
  if (geometry.sets * geometry.ways > kMax)
    throw InvalidParameter("sets", std::to_string(geometry.sets), "at most 2^27 lines in all");
  const auto lines = static_cast<std::size_t>(geometry.sets * geometry.ways);
  lines_.assign(lines, 0);
  if (geometry.replacement == Replacement::kLru || geometry.replacement == Replacement::kFifo)
    stamps_.assign(lines, 0);
  bits_.assign(static_cast<std::size_t>(geometry.sets), 0);
}

std::size_t SetAssociativeCache::set_of(std::uint64_t line) const {
  const auto sets = static_cast<std::uint64_t>(geometry_.sets);
  return static_cast<std::size_t>((geometry_.index == SetIndex::kModulo ? line : hashed_bits(line)) % sets);
}

std::size_t SetAssociativeCache::victim(std::size_t set) {
  const auto ways = static_cast<std::size_t>(geometry_.ways);
  const std::size_t base = set * ways;
  switch (geometry_.replacement) {
    case Replacement::kLru:
    case Replacement::kFifo: {
      const auto begin = stamps_.begin() + static_cast<std::ptrdiff_t>(base);
      return static_cast<std::size_t>(std::min_element(begin, begin + static_cast<std::ptrdiff_t>(ways)) -
                                      begin);
    }
    case Replacement::kTreePlru: {  // node i has children 2i and 2i+1; a set bit points right
      std::size_t node = 1;
      while (node < ways) node = 2 * node + (bits_[set] >> node & 1);
      return node - ways;
    }
    case Replacement::kNotRecent:
      return static_cast<std::size_t>(std::countr_one(bits_[set])) % ways;
    case Replacement::kRandom:
      random_ = hashed_bits(random_);
      return random_ % ways;
  }
  return 0;
}

void SetAssociativeCache::touch(std::size_t set, std::size_t way, bool fetched) {
  const auto ways = static_cast<std::size_t>(geometry_.ways);
  switch (geometry_.replacement) {
    case Replacement::kFifo:
      if (!fetched) return;
      [[fallthrough]];
    case Replacement::kLru:
      stamps_[set * ways + way] = static_cast<std::uint64_t>(accesses_);
      return;
    case Replacement::kTreePlru:
      for (std::size_t node = way + ways; node > 1; node /= 2) {
        const std::uint64_t bit = std::uint64_t{1} << (node / 2);
        bits_[set] = node % 2 == 0 ? bits_[set] | bit : bits_[set] & ~bit;  // point at the other child
      }
      return;
    case Replacement::kNotRecent: {
      const std::uint64_t all = ways == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << ways) - 1;
      bits_[set] |= std::uint64_t{1} << way;
      if (bits_[set] == all) bits_[set] = std::uint64_t{1} << way;
      return;
    }
    case Replacement::kRandom:
      return;
  }
}

bool SetAssociativeCache::access(std::uint64_t line) {
  ++accesses_;
  const auto ways = static_cast<std::size_t>(geometry_.ways);
  const std::size_t set = set_of(line), base = set * ways;
  std::size_t empty = ways;
  for (std::size_t way = 0; way < ways; ++way) {
    if (lines_[base + way] == line + 1) {
      touch(set, way, false);
      return true;
    }
    if (lines_[base + way] == 0 && empty == ways) empty = way;
  }
  ++misses_;
  const std::size_t way = empty < ways ? empty : victim(set);
  lines_[base + way] = line + 1;
  touch(set, way, true);
  return false;
}

}  // namespace natten_sim
