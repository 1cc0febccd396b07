#include <natten_sim/io/search_checkpoint.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim {
namespace {

constexpr const char* kCheckpointSchema = "natten-sim.search-checkpoint/1";

}  // namespace

std::string to_json(const SearchCheckpoint& checkpoint) {
  std::string text =
      json_text(StrictObject::Json{{"schema", kCheckpointSchema}, {"iterations", checkpoint.iterations}});
  text.back() = ',';
  return text + "\n\"best\": " + to_json(checkpoint.best) + "}\n";
}

SearchCheckpoint parse_search_checkpoint(std::string_view json, const std::string& where) {
  const StrictObject::Json document = parse_strict(json, where, kCheckpointSchema);
  const StrictObject fields(document, where, {"schema", "iterations", "best"});
  SearchCheckpoint checkpoint;
  checkpoint.iterations = fields.integer("iterations", {0, kMaxSearchIterations});
  checkpoint.best = parse_schedule_table(json_text(fields.at("best")), where + ".best");
  return checkpoint;
}

}  // namespace natten_sim
