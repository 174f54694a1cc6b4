/**
 * The sessions of an isolate with its Cell, with the real admission: the decisions and reports of each exchange, and the
 * requests of an isolate whose only session ends.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import {
  endOf,
  GRACE_MS,
  MembersHarness,
  NEWS_MS,
  ROW_WAITS_MS,
  requestOf,
  verdicts,
} from "../../../test/harness/edge/cell/members-harness.ts";
import type { Departure } from "../../domain/admission/exchange-messages.ts";
import { MemberTable } from "../../domain/admission/member-table.ts";
import type { AdmissionRequest, CacheHit } from "../../domain/admission/rpc.ts";

const hitOf = (id: string, over: Partial<CacheHit> = {}): CacheHit => ({
  revs: [{ kind: "tenant", id: "t", rev: 1 }],
  limits: null,
  row: requestOf(id).row,
  ...over,
});
const NOTHING = { inFlight: 0, queued: 0, entries: 0 };

beforeEach(() => vi.useFakeTimers());

describe("an exchange", () => {
  it("decides its admission requests in order, after its ends have released theirs", () => {
    const stage = new MembersHarness(1);
    const { session, answer } = stage.open([requestOf("first")]);
    const next = stage.exchange(session, { ends: [endOf("first")], asks: [requestOf("second"), requestOf("third")] });
    expect([...verdicts(answer), ...verdicts(next)]).toEqual(["first granted", "second granted", "third waiting"]);
    expect(stage.load).toEqual({ inFlight: 1, queued: 1, entries: 2 });
  });

  it("counts slots that an earlier life granted before it grants any", () => {
    const stage = new MembersHarness(1);
    const returns = [{ ...requestOf("back"), waitedMs: 0 }];
    const { answer } = stage.open([requestOf("asks")], {}, { returns });
    expect({ told: verdicts(answer), load: stage.load }).toEqual({
      told: ["asks waiting"],
      load: { inFlight: 1, queued: 1, entries: 2 },
    });
  });

  it("that comes twice changes nothing more, and is answered in the same way", async () => {
    const stage = new MembersHarness(2);
    const message = {
      n: 2,
      ends: [endOf("ended")],
      departures: [{ requestId: "gone", isLost: true, held: null }],
      returns: [{ ...requestOf("back"), waitedMs: 0 }],
      asks: [requestOf("asks"), requestOf("waits")],
    };
    const { session } = stage.open([requestOf("ended"), requestOf("gone")]);
    const answers = [1, 2].map(() => stage.exchange(session, message));
    expect({ told: answers.map(verdicts), load: stage.load }).toEqual({
      told: [
        ["asks granted", "waits waiting"],
        ["asks granted", "waits waiting"],
      ],
      load: { inFlight: 2, queued: 1, entries: 4 },
    });
    await stage.pass(ROW_WAITS_MS);
    expect(stage.rows).toEqual([
      ["ended", 200, 3],
      ["gone", 499, 10],
    ]);
  });

  it("reports stored and refused rows a moment later or with the next answer", async () => {
    const stage = new MembersHarness(1);
    stage.stores = async (row) => await (row.request_id === "bad" ? Promise.reject(new Error("full")) : undefined);
    const { session } = stage.open();
    const news = stage.members.news(session);
    const records = ["good", "bad"].map((id) => ({ row: requestOf(id).row }));
    stage.exchange(session, { records });
    await stage.pass(NEWS_MS);
    expect(await news).toMatchObject({ stored: ["good"], refused: ["bad"] });
    stage.exchange(session, { records: records.slice(0, 1) });
    await stage.pass(0);
    expect(stage.exchange(session)).toMatchObject({ stored: ["good"], refused: [] });
  });

  it("confirms hits on current records only, and takes their rows", async () => {
    const stage = new MembersHarness(1);
    stage.world.revisions.note([{ kind: "tenant", id: "t", rev: 2 }], 0);
    const current = { revs: [{ kind: "tenant", id: "t", rev: 2 }] } as const;
    const { limits } = requestOf("any");
    const hits = [
      hitOf("old"),
      hitOf("current", current),
      hitOf("sent again", { ...current, again: true }),
      hitOf("limited", { ...current, limits }),
    ];
    const { session, answer } = stage.open([], {}, { hits });
    const level = { capTokens: 100, levelTokens: 7 };
    expect(answer.hits).toEqual([
      ["old", { verdict: "stale", items: [{ kind: "tenant", id: "t", rev: 2 }] }],
      ["current", { verdict: "current", level: null }],
      ["sent again", { verdict: "current", level: null }],
    ]);
    await stage.pass(0);
    expect({
      hits: stage.exchange(session).hits,
      recorded: stage.recorded,
    }).toEqual({
      hits: [["limited", { verdict: "current", level }]],
      recorded: ["current", "sent again again", "limited"],
    });
  });

  it("answers the newest ask of a request, by its number", async () => {
    const stage = new MembersHarness(1);
    const holder = stage.world.ask(requestOf("holder"), "other");
    const { session, answer } = stage.open([{ ...requestOf("one"), ask: 1 }]);
    const again = stage.exchange(session, { asks: [{ ...requestOf("one"), ask: 2, again: true }] });
    await stage.world.end(holder, 0);
    const last = stage.exchange(session);
    const told = [answer, again, last].flatMap(({ decided }) => decided.map(([, { verdict }, ask]) => [verdict, ask]));
    expect(told).toEqual([
      ["waiting", 1],
      ["waiting", 2],
      ["granted", 2],
    ]);
  });

  it("ends the place of a request whose row says that it asked for none", async () => {
    const stage = new MembersHarness(1);
    const holder = stage.world.ask(requestOf("holder"), "other");
    const { session } = stage.open([requestOf("waits")]);
    stage.world.revisions.note([{ kind: "tenant", id: "t", rev: 2 }], 0);
    await stage.world.end(holder, 0);
    expect(stage.states("waits")).toEqual({ waits: "stale" });
    stage.exchange(session, { records: [{ row: requestOf("waits").row }] });
    expect({ load: stage.load, recorded: stage.recorded }).toEqual({ load: NOTHING, recorded: ["waits"] });
  });

  it("decides the others when one of its requests cannot be decided", () => {
    const stage = new MembersHarness(2);
    const broken = { ...requestOf("broken"), revs: null } as unknown as AdmissionRequest;
    const { answer } = stage.open([requestOf("one"), broken, requestOf("two")]);
    expect({ told: verdicts(answer), failureCount: stage.failures.length, load: stage.load }).toEqual({
      told: ["one granted", "broken stale", "two granted"],
      failureCount: 1,
      load: { inFlight: 2, queued: 0, entries: 2 },
    });
  });

  it("that fails as its session opens leaves nothing behind", async () => {
    const stage = new MembersHarness(1);
    stage.open([requestOf("one")]);
    const departures = null as unknown as readonly Departure[];
    expect(() => stage.open([], { member: "other" }, { departures })).toThrow();
    await stage.pass(GRACE_MS);
    expect({ other: stage.members.isQuiet("other"), load: stage.load }).toEqual({
      other: false,
      load: { inFlight: 1, queued: 0, entries: 1 },
    });
  });
});

describe("an isolate whose only session ends", () => {
  it("keeps what its requests hold for the grace, and is given up after that", async () => {
    const stage = new MembersHarness(1);
    const { session } = stage.open([requestOf("runs"), requestOf("waits")]);
    const other = stage.world.ask(requestOf("other"), "other");
    stage.members.end(session);
    await stage.pass(GRACE_MS - 1);
    expect({ states: stage.states("runs", "waits"), other: other.state, rows: stage.rows }).toEqual({
      states: { runs: "running", waits: "waiting" },
      other: "waiting",
      rows: [],
    });
    await stage.pass(1);
    expect({ states: stage.states("runs", "waits"), other: other.state, granted: stage.world.granted }).toEqual({
      states: { runs: null, waits: null },
      other: "running",
      granted: ["other"],
    });
    await stage.pass(ROW_WAITS_MS);
    expect(stage.rows).toEqual([
      ["waits", 499, 0],
      ["runs", 499, 10],
    ]);
  });

  it("loses nothing before this process has run for the whole grace", async () => {
    const stage = new MembersHarness(1);
    stage.members.end(stage.open([requestOf("one")]).session);
    vi.setSystemTime(Date.now() + 60_000);
    await stage.pass(GRACE_MS / 2);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: { inFlight: 1, queued: 0, entries: 1 }, rows: [] });
  });

  it("settles no request whose end comes another way, within the grace or after it", async () => {
    for (const afterMs of [GRACE_MS - 1, GRACE_MS + ROW_WAITS_MS - 1]) {
      const stage = new MembersHarness(1);
      stage.members.end(stage.open([requestOf("one")]).session);
      await stage.pass(afterMs);
      await stage.world.admission.end(endOf("one"));
      await stage.pass(60_000);
      expect({ load: stage.load, rows: stage.rows }).toEqual({ load: NOTHING, rows: [["one", 200, 3]] });
    }
  });

  it("gets no slot in its grace: the request is checked again when it is back", async () => {
    const stage = new MembersHarness(1);
    const holder = stage.world.ask(requestOf("holder"), "other");
    const { session } = stage.open([requestOf("waits")]);
    const next = stage.world.ask(requestOf("next"), "other");
    stage.members.end(session);
    expect(stage.members.isQuiet("isolate")).toBe(true);
    await stage.world.end(holder, 0);
    expect({ waits: stage.world.stateOf("waits"), next: next.state }).toEqual({
      waits: "stale",
      next: "running",
    });
    const { answer } = stage.open([], { waiting: ["waits"] });
    expect({ told: verdicts(answer), isQuiet: stage.members.isQuiet("isolate") }).toEqual({
      told: ["waits stale"],
      isQuiet: false,
    });
  });

  it("is reported as quiet at once, so that it holds up no others of its tenants", () => {
    const stage = new MembersHarness(1);
    const { session } = stage.open([requestOf("one")]);
    const quiet = vi.spyOn(stage.world.admission, "quiet");
    stage.members.end(session);
    expect(quiet).toHaveBeenCalledExactlyOnceWith("isolate");
  });

  it("hands no slot of its own to those of its requests that wait for tokens", async () => {
    const stage = new MembersHarness(1);
    stage.world.budgets.reach = "silent";
    const first = admissionRequestOf("first", "slow", {}, { tenantTokens: 1_000 });
    stage.members.end(stage.open([first, requestOf("second")]).session);
    await stage.pass(GRACE_MS);
    expect({ granted: stage.world.granted, load: stage.load.inFlight, rows: stage.rows }).toEqual({
      granted: [],
      load: 0,
      rows: [],
    });
  });

  it("has no grace when no request of it is left", async () => {
    const stage = new MembersHarness(1);
    const { session } = stage.open([requestOf("one")]);
    stage.exchange(session, { ends: [endOf("one")] });
    await stage.pass(0);
    const timersBefore = vi.getTimerCount();
    stage.members.end(session);
    expect({ isQuiet: stage.members.isQuiet("isolate"), timers: vi.getTimerCount() }).toEqual({
      isQuiet: false,
      timers: timersBefore,
    });
  });

  it("answers the call that waits for its news, and takes no more exchanges", async () => {
    const stage = new MembersHarness(1);
    const { session } = stage.open();
    const news = stage.members.news(session);
    stage.members.end(session);
    stage.members.end(session);
    expect(await news).toEqual({ decided: [], hits: [], stored: [], refused: [], unknown: [] });
    expect(() => stage.exchange(session)).toThrow("the session is over");
    await expect(stage.members.news(session)).rejects.toThrow("the session is over");
  });
});

it("leaves a row of a running request that gives up before the Cell's next life knew of it", async () => {
  const stage = new MembersHarness(1);
  const table = new MemberTable();
  void table.ask(requestOf("runs")).catch(() => undefined);
  table.take();
  const { admission, queueWaitMs } = { admission: "queued", queueWaitMs: 7 } as const;
  const granted = { verdict: "granted", grant: { admission, queueWaitMs, level: null } } as const;
  table.applyAnswer({ decided: [["runs", granted]], hits: [], stored: [], refused: [], unknown: [] });
  table.depart("runs");
  stage.open([], table.living(), table.first());
  await stage.pass(ROW_WAITS_MS);
  expect({ rows: stage.rows, load: stage.load }).toEqual({ rows: [["runs", 499, 10]], load: NOTHING });
  expect(stage.world.rows[0]).toMatchObject({ admission: "queued", queue_wait_ms: 7 });
});
