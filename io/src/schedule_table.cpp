#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim {
namespace {

using Json = StrictObject::Json;

constexpr const char* kSchema = "natten-sim.schedule-table/1";
constexpr const char* kMergedSchema = "natten-sim.schedule-table/2";  // chains of KV heads
constexpr std::size_t kMaxTiles = 65536;

char mask_character(TileWork work) {
  return work == TileWork::kNone ? '.' : work == TileWork::kPartial ? '+' : '#';
}

std::vector<std::int32_t> integers(const StrictObject& fields, const char* key) {
  std::vector<std::int32_t> values;
  values.reserve(fields.array(key).size());
  for (const Json& value : fields.array(key)) values.push_back(fields.integer32_in(value, key));
  return values;
}

BlockMask mask_of_rows(const std::vector<std::string>& rows, const std::string& where) {
  BlockMask mask;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string line = "line " + std::to_string(row + 1);
    std::size_t cells = 0;
    for (const char c : rows[row]) {
      if (c == ' ' || c == '\t' || c == '\r') continue;
      if (c != '.' && c != '0' && c != '+' && c != '#' && c != '1') {
        throw MalformedData(where, "a character that is no tile in " + line,
                            "'.' or '0' skipped, '+' partial, '#' or '1' full");
      }
      ++cells;
      mask.work.push_back(c == '.' || c == '0' ? TileWork::kNone
                          : c == '+'           ? TileWork::kPartial
                                               : TileWork::kFull);
    }
    if (row == 0) mask.kv_tiles = static_cast<std::int32_t>(std::min(cells, kMaxTiles + 1));
    if (cells > kMaxTiles) throw MalformedData(where, "more KV tiles than 65,536", "65,536 or fewer");
    if (cells != static_cast<std::size_t>(mask.kv_tiles)) {
      throw MalformedData(where, line + " has " + std::to_string(cells) + " tiles",
                          std::to_string(mask.kv_tiles) + ", as the first line");
    }
  }
  if (mask.work.empty()) throw MalformedData(where, "no tiles", "one line a Q tile");
  if (rows.size() > kMaxTiles) throw MalformedData(where, "more Q tiles than 65,536", "65,536 or fewer");
  mask.q_tiles = static_cast<std::int32_t>(rows.size());
  return mask;
}

BlockMask read_mask(const StrictObject& table, const std::string& where) {
  BlockMask mask = mask_of_rows(table.texts("mask"), where);
  for (const auto& [key, size] : {std::pair{"q_tiles", mask.q_tiles}, std::pair{"kv_tiles", mask.kv_tiles}}) {
    if (table.integer32(key) != size) {
      throw InvalidParameter(key, std::to_string(table.integer32(key)),
                             std::to_string(size) + ", as the mask of " + where + " has");
    }
  }
  return mask;
}

/// Q tiles of one head, in whose mask several heads stand one below the other.
std::int32_t tiles_of_head(const BackwardProblem& problem) {
  return problem.mask.q_tiles / problem.merged_heads;
}

/// `[[head, q_tile], ..]` of a chain of a KV head.
std::vector<std::int32_t> merged_order(const StrictObject& chain, const BackwardProblem& problem) {
  std::vector<std::int32_t> order;
  for (const Json& entry : chain.array("q_order")) {
    const auto number = [&](std::size_t at) { return chain.integer32_in(entry[at], "q_order"); };
    if (!entry.is_array() || entry.size() != 2)
      throw InvalidParameter("q_order", json_text(entry), "pairs [head, q_tile]");
    const std::int64_t in_group = number(0) - std::int64_t{chain.integer32("kv_head")} * problem.merged_heads;
    const std::int32_t tiles = tiles_of_head(problem);
    if (in_group < 0 || in_group >= problem.merged_heads || number(1) < 0 || number(1) >= tiles) {
      throw InvalidParameter(
          "q_order", json_text(entry),
          "query heads of the chain's KV head, and Q tiles 0.." + std::to_string(tiles - 1));
    }
    order.push_back(static_cast<std::int32_t>(in_group) * tiles + number(1));
  }
  return order;
}

