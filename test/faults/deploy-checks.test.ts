/**
 * What `npm run deploy` finds before it changes anything (docs/platform.md#what-the-checks-look-at).
 *
 * @module-tag long
 */
import { describe, expect, it } from "vitest";
import { connect } from "../../control/db/connect.ts";
import { type DeployOutcome, problemsOf, stepsOf, useDeployScene } from "../harness/deploy-scene.ts";
import { BEFORE } from "../harness/platform-api.ts";

const scene = useDeployScene();
const { run } = scene;

describe("a check", () => {
  it("says what is found and what would be done, and changes nothing", async () => {
    const outcome = await run(["--check"]);
    expect(problemsOf(outcome)).toEqual([]);
    expect(outcome).toMatchObject({ ok: true, changes: [] });
    expect(outcome.lines).toEqual([
      "ok    environment: production, the Worker inference-gateway-production",
      "ok    compatibility: 2026-11-17",
      "ok    variables: 4 in wrangler.toml",
      "ok    limits: 9 of 128 variables and secrets",
      "ok    account: operator@example.com, Acme (0123456789abcdef0123456789abcdef)",
      expect.stringMatching(/^ok {4}bundle: \d+ KiB, \d+ compressed$/),
      "ok    deployed now: before",
      "ok    secrets: 5 set",
      "ok    key-value store: answers",
      "ok    analytics store: answers",
      "ok    control service: answers",
      "ok    management: answers",
      "ok    database: up to date",
      "plan: upload, migrate the databases, verify without traffic, give it 100% of the traffic, verify",
    ]);
    expect(scene.overrides).toEqual([]);
  });

  it.each<[string, () => Promise<DeployOutcome>, readonly RegExp[]]>([
    ["nobody is signed in", async () => await run([], {}, { isSignedIn: false }), [/account: .*npx wrangler login/]],
    [
      "a secret is missing, and the configuration is of another time",
      async () => {
        delete scene.worker.secrets["GATEWAY_INTERNAL_TOKEN"];
        return await run([], {}, { today: "2026-11-16" });
      },
      [/in the future/, /secrets: .*npx wrangler secret put GATEWAY_INTERNAL_TOKEN --env production/],
    ],
    [
      "the account does not know a path, which says nothing about the Worker",
      async () => {
        const message = "Could not route to it, perhaps your object identifier is invalid? Not found";
        scene.platform.failing = { request: "GET /deployments", status: 404, code: 7003, message };
        return await run(["--first"]);
      },
      [/deployed now: .*code: 7003/],
    ],
    [
      "a version of the Worker is not found",
      async () => {
        const message = "Version does not exist";
        scene.platform.failing = { request: `GET /versions/${BEFORE}`, status: 404, code: 10020, message };
        return await run();
      },
      [/deployed now: wrangler versions view .*code: 10020/],
    ],
    [
      "the account has no such Worker, which may be another account",
      async () => {
        scene.platform.worker = null;
        return await run();
      },
      [/deployed now: the account has no Worker inference-gateway-production: .* --first/],
    ],
    [
      "the objects are of a migration that the checkout does not know",
      async () => {
        scene.worker.versions[0] = { ...scene.versionBefore, migrationTag: "v9" };
        return await run();
      },
      [/deployed now: the objects have the migration v9, which wrangler.toml of this checkout does not list/],
    ],
    [
      "stores and services refuse the credentials",
      async () =>
        await run([], {
          GATEWAY_REDIS_TOKEN: "another",
          GATEWAY_CLICKHOUSE_PASSWORD: "another",
          GATEWAY_ADMIN_TOKEN: "another-token-of-the-right-length",
          GATEWAY_DATABASE_URL: undefined,
        }),
      [/refuses GATEWAY_REDIS_TOKEN/, /GATEWAY_CLICKHOUSE_PASSWORD/, /refuses GATEWAY_ADMIN_TOKEN/, /is not set/],
    ],
    [
      "a name does not exist, and the database does not answer",
      async () =>
        await run([], {
          GATEWAY_ADMIN_BASE_URL: "https://nowhere.example.com",
          GATEWAY_DATABASE_URL: "postgres://gateway:hidden@127.0.0.1:1/none",
        }),
      [/GATEWAY_ADMIN_BASE_URL: cannot be reached \(ENOTFOUND\)/, /GATEWAY_DATABASE_URL: cannot be reached/],
    ],
    [
      "the database is one of a single machine",
      async () => await run([], { GATEWAY_DATABASE_URL: "pglite:data/control" }),
      [/GATEWAY_DATABASE_URL is not the address of a PostgreSQL/],
    ],
  ])("uploads nothing when %s", async (_case, attempt, problems) => {
    const outcome = await attempt();
    expect(problemsOf(outcome)).toEqual(problems.map((problem) => expect.stringMatching(problem)));
    expect(outcome).toMatchObject({ ok: false, changes: [] });
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    expect(outcome.lines.at(-1)).toBe(`${count}: nothing was uploaded`);
    expect(outcome.lines.join()).not.toContain("hidden");
  });
});

describe("the database of a deployment", () => {
  it("is migrated after the upload and before the traffic, and a check only says what is missing", async () => {
    const url = new URL(scene.stores.env.GATEWAY_DATABASE_URL);
    const server = await connect(url.href);
    await server.db.execute("CREATE DATABASE fresh");
    await server.close();
    url.pathname = "/fresh";
    const checked = await run(["--check"], { GATEWAY_DATABASE_URL: url.href });
    const said = checked.lines.find((line) => line.startsWith("ok    database"));
    expect(said).toMatch(/^ok {4}database: to be applied: 0001-/);
    const outcome = await run([], { GATEWAY_DATABASE_URL: url.href });
    const names = said?.replace("ok    database: to be applied: ", "");
    expect(stepsOf(outcome).slice(0, 3)).toEqual([
      "uploaded: version after, which has no traffic yet",
      `databases: applied ${names}`,
      "traffic: 0% to version after",
    ]);
    const newer = await connect(url.href);
    await newer.db.execute(
      "INSERT INTO schema_migrations (version, name, checksum) VALUES (9001, '9001-later.sql', 'x')",
    );
    await newer.close();
    expect(problemsOf(await run([], { GATEWAY_DATABASE_URL: url.href }))).toEqual([
      expect.stringContaining("migration 9001-later.sql is in the database but unknown to this version"),
    ]);
  });
});
