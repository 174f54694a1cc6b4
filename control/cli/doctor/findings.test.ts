/** What the doctor makes of what it is told: the pure parts. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { diskFindings, permissionFinding } from "./analytics-examination.ts";
import { examineBackups } from "./backups.ts";
import { oneForEachCause } from "./causes.ts";
import { capFindings } from "./cell-examination.ts";
import { checkClocks, clockFromDate, clockFromInstant, THIS_MACHINE } from "./clocks.ts";
import { type DatabaseState, rightsFindings } from "./database-examination.ts";
import { parseDoctorEnv } from "./doctor-env.ts";
import { runExaminations } from "./examination.ts";
import { samplesOf } from "./exposition.ts";
import { findingsOf, worstOf } from "./finding.ts";
import { examineMetrics } from "./metrics-examination.ts";
import { checkReleases } from "./releases.ts";
import { codeOf, unreachable } from "./unreachable.ts";

const states = (findings: readonly { readonly part: string; readonly state: string }[]) =>
  findings.map(({ part, state }) => [part, state]);

describe("clocks", () => {
  const sample = (part: string, aheadMs: number) => ({ part, aheadMs, withinMs: 10 });

  it("agree when they differ by less than two seconds", () => {
    expect(states(checkClocks([sample("a", 1500), sample("b", -400)]))).toEqual([
      [THIS_MACHINE, "ok"],
      ["a", "ok"],
      ["b", "ok"],
    ]);
    expect(checkClocks([])).toEqual([]);
  });

  it("that are wrong are named, also when it is the clock of this machine", () => {
    expect(states(checkClocks([sample("a", 0), sample("b", 5000), sample("c", -40_000)]))).toEqual([
      [THIS_MACHINE, "ok"],
      ["a", "ok"],
      ["b", "warning"],
      ["c", "failure"],
    ]);
    const own = checkClocks([sample("a", -45_000), sample("b", -45_000)]);
    expect(own[0]).toMatchObject({
      part: THIS_MACHINE,
      state: "failure",
      detail: "is 45.0 s ahead of the other clocks",
    });
    expect(states(own).slice(1)).toEqual([
      ["a", "ok"],
      ["b", "ok"],
    ]);
  });

  it("are never blamed for what a slow answer or the cut-off seconds of HTTP explain", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -2000, max: 2000 }),
        fc.integer({ min: 0, max: 8000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (aheadMs, tookMs, part) => {
          const sentMs = 1_800_000_000_123;
          const toldMs = sentMs + tookMs * part + aheadMs;
          const date = new Date(Math.floor(toldMs / 1000) * 1000).toUTCString();
          const [one] = clockFromDate("a", date, sentMs, sentMs + tookMs);
          const two = clockFromInstant("b", toldMs, sentMs, sentMs + tookMs);
          expect(one).toBeDefined();
          const right = { part: "c", aheadMs: 0, withinMs: 0 };
          expect(checkClocks([one ?? two, two, right, right]).every(({ state }) => state === "ok")).toBe(true);
        },
      ),
    );
    expect(clockFromDate("a", "yesterday", 0, 1)).toEqual([]);
    expect(clockFromDate("a", null, 0, 1)).toEqual([]);
  });
});

describe("releases", () => {
  it("that differ are a warning for each part", () => {
    const mixed = checkReleases("2.0.0", [
      { part: "control service", version: "2.0.0" },
      { part: "cell eu", version: "1.9.0" },
    ]);
    expect(mixed.map(({ state, fix }) => [state, fix])).toEqual([
      ["warning", "finish the upgrade: 1.9.0 and 2.0.0 are running at the same time"],
      ["warning", "finish the upgrade: 1.9.0 and 2.0.0 are running at the same time"],
    ]);
    expect(checkReleases("2.0.0", [{ part: "a", version: "2.0.0" }])).toMatchObject([{ state: "ok" }]);
    expect(checkReleases("2.0.0", [{ part: "a", version: "3.0.0" }])).toMatchObject([{ state: "warning" }]);
  });
});

describe("a scrape", () => {
  const NOW_MS = Date.UTC(2026, 0, 3);

  const text = [
    "# HELP gateway_cell_up 1 if the cell answered this scrape, otherwise 0.",
    'gateway_cell_up{cell="eu"} 1',
    'gateway_cell_up{cell="us"} 0',
    'gateway_spill_bytes{cell="eu"} 140000000',
    'gateway_telemetry_dropped{cell="eu"} 3',
    'gateway_telemetry_aside{cell="eu"} 2',
    "gateway_outbox_pending NaN",
    "gateway_provisioner_held 1",
    "gateway_provision_errors 2",
    'gateway_build_info{version="1.2.3",cell="eu"} 1',
    'gateway_build_info{version="1.2.4"} 1',
    'odd{name="a \\"quoted\\" }\\n value"} +Inf',
    "not a sample",
  ].join("\n");

  it("is read with its labels", () => {
    const samples = samplesOf(text);
    expect(samples).toHaveLength(11);
    expect(samples.at(-1)).toEqual({ name: "odd", labels: { name: 'a "quoted" }\n value' }, value: Infinity });
  });

  it("says what lags and what was lost", () => {
    const { findings, releases } = examineMetrics(samplesOf(text), NOW_MS);
    expect(findings.map(({ part, state, detail }) => [part, state, detail])).toEqual([
      ["cell eu", "failure", "133.5 MiB of usage rows wait for the analytics store"],
      ["cell eu", "ok", "3 usage rows were lost for good since its storage was created"],
      ["cell eu", "warning", "the analytics store refuses 2 usage rows"],
      ["cell us", "ok", "0.0 MiB of usage rows wait for the analytics store"],
      ["control service", "failure", "cannot read its outbox: its database does not answer"],
      ["provisioner", "warning", "has not reconciled for 10 minutes"],
      ["provisioner", "warning", "2 managed models cannot be started"],
    ]);
    expect(releases).toEqual([
      { part: "cell eu", version: "1.2.3" },
      { part: "control service", version: "1.2.4" },
    ]);
  });

  it("says how old the last scheduled backup is, where there is a schedule", () => {
    const backup = (intervalSecs: number, ageHours: number) =>
      examineMetrics(
        samplesOf(
          [
            `gateway_backup_interval_seconds ${intervalSecs}`,
            `gateway_backup_last_success_timestamp_seconds ${NOW_MS / 1000 - ageHours * 3600}`,
          ].join("\n"),
        ),
        NOW_MS,
      )
        .findings.filter(({ part }) => part === "backup")
        .map(({ state, detail }) => [state, detail]);
    expect(backup(86_400, 47)).toEqual([["ok", "the last scheduled backup is 47 hours old"]]);
    expect(backup(86_400, 49)).toEqual([["warning", "the last scheduled backup is 49 hours old"]]);
    expect(backup(86_400, NOW_MS / 3_600_000)).toEqual([["warning", "no scheduled backup has been made yet"]]);
    expect(backup(0, 1000)).toEqual([]);
    expect(backup(Number.NaN, 1000)).toEqual([]);
  });

  it("of a gateway without load has nothing to say", () => {
    const calm = samplesOf('gateway_cell_up{cell="eu"} 1\ngateway_outbox_pending 0\n');
    expect(examineMetrics(calm, NOW_MS).findings.every(({ state }) => state === "ok")).toBe(true);
    expect(examineMetrics(samplesOf("gateway_outbox_pending 4"), NOW_MS).findings).toMatchObject([
      { state: "ok", detail: "4 configuration changes are on their way" },
    ]);
  });
});

describe("caps", () => {
  const live = {
    max_in_flight: 4,
    global_in_flight: 4,
    model_in_flight: { m: 2, gone: 9 },
    tenants: [],
  } as unknown as Parameters<typeof capFindings>[1];
  const tenant = (in_flight: number, max_in_flight: number | null) =>
    ({ ...live, tenants: [{ name: "t", in_flight, max_in_flight }] }) as unknown as typeof live;
  const model = (max_in_flight: number | null) => ({ model_name: "m", max_in_flight });

  it("that hold are one line", () => {
    expect(capFindings("cell c", tenant(4, 4), [model(2), { ...model(null), model_name: "other" }], 4)).toMatchObject([
      { state: "ok", detail: "4 of 4 slots are held; no cap is exceeded" },
    ]);
  });

  it("that are exceeded are named, of the cell, of tenants and of models", () => {
    const over = capFindings("cell c", { ...tenant(3, 2), global_in_flight: 5 }, [model(1)], undefined);
    expect(over.map(({ state, detail }) => [state, detail])).toEqual([
      ["warning", "the cell holds 5 slots of 4"],
      ["warning", "tenant t holds 3 slots of 2"],
      ["warning", "model m holds 2 slots of 1"],
    ]);
  });

  it("that are not those that were declared are said", () => {
    expect(capFindings("cell c", live, [], 256).at(-1)).toMatchObject({
      state: "warning",
      detail: "has 4 slots, GATEWAY_GLOBAL_MAX_IN_FLIGHT says 256",
    });
  });
});

describe("rights", () => {
  const state = { read_only: false, may_create: true } as DatabaseState;
  const table = (name: string, may_write: boolean, owns: boolean) => ({ name, may_write, owns });

  it("of a role of the database", () => {
    const one = (more: Partial<DatabaseState>, ...tables: ReturnType<typeof table>[]) =>
      rightsFindings({ ...state, ...more }, tables).map((finding) => [finding.state, finding.detail]);
    expect(one({}, table("a", true, true))).toEqual([["ok", "its role may write and migrate 1 tables"]]);
    expect(one({ read_only: true }, table("a", true, true))).toEqual([["failure", "is read-only"]]);
    expect(one({}, table("a", false, true), table("b", false, true))).toEqual([
      ["failure", "its role cannot write a and 1 more tables"],
    ]);
    expect(one({}, table("a", true, false))).toEqual([["warning", "its role does not own a"]]);
    expect(one({ may_create: false }, table("a", true, true))).toEqual([["warning", "its role cannot create tables"]]);
  });

  it("of a user of the analytics store", () => {
    expect(permissionFinding([], 0).state).toBe("ok");
    expect(permissionFinding(null, 0).state).toBe("ok");
    expect(permissionFinding([], 1)).toMatchObject({ state: "failure", detail: "its user is read-only" });
    expect(permissionFinding(["INSERT"], 0)).toMatchObject({ state: "failure", detail: "its user lacks INSERT" });
  });
});

it("disks are checked for free space, and those without a size are left out", () => {
  const disk = (free: number, total: number) => ({ name: "d", free, total });
  expect(diskFindings([disk(50, 100), disk(10, 100), disk(1, 100), disk(0, 0), disk(2, 1)])).toMatchObject([
    { state: "ok" },
    { state: "warning" },
    { state: "failure", detail: "1 % of the disk d is free" },
  ]);
});

describe("backups", () => {
  let folder: string;
  const NOW_MS = Date.UTC(2026, 0, 3);
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "gateway-doctor-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("are checked by the time in the newest name", () => {
    const examined = (at = folder) => examineBackups({ folder: at, maxAgeHours: 26 }, NOW_MS);
    const named = expect.stringMatching(/^set GATEWAY_BACKUP_TO, .* gateway-backup-20260103T000000Z\.json,/);
    expect(examined()).toMatchObject([
      { state: "failure", detail: expect.stringContaining("has no backup"), fix: named },
    ]);
    writeFileSync(join(folder, "gateway-backup-20260101T000000Z.json"), "");
    writeFileSync(join(folder, "gateway-backup-20261301T000000Z.json"), "");
    writeFileSync(join(folder, "notes.json"), "");
    expect(examined()).toMatchObject([{ state: "warning", detail: "the newest backup is 48 hours old" }]);
    writeFileSync(join(folder, "gateway-backup-20260102T120000Z.json"), "");
    expect(examined()).toMatchObject([{ state: "ok", detail: "the newest backup is 12 hours old" }]);
    expect(examined(join(folder, "none"))).toMatchObject([{ state: "failure" }]);

    // by schedule, of two gateways, one of which has a clock that is ahead
    writeFileSync(join(folder, "gateway-backup-20260102T000000Z-aaaaaaaaaaaa.json"), "");
    writeFileSync(join(folder, "gateway-backup-20251225T000000Z-bbbbbbbbbbbb.json"), "");
    writeFileSync(join(folder, "gateway-backup-20990101T000000Z-bbbbbbbbbbbb.json"), "");
    expect(states(examined())).toEqual([
      ["backup", "ok"],
      ["backup", "warning"],
      ["backup", "warning"],
    ]);
    expect(examined().map(({ detail }) => detail)).toEqual([
      "the newest backup of the gateway aaaaaaaaaaaa is 24 hours old",
      "the newest backup of the gateway bbbbbbbbbbbb is 216 hours old",
      "1 backups have a time in the future",
    ]);
  });
});

describe("one cause", () => {
  const { ok, warning, failure } = findingsOf("database");
  const control = findingsOf("control service");
  const behind = control.failure("reachable", "does not reach its database", "", {
    cause: "its database",
    symptomOf: ["database"],
  });
  const outbox = control.failure("lag", "cannot read", "", { symptomOf: ["database", "its database"] });

  it("is reported once, by the nearest finding, with no more than a finding has", () => {
    const away = failure("reachable", "does not answer", "");
    expect(oneForEachCause([behind, outbox, away])).toEqual([away]);
    expect(oneForEachCause([behind, outbox]).map(({ detail }) => detail)).toEqual(["does not reach its database"]);
    expect(Object.keys(oneForEachCause([behind])[0] ?? {})).not.toContain("cause");
  });

  it("that is not there explains nothing", () => {
    expect(oneForEachCause([behind, outbox, ok("reachable", "answers")])).toHaveLength(2);
    expect(oneForEachCause([warning("disk", "is full", ""), outbox])).toHaveLength(2);
  });
});

describe("why something does not answer", () => {
  it("is read from the causes, and nothing of a message is repeated", () => {
    const refused = Object.assign(new Error("connect postgres://u:secret@h"), { code: "ECONNREFUSED" });
    expect(unreachable(new TypeError("fetch failed", { cause: refused }))).toMatchObject({
      detail: "does not answer: nothing listens there",
    });
    expect(codeOf(new AggregateError([refused]))).toBe("ECONNREFUSED");
    const odd = Object.assign(new Error("secret"), { code: "has spaces and a secret" });
    expect(unreachable(odd).detail).toBe("does not answer");
    expect(unreachable("text").detail).toBe("does not answer");
  });
});

describe("the variables", () => {
  it("that are unset are not guessed", () => {
    expect(parseDoctorEnv({})).toEqual({
      databaseUrl: undefined,
      redis: undefined,
      clickhouse: undefined,
      edgeUrls: [],
      metricsListen: null,
      declaredSlots: undefined,
    });
  });

  it("that are malformed are named without their values", () => {
    const wrong = {
      GATEWAY_DATABASE_URL: "mysql://secret-a",
      GATEWAY_REDIS_URL: "secret-b",
      GATEWAY_CLICKHOUSE_URL: "secret-c",
      GATEWAY_GLOBAL_MAX_IN_FLIGHT: "secret-d",
    };
    expect(() => parseDoctorEnv(wrong)).toThrow(
      expect.objectContaining({
        message: expect.not.stringContaining("secret"),
      }),
    );
    for (const name of Object.keys(wrong)) expect(() => parseDoctorEnv(wrong)).toThrow(name);
  });

  it("name each Worker once", () => {
    const cells = ["a", "b"].map((cell) => ({ cell, url: "https://gateway.example/" }));
    expect(parseDoctorEnv({ GATEWAY_CELLS: JSON.stringify(cells) }).edgeUrls).toEqual(["https://gateway.example"]);
    expect(parseDoctorEnv({ GATEWAY_EDGE_BASE_URL: "http://127.0.0.1:8080" }).edgeUrls).toEqual([
      "http://127.0.0.1:8080",
    ]);
  });
});

describe("examinations", () => {
  it("that throw are findings, and hold up no other", async () => {
    const { ok } = findingsOf("b");
    const examined = await runExaminations(
      [
        { part: "a", run: async () => await Promise.reject(new RangeError("a secret")) },
        { part: "b", run: async () => await Promise.resolve({ findings: [ok("reachable", "fine")] }) },
      ],
      10_000,
    );
    expect(examined.map(({ findings }) => findings.map(({ state, detail }) => [state, detail]))).toEqual([
      [["failure", "could not be examined (RangeError)"]],
      [["ok", "fine"]],
    ]);
  });

  it("that are late are failures, but where nobody said that the part is there", async () => {
    const never = async () => await new Promise<never>(() => undefined);
    const examined = await runExaminations(
      [
        { part: "a", run: never },
        { part: "b", run: never, isGuess: true },
      ],
      10,
    );
    expect(examined.flatMap(({ findings }) => findings.map(({ state }) => state))).toEqual(["failure", "skipped"]);
  });

  it("make the worst of their findings the state of the whole", () => {
    const { ok, skipped, warning, failure } = findingsOf("p");
    const [fine, left, odd, bad] = [
      ok("reachable", ""),
      skipped("reachable", "", ""),
      warning("reachable", "", ""),
      failure("reachable", "", ""),
    ];
    expect([[], [left], [fine, left], [fine, odd], [odd, bad, fine]].map(worstOf)).toEqual([
      "ok",
      "ok",
      "ok",
      "warning",
      "failure",
    ]);
  });
});
