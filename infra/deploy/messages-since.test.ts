import { expect, it } from "vitest";
import { understandsMessages } from "./messages-since.ts";

it.each([
  ["the first version that does", `v${[0, 1, 1].join(".")}`, true],
  ["a later minor version", "v0.2.0", true],
  ["a later major version", "v1.0.0", true],
  ["a candidate of a later version", "v0.2.0-rc.1", true],
  ["the version before", `v${[0, 1, 0].join(".")}`, false],
  ["an older one with a larger patch number", "v0.0.9", false],
  ["no tag", null, false],
  ["a tag that no deployment gave", "tuesday", false],
  ["a version without its letter", "0.2.0", false],
])("tells whether %s understands the present messages", (_case, tag, understands) => {
  expect(understandsMessages(tag)).toBe(understands);
});
