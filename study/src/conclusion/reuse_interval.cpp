#include "reuse_interval.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace natten_sim::study {
namespace {

constexpr double kCapacityError = 0.03;

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

/// Asks the question with one input changed at a time.
class Variations {
 public:
  Variations(const ReuseQuestion& question, std::int64_t read_bytes, const Context& context)
      : question_(question), context_(context), read_bytes_(read_bytes) {
    context_.progress = {};
    question_.details = {};
    question_.compare = std::nullopt;
    interval_.low_bytes = interval_.high_bytes = read_bytes;
  }

  void vary(const char* input, const std::string& values, const std::vector<ReuseQuestion>& varied) {
    ReuseInfluence influence{input, values, read_bytes_, read_bytes_};
    for (const ReuseQuestion& question : varied) {
      const ReuseResult result = reuse(question, context_).results.front().first;
      if (!result.dram_read_bytes) return;
      influence.low_bytes = std::min(influence.low_bytes, *result.dram_read_bytes);
      influence.high_bytes = std::max(influence.high_bytes, *result.dram_read_bytes);
    }
    interval_.low_bytes = std::min(interval_.low_bytes, influence.low_bytes);
    interval_.high_bytes = std::max(interval_.high_bytes, influence.high_bytes);
    const auto width = static_cast<double>(influence.high_bytes - influence.low_bytes);
    if (width > kLeastInfluence * static_cast<double>(read_bytes_)) interval_.influences.push_back(influence);
  }

  [[nodiscard]] const ReuseQuestion& question() const { return question_; }
  [[nodiscard]] ReuseInterval interval() && {
    std::stable_sort(
        interval_.influences.begin(), interval_.influences.end(),
        [](const auto& a, const auto& b) { return a.high_bytes - a.low_bytes > b.high_bytes - b.low_bytes; });
    return std::move(interval_);
  }

 private:
  ReuseQuestion question_;
  Context context_;
  std::int64_t read_bytes_;
  ReuseInterval interval_;
};

/// Lookahead, jitter and draws.
void vary_kernel(const TimedRun& timed, Variations& variations) {
  const auto with = [&](auto change) {
    ReuseQuestion question = variations.question();
    change(std::get<TimedRun>(*question.method));
    return question;
  };
  const std::int32_t ahead = *timed.lookahead_tiles, least = std::max(0, ahead - 1);
  variations.vary("lookahead", std::to_string(least) + " to " + std::to_string(ahead + 1) + " tiles",
                  {with([&](TimedRun& run) { run.lookahead_tiles = least; }),
                   with([&](TimedRun& run) { run.lookahead_tiles = ahead + 1; })});
  const double twice = std::max(2 * *timed.jitter, 0.02);
  variations.vary(
      "jitter", "0 to " + short_number(twice),
      {with([](TimedRun& run) { run.jitter = 0; }), with([&](TimedRun& run) { run.jitter = twice; })});
  variations.vary("seed", "another draw", {with([](TimedRun& run) { ++run.seed; })});
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
  Variations variations(question, read_bytes, context);
  if (timed != nullptr) {
    vary_kernel(*timed, variations);
    vary_capacity(variations);
  }
  if (schedule_assumed) vary_schedule(variations);
  return std::move(variations).interval();
}

}  // namespace natten_sim::study
