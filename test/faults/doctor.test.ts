/**
 * `gateway doctor` as a person runs it, on a stack with a real PostgreSQL and stores that a test can take away.
 *
 * @module-tag long
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { generate } from "selfsigned";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { DoctorFinding } from "../../control/cli/doctor/finding.ts";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { type Postgres, startPostgres } from "../harness/postgres.ts";
import { waitFor } from "../harness/wait-for.ts";

const MAIN = join(import.meta.dirname, "../../control/cli/main.ts");
const STORE_TOKEN = "the-token-of-the-store";
const ANALYTICS_PASSWORD = "the-password-of-the-analytics";
const DAY_MS = 86_400_000;

let folder: string;
let postgres: Postgres;
let redis: Awaited<ReturnType<typeof startRedisBridge>>;
let engine: ReturnType<typeof openEngine>;
let clickhouse: Awaited<ReturnType<typeof startClickhouseBridge>>;
let stack: Stack;
const servers: Server[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-doctor-"));
  postgres = await startPostgres();
  mkdirSync(join(folder, "clickhouse"));
  redis = await startRedisBridge({ backend: memoryBackend(), token: STORE_TOKEN });
  engine = openEngine(join(folder, "clickhouse"), 2);
  clickhouse = await startClickhouseBridge({ engine, user: "someone", password: ANALYTICS_PASSWORD });
  stack = await startStack({ env: stackEnv(join(folder, "stack"), storeVariables()) });
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
afterAll(async () => {
  await stack.stop();
  await clickhouse.close();
  await engine.close();
  await redis.close();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

function storeVariables(): Record<string, string> {
  return {
    GATEWAY_DATABASE_URL: postgres.url("postgres"),
    GATEWAY_REDIS_URL: redis.url,
    GATEWAY_REDIS_TOKEN: STORE_TOKEN,
    GATEWAY_CLICKHOUSE_URL: clickhouse.url,
    GATEWAY_CLICKHOUSE_USER: "someone",
    GATEWAY_CLICKHOUSE_PASSWORD: ANALYTICS_PASSWORD,
  };
}

interface Examined {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function doctor(words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Examined> {
  const env = {
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    GATEWAY_DATA_DIR: folder,
    GATEWAY_ADMIN_BASE_URL: stack.adminUrl,
    GATEWAY_ADMIN_TOKEN: stack.adminToken,
    GATEWAY_EDGE_BASE_URL: stack.proxyUrl,
    ...storeVariables(),
    ...more,
  };
  return await new Promise((resolve) => {
    // a busy machine is slow, and only one test is about time
    const args = [MAIN, "doctor", "--metrics", stack.metricsUrl, "--timeout", "30", ...words];
    execFile(process.execPath, args, { env, cwd: folder }, (error, out, err) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, out, err });
    });
  });
}

interface Report {
  readonly code: number;
  readonly state: string;
  readonly findings: readonly DoctorFinding[];
}

async function report(words: readonly string[] = [], more: Readonly<Record<string, string>> = {}): Promise<Report> {
  const { code, out, err } = await doctor([...words, "--json"], more);
  expect(err).toBe("");
  return { code, ...(JSON.parse(out) as Omit<Report, "code">) };
}

/** The findings that somebody has to act on. */
const wrong = ({ findings }: Report): readonly (readonly [string, string, string, string])[] =>
  findings
    .filter(({ state }) => state === "warning" || state === "failure")
    .map(({ state, part, check, detail }) => [state, part, check, detail] as const);

