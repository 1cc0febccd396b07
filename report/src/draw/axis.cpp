#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/text.hpp>

namespace natten_sim::draw {
namespace {

constexpr double kMaxValue = 1e300;
constexpr double kNearly = 1e-9;
constexpr double kLeastRange = 1e-6;  // of the values: what labels of ticks can tell apart
constexpr int kMaxTicks = 9;

bool binary(Unit unit) { return unit == Unit::kBinary || unit == Unit::kBytes; }

/// The smallest 1, 2 or 5 times a power of ten (power of two) that is not below `step`.
double round_step(double step, Unit unit) {
  if (binary(unit) && step > 0.5) return std::exp2(std::ceil(std::log2(step) - kNearly));
  const double power = std::pow(10.0, std::floor(std::log10(step) + kNearly));
  for (const double multiple : {1.0, 2.0, 5.0}) {
    if (multiple * power >= step * (1 - kNearly)) return multiple * power;
  }
  return 10 * power;
}

/// The next round value of a logarithmic axis, down or up.
double round_log(double value, Unit unit, bool up) {
  if (binary(unit)) {
    const double exponent = std::log2(value);
    return std::exp2(up ? std::ceil(exponent - kNearly) : std::floor(exponent + kNearly));
  }
  const double power = std::pow(10.0, std::floor(std::log10(value) + kNearly));
  const std::array<double, 4> round = {power, 2 * power, 5 * power, 10 * power};
  if (up) {
    for (const double candidate : round)
      if (candidate >= value * (1 - kNearly)) return candidate;
    return round.back();
  }
  for (auto candidate = round.rbegin(); candidate != round.rend(); ++candidate)
    if (*candidate <= value * (1 + kNearly)) return *candidate;
  return power;
}

struct Suffix {
  double scale = 1;
  const char* text = "";
};

Suffix suffix_for(double size, Unit unit) {
  using Suffixes = std::array<Suffix, 6>;
  static constexpr Suffixes kDecimal = {
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
  static constexpr Suffixes kBinary = {
      {{0x1p50, "Pi"}, {0x1p40, "Ti"}, {0x1p30, "Gi"}, {0x1p20, "Mi"}, {0x1p10, "Ki"}, {1, ""}}};
  static constexpr Suffixes kByte = {
      {{0x1p50, " PiB"}, {0x1p40, " TiB"}, {0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}, {1, " B"}}};
  if (unit == Unit::kPercent) return {0.01, "%"};
  const Suffixes& all = unit == Unit::kBytes ? kByte : unit == Unit::kBinary ? kBinary : kDecimal;
  for (const Suffix& each : all)
    if (size >= each.scale * (1 - kNearly)) return each;
  return all.back();
}

/// 5e-6 and 2e18, where {:g} writes 5e-06 and 2e+18.
std::string exponent_text(double value, int digits) {
  std::string text = fmt::format("{:.{}g}", value, digits);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  std::size_t zeros = e + 1;
  if (text[zeros] == '+') text.erase(zeros, 1);
  if (text[zeros] == '-') ++zeros;
  while (text[zeros] == '0') text.erase(zeros, 1);
  return text;
}

/// A label with as many decimals as multiples of `step` need.
std::string step_label(double value, double step, double largest, Unit unit) {
  if (value == 0) return unit == Unit::kPercent ? "0%" : "0";
  const bool exponent = unit != Unit::kPercent && (largest >= 1e18 || largest < 1e-3);
  if (exponent) return exponent_text(value, 6);
  Suffix suffix = suffix_for(largest, unit);
  // 400, 800, 1200 rather than 0.4k, 0.8k, 1.2k.
  const bool few_digits = unit == Unit::kNumber && largest < 1e4 && step < 999.5;
  if (few_digits) suffix = {};
  const double scaled_step = step / suffix.scale;
  int decimals = 0;
  while (decimals < 12 && std::abs(scaled_step * std::pow(10.0, decimals) -
                                   std::round(scaled_step * std::pow(10.0, decimals))) > 1e-6)
    ++decimals;
  return fmt::format("{:.{}f}{}", value / suffix.scale, decimals, suffix.text);
}

/// Exponents of the base that a logarithmic axis reaches.
std::vector<double> powers(double low, double high, double base, int every) {
  std::vector<double> values;
  const double first = std::ceil(std::log(low) / std::log(base) - kNearly);
  const double last = std::floor(std::log(high) / std::log(base) + kNearly);
  for (double e = std::ceil(first / every) * every; e <= last; e += every)
    values.push_back(base == 2 ? std::exp2(e) : std::pow(10.0, e));
  return values;
}

/// Values with a grid line, the densest choice first.
std::vector<std::vector<double>> log_choices(double low, double high, Unit unit) {
  std::vector<std::vector<double>> choices;
  if (binary(unit)) {
    for (const int every : {1, 2, 5, 10, 20, 50, 100, 200}) choices.push_back(powers(low, high, 2, every));
    return choices;
  }
  if (high / low < 2e4) {
    std::vector<double> all;
    for (double power = std::pow(10.0, std::floor(std::log10(low) + kNearly)); power <= high * (1 + kNearly);
         power *= 10) {
      for (const double multiple : {1.0, 2.0, 5.0}) {
        const double value = multiple * power;
        if (value >= low * (1 - kNearly) && value <= high * (1 + kNearly)) all.push_back(value);
      }
    }
    choices.push_back(all);
  }
  for (const int every : {1, 2, 5, 10, 20, 50, 100, 200}) choices.push_back(powers(low, high, 10, every));
  return choices;
}

}  // namespace

void Range::include(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

bool can_show(Scale scale, double value) {
  return std::abs(value) <= kMaxValue && (scale == Scale::kLinear || value >= 1 / kMaxValue);
}

Scale scale_for(std::span<const double> values) {
  Range positive;
  for (const double value : values) {
    if (value < 0) return Scale::kLinear;
    if (can_show(Scale::kLog, value)) positive.include(value);
  }
  return !positive.empty() && positive.high / positive.low > 30 ? Scale::kLog : Scale::kLinear;
}

std::string number_text(double value, Unit unit) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(value);
  if (unit != Unit::kPercent && size > 0 && (size >= 1e18 || size < 1e-3)) return exponent_text(value, 3);
  const Suffix suffix = suffix_for(size, unit);
  const double scaled = value / suffix.scale;
  // Three digits, and all of them before the point: 1023 KiB, not 1.02e+03 KiB.
  return std::abs(scaled) >= 999.5 ? fmt::format("{:.0f}{}", scaled, suffix.text)
                                   : fmt::format("{:.3g}{}", scaled, suffix.text);
}

Axis::Axis(const AxisSpec& spec, const Range& data, double from, double to, Side side, double label_size)
    : spec_(spec), from_(from), to_(to), side_(side), label_size_(label_size) {
  choose_ends(data);
  choose_ticks();
}

void Axis::choose_ends(const Range& data) {
  const bool log = spec_.scale == Scale::kLog;
  Range range = data;
  if (spec_.from && can_show(spec_.scale, *spec_.from)) range.low = *spec_.from;
  if (spec_.to && can_show(spec_.scale, *spec_.to)) range.high = *spec_.to;
  if (!std::isfinite(range.low)) range.low = std::isfinite(range.high) ? range.high : log ? 1 : 0;
  if (!std::isfinite(range.high)) range.high = range.low == 0 && !log ? 1 : range.low;
  if (!log && spec_.from_zero) range.include(0);
  if (range.low > range.high) std::swap(range.low, range.high);
  if (log && range.high < range.low * (1 + kNearly)) {
    range = data.empty() ? Range{1, 10} : Range{range.low / 2, range.high * 2};
  } else if (!log &&
             range.high - range.low <= std::max(std::abs(range.low), std::abs(range.high)) * kLeastRange) {
    const double room = range.low == 0 ? 1 : std::abs(range.low) / 2;
    range = range.low == 0 ? Range{0, 1} : Range{range.low - room, range.high + room};
  }
  const double step = log ? 1 : round_step((range.high - range.low) / 6, spec_.unit);
  low_ = log ? round_log(range.low, spec_.unit, false) : std::floor(range.low / step + kNearly) * step;
  high_ = log ? round_log(range.high, spec_.unit, true) : std::ceil(range.high / step - kNearly) * step;
  if (spec_.from && can_show(spec_.scale, *spec_.from) && *spec_.from < high_) low_ = *spec_.from;
  if (spec_.to && can_show(spec_.scale, *spec_.to) && *spec_.to > low_) high_ = *spec_.to;
}

double Axis::mapped(double value) const { return spec_.scale == Scale::kLog ? std::log10(value) : value; }

double Axis::place(double value) const {
  return from_ + (mapped(value) - mapped(low_)) / (mapped(high_) - mapped(low_)) * (to_ - from_);
}

double Axis::clamped(double value) const {
  return value <= low_ || !can_show(spec_.scale, value) ? from_ : value >= high_ ? to_ : place(value);
}

bool Axis::shows(double value) const {
  return can_show(spec_.scale, value) && value >= low_ && value <= high_;
}

bool Axis::fit(const std::vector<Tick>& ticks) const {
  double end = 0;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double at = std::abs(place(ticks[i].value) - from_);
    const double half =
        side_ == Side::kLeft ? label_size_ * 0.8 : text_width(ticks[i].label, label_size_) / 2 + 5;
    if (i > 0 && at - half < end) return false;
    end = at + half;
  }
  return true;
}

std::vector<Tick> Axis::linear_ticks(double step) const {
  std::vector<Tick> ticks;
  const double largest = std::max(std::abs(low_), std::abs(high_));
  const double first = std::ceil(low_ / step - kNearly), last = std::floor(high_ / step + kNearly);
  for (double i = first; i <= last && ticks.size() <= 2 * kMaxTicks; ++i)
    ticks.push_back({i * step, step_label(i * step, step, largest, spec_.unit)});
  return ticks;
}

void Axis::choose_ticks() {
  if (spec_.scale == Scale::kLog) {
    std::vector<Tick> coarsest;
    for (const std::vector<double>& values : log_choices(low_, high_, spec_.unit)) {
      if (values.size() < 2) break;
      ticks_.clear();
      for (const double value : values) ticks_.push_back({value, number_text(value, spec_.unit)});
      if (fit(ticks_)) return;
      coarsest = ticks_;
    }
    ticks_ = std::move(coarsest);
    thin_labels();
    if (!ticks_.empty()) return;
  }
  // Also on logarithmic axes too short for two powers.
  for (double count = kMaxTicks; count >= 1; --count) {
    std::vector<Tick> coarser = linear_ticks(round_step((high_ - low_) / count, spec_.unit));
    if (coarser.size() < 2 && !ticks_.empty()) break;
    ticks_ = std::move(coarser);
    if (ticks_.size() <= kMaxTicks + 1 && fit(ticks_)) return;
  }
  thin_labels();
}

void Axis::thin_labels() {
  std::vector<Tick> labelled;
  for (Tick& tick : ticks_) {
    labelled.push_back(tick);
    if (fit(labelled)) continue;
    labelled.pop_back();
    tick.label.clear();
  }
}

double Axis::widest_label() const {
  double widest = 0;
  for (const Tick& tick : ticks_) widest = std::max(widest, text_width(tick.label, label_size_));
  return widest;
}

}  // namespace natten_sim::draw