void read_chains(const StrictObject& table, const std::string& where, const BackwardProblem& problem,
                 BackwardSchedule& schedule) {
  const bool placed = schedule.dispatch == Dispatch::kStatic, merged = problem.merged_heads > 1;
  std::vector<std::string> known = {merged ? "kv_head" : "head", "kv_tile", "q_order"};
  if (placed) known.emplace_back("worker");
  std::size_t position = 0;
  for (const Json& entry : table.array("chains")) {
    const StrictObject chain(entry, where + ": chain " + std::to_string(position++), known);
    schedule.chains.push_back({chain.integer32(merged ? "kv_head" : "head"), chain.integer32("kv_tile"),
                               merged ? merged_order(chain, problem) : integers(chain, "q_order")});
    if (placed) schedule.worker.push_back(chain.integer32("worker"));
  }
}

void read_dq_order(const StrictObject& table, const std::string& where, const BackwardProblem& problem,
                   BackwardSchedule& schedule) {
  if (table.is_null("dq_order")) {
    schedule.dkv_order = DkvOrder::kUnordered;
    return;
  }
  const auto q_tiles = static_cast<std::size_t>(problem.mask.q_tiles);
  const std::size_t cells = static_cast<std::size_t>(problem.heads) * q_tiles;
  const Json& entries = table.array("dq_order");
  if (entries.size() != cells) {
    throw InvalidParameter("dq_order", std::to_string(entries.size()) + " dQ tiles",
                           std::to_string(cells) + ", heads times Q tiles");
  }
  schedule.dq_order.resize(cells);
  std::vector<bool> seen(cells, false);
  std::size_t position = 0;
  for (const Json& entry : entries) {
    const StrictObject tile(entry, where + ": dq_order entry " + std::to_string(position++),
                            {"head", "q_tile", "kv_order"});
    const std::int32_t head = tile.integer32("head"), q = tile.integer32("q_tile");
    const std::string name = "head " + std::to_string(head) + ", Q tile " + std::to_string(q);
    const std::int32_t heads = problem.heads * problem.merged_heads, tiles = tiles_of_head(problem);
    if (head < 0 || head >= heads || q < 0 || q >= tiles) {
      throw InvalidParameter(
          "dq_order", name,
          "heads 0.." + std::to_string(heads - 1) + ", Q tiles 0.." + std::to_string(tiles - 1));
    }
    const std::size_t cell =
        static_cast<std::size_t>(head) * static_cast<std::size_t>(tiles) + static_cast<std::size_t>(q);
    if (seen[cell]) throw InvalidParameter("dq_order", name + " twice", "each dQ tile once");
    seen[cell] = true;
    schedule.dq_order[cell] = integers(tile, "kv_order");
  }
}

/// The mask of the first of several heads that stand one below the other.
BlockMask mask_of_head(const BackwardProblem& problem) {
  BlockMask mask = problem.mask;
  mask.q_tiles = tiles_of_head(problem);
  mask.work.resize(mask.work.size() / static_cast<std::size_t>(problem.merged_heads));
  return mask;
}

/// A table's heads become the KV heads of merged chains.
void merge_heads(BackwardProblem& problem) {
  const std::int64_t q_tiles = std::int64_t{problem.mask.q_tiles} * problem.heads_per_kv_head;
  if (problem.heads_per_kv_head < 2 || q_tiles > static_cast<std::int64_t>(kMaxTiles)) {
    throw InvalidParameter("heads_per_kv_head", std::to_string(problem.heads_per_kv_head),
                           "2 or more, and Q tiles of a group's heads of at most 65,536");
  }
  problem.merged_heads = problem.heads_per_kv_head;
  problem.heads_per_kv_head = 1;
  problem.heads /= problem.merged_heads;
  const MaskCells once = problem.mask.work;
  for (std::int32_t copy = 1; copy < problem.merged_heads; ++copy) problem.mask.work.append(once);
  problem.mask.q_tiles *= problem.merged_heads;
}

Json q_order_json(const BackwardProblem& problem, const ScheduledChain& chain) {
  if (problem.merged_heads == 1) return chain.q_order;
  Json order = Json::array();
  const std::int32_t tiles = tiles_of_head(problem);
  for (const std::int32_t q : chain.q_order)
    order.push_back({chain.head * problem.merged_heads + q / tiles, q % tiles});
  return order;
}

}  // namespace

