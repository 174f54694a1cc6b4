/** Relays of bodies that always have more leave turns to others (docs/rules/request-bodies.md#work). */
import { expect, it } from "vitest";
import { Turns } from "../call/memory/turns.ts";
import { ByteTurns } from "./byte-turns.ts";

const KIB = 1024;

function isolate() {
  const waits: number[] = [];
  const ports = { clock: () => 0, sleep: async (ms: number) => void waits.push(ms) };
  const memory = { turns: new Turns() };
  return { waits, turnsOf: () => new ByteTurns({ ports, memory, request: {} }) };
}

it.each([
  ["small pieces", Array.from({ length: 1024 }, () => KIB), 4],
  ["large pieces", [1024 * KIB, 1, 255 * KIB, KIB], 2],
  ["a short body", [255 * KIB], 0],
])("gives everybody else a turn after every 256 KiB of %s", async (_, pieces, expected) => {
  const { waits, turnsOf } = isolate();
  const turns = turnsOf();
  for (const bytes of pieces) await turns.after(bytes);
  expect(waits).toEqual(Array.from({ length: expected }, () => 0));
});

it("have as many bytes together as one of them alone, until others end", async () => {
  const { turnsOf } = isolate();
  const bodies = Array.from({ length: 8 }, turnsOf);
  for (const turns of bodies) await turns.after(256 * KIB);
  const roomOf = async (turns: ByteTurns): Promise<number> => {
    await turns.after(256 * KIB);
    for (let bytes = 0; ; bytes += 4 * KIB) {
      const turn = turns.after(4 * KIB);
      if (turn !== undefined) return bytes + 4 * KIB;
    }
  };
  const shared = await roomOf(bodies[0] as ByteTurns);
  for (const turns of bodies.slice(1)) turns.end();
  expect({ shared, alone: await roomOf(bodies[0] as ByteTurns) }).toEqual({ shared: 32 * KIB, alone: 256 * KIB });
});
