// Masks as people give them - words, unions and intersections of rules, lists of blocks, block sparse rows, arrays and
// text, for all heads, each head or each batch and head - read and counted, against every cell and pair of tokens.
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <natten_sim/io/json.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/mask_file.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/study/mask.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace given_mask_test {

using namespace natten_sim;
using test::cases;
using test::stored_seed;

std::int64_t pick(std::mt19937_64& random, std::int64_t lo, std::int64_t hi) {
  return lo + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(hi - lo + 1));
}

/// A row of cells for each Q block of each mask: '.', '+' or '#'.
using Cells = std::vector<std::string>;

/// A mask as it is given, and what every block of it is.
struct Given {
  study::MaskQuestion question;
  Cells cells;
  std::int64_t pairs = -1;  // of tokens; blocks alone do not tell
};

// ---- Rules, as text and as a function of a query and a key.

struct Sizes {
  std::int64_t q = 1, kv = 1;
};

struct Word {
  std::string text;
  std::function<bool(std::int64_t query, std::int64_t key)> attends;
};

Word document_word(std::mt19937_64& random, const Sizes& sizes) {
  std::vector<std::int64_t> document_of;
  std::string text = "document:";
  for (std::int64_t left = sizes.q; left > 0;) {
    const std::int64_t length = pick(random, 1, left);
    text += (left == sizes.q ? "" : ",") + std::to_string(length);
    document_of.insert(document_of.end(), static_cast<std::size_t>(length), left);
    left -= length;
  }
  return {text, [document_of](std::int64_t query, std::int64_t key) {
            return document_of[static_cast<std::size_t>(query)] == document_of[static_cast<std::size_t>(key)];
          }};
}

/// Ends of queries and keys are aligned.
Word random_word(std::mt19937_64& random, const Sizes& sizes) {
  const std::int64_t shift = sizes.kv - sizes.q;
  const std::int64_t a = pick(random, 0, 9), b = pick(random, 0, 9);
  switch (pick(random, 0, sizes.q == sizes.kv ? 5 : 4)) {
    case 0:
      return {"full", [](std::int64_t, std::int64_t) { return true; }};
    case 1:
      return {"causal", [=](std::int64_t query, std::int64_t key) { return key <= query + shift; }};
    case 2:
      return {"window:" + std::to_string(a) + "," + std::to_string(b), [=](std::int64_t query, std::int64_t key) {
                return query + shift - key <= a && key - query - shift <= b;
              }};
    case 3: {
      const std::int64_t length = pick(random, 1, sizes.kv);
      return {"prefix:" + std::to_string(length), [=](std::int64_t, std::int64_t key) { return key < length; }};
    }
    case 4:
      return {"dilated:" + std::to_string(a + 1),
              [=](std::int64_t query, std::int64_t key) { return (query + shift - key) % (a + 1) == 0; }};
    default:
      return document_word(random, sizes);
  }
}

void add_rules(std::mt19937_64& random, Given& given) {
  const Sizes sizes{*given.question.q_tokens, *given.question.kv_tokens};
  std::vector<std::vector<Word>> any(static_cast<std::size_t>(pick(random, 1, 3)));
  std::string text;
  for (std::vector<Word>& all : any) {
    all.resize(static_cast<std::size_t>(pick(random, 1, 3)));
    if (!text.empty()) text += "|";
    for (std::size_t i = 0; i < all.size(); ++i) text += (i == 0 ? "" : "&") + (all[i] = random_word(random, sizes)).text;
  }
  given.question.mask.mask = std::get<ScheduleMask>(parse_schedule_mask(text));
  const auto attends = [&](std::int64_t query, std::int64_t key) {
    return std::any_of(any.begin(), any.end(), [&](const std::vector<Word>& all) {
      return std::all_of(all.begin(), all.end(), [&](const Word& word) { return word.attends(query, key); });
    });
  };
  const std::int64_t q_tile = *given.question.q_tile, kv_tile = *given.question.kv_tile;
  given.pairs = 0;
  for (std::int64_t q = 0; q < sizes.q; q += q_tile) {
    std::string& row = given.cells.emplace_back();
    for (std::int64_t kv = 0; kv < sizes.kv; kv += kv_tile) {
      std::int64_t here = 0;
      for (std::int64_t i = q; i < std::min(q + q_tile, sizes.q); ++i) {
        for (std::int64_t j = kv; j < std::min(kv + kv_tile, sizes.kv); ++j) here += attends(i, j) ? 1 : 0;
      }
      row += here == 0 ? '.' : here == q_tile * kv_tile ? '#' : '+';  // a cut block is padded: never full
      given.pairs += here;
    }
  }
}

