#pragma once

namespace natten_sim::test {

/// Whether a change of the timed model is seen in what was measured, launch by launch. A change that is
/// nothing (another seed, a rate that is off by a thousandth) moves single launches near the onset of the
/// causal explosion by up to 0.09 of what they read, over the rim of a tolerance too, and the mean of 29 of
/// them by up to 0.004. So a change is noticed when
/// - two launches end up beyond their tolerance and deviate by kMoved more than they did, or
/// - the mean deviation of all launches rises by more than `least_rise`.
class Notice {
 public:
  static constexpr double kMoved = 0.1;
  static constexpr int kLaunches = 2;

  explicit Notice(double least_rise) : least_rise_(least_rise) {}

  /// Deviations of a launch, relative to what was measured, without the change and with it.
  void add(double as_is, double changed, double tolerance) {
    ++launches_;
    rise_ += changed - as_is;
    if (changed > tolerance && changed > as_is + kMoved) ++left_;
  }
  /// So much that the launches which are still to come cannot change it.
  [[nodiscard]] bool certain() const { return left_ >= kLaunches; }
  [[nodiscard]] bool noticed() const { return certain() || mean_rise() > least_rise_; }
  [[nodiscard]] int left() const { return left_; }
  [[nodiscard]] double mean_rise() const { return launches_ == 0 ? 0 : rise_ / launches_; }

 private:
  double least_rise_;
  int launches_ = 0;
  double rise_ = 0;
  int left_ = 0;
};

}  // namespace natten_sim::test
