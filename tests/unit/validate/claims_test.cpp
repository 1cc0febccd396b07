// What others published about their own kernels: every claim has a source and a question, and the quick ones an answer.
// `reproduce claims` scores all of them in tests/golden/reproduce_test.cpp, nightly.
#include <cmath>
#include <set>
#include <string>

#include <natten_sim/io/catalog.hpp>

#include "catch.hpp"
#include "published/claims.hpp"

namespace claims_test {

using namespace natten_sim;
using namespace natten_sim::validate;

bool is_quick(const Claim& claim) { return claim.kind == "time" || !claim.question.contains("hot_share"); }

TEST_CASE("every claim has its own source and is counted once") {
  std::set<std::string> seen;
  for (const Claim& claim : published_claims()) {
    INFO(claim.item);
    CHECK(claim.source.starts_with("https://"));
    CHECK(claim.value > 0);
    CHECK_FALSE(claim.gpu.empty());
    CHECK(seen.insert(claim.item + claim.source + claim.gpu).second);
  }
  CHECK(seen.size() >= 60);
}

TEST_CASE("a claim about times or scatters is answered in its unit, or with the reason why not") {
  const study::Context context = study::default_context();
  RowsOfWorks works;
  std::size_t answered = 0, refused = 0;
  for (const Claim& claim : published_claims()) {
    if (claim.kind == "row" || !is_quick(claim)) continue;
    INFO(claim.item << " on " << claim.gpu);
    const ClaimAnswer answer = answer_claim(claim, context, works);
    CHECK(answer.value.has_value() == answer.refusal.empty());
    if (!answer.value) {
      ++refused;
      continue;
    }
    ++answered;
    // Another unit, or a dropped axis, is a hundred times off.
    CHECK(std::abs(std::log(*answer.value / claim.value)) < std::log(30));
  }
  CHECK(answered > 10);
  CHECK(answered > refused);
}

}  // namespace claims_test
