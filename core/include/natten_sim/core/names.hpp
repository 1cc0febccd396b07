#pragma once

#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {

/// One spelling for each value of an enumeration. Printing, parsing, JSON, help and shell completion all read
/// the same table, which stands beside the enumeration:
///
///     enum class Dispatch { kDynamic, kStatic };
///     template <>
///     struct NamesOf<Dispatch> {
///       static constexpr const char* kConcept = "dispatch";
///       static constexpr Name<Dispatch> kTable[] = {{Dispatch::kDynamic, "dynamic"},
///                                                   {Dispatch::kStatic, "static"}};
///     };
///     to_string(Dispatch::kStatic);     // "static"
///     parse_name<Dispatch>("dynamic");  // Dispatch::kDynamic
///
/// A table kOther beside it has names that are read and never printed, as other programs have them.
template <typename E>
struct Name {
  E value;
  const char* name;
};

/// Specialised for every enumeration that has names.
template <typename E>
struct NamesOf;

template <typename E>
concept Named = requires {
  { NamesOf<E>::kConcept } -> std::convertible_to<const char*>;
  NamesOf<E>::kTable;
};

template <Named E>
[[nodiscard]] constexpr const char* to_string(E value) noexcept {
  for (const Name<E>& entry : NamesOf<E>::kTable) {
    if (entry.value == value) return entry.name;
  }
  return "?";  // a value that the table leaves out
}

/// In the order of the table, which is that of help and completion.
template <Named E>
[[nodiscard]] std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const Name<E>& entry : NamesOf<E>::kTable) names.emplace_back(entry.name);
  return names;
}

template <Named E>
[[nodiscard]] std::vector<E> values_of() {
  std::vector<E> values;
  for (const Name<E>& entry : NamesOf<E>::kTable) values.push_back(entry.value);
  return values;
}

/// Names that are read and not listed: kOther.
template <Named E>
[[nodiscard]] std::vector<std::string> other_names_of() {
  std::vector<std::string> names;
  if constexpr (requires { NamesOf<E>::kOther; }) {
    for (const Name<E>& entry : NamesOf<E>::kOther) names.emplace_back(entry.name);
  }
  return names;
}

/// What `text` names, by its own name or another one; none: nothing.
template <Named E>
[[nodiscard]] constexpr std::optional<E> named(std::string_view text) noexcept {
  for (const Name<E>& entry : NamesOf<E>::kTable) {
    if (entry.name == text) return entry.value;
  }
  if constexpr (requires { NamesOf<E>::kOther; }) {
    for (const Name<E>& entry : NamesOf<E>::kOther) {
      if (entry.name == text) return entry.value;
    }
  }
  return std::nullopt;
}

/// `a, b, c`.
[[nodiscard]] std::string joined(const std::vector<std::string>& names, std::string_view separator = ", ");

/// The value of `accepted` that `text` names. @throws UnknownName naming `parameter` and the accepted names,
/// with the closest one as a hint.
template <Named E>
[[nodiscard]] E parse_name_among(std::string_view text, const std::vector<E>& accepted,
                                 const std::string& parameter = NamesOf<E>::kConcept) {
  if (const std::optional<E> value = named<E>(text);
      value && std::find(accepted.begin(), accepted.end(), *value) != accepted.end())
    return *value;
  std::vector<std::string> names;
  for (const E value : accepted) names.emplace_back(to_string(value));
  throw UnknownName(parameter, std::string(text), closest_name(text, names), joined(names));
}

/// The value of the whole table that `text` names. @throws as parse_name_among.
template <Named E>
[[nodiscard]] E parse_name(std::string_view text, const std::string& parameter = NamesOf<E>::kConcept) {
  return parse_name_among(text, values_of<E>(), parameter);
}

}  // namespace natten_sim
