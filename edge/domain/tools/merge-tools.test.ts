/** Whose tools a request has (docs/rules/tool-loop.md#merge). */
import { describe, expect, it } from "vitest";
import { mergeTools } from "./merge-tools.ts";
import { type OfferedTool, offeredToolOf } from "./tool-list.ts";

const tool = (name: string, description = ""): OfferedTool => {
  const made = offeredToolOf(name, description, {});
  if (made === null) throw new Error(`${name} cannot be offered`);
  return made;
};
const ofClient = (name: string) => ({ type: "function", function: { name } });

describe("merged tools", () => {
  it("are the client's, then each owner's in order", () => {
    const merged = mergeTools(
      [ofClient("mine")],
      [
        { owner: "a", tools: [tool("one"), tool("two")] },
        { owner: "b", tools: [tool("three")] },
      ],
    );
    expect(merged?.all).toEqual([
      ofClient("mine"),
      tool("one").definition,
      tool("two").definition,
      tool("three").definition,
    ]);
    expect(merged?.ofClient).toEqual([ofClient("mine")]);
    expect([...(merged?.owners ?? [])]).toEqual([
      ["one", "a"],
      ["two", "a"],
      ["three", "b"],
    ]);
  });

  it("keep the client's tool of a name, then the first owner's", () => {
    const clientTools = [ofClient("x"), { type: "custom", custom: { name: "y" } }, { name: "z" }, null, 7, "x"];
    const merged = mergeTools(clientTools, [
      { owner: "a", tools: [tool("x"), tool("y"), tool("z"), tool("v", "of a"), tool("v", "again")] },
      { owner: "b", tools: [tool("v", "of b"), tool("w")] },
    ]);
    expect([...(merged?.owners ?? [])]).toEqual([
      ["v", "a"],
      ["w", "b"],
    ]);
    expect(merged?.all.slice(6)).toEqual([tool("v", "of a").definition, tool("w").definition]);
  });

  it("are none when nothing can be added", () => {
    expect(mergeTools([ofClient("x")], [{ owner: "a", tools: [tool("x")] }])).toBeNull();
    expect(mergeTools([], [])).toBeNull();
  });

  it("take names of every object's prototype", () => {
    const names = ["constructor", "__proto__", "toString"];
    const merged = mergeTools([], [{ owner: "a", tools: names.map((name) => tool(name)) }]);
    expect([...(merged?.owners.keys() ?? [])]).toEqual(names);
    expect(merged?.owners.has("valueOf")).toBe(false);
  });

  it("are as many as upstreams take, and no larger than a request should get", () => {
    const many = Array.from({ length: 300 }, (_, nth) => tool(`t${nth}`));
    expect(mergeTools([ofClient("x")], [{ owner: "a", tools: many }])?.all.length).toBe(128);
    const large = Array.from({ length: 100 }, (_, nth) => tool(`t${nth}`, "d".repeat(4096)));
    const merged = mergeTools([], [{ owner: "a", tools: large }]);
    expect(JSON.stringify(merged?.all).length).toBeLessThan(257 * 1024);
    expect(merged?.owners.size).toBeGreaterThan(50);
  });
});
