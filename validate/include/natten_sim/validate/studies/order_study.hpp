#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// How the KV order changes misses and throughput, and how the number of working SMs changes the hit rate:
/// figures 5 to 8 of the Sawtooth paper from recordings of another GPU, with predictions. Predictions come
/// from the closed forms (predict), so a curve ends where they have no answer. A profile without values has
/// no predictions.

/// One length of one configuration in both orders. Misses are DRAM reads in sectors over the compulsory ones,
/// Q, K and V once: 1 is a cache that holds everything.
struct OrderedPoint {
  std::int64_t tokens = 0;
  std::int64_t kv_bytes = 0;  ///< K and V of one head
  std::optional<double> cyclic_misses, sawtooth_misses;
  std::optional<double> cyclic_predicted, sawtooth_predicted;
  std::optional<double> cyclic_tflops, sawtooth_tflops;

  /// 1 - sawtooth / cyclic, of the measured or the predicted misses.
  [[nodiscard]] std::optional<double> measured_saving() const;
  [[nodiscard]] std::optional<double> predicted_saving() const;
};

/// A configuration over the lengths at which both orders were recorded.
struct OrderCurve {
  AttentionCase configuration;          ///< at the first length, cyclic
  std::string name;                     ///< "head dim 128, bf16, batch 4, 128x64x2, 1 CTA an SM"
  std::vector<OrderedPoint> points;     ///< by length
  std::vector<OrderedPoint> predicted;  ///< between the first and last of them, without measurements
};

/// The lengths between which the orders part, that is, where the sawtooth begins to save more than 5% of the
/// cyclic reads: the last recorded length below and the first above. Empty where all lengths are on one side.
struct Parting {
  std::optional<std::int64_t> last_together, first_apart;           ///< measured
  std::optional<std::int64_t> predicted_together, predicted_apart;  ///< on the same lengths
  std::optional<std::int64_t> predicted_tokens;  ///< the first that the closed form answers for
};

/// Configurations of full masks with a persistent launch on all SMs that were recorded in both orders at
/// three lengths or more, in the order of the recording. Points that were not measured are left out.
[[nodiscard]] std::vector<OrderCurve> order_curves(const Recording& recording, const Device& device);
[[nodiscard]] Parting parting_of(const OrderCurve& curve, const Device& device);

/// A run with a number of working SMs, each with one CTA.
struct ActiveSmsPoint {
  std::int64_t sms = 0;
  double dram_hit_rate = 0;           ///< 1 - DRAM sectors / sectors that the L1s loaded
  std::optional<double> l2_hit_rate;  ///< 1 - lookup misses of the L2 slices / the same
  std::optional<double> predicted;    ///< by the lockstep closed form, the same as the first
  double lockstep = 0;                ///< 1 - 1 / sms
  double misses = 0;                  ///< DRAM sectors over the compulsory ones
};
/// Attention points with one CTA an SM on some of the SMs, sorted by the number of SMs.
[[nodiscard]] std::vector<ActiveSmsPoint> active_sms(const Recording& recording, const Device& device);

/// What the L2 keeps of a buffer for a number of readers: (passes * bytes - DRAM reads) / (passes - 1) of a
/// sawtooth stream. Where the buffer exceeds the capacity of an LRU, this is that capacity.
struct StreamCapacity {
  std::int64_t sms = 0;
  std::int64_t buffer_mib = 0;
  double kept_mib = 0;
};
/// Paced sawtooth streams on some of the SMs, sorted by the number of SMs, then by buffer.
[[nodiscard]] std::vector<StreamCapacity> stream_capacities(const Recording& recording);

}  // namespace natten_sim::validate
