#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/io/json.hpp>

#include "sweep/grid.hpp"

namespace natten_sim::cli {

/// What points of a sweep were answered, as JSON Lines: first which sweep it is, then a line for each point,
/// added as soon as it is answered. A line that a killed run left half-written is cut off.
class SweepJournal {
 public:
  /// @param sweep what must stand in the first line of each file. @param paths all are read, in order;
  /// answers are added to the first, which is created where there is none. None: nothing is kept beyond this
  /// run.
  /// @throws InvalidParameter, MalformedData for a file of something else or of another sweep, or with a line
  /// that is no answer at a point of `grid`.
  SweepJournal(const Json& sweep, const SweepGrid& grid, const std::vector<std::string>& paths);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  [[nodiscard]] bool has(std::int64_t point) const;
  /// An answer or, as `error`, why there is none. From any thread. @throws WriteError
  void add(std::int64_t point, const Json& values, Json answer);
  /// By point, ascending: what add() took, or a file had.
  [[nodiscard]] const std::map<std::int64_t, Json>& answers() const { return answers_; }

 private:
  void read(const std::string& path, const Json& sweep, const SweepGrid& grid, bool cut);

  mutable std::mutex mutex_;
  std::map<std::int64_t, Json> answers_;
  std::FILE* file_ = nullptr;
  std::string path_;
};

}  // namespace natten_sim::cli
