// Files of every version of every format that users keep. Those in schemas/ stay as they are when a format
// changes: a file that was read once is read for ever, and one of a version to come is refused by its name.
#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace schemas_test {

using namespace natten_sim::test;
namespace fs = std::filesystem;

const fs::path kSchemas = fs::path(natten_sim::test::kSourceDir) / "tests/golden/schemas";

struct Format {
  std::string file;   ///< "presets-1": schema natten-sim.presets/1
  std::string line;   ///< FILE stands for its path, FOLDER for a folder that holds it alone
  std::string holds;  ///< what the answer says only if the file was read
};

const std::vector<Format> kFormats = {
    {"presets-1", "list presets --csv --preset-file FILE", "cosmos-predict1-7b"},
    {"devices-1", "list devices --device-file FILE", "h200"},
    {"kernel-times-1", "list kernels --costs FILE", "fa2"},
    {"schedule-costs-1", "schedule --q-tiles 4 --algorithm spt --costs FILE", "makespan"},
    {"schedule-table-1", "schedule --table FILE", "makespan"},
    {"schedule-table-2", "schedule --table FILE", "makespan"},
    {"search-checkpoint-1",
     "schedule --q-tiles 4 --mask causal --algorithm best --effort 3 --checkpoint FILE", "makespan"},
    {"msda-configs-1", "msda --workload FILE", "B1_640_d256_L4"},
    {"recording-1", "validate --recorded FOLDER", "reuse"},
    // Drawn against our times of the same problems: schemas/beside/tiles.json.
    {"sdpa-recording-1", "validate --recorded FOLDER --view heat-map", "128x128x1"},
};

natten_sim::test::Run run_with(const Format& format, const std::string& text) {
  const std::string folder = scratch_folder(), path = folder + "/" + format.file + ".json";
  write_text(path, text);
  if (format.file == "sdpa-recording-1")
    write_text(folder + "/tiles.json", read_text(kSchemas / "beside/tiles.json"));
  std::string line = format.line;
  if (const auto at = line.find("FILE"); at != std::string::npos) line.replace(at, 4, path);
  if (const auto at = line.find("FOLDER"); at != std::string::npos) line.replace(at, 6, folder);
  return run(line);
}

TEST_CASE("a file of each version of each format is read, and one of an unknown version is refused by name") {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(kSchemas)) files += entry.is_regular_file() ? 1u : 0u;
  CHECK(files == kFormats.size());
  for (const Format& format : kFormats) {
    INFO(format.file);
    const std::string text = read_text(kSchemas / (format.file + ".json"));
    std::string schema = "natten-sim." + format.file;
    schema[schema.rfind('-')] = '/';
    const std::size_t at = text.find(schema);
    REQUIRE(at != std::string::npos);
    const auto done = run_with(format, text);
    INFO(done.err);
    CHECK((done.exit_code == 0 || done.exit_code == 3));  // 3: a comparison out of tolerance
    CHECK(done.out.find(format.holds) != std::string::npos);

    std::string unknown = text;
    unknown.replace(at, schema.size(), schema.substr(0, schema.rfind('/')) + "/97");
    const auto refused = run_with(format, unknown);
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find(schema.substr(0, schema.rfind('/')) + "/97") != std::string::npos);
    CHECK(refused.err.find(schema) != std::string::npos);  // what is accepted
  }
}

}  // namespace schemas_test
