#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/tiles/shared_sm.hpp>

namespace natten_sim {
namespace {

/// Pace of each of `resident` CTAs, over its pace with all others on the SM.
double pace_of(std::int64_t resident, const SharedSms& sms) {
  const auto count = static_cast<double>(resident), all = static_cast<double>(sms.ctas_per_sm);
  if (all <= 2) {  // the two ends are all there is
    const double lone = std::max(sms.lone_share, 1 / all);
    return (lone + (1 - lone) * (all > 1 ? count - 1 : 1)) / count * all;
  }
  if (count >= all) return 1;
  // The power mean of a latency of its own and of what the SM takes for all of them.
  constexpr double kPower = 2.5;
  const double alone = std::pow(1 / std::max(1.0, all * sms.lone_share), kPower);
  const double together = (1 - alone) / (std::pow(all, kPower) - 1);
  return std::pow(alone + together * (std::pow(count, kPower) - 1), -1 / kPower);
}

/// One SM: how far each of its CTAs has come, which is alike for all, and where they end. It changes when one ends; others
/// start at the beginning, or in the place and at the time of one that ended.
class SharedSm {
 public:
  [[nodiscard]] std::size_t resident() const { return ends_.size(); }

  void start(double cost) {
    const double end = served_ + cost;
    ends_.insert(std::lower_bound(ends_.begin(), ends_.end(), end, std::greater<>()), end);
  }
  void end_first(double now) {
    now_ = now;
    served_ = ends_.back();
    ends_.pop_back();
  }
  /// Never without a CTA. `paces[n]`: of one of n CTAs.
  [[nodiscard]] double first_end(const std::vector<double>& paces) const {
    return ends_.empty() ? std::numeric_limits<double>::infinity() : now_ + (ends_.back() - served_) / paces[resident()];
  }

 private:
  double now_ = 0, served_ = 0;
  std::vector<double> ends_;  ///< the next one last
};

/// The least of numbers that change, the first of equal ones: a tree of the winners of pairs. Update O(log n).
class Tournament {
 public:
  Tournament(std::size_t size, double value) : leaves_(size), numbers_(size, value), winners_(2 * size) {
    for (std::size_t i = 0; i < size; ++i) winners_[size + i] = i;
    for (std::size_t node = size; node-- > 1;) play(node);
  }
  [[nodiscard]] std::size_t first() const { return winners_[1]; }
  [[nodiscard]] double least() const { return numbers_[first()]; }
  void set(std::size_t index, double value) {
    numbers_[index] = value;
    for (std::size_t node = (leaves_ + index) / 2; node > 0; node /= 2) play(node);
  }

 private:
  void play(std::size_t node) {
    const std::size_t a = winners_[2 * node], b = winners_[2 * node + 1];
    const bool a_wins = numbers_[a] < numbers_[b] || (numbers_[a] == numbers_[b] && a < b);
    winners_[node] = a_wins ? a : b;
  }

  std::size_t leaves_;
  std::vector<double> numbers_;
  std::vector<std::size_t> winners_;
};

/// All SMs: which has the fewest CTAs, and on which the next one ends.
class SharedLaunch {
 public:
  explicit SharedLaunch(const SharedSms& sms)
      : places_(static_cast<double>(sms.ctas_per_sm)),
        sms_(static_cast<std::size_t>(sms.sms)),
        residents_(sms_.size(), 0),
        ends_(sms_.size(), std::numeric_limits<double>::infinity()) {
    paces_.push_back(0);
    for (std::int64_t resident = 1; resident <= sms.ctas_per_sm; ++resident) paces_.push_back(pace_of(resident, sms));
  }

  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] bool runs() const { return ends_.least() < std::numeric_limits<double>::infinity(); }
  void start(double cost) {
    while (residents_.least() == places_) end_one();
    const std::size_t sm = residents_.first();
    sms_[sm].start(cost);
    update(sm);
  }
  void end_one() {
    now_ = ends_.least();
    const std::size_t sm = ends_.first();
    sms_[sm].end_first(now_);
    update(sm);
  }

 private:
  void update(std::size_t sm) {
    residents_.set(sm, static_cast<double>(sms_[sm].resident()));
    ends_.set(sm, sms_[sm].first_end(paces_));
  }

  double places_, now_ = 0;
  std::vector<double> paces_;
  std::vector<SharedSm> sms_;
  Tournament residents_, ends_;
};

}  // namespace

double run_shared(std::span<const double> costs, std::int64_t repeats, const SharedSms& sms) {
  if (costs.empty() || repeats < 1) throw InvalidParameter("ctas", "0", "1 or more");
  if (sms.sms < 1) throw InvalidParameter("sms", std::to_string(sms.sms), "1 or more");
  if (sms.ctas_per_sm < 1) throw InvalidParameter("ctas_per_sm", std::to_string(sms.ctas_per_sm), "1 or more");
  if (!(sms.lone_share > 0 && sms.lone_share <= 1))
    throw InvalidParameter("lone_share", std::to_string(sms.lone_share), "more than 0, at most 1");
  SharedLaunch launch(sms);
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (const double cost : costs) {
      poll();
      if (!(cost >= 0)) throw InvalidParameter("costs", std::to_string(cost), "0 or more");
      launch.start(cost);
    }
  }
  while (launch.runs()) launch.end_one();
  return launch.now();
}

}  // namespace natten_sim
