// Differences of two small results: documents, JSON Lines or tables.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

#include <natten_sim/io/json_text.hpp>

namespace natten_sim::fuzz::answers_diff {

enum class Kind { kDocument, kLines, kTable };

Json value(Decisions& bytes) {
  switch (bytes.below(5)) {
    case 0:
      return bytes.between(-3, 3);
    case 1:
      return 0.25 * static_cast<double>(bytes.between(-8, 8));
    case 2:
      return bytes.one_of({"", "a", "b c", "=1+1", "1"});
    case 3:
      return bytes.yes();
    default:
      return nullptr;
  }
}

Json row(Decisions& bytes) {
  Json fields = Json::object();
  if (bytes.yes()) fields["id"] = bytes.between(0, 3);
  for (std::int64_t i = bytes.below(4); i > 0; --i) fields[bytes.one_of({"x", "y", "version", "z"})] = value(bytes);
  return fields;
}

std::string file(Decisions& bytes, Kind kind) {
  std::string text = kind == Kind::kTable ? "id,x\n" : "";
  if (kind == Kind::kDocument) {
    Json rows = Json::array();
    for (std::int64_t i = bytes.below(4); i > 0; --i) rows.push_back(row(bytes));
    return json_text({{"schema", "natten-sim.count/1"}, {"rows", rows}, {"one", value(bytes)}});
  }
  for (std::int64_t i = bytes.between(2, 4); i > 0; --i) {
    if (kind == Kind::kTable) {
      text += std::to_string(bytes.between(0, 3)) + "," + std::to_string(bytes.between(0, 9)) + "\n";
    } else {
      text += json_text(row(bytes)) + "\n";
    }
  }
  return text;
}

void read(std::string_view input) {
  Decisions bytes(input);
  const Kind kind = bytes.one_of({Kind::kDocument, Kind::kLines, Kind::kTable});
  const MemoryFile a(file(bytes, kind)), b(file(bytes, kind));
  Json options = {{"files", {a.path(), b.path()}}};
  if (bytes.yes()) options["tolerance"] = bytes.one_of({"5%", "0.5", "2"});
  if (bytes.yes()) options["ignore"] = Json::array({"x"});
  if (!check_answers("diff", options)) refuse_input();
}

const Target kTarget("answers_diff", read);

}  // namespace natten_sim::fuzz::answers_diff
