/** Relays of bodies that always have more leave turns to others (docs/rules/streams.md#two-relays). */
import { expect, it } from "vitest";
import { ByteTurns } from "./byte-turns.ts";

const KIB = 1024;

it.each([
  ["small pieces", Array.from({ length: 1024 }, () => KIB), 4],
  ["large pieces", [1024 * KIB, 1, 255 * KIB, KIB], 2],
  ["a short body", [255 * KIB], 0],
])("gives everybody else a turn after every 256 KiB of %s", async (_, pieces, expected) => {
  const waits: number[] = [];
  const turns = new ByteTurns({ sleep: async (ms) => void waits.push(ms) });
  for (const bytes of pieces) await turns.after(bytes);
  expect(waits).toEqual(Array.from({ length: expected }, () => 0));
});
