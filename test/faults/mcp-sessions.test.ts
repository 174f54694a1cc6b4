/**
 * The tenant of an MCP session is kept in the key-value store for a day; when the store is away, only what an
 * isolate has seen is known (docs/rules/mcp.md#sessions).
 * @module-tag check
 */
import { expect, it } from "vitest";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import { useBridgedStack } from "../harness/bridged-stack.ts";
import type { Minted } from "../harness/gateway.ts";
import { startMcpUpstream } from "../harness/mcp-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const DAY_SECS = 24 * 60 * 60;
const bridged = useBridgedStack();
const upstream = useStarted(startMcpUpstream);

it("is renewed by use, and passes for no other tenant while the store is down", async () => {
  const [own, other] = await Promise.all([bridged.gateway.mint(upstream().url), bridged.gateway.mint(upstream().url)]);
  const id = `session-${own.mark}`;
  await bridged.gateway.must("POST", "/mcp-servers", { name: own.mark, upstream_url: upstream().url });
  const statusOf = async ({ secret }: Minted, rest = "/status=200", session: string | null = id): Promise<number> => {
    const headers = {
      authorization: `Bearer ${secret}`,
      ...(session === null ? {} : { "mcp-session-id": session }),
    };
    const response = await fetch(`${bridged.stack.proxyUrl}/mcp/${own.mark}${rest}`, {
      method: "POST",
      headers,
      body: "{}",
    });
    await response.text();
    return response.status;
  };
  const name = storeKeys.mcpSession(own.mark, sha256Hex(id));
  const keptSecs = async (): Promise<number> => Number(await bridged.backend.call(["TTL", name]));

  expect(await statusOf(own, `/session=${id}`, null)).toBe(200);
  expect(await bridged.backend.call(["GET", name])).toBe(own.tenant.id);
  expect(await keptSecs()).toBeGreaterThan(DAY_SECS - 3600);
  expect(await statusOf(other)).toBe(404);

  await bridged.backend.call(["EXPIRE", name, "100"]);
  expect(await statusOf(other)).toBe(404);
  expect(await keptSecs()).toBeLessThanOrEqual(100);
  expect(await statusOf(own)).toBe(200);
  await waitFor(keptSecs, (secs) => secs > DAY_SECS - 3600);

  const storeReturns = await bridged.storeLeaves();
  expect({
    other: await statusOf(other),
    own: await statusOf(own),
    unknown: await statusOf(own, "/status=200", `unseen-${own.mark}`),
  }).toEqual({ other: 404, own: 200, unknown: 503 });
  await storeReturns();
  await waitFor(
    async () => await statusOf(other),
    (status) => status === 404,
  );
  expect(await statusOf(own)).toBe(200);
});
