#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <natten_sim/report/json_sink.hpp>
#include <natten_sim/report/search_report.hpp>

#include "count_members.hpp"
#include "recall_members.hpp"
#include "search_values.hpp"

namespace natten_sim::report {
namespace {

using study::SearchAnswer;
using study::SearchCandidate;
using study::SearchQuestion;

/// What NATTEN's kernels do: too much for a table.
enum class KernelFields { kHidden, kShown };

/// A candidate of an answer.
struct SearchedCandidate {
  const SearchQuestion* question;
  const SearchCandidate* candidate;
  KernelFields kernel;

  [[nodiscard]] bool has(Walk pass) const { return has_pass(question->phase, pass); }
};

Json candidate_fields(const SearchQuestion& question, const SearchCandidate& candidate, KernelFields kernel) {
  return json_of(SearchedCandidate{&question, &candidate, kernel});
}

/// The columns of the candidates that the question would have: only their names matter.
Json columns_of(const SearchQuestion& question) {
  SearchCandidate candidate;
  candidate.counted.flops = Flops{};
  if (question.setting.add_kv > 0) candidate.counted.extra_kv = ExtraKvCount{};
  if (shows_end_to_end(question)) candidate.counted.end_to_end = study::EndToEndSpeedup{};
  if (has_pass(question.phase, Walk::kBackward)) {
    candidate.backward.emplace();
    candidate.backward->flops = Flops{};
  }
  return candidate_fields(question, candidate, KernelFields::kHidden);
}

std::optional<study::TimeAnswer> answered(const std::optional<study::PassTime>& time) {
  return time ? std::optional(study::TimeAnswer(*time)) : std::nullopt;
}

/// The answer for one device.
struct Searched {
  const SearchAnswer* answer;
  const study::Context* context;
};

std::vector<SearchedCandidate> candidates_of(const Searched& searched) {
  std::vector<SearchedCandidate> all;
  for (const SearchCandidate& each : searched.answer->candidates)
    all.push_back({&searched.answer->question, &each, KernelFields::kShown});
  return all;
}

std::optional<RecallTold> recall_of_search(const Searched& searched) {
  const SearchAnswer& answer = *searched.answer;
  if (!answer.choice && !answer.recalls) return std::nullopt;
  RecallTold told{.table = &*answer.question.recall.table, .context = searched.context};
  if (answer.choice) {
    told.chosen = &answer;
  } else {
    told.recalls = &*answer.recalls;
  }
  return told;
}

/// The answers for all devices.
struct AllSearched {
  std::vector<Searched> devices;
};

const Searched* one_device(const AllSearched& all) {
  return all.devices.size() == 1 ? &all.devices.front() : nullptr;
}

}  // namespace

template <typename Members>
void put_backward(Members& m) {
  using C = SearchCandidate;
  const auto of = [](auto... members) { return path(&SearchedCandidate::candidate, members...); };
  m.optional(
      "backward", [](const SearchedCandidate& each) { return each.candidate->backward ? &each : nullptr; },
      "The backward pass: Q tiles walked per KV tile",
      [=](auto& backward) {
        backward.include([](const SearchedCandidate& each) -> const study::BackwardCount& {
          return *each.candidate->backward;
        });
        backward.when(
            [](const SearchedCandidate& each) { return each.kernel == KernelFields::kShown; },
            [=](auto& some) {
              some.put("kernel",
                       of(&C::kernel,
                          [](const study::KernelAnswer& done) { return done_in(done, Walk::kBackward); }),
                       kKernelMeaning);
            });
        backward.include([](const SearchedCandidate& each) {
          return each.kernel == KernelFields::kShown ? answered(each.candidate->backward_time) : std::nullopt;
        });
      });
}

template <typename Members>
void describe(Members& m, Of<SearchedCandidate>) {
  using C = SearchCandidate;
  const auto of = [](auto... members) { return path(&SearchedCandidate::candidate, members...); };
  const auto mask = [=](Extents (*read)(const NeighborhoodMask&)) {
    return of(&C::counted, &study::CountedTiles::problem, &TilingProblem::mask, read);
  };
  const auto timed = [](const SearchedCandidate& each) { return by_time(*each.question); };
  const auto tiles = [=](auto member) {
    return of(&C::counted, &study::CountedTiles::problem, &TilingProblem::tiles, member);
  };
  m.put("window", mask(window_of));
  m.put("stride", mask(stride_of));
  m.put("dilation", mask(dilation_of), "Dilation, per axis");
  m.when([](const SearchedCandidate& each) { return each.has(Walk::kForward); },
         [tiles](auto& forward) {
           forward.put("q_tile", tiles(&TilePair::q_tile));
           forward.put("kv_tile", tiles(&TilePair::kv_tile));
         });
  m.put("backend", of(&C::tiles, unless_empty(&TileChoice::backend)),
        "NATTEN's backend; null: none has the tiles");
  m.put("tile_size", of(&C::tile_size), "Place of its tile size in tile_sizes");
  m.put("speedup", of(&C::speedup), "What was maximised: by time, or by tiles as the objective says");
  m.put("dense_path", of(&C::dense_path));
  m.put("fast_path", of(&C::fast_path), "Whether NATTEN masks no tile, in any pass searched");
  m.optional("kernel_timed", of(&C::tiles, unless_empty(&TileChoice::kernel)), "The kernel whose time it is");
  m.when(timed, [=](auto& by_time) {
    by_time.put("total_ms", of(&C::total_ms), "Predicted time of the passes searched");
    by_time.when(
        [](const SearchedCandidate& each) { return shows_end_to_end(*each.question); },
        [](auto& whole) {
          whole.put(
              "e2e_speedup_time",
              [](const SearchedCandidate& each) { return end_to_end_of(*each.question, *each.candidate); },
              "Speedup of the whole model, by the ratio of times");
        });
  });
  m.include([](const SearchedCandidate& each) {
    return each.kernel == KernelFields::kShown && by_time(*each.question) ? answered(each.candidate->time)
                                                                          : std::nullopt;
  });
  m.include([](const SearchedCandidate& each) {
    return each.has(Walk::kForward) ? &each.candidate->counted : nullptr;
  });
  m.include([](const SearchedCandidate& each) {
    return each.has(Walk::kForward) && each.kernel == KernelFields::kShown ? &each.candidate->kernel
                                                                           : nullptr;
  });
  m.include(
      [](const SearchedCandidate& each) {
        return each.has(Walk::kForward) ? nullptr : &each.candidate->counted.count;
      },
      [](auto& alone) { put_pairs(alone, [](auto member) { return member; }); });
  put_backward(m);
}

template <typename Members>
void describe(Members& m, Of<Searched>) {
  using A = SearchAnswer;
  const auto of = [](auto member) { return path(&Searched::answer, member); };
  m.put("space_size", of(&A::space_size), "Combinations of window, stride and tiles that were allowed");
  m.put("evaluated", of(&A::evaluated), "Combinations that were evaluated one by one");
  m.put("excluded", of(&A::excluded), "Combinations that NATTEN refuses, by rule", [](auto& excluded) {
    const auto refusal = [](auto member) { return path(&study::SearchExclusion::refusal, member); };
    excluded.put("rule", refusal(&NattenRefusal::rule), "The rule of NATTEN that they break");
    excluded.put("parameter", refusal(&NattenRefusal::parameter), "The parameter at fault");
    excluded.put("accepted", refusal(&NattenRefusal::accepted), "What NATTEN accepts");
    excluded.put("combinations", &study::SearchExclusion::combinations, "How many there are");
  });
  m.put("kernels_left_out", of(&A::left_out), "Kernels that have no times there", [](auto& kernel) {
    kernel.put("kernel", &study::LeftOutKernel::kernel);
    kernel.put("reason", &study::LeftOutKernel::reason, "Why it was left out");
  });
  m.put("tile_sizes", of(&A::tile_sizes),
        "Tokens of the tile that a block holds; other sizes are not compared", [](auto& held) {
          held.put("forward", &study::HeldTiles::forward,
                   "Tokens of a Q tile; null: the pass was not searched");
          held.put("backward", &study::HeldTiles::backward,
                   "Tokens of a KV tile; null: the pass was not searched");
        });
  m.put("complete", of(&A::complete),
        "Whether as many answers as asked for were found among those that are alike");
  m.put("sketched", of(&A::sketched), "Whether only windows and strides that tiles divide were searched");
  m.optional("nearest_sparsity", of(&A::nearest_sparsity),
             "Sparsity nearest to the wish, where nothing lies within it");
  m.put("candidates", &candidates_of, "Configurations, best first");
  m.optional("recall", &recall_of_search, "What windows keep of a model's attention");
}

template <typename Members>
void describe(Members& m, Of<AllSearched>) {
  m.include(&one_device);
  m.when([](const AllSearched& all) { return all.devices.size() > 1; },
         [](auto& several) {
           several.put("devices", &AllSearched::devices, "The answer for each of several devices",
                       [](auto& each) {
                         each.put("device", [](const Searched& searched) -> const std::string& {
                           return device_of(*searched.answer);
                         });
                         each.include([](const Searched& searched) { return searched; });
                       });
         });
}

Json search_result(std::span<const SearchAnswer> answers, const study::Context& context) {
  AllSearched all;
  for (const SearchAnswer& answer : answers) all.devices.push_back({&answer, &context});
  return json_of(all);
}

Json search_schema() { return schema_of<AllSearched>(); }

void write_search_result(std::span<const SearchAnswer> answers, const study::Context& context,
                         JsonMembers& members) {
  const Json result = search_result(answers, context);
  for (const auto& [key, value] : result.items()) members.put_json(key, value);
}

Rows search_rows(std::span<const SearchAnswer> answers) {
  const bool several = answers.size() > 1;
  const auto with_device = [&](const SearchAnswer& answer, Json fields) {
    if (!several) return fields;
    Json row = {{"device", device_of(answer)}};
    row.update(std::move(fields));
    return row;
  };
  std::vector<Json> rows;
  for (const SearchAnswer& answer : answers) {
    for (const SearchCandidate& each : answer.candidates)
      rows.push_back(with_device(answer, candidate_fields(answer.question, each, KernelFields::kHidden)));
  }
  return {with_device(answers.front(), columns_of(answers.front().question)),
          rows,
          {"device", "window", "stride", "q_tile", "kv_tile", "sparsity", "total_ms", "speedup"}};
}

}  // namespace natten_sim::report
