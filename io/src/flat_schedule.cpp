#include <numeric>

#include <natten_sim/io/flat_schedule.hpp>

namespace natten_sim {
namespace {

/// Chains with tasks, worker by worker in launch order; dynamic: in launch order.
std::vector<std::size_t> chain_order(const BackwardSchedule& schedule, std::int32_t workers,
                                     std::vector<std::int32_t>& worker_begin) {
  std::vector<std::vector<std::size_t>> lists(
      schedule.dispatch == Dispatch::kStatic ? static_cast<std::size_t>(workers) : 1);
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    if (schedule.chains[i].q_order.empty()) continue;
    lists[schedule.dispatch == Dispatch::kStatic ? static_cast<std::size_t>(schedule.worker[i]) : 0]
        .push_back(i);
  }
  std::vector<std::size_t> order;
  worker_begin = {0};
  for (const std::vector<std::size_t>& list : lists) {
    order.insert(order.end(), list.begin(), list.end());
    worker_begin.push_back(static_cast<std::int32_t>(order.size()));
  }
  return order;
}

/// For each head * kv_tiles + KV tile, a rank for each Q tile that it attends to, by Q tile.
std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> ranks_of(const ScheduleTable& table) {
  const auto q_tiles = static_cast<std::size_t>(table.problem.mask.q_tiles);
  const auto kv_tiles = static_cast<std::size_t>(table.problem.mask.kv_tiles);
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> ranks(
      static_cast<std::size_t>(table.problem.heads) * kv_tiles);
  for (std::size_t cell = 0; cell < table.schedule.dq_order.size(); ++cell) {
    std::int32_t rank = 0;
    for (const std::int32_t kv : table.schedule.dq_order[cell]) {
      ranks[cell / q_tiles * kv_tiles + static_cast<std::size_t>(kv)].emplace_back(
          static_cast<std::int32_t>(cell % q_tiles), rank++);
    }
  }
  return ranks;
}

/// The arrays by their names, in the order of the binary.
template <typename Visit>
void for_each_array(const FlatSchedule& flat, bool merged, const Visit& visit) {
  const auto values = [](const auto& items, auto member) {
    std::vector<std::int32_t> list;
    for (const auto& item : items) list.push_back(item.*member);
    return list;
  };
  visit("worker_begin", flat.worker_begin);
  visit("chain_head", values(flat.chains, &FlatSchedule::Chain::head));
  visit("chain_kv_tile", values(flat.chains, &FlatSchedule::Chain::kv_tile));
  visit("task_begin", flat.task_begin);
  visit("task_q_tile", values(flat.tasks, &FlatSchedule::Task::q_tile));
  visit("task_rank", values(flat.tasks, &FlatSchedule::Task::rank));
  if (merged) visit("task_head", values(flat.tasks, &FlatSchedule::Task::head));
}

void put_integer(std::string& bytes, std::int32_t value) {
  const auto bits = static_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xff);
}

}  // namespace

FlatSchedule flatten(const ScheduleTable& table) {
  FlatSchedule flat;
  const auto ranks = ranks_of(table);
  const bool ordered = !table.schedule.dq_order.empty();
  std::vector<std::int32_t> rank_of(static_cast<std::size_t>(table.problem.mask.q_tiles), -1);
  flat.task_begin = {0};
  for (const std::size_t at : chain_order(table.schedule, table.problem.workers, flat.worker_begin)) {
    const ScheduledChain& chain = table.schedule.chains[at];
    const auto id =
        static_cast<std::size_t>(chain.head) * static_cast<std::size_t>(table.problem.mask.kv_tiles) +
        static_cast<std::size_t>(chain.kv_tile);
    if (ordered) {
      for (const auto& [q, rank] : ranks[id]) rank_of[static_cast<std::size_t>(q)] = rank;
    }
    flat.chains.push_back({chain.head, chain.kv_tile});
    const std::int32_t merged = table.problem.merged_heads, tiles = table.problem.mask.q_tiles / merged;
    for (const std::int32_t q : chain.q_order) {
      flat.tasks.push_back(
          {q % tiles, rank_of[static_cast<std::size_t>(q)], chain.head * merged + q / tiles});
    }
    flat.task_begin.push_back(static_cast<std::int32_t>(flat.tasks.size()));
  }
  return flat;
}

