import { expect, it } from "vitest";
import { understandsMessages } from "./messages-since.ts";

/** No version is written literally in a file: it may become the version of a release (test/lint/version.test.ts). */
const version = (...parts: readonly number[]): string => parts.join(".");

it.each([
  ["the first version that does", `v${version(0, 1, 1)}`, true],
  ["a later minor version", `v${version(0, 2, 0)}`, true],
  ["a later major version", `v${version(1, 0, 0)}`, true],
  ["a candidate of a later version", `v${version(0, 2, 0)}-rc.1`, true],
  ["the version before", `v${version(0, 1, 0)}`, false],
  ["an older one with a larger patch number", `v${version(0, 0, 9)}`, false],
  ["no tag", null, false],
  ["a tag that no deployment gave", "tuesday", false],
  ["a version without its letter", version(0, 2, 0), false],
])("tells whether %s understands the present messages", (_case, tag, understands) => {
  expect(understandsMessages(tag)).toBe(understands);
});
