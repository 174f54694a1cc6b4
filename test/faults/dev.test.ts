/**
 * `npm run dev`: the Worker gets its secrets unchanged, and they are on no command line, because every user of the machine
 * can read command lines.
 *
 * @module-tag long
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { deriveInternalToken } from "../../shared/crypto/internal-token.ts";
import { Gateway } from "../harness/gateway.ts";
import { launchDev, processesBelow, processesOf, whenReady } from "../harness/launched.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "gateway-dev-"));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

it("hands secrets on unchanged and hidden, whatever characters they contain", async () => {
  const pepper = `pepper-$HOME-\${HOME}-'"\`\\n-${randomBytes(8).toString("hex")}`;
  const GATEWAY_ENCRYPTION_KEY = randomBytes(32).toString("base64");
  const upstream = await startTestUpstream();
  const stack = await whenReady(
    launchDev(dataDir, { GATEWAY_API_KEY_PEPPER: pepper, GATEWAY_ENCRYPTION_KEY }),
    dataDir,
  );
  const gateway = new Gateway(stack);
  // Both planes must have the same pepper, or the key is unknown, and the same encryption key, or the credential cannot be
  // opened.
  const minted = await gateway.mint(upstream.url, "plain", { api_key: "credential-of-the-upstream" });
  const answer = await gateway.chat(minted);
  expect({ status: answer.status, hasBody: (await answer.text()).length > 0 }).toEqual({ status: 200, hasBody: true });
  expect(upstream.seen(minted.mark)[0]?.headers["authorization"]).toBe("Bearer credential-of-the-upstream");

  const secrets = [pepper, GATEWAY_ENCRYPTION_KEY, stack.adminToken, await deriveInternalToken(stack.adminToken)];
  for (const secret of secrets) expect(await processesOf(secret)).toEqual([]);
  // Others on this machine may name the variable.
  const own = await processesBelow(stack.pid);
  expect(own.filter((line) => line.includes("wrangler"))).not.toEqual([]);
  expect(own.filter((line) => line.includes("GATEWAY_INTERNAL_TOKEN"))).toEqual([]);
  expect(await stack.end("SIGTERM")).toBe(0);
  await waitFor(
    async () => await processesOf(dataDir),
    (left) => left.length === 0,
  );
  await upstream.close();
});
