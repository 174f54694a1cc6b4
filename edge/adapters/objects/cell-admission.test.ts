import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Issue } from "../../../shared/alerts.ts";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import type { Bindings } from "../../bindings.ts";
import type {
  ExchangeAnswer,
  ExchangeApi,
  ExchangeMessage,
  ExchangeSession,
} from "../../domain/admission/exchange-messages.ts";
import type { CellApi } from "../../domain/admission/rpc.ts";
import type { LedgerApi } from "../../domain/ledger/rpc.ts";
import { CellAdmission } from "./cell-admission.ts";
import { LostRows } from "./lost-rows.ts";
import { ObjectStubs } from "./object-stubs.ts";

/** How often a row is tried at a Ledger: once, and after each of the six pauses. */
const TRIES = 7;

const row = zeroUsageRow("00000000-0000-4000-8000-000000000001", 0);

/**
 * Admission over a test's Cell. Its calls fail with these failures, one after another (null: the call succeeds); after
 * the last failure every call succeeds.
 */
function admissionOf(...failures: (object | null)[]) {
  const stubs: string[] = [];
  const ledgers: string[] = [];
  const events: { readonly event: string; readonly [field: string]: unknown }[] = [];
  const away = { ledger: 0 };
  const calls: string[] = [];
  const call = (name: string): void => {
    calls.push(name);
    const failure = failures.shift();
    if (failure != null) throw Object.assign(new Error("Network connection lost."), failure);
  };
  const answer: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [], unknown: [] };
  const session: ExchangeSession = {
    exchange: async () => answer,
    news: async () => answer,
    close: async () => undefined,
    [Symbol.dispose]: () => undefined,
  };
  const cell: Pick<CellApi & ExchangeApi, "record" | "settleOrphan" | "level" | "openSession"> = {
    record: async () => call("record"),
    settleOrphan: async () => call("settleOrphan"),
    level: async () => {
      call("level");
      return null;
    },
    openSession: async () => {
      call("openSession");
      return { session, answer };
    },
  };
  const told: number[] = [];
  const ledger: Pick<LedgerApi, "appendOrphan" | "lost"> = {
    lost: async (rows) => {
      if (away.ledger > 0) {
        away.ledger -= 1;
        throw new Error("ledger");
      }
      told.push(rows);
    },
    appendOrphan: async (given) => {
      if (away.ledger > 0) {
        away.ledger -= 1;
        throw new Error("ledger");
      }
      ledgers.push(given.cell);
    },
  };
  const namespace = (seen: string[], stub: object) =>
    ({
      getByName: (name: string) => {
        seen.push(name);
        return stub;
      },
    }) as unknown as DurableObjectNamespace;
  const names: string[] = [];
  const bindings: Bindings = {
    CELL: namespace(stubs, cell),
    LEDGER: namespace(names, ledger),
    TENANT_BUDGET: namespace([], {}),
  };
  const raised: Issue[] = [];
  const alerts = { raise: (issue: Issue) => void raised.push(issue) };
  const log = { event: (event: string, fields: object = {}) => void events.push({ event, ...fields }) };
  const objects = new ObjectStubs(bindings, []);
  const lost = new LostRows({ ledger: () => objects.ledger("fra:0"), clock: () => 0, keepAlive: () => undefined });
  return {
    admission: new CellAdmission({ stubs: objects, cell: "fra", shards: 1, alerts, log, lost }),
    away,
    stubs,
    names,
    ledgers,
    told,
    events,
    raised,
    calls,
  };
}

const NOTHING: ExchangeMessage = {
  n: 1,
  ends: [],
  departures: [],
  records: [],
  hits: [],
  returns: [],
  asks: [],
};
const MEMBER = { member: "isolate", waiting: [], running: [], others: [] };

/** Hands a row in, and lets the pauses pass. */
async function recorded(admission: CellAdmission): Promise<void> {
  const recording = admission.record(row);
  await vi.advanceTimersByTimeAsync(60_000);
  await recording;
}

beforeEach(() => vi.useFakeTimers());

