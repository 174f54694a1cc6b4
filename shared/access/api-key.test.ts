import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { hashKeySecret, isKeySecret, keyPrefix, makeKeySecret } from "./api-key.ts";

const secret = makeKeySecret(Uint8Array.from({ length: 24 }, (_, index) => index * 10));

describe("api key", () => {
  it("is sk_ and 48 hex characters; 18 characters of it are displayed", () => {
    expect(secret).toBe("sk_000a141e28323c46505a646e78828c96a0aab4bec8d2dce6");
    expect(secret).toHaveLength(51);
    expect(keyPrefix(secret)).toBe("sk_000a141e28323c4");
    expect(isKeySecret(secret)).toBe(true);
  });

  it("is made of exactly 24 bytes", () => {
    expect(() => makeKeySecret(new Uint8Array(23))).toThrow(RangeError);
  });

  it.each(["", "sk_", `pk_${"0".repeat(48)}`, `sk_${"0".repeat(47)}`, `sk_${"0".repeat(49)}`, `sk_${"G".repeat(48)}`])(
    "refuses the shape of %j",
    (text) => {
      expect(isKeySecret(text)).toBe(false);
    },
  );

  it("is hashed alone, or followed by 0x00 and the pepper", () => {
    expect(hashKeySecret(secret, undefined)).toBe(createHash("sha256").update(secret).digest("hex"));
    const peppered = createHash("sha256").update(
      Buffer.concat([Buffer.from(secret), Buffer.from([0]), Buffer.from("salt")]),
    );
    expect(hashKeySecret(secret, "salt")).toBe(peppered.digest("hex"));
  });
});
