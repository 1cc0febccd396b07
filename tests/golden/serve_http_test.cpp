// serve over HTTP, as a program and as a page ask it.
#include <map>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"
#include "served_process.hpp"

namespace serve_http_test {

using namespace natten_sim::test;

struct Response {
  int status = 0;
  std::map<std::string, std::string> fields;  ///< names in lower case
  std::string body;
};

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

Response response_from(const Connection& client) {
  Response response;
  std::istringstream first(client.line());
  std::string protocol;
  first >> protocol >> response.status;
  for (std::string line; (line = client.line()).size() > 2;) {
    const std::size_t colon = line.find(": ");
    response.fields[lower(line.substr(0, colon))] = line.substr(colon + 2, line.size() - colon - 4);
  }
  if (response.fields.contains("content-length"))
    response.body = client.bytes(std::stoul(response.fields.at("content-length")));
  return response;
}

std::string post(const std::string& body, const std::string& fields = "") {
  return "POST / HTTP/1.1\r\nHost: localhost\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

int port_of(const ServedProcess& served) {
  const std::string place = served.place(), before = "http://127.0.0.1:";
  REQUIRE(place.starts_with(before));
  return std::stoi(place.substr(before.size()));
}

const std::string kCount = R"({"command": "count", "options": {"input": 64, "window": 16, "q_tile": 8, "kv_tile": 4}, "id": 1})";

TEST_CASE("a request over HTTP is answered as over a stream, one or several to a connection") {
  const ServedProcess served("--workers 1 --http 0");
  const Connection client(port_of(served));
  client.write(post(kCount));
  const Response one = response_from(client);
  CHECK(one.status == 200);
  CHECK(one.fields.at("content-type") == "application/json");
  CHECK(one.body == run("serve", kCount + "\n").out);
  const std::string lines = kCount + "\nnothing\n" + kCount;
  client.write(post(lines) + "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
  const Response several = response_from(client);
  CHECK(several.fields.at("content-type") == "application/x-ndjson");
  CHECK(several.body == run("serve", lines).out);
  const Response about = response_from(client);
  CHECK(about.status == 200);
  CHECK(Json::parse(about.body)["subcommands"][0].is_string());
  client.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  std::ostringstream chunk;
  chunk << std::hex << kCount.size() << "\r\n" << kCount << "\r\n0\r\n\r\n";
  client.write(chunk.str());
  CHECK(response_from(client).body == one.body);
  CHECK(client.line().empty());  // closed, as it was asked
}

TEST_CASE("a cancellation among the lines of a POST is answered once, and so are the others") {
  const ServedProcess served("--workers 1 --http 0");
  const Connection client(port_of(served));
  client.write(post(R"({"command": "atomics", "options": {"updates": 4294967295}, "id": 2})" "\n" + kCount +
                    "\n{\"cancel\": 2, \"id\": 3}\n" + kCount));
  std::istringstream lines(response_from(client).body);
  std::vector<std::string> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(line);
  REQUIRE(answers.size() == 4);
  CHECK(Json::parse(answers[0])["error"]["value"] == "cancelled");
  CHECK(Json::parse(answers[2]) == Json::parse(R"({"id": 3, "cancelled": true})"));
  CHECK(answers[1] == answers[3]);
}

TEST_CASE("a page may ask only if its origin was allowed, and by a name of this machine") {
  const ServedProcess served("--workers 1 --http 0 --origin http://localhost:8000 null");
  const int port = port_of(served);
  const auto asked = [&](const std::string& text) {
    const Connection client(port);
    client.write(text);
    return response_from(client);
  };
  const Response page = asked(post(kCount, "Origin: http://localhost:8000\r\n"));
  CHECK(page.status == 200);
  CHECK(page.fields.at("access-control-allow-origin") == "http://localhost:8000");
  CHECK(asked(post(kCount, "Origin: null\r\n")).status == 200);
  CHECK(asked("OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n").status == 204);
  const Response stranger = asked(post(kCount, "Origin: http://example.com\r\n"));
  CHECK(stranger.status == 403);
  CHECK_FALSE(stranger.fields.contains("access-control-allow-origin"));
  CHECK(asked("POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 0\r\n\r\n").status == 403);
  CHECK(asked("POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n").status == 403);
}

TEST_CASE("what is no HTTP, or too much of it, is refused, and others are answered meanwhile") {
  const ServedProcess served("--workers 1 --http 0");
  const int port = port_of(served);
  const Connection waits(port);
  waits.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{");  // and never more
  for (const auto& [text, status] :
       {std::pair<std::string, int>{"nothing\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nHost: " + std::string(20000, 'x') + "\r\n\r\n", 413},
        {"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405}}) {
    const Connection client(port);
    client.write(text);
    const Response refused = response_from(client);
    CHECK(refused.status == status);
    CHECK(Json::parse(refused.body)["error"]["message"].is_string());
  }
  const Connection client(port);
  client.write(post(kCount));
  CHECK(response_from(client).status == 200);
}

}  // namespace serve_http_test
