#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// Times of PyTorch's scaled_dot_product_attention, backend by backend, as `scripts/timing regimes`
/// writes them. JSON on disk, schema natten-sim.sdpa-recording/1, strict
/// keys.

/// "auto" leaves the choice to PyTorch; the others are forced.
[[nodiscard]] const std::vector<std::string>& sdpa_backends();

struct SdpaRow {
  kernels::AttentionProblem problem;
  std::string backend;
  std::string status = kMeasured;     ///< or why it could not run, in PyTorch's words
  std::optional<Spread> milliseconds;  ///< present exactly when measured
  int repetitions = 0;
};

struct SdpaRecording {
  RecordedDevice device;  ///< without a profile
  std::string driver;
  std::string framework;  ///< "PyTorch 2.11.0+cu130"
  std::string cudnn;
  std::string clocks_policy;
  std::string cache_control;
  std::optional<Clocks> before;
  std::optional<Clocks> after;
  std::vector<SdpaRow> rows;  ///< one a problem and backend
};

/// @throws MalformedData naming the place: a key missing or unknown, a wrong type, an unknown backend, a
/// problem twice, times without status "measured" or the reverse, times that are not positive and in order.
[[nodiscard]] SdpaRecording parse_sdpa_recording(std::string_view json, const std::string& where);

/// Every *.json of a folder that has this schema, by file name; possibly none. @throws InvalidParameter when
/// there is no such folder, MalformedData.
[[nodiscard]] std::vector<SdpaRecording> read_sdpa_recordings(const std::string& folder);

}  // namespace natten_sim::validate
