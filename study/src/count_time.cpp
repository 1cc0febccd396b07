#include "count_time.hpp"

#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/kernel_choice.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

void take_predicted(const PassTime& time, KernelPass& pass) {
  if (time.speedup) pass.with_permutation.reset();
  if (!pass.floors) return;
  if (time.permutation_ms) {
    pass.floors->permutation_ms = *time.permutation_ms;
    pass.floors->permutation_timed = true;
  }
  if (!time.dense_ms) return;
  pass.floors->dense_ms = *time.dense_ms;
  pass.floors->dense_rate = "time";
}

/// Whether NATTEN runs the kernel whose time was asked for.
bool runs_kernel(const KernelPass& pass, const std::optional<KernelChoice>& kernel) {
  return !kernel || *kernel == name_of(pass.attention) || (*kernel == "fmha" && pass.attention.dense);
}

}  // namespace

KernelVisits visits_of_blocks(const TileCount& count) {
  return {.launched_tiles = count.walked_tiles(),
          .visited_tiles = count.visited_tiles,
          .unmasked_tiles = count.full_tiles,
          .masked_tiles = count.partial_tiles()};
}

Setting setting_of_kernel(const CountQuestion& question, const Catalog& catalog) {
  Setting setting = question.setting;
  if (question.kernel && question.kernel->own && !setting.dtype) setting.dtype = default_dtype(question.kernel);
  if (!question.kernel || setting.backend) return setting;
  const Device device = setting.device ? catalog.device(*setting.device) : Device{};
  if (*question.kernel == "fmha" && !setting.device) return setting;
  const TimedKernel kernel = timed_kernel(*question.kernel, device, catalog);
  if (!kernel.dense) setting.backend = to_string(kernel.family);
  return setting;
}

TimeQuestion time_question(const Setting& setting, const NeighborhoodMask& mask, const TilePair& tiles,
                           Walk pass, std::optional<KernelSchedule> schedule) {
  TimeQuestion timed;
  timed.device = *setting.device;
  timed.schedule = schedule.value_or(timed.schedule);
  timed.mask = mask;
  timed.tiles = tiles;
  timed.pass = pass;
  timed.sizes = {.batch = setting.batch,
                 .heads = setting.heads.value(),
                 .heads_kv = setting.heads_kv.value(),
                 .head_dim = setting.head_dim.value(),
                 .head_dim_value = setting.head_dim_value.value(),
                 .element_bytes = element_bytes(setting.dtype.value())};
  timed.dtype = *setting.dtype;
  timed.natten = setting.natten;
  timed.additional_keys = setting.add_kv;
  timed.deterministic = setting.deterministic;
  return timed;
}

std::optional<TimeAnswer> time_of_count(const CountQuestion& question, const TilingProblem& problem,
                                        const TileCount& count, const std::optional<KernelPass>& pass,
                                        const Context& context) {
  const Setting& setting = question.setting;
  if (!question.kernel && !setting.device) return std::nullopt;
  if (!setting.device)
    return MissingTime{
        "a time needs a device, such as h200: one on which the kernel is calibrated"};
  if (!question.kernel && !pass)
    return MissingTime{"NATTEN has no kernel for this problem, so it has no time"};
  const bool row_major = problem.tiling == Tiling::kSingleDimensional && problem.mask.rank() > 1;
  if (row_major && !(question.kernel && (*question.kernel == kFlexAttention || question.kernel->own)))
    return MissingTime{"single-dimensional tiling has a time with the kernel flexattention alone"};
  TimeQuestion timed =
      time_question(setting, problem.mask, problem.tiles, problem.walk, question.kernel_schedule);
  timed.kernel = question.kernel ? question.kernel->name : name_of(pass->attention);
  timed.rest_ms = question.rest_ms;
  timed.mask_function = question.mask_function;
  timed.mask_cost = question.mask_cost;
  if (pass && !pass->attention.dense && timed.kernel == name_of(pass->attention))
    timed.visits = pass->attention.visits;
  if (row_major) {
    timed.tiling = problem.tiling;
    timed.visits = visits_of_blocks(count);
  }
  return time(timed, context);
}

std::optional<double> end_to_end_by_time(const PassTime* forward, const Setting& setting) {
  const std::optional<AttentionShare> share = share_of(setting);
  if (forward == nullptr || !forward->speedup || !share) return std::nullopt;
  return end_to_end_speedup(*share, *forward->speedup);
}

void take_predicted(const PassTime* forward, const PassTime* backward,
                    const std::optional<KernelChoice>& timed_kernel, KernelAnswer& kernel) {
  for (const auto& [time, pass] : {std::pair{forward, &kernel.forward}, {backward, &kernel.backward}}) {
    if (time == nullptr || !*pass) continue;
    if (runs_kernel(**pass, timed_kernel)) {
      take_predicted(*time, **pass);
    } else {  // copies of another kernel than the timed one
      (*pass)->floors.reset();
      (*pass)->with_permutation.reset();
    }
  }
  if (forward != nullptr && forward->speedup) kernel.end_to_end.reset();
}

void add_times(const CountQuestion& question, const TilingProblem& forward, const Context& context,
               CountAnswer& answer) {
  answer.time = time_of_count(question, forward, answer.forward.count, answer.kernel.forward, context);
  if (answer.backward) {
    answer.backward->time = time_of_count(question, answer.backward->problem, answer.backward->count,
                                          answer.kernel.backward, context);
  }
  const auto predicted = [](const std::optional<TimeAnswer>& time) {
    return time ? std::get_if<PassTime>(&*time) : nullptr;
  };
  const PassTime* forward_time = predicted(answer.time);
  answer.end_to_end_by_time = end_to_end_by_time(forward_time, question.setting);
  take_predicted(forward_time, answer.backward ? predicted(answer.backward->time) : nullptr, question.kernel,
                 answer.kernel);
}

}  // namespace natten_sim::study
