/**
 * One crash test: it prepares a scene, runs the scene's request to its end, and compares Cell, Ledger and budget with what
 * the request should leave behind.
 */
import { expect } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { CrashScene } from "./crash-scene.ts";

type Billed = "nothing" | "estimate" | "what was seen";

export interface Act {
  readonly what: string;
  readonly arrange: (scene: CrashScene) => void;
  /** The status that the client gets; null: the client gets no answer, or only a part of it. */
  readonly answer: number | null;
  /** The one usage row that the request leaves; null: it leaves none. */
  readonly left: null | readonly [status: number, billed: Billed];
}

export function broken(): never {
  throw new TypeError("a fault of a test");
}

export async function playCrash({ arrange, answer, left }: Act): Promise<void> {
  const scene = await CrashScene.open();
  arrange(scene);
  expect(await scene.run()).toBe(answer);
  await scene.emptied();
  const rows = await waitFor(
    async () => await scene.rows(),
    ({ length }) => left === null || length > 0,
  );
  expect(rows.map(billedAs)).toEqual(left === null ? [] : [left[1]]);
  const [row] = rows;
  if (left !== null && row !== undefined) {
    expect(row["status_code"]).toBe(left[0]);
    expect(Number(row["cost_usd"]) > 0).toBe(left[1] !== "nothing");
  }
  const used = await scene.usedTokens();
  if (used !== null) expect(used).toBe(Number(row?.["total_tokens"] ?? 0));
}

function billedAs(row: Readonly<Record<string, unknown>>): Billed | "something else" {
  if (row["total_tokens"] === 0) return "nothing";
  const [total, estimated] = [Number(row["total_tokens"]), Number(row["estimated_tokens"])];
  if (total > estimated) return "something else";
  return total === estimated ? "estimate" : "what was seen";
}
