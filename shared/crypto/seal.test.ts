import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CAPTURE_PURPOSE, importSealKey, isSealed, isSealedWithOld, SealError, seal, unseal } from "./seal.ts";

const makeKey = async () => await importSealKey(randomBytes(32).toString("base64"));

describe("seal", () => {
  it("opens what it sealed, and never gives the same sealed text twice", async () => {
    const key = await makeKey();
    const [first, second] = [await seal("sk-upstream ✓", key), await seal("sk-upstream ✓", key)];
    expect(isSealed(first)).toBe(true);
    expect(first).not.toContain("upstream");
    expect(first).not.toBe(second);
    expect(await unseal(first, key)).toBe("sk-upstream ✓");
  });

  it("keeps plaintext when no key is set, and reads it back with or without one", async () => {
    expect(await seal("plain", undefined)).toBe("plain");
    expect(await unseal("plain", undefined)).toBe("plain");
    expect(await unseal("plain", await makeKey())).toBe("plain");
  });

  it("says why a sealed value cannot be opened, without showing it", async () => {
    const sealed = await seal("secret-text", await makeKey());
    await expect(unseal(sealed, undefined)).rejects.toThrow("no encryption key is configured");
    await expect(unseal(sealed, await makeKey())).rejects.toThrow("different encryption key");
    await expect(unseal("enc:v1:!!", await makeKey())).rejects.toThrow("damaged");
  });

  it("opens with an old key what that key sealed, and seals with the current one only", async () => {
    const [first, second] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
    const [before, rotated, after] = [
      await importSealKey(first),
      await importSealKey(second, [first]),
      await importSealKey(second),
    ];
    const sealed = await seal("secret-text", before);
    expect(await unseal(sealed, rotated)).toBe("secret-text");
    await expect(unseal(sealed, after)).rejects.toThrow("different encryption key");
    const anew = await seal("secret-text", rotated);
    expect(await unseal(anew, after)).toBe("secret-text");
    const old = async (text: string) => await isSealedWithOld(text, rotated);
    expect({ sealed: await old(sealed), anew: await old(anew), plain: await old("plain") }).toEqual({
      sealed: true,
      anew: false,
      plain: false,
    });
  });

  it("opens nothing that was sealed for another purpose", async () => {
    const text = randomBytes(32).toString("base64");
    const [plain, derived] = [await importSealKey(text), await importSealKey(text, [], CAPTURE_PURPOSE)];
    const [ofPlain, ofDerived] = [await seal("secret-text", plain), await seal("secret-text", derived)];
    expect(await unseal(ofDerived, await importSealKey(text, [], CAPTURE_PURPOSE))).toBe("secret-text");
    await expect(unseal(ofDerived, plain)).rejects.toThrow("different encryption key");
    await expect(unseal(ofPlain, derived)).rejects.toThrow("different encryption key");
  });

  it.each(["", "abc", Buffer.alloc(31).toString("base64"), Buffer.alloc(33).toString("base64"), "!".repeat(44)])(
    "refuses the key %j",
    async (text) => {
      await expect(importSealKey(text)).rejects.toBeInstanceOf(SealError);
    },
  );
});
