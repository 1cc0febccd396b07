#include <cmath>
#include <random>

#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/text.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace draw_axis_test {

using namespace natten_sim::draw;

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> texts;
  for (const Tick& tick : axis.ticks()) texts.push_back(tick.label);
  return texts;
}

/// `value` is 1, 2 or 5 times a power of ten.
bool is_round(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value) + 1e-9));
  for (const double multiple : {1.0, 2.0, 5.0})
    if (std::abs(value - multiple * power) < 1e-6 * value) return true;
  return false;
}

void check_labels_apart(const Axis& axis, Side side, double size) {
  const std::vector<Tick>& ticks = axis.ticks();
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    if (ticks[i].label.empty() || ticks[i - 1].label.empty()) continue;
    const double distance = std::abs(axis.place(ticks[i].value) - axis.place(ticks[i - 1].value));
    const double needed = side == Side::kLeft
                              ? size
                              : (text_width(ticks[i].label, size) + text_width(ticks[i - 1].label, size)) / 2;
    CHECK(distance >= needed);
  }
}

TEST_CASE("a makespan of 35 has ticks at multiples of 5, not at 8.75") {
  const Axis axis({.from = 0, .to = 35}, {}, 0, 1000, Side::kBottom);
  CHECK(labels(axis) == std::vector<std::string>{"0", "5", "10", "15", "20", "25", "30", "35"});
}

TEST_CASE("ticks have units and as many decimals as their step needs") {
  CHECK(labels(Axis({}, {0, 1.2e6}, 0, 400, Side::kBottom)).back() == "1.2M");
  CHECK(labels(Axis({.unit = Unit::kPercent}, {0, 1}, 0, 200, Side::kLeft)) ==
        std::vector<std::string>{"0%", "20%", "40%", "60%", "80%", "100%"});
  CHECK(labels(Axis({.scale = Scale::kLog, .unit = Unit::kBytes}, {1024, 16384}, 0, 600, Side::kBottom)) ==
        std::vector<std::string>{"1 KiB", "2 KiB", "4 KiB", "8 KiB", "16 KiB"});
  CHECK(labels(Axis({.unit = Unit::kBinary}, {0, 131072}, 0, 300, Side::kBottom)) ==
        std::vector<std::string>{"0", "32Ki", "64Ki", "96Ki", "128Ki"});
  CHECK(labels(Axis({.scale = Scale::kLog}, {1, 1e6}, 0, 600, Side::kBottom)) ==
        std::vector<std::string>{"1", "10", "100", "1k", "10k", "100k", "1M"});
}

TEST_CASE("a thousand is written out where a tick in thousands would begin with 0.") {
  const std::vector<std::string> hundreds = labels(Axis({}, {400, 1200}, 0, 400, Side::kBottom));
  CHECK(hundreds.front() == "400");
  CHECK(hundreds.back() == "1200");
  const std::vector<std::string> thousands = labels(Axis({}, {0, 8000}, 0, 300, Side::kBottom));
  CHECK(thousands.front() == "0");
  CHECK(thousands.back() == "8k");
  CHECK(labels(Axis({}, {0, 1.2e6}, 0, 400, Side::kBottom)).at(1).ends_with("M"));
}

TEST_CASE("numbers are written with three digits and a unit") {
  CHECK(number_text(0) == "0");
  CHECK(number_text(1234567) == "1.23M");
  CHECK(number_text(999.7) == "1000");
  CHECK(number_text(-0.25, Unit::kPercent) == "-25%");
  CHECK(number_text(1536, Unit::kBytes) == "1.5 KiB");
  CHECK(number_text(1023, Unit::kBytes) == "1023 B");
  CHECK(number_text(131072, Unit::kBinary) == "128Ki");
  CHECK(number_text(2e18) == "2e18");
  CHECK(number_text(0.0004) == "0.0004");
  CHECK(number_text(0.00004) == "4e-5");
}

TEST_CASE("linear ticks are multiples of one step of 1, 2 or 5, and their labels are apart") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-6, 15), share(-1, 1), pixels(60, 1200);
  for (int i = 0; i < 2000; ++i) {
    const double low = share(random) * std::pow(10.0, exponent(random));
    const Range range{low, low + std::abs(share(random)) * std::pow(10.0, exponent(random))};
    const double length = pixels(random);
    const Side side = i % 2 == 0 ? Side::kBottom : Side::kLeft;
    const Axis axis({}, range, 0, length, side, 11);
    INFO("from " << range.low << " to " << range.high << " over " << length << " pixels");
    const double room = 1e-6 * (axis.high() - axis.low());
    CHECK(axis.low() <= range.low + room);
    CHECK(axis.high() >= range.high - room);
    const std::vector<Tick>& ticks = axis.ticks();
    REQUIRE(!ticks.empty());
    if (ticks.size() >= 2) {
      const double step = (ticks.back().value - ticks.front().value) / static_cast<double>(ticks.size() - 1);
      CHECK(is_round(step));
      for (const Tick& tick : ticks) {
        const double multiple = tick.value / step;
        CHECK(std::abs(multiple - std::round(multiple)) <= 1e-6 * std::max(1.0, std::abs(multiple)));
      }
    }
    check_labels_apart(axis, side, 11);
  }
}

