/**
 * The isolates of a Cell and their sessions, with the real admission: what each exchange decides and reports, and what becomes of
 * the requests of an isolate whose sessions end, overlap, break, and are followed by others.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { type AdmissionHarness, admissionHarnessOf } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { ExchangeAnswer, ExchangeMessage, Member, RowRecord } from "../../domain/admission/exchange-messages.ts";
import type { AdmissionRequest, CacheHit, Settlement } from "../../domain/admission/rpc.ts";
import { Members } from "./members.ts";

/** How long the requests of an isolate without a session keep what they hold (members.ts), ms. */
const GRACE_MS = 2_000;
/** After that their rows wait for so long (admission-machine.ts), ms. */
const ROW_WAITS_MS = 6_000;
const NEWS_MS = 50;
const EMPTY_MESSAGE: ExchangeMessage = { ends: [], departures: [], records: [], hits: [], returns: [], asks: [] };

class MembersHarness {
  readonly world: AdmissionHarness;
  readonly members: Members;
  readonly heard: string[] = [];
  readonly failures: unknown[] = [];
  /** Rows of requests that asked for no slot; with a mark if they may have come before. */
  readonly recorded: string[] = [];
  stores: (row: UsageRow) => Promise<void> = async () => undefined;

  constructor(slots: number) {
    this.world = admissionHarnessOf("weighted", slots);
    this.members = new Members({
      admission: this.world.admission,
      revisions: this.world.revisions,
      record: async ({ row }: RowRecord, again = false) => {
        this.recorded.push(again ? `${row.request_id} again` : row.request_id);
        await this.stores(row);
      },
      level: async () => ({ capTokens: 100, levelTokens: 7 }) as never,
      later: (delayMs, run) => void setTimeout(run, delayMs),
      heard: (member) => this.heard.push(member),
      failed: (error) => this.failures.push(error),
    });
    this.world.members = this.members;
  }

  /** Opens a session of one isolate, which asks for these requests. */
  open(asks: readonly AdmissionRequest[] = [], member: Partial<Member> = {}, message: Partial<ExchangeMessage> = {}) {
    return this.members.open(
      { member: "isolate", waiting: [], running: [], ...member },
      { ...EMPTY_MESSAGE, asks, ...message },
    );
  }

  /** The rows that admission wrote. */
  get rows() {
    return this.world.rows.map((row) => [row.request_id, row.status_code, row.total_tokens]);
  }

  get load() {
    return this.world.load;
  }

  states(...ids: readonly string[]) {
    return Object.fromEntries(ids.map((id) => [id, this.world.stateOf(id)]));
  }

  async pass(ms: number): Promise<void> {
    this.world.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }
}

const requestOf = (id: string, tenant = "t") => admissionRequestOf(id, tenant);
/** An end as the isolate sends it. */
const endOf = (id: string): Settlement => ({
  row: { ...requestOf(id).row, status_code: 200, total_tokens: 3 },
  actualTokens: 3,
});
const hitOf = (id: string, over: Partial<CacheHit> = {}): CacheHit => ({
  revs: [{ kind: "tenant", id: "t", rev: 1 }],
  limits: null,
  row: requestOf(id).row,
  ...over,
});
/** The verdict for each request. */
const verdicts = ({ decided }: ExchangeAnswer) => decided.map(([id, { verdict }]) => `${id} ${verdict}`);
const NOTHING = { inFlight: 0, queued: 0, entries: 0 };

beforeEach(() => vi.useFakeTimers());

