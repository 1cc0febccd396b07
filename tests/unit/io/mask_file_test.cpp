#include <natten_sim/core/error.hpp>
#include <natten_sim/io/mask_file.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/io/schedule_table.hpp>

#include "catch.hpp"

namespace mask_file_test {

using namespace natten_sim;

std::vector<std::string> rows_of(const GivenMask& given) {
  return block_mask_rows(std::get<BlockMask>(given.mask.rule));
}

using Rows = std::vector<std::string>;

TEST_CASE("a BlockMask of FlexAttention gives the masks of its heads one below the other") {
  const GivenMask given = parse_mask_file(
      R"({"kv_num_blocks": [[[1, 0], [2, 1]]], "kv_indices": [[[[1, 0, 2], [2, 1, 0]], [[0, 2, 1], [1, 0, 2]]]],
          "full_kv_num_blocks": [[[0, 1], [1, 0]]], "full_kv_indices": [[[[0, 1, 2], [0, 1, 2]], [[1, 0, 2], [0, 1, 2]]]],
          "BLOCK_SIZE": [128, 64], "seq_lengths": [200, 192]})",
      "here");
  CHECK(given.masks == 2);
  CHECK(given.q_tile == 128);
  CHECK(given.kv_tile == 64);
  CHECK(given.q_tokens == 200);
  CHECK(given.kv_tokens == 192);
  CHECK(rows_of(given) == Rows{".+.", "#..", "+#+", ".+."});
}

TEST_CASE("without full blocks and sizes a BlockMask has as many KV blocks as it names, or says") {
  const std::string lists = R"("kv_num_blocks": [[[1]]], "kv_indices": [[[[1, 2]]]])";
  CHECK(rows_of(parse_mask_file("{" + lists + R"(, "full_kv_num_blocks": null})", "here")) == Rows{".+"});
  CHECK(rows_of(parse_mask_file(" {" + lists + R"(, "kv_blocks": 4})", "here")) == Rows{".+.."});
}

TEST_CASE("block sparse rows are full blocks, unless they say partial") {
  CHECK(rows_of(parse_mask_file(R"({"indptr": [0, 2, 2, 3], "indices": [0, 2, 1], "shape": [3, 3]})",
                                "here")) == Rows{"#.#", "...", ".#."});
  const GivenMask given = parse_mask_file(
      R"({"indptr": [0, 1], "indices": [0], "shape": [1, 1], "partial": [true], "BLOCK_SIZE": [64, 32]})",
      "here");
  CHECK(rows_of(given) == Rows{"+"});
  CHECK(given.masks == 1);
  CHECK(given.kv_tile == 32);
}

std::string array_file(const std::string& type, const std::string& shape, const std::string& data) {
  const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + data;
}

TEST_CASE("an array of blocks has a mask for each head of each batch") {
  const GivenMask one = parse_mask_file(array_file("|u1", "(2, 3)", std::string("\0\1\2\2\0\0", 6)), "here");
  CHECK(rows_of(one) == Rows{".+#", "#.."});
  CHECK(one.masks == 1);
  const GivenMask heads = parse_mask_file(array_file("|b1", "(2, 1, 2)", std::string("\1\0\0\1", 4)), "here");
  CHECK(rows_of(heads) == Rows{"#.", ".#"});
  CHECK(heads.masks == 2);
  CHECK(heads.batches == 1);
  const GivenMask batches =
      parse_mask_file(array_file("<i2", "(2, 1, 1, 1)", std::string("\1\0\2\0", 4)), "here");
  CHECK(rows_of(batches) == Rows{"+", "#"});
  CHECK(batches.batches == 2);
}

TEST_CASE("arrays of other numbers, axes and lengths are refused") {
  for (const std::string& file :
       {array_file("|u1", "(1, 1)", "\3"), array_file("|i1", "(1, 1)", "\xff"), array_file("<f4", "(1, 1)", "abcd"),
        array_file("|u1", "(1,)", "\1"), array_file("|u1", "(1, 1, 1, 1, 1)", "\1"), array_file("|u1", "(1, 2)", "\1"),
        array_file("|u1", "(1, 1)", "\1\1"), array_file("|u1", "(0, 1)", ""), array_file("|b1", "(1, 1)", "\2")})
    CHECK_THROWS_AS(parse_mask_file(file, "here"), MalformedData);
}

TEST_CASE("text has a character for each block") {
  CHECK(rows_of(parse_mask_file("#+\n.#\n", "here")) == Rows{"#+", ".#"});
}

TEST_CASE("files whose parts do not fit each other are refused") {
  for (
      const char* text : {
          "",
          "{}",
          R"({"kv_num_blocks": [[[1]]]})",
          R"({"kv_num_blocks": [[1]], "kv_indices": [[[[0]]]]})",
          R"({"kv_num_blocks": [[[2]]], "kv_indices": [[[[0]]]]})",
          R"({"kv_num_blocks": [[[2]]], "kv_indices": [[[[0, 0]]]]})",
          R"({"kv_num_blocks": [[[1]]], "kv_indices": [[[[-1]]]]})",
          R"({"kv_num_blocks": [[[1]]], "kv_indices": [[[[0.5]]]]})",
          R"({"kv_num_blocks": [[[1], [1, 1]]], "kv_indices": [[[[0]], [[0], [0]]]]})",
          R"({"kv_num_blocks": [[[1]]], "kv_indices": [[[[0], [0]]]]})",
          R"({"kv_num_blocks": [[[1]]], "kv_indices": [[[[0]]]], "full_kv_num_blocks": [[[1]]], "full_kv_indices": [[[[0]]]]})",
          R"({"kv_num_blocks": [[[1]]], "kv_indices": [[[[0]]]], "BLOCK_SIZE": [128]})",
          R"({"kv_num_blocks": [[[1]]], "kv_indices": [[[[0]]]], "BLOCK_SIZE": [64, 64], "seq_lengths": [128, 64]})",
          R"({"kv_num_blocks": [[[1]]], "kv_indices": [[[[0]]]], "blocks": 3})",
          R"({"kv_num_blocks": [], "kv_indices": []})",
          R"({"indptr": [0, 1], "indices": [1], "shape": [1, 1]})",
          R"({"indptr": [0, 2], "indices": [0, 0], "shape": [1, 1]})",
          R"({"indptr": [0], "indices": [], "shape": [1, 1]})",
          R"({"indptr": [0, 0], "indices": [0], "shape": [1, 1]})",
          R"({"indptr": [0, 1], "indices": [0], "shape": [1, 1], "partial": [1]})",
          R"({"indptr": [0, 1], "indices": [0], "shape": [1, 1], "partial": []})",
      }) {
    INFO(text);
    CHECK_THROWS_AS(parse_mask_file(text, "here"), MalformedData);
  }
}

}  // namespace mask_file_test