BlockMask parse_block_mask(std::string_view text, const std::string& where) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  std::vector<std::string> rows;
  for (std::size_t start = 0; start < text.size() && rows.size() <= kMaxTiles;) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    rows.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return mask_of_rows(rows, where);
}

std::vector<std::string> block_mask_rows(const BlockMask& mask) {
  std::vector<std::string> rows;
  for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
    rows.emplace_back();
    for (std::int32_t kv = 0; kv < mask.kv_tiles; ++kv) rows.back() += mask_character(mask.at(q, kv));
  }
  return rows;
}

std::string to_json(const ScheduleTable& table) {
  const BackwardProblem& problem = table.problem;
  const BackwardSchedule& schedule = table.schedule;
  const auto lines = [](std::string& text, const char* key, std::size_t count, const auto& line) {
    text += ",\n\"" + std::string(key) + "\": [";
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\n  " : ",\n  ") + json_text(Json(line(i)));
    text += "\n]";
  };
  const bool merged = problem.merged_heads > 1;
  Json head = {{"schema", merged ? kMergedSchema : kSchema},
               {"version", version()},
               {"q_tiles", tiles_of_head(problem)},
               {"kv_tiles", problem.mask.kv_tiles},
               {"heads", problem.heads * problem.merged_heads},
               {"heads_per_kv_head", merged ? problem.merged_heads : problem.heads_per_kv_head},
               {"workers", problem.workers},
               {"dispatch", to_string(schedule.dispatch)}};
  std::string text = json_text(head);
  text.pop_back();
  const std::vector<std::string> rows = block_mask_rows(mask_of_head(problem));
  lines(text, "mask", rows.size(), [&](std::size_t row) { return Json(rows[row]); });
  lines(text, "chains", schedule.chains.size(), [&](std::size_t i) {
    const ScheduledChain& chain = schedule.chains[i];
    Json line = {{merged ? "kv_head" : "head", chain.head}, {"kv_tile", chain.kv_tile}};
    if (schedule.dispatch == Dispatch::kStatic) line["worker"] = schedule.worker[i];
    line["q_order"] = q_order_json(problem, chain);
    return line;
  });
  if (schedule.dq_order.empty()) {
    text += ",\n\"dq_order\": null";
  } else {
    const auto q_tiles = static_cast<std::size_t>(tiles_of_head(problem));
    lines(text, "dq_order", schedule.dq_order.size(), [&](std::size_t cell) {
      return Json{
          {"head", cell / q_tiles}, {"q_tile", cell % q_tiles}, {"kv_order", schedule.dq_order[cell]}};
    });
  }
  return text + "}\n";
}

ScheduleTable parse_schedule_table(std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where);
  const StrictObject head(document, where);
  const bool merged = head.text("schema") == kMergedSchema;
  if (!merged && head.text("schema") != kSchema)
    head.fail("schema", std::string(kSchema) + " or " + kMergedSchema);
  const StrictObject fields(document, where,
                            {"schema", "version", "q_tiles", "kv_tiles", "heads", "heads_per_kv_head",
                             "workers", "dispatch", "mask", "chains", "dq_order"});
  ScheduleTable table;
  table.problem.mask = read_mask(fields, where);
  table.problem.heads = fields.integer32("heads");
  table.problem.heads_per_kv_head = fields.integer32("heads_per_kv_head");
  table.problem.workers = fields.integer32("workers");
  require_valid(table.problem);
  if (merged) merge_heads(table.problem);
  const std::string dispatch = fields.text("dispatch");
  if (dispatch != "dynamic" && dispatch != "static")
    throw MalformedData(where, "dispatch '" + dispatch + "'", "'dynamic' or 'static'");
  table.schedule.dispatch = dispatch == "static" ? Dispatch::kStatic : Dispatch::kDynamic;
  read_chains(fields, where, table.problem, table.schedule);
  read_dq_order(fields, where, table.problem, table.schedule);
  require_valid(table.problem, table.schedule);
  return table;
}

}  // namespace natten_sim
