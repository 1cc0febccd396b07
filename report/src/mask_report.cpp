#include <fmt/format.h>

#include <natten_sim/core/names.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/report/mask_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

#include "time_members.hpp"

namespace natten_sim::report {
namespace {

/// The blocks of one size, of an answer.
struct MaskBlocks {
  const study::MaskAnswer* answer;
  const study::BlockCount* count;
};

std::vector<MaskBlocks> blocks_of_others(const study::MaskAnswer& answer) {
  std::vector<MaskBlocks> blocks;
  for (const study::BlockCount& other : answer.others) blocks.push_back({&answer, &other});
  return blocks;
}

double share_of_pairs(const study::MaskAnswer& answer) {
  const study::MaskQuestion& asked = answer.question;
  return static_cast<double>(*answer.pairs) / static_cast<double>(answer.masks) /
         (static_cast<double>(*asked.q_tokens) * static_cast<double>(*asked.kv_tokens));
}

/// Share of the pairs in visited blocks that attend.
double used_share(const study::MaskAnswer& answer, const study::BlockCount& count) {
  return static_cast<double>(*answer.pairs) /
         (static_cast<double>(count.visited) * static_cast<double>(count.q_tile) *
          static_cast<double>(count.kv_tile));
}

std::string cell_ms(const std::optional<study::TimeAnswer>& answer) {
  const auto* time = answer ? std::get_if<study::PassTime>(&*answer) : nullptr;
  return time == nullptr ? "-"
                         : fmt::format("{} ({} .. {})", duration_text(time->total_ms),
                                       duration_text(time->low_ms), duration_text(time->high_ms));
}

std::string blocks_table(const study::MaskAnswer& answer) {
  std::vector<std::vector<std::string>> rows = {{"Q x KV block", "visited", "of all", "full", "partial"}};
  if (answer.pairs) rows.front().push_back("used");
  const bool timed = answer.count.forward.has_value(), backward = answer.count.backward.has_value();
  if (timed) rows.front().push_back("forward");
  if (backward) rows.front().push_back("backward");
  const auto add = [&](const study::BlockCount& count) {
    rows.push_back({fmt::format("{}x{}", count.q_tile, count.kv_tile), grouped(count.visited),
                    fmt::format("{:.1f}%", 100 * count.visited_share(answer.masks)), grouped(count.full),
                    grouped(count.partial)});
    if (answer.pairs)
      rows.back().push_back(count.visited > 0 ? fmt::format("{:.1f}%", 100 * used_share(answer, count))
                                              : "-");
    if (timed) rows.back().push_back(cell_ms(count.forward));
    if (backward) rows.back().push_back(cell_ms(count.backward));
  };
  add(answer.count);
  for (const study::BlockCount& other : answer.others) add(other);
  return text_table(rows);
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<MaskBlocks>) {
  using B = study::BlockCount;
  const auto of = [](auto member) { return path(&MaskBlocks::count, member); };
  m.put("q_tile", of(&B::q_tile));
  m.put("kv_tile", of(&B::kv_tile));
  m.put("q_tiles", of(&B::q_tiles));
  m.put("kv_tiles", of(&B::kv_tiles));
  m.put("visited_tiles", of(&B::visited));
  m.put("full_tiles", of(&B::full));
  m.put("partial_tiles", of(&B::partial));
  m.put(
      "visited_share", [](const MaskBlocks& each) { return each.count->visited_share(each.answer->masks); },
      "Share of all pairs of blocks that are visited, 0..1");
  m.put(
      "used_share",
      [](const MaskBlocks& each) {
        const bool known = each.answer->pairs && each.count->visited > 0;
        return known ? std::optional(used_share(*each.answer, *each.count)) : std::nullopt;
      },
      "Share of the token pairs in visited blocks that attend, 0..1; null: blocks alone were given");
  m.object("row", "KV blocks per Q block", [of](auto& row) {
    row.put("shortest", of(&B::shortest_row), "The fewest");
    row.put("mean", of(&B::mean_row), "The mean");
    row.put("longest", of(&B::longest_row), "The most");
    row.put("empty", of(&B::empty_rows), "Q blocks that attend to nothing");
  });
  m.include(of(&B::forward));
  m.optional("backward", of(&B::backward), "Time of the backward pass");
}

template <typename Members>
void describe(Members& m, Of<study::MaskAnswer>) {
  using A = study::MaskAnswer;
  m.include([](const A& answer) { return MaskBlocks{&answer, &answer.count}; });
  m.put("masks", &A::masks, "Masks: 1, or one per head");
  m.put("pairs", &A::pairs, "Token pairs that attend, over all masks; null: blocks alone were given");
  m.put(
      "pair_share",
      [](const A& answer) { return answer.pairs ? std::optional(share_of_pairs(answer)) : std::nullopt; },
      "Share of all token pairs that attend, 0..1; null: blocks alone were given");
  m.put("others", &blocks_of_others, "The same for blocks of other sizes");
}

Json mask_result(const study::MaskAnswer& answer) { return json_of(answer); }

Json mask_schema() { return schema_of<study::MaskAnswer>(); }

Rows mask_rows(const study::MaskAnswer& answer) {
  std::vector<Json> rows = {flattened(json_of(MaskBlocks{&answer, &answer.count}))};
  for (const MaskBlocks& other : blocks_of_others(answer)) rows.push_back(flattened(json_of(other)));
  return {rows.front(), rows, {"q_tile", "kv_tile", "visited_tiles", "visited_share", "full_tiles", "partial_tiles", "used_share", "time_ms_total"}};
}

std::string mask_report(const study::MaskAnswer& answer) {
  const study::MaskQuestion& asked = answer.question;
  std::string text =
      fmt::format("{}: {} queries, {} keys, {}, batch {}, head dim {}, {}\n", mask_text(asked.mask.mask),
                  grouped(*asked.q_tokens), grouped(*asked.kv_tokens), counted(asked.heads, "head"),
                  asked.batch, asked.head_dim, to_string(asked.dtype));
  if (answer.masks > 1) text += fmt::format("a mask for each of {} heads\n", answer.masks);
  if (answer.pairs)
    text += fmt::format("{} pairs of tokens attend, {:.2f}% of all\n", grouped(*answer.pairs),
                        100 * share_of_pairs(answer));
  text += "\n" + blocks_table(answer) + "\n";
  const study::BlockCount& count = answer.count;
  text += fmt::format("KV blocks of a Q block: {} to {}, {:.4g} in the mean", count.shortest_row,
                      count.longest_row, count.mean_row);
  text += count.empty_rows > 0 ? fmt::format("; without any: {}\n", grouped(count.empty_rows)) : "\n";
  if (count.forward) text += "forward: " + time_text(count.forward);
  if (count.backward) text += "backward: " + time_text(count.backward);
  return text;
}

}  // namespace natten_sim::report
