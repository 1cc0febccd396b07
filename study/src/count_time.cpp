#include "count_time.hpp"

#include <natten_sim/core/error.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

void take_predicted(const PassTime& time, KernelPass& pass) {
  if (!time.dense_ms || !pass.floors) return;
  const double dense_ms = *time.dense_ms;
  const double copies_ms = time.permutation_ms.value_or(pass.floors->permutation_ms);
  pass.floors->dense_ms = dense_ms;
  pass.floors->dense_rate = "time";
  const auto with_copies = [&](double speedup) { return dense_ms / (dense_ms / speedup + copies_ms); };
  pass.with_permutation = KernelSpeedups{.mean = with_copies(pass.speedup.mean),
                                         .worst = with_copies(pass.speedup.worst),
                                         .work = with_copies(pass.speedup.work)};
}

}  // namespace

Setting setting_of_kernel(const CountQuestion& question, const Catalog& catalog) {
  Setting setting = question.setting;
  if (!question.kernel || setting.backend) return setting;
  const Device device = setting.device ? catalog.device(*setting.device) : Device{};
  if (*question.kernel == "fmha" && !setting.device) return setting;
  const TimedKernel kernel = timed_kernel(*question.kernel, device);
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
  timed.additional_keys = setting.add_kv;
  return timed;
}

std::optional<TimeAnswer> time_of_count(const CountQuestion& question, const TilingProblem& problem,
                                        const std::optional<KernelPass>& pass, const Context& context) {
  const Setting& setting = question.setting;
  if (!question.kernel && !setting.device) return std::nullopt;
  if (!setting.device)
    return MissingTime{
        "a time needs a device, such as h200: one on which the kernel is calibrated"};
  if (!question.kernel && !pass)
    return MissingTime{"NATTEN has no kernel for this problem, so it has no time"};
  if (problem.tiling == Tiling::kSingleDimensional && problem.mask.rank() > 1)
    return MissingTime{"no kernel with single-dimensional tiling is calibrated"};
  TimeQuestion timed =
      time_question(setting, problem.mask, problem.tiles, problem.walk, question.kernel_schedule);
  timed.kernel = question.kernel ? *question.kernel : name_of(pass->attention);
  timed.rest_ms = question.rest_ms;
  if (pass && !pass->attention.dense && timed.kernel == name_of(pass->attention))
    timed.visits = pass->attention.visits;
  return time(timed, context);
}

void count_over_predicted(const PassTime* forward, const PassTime* backward, const Setting& setting,
                          KernelAnswer& kernel) {
  if (kernel.forward && forward != nullptr) take_predicted(*forward, *kernel.forward);
  if (kernel.backward && backward != nullptr) take_predicted(*backward, *kernel.backward);
  if (!kernel.end_to_end || !kernel.forward) return;
  const AttentionShare share = share_of(setting).value();
  const KernelSpeedups speedup = kernel.forward->with_permutation.value_or(kernel.forward->speedup);
  kernel.end_to_end =
      KernelEndToEnd{end_to_end_speedup(share, speedup.mean), end_to_end_speedup(share, speedup.worst)};
}

void add_times(const CountQuestion& question, const TilingProblem& forward, const Context& context,
               CountAnswer& answer) {
  answer.time = time_of_count(question, forward, answer.kernel.forward, context);
  if (answer.backward) {
    answer.backward->time =
        time_of_count(question, answer.backward->problem, answer.kernel.backward, context);
  }
  if (question.kernel) return;  // perhaps another kernel than NATTEN runs
  const auto predicted = [](const std::optional<TimeAnswer>& time) {
    return time ? std::get_if<PassTime>(&*time) : nullptr;
  };
  count_over_predicted(predicted(answer.time), answer.backward ? predicted(answer.backward->time) : nullptr,
                       question.setting, answer.kernel);
}

}  // namespace natten_sim::study