TEST_CASE(
    "logarithmic ticks are 1, 2 or 5 times a power of ten, or powers of two, and their labels are apart") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-6, 16), decades(1.5, 12), pixels(100, 1200);
  for (int i = 0; i < 2000; ++i) {
    const double low = std::pow(10.0, exponent(random));
    const Range range{low, low * std::pow(10.0, decades(random))};
    const Side side = i % 2 == 0 ? Side::kBottom : Side::kLeft;
    const Unit unit = i % 3 == 0 ? Unit::kBytes : Unit::kNumber;
    const Axis axis({.scale = Scale::kLog, .unit = unit}, range, 0, pixels(random), side, 11);
    INFO("from " << range.low << " to " << range.high);
    CHECK(axis.low() <= range.low * (1 + 1e-6));
    CHECK(axis.high() >= range.high * (1 - 1e-6));
    REQUIRE(axis.ticks().size() >= 2);
    for (const Tick& tick : axis.ticks()) {
      if (unit == Unit::kBytes) {
        CHECK(std::exp2(std::round(std::log2(tick.value))) == tick.value);
      } else {
        CHECK(is_round(tick.value));
      }
    }
    check_labels_apart(axis, side, 11);
  }
}

TEST_CASE("values are placed in proportion, or in proportion of their logarithms") {
  const Axis linear({.from = 0, .to = 10}, {}, 100, 300, Side::kBottom);
  CHECK(linear.place(0) == 100);
  CHECK(linear.place(5) == 200);
  CHECK(linear.place(10) == 300);
  const Axis log({.scale = Scale::kLog, .from = 1, .to = 100}, {}, 300, 100, Side::kLeft);
  CHECK(log.place(1) == 300);
  CHECK(std::abs(log.place(10) - 200) < 1e-9);
  CHECK(log.place(100) == 100);
  CHECK(log.clamped(1e9) == 100);
  CHECK(log.clamped(0) == 300);
  CHECK(log.clamped(-3) == 300);
  CHECK_FALSE(log.shows(0));
  CHECK_FALSE(linear.shows(11));
}

TEST_CASE("no data and one value have an axis with room") {
  const Axis none({}, {}, 0, 400, Side::kBottom);
  CHECK(none.low() == 0);
  CHECK(none.high() == 1);
  const Axis none_log({.scale = Scale::kLog}, {}, 0, 400, Side::kBottom);
  CHECK(none_log.low() == 1);
  CHECK(none_log.high() == 10);
  for (const double value : {0.0, 7.0, -3.0, 1e300}) {
    const Axis one({}, {value, value}, 0, 400, Side::kBottom);
    INFO(value);
    CHECK(one.low() <= value);
    CHECK(one.high() >= value);
    CHECK(one.low() < one.high());
    CHECK(std::isfinite(one.place(value)));
  }
  const Axis one({.scale = Scale::kLog}, {7, 7}, 0, 400, Side::kBottom);
  CHECK(one.low() < 7);
  CHECK(one.high() > 7);
}

TEST_CASE("a scale is logarithmic when positive values span more than a factor of 30") {
  CHECK(scale_for(std::vector<double>{1, 31}) == Scale::kLog);
  CHECK(scale_for(std::vector<double>{1, 30}) == Scale::kLinear);
  CHECK(scale_for(std::vector<double>{0, 1, 31}) == Scale::kLog);
  CHECK(scale_for(std::vector<double>{-1, 1, 1000}) == Scale::kLinear);
  CHECK(scale_for(std::vector<double>{}) == Scale::kLinear);
}

TEST_CASE("a logarithmic scale shows positive values alone, both finite ones up to 1e300") {
  CHECK(can_show(Scale::kLinear, 0));
  CHECK(can_show(Scale::kLinear, -1e300));
  CHECK_FALSE(can_show(Scale::kLog, 0));
  CHECK_FALSE(can_show(Scale::kLog, -1));
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    CHECK_FALSE(can_show(scale, std::nan("")));
    CHECK_FALSE(can_show(scale, INFINITY));
    CHECK_FALSE(can_show(scale, 1.1e300));
  }
}

}  // namespace draw_axis_test
