// Lines of CSV and numbers of any locale: what a number tells of its locale is what reads it.
#include <cmath>

#include <natten_sim/io/csv_text.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::csv_text {

void read(std::string_view input) {
  const std::string_view line = input.substr(0, input.find('\n'));
  for (const char separator : {',', ';', '\t'}) {
    const auto cells = csv_cells(line, separator);
    if (!cells) continue;
    std::string quoted;
    for (const std::string& cell : *cells) {
      std::string doubled;
      for (const char c : cell) doubled += c == '"' ? std::string("\"\"") : std::string(1, c);
      quoted += (quoted.empty() ? "\"" : std::string(1, separator) + "\"") + doubled + "\"";
      const auto point = localised_number(cell, DecimalMark::kPoint),
                 comma = localised_number(cell, DecimalMark::kComma);
      const DecimalEvidence evidence = decimal_evidence(cell);
      const bool by_point = evidence.mark == DecimalMark::kPoint;
      if (evidence.kind == DecimalEvidence::Kind::kDecided)
        require((by_point ? point : comma).has_value(), "the decided mark reads the number");
      if (evidence.kind == DecimalEvidence::Kind::kDoubtful)
        require(point && comma && (by_point ? *point > *comma : *comma > *point),
                "a doubtful number has two values, and is larger if it is whole");
      require(!point || (*point >= 0 && std::isfinite(*point)), "numbers are finite and not negative");
    }
    require(csv_cells(quoted, separator) == cells, "cells in quotes read as themselves");
  }
}

const Target kTarget("csv_text", read);

}  // namespace natten_sim::fuzz::csv_text
