#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/plain_value.hpp"

namespace natten_sim::cli {

/// A value of a file of options: a scalar or a list of them, of the kinds that TOML has. A type takes
/// integers, booleans and a number as they are (plain, number). It reads texts by the grammar of the command
/// line (words); what it refuses is spelled for it in the same way, so that it says what is wrong.
class FileValue {
 public:
  using Scalar = std::variant<bool, std::int64_t, double, std::string>;

  /// A number without a fraction becomes an integer.
  explicit FileValue(std::vector<Scalar> scalars);

  [[nodiscard]] std::size_t size() const { return scalars_.size(); }
  /// None: something else than integers or booleans. `as_list`: one value is a list of one. Valid as long as
  /// this object.
  [[nodiscard]] std::optional<PlainValue> plain(bool as_list) const;
  /// None: not a single number.
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] std::vector<std::string> words() const;

 private:
  std::vector<Scalar> scalars_;
  std::vector<std::int64_t> integers_;  ///< as many as scalars, where each is an integer or a boolean
};

}  // namespace natten_sim::cli
