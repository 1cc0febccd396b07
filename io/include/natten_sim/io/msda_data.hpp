#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/msda_config.hpp>

namespace natten_sim {

/// The configurations of the paper by its names (data/msda-configs.json).
[[nodiscard]] std::vector<MsdaConfig> builtin_msda_configs();
/// One configuration from JSON text in that file's format. @throws MalformedData.
[[nodiscard]] std::vector<MsdaConfig> read_msda_configs(std::string_view json, const std::string& where);

/// Published latencies (data/msda-paper.json).
[[nodiscard]] std::vector<MsdaLatency> msda_latencies();

}  // namespace natten_sim
