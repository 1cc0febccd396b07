#include <natten_sim/study/conclusion/msda.hpp>

#include <algorithm>
#include <vector>

namespace natten_sim::study {
namespace {

constexpr double kWorthwhileMsda = 1.02;

}  // namespace

MsdaConclusion conclude(const MsdaAnswer& answer, const Context& context) {
  MsdaConclusion end;
  const MsdaPass& first = answer.passes.front();
  const auto take = [&](double time_ns, MsdaChange change) {
    ++end.asked;
    change.time_ns = time_ns;
    change.gain = first.time.time_ns / time_ns;
    if (change.gain >= kWorthwhileMsda && (!end.change || change.gain > end.change->gain))
      end.change = change;
  };
  MsdaQuestion question = answer.question;
  question.orders = {first.order};
  question.details = {};
  const MsdaCache cache = msda_cache(question, context);
  const auto ask = [&](const MsdaQuestion& varied, const MsdaChange& change) {
    const MsdaCache other = msda_cache(varied, context);  // traffic counted behind another cache is another's
    if (other.capacity_granules != cache.capacity_granules ||
        other.rows_per_granule != cache.rows_per_granule)
      return;
    take(msda_from_traffic(varied, {first.traffic}, context).passes.front().time.time_ns, change);
  };
  const Device& device = context.catalog.device(question.device);
  const std::vector<MsdaKernel>& kernels = device.msda_kernels;
  for (const MsdaTiling tiling : values_of<MsdaTiling>()) {
    const bool measured =
        device.msda_costs || std::any_of(kernels.begin(), kernels.end(),
                                         [&](const MsdaKernel& kernel) { return kernel.tiling == tiling; });
    if (tiling == question.tiling || !measured) continue;
    MsdaQuestion varied = question;
    varied.tiling = tiling;
    ask(varied, {.tiling = tiling});
  }
  if (question.phase == MsdaPhase::kBackward && !question.construct && !question.update) {
    const Dtype other = *question.accumulator == *question.dtype ? Dtype::kFp32 : *question.dtype;
    if (other != *question.accumulator) {
      MsdaQuestion varied = question;
      varied.accumulator = other;
      ask(varied, {.accumulator = other});
    }
  }
  for (std::size_t i = 1; i < answer.passes.size(); ++i)
    take(answer.passes[i].time.time_ns, {.order = answer.passes[i].order});
  return end;
}

}  // namespace natten_sim::study
