#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/io/json.hpp>
#include <natten_sim/io/plain_value.hpp>


namespace natten_sim {

// Values of a file of options, of a request of `serve`, of a line of --batch and of a keyword in Python are JSON
// or have kinds that JSON has too. All are read in one way: as the command line has them. 18, "18", [18] and 18.0
// are one size; [18, 24, 24], "18x24x24" and ["18", 24, 24.0] are three.

/// What the command line would have for `value`: a word for a scalar, one for each element of an array, and
/// LO:HI for an element that is a pair. @throws InvalidParameter naming `name` for anything else.
[[nodiscard]] std::vector<std::string> words_of(const std::string& name, const Json& value);

/// The one word of `value`. @throws InvalidParameter where it has several, or none
[[nodiscard]] std::string word_of(const std::string& name, const Json& value);

/// How many values it is: the elements of an array, or one.
[[nodiscard]] std::size_t number_of_values(const Json& value);

/// A value of whole numbers and booleans alone.
class PlainValues {
 public:
  explicit PlainValues(const Json& value);
  PlainValues(const PlainValues&) = delete;
  PlainValues& operator=(const PlainValues&) = delete;

  /// None: something else, or more of them than fit. Valid as long as this object.
  [[nodiscard]] std::optional<PlainValue> get() const;

 private:
  bool take(const Json& scalar);

  std::array<std::int64_t, 8> values_{};
  std::size_t size_ = 0;
  bool plain_ = true, is_boolean_ = false;
};

}  // namespace natten_sim
