#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/study/reuse.hpp>

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {

/// A name (cyclic, sawtooth, descending, best) or a file of permutations.
template <>
struct OptionValue<study::ReuseOrder> {
  static constexpr int kMaxValues = 1;
  static study::ReuseOrder from_words(const std::string& name, const std::vector<std::string>& words,
                                      const About&);
  static study::ReuseOrder from_json(const std::string& key, const Json& value, const About&);
  static bool to_json(const study::ReuseOrder& order, Json& out);
};

/// seqlen=LO:HI:STEP.
template <>
struct OptionValue<study::SeqlenSweep> {
  static constexpr int kMaxValues = 1;
  static study::SeqlenSweep from_words(const std::string& name, const std::vector<std::string>& words,
                                       const About&);
  static study::SeqlenSweep from_json(const std::string& key, const Json& value, const About&);
  static bool to_json(const study::SeqlenSweep& sweep, Json& out);
};

/// The flags of `reuse`. A question has one subject and one method; flags of all of them lie side by side.
struct ReuseFlags {
  study::ReuseQuestion question;  ///< without subject and method

  study::AttentionSubject attention;  ///< without its length
  std::optional<Extents> seqlen, tile;
  std::optional<study::SeqlenSweep> sweep;
  std::optional<std::int64_t> workers;  ///< of attention or of a stream
  std::optional<std::int64_t> stream_bytes;
  study::StreamSubject stream;       ///< without its bytes and workers
  std::optional<std::string> trace;  ///< a file

  std::optional<Fidelity> fidelity;
  std::optional<Granularity> granularity;
  std::optional<std::int32_t> ways;
  study::SetAssociative sets;  ///< with `ways`
  std::optional<double> sample, jitter;

  CatalogFiles files;
  bool predictions = false;
  std::optional<std::string> svg;
  std::optional<std::string> picture;
  OutputFlags output;
};

[[nodiscard]] Options<ReuseFlags> reuse_rows();
/// --svg and --picture.
[[nodiscard]] Options<ReuseFlags> reuse_picture_rows();

/// What the flags ask, without details. @throws InvalidParameter for flags that contradict each other.
[[nodiscard]] study::ReuseQuestion question_of(const ReuseFlags& flags);

/// `input`: the question with all defaults, by the rows of its flags.
[[nodiscard]] Json reuse_input(const study::ReuseQuestion& question);

/// The table of predictions for fa2 and cudnn. Returns the exit code.
int print_predictions(const ReuseFlags& flags);

}  // namespace natten_sim::cli
