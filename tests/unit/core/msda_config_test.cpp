#include <natten_sim/core/error.hpp>
#include <natten_sim/core/msda_config.hpp>

#include "catch.hpp"

namespace msda_config_test {

using namespace natten_sim;

TEST_CASE("a name that spells a shape is a configuration") {
  const MsdaConfig decoder = *msda_config_of_shape("B3_640x960_d256_L3_h8_p6_q900");
  CHECK(decoder.batch == 3);
  CHECK(decoder.height == 640);
  CHECK(decoder.width == 960);
  CHECK(decoder.channels == 256);
  CHECK(decoder.strides == std::vector<std::int64_t>{8, 16, 32});
  CHECK(decoder.heads == 8);
  CHECK(decoder.points == 6);
  CHECK(decoder.queries == 900);
  const MsdaConfig encoder = *msda_config_of_shape("B1_256x256_d64_L5_h4_p1_enc");
  CHECK(encoder.encoder());
  CHECK(encoder.strides == std::vector<std::int64_t>{4, 8, 16, 32, 64});
}

TEST_CASE("other names spell nothing, and a shape that cannot be is refused") {
  for (const char* name :
       {"B4_800x1333_d256_L4", "B3_640x960_d256_L3_h8_p6_q0", "B3_640x960_d256_L3_h8_p6_q9x",
        "B3_640_d256_L3_h8_p6_q9", "B-3_640x960_d256_L3_h8_p6_q9", ""})
    CHECK_FALSE(msda_config_of_shape(name).has_value());
  CHECK_THROWS_AS(msda_config_of_shape("B1_64x64_d256_L5_h7_p4_q9"), InvalidParameter);  // 256 over 7 heads
  CHECK_THROWS_AS(msda_config_of_shape("B1_64x64_d256_L9_h8_p4_q9"), InvalidParameter);
}

}  // namespace msda_config_test
