#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/csv_text.hpp>
#include <natten_sim/study/explain.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// The launches of the longest profile, 2^20: some 600 MB as ProfiledLaunch.
inline constexpr std::size_t kMaxLaunches = std::size_t{1} << 20;

/// Counters of one kernel launch, as Nsight Compute's command line exports them.
struct ProfiledLaunch {
  std::string kernel;
  std::string id;
  std::map<std::string, double> counters = {};  ///< by label of the counter table, in its unit
  std::optional<double> dram_bytes = {};        ///< read and written together, where they were counted so
  // What the profile says of the launch; zeros and nothing where it does not.
  std::array<std::int64_t, 3> grid{}, block{};
  std::optional<std::int64_t> shared_bytes = {};  ///< dynamic, of a CTA
  std::optional<std::int64_t> ctas_per_sm = {};   ///< that registers, shared memory, warps and barriers allow
  std::optional<std::int64_t> sms = {};
  std::optional<std::string> gpu = {};
};

/// What explain() asks of each launch.
[[nodiscard]] std::vector<study::ProfiledKernel> profiled_kernels(
    const std::vector<ProfiledLaunch>& launches);

/// Reads `ncu --csv` output in either shape: the details page (a row a metric, which may end after its value)
/// or `--page raw` (a column a metric, a row of units), between commas, semicolons or tabs, with either line
/// end. Lines that are no rows are skipped: ncu's messages, and what the program printed. Metrics that are
/// neither in the counter table nor another name of one that is, and values that ncu does not give ("n/a"),
/// are left out; values by instance, in parentheses, too. Scaled units (Mbyte, us, ..) and thousands
/// separators are understood. The decimal mark is decided once for the file, from all its values; `decimal`
/// says it where they leave doubt. @throws MalformedData naming the line.
[[nodiscard]] std::vector<ProfiledLaunch> parse_ncu_csv(std::string_view text, const std::string& where,
                                                        std::optional<DecimalMark> decimal = {});

/// What doors say of the choice.
inline constexpr const char* kDecimalHelp =
    "What stands before decimals in the CSV of Nsight Compute: point or comma [as its numbers tell]";

/// The launches whose kernel name contains `kernel`, as one measured row of `point`.
/// @throws InvalidParameter when there is none, or when they are of several kernels, naming those.
[[nodiscard]] RecordedRow row_of_launches(const std::vector<ProfiledLaunch>& launches,
                                          const std::string& kernel, const Point& point);

inline constexpr const char* kProfileSuite = "profile";

/// That row as a recording of the suite kProfileSuite. `device` is the profile of the GPU, `where` the file.
[[nodiscard]] Recording recording_of_profile(const Device& device, const std::string& where,
                                             const RecordedRow& row);

}  // namespace natten_sim::validate
