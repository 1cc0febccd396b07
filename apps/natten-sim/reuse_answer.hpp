#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/sim/stack_distance.hpp>

#include "reuse_request.hpp"

namespace natten_sim::cli {

/// What `reuse` says about one subject and one order. Empty: the chosen fidelity does not tell, or it does
/// not apply.
struct ReuseAnswer {
  std::string order;  ///< the one that was walked
  struct {
    std::optional<std::int64_t> q, k, v, o;
    std::int64_t total = 0;
  } sectors;
  std::int64_t cold_sectors = 0;
  std::optional<std::int64_t> miss_sectors;
  std::optional<double> hit_rate;
  std::optional<std::int64_t> dram_read_bytes;
  std::optional<std::int64_t> dram_write_bytes;
  std::optional<std::int64_t> effective_capacity_bytes;
  std::optional<std::int64_t> first_noncompulsory_seqlen;
  std::optional<double> mean_distance_bytes;
  std::vector<ReuseProfile::Point> histogram;
  std::vector<ReuseProfile::Point> curve;           ///< misses at each capacity where they change
  std::optional<double> miss_ratio_standard_error;  ///< of a sample
  std::optional<double> time_ns;                    ///< timed only
};

using Progress = std::function<void(double)>;

/// The first order. @throws Error.
[[nodiscard]] ReuseAnswer answer_reuse(const ReuseRequest& request, const OrderChoice& order,
                                       const Progress& progress);

/// Bytes read from DRAM by the timed model. @throws Error.
[[nodiscard]] std::int64_t timed_dram_read_bytes(const ReuseRequest& request, const Progress& progress);

}  // namespace natten_sim::cli
