#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensors.hpp"

namespace natten_sim::bench {

/// One comparison of whole gradients with the oracles.
struct Case {
  std::string name;
  backward::Problem problem;
  backward::KernelShape kernel;
  std::string algorithm = "ascending";
  std::int32_t workers = 132;
  backward::Turns turns = backward::Turns::kOrdered;
  std::int64_t padding = 0;
  int repeats = 2;
  unsigned delay_ns = 0;
  bool grouped = false;                  ///< chains run over all query heads of a KV head
  std::optional<backward::Draws> draws;  ///< none: as a launch chooses
  bool noise = false;                    ///< copies between host and device run beside the launches
};

[[nodiscard]] Case make_case(const backward::KernelShape& kernel, std::int64_t heads, std::int64_t heads_kv,
                             std::int64_t q_tokens, std::int64_t kv_tokens, const backward::Band& mask,
                             const std::string& algorithm, const std::string& what);

/// Documents, neighborhoods of one to three axes, blocks and random pairs, for a kernel that takes pairs.
void add_masks(std::vector<Case>& cases, const backward::KernelShape& kernel, std::int64_t head_dim);

[[nodiscard]] std::vector<Case> all_cases();

/// Random runs of keys a query, some of no keys; whole and empty tiles too.
[[nodiscard]] std::shared_ptr<const backward::TokenPairs> random_pairs(std::int64_t q_tokens,
                                                                       std::int64_t kv_tokens,
                                                                       std::uint64_t seed);

}  // namespace natten_sim::bench
