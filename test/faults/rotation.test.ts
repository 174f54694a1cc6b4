/**
 * The encryption key, the pepper, the internal token and the admin token are replaced in a running gateway whose planes are processes
 * of their own, restarted one at a time (docs/rotate.md).
 *
 * @module-tag long
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CONTROL_ARGS } from "../../infra/local/control.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { Rotation } from "../../shared/schema/rotation.ts";
import { Gateway } from "../harness/gateway.ts";
import { startPlanes } from "../harness/planes.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const EDGE = join(import.meta.dirname, "../../infra/local/edge-main.ts");

const secretsOf = (name: string) => ({
  GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
  GATEWAY_API_KEY_PEPPER: `pepper-${name}`,
  GATEWAY_INTERNAL_TOKEN: `internal-token-${name}`,
  GATEWAY_ADMIN_TOKEN: `admin-token-${name}`,
});
type Secrets = ReturnType<typeof secretsOf>;

/** A plane with the secrets `now` that accepts `old` too. */
const accepting = (now: Secrets, old: Secrets) => ({
  ...now,
  GATEWAY_ENCRYPTION_KEYS_OLD: old.GATEWAY_ENCRYPTION_KEY,
  GATEWAY_API_KEY_PEPPERS_OLD: old.GATEWAY_API_KEY_PEPPER,
  GATEWAY_INTERNAL_TOKEN_OLD: old.GATEWAY_INTERNAL_TOKEN,
  GATEWAY_ADMIN_TOKEN_OLD: old.GATEWAY_ADMIN_TOKEN,
});

it("keys, stored secrets and budgets live through a rotation of all four secrets", async () => {
  const [before, after] = [secretsOf("before"), secretsOf("after")];
  const folder = mkdtempSync(join(tmpdir(), "gateway-rotation-"));
  const upstream = await startTestUpstream();
  const planes = await startPlanes(
    { control: { command: process.execPath, args: CONTROL_ARGS }, edge: { command: process.execPath, args: [EDGE] } },
    folder,
    {},
    before,
  );
  try {
    const { proxyUrl } = planes.gateway;
    const { adminUrl, metricsUrl } = planes;
    const withToken = (adminToken: string) => new Gateway({ proxyUrl, adminUrl, adminToken, metricsUrl });
    const [first, last] = [withToken(before.GATEWAY_ADMIN_TOKEN), withToken(after.GATEWAY_ADMIN_TOKEN)];
    const minted = await first.mint(upstream.url, "plain", { api_key: "credential-of-the-upstream" });
    await first.must("PATCH", `/tenants/${minted.tenant.id}`, { budget_tokens: 100_000 });
    const rotated = await first.must<{ secret: string }>("POST", `/keys/${minted.key.id}/rotate`, { grace_secs: 3600 });
    const current = { ...minted, secret: rotated.secret };
    const credentials = new Set<string | undefined>();
    let answered = 0;
    /** Both secrets of the key are served, with the credential of the model. */
    const served = async (when: string): Promise<void> => {
      for (const caller of [minted, current]) {
        const { status } = await first.chat(caller);
        expect({ when, status }).toEqual({ when, status: 200 });
        answered += 1;
      }
      for (const { headers } of upstream.seen(minted.mark)) credentials.add(headers.authorization);
    };
    const status = async (gateway: Gateway): Promise<Rotation> => await gateway.must<Rotation>("GET", "/rotation");
    await served("before");

    for (const plane of ["edge", "control"] as const) {
      await planes.restart(plane, accepting(before, after));
      await served(`${plane} knows the new secrets`);
    }
    for (const plane of ["control", "edge"] as const) {
      await planes.restart(plane, accepting(after, before));
      await served(`${plane} uses the new secrets`);
    }
    expect((await status(first)).admin_token.old_accepted).toBe(true);
    const left = await waitFor(
      async () => {
        await served("until nothing is left");
        return await status(last);
      },
      ({ encryption_key, api_key_pepper }) => encryption_key.records_left === 0 && api_key_pepper.keys_left === 0,
      100_000,
    );
    expect(left).toMatchObject({
      encryption_key: { old_keys: 1, records_left: 0 },
      api_key_pepper: { old_peppers: 1, keys_left: 0 },
      admin_token: { old_accepted: true, old_used_at: expect.any(String) as string },
    });
    for (const plane of ["edge", "control"] as const) {
      await planes.restart(plane, after);
      await served(`${plane} has forgotten the old secrets`);
    }

    expect((await first.admin("GET", "/tenants")).status).toBe(401);
    expect([...credentials]).toEqual(["Bearer credential-of-the-upstream"]);
    const rows = await waitFor(
      async () => await last.rows(minted.tenant.id),
      (found) => found.length >= answered,
    );
    expect(rows).toHaveLength(answered);
    const tokens = rows.reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens, 0);
    await waitFor(
      async () => await last.must<BudgetUsage>("GET", `/tenants/${minted.tenant.id}/budget/usage`),
      ({ used_tokens }) => used_tokens === tokens,
    );
  } finally {
    await planes.close();
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
