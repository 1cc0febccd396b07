#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/mask_file.hpp>
#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "npy_header.hpp"

namespace natten_sim {
namespace {

constexpr std::int64_t kMostBlocks = 65536;                 // of an edge
constexpr std::int64_t kMostCells = std::int64_t{1} << 28;  // of all heads
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;

using Rows = std::vector<const Json*>;

/// The arrays at depth `levels` of nested arrays, in order.
void list_rows(const StrictObject& file, const char* key, const Json& value, int levels, Rows& rows) {
  if (!value.is_array()) file.fail(key, "arrays in arrays: batch, heads, Q blocks");
  if (levels == 0) {
    rows.push_back(&value);
    return;
  }
  for (const Json& element : value) list_rows(file, key, element, levels - 1, rows);
}

std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>> pair_of(const StrictObject& file,
                                                                            const char* key,
                                                                            std::int64_t most) {
  if (!file.has(key)) return {};
  const Json& values = file.array(key);
  if (values.size() != 2) file.fail(key, "two numbers: of Q and of KV");
  return {file.integer_in(values[0], key, {1, most}), file.integer_in(values[1], key, {1, most})};
}

/// A kind of blocks, each row's list with its number.
struct BlockLists {
  std::vector<std::vector<std::int64_t>> numbers;  ///< of each head: one a Q block
  Rows indices;                                    ///< of each row of each head
};

BlockLists read_lists(const StrictObject& file, const char* numbers_key, const char* indices_key) {
  BlockLists lists;
  Rows rows;
  list_rows(file, numbers_key, file.array(numbers_key), 2, rows);
  for (const Json* row : rows) {
    lists.numbers.emplace_back();
    for (const Json& number : *row)
      lists.numbers.back().push_back(file.integer_in(number, numbers_key, {0, kMostBlocks}));
  }
  list_rows(file, indices_key, file.array(indices_key), 3, lists.indices);
  return lists;
}

/// The largest index that counts, plus 1.
std::int64_t blocks_named(const StrictObject& file, const char* key, const BlockLists& lists) {
  std::int64_t most = 0;
  std::size_t row = 0;
  for (const auto& head : lists.numbers) {
    for (const std::int64_t number : head) {
      if (row == lists.indices.size() || std::cmp_less(lists.indices[row]->size(), number))
        file.fail(key, "a list for each Q block, at least as long as its number");
      for (std::int64_t i = 0; i < number; ++i)
        most = std::max(most, 1 + file.integer_in((*lists.indices[row])[static_cast<std::size_t>(i)], key,
                                                  {0, kMostBlocks - 1}));
      ++row;
    }
  }
  if (row != lists.indices.size()) file.fail(key, "as many lists as Q blocks");
  return most;
}

void set_blocks(const StrictObject& file, const char* key, const BlockLists& lists, TileWork work,
                BlockMask& mask) {
  std::size_t row = 0;
  for (const auto& head : lists.numbers) {
    for (const std::int64_t number : head) {
      for (std::int64_t i = 0; i < number; ++i) {
        const std::int64_t column = file.integer_in((*lists.indices[row])[static_cast<std::size_t>(i)], key);
        const std::size_t cell =
            row * static_cast<std::size_t>(mask.kv_tiles) + static_cast<std::size_t>(column);
        if (mask.work[cell] != TileWork::kNone) file.fail(key, "each block of a row once, full or partial");
        mask.work.set(cell, work);
      }
      ++row;
    }
  }
}

BlockMask empty_blocks(const StrictObject& file, const char* key, std::int64_t rows, std::int64_t columns) {
  if (columns < 1 || columns > kMostBlocks || rows < 1 || rows > kMostCells / columns)
    file.fail(key, "1 to 65,536 KV blocks, and at most 2^28 blocks in all");
  return {static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns),
          MaskCells(static_cast<std::size_t>(rows * columns), TileWork::kNone)};
}

/// A BlockMask of FlexAttention.
GivenMask read_block_lists(const StrictObject& file) {
  GivenMask given;
  std::tie(given.q_tile, given.kv_tile) = pair_of(file, "BLOCK_SIZE", kMostTokens);
  std::tie(given.q_tokens, given.kv_tokens) = pair_of(file, "seq_lengths", kMostTokens);
  const BlockLists partial = read_lists(file, "kv_num_blocks", "kv_indices");
  std::optional<BlockLists> full;
  if (file.has("full_kv_num_blocks")) full = read_lists(file, "full_kv_num_blocks", "full_kv_indices");
  std::int64_t columns = blocks_named(file, "kv_indices", partial);
  if (full) columns = std::max(columns, blocks_named(file, "full_kv_indices", *full));
  if (given.kv_tile && given.kv_tokens)
    columns = std::max(columns, ceil_divide(*given.kv_tokens, *given.kv_tile));
  columns = std::max(columns, file.integer_or("kv_blocks", columns, {1, kMostBlocks}));
  if (partial.numbers.empty()) file.fail("kv_num_blocks", "one head at least");
  const std::size_t q_blocks = partial.numbers.front().size();
  for (const BlockLists* lists : {&partial, full ? &*full : &partial}) {
    if (lists->numbers.size() != partial.numbers.size())
      file.fail("full_kv_num_blocks", "as many heads as kv_num_blocks");
    for (const auto& head : lists->numbers)
      if (head.size() != q_blocks) file.fail("kv_num_blocks", "as many Q blocks in each head");
  }
  if (given.q_tile && given.q_tokens &&
      std::cmp_not_equal(ceil_divide(*given.q_tokens, *given.q_tile), q_blocks))
    file.fail("kv_num_blocks", "as many Q blocks as seq_lengths and BLOCK_SIZE make");
  const auto heads = static_cast<std::int64_t>(partial.numbers.size());
  BlockMask mask = empty_blocks(file, "kv_num_blocks", heads * static_cast<std::int64_t>(q_blocks), columns);
  set_blocks(file, "kv_indices", partial, TileWork::kPartial, mask);
  if (full) set_blocks(file, "full_kv_indices", *full, TileWork::kFull, mask);
  given.mask.rule = std::move(mask);
  given.masks = heads;
  given.batches = static_cast<std::int64_t>(file.array("kv_num_blocks").size());
  return given;
}

/// Block sparse rows.
GivenMask read_sparse_rows(const StrictObject& file) {
  GivenMask given;
  std::tie(given.q_tile, given.kv_tile) = pair_of(file, "BLOCK_SIZE", kMostTokens);
  const auto [rows, columns] = pair_of(file, "shape", kMostBlocks);
  if (!rows) file.fail("shape", "[Q blocks, KV blocks]");
  BlockMask mask = empty_blocks(file, "shape", *rows, *columns);
  const Json& indptr = file.array("indptr");
  const Json& indices = file.array("indices");
  const Json* partial = file.has("partial") ? &file.array("partial") : nullptr;
  if (std::cmp_not_equal(indptr.size(), *rows + 1)) file.fail("indptr", "one more number than Q blocks");
  if (partial != nullptr && partial->size() != indices.size()) file.fail("partial", "as many as indices");
  const auto most = static_cast<std::int64_t>(indices.size());
  std::int64_t begin = file.integer_in(indptr[0], "indptr", {0, 0});
  for (std::int64_t row = 0; row < *rows; ++row) {
    const std::int64_t end =
        file.integer_in(indptr[static_cast<std::size_t>(row + 1)], "indptr", {begin, most});
    for (; begin < end; ++begin) {
      const auto at = static_cast<std::size_t>(begin);
      const std::int64_t column = file.integer_in(indices[at], "indices", {0, *columns - 1});
      const auto cell = static_cast<std::size_t>(row * *columns + column);
      if (mask.work[cell] != TileWork::kNone) file.fail("indices", "each block of a row once");
      if (partial != nullptr && !(*partial)[at].is_boolean()) file.fail("partial", "true and false");
      mask.work.set(cell,
                    partial != nullptr && (*partial)[at].get<bool>() ? TileWork::kPartial : TileWork::kFull);
    }
  }
  if (begin != most) file.fail("indptr", "as its last number that of the indices");
  given.mask.rule = std::move(mask);
  return given;
}

constexpr std::string_view kNpyStart = "\x93NUMPY";
constexpr const char* kNpyBlocks = "booleans, or integers of 0 (skipped), 1 (partial) and 2 (full)";

/// An element of `bytes` bytes, little-endian; integers below zero are large.
std::uint64_t unsigned_at(const char* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(at[i]);
  return value;
}

/// A NumPy array: (heads or batches and heads, one mask below the other,) Q blocks, KV blocks.
GivenMask read_array(std::string_view text, const std::string& where) {
  std::string_view rest = text;
  const NpyHeader array = read_npy_header(
      [&](std::span<char> buffer) {
        const std::size_t size = std::min(buffer.size(), rest.size());
        std::memcpy(buffer.data(), rest.data(), size);
        rest.remove_prefix(size);
        return size;
      },
      where);
  const std::size_t rank = array.shape.size();
  if (array.kind == 'f') throw MalformedData(where, "fractions", kNpyBlocks);
  if (rank < 2 || rank > 4) throw MalformedData(where, std::to_string(rank) + " axes", "(batches, heads,) Q blocks, KV blocks");
  const std::int64_t columns = array.shape.back();
  if (columns < 1 || columns > kMostBlocks || array.shape[rank - 2] > kMostBlocks || array.elements < 1 ||
      array.elements > kMostCells)
    throw MalformedData(where, std::to_string(array.elements) + " blocks", "1 to 2^28 blocks, at most 65,536 an edge");
  const auto cells = static_cast<std::size_t>(array.elements);
  if (rest.size() != cells * array.bytes)
    throw MalformedData(where, std::to_string(rest.size()) + " bytes of elements", std::to_string(cells * array.bytes));
  BlockMask mask{static_cast<std::int32_t>(array.elements / columns), static_cast<std::int32_t>(columns),
                 MaskCells(cells, TileWork::kNone)};
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const std::uint64_t value = unsigned_at(rest.data() + cell * array.bytes, array.bytes);
    if (value > (array.kind == 'b' ? 1 : 2)) throw MalformedData(where, "element " + std::to_string(cell), kNpyBlocks);
    if (value > 0) mask.work.set(cell, array.kind == 'b' || value == 2 ? TileWork::kFull : TileWork::kPartial);
  }
  GivenMask given;
  given.masks = mask.q_tiles / array.shape[rank - 2];
  if (rank == 4) given.batches = array.shape[0];
  given.mask.rule = std::move(mask);
  return given;
}

}  // namespace

GivenMask parse_mask_file(std::string_view text, const std::string& where) {
  if (text.starts_with(kNpyStart)) return read_array(text, where);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') {
    GivenMask given;
    given.mask.rule = parse_block_mask(text, where);
    return given;
  }
  const Json json = parse_strict(text, where);
  if (json.contains("indptr"))
    return read_sparse_rows(
        StrictObject(json, where, {"indptr", "indices", "shape", "partial", "BLOCK_SIZE"}));
  return read_block_lists(StrictObject(json, where,
                                       {"kv_num_blocks", "kv_indices", "full_kv_num_blocks",
                                        "full_kv_indices", "BLOCK_SIZE", "seq_lengths", "kv_blocks"}));
}

}  // namespace natten_sim
