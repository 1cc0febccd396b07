#include <sstream>
#include <string>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace explain_test {

using namespace natten_sim::test;

const std::string kProfile = std::string(natten_sim::test::kSourceDir) + "/tests/golden/ncu/attention-h200";

Json of_family(const Json& result, const std::string& family) {
  Json kernels = Json::array();
  for (const Json& kernel : result["kernels"]) {
    if (kernel["family"] == family) kernels.push_back(kernel);
  }
  return kernels;
}

/// Checks what is said of FlashAttention-2's kernels in this CSV; returns them.
Json check_explained(const std::string& profile) {
  const Json all = result_of("explain " + profile);
  CHECK(all["device"] == "h200");
  CHECK(all["other_launches"].get<int>() > 0);
  Json kernels = of_family(all, "fa2");
  for (const Json& kernel : kernels) {
    CHECK(kernel["missing"].empty());
    const Json& read = kernel["read"];
    CHECK(read["measured_bytes"].get<double>() ==
          Approx(read["compulsory_bytes"].get<double>() + read["lockstep_bytes"].get<double>() +
                 read["drift_bytes"].get<double>() + read["unexplained_bytes"].get<double>()));
    CHECK(kernel["sectors"]["predicted"].get<double>() ==
          Approx(kernel["sectors"]["measured"].get<double>()).epsilon(1e-4));
  }
  return kernels;
}

/// The profile without the launches of 131,072 tokens, most of the time to explain it.
std::string profile_of_short_sequences() {
  const std::string path = scratch_folder() + "/profile.csv";
  std::istringstream lines(read_text(kProfile + ".csv"));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("\"3\",") && !line.starts_with("\"4\",")) kept += line + "\n";
  }
  write_text(path, kept);
  return path;
}

TEST_CASE("explain reads a profile of PyTorch's attention and names what it cannot know") {
  const Json kernels = check_explained(profile_of_short_sequences());
  // The lengths, batches and heads that were profiled.
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0]["problem"]["seqlen"] == 65536);
  CHECK(kernels[0]["problem"]["causal"] == false);
  CHECK(kernels[1]["problem"]["causal"] == true);
  CHECK(kernels[1]["problem"]["heads"] == 4);
  CHECK(kernels[1]["problem"]["batch_size"] == 2);
  const Json cudnn = result_of("explain " + kProfile + ".csv --ncu-kernel cudnn");
  CHECK(cudnn["kernels"][0]["missing"][0] == "seqlen");
}

TEST_CASE("explain reads a profile of long sequences, and says the same of kernels that are chosen by name",
          "[.nightly][long]") {
  const Json kernels = check_explained(kProfile + ".csv");
  REQUIRE(kernels.size() == 4);
  CHECK(kernels[1]["problem"]["seqlen"] == 131072);
  CHECK(kernels[1]["problem"]["causal"] == true);
  const Json chosen = result_of("explain " + kProfile + ".csv --ncu-kernel flash_fwd_kernel");
  CHECK(chosen["device"] == "h200");
  CHECK(chosen["kernels"] == kernels);
}

TEST_CASE("explain takes a report as well as a CSV, and refuses a file that is neither") {
  const Json result = result_of("explain " + kProfile + ".ncu-rep");
  CHECK(result["kernels"][0]["launches"] == 2);
  CHECK(result["other_launches"] == 1);
  CHECK(run("explain " + kProfile + ".ncu-rep --csv").out.find("fa2") != std::string::npos);
  CHECK(run("explain " + kProfile + ".ncu-rep").out.find("In short: ") != std::string::npos);
  check_refused("explain " + std::string(natten_sim::test::kSourceDir) + "/README.md", {"README.md"});
  check_refused("explain", {"profile"});
  check_refused("explain " + kProfile + ".csv --heads 0", {"heads"});
}

/// A details page of one launch of FlashAttention-2, with these rows of metrics.
std::string details_page(const std::string& rows, const std::string& more_columns = "",
                         const std::string& after = "") {
  const std::string path = scratch_folder() + "/details.csv";
  write_text(
      path,
      "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"" +
          more_columns + "\n" + rows + after);
  return path;
}

std::string row(const std::string& metric, const std::string& unit, const std::string& value) {
  return "\"1\",\"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, 0, 0, "
         "cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>>, 0, 0, 0, 0, 1, 1, "
         "0, "
         "0>(Flash_fwd_params)\",\"(128, 1, 1)\",\"(512, 1, 1)\",\"" +
         metric + "\",\"" + unit + "\",\"" + value + "\"";
}

