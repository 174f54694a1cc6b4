/** How fast the messages of a side of a realtime session may come. */
import { expect, it } from "vitest";
import { MessageRate } from "./message-rate.ts";

/** How many of so many messages are allowed at this time. */
const allowedOf = (rate: MessageRate, count: number, nowMs: number): number =>
  Array.from({ length: count }, () => rate.allows(nowMs)).filter(Boolean).length;

it("a side sends five seconds' worth at once, and then as many as time gives", () => {
  const rate = new MessageRate(100);
  expect({
    first: allowedOf(rate, 600, 10_000),
    atOnce: allowedOf(rate, 10, 10_000),
    soon: allowedOf(rate, 10, 10_030),
    back: allowedOf(rate, 10, 5_000),
    afterwards: allowedOf(rate, 10, 5_050),
    later: allowedOf(rate, 600, 60_000),
  }).toEqual({ first: 500, atOnce: 0, soon: 3, back: 0, afterwards: 5, later: 500 });
});
