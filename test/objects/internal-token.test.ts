/**
 * The token between the planes at a Worker that has only the admin token: it is derived
 * (docs/rules/internal-traffic.md#internal-token).
 */
import { createExecutionContext, env } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import type { Bindings } from "../../edge/bindings.ts";
import { deriveInternalToken } from "../../shared/crypto/internal-token.ts";

// Test files share an isolate, which keeps the parts that it has made of the first file's variables.
vi.resetModules();
const { serve } = await import("../../edge/app.ts");

const OLD_TOKEN = "admin-token-of-before";
const ADMIN_TOKEN = "admin-token-of-a-worker";

async function statusWith(token: string | null): Promise<number> {
  const { GATEWAY_INTERNAL_TOKEN: _none, ...bindings } = env as unknown as Bindings;
  const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
  const request = new Request("http://gateway.test/internal/stats", { headers });
  const tokens = { GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN, GATEWAY_ADMIN_TOKEN_OLD: OLD_TOKEN };
  const response = await serve(request, { ...bindings, ...tokens }, createExecutionContext());
  await response.text();
  return response.status;
}

it("opens the internal routes; the admin token or a missing token does not", async () => {
  // An object of an earlier file ends with the modules that were reset, and fails the first call that reaches it.
  await expect.poll(async () => await statusWith(await deriveInternalToken(ADMIN_TOKEN))).toBe(200);
  expect(await statusWith(await deriveInternalToken(OLD_TOKEN))).toBe(200);
  for (const token of [ADMIN_TOKEN, OLD_TOKEN, "", null, "undefined"])
    expect({ token, status: await statusWith(token) }).toEqual({ token, status: 404 });
});
