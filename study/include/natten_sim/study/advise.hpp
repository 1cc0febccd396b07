#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/study/count.hpp>

namespace natten_sim::study {

/// Which configuration should I run, and what does it cost?
struct AdviseQuestion {
  Setting setting;                   ///< layout or preset; its device and backend do not matter
  std::vector<std::string> devices;  ///< empty: all that have a calibrated kernel of their backend
  std::optional<double> sparsity;    ///< most of the token pairs that may be left out; none: kUsualSparsity
  std::optional<double> speedup;     ///< instead: over the dense kernel, copies included
  double max_imbalance = 2.5;        ///< largest over smallest L / window among the axes
};

/// Where neither a sparsity nor a speedup is wished for.
inline constexpr double kUsualSparsity = 0.9;

/// Why a choice is offered. kMostLocal: the smallest product of strides, so that every query's own
/// neighbourhood is its window. kLeastPadded: the fewest pairs that are multiplied and do not attend.
enum class AdviceRole { kFastest, kMostLocal, kLeastPadded };

struct AdviceChoice {
  AdviceRole role = AdviceRole::kFastest;
  CountAnswer count;                         ///< both passes; `time` of the forward pass is a PassTime
  std::optional<double> end_to_end_speedup;  ///< by time, when attention's share is known
  std::int64_t tile_memory_bytes = 0;        ///< copies in tiles that live beside the tensors (forward)
};

struct DeviceAdvice {
  std::string device;
  std::string missing;                ///< why there is no advice; empty: there is
  bool untimed = false;               ///< because nobody has timed the kernel there, whatever is wished
  std::vector<AdviceChoice> choices;  ///< up to three, distinct in window, fastest first
};

struct AdviseAnswer {
  AdviseQuestion question;  ///< with devices filled in
  std::vector<DeviceAdvice> devices;
};

/// For each device: exact searches within 5% below the wished sparsity (any strides, stride 1, and what NATTEN runs
/// without masking), and the predicted time of their best candidates. A wished speedup is looked for by
/// raising the sparsity until the fastest candidate has it.
/// @throws InvalidParameter, UnknownName when the question makes no sense.
[[nodiscard]] AdviseAnswer advise(const AdviseQuestion& question, const Context& context);

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::AdviceRole> {
  using Role = study::AdviceRole;
  static constexpr const char* kConcept = "role";
  static constexpr Name<Role> kTable[] = {
      {Role::kFastest, "fastest"}, {Role::kMostLocal, "most-local"}, {Role::kLeastPadded, "least-padded"}};
};

}  // namespace natten_sim
