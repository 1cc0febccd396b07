#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim::validate {

/// What a figure of the MSDA paper is about. Members that do not apply are absent.
struct MsdaFacts {
  std::optional<std::string> device;   ///< name in the catalog
  std::optional<std::string> config;   ///< name in data/msda-configs.json
  std::optional<std::string> backend;  ///< name in the paper's tables of memory
  std::optional<std::string> column;   ///< of the table in data/msda-paper.json
  std::optional<Dtype> dtype;
  std::optional<MsdaTiling> tiling;
  std::optional<MsdaPhase> phase;
};

/// A deviation whose reason is written down with the data. It covers the figures of `tables` whose facts are
/// among those listed, and ratios of ours over the published number from `lowest` to `highest`; a list that
/// is empty covers any fact. A miss beyond the ratios is a new one.
struct KnownDeviation {
  std::vector<std::string> tables;
  std::vector<std::string> devices, configs, backends, columns;
  std::vector<Dtype> dtypes;
  std::vector<MsdaTiling> tilings;
  std::vector<MsdaPhase> phases;
  double lowest = 0, highest = 0;
  std::string reason;

  [[nodiscard]] bool covers(const std::string& table, const MsdaFacts& facts, double ratio) const;
};

/// @throws MalformedData naming the key; UnknownName for a word that names no fact.
[[nodiscard]] KnownDeviation read_known_deviation(const Json& entry, const std::string& where);

}  // namespace natten_sim::validate
