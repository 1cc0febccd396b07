#include "cli/file_value.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace natten_sim::cli {
namespace {

constexpr double kMostExact = 9007199254740992;  // 2^53

bool is_boolean(const FileValue::Scalar& scalar) { return std::holds_alternative<bool>(scalar); }

std::string spelled(const FileValue::Scalar& scalar) {
  if (const auto* text = std::get_if<std::string>(&scalar)) return *text;
  if (const auto* boolean = std::get_if<bool>(&scalar)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&scalar)) return std::to_string(*integer);
  return fmt::format("{}", std::get<double>(scalar));  // the shortest that reads back as the same number
}

}  // namespace

FileValue::FileValue(std::vector<Scalar> scalars) : scalars_(std::move(scalars)) {
  for (Scalar& scalar : scalars_) {
    const auto* number = std::get_if<double>(&scalar);
    if (number != nullptr && std::abs(*number) <= kMostExact && std::trunc(*number) == *number)
      scalar = static_cast<std::int64_t>(*number);
    if (const auto* integer = std::get_if<std::int64_t>(&scalar)) integers_.push_back(*integer);
    if (const auto* boolean = std::get_if<bool>(&scalar)) integers_.push_back(*boolean ? 1 : 0);
  }
}

std::optional<PlainValue> FileValue::plain(bool as_list) const {
  if (integers_.empty() || integers_.size() != scalars_.size()) return std::nullopt;
  if (!as_list && integers_.size() != 1) return std::nullopt;
  return PlainValue{.is_array = as_list,
                    .is_boolean = std::any_of(scalars_.begin(), scalars_.end(), is_boolean),
                    .values = integers_};
}

std::optional<double> FileValue::number() const {
  if (scalars_.size() != 1) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&scalars_[0])) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&scalars_[0])) return *number;
  return std::nullopt;
}

std::vector<std::string> FileValue::words() const {
  std::vector<std::string> words;
  for (const Scalar& scalar : scalars_) words.push_back(spelled(scalar));
  return words;
}

}  // namespace natten_sim::cli
