#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace natten_sim::draw {

/// Linear and logarithmic axes with round ticks whose labels never overprint.
///
///     AxisSpec spec{.label = "capacity", .scale = Scale::kLog, .unit = Unit::kBytes};
///     Axis axis(spec, range, 80, 700, Side::kBottom);
///     for (const Tick& tick : axis.ticks()) document.text(axis.place(tick.value), y, tick.label, ...);
///
/// Values up to 1e300 in size; a logarithmic axis shows positive ones only. Ticks are multiples of 1, 2 or 5
/// times a power of ten, of powers of two for the binary units. The ends are rounded outwards to such
/// multiples, to a millionth of the axis, unless the spec fixes them.

enum class Scale { kLinear, kLog };

enum class Unit {
  kNumber,   ///< 2k, 1.5M; below 0.001 and from 1e18 on with an exponent
  kBinary,   ///< powers of two: 64, 1Ki, 128Ki
  kBytes,    ///< powers of two: 64 B, 1 KiB
  kPercent,  ///< of a fraction: 0.25 is 25%
};

struct AxisSpec {
  std::string label;  ///< quantity and unit: "time (us)"
  Scale scale = Scale::kLinear;
  Unit unit = Unit::kNumber;
  std::optional<double> from{}, to{};  ///< fixed ends; ignored where the scale cannot show them
  bool from_zero = false;              ///< a linear axis includes 0
};

/// The least and the greatest value of some data.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value);
  [[nodiscard]] bool empty() const { return low > high; }
};

/// Whether `scale` can show `value`: finite, at most 1e300 in size, positive if logarithmic.
[[nodiscard]] bool can_show(Scale scale, double value);

/// Logarithmic when all values are positive, or zero beside positive ones, and the largest is over 30 times
/// the smallest positive one.
[[nodiscard]] Scale scale_for(std::span<const double> values);

/// A number as ticks and notes write it, with three significant digits.
[[nodiscard]] std::string number_text(double value, Unit unit = Unit::kNumber);

struct Tick {
  double value = 0;
  std::string label;  ///< empty: a grid line only
};

enum class Side { kBottom, kLeft };

class Axis {
 public:
  /// Maps `data` (what `can_show` refuses must not be in it) to pixels between `from` and `to`, which may
  /// run downwards. No data: 0 to 1, or 1 to 10. One value: some room on both sides.
  Axis(const AxisSpec& spec, const Range& data, double from, double to, Side side, double label_size = 11);

  [[nodiscard]] double place(double value) const;    ///< in pixels; beyond the ends it goes on
  [[nodiscard]] double clamped(double value) const;  ///< as `place`, but not beyond the ends; 0 and below on
                                                     ///< a logarithmic axis: at its lower end
  [[nodiscard]] bool shows(double value) const;      ///< within the ends
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  /// Ascending. Labels are apart from each other by the estimate of text_width.
  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }
  [[nodiscard]] double widest_label() const;  ///< in pixels

 private:
  void choose_ends(const Range& data);
  void choose_ticks();
  void thin_labels();
  bool fit(const std::vector<Tick>& ticks) const;
  [[nodiscard]] std::vector<Tick> linear_ticks(double step) const;
  [[nodiscard]] double mapped(double value) const;

  AxisSpec spec_;
  double low_ = 0, high_ = 1;
  double from_, to_;
  Side side_;
  double label_size_;
  std::vector<Tick> ticks_;
};

}  // namespace natten_sim::draw
