#include "explain_fields.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <natten_sim/report/explain_report.hpp>

#include "closings/closing_members.hpp"

namespace natten_sim::report {

using study::ExplainedChange;
using study::ExplainedKernel;
using study::ExplainedProblem;
using study::ExplainedReads;

std::string change_name(const ExplainedChange& change) {
  if (change.order) return fmt::format("{} order", to_string(*change.order));
  if (change.launch) return "heads first";
  return *change.longest_first ? "the longest Q tile first" : "the longest Q tile last";
}

ScoreOfReads score_of(const ExplainedKernel& kernel) {
  return score_of_reads(
      {.fidelity = kernel.read->fidelity, .kernel = kernel.family, .causal = *kernel.problem.causal});
}

namespace {

/// The change as an option of `reuse`, by its name in `input`.
OpenObject change_option(const ExplainedChange& change) {
  if (change.order) return {{{"order", to_string(*change.order)}}};
  if (change.launch) return {{{"interleave_heads", true}}};
  return {{{"longest_first", *change.longest_first}}};
}

/// Where each member of the problem is known from.
Keyed<study::KnownFrom> known_of(const ExplainedKernel& kernel) {
  Keyed<study::KnownFrom> known;
  for (const study::KnownMember& member : kernel.known) {
    std::string key = member.member;
    std::replace(key.begin(), key.end(), '-', '_');
    known.members.emplace_back(key, member.from);
  }
  return known;
}

std::optional<ScoreOfReads> score_known(const ExplainedKernel& kernel) {
  const ScoreOfReads score = score_of(kernel);
  return score.score != nullptr ? std::optional(score) : std::nullopt;
}

/// Of models of this fidelity, whatever the kernel.
std::optional<double> held_out_median(const ExplainedKernel& kernel) {
  const ScoreOfReads held_out =
      score_of_reads({.fidelity = kernel.read->fidelity, .causal = *kernel.problem.causal});
  return held_out.score != nullptr ? std::optional(held_out.score->median) : std::nullopt;
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<ExplainedProblem>) {
  using P = ExplainedProblem;
  m.put("seqlen", &P::seqlen, "Tokens of the queries; null: not known");
  m.put("seqlen_k", &P::seqlen_k, "Tokens of the keys; null: not known");
  m.put("batch_size", &P::batch, "Batch size; null: not known");
  m.put("heads", &P::heads, "Heads; null: not known");
  m.put("heads_kv", &P::heads_kv, "KV heads; null: not known");
  m.put("head_dim", &P::head_dim, "Head dim; null: not known");
  m.put("dtype", &P::dtype, "Element type; null: not known");
  m.put("causal", &P::causal, "Whether the mask is causal; null: not known");
  m.put("q_tile", &P::q_tile);
  m.put("kv_tile", &P::kv_tile);
  m.put("schedule", &P::schedule, "How CTAs take Q tiles; null: not known");
  m.put("order", &P::order, "Order of the KV tiles; null: not known");
  m.put("longest_first", &P::longest_first, "Whether the longest Q tile comes first; null: not known");
}

/// What the problem read from DRAM, of a kernel that has it.
template <typename Members>
void describe_reads(Members& m) {
  using R = ExplainedReads;
  const auto of = [](auto member) {
    return [member](const ExplainedKernel& kernel) { return std::invoke(member, *kernel.read); };
  };
  m.put("measured_bytes", of(&R::measured_bytes), "Read from DRAM as measured; null: not measured");
  m.put("compulsory_bytes", of(&R::compulsory_bytes), "Q, K and V once");
  m.put("lockstep_bytes", of(&R::lockstep_bytes), "Read again by CTAs in step");
  m.put("drift_bytes", of(&R::drift_bytes), "Read again, or saved, because CTAs drift");
  m.put("unexplained_bytes", of(&R::unexplained_bytes), "Measured less predicted; null: not measured");
  m.put("predicted_bytes", of(&R::predicted_bytes), "Read from DRAM as predicted");
  m.put("fidelity", of(&R::fidelity), "Model of the prediction");
  m.put("held_out_median_deviation", &held_out_median,
        "How far off that model is in the median; null: not known");
  m.put("score", &score_known,
        "How far off it is on recorded launches most like this one; null: there are none", [](auto& score) {
          const auto reached = [](auto member) { return path(&ScoreOfReads::score, member); };
          score.put("suite", &ScoreOfReads::suite, "Suite of those launches");
          score.put("points", reached(&validate::Score::points), "How many there are");
          score.put("predicted_first", &ScoreOfReads::predicted_first,
                    "Whether they were predicted before they were measured");
          score.put("median_deviation", reached(&validate::Score::median), "How far off it is in the median");
          score.put("p90_deviation", reached(&validate::Score::p90), "How far off it is for nine of ten");
        });
}

template <typename Members>
void describe(Members& m, Of<ExplainedKernel>) {
  using K = ExplainedKernel;
  using L = study::ProfiledKernel;
  const auto launch = [](auto member) { return path(&K::launch, member); };
  m.put("family", &K::family, "Family of kernels, or a kernel of a kernel file");
  m.put("title", &K::title, "The same in words");
  m.put("name", launch(&L::name), "Name in the profile");
  m.put("launches", &K::launches, "Launches that are alike");
  m.put("grid", launch(&L::grid), "CTAs on each axis of the grid");
  m.put("block", launch(&L::block), "Threads on each axis of a CTA");
  m.put("shared_bytes", launch(&L::shared_bytes), "Shared memory of a CTA; null: not in the profile");
  m.put("ctas_per_sm", launch(&L::ctas_per_sm), "CTAs at a time on an SM; null: not in the profile");
  m.put("time_ns", launch(&L::time_ns), "Measured time; null: not in the profile");
  m.put("dram_read_bytes", launch(&L::dram_read_bytes), "Read from DRAM; null: not in the profile");
  m.put("dram_write_bytes", launch(&L::dram_write_bytes), "Written to DRAM; null: not in the profile");
  m.put("dram_bytes", launch(&L::dram_bytes), "Read from and written to DRAM; null: not in the profile");
  m.put("problem", &K::problem, "The attention that it computes");
  m.put("known", &known_of, "Where each member of the problem is known from");
  m.put("missing", &K::missing, "Options that would complete the problem");
  m.put("unmodelled", &K::unmodelled,
        "Why there is no prediction although nothing is missing; null: there is");
  m.object("sectors", "Sectors read from the L2", [launch](auto& sectors) {
    sectors.put("measured", launch(&L::l2_read_sectors), "In the profile; null: not there");
    sectors.put("predicted", &K::predicted_sectors, "By formula; null: the problem is not known");
  });
  m.put(
      "read", [](const K& kernel) { return kernel.read ? &kernel : nullptr; },
      "Reads from DRAM and where they come from; null: not known", [](auto& read) { describe_reads(read); });
  m.put("changes", &K::changes, "Other walks that would read less, the best first", [](auto& change) {
    using C = ExplainedChange;
    change.put("change", &change_name, "The change in words");
    change.put("options", &change_option, "The change as options of reuse");
    change.put("predicted_bytes", &C::predicted_bytes, "Reads from DRAM as predicted");
    change.put("saved_share", &C::saved_share, "Share of the predicted reads that it saves, 0..1");
    change.put("expected_bytes", &C::expected_bytes, "Reads from DRAM, as much off as the prediction is now");
  });
  m.put("assumed_numbers", &K::assumed, "Numbers of the device that nobody measured");
}

template <typename Members>
void describe(Members& m, Of<study::ProfiledKernel>) {
  using L = study::ProfiledKernel;
  m.put("name", &L::name, "Name in the profile");
  m.put("grid", &L::grid, "CTAs on each axis of the grid");
  m.put("block", &L::block, "Threads on each axis of a CTA");
  m.put("shared_bytes", &L::shared_bytes, "Shared memory of a CTA; null: not in the profile");
  m.put("time_ns", &L::time_ns, "Measured time; null: not in the profile");
  m.put("dram_read_bytes", &L::dram_read_bytes, "Read from DRAM; null: not in the profile");
  m.put("dram_write_bytes", &L::dram_write_bytes, "Written to DRAM; null: not in the profile");
  m.put("dram_bytes", &L::dram_bytes, "Read from and written to DRAM; null: not in the profile");
  m.put("l2_read_sectors", &L::l2_read_sectors, "Sectors read from the L2; null: not in the profile");
}

template <typename Members>
void describe(Members& m, Of<ExplainTold>) {
  using A = study::ExplainAnswer;
  const auto of = [](auto member) { return path(&ExplainTold::answer, member); };
  m.put("device", of(&A::device), "The profile's GPU by its name in the catalog; null: not in it");
  m.put("kernels", of(&A::kernels), "Kernels of attention, in the order of the profile");
  m.put("other_launches", of(&A::other_launches), "Launches of other kernels");
  m.put("other_names", of(&A::other_names), "Names of other kernels, up to eight");
  m.put("others", of(&A::others), "The longest launches of other kernels, up to eight");
  m.put("conclusion", &ExplainTold::conclusion, "What the answer comes down to");
}

Json kernel_fields(const ExplainedKernel& kernel) { return json_of(kernel); }

Json explain_fields(const ExplainTold& told) { return json_of(told); }

Json explain_schema() { return schema_of<ExplainTold>(); }

}  // namespace natten_sim::report
