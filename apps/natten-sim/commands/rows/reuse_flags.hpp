#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/study/reuse_parts.hpp>

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "commands/rows/mask_values.hpp"

namespace natten_sim::cli {

/// A name (cyclic, sawtooth, descending, best) or a file of permutations.
template <>
struct OptionValue<study::ReuseOrder> {
  static constexpr int kMaxValues = 1;
  static study::ReuseOrder from_words(const std::string& name, const std::vector<std::string>& words,
                                      const About&);
  static bool to_json(const study::ReuseOrder& order, Json& out);
};

/// seqlen=LO:HI:STEP.
template <>
struct OptionValue<study::SeqlenSweep> {
  static constexpr int kMaxValues = 1;
  static study::SeqlenSweep from_words(const std::string& name, const std::vector<std::string>& words,
                                       const About&);
  static bool to_json(const study::SeqlenSweep& sweep, Json& out);
};

/// Nothing, or true, false, 1 or 0: all axes; or one of these for each.
template <>
struct OptionValue<study::CausalAxes> {
  static constexpr bool kTakesBooleans = true;
  static constexpr int kMaxValues = 4;
  static study::CausalAxes from_words(const std::string& name, const std::vector<std::string>& words,
                                      const About& about);
  static bool to_json(const study::CausalAxes& causal, Json& out);
  static Json schema(const About&);
};

/// The flags of `reuse`.
struct ReuseFlags {
  study::ReuseParts parts;
  CatalogFiles files;
  bool predictions = false;
  OutputFlags output;
};

[[nodiscard]] Options<ReuseFlags> reuse_rows();
/// --picture and --picture-kind, which chooses the rows of --csv too.
[[nodiscard]] Options<OutputFlags> reuse_picture_rows();

/// `input`: the question with all defaults, by the rows of its flags.
[[nodiscard]] Json reuse_input(const study::ReuseQuestion& question);

/// The device of the table of predictions, unless another one is named.
inline constexpr const char* kPredictedDevice = "h200";
/// The table of predictions for fa2 and cudnn. Returns the exit code.
int print_predictions(const ReuseFlags& flags);

}  // namespace natten_sim::cli
