#pragma once

#include <functional>

#include <natten_sim/study/describe/about.hpp>
#include <natten_sim/study/describe/default_text.hpp>

namespace natten_sim::study {

/// How a question is described, once, for every door.
///
///     struct CountQuestion {
///       Setting setting;
///       Extents window;
///     };
///     template <typename Members>
///     void describe(Members& members, const CountQuestion&) {
///       using Q = CountQuestion;
///       members.group("Problem");
///       members.part(&Q::setting, [](auto& setting) { describe_layout(setting); });
///       members.add("window", &Q::window, {.flags = "-w,--window", .help = "Window, one size per axis"});
///     }
///
/// A door is a class with these functions, which makes rows of its own kind from them:
///   * add(name, access, about): a member. `access` is a pointer to it, within(..), or a function from Q& to
///   a
///     reference;
///   * choose(name, access, value, about): true sets the member to `value`;
///   * key(name, access, about): a member that files, lines, requests and Python set, and no flag. Without
///     `help` it is no keyword of Python;
///   * part(access, describe_it): the members of a member, by a description of its own;
///   * group(title): the heading of help for the members that follow, those of parts too unless they say one.
/// Members stand in the order of help, which is also the order of the keys of `input`.

/// The member of a member: within(&Q::setting, &Setting::heads).
template <typename First, typename Second>
[[nodiscard]] auto within(First first, Second second) {
  return [=](auto& question) -> auto& { return std::invoke(second, std::invoke(first, question)); };
}

}  // namespace natten_sim::study