// ---- Blocks.

Cells random_cells(std::mt19937_64& random, std::int64_t rows, std::int64_t columns) {
  Cells cells(static_cast<std::size_t>(rows));
  for (std::string& row : cells) {
    const bool empty = pick(random, 0, 6) == 0;
    for (std::int64_t kv = 0; kv < columns; ++kv) row += empty ? '.' : "..+#"[pick(random, 0, 3)];
  }
  return cells;
}

/// Indices of the blocks of one kind, in any order; those behind their number do not count.
std::vector<std::int64_t> listed(std::mt19937_64& random, const std::string& row, char kind) {
  std::vector<std::int64_t> indices;
  for (std::size_t kv = 0; kv < row.size(); ++kv) {
    if (row[kv] == kind) indices.push_back(static_cast<std::int64_t>(kv));
  }
  std::shuffle(indices.begin(), indices.end(), random);
  return indices;
}

std::string block_lists(std::mt19937_64& random, const Cells& cells, std::int64_t batches, std::int64_t heads,
                        std::int64_t q_blocks, const study::MaskQuestion& question) {
  Json file = {{"BLOCK_SIZE", {*question.q_tile, *question.kv_tile}},
               {"seq_lengths", {*question.q_tokens, *question.kv_tokens}}};
  for (const auto& [prefix, kind] : {std::pair{"", '+'}, std::pair{"full_", '#'}}) {
    Json numbers = Json::array(), indices = Json::array();
    std::size_t row = 0;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      numbers.push_back(Json::array());
      indices.push_back(Json::array());
      for (std::int64_t head = 0; head < heads; ++head) {
        Json of_rows = Json::array(), lists = Json::array();
        for (std::int64_t q = 0; q < q_blocks; ++q, ++row) {
          std::vector<std::int64_t> list = listed(random, cells[row], kind);
          of_rows.push_back(list.size());
          if (pick(random, 0, 1) == 0) list.push_back(pick(random, 0, 3));  // padding
          lists.push_back(list);
        }
        numbers.back().push_back(of_rows);
        indices.back().push_back(lists);
      }
    }
    file[std::string(prefix) + "kv_num_blocks"] = numbers;
    file[std::string(prefix) + "kv_indices"] = indices;
  }
  return json_text(file);
}

std::string sparse_rows(std::mt19937_64& random, const Cells& cells, const study::MaskQuestion& question) {
  Json indptr = {0}, indices = Json::array(), partial = Json::array();
  for (const std::string& row : cells) {
    for (const char kind : {'+', '#'}) {
      for (const std::int64_t kv : listed(random, row, kind)) {
        indices.push_back(kv);
        partial.push_back(kind == '+');
      }
    }
    indptr.push_back(indices.size());
  }
  return json_text({{"indptr", indptr},
                    {"indices", indices},
                    {"partial", partial},
                    {"shape", {cells.size(), cells.front().size()}},
                    {"BLOCK_SIZE", {*question.q_tile, *question.kv_tile}}});
}

std::string array_file(const Cells& cells, const std::vector<std::int64_t>& shape) {
  std::string axes;
  for (const std::int64_t extent : shape) axes += std::to_string(extent) + ",";
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + axes + "), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  for (const std::string& row : cells) {
    for (const char cell : row) file += static_cast<char>(cell == '#' ? 2 : cell == '+' ? 1 : 0);
  }
  return file;
}

