#pragma once

#include <cstdint>
#include <span>

namespace natten_sim {

/// SMs that run several CTAs at once.
struct SharedSms {
  std::int64_t sms = 1;
  std::int64_t ctas_per_sm = 1;
  double lone_share = 1;  ///< of an SM's rate with all of them, what a CTA alone gets
};

/// When the last CTA ends: `costs`, one a CTA in launch order, `repeats` times over, each what the CTA takes with all
/// others beside it. The next one goes to the SM with the fewest, ties to the lower. Of k CTAs each gets 1 / k of the
/// SM's rate, which grows from `lone_share` (at least an even share) for one to 1 for all: a CTA takes
/// (a + b k^2.5)^(1 / 2.5), its own latency and what the SM takes for all.
/// O(CTAs log SMs). @throws InvalidParameter on numbers that are not positive, or nothing to run.
[[nodiscard]] double run_shared(std::span<const double> costs, std::int64_t repeats, const SharedSms& sms);

}  // namespace natten_sim
