import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { sha256Hex } from "./sha256.ts";

const platform = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");

it("hashes texts of every length around the end of a block as the platform does", () => {
  for (let length = 0; length <= 200; length += 1)
    expect(sha256Hex("é".repeat(length % 5) + "x".repeat(length))).toBe(
      platform("é".repeat(length % 5) + "x".repeat(length)),
    );
});

it("hashes any text as the platform does", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => sha256Hex(text) === platform(text)));
});
