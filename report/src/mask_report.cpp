#include <fmt/format.h>

#include <natten_sim/core/names.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/report/mask_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {
namespace {

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

Json count_json(const study::MaskAnswer& answer, const study::BlockCount& count) {
  Json fields;
  fields["q_tile"] = count.q_tile;
  fields["kv_tile"] = count.kv_tile;
  fields["q_tiles"] = count.q_tiles;
  fields["kv_tiles"] = count.kv_tiles;
  fields["visited_tiles"] = count.visited;
  fields["full_tiles"] = count.full;
  fields["partial_tiles"] = count.partial;
  fields["visited_share"] = count.visited_share(answer.masks);
  fields["used_share"] = answer.pairs && count.visited > 0 ? Json(used_share(answer, count)) : Json();
  fields["row"] = {{"shortest", count.shortest_row},
                   {"mean", count.mean_row},
                   {"longest", count.longest_row},
                   {"empty", count.empty_rows}};
  add_time_fields(count.forward, fields);
  if (count.backward) {
    Json backward;
    add_time_fields(count.backward, backward);
    fields["backward"] = backward;
  }
  return fields;
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

Json mask_result(const study::MaskAnswer& answer) {
  Json fields = count_json(answer, answer.count);
  fields["masks"] = answer.masks;
  fields["pairs"] = answer.pairs ? wide_integer(*answer.pairs) : Json();
  fields["pair_share"] = answer.pairs ? Json(share_of_pairs(answer)) : Json();
  Json others = Json::array();
  for (const study::BlockCount& other : answer.others) others.push_back(count_json(answer, other));
  fields["others"] = others;
  return fields;
}

Rows mask_rows(const study::MaskAnswer& answer) {
  std::vector<Json> rows = {flattened(count_json(answer, answer.count))};
  for (const study::BlockCount& other : answer.others) rows.push_back(flattened(count_json(answer, other)));
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
