#include <cmath>
#include <unordered_map>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>

#include "answers.hpp"

namespace natten_sim::study {
namespace {

/// Distinct sectors of a trace, or sampled ones, that are held: about 3 GB.
constexpr std::int64_t kMaxTraceSectors = std::int64_t{1} << 25;

/// Sectors of a trace, one at a time, as far as the question needs them.
class TraceReplay {
 public:
  explicit TraceReplay(const ReuseSetting& setting)
      : sector_(static_cast<std::uint64_t>(setting.sector())),
        line_(static_cast<std::uint64_t>(*setting.question.line_bytes)),
        cache_(cache_of(setting)),
        sample_(sample_of(setting)),
        measures_(!cache_ || wants_distances(setting.question.details)) {}

  void visit(const TraceAccess& access) {
    const auto bytes = access.bytes == 0 ? std::uint64_t{1} : static_cast<std::uint64_t>(access.bytes);
    const std::uint64_t last = (access.address + bytes - 1) / sector_;
    for (std::uint64_t at = access.address / sector_; at <= last; ++at) {
      poll();
      take(at);
    }
  }

  [[nodiscard]] std::int64_t accesses() const { return accesses_; }

  void answer(const ReuseSetting& setting, ReuseResult& result) const {
    result.sectors.total = accesses_;
    result.cold_sectors = cold();
    const ReuseDetails& details = setting.question.details;
    if (sample_) {
      if (wants_distances(details)) set_distances(sample_->pooled(), details, result);
    } else {
      set_distances(profile_, details, result);
    }
    if (!setting.capacity()) return;
    if (sample_) {
      const MissRatioEstimate estimate = estimated_misses(*sample_, *setting.capacity());
      const double misses = estimate.miss_ratio * static_cast<double>(accesses_);
      set_misses({.loads = std::llround(misses)}, setting.sector(), result);
      result.miss_ratio_standard_error = estimate.standard_error;
    } else {
      set_misses({.loads = cache_ ? cache_misses_ : profile_.misses(*setting.capacity())}, setting.sector(),
                 result);
    }
  }

 private:
  void take(std::uint64_t sector) {
    ++accesses_;
    require_room();
    const auto bytes = static_cast<std::int64_t>(sector_);
    if (sample_) {
      sample_->access(sector, bytes);
      return;
    }
    const auto next = static_cast<std::int64_t>(numbers_.size());
    const std::int64_t number = numbers_.try_emplace(sector, next).first->second;
    if (measures_) profile_.add(distances_.access(number, bytes));
    if (cache_ && !cache_->access(sector * sector_ / line_)) ++cache_misses_;
  }

  void require_room() const {
    const std::int64_t held =
        sample_ ? sample_->sampled_blocks() : static_cast<std::int64_t>(numbers_.size());
    if (held <= kMaxTraceSectors) return;
    throw InvalidParameter("trace",
                           "more than 2^25 distinct sectors" + std::string(sample_ ? " in the sample" : ""),
                           sample_ ? "a smaller " + mention("sample")
                                   : mention("sample") + " RATE, which follows a share of them");
  }

  [[nodiscard]] std::int64_t cold() const {
    if (!sample_) return static_cast<std::int64_t>(numbers_.size());
    return std::llround(static_cast<double>(sample_->pooled().cold()) / sample_->rate());
  }

  std::uint64_t sector_, line_;
  std::optional<SetAssociativeCache> cache_;
  std::optional<SampledStackDistances> sample_;
  bool measures_;  // whether distances are needed
  std::unordered_map<std::uint64_t, std::int64_t> numbers_;
  StackDistances distances_;
  ReuseProfile profile_;
  std::int64_t cache_misses_ = 0, accesses_ = 0;
};

}  // namespace

ReuseResult answer_trace(const ReuseSetting& setting, const TraceSubject& trace, const Progress& progress) {
  TraceReplay replay(setting);
  trace.feed([&](const TraceAccess& access) { replay.visit(access); }, progress);
  if (replay.accesses() == 0) throw MalformedData("trace " + trace.name, "no access", "one access or more");
  ReuseResult result;
  replay.answer(setting, result);
  return result;
}

}  // namespace natten_sim::study
