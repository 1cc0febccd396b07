#include <filesystem>
#include <fstream>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>

#include "catch.hpp"

namespace schedule_mask_text_test {

using namespace natten_sim;

template <typename Rule>
Rule rule_of(const std::string& text) {
  const auto parsed = parse_schedule_mask(text);
  const auto& mask = std::get<ScheduleMask>(parsed);
  CHECK(mask_text(mask) == text);
  return std::get<Rule>(mask.rule);
}

TEST_CASE("a mask as text names its rule and its lengths") {
  (void)rule_of<FullMask>("full");
  (void)rule_of<CausalMask>("causal");
  CHECK(rule_of<SlidingWindowMask>("window:3,0").left == 3);
  CHECK(rule_of<SlidingWindowMask>("window:3,0").right == 0);
  CHECK(rule_of<DocumentMask>("document:3,5,1").lengths == std::vector<std::int64_t>{3, 5, 1});
  const VarlenMask varlen = rule_of<VarlenMask>("varlen:window:4,0:128,64x256");
  CHECK(varlen.sequences == std::vector<VarlenSequence>{{128, 128}, {64, 256}});
  CHECK(std::get<SlidingWindowMask>(varlen.rule).left == 4);
  CHECK(std::holds_alternative<CausalMask>(rule_of<VarlenMask>("varlen:causal:5,3").rule));
  CHECK(std::holds_alternative<FullMask>(rule_of<VarlenMask>("varlen:5").rule));
  CHECK_THROWS_AS(parse_schedule_mask("varlen:triangle:5"), InvalidParameter);
  const GnaMask gna = rule_of<GnaMask>("gna:i=12x10,w=5x4,s=2x1,dilation=2x1,c=0x1,q-tile=3x2,kv-tile=2x3");
  CHECK(gna.layout == Extents{12, 10});
  CHECK(gna.window == Extents{5, 4});
  CHECK(gna.stride == Extents{2, 1});
  CHECK(gna.dilation == Extents{2, 1});
  CHECK(gna.causal == PerAxis<bool>{false, true});
  CHECK(gna.tiles->kv_tile == Extents{2, 3});
  CHECK(!rule_of<GnaMask>("gna:i=64").tiles);
}

TEST_CASE("rules joined by & and | are read as they are written, & first") {
  const JoinedMask mask = rule_of<JoinedMask>("document:3,5&causal|prefix:2|window:1,0&full");
  REQUIRE(mask.any.size() == 3);
  CHECK(mask.any[0].size() == 2);
  CHECK(std::holds_alternative<CausalMask>(mask.any[0][1]));
  CHECK(std::get<PrefixMask>(mask.any[1][0]).length == 2);
  CHECK(mask.any[2].size() == 2);
  CHECK(rule_of<JoinedMask>("prefix:7").any.size() == 1);
  CHECK(std::get<DilatedMask>(rule_of<JoinedMask>("window:8,8&dilated:4").any[0][1]).step == 4);
  CHECK(std::get<DilatedMask>(rule_of<JoinedMask>("dilated:3").any[0][0]).step == 3);
  for (const char* text : {"causal&", "&causal", "causal||full", "causal&varlen:3", "gna:i=4|full", "prefix:0", "prefix:x", "dilated:0", "dilated:"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_schedule_mask(text), InvalidParameter);
  }
}

TEST_CASE("a mask made in code has the text of its rule, and a long key is written short") {
  CHECK(mask_text({}) == "full");
  CHECK(mask_text({CausalMask{}}) == "causal");
  CHECK(mask_text(std::get<ScheduleMask>(parse_schedule_mask("gna:input=64,window=8"))) == "gna:i=64,w=8");
  CHECK(mask_text({BlockMask{4, 6, {}}}) == "a block mask of 4x6 tiles");
  CHECK(mask_text({BlockMask{4, 6, {}}, "mask.txt"}) == "mask.txt");
}

TEST_CASE("any other text is the name of a file that exists, or a misspelt rule") {
  CHECK(std::get<MaskFile>(parse_schedule_mask("-")).path == "-");
  const auto path = std::filesystem::temp_directory_path() / "natten-sim-mask-text-test";
  std::ofstream(path) << "#\n";
  CHECK(std::get<MaskFile>(parse_schedule_mask(path.string())).path == path.string());
  std::filesystem::remove(path);
  try {
    (void)parse_schedule_mask("casual");
    FAIL("a name that is neither rule nor file was accepted");
  } catch (const UnknownName& error) {
    CHECK(error.hint() == "causal");
  }
}

TEST_CASE("damaged masks are refused by the part at fault") {
  for (const char* bad : {"window:1", "window:1,x", "window:-1,0", "window:1,2,3", "document:", "document:0",
                          "gna:w=3", "gna:i=4,i=5", "gna:i=4x", "gna:i=4,q-tile=2", "gna:i=4,c=2"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_schedule_mask(bad), InvalidParameter);
  }
  CHECK_THROWS_AS(parse_schedule_mask("gna:i=4,tile=2"), UnknownName);
}

}  // namespace schedule_mask_text_test
