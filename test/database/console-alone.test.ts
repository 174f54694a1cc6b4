/**
 * The console as a process of its own (docs/rules/console.md#alone), before a control service with which it has only the
 * database in common.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { newDatabase } from "../harness/control-database.ts";
import { type ControlProcess, PROCESS_TOKEN, startControlProcess } from "../harness/control-process.ts";

const ADMIN = { email: "ops@example.org", password: "correct horse" };

let store: Awaited<ReturnType<typeof startRedisBridge>>;
let control: ControlProcess;
let databaseUrl: string;
const consoles: ChildProcess[] = [];

beforeAll(async () => {
  databaseUrl = await newDatabase();
  store = await startRedisBridge({ backend: memoryBackend(), token: PROCESS_TOKEN });
  control = await startControlProcess({ databaseUrl, storeUrl: store.url });
});
afterAll(async () => {
  for (const child of consoles) child.kill("SIGKILL");
  await control.end();
  await store.close();
});

/** Starts a console; its address, or what it said when it ended instead. */
async function start(change: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../control/dashboard/main.ts")], {
    env: {
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      GATEWAY_ADMIN_BASE_URL: control.admin,
      GATEWAY_ADMIN_TOKEN: PROCESS_TOKEN,
      DATABASE_URL: databaseUrl,
      GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0",
      DASHBOARD_ADMIN_EMAIL: ADMIN.email,
      DASHBOARD_PASSWORD: ADMIN.password,
      DASHBOARD_SESSION_SECRET: "s".repeat(32),
      ...change,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  consoles.push(child);
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, errors }));
  const line = once(createInterface(child.stdout), "line").then(([text]) => String(text));
  const first = await Promise.race([line, ended]);
  const url = typeof first === "string" ? (JSON.parse(first) as { dashboard: string }).dashboard : "";
  return { child, ended, url };
}

/** Signs in; asks as the admin. */
async function signedIn(url: string) {
  const body = JSON.stringify(ADMIN);
  const answer = await fetch(`${url}/auth/local`, { method: "POST", body, headers: { origin: url } });
  const cookie = (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  return async (path: string, init: { method?: string; body?: string } = {}) =>
    await fetch(`${url}${path}`, { ...init, headers: { cookie, origin: url } });
}
const codeOf = async (answer: Response) => ((await answer.json()) as { error: { code: string } }).error.code;

it("signs in, reads and writes through the Management API, and says when that is down", async () => {
  const alone = await start();
  const ask = await signedIn(alone.url);
  const created = await ask("/api/live/tenants", { method: "POST", body: JSON.stringify({ name: "by-console" }) });
  const { id } = (await created.json()) as { id: string };
  expect(await (await ask("/api/live/tenants")).json()).toMatchObject([{ id, name: "by-console" }]);
  const audit = await control.request("GET", `/api/v1/audit?entity_id=${id}`);
  expect(await audit.json()).toMatchObject([{ actor: ADMIN.email }]);
  expect((await ask("/api/live/audit?format=csv")).headers.get("content-type")).toContain("text/csv");
  expect((await ask(`/api/live/tenants/${id}x`)).status).toBe(404);

  const stranger = await start({ GATEWAY_ADMIN_TOKEN: "another token" });
  const refused = await (await signedIn(stranger.url))("/api/live/tenants");
  expect({ status: refused.status, code: await codeOf(refused) }).toEqual({
    status: 503,
    code: "management_unavailable",
  });

  await control.end();
  const away = await ask("/api/live/tenants");
  expect({ status: away.status, code: await codeOf(away) }).toEqual({ status: 503, code: "management_unavailable" });
  expect(await (await ask("/api/session")).json()).toMatchObject({ user: { email: ADMIN.email, role: "admin" } });
  alone.child.kill("SIGTERM");
  const { code, errors } = await alone.ended;
  expect(code).toBe(0);
  expect(errors).toContain('"event":"management_unreachable"');
  expect(errors).not.toContain(PROCESS_TOKEN);
});

it("refuses to start with a secret that is missing or short, and names it", async () => {
  const { ended } = await start({ DASHBOARD_PASSWORD: "short", DASHBOARD_SESSION_SECRET: "" });
  const { code, errors } = await ended;
  expect(code).toBe(1);
  expect(errors).toMatch(/^DASHBOARD_PASSWORD must have .*; DASHBOARD_SESSION_SECRET must have [^\n]*\n$/);
});
