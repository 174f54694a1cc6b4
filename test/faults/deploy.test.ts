/**
 * `npm run deploy` from upload to verification (docs/platform.md#deploy).
 *
 * @module-tag long
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  DEPLOYED_KEY,
  DEPLOYED_PEPPER,
  type DeployOutcome,
  interruptOf,
  problemsOf,
  stepsOf,
  useDeployScene,
} from "../harness/deploy-scene.ts";
import { BEFORE } from "../harness/platform-api.ts";

const scene = useDeployScene();
const { run } = scene;

const verifiedIn = ({ lines }: DeployOutcome): readonly string[] =>
  lines.flatMap((line) => /^verified: request (\S+) /.exec(line)?.[1] ?? []);

const API_FAILURE = { status: 500, code: 10013, message: "workers.api.error.unknown" };
const TAKEN_BACK = "rolled back: version before has all traffic again; databases stay migrated";
const GO_BACK = "npx wrangler versions deploy before@100% --env production --yes";

describe("a deployment", () => {
  it("is verified before and after it gets traffic, and each verification has its usage row", async () => {
    const outcome = await run();
    expect(stepsOf(outcome)).toEqual([
      "uploaded: version after, which has no traffic yet",
      "databases: up to date",
      "traffic: 0% to version after",
      expect.stringMatching(/^verified: request \S+ by version after, 33 tokens in its usage row$/),
      "traffic: 100% to version after",
      expect.stringMatching(/^verified: /),
      `to go back: ${GO_BACK}`,
    ]);
    expect(outcome.changes).toEqual(["upload v1.2.3", "traffic after@0% before@100%", "traffic after@100%", "domains"]);
    const asked = `inference-gateway-production="${scene.worker.versions.at(-1)?.id}"`;
    expect(scene.overrides).toEqual([asked, asked, null, null]);
    for (const id of verifiedIn(outcome))
      expect(await scene.gateway.row(scene.minted.tenant.id, id)).toMatchObject({ status_code: 200, total_tokens: 33 });
    expect(verifiedIn(outcome)).toHaveLength(2);
    const [version] = scene.worker.versions.slice(-1);
    expect(version?.bindings).toContainEqual({ name: "VERSION", type: "version_metadata" });
    // A stack in the platform's logs is read with the map of the sources.
    expect(Object.keys(version?.files ?? {})).toEqual(["application/javascript+module", "application/source-map"]);
  });

  it("waits while the old version still answers, and does not take its answers for the new one's", async () => {
    scene.edge.behind = 3;
    const outcome = await run();
    expect(outcome.ok).toBe(true);
    expect(outcome.lines.filter((line) => line.startsWith("waiting"))).toEqual(["waiting: before answers, not after"]);
    expect(scene.edge.behind).toBe(0);
    expect(verifiedIn(outcome)).toHaveLength(2);
  });

  it("is not verified by the version before when the name of the new one does not arrive", async () => {
    scene.edge.followsNames = false;
    const outcome = await run([], {}, { isHastened: true });
    expect(outcome.ok).toBe(false);
    expect(outcome.lines.slice(-2)).toEqual([
      TAKEN_BACK,
      expect.stringMatching(
        /^failed: GATEWAY_PROXY_BASE_URL is answered by version before, not version after, .* by name/,
      ),
    ]);
    expect(scene.overrides).toEqual([]);
    expect(scene.traffic()).toEqual({ before: 100 });
  });

  it("is not verified by an answer that does not say its version", async () => {
    scene.edge.hidesVersion = true;
    const outcome = await run([], {}, { isHastened: true });
    expect(outcome.lines.slice(-2)).toEqual([
      TAKEN_BACK,
      expect.stringMatching(/^failed: GATEWAY_PROXY_BASE_URL answers 200 without the version of a Worker/),
    ]);
  });

  it("stops at the part of the traffic that was asked for, and says how to continue and go back", async () => {
    const outcome = await run(["--gradual", "10"]);
    expect(outcome.ok).toBe(true);
    expect(scene.traffic()).toEqual({ after: 10, before: 90 });
    expect(outcome.lines.slice(-2)).toEqual([
      `to go back: ${GO_BACK}`,
      "to continue: npx wrangler versions deploy after@100% --env production --yes",
    ]);
    expect(outcome.changes).not.toContain("domains");
  });

  it("takes the traffic back when the version does not serve", async () => {
    await scene.gateway.must("PUT", `/keys/${scene.minted.key.id}/disabled`, { disabled: true });
    const outcome = await run();
    await scene.gateway.must("PUT", `/keys/${scene.minted.key.id}/disabled`, { disabled: false });
    expect(outcome.ok).toBe(false);
    expect(outcome.lines.slice(-3)).toEqual([
      "traffic: 0% to version after",
      TAKEN_BACK,
      "failed: the request was answered 403 (api_key_disabled)",
    ]);
    expect(scene.traffic()).toEqual({ before: 100 });
  });

  it("takes the traffic back when the command that moved it failed afterwards", async () => {
    scene.platform.failing = { request: "PATCH /script-settings", ...API_FAILURE };
    const outcome = await run();
    expect(outcome.changes.slice(0, 3)).toEqual([
      "upload v1.2.3",
      "traffic after@0% before@100%",
      "traffic before@100%",
    ]);
    expect(outcome.lines.slice(-4)).toEqual([
      expect.stringMatching(/^NOT rolled back: wrangler versions deploy/),
      "serves now: version before 100%",
      `to go back: ${GO_BACK}`,
      expect.stringMatching(/^failed: wrangler versions deploy ended with 1: .*code: 10013/),
    ]);
    expect(scene.traffic()).toEqual({ before: 100 });
  });

  it("says so when it cannot take the traffic back, and how to do it by hand", async () => {
    scene.platform.whileChanging = (change) => {
      if (!change.startsWith("traffic")) return;
      scene.platform.failing = { request: "POST /deployments", ...API_FAILURE };
      scene.edge.hidesVersion = true;
    };
    const outcome = await run([], {}, { isHastened: true });
    expect(outcome.lines.slice(-4)).toEqual([
      expect.stringMatching(/^NOT rolled back: wrangler versions deploy ended with 1: .*code: 10013/),
      "serves now: version after 0%, version before 100%",
      `to go back: ${GO_BACK}`,
      expect.stringMatching(/^failed: GATEWAY_PROXY_BASE_URL answers 200 without the version/),
    ]);
    expect(outcome.ok).toBe(false);
  });

  it("has nothing to take back when its traffic was refused, or is that of another deployment", async () => {
    scene.platform.failing = { request: "POST /deployments", ...API_FAILURE };
    const refused = await run();
    expect(refused.lines.slice(-2)).toEqual([
      "nothing to roll back: version before 100%, by another deployment or as before",
      expect.stringMatching(/^failed: wrangler versions deploy ended with 1: .*code: 10013/),
    ]);
    scene.platform.failing = null;
    const another = "00000000-0000-4000-8000-000000000002";
    scene.edge.whenAskedAgain = () => {
      scene.worker.traffic = [{ version_id: another, percentage: 100 }];
    };
    scene.edge.behind = 2;
    const overtaken = await run([], {}, { isHastened: true });
    expect(overtaken.lines.slice(-2)).toEqual([
      `nothing to roll back: version ${another} 100%, by another deployment or as before`,
      expect.stringMatching(/^failed: GATEWAY_PROXY_BASE_URL is answered by version .* by name does not reach/),
    ]);
    expect(scene.worker.traffic).toEqual([{ version_id: another, percentage: 100 }]);
  });

  it("fails, and is taken back, when nobody answers at the address of the Worker", async () => {
    const nobody = { GATEWAY_PROXY_BASE_URL: "https://nobody.example.com" };
    const outcome = await run([], nobody, { isHastened: true });
    expect(outcome.lines.slice(-3)).toEqual([
      "waiting: GATEWAY_PROXY_BASE_URL cannot be reached (ENOTFOUND)",
      TAKEN_BACK,
      "failed: GATEWAY_PROXY_BASE_URL cannot be reached (ENOTFOUND)",
    ]);
    expect(scene.traffic()).toEqual({ before: 100 });
  });

  it("leaves everything as it was when the upload is refused", async () => {
    scene.platform.failing = { request: "POST /versions", ...API_FAILURE };
    const outcome = await run();
    expect(outcome.lines.at(-1)).toMatch(/^failed: wrangler versions upload ended with 1: .*code: 10013/);
    expect(outcome.changes).toEqual([]);
    expect(scene.traffic()).toEqual({ before: 100 });
  });
});

describe("a deployment that cannot be tried first", () => {
  const beforeMigrations = (): void => {
    scene.worker.versions[0] = { ...scene.versionBefore, migrationTag: null };
    scene.worker.migrationTag = null;
  };

  it("is made at once when it brings an object migration, and says that there is no way back", async () => {
    beforeMigrations();
    const outcome = await run();
    expect(outcome.changes).toEqual(["deploy v1.2.3 migrated to v1", "domains"]);
    expect(stepsOf(outcome)).toEqual([
      "databases: up to date",
      "deployed: version after has all traffic, and is not verified yet",
      expect.stringMatching(/^to go back: none/),
      expect.stringMatching(/^verified: /),
    ]);
    expect(outcome.ok).toBe(true);
  });

  it("refuses a part of the traffic, which the platform cannot give it", async () => {
    beforeMigrations();
    const outcome = await run(["--gradual", "10"]);
    expect(problemsOf(outcome)).toEqual([expect.stringMatching(/--gradual is not possible: the object migration v1/)]);
    expect(outcome.changes).toEqual([]);
  });

  it("brings the secrets along when it is the first, and leaves no file of them", async () => {
    scene.platform.worker = null;
    // A temporary folder of its own: the machine's has what other runs are making, or have left.
    const folder = mkdtempSync(join(tmpdir(), "gateway-deploy-files-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const usual = process.env["TMPDIR"];
    process.env["TMPDIR"] = folder;
    const outcome = await run(["--first"]).finally(() => {
      if (usual === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = usual;
    });
    expect(outcome.changes).toEqual(["deploy v1.2.3 migrated to v1 with 5 secrets", "domains"]);
    expect(scene.worker.secrets).toEqual({
      GATEWAY_INTERNAL_TOKEN: scene.stack.internalToken,
      GATEWAY_REDIS_TOKEN: scene.stores.env.GATEWAY_REDIS_TOKEN,
      GATEWAY_CLICKHOUSE_PASSWORD: scene.stores.env.GATEWAY_CLICKHOUSE_PASSWORD,
      GATEWAY_ENCRYPTION_KEY: DEPLOYED_KEY,
      GATEWAY_API_KEY_PEPPER: DEPLOYED_PEPPER,
    });
    expect(outcome.lines).toContain("to go back: npx wrangler delete --env production");
    expect(outcome.ok).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is the first too when a secret was set before, which makes the Worker", async () => {
    scene.worker.traffic = [];
    scene.worker.versions.length = 0;
    scene.worker.migrationTag = null;
    delete scene.worker.secrets["GATEWAY_REDIS_TOKEN"];
    const outcome = await run();
    expect(outcome.changes).toEqual(["deploy v1.2.3 migrated to v1 with 5 secrets", "domains"]);
    expect(outcome.ok).toBe(true);
  });

  it("is refused as the first without a secret only the operator knows, or at another address", async () => {
    scene.platform.worker = null;
    const more = { GATEWAY_API_KEY_PEPPER: undefined, GATEWAY_PROXY_BASE_URL: "https://nobody.example.com" };
    const outcome = await run(["--first"], more);
    expect(problemsOf(outcome)).toEqual([
      expect.stringMatching(/^wrong address: GATEWAY_PROXY_BASE_URL leads to nobody.example.com, which no route/),
      expect.stringContaining("GATEWAY_API_KEY_PEPPER is not in your variables"),
    ]);
    expect(outcome.changes).toEqual([]);
  });

  it("says what serves when the command failed after it had moved the traffic", async () => {
    scene.platform.worker = null;
    scene.platform.failing = { request: "PUT /domains/records", ...API_FAILURE };
    const outcome = await run(["--first"]);
    expect(stepsOf(outcome)).toEqual([
      "databases: up to date",
      "serves now: version after 100%",
      "to go back: npx wrangler delete --env production",
      expect.stringMatching(/^failed: wrangler deploy --strict ended with 1: .*code: 10013/),
    ]);
  });

  it("says that it keeps the traffic when it is not verified", async () => {
    scene.platform.worker = null;
    scene.edge.hidesVersion = true;
    const outcome = await run(["--first"], {}, { isHastened: true });
    expect(outcome.lines.slice(-2)).toEqual([
      "NOT verified: version after keeps all traffic; to go back: npx wrangler delete --env production",
      expect.stringMatching(/^failed: GATEWAY_PROXY_BASE_URL answers 200 without the version/),
    ]);
  });
});

describe("a deployment after a version that does not understand its messages", () => {
  const PLAN =
    "plan: upload, migrate the databases, give it all traffic at once (the version that serves has no tag, and does not understand the messages of this one), verify";

  beforeEach(() => {
    scene.worker.versions[0] = { ...scene.versionBefore, tag: null };
  });

  it("gives all traffic at once, and waits for objects that are still of the version before", async () => {
    scene.edge.objectsBehind = 2;
    const outcome = await run();
    expect(outcome.lines).toContain(PLAN);
    expect(stepsOf(outcome)).toEqual([
      "uploaded: version after, which has no traffic yet",
      "databases: up to date",
      "traffic: 100% to version after",
      expect.stringMatching(/^verified: request \S+ by version after, 33 tokens in its usage row$/),
      `to go back: ${GO_BACK}`,
    ]);
    expect(outcome.changes).toEqual(["upload v1.2.3", "traffic after@100%", "domains"]);
    expect(scene.edge.objectsBehind).toBe(0);
  });

  it("takes the traffic back when the objects keep refusing", async () => {
    scene.edge.objectsBehind = Number.POSITIVE_INFINITY;
    const outcome = await run([], {}, { isHastened: true });
    expect(outcome.lines.slice(-2)).toEqual([
      TAKEN_BACK,
      "failed: the request was answered 503 (scheduler_unavailable)",
    ]);
    expect(scene.traffic()).toEqual({ before: 100 });
  });

  it("refuses a part of the traffic, and says why", async () => {
    const outcome = await run(["--gradual", "10"]);
    expect(problemsOf(outcome)).toEqual([
      "wrong deployed now: --gradual is not possible: the version that serves has no tag, and does not understand the messages of this one, so the two cannot share the traffic",
    ]);
    expect(outcome.changes).toEqual([]);
  });

  it("can be made in parts once a version with a tag that understands them serves", async () => {
    await run();
    const outcome = await run(["--gradual", "10"]);
    expect(outcome.ok).toBe(true);
    expect(outcome.changes.slice(-2)).toEqual([
      expect.stringMatching(/^traffic after@0%/),
      expect.stringMatching(/^traffic after@10%/),
    ]);
  });
});

describe("an interrupt", () => {
  it("before the upload leaves everything as it was", async () => {
    const interrupt = interruptOf();
    interrupt.now();
    const outcome = await run([], {}, { interrupt });
    expect(outcome).toMatchObject({ ok: false, lines: ["interrupted: nothing was uploaded"], changes: [] });
  });

  it("of the upload waits for it, and moves no traffic", async () => {
    const interrupt = interruptOf();
    scene.platform.whileChanging = interrupt.now;
    const outcome = await run([], {}, { interrupt });
    expect(stepsOf(outcome)).toEqual([
      "uploaded: version after, which has no traffic yet",
      "the traffic was not moved",
      "interrupted",
    ]);
    expect(outcome.changes).toEqual(["upload v1.2.3"]);
  });

  it.each([
    ["before it has traffic", 0],
    ["when it has it", 100],
  ])("of the verification %s gives the traffic back", async (_case, percentage) => {
    const interrupt = interruptOf();
    scene.platform.whileChanging = (change) => {
      if (!change.includes(`@${percentage}%`) || change.includes(`${BEFORE}@${percentage}%`)) return;
      // The verification that follows meets the version before, and waits for the new one.
      scene.edge.behind = Number.POSITIVE_INFINITY;
      scene.edge.whenAskedAgain = interrupt.now;
    };
    const outcome = await run([], {}, { interrupt });
    expect(outcome.lines.slice(-3)).toEqual(["waiting: before answers, not after", TAKEN_BACK, "interrupted"]);
    expect(scene.traffic()).toEqual({ before: 100 });
    expect(outcome.ok).toBe(false);
  });

  it("of the first verification says that the version keeps the traffic", async () => {
    const interrupt = interruptOf();
    scene.platform.worker = null;
    scene.platform.whileChanging = (change) => {
      if (change === "domains") interrupt.now();
    };
    const outcome = await run(["--first"], {}, { interrupt });
    expect(stepsOf(outcome)).toEqual([
      "databases: up to date",
      "deployed: version after has all traffic, and is not verified yet",
      "to go back: npx wrangler delete --env production",
      "NOT verified: version after keeps all traffic; to go back: npx wrangler delete --env production",
      "interrupted",
    ]);
  });
});
