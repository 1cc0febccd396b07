#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::validate {

PublishedRow number_row(std::string figure, std::string item, double published, double ours, double tolerance,
                        std::string note) {
  PublishedRow row{std::move(figure),
                   std::move(item),
                   fmt::format("{:g}", published),
                   tolerance > 0 ? fmt::format("{:.4f}", ours) : fmt::format("{:g}", ours),
                   ours - published,
                   tolerance,
                   Verdict::kWithin,
                   std::move(note)};
  // A NaN is never within a tolerance.
  if (!(std::abs(row.deviation) <= tolerance)) row.verdict = Verdict::kOutside;
  return row;
}

PublishedRow text_row(std::string figure, std::string item, std::string published, std::string ours,
                      bool within, std::string note) {
  return {std::move(figure),
          std::move(item),
          std::move(published),
          std::move(ours),
          0,
          0,
          within ? Verdict::kWithin : Verdict::kOutside,
          std::move(note)};
}

void mark_known(PublishedRow& row, const std::string& reason) {
  if (row.verdict != Verdict::kOutside) return;
  row.verdict = Verdict::kKnownMiss;
  if (reason.empty()) return;
  row.note += (row.note.empty() ? "" : "; ") + reason;
}

}  // namespace natten_sim::validate
