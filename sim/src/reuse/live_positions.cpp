#include <algorithm>
#include <utility>

#include <natten_sim/sim/reuse/live_positions.hpp>

namespace natten_sim {

constexpr LivePositions::BeforeMasks LivePositions::kBefore;

void LivePositions::reset(std::size_t positions, std::size_t live) {
  words_.assign((positions + kBits - 1) / kBits, 0);
  std::fill_n(words_.begin(), live / kBits, ~std::uint64_t{0});
  next_ = live / kBits * kBits;
  newest_live_ = 0;
  behind_.clear();
  std::vector<std::uint32_t> counts(words_.size(), 0);
  std::fill_n(counts.begin(), live / kBits, static_cast<std::uint32_t>(kBits));
  for (levels_ = 0; levels_ == 0 || counts.size() > 1; ++levels_) {
    const std::size_t nodes = (counts.size() + kChildren - 1) / kChildren;
    counts.resize(nodes * kChildren, 0);
    first_[levels_] = behind_.size();
    behind_.resize(behind_.size() + counts.size(), 0);
    std::vector<std::uint32_t> sums(nodes, 0);
    for (std::size_t i = counts.size(); i > 0; --i) {
      behind_[first_[levels_] + i - 1] = sums[(i - 1) / kChildren];
      sums[(i - 1) / kChildren] += counts[i - 1];
    }
    counts = std::move(sums);
  }
  while (next_ < live) append();
}

}  // namespace natten_sim
