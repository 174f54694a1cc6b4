/**
 * Whether read records are as new as the Cell's revisions (docs/rules/freshness.md#revisions,
 * docs/rules/freshness.md#every-use-compares).
 */
import { describe, expect, it } from "vitest";
import type { RevItem } from "../../../shared/wire/internal.ts";
import { refusalOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { NOTHING_KNOWN } from "../call/known.ts";
import { readUntilCurrent } from "./freshness.ts";

const model = (id: string, rev: number): RevItem => ({ kind: "model", id, rev });

/** The outcome of these reads, one after another, when the Cell answers `known` to each question. */
async function outcome(reads: readonly RevItem[][], known: readonly RevItem[][]) {
  const world = new TestPipeline();
  const asked: string[][] = [];
  world.stale = (items) => {
    const news = known[asked.length] ?? [];
    asked.push(items.map(({ id, rev }) => `${id} ${rev}`));
    return news.filter((item) => items.some(({ id, rev }) => id === item.id && rev < item.rev));
  };
  const left = [...reads];
  const read = () => ({ ...NOTHING_KNOWN, items: left.shift() ?? [] });
  const got = readUntilCurrent(
    world.call(),
    read(),
    ({ items }) => items,
    async () => read(),
  );
  const found = await got.then(({ items }) => items.map(({ id, rev }) => `${id} ${rev}`), refusalOf);
  return { found, asked };
}

describe("a record that was read", () => {
  it("is read again if the Cell knows a newer one, and used once it is as new as reported", async () => {
    const reads = [
      [model("a", 1), model("b", 1)],
      [model("a", 2), model("b", 1)],
    ];
    expect(await outcome(reads, [[model("a", 2)]])).toEqual({ found: ["a 2", "b 1"], asked: [["a 1", "b 1"]] });
  });

  it("is not outdated by a change that comes while it is read again", async () => {
    const reads = [
      [model("a", 1), model("b", 1)],
      [model("a", 2), model("b", 1)],
    ];
    expect((await outcome(reads, [[model("a", 2)], [model("b", 2)]])).found).toEqual(["a 2", "b 1"]);
  });

  it("is refused when it stays older than the Cell reported", async () => {
    expect((await outcome([[model("a", 1)], [model("a", 1)]], [[model("a", 2)]])).found).toBe("key_store_unavailable");
  });

  it("is compared again when it comes with others", async () => {
    const reads = [[model("a", 1)], [model("b", 1)], [model("b", 2)]];
    const known = [[model("a", 2)], [model("b", 2)]];
    expect(await outcome(reads, known)).toEqual({ found: ["b 2"], asked: [["a 1"], ["b 1"]] });
  });
});
