import { expect, it } from "vitest";
import { firstNode, hostOf } from "./node-address.ts";

it.each([
  ["n1", "n1"],
  ["n1,n2", "n1"],
  ["n[01-04,7],m1", "n01"],
  ["r[1-2]n[3,5]", "r1n3"],
  ["gpu-a.cluster.example", "gpu-a.cluster.example"],
  ["n[0-999999999999]", "n0"],
  ["", null],
  ["(null)", null],
  ["n[", null],
  ["n[x]", null],
  ["n]1", null],
  ["../x", null],
  ["a@b", null],
])("the first node of %s is %s", (expression, node) => {
  expect(firstNode(expression)).toBe(node);
});

it("takes a hostile expression in linear time", () => {
  expect(firstNode("[1]".repeat(100_000))).toBeNull();
});

it.each([
  ["n1", "n1"],
  ["N1", "n1"],
  ["v4", "10.0.0.7"],
  ["v6", "[fd00::1]"],
  ["bad", null],
])("the host of %s is %s", (node, host) => {
  const aliases = new Map([
    ["v4", "10.0.0.7"],
    ["v6", "fd00::1"],
    ["bad", "10.0.0.7/x"],
  ]);
  expect(hostOf(node, aliases)).toBe(host);
});
