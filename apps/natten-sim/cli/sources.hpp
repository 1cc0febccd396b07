#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace natten_sim::cli {

/// Where an option has its value from.
struct Source {
  std::optional<std::vector<std::string>> words;  ///< the command line: what CLI11 keeps; of a flag, none
  std::optional<Json> value;                      ///< a file of options or a request
  std::string spelled;                            ///< how that names the option
  bool off = false;                               ///< a flag that is false: absent, and no file sets it again
  bool assumed = false;  ///< a flag that is on without being given

  [[nodiscard]] bool given() const { return !assumed && (words.has_value() || value.has_value()); }
  [[nodiscard]] bool decided() const { return given() || off; }
};

/// The sources of a subcommand's options by their places in Form.
class Sources {
 public:
  /// `command` outlives it.
  explicit Sources(const Command& command);
  [[nodiscard]] const Command& command() const { return *command_; }
  [[nodiscard]] std::size_t size() const { return sources_.size(); }
  [[nodiscard]] Source& operator[](std::size_t option) { return sources_[option]; }
  [[nodiscard]] const Source& operator[](std::size_t option) const { return sources_[option]; }
  [[nodiscard]] std::string name(std::size_t option) const;
  /// Null: this subcommand has no such option, which rows that several share may name.
  [[nodiscard]] const Source* find(std::string_view name) const;
  [[nodiscard]] bool given(std::string_view name) const;
  /// Takes a value of a file or a request: true, false, 1 or 0 of a flag; null is not given.
  /// @throws InvalidParameter for a flag's value
  void set(std::size_t option, const std::string& spelled, Json value);

 private:
  [[nodiscard]] bool is_flag(std::size_t option) const;

  const Command* command_;
  std::vector<Source> sources_;
};

/// The form of the subcommand with each value handed from where it stands to the row that reads it.
/// @throws Error
[[nodiscard]] std::unique_ptr<Form> filled_form(const Sources& sources);

/// Runs the subcommand within its limits. @return its exit code. @throws Error
int answer(const Sources& sources);

/// A picture needs a place of its own. On standard output it stands in place of the text for people, where neither
/// JSON nor CSV is asked for. @throws InvalidParameter
void refuse_two_outputs(const Sources& sources);

/// Refuses options that the rows say do not go together. @throws InvalidParameter
void check_company(const Sources& sources);

}  // namespace natten_sim::cli
