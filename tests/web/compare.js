// Answers of the WebAssembly module beside those of the native program, request by request.
// usage: node compare.js MODULE REQUESTS NATIVE_ANSWERS
// Texts must be equal; numbers may differ by their last digits, since the two have different mathematics libraries.
"use strict";
const fs = require("fs");
const path = require("path");

const kTolerance = 1e-9;
const [, , module_file, requests_file, answers_file] = process.argv;
const lines = (file) => fs.readFileSync(file, "utf8").split("\n").filter((line) => line.trim() !== "");

function difference(ours, native, where) {
  if (typeof ours === "number" && typeof native === "number") {
    return Math.abs(ours - native) <= kTolerance * Math.max(Math.abs(ours), Math.abs(native)) ? null : `${where}: ${ours}, native ${native}`;
  }
  if (ours !== null && native !== null && typeof ours === "object" && typeof native === "object") {
    const names = Object.keys(ours), others = Object.keys(native);
    if (names.join() !== others.join()) return `${where}: keys ${names}, native ${others}`;
    for (const name of names) {
      const found = difference(ours[name], native[name], `${where}.${name}`);
      if (found) return found;
    }
    return null;
  }
  return ours === native ? null : `${where}: ${JSON.stringify(ours)}, native ${JSON.stringify(native)}`;
}

require(path.resolve(module_file))().then((module) => {
  const requests = lines(requests_file), answers = lines(answers_file);
  let identical = 0, failed = requests.length === answers.length ? 0 : 1;
  if (failed) console.log(`${requests.length} requests, ${answers.length} native answers`);
  requests.forEach((request, i) => {
    const size = module.lengthBytesUTF8(request) + 1;
    const place = module._malloc(size);
    module.stringToUTF8(request, place, size);
    const text = module.UTF8ToString(module._natten_sim_answer(place)).trim();
    module._free(place);
    if (text === answers[i]) { ++identical; return; }
    const found = difference(JSON.parse(text), JSON.parse(answers[i]), "answer");
    if (found) { ++failed; console.log(`${request}\n  ${found}`); }
  });
  console.log(`${requests.length} requests: ${identical} answers equal to the byte, ${requests.length - identical - failed} to ${kTolerance}, ${failed} differ`);
  process.exit(failed ? 1 : 0);
});