describe("an exchange", () => {
  it("decides its admission requests in order, after its ends have released theirs", () => {
    const stage = new MembersHarness(1);
    const { session, answer } = stage.open([requestOf("first")]);
    const next = stage.members.exchange(session, {
      ...EMPTY_MESSAGE,
      ends: [endOf("first")],
      asks: [requestOf("second"), requestOf("third")],
    });
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
      ...EMPTY_MESSAGE,
      ends: [endOf("ended")],
      departures: ["gone"],
      returns: [{ ...requestOf("back"), waitedMs: 0 }],
      asks: [requestOf("asks"), requestOf("waits")],
    };
    const { session } = stage.open([requestOf("ended"), requestOf("gone")]);
    const answers = [1, 2].map(() => stage.members.exchange(session, message));
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
    stage.members.exchange(session, { ...EMPTY_MESSAGE, records });
    await stage.pass(NEWS_MS);
    expect(await news).toMatchObject({ stored: ["good"], refused: ["bad"] });
    stage.members.exchange(session, { ...EMPTY_MESSAGE, records: records.slice(0, 1) });
    await stage.pass(0);
    expect(stage.members.exchange(session, EMPTY_MESSAGE)).toMatchObject({ stored: ["good"], refused: [] });
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
      hits: stage.members.exchange(session, EMPTY_MESSAGE).hits,
      recorded: stage.recorded,
    }).toEqual({
      hits: [["limited", { verdict: "current", level }]],
      recorded: ["current", "sent again again", "limited"],
    });
  });

  it("decides the others when one of its requests cannot be decided", () => {
    const stage = new MembersHarness(2);
    const broken = { ...requestOf("broken"), revs: null } as unknown as AdmissionRequest;
    const { answer } = stage.open([requestOf("one"), broken, requestOf("two")]);
    expect({ told: verdicts(answer), failureCount: stage.failures.length, load: stage.load }).toEqual({
      told: ["one granted", "two granted"],
      failureCount: 1,
      load: { inFlight: 2, queued: 0, entries: 2 },
    });
  });

  it("that fails as its session opens leaves nothing behind", async () => {
    const stage = new MembersHarness(1);
    stage.open([requestOf("one")]);
    const departures = null as unknown as readonly string[];
    expect(() => stage.open([], { member: "other" }, { departures })).toThrow();
    await stage.pass(GRACE_MS);
    expect({ other: stage.members.isQuiet("other"), load: stage.load }).toEqual({
      other: false,
      load: { inFlight: 1, queued: 0, entries: 1 },
    });
  });

  it("shows that its isolate is heard", () => {
    const stage = new MembersHarness(1);
    const { session } = stage.open();
    stage.members.exchange(session, EMPTY_MESSAGE);
    expect(stage.heard).toEqual(["isolate", "isolate", "isolate"]);
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

  it("gets no slot in its grace: the request is judged again when it is back", async () => {
    const stage = new MembersHarness(1);
    const holder = stage.world.ask(requestOf("holder"), "other");
    const { session } = stage.open([requestOf("waits")]);
    const next = stage.world.ask(requestOf("next"), "other");
    stage.members.end(session);
    expect(stage.members.isQuiet("isolate")).toBe(true);
    await stage.world.end(holder, 0);
    expect({ waits: stage.world.stateOf("waits"), next: next.state }).toEqual({
      waits: "judged again",
      next: "running",
    });
    const { answer } = stage.open([], { waiting: ["waits"] });
    expect({ told: verdicts(answer), isQuiet: stage.members.isQuiet("isolate") }).toEqual({
      told: ["waits stale"],
      isQuiet: false,
    });
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
    stage.members.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf("one")] });
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
    expect(() => stage.members.exchange(session, EMPTY_MESSAGE)).toThrow("the session is over");
    await expect(stage.members.news(session)).rejects.toThrow("the session is over");
  });
});

describe("an isolate that opens its next session", () => {
  it("within the grace keeps what it names, and loses what it does not name", async () => {
    const stage = new MembersHarness(3);
    const asked = ["runs", "ends", "dies", "waits", "leaves"].map((id) => requestOf(id));
    stage.members.end(stage.open(asked).session);
    await stage.pass(GRACE_MS - 1);
    const { answer } = stage.open([], { running: ["runs"], waiting: ["waits"] }, { ends: [endOf("ends")] });
    await stage.pass(60_000);
    expect({ states: stage.states("runs", "ends", "dies", "waits", "leaves"), unknown: answer.unknown }).toEqual({
      states: { runs: "running", ends: null, dies: null, waits: "running", leaves: null },
      unknown: [],
    });
    expect(stage.rows).toEqual([
      ["ends", 200, 3],
      ["leaves", 499, 0],
      ["dies", 499, 10],
    ]);
  });

  it("after the grace has its running requests counted again, and its places back", async () => {
    const stage = new MembersHarness(1);
    stage.members.end(stage.open([requestOf("runs"), requestOf("waits")]).session);
    await stage.pass(GRACE_MS + ROW_WAITS_MS - 1);
    const other = stage.world.ask(requestOf("other"), "other");
    const { session, answer } = stage.open([], { running: ["runs"], waiting: ["waits"] });
    expect({ unknown: answer.unknown, told: verdicts(answer), other: other.state }).toEqual({
      unknown: ["runs"],
      told: [],
      other: "running",
    });
    stage.members.exchange(session, { ...EMPTY_MESSAGE, returns: [{ ...requestOf("runs"), waitedMs: 0 }] });
    await stage.pass(60_000);
    expect({ states: stage.states("runs", "waits"), load: stage.load, rows: stage.rows }).toEqual({
      states: { runs: "running", waits: "waiting" },
      load: { inFlight: 2, queued: 1, entries: 3 },
      rows: [],
    });
    await stage.world.admission.end(endOf("runs"));
    expect(stage.rows).toEqual([["runs", 200, 3]]);
  });

  it("to a Cell that was reset learns which of its requests that does not know", () => {
    const stage = new MembersHarness(1);
    const { answer } = stage.open([], { running: ["runs"], waiting: ["waits"] });
    expect({ unknown: answer.unknown, decided: answer.decided, load: stage.load }).toEqual({
      unknown: ["runs"],
      decided: [["waits", { verdict: "stale", items: [] }]],
      load: NOTHING,
    });
  });

  it("is told again what its last session may not have delivered", async () => {
    const stage = new MembersHarness(2);
    stage.world.ask(requestOf("holder"), "other");
    const { session } = stage.open([requestOf("first"), requestOf("second"), requestOf("third")]);
    const lost = stage.members.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf("first")] });
    expect(verdicts(lost)).toEqual(["second granted"]);
    stage.members.end(session);
    // No answer came to the requests, nor to the end.
    const asks = [requestOf("third")];
    const { answer } = stage.open(asks, { waiting: ["second"] }, { ends: [endOf("first")] });
    await stage.pass(0);
    expect({ told: verdicts(answer), load: stage.load, rows: stage.rows }).toEqual({
      told: ["second granted", "third waiting"],
      load: { inFlight: 2, queued: 1, entries: 3 },
      rows: [["first", 200, 3]],
    });
  });

  it("has the place of a request judged again whose records have changed", async () => {
    const stage = new MembersHarness(1);
    stage.world.ask(requestOf("holder"), "other");
    stage.members.end(stage.open([requestOf("waits")]).session);
    await stage.pass(GRACE_MS);
    stage.world.revisions.note([{ kind: "tenant", id: "t", rev: 6 }], 0);
    const { answer } = stage.open([], { waiting: ["waits"] });
    expect({ decided: answer.decided, queued: stage.load.queued }).toEqual({
      decided: [["waits", { verdict: "stale", items: [{ kind: "tenant", id: "t", rev: 6 }] }]],
      queued: 0,
    });
  });
});

