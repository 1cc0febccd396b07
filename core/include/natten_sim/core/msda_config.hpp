#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {

struct MsdaLevel {
  std::int64_t height = 0, width = 0;
  std::int64_t first = 0;  ///< number of its first pixel among all pixels of an image
  [[nodiscard]] std::int64_t pixels() const { return height * width; }
};

/// Multi-scale deformable attention: every query samples `points` locations of every level with every head,
/// each from the four pixels around it.
struct MsdaConfig {
  std::string name;
  std::int64_t batch = 1;
  std::int64_t height = 0, width = 0;  ///< size of the image
  std::vector<std::int64_t> strides;  ///< one for each level; a level has floor(size / stride) pixels an edge
  std::int64_t channels = 256;        ///< channels of all heads together
  std::int64_t heads = 8;
  std::int64_t points = 4;
  std::int64_t queries = 0;  ///< queries of an image; 0: one for each pixel (encoder)
  std::string source;

  [[nodiscard]] bool encoder() const { return queries == 0; }
  [[nodiscard]] std::int64_t levels() const { return static_cast<std::int64_t>(strides.size()); }
  [[nodiscard]] std::int64_t head_channels() const { return channels / heads; }
};

/// @throws InvalidParameter naming the field that is out of range.
void require_valid(const MsdaConfig& config);

/// Levels in the order of the strides. O(levels).
[[nodiscard]] std::vector<MsdaLevel> pyramid(const MsdaConfig& config);
[[nodiscard]] std::int64_t pixels_per_image(const MsdaConfig& config);
[[nodiscard]] std::int64_t queries_per_image(const MsdaConfig& config);

/// The configuration that a name spells out, "B3_640x960_d256_L3_h8_p6_q900", or with "enc" for "q900":
/// images, height and width, channels, levels, heads, points, queries of an image. Strides are 8, 16, 32, ..,
/// five and more levels begin at 4. Empty for a name of another form. @throws InvalidParameter as
/// require_valid.
[[nodiscard]] std::optional<MsdaConfig> msda_config_of_shape(const std::string& name);

/// What one program of a kernel works on.
enum class MsdaTiling {
  kBlock,  ///< a query with all of its heads, levels and points
  kPoint   ///< one (query, head, level, point)
};

template <>
struct NamesOf<MsdaTiling> {
  static constexpr const char* kConcept = "tiling";
  static constexpr Name<MsdaTiling> kTable[] = {{MsdaTiling::kBlock, "block"}, {MsdaTiling::kPoint, "point"}};
};

enum class MsdaPhase { kForward, kBackward };

template <>
struct NamesOf<MsdaPhase> {
  static constexpr const char* kConcept = "phase";
  static constexpr Name<MsdaPhase> kTable[] = {{MsdaPhase::kForward, "forward"},
                                               {MsdaPhase::kBackward, "backward"}};
};

/// What was measured of a kernel on one device (data/msda-kernels.json).
struct MsdaKernel {
  MsdaTiling tiling = MsdaTiling::kBlock;
  /// The device whose constants are used because this one was not measured; else empty.
  std::string borrowed_from;
  double occupancy = 0;           ///< resident warps over the most possible
  double bytes_in_flight = 0;     ///< bytes that one warp keeps in flight to DRAM over a round trip of 600 ns
  double sectors_per_sample = 0;  ///< sectors requested from the L2 for a sample, with rows of 64 bytes
  std::int64_t dram_granule_bytes = 0;  ///< fetched around a missing sector
  double read_request_ns = 0;           ///< fitted: one corner read, over all SMs
  double read_byte_ns = 0;              ///< fitted: a byte from the L2, over all SMs
  double write_request_ns = 0;  ///< fitted: one corner's gradient update without contention, over all SMs
  double host_forward_ns = 0;   ///< fitted: least eager-mode latency
  double host_backward_ns = 0;
};
/// One published latency (tables 10 and 11 of the MSDA paper).
struct MsdaLatency {
  std::string table;   ///< "table 10"
  std::string device;  ///< of the catalog
  std::string config;
  Dtype type = Dtype::kFp32;
  std::optional<MsdaTiling> tiling;  ///< tiling of a Triton kernel; absent for the CUDA operator
  double forward_ns = 0;
  double backward_ns = 0;
  bool fitted = false;  ///< whether the constants were fitted to it
};
}  // namespace natten_sim
