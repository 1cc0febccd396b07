#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/model_share.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::study {

/// What the model is run for: the passes that are optimised together, and that the call has.
enum class AdviseUse { kInference, kTraining };

/// Which configuration should I run, and what does it cost?
struct AdviseQuestion {
  Setting setting;                   ///< layout or preset; its device and backend do not matter
  std::vector<std::string> devices;  ///< empty: all that have a calibrated kernel
  PerAxis<bool> cyclic;  ///< empty: no axis is; one value: of all axes. With one the kernel is kCyclicKernel
  AdviseUse use = AdviseUse::kInference;
  Extents window;  ///< that the model has; empty: any. With one its sparsity is not wished for, nor an imbalance
  Extents stride;  ///< empty: any
  /// Of the token pairs, how many may be left out, both ends included; none: up to kUsualSparsity.
  std::optional<SparsityRange> sparsity;
  std::optional<double> speedup;     ///< instead: over the dense kernel, copies included
  double max_imbalance = 2.5;        ///< largest over smallest L / window among the axes
  RecallQuestion recall;
};

/// Where neither a sparsity nor a speedup is wished for.
inline constexpr double kUsualSparsity = 0.9;
/// Each choice attends to at least so many times the pairs of the one before it.
inline constexpr double kContextStep = 1.5;

/// The place of a choice on the front of time against attended pairs.
enum class AdviceRole { kFastest, kBalanced, kMostContext };

struct AdviceChoice {
  AdviceRole role = AdviceRole::kFastest;
  CountAnswer count;                         ///< for training both passes; `time` of the forward pass is a PassTime;
                                             ///< with cyclic axes `padded` is what NATTEN runs in its place
  double total_ms = 0;                       ///< of the passes asked for
  std::optional<double> speedup;             ///< of these passes, over the dense kernel's
  std::optional<EndToEndGain> end_to_end;    ///< when attention's share of the model is known, or estimated
  std::int64_t tile_memory_bytes = 0;        ///< copies in tiles that live beside the tensors (forward)
};

struct DeviceAdvice {
  std::string device;
  std::string missing;                ///< why there is no advice; empty: there is
  bool untimed = false;               ///< because nobody has timed the kernel there, whatever is wished
  std::vector<AdviceChoice> choices;  ///< up to three, fastest first
  std::optional<MaskRecalls> recalls;  ///< of the choices, with a table alone
  std::optional<SearchAnswer> heads;   ///< with a wish of recall, instead of choices: a window for every head
  bool sketched = false;              ///< only windows and strides that tiles divide were searched (DistinctResult)
};

struct AdviseAnswer {
  AdviseQuestion question;  ///< with devices filled in
  std::vector<DeviceAdvice> devices;
};

/// For each device up to three points of the front of predicted time against attended pairs: no window, stride or
/// tile shape within the imbalance (of those searched, see DeviceAdvice::sketched) attends to as much in less time, or
/// to more in the same. A wished sparsity: the
/// fastest within it, then two with kContextStep times the context each, if they are within it and faster than dense
/// attention. A wished speedup: the most context that has it, within half a per cent of its pairs, then two faster
/// ones, so that each attends to kContextStep times as much as the next faster one, or more. A preset's dense steps count, unless the setting names others.
/// Cost: a search by time (search_fastest) a point; for a speedup about ten.
/// @throws InvalidParameter, UnknownName when the question makes no sense; for an axis of one token, which no window of
/// NATTEN fits.
[[nodiscard]] AdviseAnswer advise(const AdviseQuestion& question, const Context& context);

template <typename Members>
void describe(Members& members, const AdviseQuestion& question) {
  using Q = AdviseQuestion;
  members.part(&Q::setting, [](auto& setting) {
    describe_preset(setting);
    describe_input(setting);
  });
  describe_cycle(members, question);
  members.group("What to look for");
  members.add("device", &Q::devices,
              {.help = "GPUs, side by side [all that are calibrated]", .names = NamesOfCatalog::kDevices});
  members.add("for", &Q::use,
              {.value = "USE",
               .help = "inference: the forward pass; training: both passes, optimised together, with the tiles "
                       "of each [default]"});
  members.add("window", &Q::window,
              {.flags = "-w,--window,--window-size",
               .help = "Keep this window, which the model was trained with: its fastest strides and tiles [any]",
               .echo = Echo::kWhenSet,
               .excludes = {"speedup", "sparsity"}});
  members.add("stride", &Q::stride,
              {.flags = "-s,--stride", .help = "Keep this stride [any]", .echo = Echo::kWhenSet, .needs = {"window"}});
  members.add("sparsity", &Q::sparsity,
              {.value = "S",
               .help = "Most of the token pairs that may be left out, above 0 and below 1, or a range LO:HI " +
                       default_text(kUsualSparsity),
               .echo = Echo::kWhenSet});
  members.add("speedup", &Q::speedup,
              {.value = "X",
               .help = "Instead: the most context with which attention is X times faster than dense, copies "
                       "included",
               .interval = {1, 1000},
               .accepted = "a factor above 1, at most 1000",
               .echo = Echo::kWhenSet,
               .excludes = {"sparsity"}});
  members.add("max_imbalance", &Q::max_imbalance,
              {.value = "X",
               .help = "Largest over smallest share of the axes that windows leave out [default]",
               .interval = {1, 1e9},
               .accepted = "1 or more"});
  members.part(&Q::recall, [](auto& recall) { describe_recall(recall); });
  members.part(&Q::setting, [](auto& setting) { describe_workload(setting); });
}

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::AdviceRole> {
  using Role = study::AdviceRole;
  static constexpr const char* kConcept = "role";
  static constexpr Name<Role> kTable[] = {
      {Role::kFastest, "fastest"}, {Role::kBalanced, "balanced"}, {Role::kMostContext, "most-context"}};
};

template <>
struct NamesOf<study::AdviseUse> {
  static constexpr const char* kConcept = "use";
  static constexpr Name<study::AdviseUse> kTable[] = {{study::AdviseUse::kInference, "inference"},
                                                      {study::AdviseUse::kTraining, "training"}};
};

}  // namespace natten_sim
