#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/io/json.hpp>

#include "sweep/grid.hpp"

namespace natten_sim::cli {

/// What points of a sweep were answered, as JSON Lines: first which sweep it is, then a line for each point,
/// added as soon as it is answered. A line that a killed run left half-written is cut off. Which points were
/// answered is held, and not what the answers are.
class SweepJournal {
 public:
  /// What becomes of a line: of those in files first, where a later one takes the place of an earlier one of the same
  /// point; then of those that are added, from any thread.
  using Keep = std::function<void(std::int64_t point, const Json& line)>;

  /// @param sweep what must stand in the first line of each file. @param paths all are read, in order;
  /// answers are added to the first, which is created where there is none. None: nothing is kept beyond this
  /// run.
  /// @throws InvalidParameter, MalformedData for a file of something else or of another sweep, or with a line
  /// that is no answer at a point of `grid`.
  SweepJournal(const Json& sweep, const SweepGrid& grid, const std::vector<std::string>& paths, Keep keep);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  [[nodiscard]] bool has(std::int64_t point) const;
  /// An answer or, as `error`, why there is none. From any thread. @throws WriteError
  void add(std::int64_t point, const Json& values, const Json& answer);

 private:
  void read(const std::string& path, const Json& sweep, const SweepGrid& grid, bool cut);

  mutable std::mutex mutex_;
  Keep keep_;
  std::vector<bool> answered_;
  std::FILE* file_ = nullptr;
  std::string path_;
};

}  // namespace natten_sim::cli
