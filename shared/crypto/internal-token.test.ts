import { hkdfSync } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { deriveInternalToken } from "./internal-token.ts";

it("is derived from the admin token by HKDF, the same every time, and never the admin token", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary", minLength: 1 }), async (adminToken) => {
      const derived = await deriveInternalToken(adminToken);
      const expected = hkdfSync("sha256", adminToken, "", "gateway-internal-token", 32);
      expect(derived).toBe(Buffer.from(expected).toString("hex"));
      expect(derived).not.toBe(adminToken);
    }),
  );
  const own = await deriveInternalToken("admin-token-of-a-test");
  expect(await deriveInternalToken(own)).not.toBe(own);
});
