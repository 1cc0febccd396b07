#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/study/describe/about.hpp>

namespace natten_sim::study {

/// How NATTEN's functions call what a member of this name is, with underscores; null: as we do.
[[nodiscard]] const char* name_in_natten(std::string_view member);

/// What else a door may call a member, with underscores: its flags and letter, other spellings that go with all
/// values, and NATTEN's name.
[[nodiscard]] std::vector<std::string> other_names(const std::string& member, const About& about);

}  // namespace natten_sim::study
