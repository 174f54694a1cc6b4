/**
 * The service as a process: how it starts, refuses to start, and ends.
 *
 * @module-tag check
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { layDatabase, makeTemplate } from "../test/harness/database-template.ts";
import { connect } from "./db/connect.ts";

let folder: string;
const children: ChildProcess[] = [];
beforeAll(makeTemplate);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "control-main-"));
});
afterEach(async () => {
  await Promise.all(
    children.splice(0).map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    }),
  );
  rmSync(folder, { recursive: true, force: true });
});

interface Service {
  readonly child: ChildProcess;
  /** Exit code and standard error, once it has ended. */
  readonly ended: Promise<{ code: number | null; errors: string }>;
}

/** A service whose key-value store, analytics store and cell do not exist. */
function start(change: Record<string, string> = {}): Service {
  const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], {
    env: {
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      GATEWAY_ADMIN_TOKEN: "token",
      GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
      GATEWAY_METRICS_LISTEN: "127.0.0.1:0",
      GATEWAY_DATABASE_URL: `pglite:${folder}/database`,
      GATEWAY_REDIS_URL: "http://127.0.0.1:9",
      GATEWAY_CLICKHOUSE_URL: "http://127.0.0.1:9",
      GATEWAY_EDGE_BASE_URL: "http://127.0.0.1:9",
      ...change,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  children.push(child);
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, errors }));
  return { child, ended };
}

/** Where a service listens. */
type Addresses = Readonly<Record<"admin" | "metrics" | "dashboard", string>>;

async function listening({ child, ended }: Service): Promise<Addresses> {
  if (child.stdout === null) throw new Error("standard output is not piped");
  const line = once(createInterface(child.stdout), "line").then(([text]) => text as string);
  const first = await Promise.race([line, ended]);
  if (typeof first !== "string") throw new Error(`ended instead of listening: ${first.errors}`);
  return JSON.parse(first) as Addresses;
}

const request = async (url: string) => await fetch(url, { headers: { authorization: "Bearer token" } });

/** A service creates its database, and ends, beside the tests of two other files. */
const TIMEOUT_MS = 180_000;

