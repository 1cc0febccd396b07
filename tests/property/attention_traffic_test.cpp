// Sectors of split-Q attention against published counters and against marking sectors one by one.
#include <algorithm>
#include <set>
#include <utility>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>

#include "catch.hpp"

namespace attention_traffic_test {

using namespace natten_sim;

SplitQProblem dense_1d(std::int64_t length, std::int64_t tile, bool causal = false) {
  return {.mask = make_mask({length}, {length}, {}, {}, {causal}), .tiles = {{tile}, {tile}}, .sizes = {}};
}

TEST_CASE("the sectors of the Sawtooth paper's table 2 are exact") {
  // Non-persistent kernel, D = 64, fp16, T = 80: L1 sectors and L2 sectors from Tex.
  CHECK(attention_traffic(dense_1d(32768, 80)).sectors.total == 107'741'184);
  CHECK(attention_traffic(dense_1d(131072, 80)).sectors.total == 1'719'664'640);
}

TEST_CASE("dense square tiles follow 2*S*r + 2*ceil(S/T)*S*r") {
  for (const std::int64_t length : {1, 79, 80, 81, 4096, 100'000}) {
    for (const std::int64_t tile : {1, 64, 80, 128}) {
      const std::int64_t r = 64 * 2 / 32;
      CHECK(attention_traffic(dense_1d(length, tile)).sectors.total ==
            2 * length * r + 2 * ((length + tile - 1) / tile) * length * r);
    }
  }
}

TEST_CASE("cold bytes are the numerator of TiledAttention's bandwidth proxy") {
  SplitQProblem problem = dense_1d(4096, 64);
  problem.sizes = {.batch = 2, .heads = 8, .heads_kv = 8, .head_dim = 128, .head_dim_value = 128};
  CHECK(attention_traffic(problem).cold.total * 32 == 4 * 2 * 8 * 4096 * 128 * 2);  // 4*B*H*S*D*bytes
}

TEST_CASE("the paper's causal approximation is K and V with whole diagonal tiles, and lacks Q and O") {
  // Exact, S = m*T: 2*S*r for Q and O, and K and V of m*(m+1)/2 tiles of T rows each.
  const std::int64_t s = 32800, t = 80, r = 4, m = s / t;
  const std::int64_t exact = attention_traffic(dense_1d(s, t, true)).sectors.total;
  CHECK(exact == 2 * s * r + 2 * (m * (m + 1) / 2) * t * r);
  // The paper: 8*S*(S/(2T) + 1/2) = r*S*(S/T + 1), which is K and V; Q and O are 2*S*r = 8*S more.
  const double approximation = 8.0 * static_cast<double>(s) * (static_cast<double>(s) / (2.0 * t) + 0.5);
  CHECK(static_cast<double>(exact) - approximation == 8.0 * static_cast<double>(s));
}

TEST_CASE(
    "keys that are not as many as queries: sectors as a loop over tiles counts them, in models and sim "
    "alike") {
  for (const bool causal : {false, true}) {
    for (const std::int64_t queries : {1, 63, 64, 200}) {
      for (const std::int64_t keys : {200, 257, 1000}) {
        for (const auto& [q_tile, kv_tile] :
             {std::pair<std::int64_t, std::int64_t>{64, 64}, {32, 48}, {128, 16}}) {
          SplitQProblem problem{.mask = make_mask({queries}, {queries}, {}, {}, {causal}),
                                .tiles = {{q_tile}, {kv_tile}}};
          problem.keys = keys;
          const std::int64_t r = 64 * 2 / 32;
          std::int64_t rows = 0;
          for (std::int64_t first = 0; first < queries; first += q_tile) {
            const std::int64_t last = std::min(first + q_tile, queries) - 1;
            // The last query attends to the last key.
            const std::int64_t attended = causal ? keys - (queries - 1 - last) : keys;
            for (std::int64_t tile = 0; tile * kv_tile < attended; ++tile)
              rows += std::min((tile + 1) * kv_tile, keys) - tile * kv_tile;
          }
          const AttentionTraffic traffic = attention_traffic(problem);
          CHECK(traffic.sectors.k == rows * r);
          CHECK(traffic.sectors.q == queries * r);
          CHECK(traffic.cold.v == keys * r);
          const AttentionWork work(problem, {});
          std::int64_t bytes = 0;
          for (std::int64_t i = 0; i < work.items(); ++i) {
            const AttentionWork::Item item = work.item(i);
            for (std::int64_t step = 0; step < item.kv_tiles; ++step)
              bytes += work.key_value(item, 0, step).bytes;
          }
          CHECK(bytes == 2 * rows * r * 32);
        }
      }
    }
  }
  SplitQProblem fewer{.mask = make_mask({64}, {64}, {}, {}, {true}), .tiles = {{64}, {64}}};
  fewer.keys = 63;
  CHECK_THROWS_AS(attention_traffic(fewer), InvalidParameter);
  SplitQProblem window{.mask = make_mask({64}, {16}, {}, {}, {false}), .tiles = {{64}, {64}}};
  window.keys = 128;
  CHECK_THROWS_AS(attention_traffic(window), InvalidParameter);
}

TEST_CASE("GQA loads K and V once a Q head and keeps them once a KV head") {
  SplitQProblem problem = dense_1d(1000, 96);
  problem.sizes.heads = 6;
  problem.sizes.heads_kv = 2;
  const AttentionTraffic traffic = attention_traffic(problem);
  CHECK(traffic.sectors.k == 6 * 11 * 1000 * 4);
  CHECK(traffic.cold.k == 2 * 1000 * 4);
  CHECK(traffic.cold.q == 6 * 1000 * 4);
  CHECK(traffic.cold.total == (6 + 2 + 2 + 6) * 1000 * 4);
}

/// Marks the sectors that each tile touches, token by token.
SectorCounts marked_sectors(const SplitQProblem& problem) {
  const AxisMask& axis = problem.mask[0];
  const std::int64_t q_tile = problem.tiles.q_tile[0], kv_tile = problem.tiles.kv_tile[0];
  const OperandSizes& sizes = problem.sizes;
  const auto touch = [&](std::int64_t begin, std::int64_t end, std::int64_t row_bytes) {
    std::set<std::int64_t> sectors;
    for (std::int64_t byte = begin * row_bytes; byte < end * row_bytes; ++byte)
      sectors.insert(byte / sizes.sector_bytes);
    return static_cast<std::int64_t>(sectors.size());
  };
  SectorCounts counts;
  for (std::int64_t q = 0; q < axis.length; q += q_tile) {
    const std::int64_t q_end = std::min(q + q_tile, axis.length);
    counts.q += touch(q, q_end, sizes.key_row_bytes());
    counts.o += touch(q, q_end, sizes.value_row_bytes());
    for (std::int64_t kv = 0; kv < axis.length; kv += kv_tile) {
      const std::int64_t kv_end = std::min(kv + kv_tile, axis.length);
      bool visited = false;
      for (std::int64_t i = q; i < q_end; ++i) {
        const TokenRange range = attended_range(residue_class(axis, 0), i);
        visited = visited || (range.begin < kv_end && kv < range.end);
      }
      if (!visited) continue;
      counts.k += touch(kv, kv_end, sizes.key_row_bytes());
      counts.v += touch(kv, kv_end, sizes.value_row_bytes());
    }
  }
  const std::int64_t heads = sizes.batch * sizes.heads;
  counts = {counts.q * heads, counts.k * heads, counts.v * heads, counts.o * heads, 0};
  counts.total = counts.q + counts.k + counts.v + counts.o;
  return counts;
}

TEST_CASE("sectors equal marked sectors for every small mask, tile, row and sector size") {
  int problems = 0;
  for (const std::int64_t length : {1, 7, 12, 17}) {
    for (const std::int64_t window : {std::int64_t{1}, (length + 1) / 2, length}) {
      for (const std::int64_t q_tile : {1, 3, 4, 20}) {
        for (const std::int64_t kv_tile : {1, 2, 5}) {
          for (const std::int64_t dim : {3, 8, 20}) {
            for (const bool causal : {false, true}) {
              SplitQProblem problem{.mask = make_mask({length}, {window}, {(window + 1) / 2}, {}, {causal}),
                                    .tiles = {{q_tile}, {kv_tile}},
                                    .sizes = {.batch = 2,
                                              .heads = 2,
                                              .heads_kv = 1,
                                              .head_dim = dim,
                                              .head_dim_value = 5,
                                              .element_bytes = dim == 3 ? 1 : 2,
                                              .sector_bytes = dim == 20 ? 12 : 16}};
              INFO(length << " w" << window << " q" << q_tile << " kv" << kv_tile << " d" << dim << " c"
                          << causal);
              CHECK(attention_traffic(problem).sectors == marked_sectors(problem));
              ++problems;
            }
          }
        }
      }
    }
  }
  CHECK(problems > 500);
}

TEST_CASE("traffic that does not fit 63 bits is an error, and so are rows that several axes cannot take") {
  SplitQProblem problem = dense_1d(std::int64_t{1} << 40, 1);
  CHECK_THROWS_AS(attention_traffic(problem), OverflowError);
  SplitQProblem box{.mask = make_mask({8, 8}, {8, 8}), .tiles = {{4, 4}, {4, 4}}, .sizes = {}};
  CHECK(attention_traffic(box).sectors.k == 4 * 64 * 4);
  box.sizes.head_dim = 24;
  CHECK_THROWS_AS(attention_traffic(box), InvalidParameter);
  SplitQProblem dilated = dense_1d(64, 8);
  dilated.mask[0] = {.length = 64, .window = 32, .dilation = 2};
  CHECK_THROWS_AS(attention_traffic(dilated), InvalidParameter);
  SplitQProblem heads = dense_1d(64, 8);
  heads.sizes.heads = 6;
  heads.sizes.heads_kv = 4;
  CHECK_THROWS_AS(attention_traffic(heads), InvalidParameter);
}

TEST_CASE("element sizes are known by name, and a misspelt name gets a hint") {
  CHECK(element_bytes(Dtype::kBf16) == 2);
  CHECK(element_bytes(Dtype::kFp32) == 4);
  CHECK(element_bytes(Dtype::kE4m3) == 1);
  try {
    (void)parse_name<Dtype>("bf61");
    FAIL("accepted");
  } catch (const UnknownName& error) {
    CHECK(error.hint() == "bf16");
  }
}

TEST_CASE("non-compulsory misses begin when K, V and two waves of Q and O exceed the capacity") {
  SplitQProblem problem = dense_1d(1 << 20, 128);
  const std::int64_t row = 2 * 64 * 2, capacity = 30'723'277, workers = 132;
  const std::int64_t first = *first_noncompulsory_seqlen(problem, workers, capacity);
  CHECK(first * row + workers * 128 * row > capacity);
  CHECK((first - 1) * row + workers * 128 * row <= capacity);
  // One step before it the closed form has none, there it has.
  for (const std::int64_t length : {first - 1, first}) {
    SplitQProblem at = dense_1d((length + 127) / 128 * 128, 128);
    at.mask = make_mask({length}, {length});
    const auto reuse = lockstep_reuse(at, KvOrder::kCyclic, workers, capacity);
    REQUIRE(reuse.has_value());
    // Only the last wave is smaller than `workers`; the others have all the bytes between them.
    CHECK((reuse->miss_sectors > attention_traffic(at).cold.total) == (length == first));
  }
  CHECK(first_noncompulsory_seqlen(problem, workers, std::int64_t{1} << 49) == std::nullopt);
  problem.mask = make_mask({1 << 20}, {4096});
  CHECK(first_noncompulsory_seqlen(problem, workers, capacity) == std::nullopt);
}

TEST_CASE("the first length with non-compulsory misses is exact where the last wave is not full") {
  // 264 slots of 128 queries, head dim 128: the threshold of full waves lies thousands of tokens lower.
  SplitQProblem problem = dense_1d(16384, 128);
  problem.sizes.head_dim = problem.sizes.head_dim_value = 128;
  const std::int64_t capacity = 30'723'277, workers = 264;
  const std::int64_t first = *first_noncompulsory_seqlen(problem, workers, capacity);
  const auto beyond_cold = [&](std::int64_t length) {
    problem.mask = make_mask({length}, {length});
    return lockstep_reuse(problem, KvOrder::kCyclic, workers, capacity)->miss_sectors -
           attention_traffic(problem).cold.total;
  };
  for (std::int64_t length = first - 3000; length < first; length += 7) CHECK(beyond_cold(length) == 0);
  CHECK(beyond_cold(first - 1) == 0);
  CHECK(beyond_cold(first) > 0);
}

TEST_CASE("the first length of several heads is that of whole waves, however long") {
  // Rows of K and V of 256 bytes: 2^40 of them and a wave of one more exceed 2^48 bytes.
  SplitQProblem problem = dense_1d(1024, 1);
  problem.sizes.heads = problem.sizes.heads_kv = 2;
  CHECK(first_noncompulsory_seqlen(problem, 1, std::int64_t{1} << 48) == std::int64_t{1} << 40);
}

TEST_CASE("the first length is told where pairs of its tokens are more than 63 bits count") {
  const SplitQProblem problem = dense_1d(1024, 128);
  const std::int64_t row = 2 * 64 * 2, capacity = std::int64_t{1} << 46, workers = 132;
  const std::int64_t by_capacity = (capacity - workers * 128 * row) / row + 1;
  CHECK(first_noncompulsory_seqlen(problem, workers, capacity) == by_capacity);
}

TEST_CASE("no closed form where a row of keys or one of values ends inside a sector") {
  // Rows of 2 bytes an element: 64 elements are four sectors of 32 bytes, 40 are two and a half.
  for (const auto& [key, value] : {std::pair<std::int64_t, std::int64_t>{64, 40}, {40, 64}, {64, 64}}) {
    SplitQProblem problem = dense_1d(1024, 128);
    problem.sizes.head_dim = key, problem.sizes.head_dim_value = value;
    CAPTURE(key, value);
    CHECK(lockstep_reuse(problem, KvOrder::kCyclic, 4, 400'000).has_value() == (key == 64 && value == 64));
  }
}

TEST_CASE("no closed form where other batches lie between the visits to a shared KV head") {
  SplitQProblem problem = dense_1d(1024, 128);
  problem.sizes.heads = 2;
  problem.sizes.heads_kv = 1;
  CHECK(lockstep_reuse(problem, KvOrder::kCyclic, 4, 400'000));
  problem.sizes.batch = 2;
  CHECK(!lockstep_reuse(problem, KvOrder::kCyclic, 4, 400'000));
}

}  // namespace attention_traffic_test
