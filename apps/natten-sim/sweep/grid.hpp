#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/io/json.hpp>

#include "cli/invocation.hpp"

namespace natten_sim::cli {

/// An option and the values that it takes in turn.
///
///     seqlen=8192:65536:8192      from 8192 to 65536 in steps of 8192, both ends included
///     seqlen=8192:65536:x2        each twice the one before
///     order=cyclic,sawtooth       these values; with ; between them where a value has a comma
///     window=18x24x24,12x24x24    of an option with a value for each axis
///     causal=false,true           of a flag
struct SweptOption {
  std::string name;          ///< long, with dashes
  std::vector<Json> values;  ///< whole numbers of a range, texts of a list
};

/// @throws UnknownName for the option, InvalidParameter naming `over` for its values.
[[nodiscard]] SweptOption parse_swept(const std::string& text, const Invocation& invocation);

/// All combinations of the values of some options, the last one fastest.
class SweepGrid {
 public:
  inline static constexpr std::int64_t kMaxPoints = 10'000'000;

  /// @throws InvalidParameter naming `over`: an option twice, or more than kMaxPoints.
  explicit SweepGrid(std::vector<SweptOption> options);
  [[nodiscard]] std::int64_t points() const { return points_; }
  [[nodiscard]] const std::vector<SweptOption>& options() const { return options_; }
  /// The value of each option, in order.
  [[nodiscard]] std::vector<Json> point(std::int64_t index) const;
  /// Gives the options of `invocation` the values of a point.
  void set(Invocation& invocation, std::int64_t index) const;
  /// {"seqlen": "8192", "order": "cyclic"}
  [[nodiscard]] Json names_and_values(std::int64_t index) const;

 private:
  std::vector<SweptOption> options_;
  std::int64_t points_ = 1;
};

}  // namespace natten_sim::cli
