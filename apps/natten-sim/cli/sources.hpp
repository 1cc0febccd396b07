#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace natten_sim::cli {

/// Where an option has its value from.
struct Source {
  const std::vector<std::string>* words = nullptr;  ///< the command line: what CLI11 keeps; of a flag, none
  std::optional<FileValue> file;                    ///< a file of options
  bool off = false;  ///< a flag that is false: absent, and no file sets it again

  [[nodiscard]] bool given() const { return words != nullptr || file.has_value(); }
  [[nodiscard]] bool decided() const { return given() || off; }
};

/// The sources of a subcommand's options, in their order, and after them of the positional argument.
class Sources {
 public:
  explicit Sources(const Command& command);
  [[nodiscard]] std::size_t size() const { return sources_.size(); }
  [[nodiscard]] Source& operator[](std::size_t option) { return sources_[option]; }
  [[nodiscard]] const Source& operator[](std::size_t option) const { return sources_[option]; }
  [[nodiscard]] const std::string& name(std::size_t option) const { return names_[option]; }
  /// Rows that several subcommands share may name an option that this one does not have.
  [[nodiscard]] bool given(const std::string& name) const;

 private:
  std::vector<std::string> names_;
  std::vector<Source> sources_;
};

/// Hands each value from where it stands to the row that reads it, and runs the subcommand.
/// @return its exit code. @throws Error
int answer(const Command& command, const Sources& sources);

/// Refuses options that the rows say do not go together. @throws InvalidParameter
void check_company(const Command& command, const Sources& sources);

}  // namespace natten_sim::cli