async function listening(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("finds nothing wrong with a gateway that is well, and shows no secret", async () => {
  // A cell that answers after its second, as on a busy machine, is away for that report.
  const well = await waitFor(
    async () => await report(),
    (found) => !wrong(found).some((finding) => /\bcell\b/.test(finding.join(" "))),
  );
  // the room on the disks of the machine that runs the tests is not the gateway's
  expect(wrong(well).filter(([, , check]) => check !== "disk")).toEqual([]);
  const looked = new Set(well.findings.map(({ part, check }) => `${part}: ${check}`));
  for (const one of [
    "control service: token",
    "control service: schema",
    "control service: version",
    "control service: attention",
    "control service: lag",
    "metrics listener: reachable",
    "cell local: cell",
    "cell local: cap",
    "cell local: clock",
    "cell local: lag",
    `data plane ${new URL(stack.proxyUrl).host}: reachable`,
    "database: permission",
    "database: connections",
    "database: lag",
    "database: clock",
    "key-value store: permission",
    "key-value store: filled",
    "analytics store: permission",
    "analytics store: schema",
    "analytics store: clock",
  ])
    expect(looked).toContain(one);
  expect(well.findings.find(({ part, check }) => part === "analytics store" && check === "permission")?.detail).toBe(
    "its user has SELECT, INSERT, CREATE TABLE, CREATE VIEW, ALTER TABLE",
  );
  const { out } = await doctor([]);
  expect(out).toMatch(/^state +part +check +detail\n/);
  expect(out).toMatch(/\n0 failure, \d+ warning, \d+ ok, 0 skipped\n$/);
  for (const secret of [stack.adminToken, STORE_TOKEN, ANALYTICS_PASSWORD]) expect(out).not.toContain(secret);
});

it("says which stores it was not given", async () => {
  const none = { GATEWAY_DATABASE_URL: "", GATEWAY_REDIS_URL: "", GATEWAY_CLICKHOUSE_URL: "" };
  const untold = await report([], none);
  expect(untold).toMatchObject({ code: 0, state: "ok" });
  expect(untold.findings.filter(({ state }) => state === "skipped").map(({ part }) => part)).toEqual([
    "database",
    "key-value store",
    "analytics store",
  ]);
});

it("reports a wrong token, and continues with what needs none", async () => {
  const refused = await report([], { GATEWAY_ADMIN_TOKEN: "a-wrong-token-of-somebody" });
  expect(refused.code).toBe(2);
  expect(wrong(refused)).toContainEqual(["failure", "control service", "token", "the admin token is not accepted"]);
  expect(refused.findings.find(({ part, check }) => part === "database" && check === "permission")?.state).toBe("ok");
  const without = await report([], { GATEWAY_ADMIN_TOKEN: "", GATEWAY_DATA_DIR: join(folder, "none") });
  expect(without.findings).toContainEqual(
    expect.objectContaining({ part: "control service", check: "token", state: "skipped" }),
  );
});

it("tells wrong passwords and names of stores, in words and without them", async () => {
  const ended = await doctor(["--json"], {
    GATEWAY_DATABASE_URL: postgres.url("no-such-database").replace("gateway@", "gateway:a-secret-word@"),
    GATEWAY_REDIS_TOKEN: "a-wrong-token-of-the-store",
    GATEWAY_CLICKHOUSE_PASSWORD: "a-wrong-password-of-analytics",
  });
  expect(ended.code).toBe(2);
  for (const secret of ["a-secret-word", "a-wrong-token-of-the-store", "a-wrong-password-of-analytics"])
    expect(ended.out).not.toContain(secret);
  expect(wrong({ code: 2, ...(JSON.parse(ended.out) as Omit<Report, "code">) })).toEqual(
    expect.arrayContaining([
      ["failure", "database", "reachable", "has no database of that name"],
      ["failure", "key-value store", "token", "does not accept the password"],
      ["failure", "analytics store", "reachable", "does not accept user and password"],
    ]),
  );
});

it("tells a role that may only read", async () => {
  const client = new pg.Client({ connectionString: postgres.url("postgres") });
  await client.connect();
  await client.query("CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
  await client.end();
  const reader = await report([], {
    GATEWAY_DATABASE_URL: postgres.url("postgres").replace("gateway@", "reader@"),
  });
  expect(reader.code).toBe(2);
  expect(wrong(reader)).toContainEqual([
    "failure",
    "database",
    "permission",
    expect.stringMatching(/^its role cannot write \w+ and \d+ more tables$/),
  ]);
  const readonly = await report([], {
    GATEWAY_DATABASE_URL: `${postgres.url("postgres")}?options=-c%20default_transaction_read_only%3Don`,
  });
  expect(wrong(readonly)).toContainEqual(["failure", "database", "permission", "is read-only"]);
});

it("tells a clock that is wrong, a certificate that has expired and a host that is no gateway", async () => {
  const now = Date.now();
  const { private: key, cert } = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    notBeforeDate: new Date(now - 9 * DAY_MS),
    notAfterDate: new Date(now - 2 * DAY_MS),
  });
  const late = await listening(
    createServer((_, response) => {
      response.sendDate = false;
      const date = new Date(Date.now() - 90_000).toUTCString();
      response.writeHead(200, { date, "x-gateway-request-id": "r" }).end("ok");
    }),
  );
  const expired = await listening(createTlsServer({ key, cert }, (_, response) => void response.end()) as Server);
  const other = await listening(createServer((_, response) => void response.end("welcome")));
  const words = ["--edge", `http://${late}`, "--edge", `http://${other}`, "--tls", expired];
  const found = await report(words);
  expect(found.code).toBe(2);
  expect(wrong(found)).toEqual(
    expect.arrayContaining([
      ["failure", `data plane ${late}`, "clock", expect.stringMatching(/^is \d+\.\d s behind the other clocks$/)],
      ["failure", `data plane ${other}`, "reachable", "GET /health answered 200"],
      ["failure", expired, "certificate", expect.stringMatching(/^expired on /)],
    ]),
  );
});

it("ends in its time although a part never answers", async () => {
  const silent = await listening(createServer(() => undefined));
  const found = await report(["--edge", `http://${silent}`, "--timeout", "2"]);
  expect(found.code).toBe(2);
  expect(wrong(found)).toContainEqual(["failure", `data plane ${silent}`, "reachable", "was not examined within 2 s"]);
});

