import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FIRST_LIFE, lifeAfter } from "./cell-life.ts";

describe("the numbers of a Cell's lives", () => {
  it("start at the first, and each is the next", () => {
    expect({
      withoutLife: lifeAfter(null),
      afterFirst: lifeAfter(String(FIRST_LIFE)),
      afterLater: lifeAfter("16384"),
    }).toEqual({ withoutLife: FIRST_LIFE, afterFirst: FIRST_LIFE + 1, afterLater: 16_385 });
  });

  it("grow exactly, also after a number on the disk that cannot be read", () => {
    const texts = fc.oneof(fc.string(), fc.double().map(String), fc.json());
    fc.assert(
      fc.property(texts, (text) => {
        const first = lifeAfter(text);
        const second = lifeAfter(String(first));
        expect(first).toBeGreaterThanOrEqual(FIRST_LIFE);
        expect(second).toBeGreaterThan(first);
        expect([first, second].every(Number.isSafeInteger)).toBe(true);
      }),
    );
  });
});