describe("an isolate whose sessions overlap", () => {
  it("keeps all its requests when the older one ends, and whatever the newer one does not name", async () => {
    const stage = new MembersHarness(2);
    const first = stage.open([requestOf("one"), requestOf("two")]);
    const second = stage.open([], { running: ["one"] });
    stage.members.end(first.session);
    await stage.pass(60_000);
    expect({ states: stage.states("one", "two"), isQuiet: stage.members.isQuiet("isolate") }).toEqual({
      states: { one: "running", two: "running" },
      isQuiet: false,
    });
    stage.members.end(second.session);
    await stage.pass(GRACE_MS);
    expect(stage.load.inFlight).toBe(0);
  });

  it("is told by the newer one, because the code behind the older one may be gone", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one"), requestOf("two")]);
    const older = stage.members.news(first.session);
    const second = stage.open([], { running: ["one"], waiting: ["two"] });
    const newer = stage.members.news(second.session);
    await stage.world.admission.end(endOf("one"));
    await stage.pass(0);
    stage.members.end(first.session);
    expect({ older: verdicts(await older), newer: verdicts(await newer) }).toEqual({
      older: [],
      newer: ["two granted"],
    });
  });

  it("is told by the newer one what was decided when the older one has ended", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one"), requestOf("two")]);
    const older = stage.members.news(first.session);
    const second = stage.open([], { running: ["one"], waiting: ["two"] });
    const newer = stage.members.news(second.session);
    stage.members.end(first.session);
    await stage.world.admission.end(endOf("one"));
    expect({ older: verdicts(await older), newer: verdicts(await newer) }).toEqual({
      older: [],
      newer: ["two granted"],
    });
  });

  it("loses no news to the end of the older one", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one")]);
    const older = stage.members.news(first.session);
    const second = stage.open([], { running: ["one"] });
    const newer = stage.members.news(second.session);
    stage.members.exchange(second.session, { ...EMPTY_MESSAGE, ends: [endOf("one")] });
    await stage.pass(NEWS_MS - 1);
    stage.members.end(first.session);
    await stage.pass(1);
    expect({ older: (await older).stored, newer: (await newer).stored }).toEqual({ older: [], newer: ["one"] });
  });

  it("keeps an exchange of the older one that arrives late", async () => {
    const stage = new MembersHarness(2);
    const first = stage.open([requestOf("one")]);
    stage.open([], { running: ["one"] });
    const answer = stage.members.exchange(first.session, { ...EMPTY_MESSAGE, asks: [requestOf("two")] });
    expect({ told: verdicts(answer), load: stage.load.inFlight }).toEqual({ told: ["two granted"], load: 2 });
  });
});

it("knows isolates apart: what one of them loses is not lost to the others", async () => {
  const stage = new MembersHarness(2);
  const gone = stage.open([requestOf("gone")], { member: "a" });
  stage.open([requestOf("here")], { member: "b" });
  stage.members.end(gone.session);
  await stage.pass(GRACE_MS + ROW_WAITS_MS);
  expect({ here: stage.world.stateOf("here", "b"), rows: stage.rows }).toEqual({
    here: "running",
    rows: [["gone", 499, 10]],
  });
});
