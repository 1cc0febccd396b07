#include <natten_sim/core/error.hpp>
#include <natten_sim/core/index_distribution.hpp>

#include "catch.hpp"

namespace index_distribution_test {

using namespace natten_sim;

TEST_CASE("distributions read back as they are written") {
  for (const IndexDistribution& one :
       {IndexDistribution(UniformRows{}), IndexDistribution(ZipfRows{1.5}), IndexDistribution(ZipfRows{0}),
        IndexDistribution(ZipfRows{0.1}), IndexDistribution(HotRows{4})})
    CHECK(parse_index_distribution(to_string(one)) == one);
  CHECK(to_string(IndexDistribution(ZipfRows{1.5})) == "zipf:1.5");
  CHECK(to_string(IndexDistribution(HotRows{4})) == "hot:4");
  for (const char* text : {"", "zipf", "zipf:", "zipf:-1", "zipf:17", "zipf:nan", "zipf:1x", "hot:0",
                           "hot:1.5", "hot:99999999999999999999", "uniform:1", "gauss", "file:x"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_index_distribution(text), InvalidParameter);
  }
}

}  // namespace index_distribution_test
