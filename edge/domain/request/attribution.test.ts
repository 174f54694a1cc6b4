/** The tags and the end user of a request (docs/rules/routes.md#tags, docs/rules/routes.md#end-user). */
import { describe, expect, it } from "vitest";
import { wholeDocument } from "../wire/json/document.ts";
import { endUserOf, readTags } from "./attribution.ts";

const many = (count: number): string => Array.from({ length: count }, (_, at) => `n${at}=v`).join(",");

describe("the header x-gateway-tags", () => {
  it.each([
    [null, ""],
    ["", ""],
    ["team=search", "team=search"],
    [" team = search , env=prod,, ", "env=prod,team=search"],
    ["a1=2,a-b=3,a=1,A=4", "A=4,a=1,a-b=3,a1=2"],
    ['note=a b=c;"d"', 'note=a b=c;"d"'],
    [many(8), many(8)],
    [`${"n".repeat(64)}=${"v".repeat(128)}`, `${"n".repeat(64)}=${"v".repeat(128)}`],
  ])("%j is read as %j", (header, expected) => {
    expect(readTags(header)).toBe(expected);
  });

  it.each([
    ["team", "name=value pairs"],
    ["=search", "name=value pairs"],
    ["te am=search", "name=value pairs"],
    [`${"n".repeat(65)}=v`, "name=value pairs"],
    ["team=", "values of 1 to 128"],
    ["team=s\u00e4arch", "values of 1 to 128"],
    ["team=a\tb", "values of 1 to 128"],
    [`team=${"v".repeat(129)}`, "values of 1 to 128"],
    ["team=a,team=b", "'team' only once"],
    [many(9), "at most 8 tags"],
    [`${" ".repeat(1020)}team=a`, "at most 1024 bytes"],
  ])("%j is refused: %s", (header, message) => {
    expect(readTags(header)).toEqual({ param: "x-gateway-tags", message: expect.stringContaining(message) });
  });
});

describe("the end user", () => {
  it.each([
    ["none", {}, ""],
    ["user", { user: " u-1 ", safety_identifier: "s-1", metadata: { user_id: "m-1" } }, "u-1"],
    ["safety_identifier", { user: " ", safety_identifier: "s-1", metadata: { user_id: "m-1" } }, "s-1"],
    ["metadata.user_id", { user: 7, safety_identifier: null, metadata: { user_id: "m-1" } }, "m-1"],
    ["the whole characters of 256 units", { user: `${"u".repeat(255)}\u{1f600}` }, "u".repeat(255)],
    ["no half character", { user: "\ud800", metadata: ["user_id"] }, ""],
  ])("is %s", (_, root, expected) => {
    expect(endUserOf(wholeDocument(root))).toBe(expected);
  });
});