describe("the remote Cell", () => {
  it("is called once more, on a fresh stub, when that can help", async () => {
    const { admission, stubs, ledgers, calls } = admissionOf({ retryable: true });
    await admission.record(row);
    expect({ stubs, ledgers }).toEqual({ stubs: ["fra", "fra"], ledgers: [] });
    // The first call may have arrived, so the row is handed in as one that may have come before.
    expect(calls).toEqual(["record", "settleOrphan"]);
  });

  it.each([[{ retryable: true, overloaded: true }], [{}]])(
    "is not called again after %j: the Ledger takes the row",
    async (failure) => {
      const { admission, stubs, names, ledgers } = admissionOf(failure);
      await admission.record(row);
      expect({ stubs, names, ledgers }).toEqual({ stubs: ["fra"], names: ["fra:0"], ledgers: ["fra"] });
    },
  );

  it.each([
    [TRIES - 1, ["fra"], ["scheduler_unavailable"]],
    [TRIES, [], ["scheduler_unavailable", "usage_row_lost"]],
  ])(
    "and a Ledger that fails %i times: the row is sent again until the pauses are over",
    async (times, kept, logged) => {
      const { admission, away, ledgers, events } = admissionOf({});
      away.ledger = times;
      await recorded(admission);
      expect({ ledgers, events: events.map(({ event }) => event) }).toEqual({ ledgers: kept, events: logged });
    },
  );

  it("has lost rows counted once when it is back, even if the first report fails", async () => {
    const { admission, away, told } = admissionOf({}, {}, null);
    // Two rows are lost; then the first report of them fails.
    away.ledger = 2 * TRIES + 1;
    for (let rows = 0; rows < 3; rows += 1) await recorded(admission);
    await Promise.resolve();
    expect({ told, ledger: away.ledger }).toEqual({ told: [], ledger: 0 });
    for (let calls = 0; calls < 3; calls += 1) await admission.record(row);
    expect(told).toEqual([2]);
  });

  it("is unavailable when it fails twice", async () => {
    const { admission, events, raised } = admissionOf({ retryable: true }, { retryable: true });
    await expect(admission.withCell(async (cell) => await cell.record(row))).rejects.toMatchObject({
      code: "scheduler_unavailable",
      status: 503,
    });
    expect(events).toEqual([{ event: "scheduler_unavailable", cell: "fra", reason: "Network connection lost." }]);
    expect(raised).toMatchObject([
      { issueKey: "scheduler_unavailable", detail: "cell fra: no answer; requests are rejected" },
    ]);
  });

  it("opens a session by one call: its holder decides what follows a failure", async () => {
    const { admission, calls, events, raised } = admissionOf({ retryable: true });
    await expect(admission.openSession(MEMBER, NOTHING)).rejects.toMatchObject({ retryable: true });
    await admission.openSession(MEMBER, NOTHING);
    expect({ calls, events, raised }).toEqual({ calls: ["openSession", "openSession"], events: [], raised: [] });
  });

  it.each([
    ["no answer", {}],
    ["overloaded", { retryable: true, overloaded: true }],
  ])("is reported as away once: %s", (detail, failure) => {
    const { admission, events, raised } = admissionOf();
    const errors = [false, true].map((isReported) =>
      admission.unavailable(Object.assign(new Error("Network connection lost."), failure), isReported),
    );
    expect(errors.map(({ code, status }) => ({ code, status }))).toEqual([
      { code: "scheduler_unavailable", status: 503 },
      { code: "scheduler_unavailable", status: 503 },
    ]);
    expect({ events, details: raised.map((issue) => issue.detail) }).toEqual({
      events: [{ event: "scheduler_unavailable", cell: "fra", reason: "Network connection lost." }],
      details: [`cell fra: ${detail}; requests are rejected`],
    });
  });

  it("that is away for many rows is logged once, and once when it is back, with their number", async () => {
    const { admission, events, ledgers, raised } = admissionOf({}, {}, {});
    for (let sent = 0; sent < 5; sent += 1) await admission.record(row);
    expect({ events, ledgers: ledgers.length }).toEqual({
      events: [
        { event: "scheduler_unavailable", cell: "fra", reason: "Network connection lost." },
        { event: "scheduler_available", cell: "fra", failures: 3 },
      ],
      ledgers: 3,
    });
    // Each failure is raised: what receives alerts counts the repeats.
    expect(raised.map(({ issueKey }) => issueKey)).toEqual(Array.from({ length: 3 }, () => "scheduler_unavailable"));
  });

  it("that opens a session after rows were lost has them counted", async () => {
    const { admission, away, told } = admissionOf({});
    away.ledger = TRIES;
    await recorded(admission);
    await admission.openSession(MEMBER, NOTHING);
    await Promise.resolve();
    expect(told).toEqual([1]);
  });

  it("that is away leaves the level of a bucket unknown", async () => {
    const { admission, calls } = admissionOf({ retryable: true }, {});
    expect({ level: await admission.level(limitsWith({})), calls }).toEqual({ level: null, calls: ["level", "level"] });
  });
});
