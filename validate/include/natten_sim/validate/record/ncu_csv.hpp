#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Reads `ncu --csv` output in either shape: the details page (a row a metric) or `--page raw` (a column a
/// metric, a row of units), with either line end. Lines before the header and those that begin with "=="
/// (ncu's own messages) are skipped. Metrics that are not in the counter table, and values that ncu does not
/// give ("n/a"), are left out. Scaled units (Mbyte, us, ..) and thousands separators are understood; decimal
/// commas are refused. @throws MalformedData naming the line.
[[nodiscard]] std::vector<ProfiledLaunch> parse_ncu_csv(std::string_view text, const std::string& where);

/// The launches whose kernel name contains `kernel`, as one measured row of `point`.
/// @throws InvalidParameter when there is none, or when they are of several kernels, naming those.
[[nodiscard]] RecordedRow row_of_launches(const std::vector<ProfiledLaunch>& launches,
                                          const std::string& kernel, const Point& point);

inline constexpr const char* kProfileSuite = "profile";

/// That row as a recording of the suite kProfileSuite. `device` is the profile of the GPU, `where` the file.
[[nodiscard]] Recording recording_of_profile(const Device& device, const std::string& where,
                                             const RecordedRow& row);

}  // namespace natten_sim::validate
