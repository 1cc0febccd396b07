// Figures that others published about their kernels, as data/claims/ has them: a score of all of them, none
// excused. What is not answered is a miss.
#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/validate/published/published_work.hpp>

#include "published/claims.hpp"

namespace natten_sim::validate::works {
namespace {

std::string note_of(const Claim& claim, const std::string& refusal) {
  std::string note = fmt::format("{}, {}{}{}; {}", claim.gpu, claim.release, claim.date.empty() ? "" : ", ",
                                 claim.date, claim.source);
  if (!claim.note.empty()) note += "; " + claim.note;
  if (!refusal.empty()) note += "; not answered: " + refusal;
  return note;
}

PublishedRow row_of(const Claim& claim, const study::Context& context, RowsOfWorks& works) {
  const ClaimAnswer answer = answer_claim(claim, context, works);
  PublishedRow row =
      shown_row(claim.publisher, claim.item, claim.value, answer.value, note_of(claim, answer.refusal));
  row.verdict = Verdict::kScored;
  row.tolerance = kClaimTolerance;
  row.relative = true;
  row.fitted = claim.fitted;
  if (answer.value) row.deviation = *answer.value / claim.value - 1;
  row.place.unit = claim.unit;
  return row;
}

std::vector<PublishedRow> claim_rows(const study::Context& context) {
  const std::vector<Claim> all = published_claims();
  std::vector<PublishedRow> rows;
  RowsOfWorks works;
  for (const Claim& claim : all) {
    rows.push_back(row_of(claim, context, works));
    if (context.progress)
      context.progress(static_cast<double>(rows.size()) / static_cast<double>(all.size()));
  }
  return rows;
}

std::vector<std::string> publishers() {
  std::vector<std::string> names;
  for (const Claim& claim : published_claims()) {
    if (std::find(names.begin(), names.end(), claim.publisher) == names.end())
      names.push_back(claim.publisher);
  }
  return names;
}

}  // namespace

PublishedWork claims() {
  return {.name = "claims",
          .title = "what others published about their own kernels, none excused",
          .source = "Pull requests, issues and documentation of public projects, each row with its own",
          .position = 60,
          .reproduce = claim_rows,
          .figures = publishers(),
          .effort = "14 scatters of 7.8 million rows and FlashAttention's backward passes are simulated"};
}

}  // namespace natten_sim::validate::works
