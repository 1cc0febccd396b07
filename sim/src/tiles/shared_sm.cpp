#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/tiles/shared_sm.hpp>

namespace natten_sim {
namespace {

/// One SM: how far each of its CTAs has come, which is alike for all, and where they end.
class SharedSm {
 public:
  explicit SharedSm(const SharedSms& sms) : sms_(&sms) {}

  [[nodiscard]] std::int64_t resident() const { return static_cast<std::int64_t>(ends_.size()); }

  void start(double now, double cost) {
    advance(now);
    ends_.insert(served_ + cost);
  }
  void end_first(double now) {
    advance(now);
    served_ = *ends_.begin();
    ends_.erase(ends_.begin());
  }
  /// Requires a resident CTA.
  [[nodiscard]] double first_end() const { return now_ + (*ends_.begin() - served_) / pace(); }

 private:
  /// Pace of each CTA, over its pace with all others on the SM.
  [[nodiscard]] double pace() const {
    const auto count = static_cast<double>(ends_.size()), all = static_cast<double>(sms_->ctas_per_sm);
    if (all <= 2) {  // the two ends are all there is
      const double lone = std::max(sms_->lone_share, 1 / all);
      return (lone + (1 - lone) * (all > 1 ? count - 1 : 1)) / count * all;
    }
    if (count >= all) return 1;
    // The power mean of a latency of its own and of what the SM takes for all of them.
    constexpr double kPower = 2.5;
    const double alone = std::pow(1 / std::max(1.0, all * sms_->lone_share), kPower);
    const double together = (1 - alone) / (std::pow(all, kPower) - 1);
    return std::pow(alone + together * (std::pow(count, kPower) - 1), -1 / kPower);
  }
  void advance(double now) {
    if (!ends_.empty()) served_ += (now - now_) * pace();
    now_ = now;
  }

  const SharedSms* sms_;
  double now_ = 0, served_ = 0;
  std::multiset<double> ends_;
};

}  // namespace

double run_shared(std::span<const double> costs, std::int64_t repeats, const SharedSms& sms) {
  if (costs.empty() || repeats < 1) throw InvalidParameter("ctas", "0", "1 or more");
  if (sms.sms < 1) throw InvalidParameter("sms", std::to_string(sms.sms), "1 or more");
  if (sms.ctas_per_sm < 1) throw InvalidParameter("ctas_per_sm", std::to_string(sms.ctas_per_sm), "1 or more");
  if (!(sms.lone_share > 0 && sms.lone_share <= 1))
    throw InvalidParameter("lone_share", std::to_string(sms.lone_share), "more than 0, at most 1");
  std::vector<SharedSm> all(static_cast<std::size_t>(sms.sms), SharedSm(sms));
  std::set<std::pair<std::int64_t, std::size_t>> least;  // residents, SM
  for (std::size_t sm = 0; sm < all.size(); ++sm) least.insert({0, sm});
  std::set<std::pair<double, std::size_t>> ends;  // of the first CTA of each SM that has one
  double now = 0;
  const auto change = [&](std::size_t sm, const auto& act) {
    SharedSm& one = all[sm];
    least.erase({one.resident(), sm});
    if (one.resident() > 0) ends.erase({one.first_end(), sm});
    act(one);
    least.insert({one.resident(), sm});
    if (one.resident() > 0) ends.insert({one.first_end(), sm});
  };
  const auto end_one = [&] {
    const auto [time, sm] = *ends.begin();
    now = time;
    change(sm, [&](SharedSm& one) { one.end_first(now); });
  };
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (const double cost : costs) {
      poll();
      if (!(cost >= 0)) throw InvalidParameter("costs", std::to_string(cost), "0 or more");
      while (least.begin()->first == sms.ctas_per_sm) end_one();
      change(least.begin()->second, [&](SharedSm& one) { one.start(now, cost); });
    }
  }
  while (!ends.empty()) end_one();
  return now;
}

}  // namespace natten_sim
