/** Which tools of a server a model is offered (docs/rules/tool-loop.md#discovery). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { toolPageOf } from "./tool-list.ts";

const namesOf = (tools: readonly unknown[]) => atOnce(toolPageOf({ tools }))?.tools.map(({ name }) => name);

/** A schema of so many levels. */
function deep(levels: number): object {
  let schema: object = {};
  for (let level = 0; level < levels; level += 1) schema = { properties: schema };
  return schema;
}

describe("a list of tools", () => {
  it("becomes functions", () => {
    const inputSchema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
    const page = atOnce(
      toolPageOf({ tools: [{ name: "search", description: "Finds.", inputSchema }], nextCursor: "2" }),
    );
    expect(page).toMatchObject({ nextCursor: "2" });
    const definition = {
      type: "function",
      function: { name: "search", description: "Finds.", parameters: inputSchema },
    };
    expect(page?.tools).toEqual([{ name: "search", definition, characters: JSON.stringify(definition).length }]);
  });

  it.each([
    [undefined, { type: "object", properties: {} }],
    [[], { type: "object", properties: {} }],
    [{ type: "string" }, { type: "object", properties: {} }],
    [
      { $defs: { a: {} }, properties: { b: {} } },
      { $defs: { a: {} }, type: "object", properties: { b: {} } },
    ],
  ])("returns the schema %j as %j", (inputSchema, parameters) => {
    expect(atOnce(toolPageOf({ tools: [{ name: "t", inputSchema }] }))?.tools[0]?.definition).toEqual({
      type: "function",
      function: { name: "t", parameters },
    });
  });

  it.each(["", "a b", "a.b", "a/b", "a\u0000", "a\n", "é", "\u202e", "x".repeat(65), 7, null, {}])(
    "leaves out the name %j",
    (name) => {
      expect(namesOf([{ name }, { name: "kept" }])).toEqual(["kept"]);
    },
  );

  it("leaves out what is too large or too deep, and cuts descriptions", () => {
    expect(namesOf([{ name: "a", inputSchema: { properties: { x: { description: "d".repeat(40_000) } } } }])).toEqual(
      [],
    );
    expect(namesOf([{ name: "a", inputSchema: deep(100_000) }, { name: "b" }])).toEqual(["b"]);
    const [cut] =
      atOnce(toolPageOf({ tools: [{ name: "a", description: "\ud83d\ude00".repeat(10_000) }] }))?.tools ?? [];
    expect(cut?.characters).toBeLessThan(4300);
  });

  it("leaves out what says too much beside its definition, and looks at no more than shows it", () => {
    const tools = [200_000, 300_000].flatMap((length) => [
      { name: `text-${length}`, _meta: "m".repeat(length) },
      { name: `names-${length}`, _meta: { ["m".repeat(length)]: 1 } },
      { name: `numbers-${length}`, _meta: Array<number>(length / 2).fill(1) },
    ]);
    expect(namesOf(tools)).toEqual(["text-200000", "names-200000", "numbers-200000"]);
    const steps = toolPageOf({ tools: [{ name: "a", _meta: Array.from({ length: 500_000 }, () => ({ a: 1 })) }] });
    expect([...steps].length).toBeLessThan(5);
  });

  it("has another page only if it says so", () => {
    for (const nextCursor of [undefined, null, "", 7, "x".repeat(5000)])
      expect(atOnce(toolPageOf({ tools: [], nextCursor }))?.nextCursor).toBeNull();
  });

  it("is null when it has no tools", () => {
    expect(atOnce(toolPageOf({}))).toBeNull();
    expect(atOnce(toolPageOf({ tools: { length: 1 } }))).toBeNull();
  });

  it("never fails", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (tools) => {
        for (const { name } of atOnce(toolPageOf({ tools }))?.tools ?? [])
          expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
    );
  });
});
