#include <natten_sim/core/error.hpp>
#include <natten_sim/study/search.hpp>

#include "plan_parts.hpp"

namespace natten_sim::study {
namespace {

bool trains(const PlanQuestion& question) { return question.use == AdviseUse::kTraining; }

/// Of one call, whatever the model around it is.
Setting one_call(Setting setting) {
  setting.attention_share.reset();
  setting.dense_steps.reset();
  return setting;
}

CountQuestion advised(const PlanQuestion& question, const Context& context) {
  AdviseQuestion asked;
  asked.setting = one_call(question.setting);
  asked.setting.device.reset();
  asked.devices = {*question.setting.device};
  asked.use = question.use;
  const AdviseAnswer answer = advise(asked, context);
  const DeviceAdvice& advice = answer.devices.front();
  if (advice.choices.empty()) throw InvalidParameter("device", advice.device, advice.missing);
  return advice.choices.front().count.question;
}

/// The fastest tiles, and strides if none is given, of a window.
CountQuestion with_tiles(const PlanQuestion& question, const Context& context) {
  SearchQuestion asked;
  asked.setting = one_call(question.setting);
  asked.window = question.window;
  asked.stride = question.stride;
  asked.phase = trains(question) ? SearchPhase::kBoth : SearchPhase::kForward;
  asked.distinct = Distinct::kWindow;
  asked.top = 1;
  asked.kernels = {effective_backend(question.setting, context.catalog).name};
  const SearchAnswer answer = search(asked, context);
  if (answer.question.objective != Objective::kTime || answer.candidates.empty())
    throw InvalidParameter("device", *question.setting.device,
                           answer.time_missing.empty() ? "one on which NATTEN runs this window" : answer.time_missing);
  const SearchCandidate& best = answer.candidates.front();
  CountQuestion found;
  found.window = window_of(best.counted.problem.mask);
  found.stride = stride_of(best.counted.problem.mask);
  found.q_tile = best.tiles.tiles.q_tile;
  found.kv_tile = best.tiles.tiles.kv_tile;
  if (best.backward) {
    found.backward = true;
    found.backward_q_tile = best.tiles.backward_tiles.q_tile;
    found.backward_kv_tile = best.tiles.backward_tiles.kv_tile;
  }
  return found;
}

const PassTime& predicted(const std::optional<TimeAnswer>& pass) {
  if (!pass) throw InvalidParameter("device", "none", "one on which the kernel is timed");
  if (const auto* missing = std::get_if<MissingTime>(&*pass))
    throw InvalidParameter("device", "no predicted time", missing->sentence);
  return std::get<PassTime>(*pass);
}

}  // namespace

CountQuestion sparse_attention(const PlanQuestion& question, const Context& context) {
  Context quiet = context;
  quiet.progress = {};
  CountQuestion found = question.window.empty() ? advised(question, quiet) : with_tiles(question, quiet);
  found.setting = one_call(question.setting);
  found.kernel = effective_backend(question.setting, context.catalog).name;
  return found;
}

CountQuestion dense_attention(const PlanQuestion& question, const std::string& kernel, Walk pass) {
  CountQuestion dense;
  dense.setting = one_call(question.setting);
  dense.setting.backend = std::nullopt;  // the kernel's own, if it has one
  dense.kernel = kernel;
  dense.backward = pass == Walk::kBackward;
  return dense;
}

std::string dense_kernel_of(const std::optional<TimeAnswer>& pass, const std::string& own_kernel) {
  const PassTime& time = predicted(pass);
  return time.dense_kernel.starts_with(own_kernel) ? own_kernel : time.dense_kernel;
}

Bounded time_of_pass(const std::optional<TimeAnswer>& pass) {
  const PassTime& time = predicted(pass);
  return {time.total_ms, time.low_ms, time.high_ms};
}

}  // namespace natten_sim::study