void add_blocks(std::mt19937_64& random, Given& given) {
  study::MaskQuestion& question = given.question;
  const std::int64_t q_blocks = (*question.q_tokens - 1) / *question.q_tile + 1;
  const std::int64_t kv_blocks = (*question.kv_tokens - 1) / *question.kv_tile + 1;
  const std::int64_t kind = pick(random, 0, 3);
  const std::int64_t batches = kind < 2 ? pick(random, 1, 2) : 1, heads = kind < 2 ? pick(random, 1, 3) : 1;
  question.batch = batches * pick(random, 1, 2);
  question.heads = heads * pick(random, 1, 2);
  given.cells = random_cells(random, batches * heads * q_blocks, kv_blocks);
  if (kind == 0) {
    question.mask = parse_mask_file(block_lists(random, given.cells, batches, heads, q_blocks, question), "lists");
  } else if (kind == 1) {
    question.mask = parse_mask_file(array_file(given.cells, {batches, heads, q_blocks, kv_blocks}), "array");
  } else if (kind == 2) {
    question.mask = parse_mask_file(sparse_rows(random, given.cells, question), "rows");
  } else {
    std::string text;
    for (const std::string& row : given.cells) text += row + "\n";
    question.mask = parse_mask_file(text, "text");
  }
  CHECK(question.mask.masks == batches * heads);
  CHECK(question.mask.batches == batches);
  const bool q_cut = *question.q_tokens % *question.q_tile != 0, kv_cut = *question.kv_tokens % *question.kv_tile != 0;
  for (std::size_t row = 0; row < given.cells.size(); ++row) {
    for (std::size_t kv = 0; kv < given.cells[row].size(); ++kv) {
      char& cell = given.cells[row][kv];
      const bool cut = (q_cut && static_cast<std::int64_t>(row) % q_blocks == q_blocks - 1) ||
                       (kv_cut && static_cast<std::int64_t>(kv) == kv_blocks - 1);
      if (cell == '#' && cut) cell = '+';
    }
  }
}

void check(const Given& given, const study::Context& context) {
  std::int64_t full = 0, partial = 0, shortest = 0, longest = 0, empty = 0;
  for (const std::string& row : given.cells) {
    const std::int64_t full_here = std::count(row.begin(), row.end(), '#');
    const std::int64_t length = full_here + std::count(row.begin(), row.end(), '+');
    full += full_here;
    partial += length - full_here;
    shortest = &row == &given.cells.front() ? length : std::min(shortest, length);
    longest = std::max(longest, length);
    empty += length == 0 ? 1 : 0;
  }
  const study::MaskAnswer answer = study::count_mask(given.question, context);
  const study::BlockCount& count = answer.count;
  REQUIRE(count.visited == full + partial);
  REQUIRE(count.full == full);
  REQUIRE(count.partial == partial);
  REQUIRE(count.shortest_row == shortest);
  REQUIRE(count.longest_row == longest);
  REQUIRE(count.empty_rows == empty);
  const double rows = static_cast<double>(given.cells.size());
  REQUIRE(count.mean_row == Approx(static_cast<double>(full + partial) / rows));
  REQUIRE(answer.pairs.has_value() == (given.pairs >= 0));
  if (answer.pairs) REQUIRE(*answer.pairs == given.pairs);
  for (const study::BlockCount& other : answer.others)  // 64 or 128 tokens: one block holds all
    REQUIRE(other.visited == (given.pairs > 0 ? 1 : 0));
}

TEST_CASE("given masks have the blocks, rows and pairs that every cell and pair of tokens give, 10,000 random ones") {
  static const study::Context context = study::default_context();
  std::mt19937_64 random(stored_seed());
  for (int round = 0; round < cases(10000); ++round) {
    INFO("NATTEN_SIM_SEED=" << stored_seed() << ", mask " << round);
    Given given;
    given.question.q_tokens = pick(random, 1, 40);
    given.question.kv_tokens = pick(random, 0, 1) == 0 ? *given.question.q_tokens : pick(random, 1, 40);
    given.question.q_tile = pick(random, 1, 9);
    given.question.kv_tile = pick(random, 1, 9);
    pick(random, 0, 1) == 0 ? add_rules(random, given) : add_blocks(random, given);
    check(given, context);
  }
}

}  // namespace given_mask_test
