#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"

namespace natten_sim::cli {

/// Which option of a subcommand a key of a file or of a request means: OptionSpec::keys, with - or _, or the
/// positional argument's name. A flag of an option's own goes before another option's other spelling.
class OptionNames {
 public:
  /// `command` outlives it.
  explicit OptionNames(const Command& command);

  /// The option's place, as in Form; none: unknown. Some spellings go with some values alone.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& key, const Json& value) const;

 private:
  void add(const std::vector<OptionSpec>& options, std::size_t first);

  const Command& command_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::pair<const OtherSpelling*, std::size_t>> with_some_values_;
};

}  // namespace natten_sim::cli
