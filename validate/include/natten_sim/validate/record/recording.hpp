#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/validate/measure/pace.hpp>
#include <natten_sim/validate/cases/case.hpp>
#include <natten_sim/validate/measure/timing.hpp>

namespace natten_sim::validate {

/// A recording: what was measured on one device for one suite, with everything needed to judge it. JSON on
/// disk.

struct RecordedDevice {
  std::string name;      ///< as the driver names it
  std::string profile;   ///< name of the device profile that predictions use; empty: none fits
  std::int32_t sms = 0;  ///< 0: not known, in memory only
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::string compute_capability;
  friend bool operator==(const RecordedDevice&, const RecordedDevice&) = default;
};

struct RecordingHead {
  std::string suite;
  RecordedDevice device;
  std::string driver;
  std::string toolkit;
  std::string profiler;  ///< "CUPTI 130001, GH100", or why there are no counters
  std::string clocks_policy = "untouched";
  std::string cache_control = "L2 overwritten before each repetition";
  std::string commit;                          ///< commit of the sources that measured
  std::map<std::string, std::string> metrics;  ///< exact metric name of each label
  friend bool operator==(const RecordingHead&, const RecordingHead&) = default;
};

/// Values of one counter over repetitions, in the unit of the counter table.
struct CounterValues {
  Spread spread;
  int repetitions = 0;
};

/// The status of what ran.
inline constexpr const char* kMeasured = "measured";

struct RecordedRow {
  Point point;
  std::string status = kMeasured;                ///< or why it could not run: "out of memory"
  std::map<std::string, CounterValues> counters;  ///< by label
  std::optional<Timing> timing;
  std::optional<CtaPace> pace;
};

/// Throughput in TFLOP/s of the median time; empty without timing, and for kernels that count no operations.
[[nodiscard]] std::optional<double> teraflops(const RecordedRow& row);

struct Recording {
  RecordingHead head;
  std::vector<RecordedRow> rows;  ///< one a point
};

/// The timed rows as runs that costs can be fitted to, for kernels that have such. Empty where the device has
/// no profile.
[[nodiscard]] std::vector<KernelRun> kernel_runs_of(const Recording& recording);

inline constexpr const char* kRecordingSchema = "natten-sim.recording/1";

[[nodiscard]] std::string recording_json(const Recording& recording);
/// Keys are strict. Counters must be in the table and have its metric name. Values that no repetitions can
/// have shown are refused. @throws MalformedData.
[[nodiscard]] Recording parse_recording(std::string_view json, const std::string& where);

enum class IfExists { kRefuse, kResume };

/// A recording that grows on disk: after each `put` the file holds everything so far, written beside it and
/// renamed, so that a killed run or a full disk leaves the last complete state. While this object lives, a
/// second one for the same path is refused, so only one run writes at a time.
class RecordingFile {
 public:
  /// Refuses an existing file. With kResume it continues that file if the heads are equal except for the
  /// commit; once a row is added, the head names both commits.
  /// @throws InvalidParameter naming what differs, or that nothing can be written there; MalformedData.
  RecordingFile(std::string path, const RecordingHead& head, IfExists if_exists);
  RecordingFile(RecordingFile&&) noexcept;
  RecordingFile& operator=(RecordingFile&&) noexcept;
  ~RecordingFile();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Recording& recording() const noexcept { return recording_; }
  /// The row of that point, or null.
  [[nodiscard]] const RecordedRow* find(const Point& point) const;
  /// Adds or replaces the row of its point, and writes the file. @throws InvalidParameter when it cannot be
  /// written; what was on disk stays.
  void put(const RecordedRow& row);

 private:
  class Lock;

  std::string path_;
  std::unique_ptr<Lock> lock_;
  Recording recording_;
  std::string commit_;  ///< commit of this run, for the head once a row is added
  std::map<std::string, std::size_t> by_key_;
};

/// Every *.json of a folder that is a recording, by file name. Other files and folders are left out.
/// @throws InvalidParameter when there is no such folder or no recording in it, MalformedData for a recording
/// that is damaged.
[[nodiscard]] std::vector<Recording> read_recordings(const std::string& folder);

}  // namespace natten_sim::validate