describe("the control service", { timeout: TIMEOUT_MS }, () => {
  const servesUntil = async (signal: "SIGTERM" | "SIGINT"): Promise<void> => {
    const service = start({
      GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0",
      DASHBOARD_ADMIN_EMAIL: "ops@example.org",
      DASHBOARD_PASSWORD: "12345678",
      DASHBOARD_SESSION_SECRET: "s".repeat(32),
    });
    const { admin, metrics, dashboard } = await listening(service);
    const credentials = JSON.stringify({ email: "ops@example.org", password: "12345678" });
    const signedIn = await fetch(`${dashboard}/auth/local`, {
      method: "POST",
      body: credentials,
      headers: { origin: dashboard },
    });
    const cookie = signedIn.headers.get("set-cookie") ?? "";
    expect((await fetch(`${dashboard}/api/live/tenants`, { headers: { cookie } })).status).toBe(200);
    expect((await request(`${admin}/api/v1/tenants`)).status).toBe(200);
    expect((await request(`${admin}/api/v1/usage/logs`)).status).toBe(503);
    expect(await (await fetch(`${metrics}/metrics`)).text()).toContain('gateway_cell_up{cell="local"} 0');
    service.child.kill(signal);
    const { code, errors } = await service.ended;
    expect({ code, warnsOfPlaintext: errors.includes("secrets_in_plaintext") }).toEqual({
      code: 0,
      warnsOfPlaintext: true,
    });
  };
  it("creates its database, serves while all other stores are down and stops cleanly on SIGTERM", {
    tags: ["check"],
  }, async () => {
    await servesUntil("SIGTERM");
  });
  it("serves while all other stores are down and stops cleanly on SIGINT", { tags: ["long"] }, async () => {
    layDatabase(`${folder}/database`);
    await servesUntil("SIGINT");
  });

  it("ends with the process that started it", { tags: ["long"] }, async () => {
    layDatabase(`${folder}/database`);
    const service = start({ GATEWAY_PARENT_WATCH: "1" });
    await listening(service);
    service.child.stdin?.end();
    expect((await service.ended).code).toBe(0);
  });

  const namesTheTakenPort = async (variable: string): Promise<void> => {
    layDatabase(`${folder}/database`);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { code, errors } = await start({ [variable]: address }).ended;
    expect({ code, lastLine: errors.trimEnd().split("\n").at(-1) }).toEqual({
      code: 1,
      lastLine: `${variable} ${address} is in use by another process`,
    });
    await new Promise((resolve) => other.close(resolve));
  };
  it("names a port of the API that another process has", async () => {
    await namesTheTakenPort("GATEWAY_ADMIN_LISTEN");
  });
  it("names a port of the metrics that another process has", { tags: ["long"] }, async () => {
    await namesTheTakenPort("GATEWAY_METRICS_LISTEN");
  });

  it("names the folder that another control service has open", { tags: ["long"] }, async () => {
    layDatabase(`${folder}/database`);
    await listening(start());
    const { code, errors } = await start().ended;
    expect({ code, lines: errors.trimEnd().split("\n") }).toEqual({
      code: 1,
      lines: [expect.stringContaining(folder)],
    });
  });

  it("takes alert settings from the environment once; a wrong or missing encryption key stops it", {
    tags: ["long"],
  }, async () => {
    layDatabase(`${folder}/database`);
    const key = (byte: number) => ({ GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, byte).toString("base64") });
    const first = start({ ...key(1), GATEWAY_SLACK_WEBHOOK_URL: "http://127.0.0.1:9/hook" });
    const { admin } = await listening(first);
    const alerts = await request(`${admin}/api/v1/settings/alerts`);
    expect(await alerts.json()).toMatchObject({ slack_webhook_set: true, min_interval_secs: 300 });
    first.child.kill("SIGTERM");
    expect((await first.ended).errors).not.toContain("secrets_in_plaintext");
    for (const [change, said] of [
      [key(2), /^GATEWAY_ENCRYPTION_KEY is not the key that .*$/],
      [{}, /^GATEWAY_ENCRYPTION_KEY is not set, but .*$/],
    ] as const) {
      const { code, errors } = await start(change).ended;
      expect({ code, lastLine: errors.trimEnd().split("\n").at(-1) }).toEqual({
        code: 1,
        lastLine: expect.stringMatching(said),
      });
    }
    await listening(start(key(1)));
  });

  it("refuses a secret that differs from its cluster's until it is declared as new", {
    tags: ["long"],
  }, async () => {
    layDatabase(`${folder}/database`);
    const pepper = (digit: string) => ({ GATEWAY_SHARED_SECRETS: `GATEWAY_API_KEY_PEPPER=${digit.repeat(64)}` });
    const starts = async (change: Record<string, string>): Promise<void> => {
      const service = start(change);
      await listening(service);
      service.child.kill("SIGTERM");
      await service.ended;
    };
    await starts(pepper("a"));
    const { code, errors } = await start(pepper("b")).ended;
    expect({ code, lastLine: errors.trimEnd().split("\n").at(-1) }).toEqual({
      code: 1,
      lastLine: expect.stringMatching(/^other instances of this cluster have a different GATEWAY_API_KEY_PEPPER: .*$/),
    });
    await starts({ ...pepper("b"), GATEWAY_NEW_SHARED_SECRETS: "1" });
  });

  it("refuses a variable in one line", async () => {
    const { code, errors } = await start({ GATEWAY_ADMIN_TOKEN: "" }).ended;
    expect({ code, lines: errors.trimEnd().split("\n") }).toEqual({
      code: 1,
      lines: [expect.stringContaining("GATEWAY_ADMIN_TOKEN")],
    });
  });

  it("ends at once when its schema cannot be brought up to date, and quotes no statement", {
    tags: ["long"],
  }, async () => {
    layDatabase(`${folder}/database`);
    const connection = await connect(`pglite:${folder}/database`);
    await connection.db.execute("ALTER TABLE schema_migrations RENAME COLUMN version TO odd");
    await connection.close();
    const { code, errors } = await start().ended;
    expect({ code, lastLine: errors.trimEnd().split("\n").at(-1) }).toEqual({
      code: 1,
      lastLine: 'control service cannot start: column "version" does not exist',
    });
    expect(errors).not.toContain("SELECT");
  });
});
