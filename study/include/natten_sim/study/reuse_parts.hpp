#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <natten_sim/study/reuse.hpp>

namespace natten_sim::study {

/// A ReuseQuestion taken apart: the members of all subjects and methods side by side, as whoever reads them
/// by name has them, from options, keywords or the keys of a file.
///
///     ReuseParts parts;
///     parts.seqlen = Extents{131072};
///     parts.fidelity = Fidelity::kLru;
///     ReuseAnswer answer = reuse(question_of(parts), default_context());
struct ReuseParts {
  ReuseQuestion question;  ///< without subject and method

  AttentionSubject attention;     ///< without its length and workers
  std::optional<Extents> seqlen;  ///< of attention, which has this or `sweep`
  std::optional<SeqlenSweep> sweep;
  std::optional<Extents> tile;          ///< both tiles, where `attention` has none of its own
  std::optional<std::int64_t> workers;  ///< of attention or of a stream
  std::optional<std::int64_t> stream_bytes;
  StreamSubject stream;              ///< without its bytes and workers
  std::optional<std::string> trace;  ///< a file, as trace_file() takes it

  std::optional<Fidelity> fidelity;  ///< none: as ReuseQuestion::method
  std::optional<Granularity> granularity;
  std::optional<std::int32_t> ways;
  SetAssociative sets;  ///< with `ways`
  std::optional<double> sample, jitter;
  std::optional<std::uint64_t> seed;  ///< of a method that draws numbers
};

/// The question that the parts ask.
/// @throws InvalidParameter unless there is one subject, and for parts of a method that was not chosen.
[[nodiscard]] ReuseQuestion question_of(const ReuseParts& parts);

/// The parts of an answered question: what question_of() makes into it again. Parts that its subject and
/// method do not have are empty, or as they are by default.
[[nodiscard]] ReuseParts parts_of(const ReuseQuestion& question);

/// The accesses in the file `path` (- is standard input), in the format of io's read_trace(). It is read when
/// the question is answered.
[[nodiscard]] TraceSubject trace_file(const std::string& path);

[[nodiscard]] std::vector<std::string> reuse_order_names();

/// An order by its name, or a file (- is standard input) with a permutation of the KV tiles on each line.
/// @throws UnknownName naming `parameter` when `text` is neither; MalformedData for a line of the file.
[[nodiscard]] ReuseOrder parse_reuse_order(const std::string& parameter, const std::string& text);

}  // namespace natten_sim::study
