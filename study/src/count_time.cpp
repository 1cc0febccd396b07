#include "count_time.hpp"

#include <natten_sim/core/error.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {

Setting setting_of_kernel(const CountQuestion& question, const Catalog& catalog) {
  Setting setting = question.setting;
  if (!question.kernel || setting.backend) return setting;
  const Device device = setting.device ? catalog.device(*setting.device) : Device{};
  if (*question.kernel == "fmha" && !setting.device) return setting;
  const TimedKernel kernel = timed_kernel(*question.kernel, device);
  if (!kernel.dense) setting.backend = to_string(kernel.family);
  return setting;
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
  TimeQuestion timed;
  timed.kernel = question.kernel ? *question.kernel : name_of(pass->attention);
  timed.device = *setting.device;
  timed.schedule = question.kernel_schedule.value_or(timed.schedule);
  timed.mask = problem.mask;
  timed.tiles = problem.tiles;
  timed.pass = problem.walk;
  timed.sizes = {.batch = setting.batch,
                 .heads = setting.heads.value(),
                 .heads_kv = setting.heads_kv.value(),
                 .head_dim = setting.head_dim.value(),
                 .head_dim_value = setting.head_dim_value.value(),
                 .element_bytes = element_bytes(setting.dtype.value())};
  timed.dtype = *setting.dtype;
  timed.additional_keys = setting.add_kv;
  if (pass && !pass->attention.dense && timed.kernel == name_of(pass->attention))
    timed.visits = pass->attention.visits;
  return time(timed, context);
}

}  // namespace natten_sim::study
