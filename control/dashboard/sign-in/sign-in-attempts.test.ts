/** How many wrong passwords are checked, whoever guesses (docs/rules/console.md#break-glass). */
import { describe, expect, it } from "vitest";
import { SignInAttempts } from "./sign-in-attempts.ts";

const WINDOW_MS = 15 * 60_000;
const SPACING_MS = 30_000;

let nowMs = 0;

function attemptsAt0(): SignInAttempts {
  nowMs = 0;
  return new SignInAttempts(() => nowMs);
}

/** Tries wrong passwords as each of these, at the same instant; how many were checked. */
function checked(attempts: SignInAttempts, guessers: readonly string[]): number {
  return guessers.filter((guesser) => {
    if (attempts.waitMs(guesser) > 0) return false;
    attempts.failed(guesser);
    return true;
  }).length;
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, nth) => nth);
/** Networks of /64 in a /48. */
const networks = (count: number): readonly string[] => numbers(count).map((nth) => `2001:db8:0:${nth.toString(16)}::1`);
/** More than are remembered. */
const addresses = numbers(12_000).map((nth) => `10.1.${nth >> 8}.${nth & 255}`);

describe("wrong passwords that are checked", () => {
  it("are 300 of all addresses together, however many there are and however often they come", () => {
    const attempts = attemptsAt0();
    expect(numbers(2).map(() => checked(attempts, addresses))).toEqual([300, 0]);
  });

  it("are then one in 30 s of all addresses, until the 15 minutes have ended", () => {
    const attempts = attemptsAt0();
    checked(attempts, addresses);
    nowMs = SPACING_MS;
    expect(checked(attempts, addresses)).toBe(1);
    nowMs = WINDOW_MS;
    expect(checked(attempts, addresses)).toBe(300);
  });

  it.each([
    ["a /48 are 100", networks(1 << 10), 100],
    ["a /56 are 50", networks(1 << 8), 50],
    ["a /64 are 5", numbers(1 << 8).map((nth) => `2001:db8::${nth.toString(16)}`), 5],
  ])("of an IPv6 network of %s", (_, guessers, count) => {
    const attempts = attemptsAt0();
    expect(numbers(2).map(() => checked(attempts, guessers))).toEqual([count, 0]);
  });
});

describe("who never guessed signs in at once", () => {
  it("from an address, whatever all networks of a /48 have guessed for 15 minutes", () => {
    const attempts = attemptsAt0();
    for (nowMs = 0; nowMs < WINDOW_MS; nowMs += SPACING_MS) checked(attempts, networks(200));
    nowMs = WINDOW_MS - 1;
    expect({ near: attempts.waitMs("2001:db8:1::1"), far: attempts.waitMs("203.0.113.1") }).toEqual({
      near: 0,
      far: 0,
    });
  });

  it("as a user of the machine or in a known browser, whatever all addresses have guessed", () => {
    const attempts = attemptsAt0();
    checked(attempts, addresses);
    expect(
      ["203.0.113.1", "user 1000", "browser x", "127.0.0.1"].map((guesser) => attempts.waitMs(guesser) > 0),
    ).toEqual([true, false, false, false]);
  });
});
