#pragma once

#include <concepts>
#include <string>
#include <utility>

#include <natten_sim/study/describe/members.hpp>

#include "cli/options.hpp"

namespace natten_sim::cli {

/// What help calls the value of a T, unless the description says it.
template <typename T>
[[nodiscard]] constexpr const char* value_word() {
  if constexpr (kIsOptional<T>) {
    return value_word<typename T::value_type>();
  } else if constexpr (std::same_as<T, bool>) {
    return "";  // a flag
  } else if constexpr (kIsText<T>) {
    return "NAME";
  } else if constexpr (kTakesBooleans<T>) {
    return "BOOL";
  } else {
    return "N";
  }
}

/// What a description says, in the words of the command line.
[[nodiscard]] About option_about(const std::string& member, About about);
/// "--q-tile", unless the description lists flags.
[[nodiscard]] std::string flags_of(const std::string& member, const About& about);

/// Makes options of the members of a description (study/describe/members.hpp).
template <typename Q>
class OptionMembers {
 public:
  void group(const std::string& title) { group_ = title; }

  template <typename Access>
  void add(const std::string& member, Access access, About about) {
    using T = std::remove_cvref_t<std::invoke_result_t<Access, Q&>>;
    if (about.value.empty()) about.value = value_word<T>();
    if (kTakesBooleans<T> && about.bare == nullptr) about.bare = "true";
    about = option_about(member, std::move(about));
    options_.add(flags_of(member, about), std::move(access), about).group(group_);
  }

  template <typename Access, typename T>
  void choose(const std::string& member, Access access, T value, const About& about) {
    options_.choose(flags_of(member, about), std::move(access), std::move(value), option_about(member, about))
        .group(group_);
  }

  template <typename Access>
  void key(const std::string& member, Access access, const About& about) {
    options_.add_key(member, std::move(access), option_about(member, about)).group(group_);
  }

  template <typename Access, typename Describe>
  void part(Access access, const Describe& describe_part) {
    OptionMembers<std::remove_cvref_t<std::invoke_result_t<Access, Q&>>> part;
    describe_part(part);
    options_.include(std::move(part).options(), std::move(access)).group(group_);
  }

  [[nodiscard]] Options<Q> options() && { return std::move(options_); }

 private:
  Options<Q> options_;
  std::string group_;
};

/// The options of a described question.
template <typename Q>
[[nodiscard]] Options<Q> options_of() {
  OptionMembers<Q> members;
  describe(members, Q{});
  return std::move(members).options();
}

}  // namespace natten_sim::cli
