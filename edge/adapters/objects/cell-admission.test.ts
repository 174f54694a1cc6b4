import { describe, expect, it } from "vitest";
import type { Issue } from "../../../shared/alerts.ts";
import type { RevItem } from "../../../shared/internal.ts";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import type { AdmissionRequest, CacheHit, CellApi, LedgerApi, ReceiptHandle } from "../../domain/admission/rpc.ts";
import type { Bindings } from "../../env.ts";
import { CellAdmission } from "./cell-admission.ts";
import { LostRows } from "./lost-rows.ts";
import { ObjectStubs } from "./object-stubs.ts";

const row = zeroUsageRow("00000000-0000-4000-8000-000000000001", 0);

/**
 * Admission over a test's Cell. Its calls fail with these failures, one after another (null: the call succeeds); after
 * the last failure every call succeeds.
 */
function admissionOf(...failures: (object | null)[]) {
  const stubs: string[] = [];
  const ledgers: string[] = [];
  const events: string[] = [];
  const away = { ledger: 0 };
  const calls: string[] = [];
  const call = (name: string): void => {
    calls.push(name);
    const failure = failures.shift();
    if (failure != null) throw Object.assign(new Error("cell"), failure);
  };
  const receipt: ReceiptHandle = {
    durable: async () => call("durable"),
    [Symbol.dispose]: () => void calls.push("disposed"),
  };
  const outdated: RevItem[] = [];
  const cell: Pick<CellApi, "record" | "settleOrphan" | "hit" | "admit" | "adopt"> = {
    admit: async () => {
      call("admit");
      return { verdict: "stale", items: [] };
    },
    adopt: async () => {
      call("adopt");
      throw new Error("not adopted");
    },
    record: async () => call("record"),
    settleOrphan: async () => call("settleOrphan"),
    hit: async (_hit, again = false) => {
      call(again ? "hit again" : "hit");
      if (outdated.length > 0) return { verdict: "stale", items: outdated };
      return { verdict: "current", level: null, receipt };
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
  const log = { event: (name: string) => void events.push(name) };
  const objects = new ObjectStubs(bindings, []);
  const lost = new LostRows({ ledger: () => objects.ledger("fra:0"), clock: () => 0, keepAlive: () => undefined });
  return {
    admission: new CellAdmission(objects, "fra", 1, alerts, log, [0, 0], lost),
    away,
    stubs,
    names,
    ledgers,
    told,
    events,
    raised,
    calls,
    outdated,
  };
}

const hit: CacheHit = { revs: [], limits: null, row };

describe("the remote Cell", () => {
  it("is called once more, on a fresh stub, when that can help", async () => {
    const { admission, stubs, ledgers, calls } = admissionOf({ retryable: true });
    await admission.record(row);
    expect({ stubs, ledgers }).toEqual({ stubs: ["fra", "fra"], ledgers: [] });
    // The first call may have arrived, so the row is handed in as one that may have come before.
    expect(calls).toEqual(["record", "settleOrphan"]);
  });

  it("confirms a hit and takes its row in one call, then reports the row as durable", async () => {
    const { admission, calls, ledgers } = admissionOf();
    const { newer, recorded } = await admission.confirmHit(hit);
    await recorded;
    expect({ newer, calls, ledgers }).toEqual({ newer: [], calls: ["hit", "durable", "disposed"], ledgers: [] });
  });

  it("takes no row of a hit that rests on outdated records", async () => {
    const { admission, calls, outdated } = admissionOf();
    outdated.push({ kind: "model", id: "tiny", rev: 2 });
    const { newer, recorded } = await admission.confirmHit(hit);
    await recorded;
    expect({ newer, calls }).toEqual({ newer: outdated, calls: ["hit"] });
  });

  it("gets a hit again as one that it may know already", async () => {
    const { admission, calls } = admissionOf({ retryable: true });
    await (await admission.confirmHit(hit)).recorded;
    expect(calls).toEqual(["hit", "hit again", "durable", "disposed"]);
  });

  it.each([
    ["a new one", [{}], ["hit", "durable", "settleOrphan", "disposed"], []],
    ["the Ledger, when there is none", [{}, {}], ["hit", "durable", "settleOrphan", "disposed"], ["fra"]],
  ])("that is reset before the row of a hit is durable: the row goes to %s", async (_, failures, called, kept) => {
    const { admission, calls, ledgers } = admissionOf(null, ...failures);
    await (await admission.confirmHit(hit)).recorded;
    expect({ calls, ledgers }).toEqual({ calls: called, ledgers: kept });
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
    [2, ["fra"], ["scheduler_unavailable"]],
    [3, [], ["scheduler_unavailable", "usage_row_lost"]],
  ])(
    "and a Ledger that fails %i times: the row is sent again until the pauses are over",
    async (times, kept, logged) => {
      const { admission, away, ledgers, events } = admissionOf({});
      away.ledger = times;
      await admission.record(row);
      expect({ ledgers, events }).toEqual({ ledgers: kept, events: logged });
    },
  );

  it("has lost rows counted once when it is back, even if the first report fails", async () => {
    const { admission, away, told } = admissionOf({}, {}, null);
    away.ledger = 7;
    await admission.record(row);
    await admission.record(row);
    await admission.record(row);
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
    expect(events).toEqual(["scheduler_unavailable"]);
    expect(raised).toMatchObject([
      { issueKey: "scheduler_unavailable", detail: "cell fra: no answer; requests are rejected" },
    ]);
  });

  it("is reported once for each request that waits for it", async () => {
    const { admission, events, raised } = admissionOf({}, {}, {});
    const request = {} as AdmissionRequest;
    await expect(admission.admit(request)).rejects.toMatchObject({ code: "scheduler_unavailable" });
    await expect(admission.admit(request, true)).rejects.toMatchObject({ code: "scheduler_unavailable" });
    await expect(admission.adopt(request, true)).rejects.toMatchObject({ code: "scheduler_unavailable" });
    expect({ events, raisedCount: raised.length }).toEqual({ events: ["scheduler_unavailable"], raisedCount: 1 });
  });
});
