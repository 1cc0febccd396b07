#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/token_permutation.hpp>

#include "catch.hpp"

namespace token_permutation_test {

using namespace natten_sim;

TEST_CASE("token permutation pads every tensor to whole tiles and copies it once") {
  // Hunyuan Video on a B200: 30 frames are padded to 32 for Q tiles of 4 frames, and fit KV tiles of 2.
  const NeighborhoodMask mask = make_mask({30, 48, 80}, {18, 24, 24});
  const OperandSizes sizes{.heads = 24, .heads_kv = 24, .head_dim = 128, .head_dim_value = 128};
  const TokenPermutation copied =
      token_permutation(mask, NattenBackend::kBlackwellFna, {{4, 8, 8}, {2, 8, 8}}, Walk::kForward, sizes);
  const std::int64_t tokens = 30 * 48 * 80, padded = 32 * 48 * 80, row = 24 * 128 * 2;
  REQUIRE(copied.copies.size() == 5);
  REQUIRE(copied.copies[0].padded_tokens == padded);
  REQUIRE(copied.copies[0].bytes_read == tokens * row);
  REQUIRE(copied.copies[0].bytes_written == padded * row);
  REQUIRE(copied.copies[1].padded_tokens == tokens);
  REQUIRE(copied.copies[3].bytes_written == tokens * row);  // O comes back without padding
  REQUIRE(copied.copies[4].bytes_written == tokens * 24 * 4);
  REQUIRE(copied.bytes == (7 * tokens + padded) * row + 2 * tokens * 24 * 4);
}

TEST_CASE("token permutation pads every dilation group") {
  // 33 tokens in two groups take two tiles of 16 each: 64 tokens.
  const NeighborhoodMask mask = make_mask({33}, {8}, {}, {2});
  const OperandSizes sizes{.head_dim = 1, .head_dim_value = 1, .element_bytes = 1};
  const TokenPermutation copied =
      token_permutation(mask, NattenBackend::kHopperFna, {{16}, {16}}, Walk::kBackward, sizes);
  REQUIRE(copied.copies.size() == 9);
  for (const PermutedTensor& tensor : copied.copies) REQUIRE(tensor.padded_tokens == 64);
}

TEST_CASE("both passes copy what they read into tiles, and results back") {
  // 33 tokens in two groups: Q tiles of 16 pad them to 64, KV tiles of 4 to 40. Rows of 3, 5 and 4 bytes.
  struct Copy {
    std::string name;
    bool into_tiles;
    std::int64_t padded, row;
  };
  const auto check = [](Walk pass, const std::vector<Copy>& expected) {
    const OperandSizes sizes{.head_dim = 3, .head_dim_value = 5, .element_bytes = 1};
    const TokenPermutation copied =
        token_permutation(make_mask({33}, {8}, {}, {2}), NattenBackend::kHopperFna, {{16}, {4}}, pass, sizes);
    REQUIRE(copied.copies.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Copy& copy = expected[i];
      INFO(copy.name);
      CHECK(copied.copies[i].name == copy.name);
      CHECK(copied.copies[i].padded_tokens == copy.padded);
      CHECK(copied.copies[i].bytes_read == 33 * copy.row);
      CHECK(copied.copies[i].bytes_written == (copy.into_tiles ? copy.padded : 33) * copy.row);
    }
  };
  check(Walk::kForward, {{"q", true, 64, 3},
                         {"k", true, 40, 3},
                         {"v", true, 40, 5},
                         {"o", false, 64, 5},
                         {"lse", false, 64, 4}});
  check(Walk::kBackward, {{"do", true, 64, 5},
                          {"q", true, 64, 3},
                          {"o", true, 64, 5},
                          {"lse", true, 64, 4},
                          {"k", true, 40, 3},
                          {"v", true, 40, 5},
                          {"dq", false, 64, 3},
                          {"dk", false, 40, 3},
                          {"dv", false, 40, 5}});
}

TEST_CASE("hopper-fna copies keys and values of all heads, the others those of their own") {
  const NeighborhoodMask mask = make_mask({128}, {64});
  const OperandSizes sizes{.heads = 8, .heads_kv = 2};
  const auto key_bytes = [&](NattenBackend backend) {
    return token_permutation(mask, backend, {{64}, {128}}, Walk::kForward, sizes).copies[1].bytes_read;
  };
  REQUIRE(key_bytes(NattenBackend::kHopperFna) == 4 * key_bytes(NattenBackend::kBlackwellFna));
  REQUIRE(key_bytes(NattenBackend::kFlexFna) == key_bytes(NattenBackend::kBlackwellFna));
}

TEST_CASE("K and V are repeated for kernels without grouped heads, their gradients summed") {
  // 128 keys, 2 batch elements, 2 of 8 heads, rows of 64 * 2 bytes.
  const OperandSizes sizes{.batch = 2, .heads = 8, .heads_kv = 2, .head_dim = 64, .head_dim_value = 64};
  const std::int64_t of_head = 128 * 2 * 64 * 2;
  for (const NattenBackend backend : {NattenBackend::kHopperFna, NattenBackend::kCutlassFna}) {
    const auto forward = kv_repetition(128, backend, Walk::kForward, sizes);
    REQUIRE(forward.size() == 2);
    REQUIRE(forward[0].bytes_read == 2 * of_head);
    REQUIRE(forward[1].bytes_written == 8 * of_head);
    const auto backward = kv_repetition(128, backend, Walk::kBackward, sizes);
    REQUIRE(backward[0].name == std::string("dk"));
    REQUIRE(backward[0].bytes_read == 8 * of_head);
    REQUIRE(backward[1].bytes_written == 2 * of_head);
  }
  REQUIRE(kv_repetition(128, NattenBackend::kBlackwellFna, Walk::kForward, sizes).empty());
  REQUIRE(kv_repetition(128, NattenBackend::kFlexFna, Walk::kForward, sizes).empty());
  REQUIRE(kv_repetition(128, NattenBackend::kHopperFna, Walk::kForward, {.heads = 8, .heads_kv = 8}).empty());
}

TEST_CASE("cutlass-fna reads tokens where they are") {
  const TokenPermutation copied = token_permutation(make_mask({128}, {64}), NattenBackend::kCutlassFna,
                                                    {{64}, {64}}, Walk::kForward, OperandSizes{});
  REQUIRE(copied.copies.empty());
  REQUIRE(copied.bytes == 0);
}

TEST_CASE("token permutation refuses sizes that are not positive") {
  REQUIRE_THROWS_AS(token_permutation(make_mask({128}, {64}), NattenBackend::kHopperFna, {{64}, {128}},
                                      Walk::kForward, OperandSizes{.heads = 0}),
                    InvalidParameter);
  const auto refused = [](const OperandSizes& sizes) {
    try {
      (void)token_permutation(make_mask({128}, {64}), NattenBackend::kHopperFna, {{64}, {128}},
                              Walk::kForward, sizes);
    } catch (const InvalidParameter& error) {
      return error.parameter();
    }
    return std::string();
  };
  CHECK(refused({.heads = 0, .heads_kv = 1}) == "heads");
  CHECK(refused({.heads = 2, .heads_kv = 3}) == "heads_kv");
  CHECK(refused({.batch = 0}) == "batch");
  CHECK(refused({.head_dim = 0}) == "head_dim");
  CHECK(refused({.head_dim_value = 0}) == "head_dim_value");
  CHECK(refused({.element_bytes = 9}) == "element_bytes");
}

TEST_CASE("logarithms of sums are copied with the outputs that they belong to") {
  // 130 tokens: 192 in Q tiles of 64, 256 in KV tiles of 128. Rows of 80 * 2 bytes, and one number of 4.
  const TokenPermutation forward =
      token_permutation(make_mask({130}, {64}), NattenBackend::kHopperFna, {{64}, {128}}, Walk::kForward,
                        OperandSizes{.heads = 3, .head_dim_value = 80});
  REQUIRE(forward.copies.size() == 5);
  REQUIRE(forward.copies[3].name == std::string("o"));
  REQUIRE(forward.copies[4].name == std::string("lse"));
  REQUIRE(forward.copies[4].bytes_read * 40 == forward.copies[3].bytes_read);
  REQUIRE(forward.copies[4].bytes_written * 40 == forward.copies[3].bytes_written);
}

}  // namespace token_permutation_test
