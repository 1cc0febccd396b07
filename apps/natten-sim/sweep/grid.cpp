#include "sweep/grid.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <natten_sim/core/error.hpp>

namespace natten_sim::cli {
namespace {

constexpr const char* kAcceptedValues = "NAME=LO:HI:STEP, NAME=LO:HI:xFACTOR or NAME=VALUE,VALUE,..";

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// LO:HI:STEP or LO:HI:xFACTOR of whole numbers; none: something else.
std::optional<std::vector<std::string>> range_of(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, ':');
  if (parts.size() != 3) return std::nullopt;
  const bool multiplied = parts[2].starts_with('x');
  const auto low = whole(parts[0]), high = whole(parts[1]), step = whole(parts[2].substr(multiplied ? 1 : 0));
  if (!low || !high || !step) return std::nullopt;
  const std::int64_t least_step = multiplied ? 2 : 1;
  if (*low > *high || *low < (multiplied ? 1 : 0) || *high > std::int64_t{1} << 53 || *step < least_step)
    throw InvalidParameter("over", text, "LO:HI:STEP with LO <= HI and a step from 1, or a factor from x2");
  std::vector<std::string> values;
  for (std::int64_t value = *low; value <= *high;) {
    values.push_back(std::to_string(value));
    if (static_cast<std::int64_t>(values.size()) > SweepGrid::kMaxPoints)
      throw InvalidParameter("over", text, "at most " + std::to_string(SweepGrid::kMaxPoints) + " values");
    if (multiplied && value > *high / *step) break;
    value = multiplied ? value * *step : value + *step;
  }
  return values;
}

}  // namespace

SweptOption parse_swept(const std::string& text, const Invocation& invocation) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InvalidParameter("over", text, kAcceptedValues);
  const std::string values = text.substr(equals + 1);
  SweptOption option{.name = invocation.option(text.substr(0, equals)).name()};
  if (auto range = range_of(values)) {
    option.texts = std::move(*range);
  } else {
    option.texts = parts_of(values, values.find(';') != std::string::npos ? ';' : ',');
  }
  if (std::any_of(option.texts.begin(), option.texts.end(), [](const auto& value) { return value.empty(); }))
    throw InvalidParameter("over", text, "no empty value: " + std::string(kAcceptedValues));
  return option;
}

SweepGrid::SweepGrid(std::vector<SweptOption> options) : options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (options_[k].name == options_[i].name)
        throw InvalidParameter("over", options_[i].name + " twice", "each option once");
    }
    const auto values = static_cast<std::int64_t>(options_[i].texts.size());
    if (points_ > kMaxPoints / values)
      throw InvalidParameter("over", "more points", "at most " + std::to_string(kMaxPoints) + " in all");
    points_ *= values;
  }
}

std::vector<std::string> SweepGrid::point(std::int64_t index) const {
  std::vector<std::string> values(options_.size());
  for (std::size_t i = options_.size(); i-- > 0;) {
    const auto count = static_cast<std::int64_t>(options_[i].texts.size());
    values[i] = options_[i].texts[static_cast<std::size_t>(index % count)];
    index /= count;
  }
  return values;
}

void SweepGrid::set(Invocation& invocation, std::int64_t index) const {
  const std::vector<std::string> values = point(index);
  for (std::size_t i = 0; i < options_.size(); ++i)
    invocation.set(options_[i].name, std::vector<std::string>{values[i]});
}

Json SweepGrid::names_and_values(std::int64_t index) const {
  const std::vector<std::string> values = point(index);
  Json object = Json::object();
  for (std::size_t i = 0; i < options_.size(); ++i) object[options_[i].name] = values[i];
  return object;
}

}  // namespace natten_sim::cli
