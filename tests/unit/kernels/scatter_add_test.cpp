#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/scatter_add/scatter_add.hpp>

#include "catch.hpp"

namespace scatter_add_test {

using namespace natten_sim;
using namespace natten_sim::kernels::scatter_add;

TEST_CASE("the oracle of a scatter-add adds every row where its index says") {
  const Problem problem{3, 2, 2, Dtype::kFp32};
  CHECK(oracle(problem, {1, 0, 1}, {1, 2, 10, 20, 100, 200}, {0.5, 0, 0, 0}) ==
        std::vector<double>{10.5, 20, 101, 202});
}

TEST_CASE("a lane adds as many elements as its instruction has bytes for") {
  const auto lane = [](Path path, Dtype dtype) {
    return lane_elements({.updates = 1, .rows = 1, .width = 64, .dtype = dtype, .path = path});
  };
  CHECK(lane(Path::kScalar, Dtype::kBf16) == 1);
  CHECK(lane(Path::kRed4, Dtype::kBf16) == 2);
  CHECK(lane(Path::kRed4, Dtype::kFp32) == 1);
  CHECK(lane(Path::kRed16, Dtype::kFp16) == 8);
  CHECK(lane(Path::kRed16, Dtype::kFp32) == 4);
  CHECK(lane(Path::kCas, Dtype::kBf16) == 2);
}

TEST_CASE("a scatter-add refuses widths, types and layouts that its path does not take") {
  Problem problem{10, 10, 12, Dtype::kBf16, Path::kRed16};
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);  // 12 is no multiple of 8
  problem.width = 16;
  CHECK_NOTHROW(require_valid(problem));
  problem.index = IndexLayout::kElement;
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
  problem.path = Path::kScalar;
  CHECK_NOTHROW(require_valid(problem));
  problem.dtype = Dtype::kE4m3;
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
}

}  // namespace scatter_add_test
