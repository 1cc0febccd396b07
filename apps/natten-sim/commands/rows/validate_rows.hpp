#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/io/csv_text.hpp>
#include <natten_sim/validate/measure/session.hpp>

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {

/// The flags of `validate`.
struct ValidateFlags {
  std::vector<std::string> suites;  ///< none: all
  bool list = false;
  bool freeze = false;
  std::string device = "auto";
  std::optional<std::string> recorded, ncu_csv;
  std::string ncu_kernel;
  std::optional<DecimalMark> decimal;
  std::vector<std::string> point;
  std::optional<KernelChoice> kernel;  ///< of the point
  std::optional<std::string> profile;  ///< none: validate::kProfiledDevice, with --ncu-csv and --freeze
  std::optional<std::string> out;
  std::optional<std::string> profile_device;
  bool resume = false;
  bool check_only = false;
  bool sass = false;
  std::string disassembler;  ///< empty: cuobjdump
  validate::RunOptions run;
  Fidelity fidelity = Fidelity::kClosedForm;
  std::optional<std::string> view;
  bool rows = false;
  std::optional<std::uint64_t> seed;  ///< none: from the clock
  std::optional<std::string> report;
  CatalogFiles files;
  OutputFlags output;
};

[[nodiscard]] Options<ValidateFlags> validate_rows();

/// Names of all views, or of those that are drawn, with `separator` between them.
[[nodiscard]] std::string view_names(const std::string& separator, bool drawn_alone);

/// The options that have an effect, of those that one way to validate takes, with those of every subcommand.
[[nodiscard]] std::vector<std::string> options_with_effect(std::vector<std::string> names);

/// `input` of an answer: these options alone, since others are refused when it is asked again.
[[nodiscard]] Json validate_input(const ValidateFlags& flags, const std::vector<std::string>& options);

}  // namespace natten_sim::cli