TEST_CASE("a details page with rows of rules, and lines after it, is explained as the plain one is") {
  const std::string bytes = row("dram__bytes_read.sum", "Gbyte", "0.084036"),
                    sectors = row("l1tex__m_xbar2l1tex_read_sectors.sum", "sector", "537395400.000000");
  const Json plain = result_of("explain " + details_page(bytes + "\n" + sectors + "\n") + " --device h200");
  CHECK(plain["kernels"][0]["dram_read_bytes"] == 84036000.0);
  CHECK(plain["kernels"][0]["sectors"]["measured"] == 537395400.0);
  const std::string rule = row("", "", "") + ",\"TheoreticalOccupancy\",\"OPT\",\"limited, by registers\"\n";
  const std::string page =
      details_page(bytes + ",\n" + sectors + ",\n" + rule,
                   ",\"Rule Name\",\"Rule Type\",\"Rule Description\"", "Trained, in 3 s\n");
  CHECK(result_of("explain " + page + " --device h200") == plain);
  const std::string text = run("explain " + page + " --device h200 --quiet").out;
  CHECK(text.find("80.14 MiB") != std::string::npos);
  CHECK(text.find("537,395,400") != std::string::npos);
}

TEST_CASE("a time of a European locale is read by its unit, or refused by the name of the option") {
  const Json whole = result_of("explain " + details_page(row("gpu__time_duration.sum", "ns", "351.328")));
  CHECK(whole["kernels"][0]["time_ns"] == 351328.0);
  const std::string open = details_page(row("gpu__time_duration.sum", "us", "351.328"));
  check_refused("explain " + open, {"351.328", "--decimal"});
  CHECK(result_of("explain " + open + " --decimal comma")["kernels"][0]["time_ns"] == 351328e3);
  CHECK(result_of("explain " + open + " --decimal point")["kernels"][0]["time_ns"] == 351328.0);
}

TEST_CASE("counters of kernels that nobody knows are shown, and --as any infers what they computed") {
  // 8,192 tokens, 6 heads, head dim 128: 128 Q tiles of 64, each with all keys.
  const std::string path = std::string(natten_sim::test::kSourceDir) + "/tests/golden/ncu/read-and-written.csv";
  CHECK(6 * (8 * 8192 + 128 * 16 * 8192) == 101056512);
  const std::string text = run("explain " + path + " --device h200 --quiet").out;
  CHECK(text.find("fused_attention") != std::string::npos);
  CHECK(text.find("48.16 MiB") != std::string::npos);
  CHECK(text.find("101,056,512") != std::string::npos);
  CHECK(text.find("0.313") != std::string::npos);
  CHECK(result_of("explain " + path)["others"][0]["dram_bytes"] == 50.5e6);
  const Json kernel = result_of("explain " + path + " --device h200 --as any -i 8192 -d 128")["kernels"][0];
  CHECK(kernel["problem"]["q_tile"] == 64);
  CHECK(kernel["problem"]["heads"] == 6);
  CHECK(kernel["known"]["q_tile"] == "sectors");
  CHECK(kernel["known"]["kv_tile"] == "guessed");
  check_refused("explain " + path + " --as tritn", {"tritn", "triton"});
}

TEST_CASE("parts of the reads are shown above zero, and savings against what was measured") {
  const std::string text =
      run("explain " + kProfile + ".csv --device h200 --ncu-kernel cudnn -i 131072 --quiet").out;
  CHECK(text.find("MiB") != std::string::npos);
  for (char digit = '0'; digit <= '9'; ++digit)
    CHECK(text.find(std::string(" -") + digit) == std::string::npos);
}

TEST_CASE("a report of Nsight Compute is compared as its CSV is") {
  const std::string point =
      " --ncu-kernel 'flash_fwd_kernel' --point tokens=65536 head_dim=128 q_tile=128 kv_tile=64 "
      "ctas_per_sm=2 schedule=grid order=descending";
  const Run report = run("validate --ncu-csv " + kProfile + ".ncu-rep" + point + " --json --quiet");
  CHECK(report.exit_code != 2);
  CHECK(report.out.find("dram_read_bytes") != std::string::npos);
}

}  // namespace explain_test
