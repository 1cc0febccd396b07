#pragma once

#include <functional>
#include <optional>
#include <type_traits>

namespace natten_sim::report {

namespace described {

template <typename T>
inline constexpr bool kOptional = false;
template <typename T>
inline constexpr bool kOptional<std::optional<T>> = true;
/// What a function returns is gone after it, unless it is a reference or a pointer.
template <typename T>
inline constexpr bool kOwned = !std::is_reference_v<T> && !std::is_pointer_v<T>;

/// Members, each of the value of the one before it.
template <typename... Members>
struct Path {};

template <typename First, typename... Rest>
struct Path<First, Rest...> {
  First first;
  Path<Rest...> rest;

  template <typename V>
  decltype(auto) operator()(const V& value) const {
    if constexpr (kOptional<V>) {
      using Found = std::remove_cvref_t<decltype((*this)(*value))>;
      using Result = std::conditional_t<kOptional<Found>, Found, std::optional<Found>>;
      return value ? Result((*this)(*value)) : Result();
    } else if constexpr (!std::is_invocable_v<const First&, const V&>) {
      return (*this)(*value);
    } else if constexpr (sizeof...(Rest) == 0) {
      return std::invoke(first, value);
    } else if constexpr (kOwned<std::invoke_result_t<const First&, const V&>>) {
      using Found = std::remove_cvref_t<decltype(rest(std::invoke(first, value)))>;
      return Found(rest(std::invoke(first, value)));
    } else {
      return rest(std::invoke(first, value));
    }
  }
};

}  // namespace described

/// The end of a path; see below.
[[nodiscard]] inline described::Path<> path() { return {}; }

/// The member `first` of a value, of that the member `second`, and so on; of an optional on the way that of
/// its value, if it has one; of a pointer, which may not be null, that of what it points to.
template <typename First, typename... Rest>
[[nodiscard]] described::Path<First, Rest...> path(First first, Rest... rest) {
  return {first, path(rest...)};
}

}  // namespace natten_sim::report
