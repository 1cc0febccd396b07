#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <natten_sim/core/cancellation.hpp>

#include "cli/options.hpp"
#include "cli/sources.hpp"

namespace natten_sim::cli {

/// What a run may take at most.
struct LimitFlags {
  std::optional<std::int64_t> memory_mib;
  std::optional<double> time_s;
};

/// --max-memory and --max-time.
[[nodiscard]] Options<LimitFlags> limit_rows();

/// Keeps the process within the limits of a run while it lives. The system refuses memory beyond the first,
/// so nothing has to be estimated: what asks for too much throws std::bad_alloc. When the time is over the
/// process ends with an error, exit code 2 and no temporary file.
class RunLimits {
 public:
  /// @throws InvalidParameter naming the option.
  explicit RunLimits(const Sources& sources);
  ~RunLimits();
  RunLimits(const RunLimits&) = delete;
  RunLimits& operator=(const RunLimits&) = delete;

  /// What to say of a std::bad_alloc. @throws InvalidParameter naming --max-memory, if that was given.
  void explain_lack_of_memory() const;

 private:
  LimitFlags flags_;
  std::int64_t memory_before_ = 0;
};

/// How long one answer of many may take. Work of this thread and of the threads that it starts polls it: so it ends some
/// milliseconds late, and what is left of the process goes on. One at a time in a thread.
class AnswerTime {
 public:
  /// None: as long as it takes.
  explicit AnswerTime(std::optional<double> seconds);
  ~AnswerTime();
  AnswerTime(const AnswerTime&) = delete;
  AnswerTime& operator=(const AnswerTime&) = delete;

 private:
  std::unique_ptr<Cancellation> deadline_;
  std::optional<CancellationScope> scope_;
};

}  // namespace natten_sim::cli
