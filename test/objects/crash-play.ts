/**
 * One act of the crash tests: a scene is arranged, its request runs to its end, and Cell, Ledger and budget are held against
 * what it should leave behind.
 */
import { expect } from "vitest";
import { CrashScene } from "./crash-scene.ts";

type Billed = "nothing" | "estimate";

export interface Act {
  readonly what: string;
  readonly arrange: (scene: CrashScene) => void;
  /** What the client is answered; null: it hears nothing, or not all. */
  readonly answer: number | null;
  /** The one row that is left; null: none. */
  readonly left: null | readonly [status: number | "499 or 503", billed: Billed];
}

/** The fault of a test. */
export function broken(): never {
  throw new TypeError("a fault of a test");
}

/** Plays an act. */
export async function playCrash({ arrange, answer, left }: Act): Promise<void> {
  const scene = await CrashScene.open();
  arrange(scene);
  expect(await scene.run()).toBe(answer);
  await scene.emptied();
  const rows = await scene.rows();
  expect(rows.map(billedAs)).toEqual(left === null ? [] : [left[1]]);
  const [row] = rows;
  if (left !== null && row !== undefined) {
    expect(left[0] === "499 or 503" ? [499, 503] : [left[0]]).toContain(row["status_code"]);
    expect(Number(row["cost_usd"]) > 0).toBe(left[1] === "estimate");
  }
  const used = await scene.usedTokens();
  if (used !== null) expect(used).toBe(Number(row?.["total_tokens"] ?? 0));
}

function billedAs(row: Readonly<Record<string, unknown>>): Billed | "something else" {
  if (row["total_tokens"] === 0) return "nothing";
  return row["total_tokens"] === row["estimated_tokens"] ? "estimate" : "something else";
}
