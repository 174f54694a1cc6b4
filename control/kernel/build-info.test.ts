import { expect, it } from "vitest";
import { readBuildInfo } from "./build-info.ts";

it.each([
  ["null when unset", {}, { git_sha: null, built_at: null }],
  [
    "null when blank, as an image has it",
    { GATEWAY_GIT_SHA: "", GATEWAY_BUILT_AT: " " },
    { git_sha: null, built_at: null },
  ],
  ["what the image says", { GATEWAY_GIT_SHA: "abc", GATEWAY_BUILT_AT: "now" }, { git_sha: "abc", built_at: "now" }],
])("commit and time of a build are %s", (_, env, expected) => {
  expect(readBuildInfo(env)).toMatchObject(expected);
});
