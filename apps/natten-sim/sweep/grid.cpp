#include "sweep/grid.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/given_value.hpp>
#include <natten_sim/io/value_text.hpp>

namespace natten_sim::cli {
namespace {

constexpr const char* kAcceptedValues = "NAME=LO:HI, NAME=LO:HI:STEP, NAME=LO:HI:xFACTOR or NAME=VALUE,VALUE,..";

bool begins_a_number(const std::string& text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

/// LO:HI, LO:HI:STEP or LO:HI:xFACTOR of whole numbers; none: something else, such as LO:HI of an option whose
/// values are ranges.
std::optional<std::vector<Json>> range_of(const std::string& text, bool of_ranges) {
  std::vector<std::string> parts = split_text(text, ':');
  if (parts.size() == 2 && !of_ranges) parts.emplace_back("1");
  if (parts.size() != 3) return std::nullopt;
  if (text.find_first_not_of("0123456789:x") != std::string::npos) {
    // As 16k:64k:x2: three numbers, of which one is not whole.
    const auto numeric = [](const std::string& part) {
      return part.starts_with('x') || begins_a_number(part);
    };
    if (of_ranges || !std::all_of(parts.begin(), parts.end(), numeric)) return std::nullopt;
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  const bool multiplied = parts[2].starts_with('x');
  const std::int64_t low = parse_integer("over", parts[0], 0, kMost),
                     high = parse_integer("over", parts[1], 0, kMost);
  const std::int64_t step = parse_integer("over", parts[2].substr(multiplied ? 1 : 0), 0, kMost);
  if (low > high || step < (multiplied ? 2 : 1) || (multiplied && low == 0))
    throw InvalidParameter("over", text,
                           "LO:HI with LO <= HI and a step from 1, or LO from 1 and a factor from x2");
  std::vector<Json> values;
  for (std::int64_t value = low; value <= high;) {
    values.emplace_back(value);
    if (std::ssize(values) > SweepGrid::kMaxPoints)
      throw InvalidParameter("over", text, "at most " + std::to_string(SweepGrid::kMaxPoints) + " values");
    if (multiplied && value > high / step) break;
    value = multiplied ? value * step : value + step;
  }
  return values;
}

}  // namespace

SweptOption parse_swept(const std::string& text, const Invocation& invocation) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InvalidParameter("over", text, kAcceptedValues);
  const std::string values = text.substr(equals + 1);
  const OptionSpec& swept = invocation.option(text.substr(0, equals));
  SweptOption option{.name = swept.name()};
  if (auto range = range_of(values, swept.value_name.find(':') != std::string::npos)) {
    option.values = std::move(*range);
    return option;
  }
  const std::vector<std::string> texts = split_text(values, values.find(';') != std::string::npos ? ';' : ',');
  option.values.assign(texts.begin(), texts.end());
  if (std::find(texts.begin(), texts.end(), "") != texts.end())
    throw InvalidParameter("over", text, "no empty value: " + std::string(kAcceptedValues));
  return option;
}

SweepGrid::SweepGrid(std::vector<SweptOption> options) : options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (options_[k].name == options_[i].name)
        throw InvalidParameter("over", options_[i].name + " twice", "each option once");
    }
    const auto values = static_cast<std::int64_t>(options_[i].values.size());
    if (points_ > kMaxPoints / values)
      throw InvalidParameter("over", "more points", "at most " + std::to_string(kMaxPoints) + " in all");
    points_ *= values;
  }
}

std::vector<Json> SweepGrid::point(std::int64_t index) const {
  std::vector<Json> values(options_.size());
  for (std::size_t i = options_.size(); i-- > 0;) {
    const auto count = static_cast<std::int64_t>(options_[i].values.size());
    values[i] = options_[i].values[static_cast<std::size_t>(index % count)];
    index /= count;
  }
  return values;
}

void SweepGrid::set(Invocation& invocation, std::int64_t index) const {
  const std::vector<Json> values = point(index);
  for (std::size_t i = 0; i < options_.size(); ++i) invocation.replace(options_[i].name, values[i]);
}

Json SweepGrid::names_and_values(std::int64_t index) const {
  const std::vector<Json> values = point(index);
  Json object = Json::object();
  for (std::size_t i = 0; i < options_.size(); ++i) object[options_[i].name] = word_of(options_[i].name, values[i]);
  return object;
}

}  // namespace natten_sim::cli
