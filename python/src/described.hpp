#pragma once

#include <string>
#include <utility>

#include <natten_sim/study/describe/members.hpp>

#include "keywords.hpp"

namespace natten_sim::python {

/// `for` is a word of the language: its keyword is for_.
[[nodiscard]] std::string keyword_of(const std::string& member);
/// Help of a description as a docstring has it. `value`: what its type says besides; `otherwise`: the
/// brackets of a member whose help has none.
[[nodiscard]] std::string doc_of(const study::About& about, const char* value, const char* otherwise);
[[nodiscard]] Accepts accepts_of(const study::About& about);

/// What docstrings say of values of a type.
template <typename T>
[[nodiscard]] constexpr const char* also() {
  if constexpr (requires { PythonValue<T>::kAlso; }) {
    return PythonValue<T>::kAlso;
  } else if constexpr (requires { PythonValue<typename T::value_type>::kAlso; }) {
    return PythonValue<typename T::value_type>::kAlso;
  } else {
    return "";
  }
}

/// Makes keywords of the members of a description (study/describe/members.hpp).
template <typename Q>
class KeywordMembers {
 public:
  void group(const std::string&) {}  // docstrings have no headings

  template <typename Access>
  void add(const std::string& member, Access access, const study::About& about) {
    using T = std::remove_cvref_t<std::invoke_result_t<Access, Q&>>;
    const char* value = also<T>();
    keywords_.add(keyword_of(member), std::move(access),
                  doc_of(about, value, std::is_same_v<T, bool> ? " [default]" : " [none]"), about.echo,
                  accepts_of(about));
    keywords_.keep_company(member, about);
  }

  template <typename Access, typename T>
  void choose(const std::string& member, Access access, T value, const study::About& about) {
    keywords_.choose(keyword_of(member), std::move(access), std::move(value), doc_of(about, "", " [default]"),
                     about.echo);
    keywords_.keep_company(member, about);
  }

  template <typename Access>
  void key(const std::string& member, Access access, const study::About& about) {
    if (about.help.empty()) {
      keywords_.echo_only(member, std::move(access), about.echo);
    } else {
      add(member, std::move(access), about);
    }
  }

  template <typename Access, typename Describe>
  void part(Access access, const Describe& describe_part) {
    KeywordMembers<std::remove_cvref_t<std::invoke_result_t<Access, Q&>>> part;
    describe_part(part);
    keywords_.include(std::move(part).keywords(), std::move(access));
  }

  [[nodiscard]] Keywords<Q> keywords() && { return std::move(keywords_); }

 private:
  Keywords<Q> keywords_;
};

/// The keywords of a described question.
template <typename Q>
[[nodiscard]] Keywords<Q> keywords_of() {
  KeywordMembers<Q> members;
  describe(members, Q{});
  return std::move(members).keywords();
}

}  // namespace natten_sim::python
