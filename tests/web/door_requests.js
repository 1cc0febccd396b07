// The rows of tests/golden/doors.json as requests of a page, one a line.
// usage: node door_requests.js DOORS_JSON
"use strict";
const fs = require("fs");

const problem = {input: [30, 48, 80], window: [18, 24, 24], q_tile: [4, 8, 8], kv_tile: [2, 8, 8]};
for (const row of JSON.parse(fs.readFileSync(process.argv[2], "utf8")).spellings) {
  const options = {...problem};
  delete options[row.sets];
  console.log(JSON.stringify({command: "count", options: {...options, [row.key]: row.value}}));
}
