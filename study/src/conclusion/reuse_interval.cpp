#include "reuse_interval.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <utility>

#include "asked_reuse.hpp"

namespace natten_sim::study {
namespace {

constexpr double kCapacityError = 0.03;

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

/// The question with one input changed at a time. All are asked at once, at the end.
class Variations {
 public:
  explicit Variations(const ReuseQuestion& question) : question_(question) {
    question_.details = {};
    question_.compare = std::nullopt;
  }

  void vary(const char* input, std::string values, std::vector<ReuseQuestion> varied) {
    inputs_.push_back({input, std::move(values), varied.size()});
    std::move(varied.begin(), varied.end(), std::back_inserter(varied_));
  }

  [[nodiscard]] const ReuseQuestion& question() const { return question_; }

  [[nodiscard]] ReuseInterval interval(std::int64_t read_bytes, const Context& context) const {
    ReuseInterval interval{.low_bytes = read_bytes, .high_bytes = read_bytes};
    const std::vector<ReuseResult> results = ask_each(varied_, context);
    auto result = results.begin();
    for (const Input& input : inputs_) {
      ReuseInfluence influence{input.name, input.values, read_bytes, read_bytes};
      bool known = true;
      for (std::size_t i = 0; i < input.questions; ++i, ++result) {
        known = known && result->dram_read_bytes;
        influence.low_bytes = std::min(influence.low_bytes, result->dram_read_bytes.value_or(read_bytes));
        influence.high_bytes = std::max(influence.high_bytes, result->dram_read_bytes.value_or(read_bytes));
      }
      if (known) add(influence, read_bytes, interval);
    }
    std::stable_sort(
        interval.influences.begin(), interval.influences.end(),
        [](const auto& a, const auto& b) { return a.high_bytes - a.low_bytes > b.high_bytes - b.low_bytes; });
    return interval;
  }

 private:
  struct Input {
    const char* name;
    std::string values;
    std::size_t questions;
  };

  static void add(const ReuseInfluence& influence, std::int64_t read_bytes, ReuseInterval& interval) {
    interval.low_bytes = std::min(interval.low_bytes, influence.low_bytes);
    interval.high_bytes = std::max(interval.high_bytes, influence.high_bytes);
    const auto width = static_cast<double>(influence.high_bytes - influence.low_bytes);
    if (width > kLeastInfluence * static_cast<double>(read_bytes)) interval.influences.push_back(influence);
  }

  ReuseQuestion question_;
  std::vector<Input> inputs_;
  std::vector<ReuseQuestion> varied_;  // those of an input behind those of the one before
};

/// Stages, jitter, draws, and the GPC that a launch happens to start from.
void vary_kernel(const TimedRun& timed, Variations& variations) {
  const auto with = [&](auto change) {
    ReuseQuestion question = variations.question();
    change(std::get<TimedRun>(*question.method));
    return question;
  };
  const std::int32_t stages = *timed.stages, least = std::max(1, stages - 1);
  variations.vary("stages", std::to_string(least) + " to " + std::to_string(stages + 1),
                  {with([&](TimedRun& run) { run.stages = least; }),
                   with([&](TimedRun& run) { run.stages = stages + 1; })});
  const double twice = std::max(2 * *timed.jitter, 0.02);
  variations.vary(
      "jitter", "0 to " + short_number(twice),
      {with([](TimedRun& run) { run.jitter = 0; }), with([&](TimedRun& run) { run.jitter = twice; })});
  variations.vary("seed", "another draw", {with([](TimedRun& run) { ++run.seed; })});
  variations.vary("launch start", "at two other GPCs",
                  {with([](TimedRun& run) { run.launch_start += 3; }),
                   with([](TimedRun& run) { run.launch_start += 6; })});
}

void vary_capacity(Variations& variations) {
  const auto with = [&](double factor) {
    ReuseQuestion question = variations.question();
    question.capacity_bytes = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(*question.capacity_bytes) * factor));
    return question;
  };
  variations.vary("l2-bytes", "3% less to 3% more", {with(1 - kCapacityError), with(1 + kCapacityError)});
}

void vary_schedule(Variations& variations) {
  ReuseQuestion question = variations.question();
  auto& subject = std::get<AttentionSubject>(question.subject);
  subject.schedule = subject.schedule == CtaSchedule::kGrid ? CtaSchedule::kPersistent : CtaSchedule::kGrid;
  variations.vary("schedule", "persistent or grid", {question});
}

}  // namespace

std::optional<ReuseInterval> interval_of(const ReuseQuestion& question, bool schedule_assumed,
                                         std::int64_t read_bytes, const Context& context) {
  const auto* timed = std::get_if<TimedRun>(&*question.method);
  if (timed == nullptr && !schedule_assumed) return std::nullopt;
  Variations variations(question);
  if (timed != nullptr) {
    vary_kernel(*timed, variations);
    vary_capacity(variations);
  }
  if (schedule_assumed) vary_schedule(variations);
  return variations.interval(read_bytes, context);
}

}  // namespace natten_sim::study
