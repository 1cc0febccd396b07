#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// In which order a CTA walks the KV tiles of its consecutive Q tiles. Cyclic: ascending every time.
/// Sawtooth: ascending and descending in turn. Descending: descending every time.
enum class KvOrder { kCyclic, kSawtooth, kDescending };

template <>
struct NamesOf<KvOrder> {
  static constexpr const char* kConcept = "order";
  static constexpr Name<KvOrder> kTable[] = {
      {KvOrder::kCyclic, "cyclic"}, {KvOrder::kSawtooth, "sawtooth"}, {KvOrder::kDescending, "descending"}};
};

/// Permutations of the KV tiles. A worker's pass p follows permutation number p modulo their count, and
/// leaves out tiles that the Q tile does not visit.
struct KvPermutations {
  std::vector<std::vector<std::int32_t>> passes;
};

/// Of each Q tile of a head, in row-major order, the KV tiles that it visits, as it walks them in every pass.
struct KvLists {
  std::vector<std::vector<std::int32_t>> lists;
};
using KvWalk = std::variant<KvOrder, KvPermutations, KvLists>;

}  // namespace natten_sim