std::string schedule_header(const ScheduleTable& table) {
  const FlatSchedule flat = flatten(table);
  const BackwardProblem& problem = table.problem;
  const bool is_static = table.schedule.dispatch == Dispatch::kStatic, merged = problem.merged_heads > 1;
  const auto constant = [](const char* name, std::size_t value) {
    return "constexpr int " + std::string(name) + " = " + std::to_string(value) + ";\n";
  };
  std::string text =
      "// A schedule of a deterministic attention backward pass, written by natten-sim.\n"
      "// Chain c: head chain_head[c], KV tile chain_kv_tile[c], tasks task_begin[c] .. task_begin[c + 1] - "
      "1.\n"
      "// A task adds to dQ of (head, task_q_tile) when task_rank parts were added before; rank -1: in no "
      "order.\n";
  if (merged) text += "// A chain's head is a KV head; task_head is the query head of a task.\n";
  text += is_static
              ? "// Worker w runs the chains worker_begin[w] .. worker_begin[w + 1] - 1, in that order.\n"
              : "// A free worker takes the next chain.\n";
  text +=
      "#pragma once\n\n#ifndef NATTEN_SIM_SCHEDULE_DATA\n#define NATTEN_SIM_SCHEDULE_DATA static const\n"
      "#endif\n\nnamespace natten_sim_schedule {\n\n";
  text += constant("kQTiles", static_cast<std::size_t>(problem.mask.q_tiles / problem.merged_heads));
  text += constant("kKvTiles", static_cast<std::size_t>(problem.mask.kv_tiles));
  text += constant("kHeads", static_cast<std::size_t>(problem.heads * problem.merged_heads));
  text += constant("kHeadsPerKvHead",
                   static_cast<std::size_t>(merged ? problem.merged_heads : problem.heads_per_kv_head));
  text += constant("kWorkers", static_cast<std::size_t>(problem.workers));
  text += constant("kChains", flat.chains.size()) + constant("kTasks", flat.tasks.size());
  text += "constexpr bool kStatic = " + std::string(is_static ? "true" : "false") + ";\n";
  for_each_array(flat, merged, [&](const char* name, const std::vector<std::int32_t>& values) {
    text += "\nNATTEN_SIM_SCHEDULE_DATA int " + std::string(name) + "[] = {";
    constexpr std::size_t kPerLine = 20;
    for (std::size_t i = 0; i < values.size(); ++i)
      text += (i % kPerLine == 0 ? "\n    " : " ") + std::to_string(values[i]) + ",";
    text += values.empty() ? "0};\n" : "\n};\n";
  });
  return text + "\n}  // namespace natten_sim_schedule\n";
}

std::string schedule_binary(const ScheduleTable& table) {
  const FlatSchedule flat = flatten(table);
  const BackwardProblem& problem = table.problem;
  const bool merged = problem.merged_heads > 1;
  std::string bytes(merged ? "NSCHED\2\0" : "NSCHED\1\0", 8);
  for (const std::int32_t value :
       {problem.mask.q_tiles / problem.merged_heads, problem.mask.kv_tiles,
        problem.heads * problem.merged_heads, merged ? problem.merged_heads : problem.heads_per_kv_head,
        problem.workers, table.schedule.dispatch == Dispatch::kStatic ? 1 : 0,
        table.schedule.dq_order.empty() ? 0 : 1, static_cast<std::int32_t>(flat.worker_begin.size()),
        static_cast<std::int32_t>(flat.chains.size()), static_cast<std::int32_t>(flat.tasks.size())})
    put_integer(bytes, value);
  for_each_array(flat, merged, [&](const char*, const std::vector<std::int32_t>& values) {
    for (const std::int32_t value : values) put_integer(bytes, value);
  });
  return bytes;
}

}  // namespace natten_sim
