#pragma once

#include <string>
#include <vector>

namespace natten_sim {

/// The executable file `name`: as it stands if it is a path, else in the first folder of PATH, then of
/// `others`, that has it. Empty: none.
[[nodiscard]] std::string find_program(const std::string& name, const std::vector<std::string>& others = {});

/// What another program's messages on standard error become.
enum class ChildMessages { kShown, kDropped };

/// Runs the program at `path` with these words and waits for it. No shell reads the words: quotes, spaces and
/// signs in them mean nothing. @return what it wrote to standard output; empty where it cannot be started.
[[nodiscard]] std::string output_of_program(const std::string& path, const std::vector<std::string>& words,
                                            ChildMessages messages = ChildMessages::kShown);

}  // namespace natten_sim