it("says how old the newest backup is", async () => {
  const backups = join(folder, "backups");
  mkdirSync(backups);
  const words = ["--backups", backups];
  expect(wrong(await report(words))).toContainEqual([
    "failure",
    "backup",
    "backup",
    expect.stringContaining("has no backup"),
  ]);
  writeFileSync(join(backups, "gateway-backup-20260101T000000Z.json"), "");
  expect((await report([...words, "--backup-hours", "1000000"])).findings).toContainEqual(
    expect.objectContaining({ part: "backup", state: "ok" }),
  );
});

it.each([
  [["--timeout", "0"], "Must be above 0"],
  [["--timeout", "61"], "Must be at most 60"],
  [["--tls", "nowhere"], "Not host:port"],
  [["--edge", "ftp://x"], "Not an http or https URL"],
])("does not understand %j", async (words, said) => {
  const { code, out, err } = await doctor(words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(said);
});

it("names a malformed variable and not its value", async () => {
  const { code, out } = await doctor([], { GATEWAY_CLICKHOUSE_DB: "a-secret; DROP" });
  expect(code).toBe(2);
  expect(out).toContain("GATEWAY_CLICKHOUSE_DB must be an identifier");
  expect(out).not.toContain("DROP");
});

it("says that nothing was checked when it is given no address", async () => {
  const { code, out } = await doctor([], { GATEWAY_ADMIN_BASE_URL: "nowhere" });
  expect(code).toBe(2);
  expect(out).toContain("nothing was checked");
});

it("does not blame a metrics listener for not being where nobody said that it is", async () => {
  const { out } = await new Promise<Examined>((resolve) => {
    const env = { GATEWAY_ADMIN_BASE_URL: stack.adminUrl, GATEWAY_ADMIN_TOKEN: stack.adminToken };
    execFile(
      process.execPath,
      [MAIN, "doctor", "--json", "--timeout", "30"],
      { env, cwd: folder },
      (error, out, err) => {
        resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err });
      },
    );
  });
  const { findings } = JSON.parse(out) as Omit<Report, "code">;
  // another gateway on this machine may have the usual port
  expect(findings.find(({ part }) => part === "metrics listener")?.state).toMatch(/^(ok|skipped)$/);
});

it("prints no escape sequence of who answers, and bears a percent sign in a password", async () => {
  const red = "\u001b[31mred\u009b2J\r\n\u202e";
  const hostile = await listening(
    createServer(({ url = "" }, response) => {
      const answers: Record<string, unknown> = {
        "/api/v1/version": { version: red },
        "/api/v1/about": { schema_version: 1, cells: [red] },
        "/api/v1/overview/attention": [{ kind: red, name: red, detail: red }],
        "/metrics": `gateway_cell_up{cell="${red}"} 1\ngateway_spill_bytes{cell="${red}"} 1e12\n`,
      };
      const value = answers[url.split("?")[0] ?? ""] ?? "";
      response.end(typeof value === "string" ? value : JSON.stringify(value));
    }),
  );
  const more = {
    GATEWAY_ADMIN_BASE_URL: `http://${hostile}`,
    GATEWAY_DATABASE_URL: "postgres://someone:50%-of-it@127.0.0.1:9/gateway",
    GATEWAY_REDIS_URL: "redis://:50%-of-it@127.0.0.1:9",
  };
  for (const words of [[], ["--json"]]) {
    const { code, out, err } = await doctor(["--metrics", `http://${hostile}`, ...words], more);
    expect({ code, err }).toEqual({ code: 2, err: "" });
    expect(out.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(out).toContain("red");
    expect(out).not.toContain("50%-of-it");
    expect(out).not.toContain("defect of the doctor");
    expect(out).toContain("as %25 in GATEWAY_REDIS_URL");
  }
});

// the last one, because it takes the stores away
it("tells each store that is off, and what the control service says of it", async () => {
  await redis.close();
  await clickhouse.close();
  await postgres.stop();
  const silentAt = (url: string): string => `does not answer at ${new URL(url).host}: nothing listens there`;
  const told = (found: Report) => wrong(found).filter(([, , check]) => check !== "disk");
  // a finding for each, and not one more for each part that notices
  const off = await waitFor(
    async () => await report(),
    (found) => told(found).length === 3,
  );
  expect(off).toMatchObject({ code: 2, state: "failure" });
  expect(told(off)).toEqual([
    ["failure", "database", "reachable", silentAt(postgres.url("postgres"))],
    ["failure", "key-value store", "reachable", silentAt(redis.url)],
    ["failure", "analytics store", "reachable", silentAt(clickhouse.url)],
  ]);
  // without the store's address the control service is who tells
  const { findings } = await report([], { GATEWAY_DATABASE_URL: "" });
  expect(findings.filter(({ detail, state }) => state === "failure" && detail.includes("database"))).toMatchObject([
    { part: "control service", detail: "does not reach its database" },
  ]);
  expect(off.findings.every(({ state, fix }) => state === "ok" || (fix ?? "").length > 10)).toBe(true);
});
