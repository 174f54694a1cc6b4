import { describe, expect, it } from "vitest";
import type { Issue } from "../../shared/alerts.ts";
import { zeroUsageRow } from "../../shared/usage-row.ts";
import type { CellApi, LedgerApi } from "../domain/ask.ts";
import type { Bindings } from "../env.ts";
import { CellAdmission } from "./cell-admission.ts";
import { ObjectPlaces } from "./object-places.ts";

const row = zeroUsageRow("00000000-0000-4000-8000-000000000001", 0);

/** Admission whose Cell answers `failures` in turn before it takes a row. */
function admissionOf(...failures: object[]) {
  const stubs: string[] = [];
  const ledgers: string[] = [];
  const events: string[] = [];
  const away = { ledger: 0 };
  const cell: Pick<CellApi, "record"> = {
    record: async () => {
      const failure = failures.shift();
      if (failure !== undefined) throw Object.assign(new Error("cell"), failure);
    },
  };
  const ledger: Pick<LedgerApi, "appendOrphan"> = {
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
  return {
    admission: new CellAdmission(new ObjectPlaces(bindings, []), "fra", 1, alerts, log, [0, 0]),
    away,
    stubs,
    names,
    ledgers,
    events,
    raised,
  };
}

describe("the Cell from afar", () => {
  it("is asked once more, on a fresh stub, when that can help", async () => {
    const { admission, stubs, ledgers } = admissionOf({ retryable: true });
    await admission.record(row);
    expect([stubs, ledgers]).toEqual([["fra", "fra"], []]);
  });

  it.each([[{ retryable: true, overloaded: true }], [{}]])(
    "is not asked again after %j: the Ledger takes the row",
    async (failure) => {
      const { admission, stubs, names, ledgers } = admissionOf(failure);
      await admission.record(row);
      expect([stubs, names, ledgers]).toEqual([["fra"], ["fra:0"], ["fra"]]);
    },
  );

  it.each([
    [2, ["fra"], ["scheduler_unavailable"]],
    [3, [], ["scheduler_unavailable", "usage_row_lost"]],
  ])("and a Ledger that fails %i times: the row is tried until the pauses are over", async (times, kept, told) => {
    const { admission, away, ledgers, events } = admissionOf({});
    away.ledger = times;
    await admission.record(row);
    expect([ledgers, events]).toEqual([kept, told]);
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
});
