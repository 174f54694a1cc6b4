import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Epochs, FIRST_LIFE, LAST_LIFE, lifeAfter } from "./epochs.ts";

/** A disk that keeps the number of the last life as text. */
function disk(stored: string | null = null) {
  let life = stored;
  return () => {
    life = String(lifeAfter(life));
    return Number(life);
  };
}

describe("the numbers of wallets", () => {
  it("grow over all lives of a cell, exactly, and count a life only when one of its numbers is wanted", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { maxLength: 50 }), (lives) => {
        const counted = { lives: 0 };
        const next = disk();
        const given = lives.flatMap((wallets) => {
          const epochs = new Epochs(() => {
            counted.lives += 1;
            return next();
          });
          return Array.from({ length: wallets }, () => epochs.next());
        });
        expect(given).toEqual([...new Set(given)].toSorted((a, b) => a - b));
        expect(given.every(Number.isSafeInteger)).toBe(true);
        expect(counted.lives).toBe(lives.filter((wallets) => wallets > 0).length);
      }),
    );
  });

  it("are larger than those that the clock gave to earlier versions, and exact in the last life", () => {
    expect(new Epochs(disk()).next()).toBeGreaterThan(Date.UTC(2100, 0));
    expect(Number.isSafeInteger(new Epochs(() => LAST_LIFE).next() + 2 ** 28 - 1)).toBe(true);
  });

  it("grow also after a number on the disk that cannot be read", () => {
    const texts = fc.oneof(fc.string(), fc.double().map(String), fc.json());
    fc.assert(
      fc.property(texts, (text) => {
        const next = disk(text);
        const [first, second] = [next(), next()];
        expect(second).toBeGreaterThan(first);
        expect(first).toBeGreaterThanOrEqual(FIRST_LIFE);
        expect(second).toBeLessThanOrEqual(LAST_LIFE);
      }),
    );
  });
});
