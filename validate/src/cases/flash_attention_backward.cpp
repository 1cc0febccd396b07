// Backward passes of FlashAttention, whose times others measured (recordings) and `schedule --kernel`
// predicts. This program has none of these kernels: it compares and does not run them.
#include <algorithm>
#include <map>
#include <mutex>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/study/kernel_schedule.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

namespace natten_sim::validate {
namespace {

constexpr const char* kKernelName = "flash_attention_backward";

struct FlashBackwardCase final : ForeignCase {
  study::KernelScheduleQuestion question;
  bool deterministic = true;

  [[nodiscard]] std::string key() const override;
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] std::string measured_by() const override { return "scripts/timing"; }

 private:
  [[nodiscard]] std::string problem_text() const;
};

const char* mode_name(bool deterministic) { return deterministic ? "deterministic" : "unordered"; }

const char* class_name(const ScheduleMask& mask) {
  if (std::holds_alternative<FullMask>(mask.rule)) return to_string(MaskClass::kFull);
  return to_string(std::holds_alternative<CausalMask>(mask.rule) ? MaskClass::kCausal : MaskClass::kWindow);
}

/// @throws UnknownName.
std::string implementation_of(const StrictObject& fields) {
  const std::string name = fields.text("implementation");
  const std::vector<std::string> names = builtin_catalog().backward_kernel_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw UnknownName("kernel", name, closest_name(name, names), joined(names));
  return name;
}

Point read_flash_backward(const StrictObject& fields) {
  FlashBackwardCase point;
  study::KernelScheduleQuestion& question = point.question;
  question.kernel = implementation_of(fields);
  question.head_dim = fields.integer("head_dim", {1, 65536});
  question.q_tokens = fields.integer("tokens", {1, std::int64_t{1} << 40});
  question.batch = fields.integer32_or("batch", 1);
  question.heads = fields.integer32_or("heads", 1);
  question.heads_kv = fields.integer32_or("heads_kv", question.heads);
  question.dtype = parse_name<Dtype>(fields.text_or("dtype", "bf16"));
  const auto read = parse_schedule_mask(fields.text("mask"));
  const auto* rule = std::get_if<ScheduleMask>(&read);
  if (rule == nullptr) fields.fail("mask", "full, causal or window:LEFT,RIGHT");
  question.mask = *rule;
  const std::string mode = fields.text("mode");
  if (mode != mode_name(true) && mode != mode_name(false)) fields.fail("mode", "deterministic or unordered");
  point.deterministic = mode == mode_name(true);
  return point;
}

/// Costs were fitted to these points: nothing that their times say of the model is new.
bool was_fitted(const study::KernelScheduleAnswer& answer, const study::KernelScheduleQuestion& question) {
  const ScheduleCostEvidence& fit = answer.costs->fit;
  const auto holds = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  return holds(fit.lengths, question.q_tokens) && holds(fit.masks, answer.mask) &&
         question.batch * question.q_tokens == fit.tokens_in_all &&
         question.heads * question.head_dim == fit.hidden && answer.heads_kv == question.heads;
}

/// The key without its mode.
std::string FlashBackwardCase::problem_text() const {
  return question.kernel.name + " backward b" + std::to_string(question.batch) + " h" +
         std::to_string(question.heads) + "/" + std::to_string(question.heads_kv.value_or(question.heads)) +
         " s" + std::to_string(question.q_tokens) + " d" + std::to_string(question.head_dim) + " " +
         to_string(question.dtype) + " " + mask_text(question.mask);
}

std::string FlashBackwardCase::key() const { return problem_text() + " " + mode_name(deterministic); }

std::string FlashBackwardCase::group() const {
  return question.kernel.name + " backward " + class_name(question.mask) + " " + mode_name(deterministic);
}

std::vector<Parameter> FlashBackwardCase::parameters() const {
  return {{"kernel", kKernelName},
          {"implementation", question.kernel.name},
          {"head_dim", question.head_dim},
          {"tokens", question.q_tokens},
          {"batch", std::int64_t{question.batch}},
          {"heads", std::int64_t{question.heads}},
          {"heads_kv", std::int64_t{question.heads_kv.value_or(question.heads)}},
          {"dtype", to_string(question.dtype)},
          {"mask", mask_text(question.mask)},
          {"mode", mode_name(deterministic)}};
}

/// One simulation gives both modes, and long sequences have millions of tasks: answers are kept.
const study::KernelScheduleAnswer& answer_of(const std::string& problem,
                                             const study::KernelScheduleQuestion& question) {
  static const study::Context context = study::default_context();
  static std::mutex mutex;
  static std::map<std::string, study::KernelScheduleAnswer> known;
  const std::lock_guard lock(mutex);
  const auto at = known.find(problem);
  if (at != known.end()) return at->second;
  return known.emplace(problem, study::kernel_schedule(question, context)).first->second;
}

std::vector<Prediction> FlashBackwardCase::predict(const Device& device, Fidelity) const {
  study::KernelScheduleQuestion here = question;
  here.device = device.name;
  const study::KernelScheduleAnswer& answer = answer_of(device.name + " " + problem_text(), here);
  const auto& run = deterministic ? answer.deterministic : answer.not_deterministic;
  if (!run) return {};
  constexpr double kNsOfMs = 1e6;
  std::optional<PredictedInterval> interval;
  if (run->interval_ms)
    interval = {run->interval_ms->low * kNsOfMs, run->interval_ms->high * kNsOfMs, "schedule", group()};
  return {{std::string(kLaunchTime), "schedule and costs", run->time_ms * kNsOfMs, was_fitted(answer, here), interval}};
}

}  // namespace

namespace cases {

CaseKind flash_attention_backward();
CaseKind flash_attention_backward() {
  return {kKernelName,
          {"implementation", "head_dim", "tokens", "batch", "heads", "heads_kv", "dtype", "mask", "mode"},
          read_flash_backward};
}

}  // namespace cases
}  // namespace natten_sim::validate
