/**
 * Alerts on their way from the cells to the sink: in order, none lost, whatever fails
 * (docs/rules/alerts.md#way-to-the-channels).
 */
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AlertEvent } from "../../shared/alerts.ts";
import type { AlertAck, AlertBatch } from "../../shared/wire/internal.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import type { AlertSink } from "../kernel/alert-sink.ts";
import type { CellAddress } from "../kernel/cells/cells.ts";
import { AlertPull, type AlertSource } from "./alert-pull.ts";
import { alertSources } from "./tables.ts";

const log = pino({ level: "silent" });
let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  await control.connection.db.delete(alertSources);
});

function event(id: string): AlertEvent {
  return { id, issueKey: id, title: "t", detail: "d", atMs: 0, count: 1 };
}

/** Cells that keep alerts as a Ledger does, two per answer. */
class TestCells implements AlertSource {
  readonly addresses: readonly CellAddress[];
  readonly waiting = new Map<string, { sequence: number; event: AlertEvent }[]>();
  readonly asked: (AlertAck | null)[] = [];
  down = new Set<string>();
  loseAnswers = 0;
  ledger = "l1";
  #sequence = 0;

  constructor(...names: string[]) {
    this.addresses = names.map((cell) => ({ cell, url: `http://${cell}.test` }));
    for (const name of names) this.waiting.set(name, []);
  }

  raise(cell: string, ...ids: string[]): void {
    for (const id of ids) {
      this.#sequence += 1;
      this.waiting.get(cell)?.push({ sequence: this.#sequence, event: event(id) });
    }
  }

  async alerts({ cell }: CellAddress, ack: AlertAck | null): Promise<AlertBatch> {
    this.asked.push(ack);
    if (this.down.has(cell)) throw new Error("down");
    const held = this.waiting.get(cell) ?? [];
    const left = ack?.ledger === this.ledger ? held.filter((entry) => entry.sequence > ack.through) : held;
    this.waiting.set(cell, left);
    if (this.loseAnswers > 0) {
      this.loseAnswers -= 1;
      throw new Error("the answer was lost");
    }
    const batch = left.slice(0, 2);
    return {
      ledger: this.ledger,
      through: batch.at(-1)?.sequence ?? 0,
      alerts: batch.map((entry) => entry.event),
      dropped: 0,
    };
  }
}

function sinkOf(): AlertSink & { readonly taken: string[]; failAt: string | null } {
  const taken: string[] = [];
  return {
    taken,
    failAt: null,
    async take(alerts, also) {
      await control.connection.db.transaction(async (tx) => {
        await also?.(tx);
        if (alerts.some(({ id }) => id === this.failAt)) throw new Error("full");
      });
      taken.push(...alerts.map(({ cell, id }) => `${cell} ${id}`));
    },
  };
}

const pullOf = (cells: TestCells, sink: AlertSink): AlertPull => new AlertPull(cells, sink, control.connection.db, log);

describe("the pull of alerts", () => {
  it("empties every cell in order and leaves nothing behind", async () => {
    const cells = new TestCells("a", "b");
    const sink = sinkOf();
    cells.raise("a", "1", "2", "3", "4", "5");
    cells.raise("b", "6");
    await pullOf(cells, sink).run();
    expect(sink.taken.filter((entry) => entry.startsWith("a"))).toEqual(["a 1", "a 2", "a 3", "a 4", "a 5"]);
    expect(sink.taken).toContain("b 6");
    expect([...cells.waiting.values()]).toEqual([[], []]);
  });

  it("is not delayed by a cell that is down, and gets its alerts when it is back", async () => {
    const cells = new TestCells("a", "b");
    const sink = sinkOf();
    cells.raise("a", "1");
    cells.raise("b", "2");
    cells.down.add("a");
    const pull = pullOf(cells, sink);
    await expect(pull.run()).rejects.toThrow("down");
    expect(sink.taken).toEqual(["b 2"]);
    cells.down.clear();
    await pull.run();
    expect(sink.taken).toEqual(["b 2", "a 1"]);
  });

  it("hands no alert over twice when a confirmation is lost", async () => {
    const cells = new TestCells("a");
    const sink = sinkOf();
    cells.raise("a", "1", "2");
    const pull = pullOf(cells, sink);
    cells.alerts = async (address, ack) => {
      if (ack !== null) cells.loseAnswers = cells.asked.length === 1 ? 1 : 0;
      return await TestCells.prototype.alerts.call(cells, address, ack);
    };
    await expect(pull.run()).rejects.toThrow("lost");
    cells.raise("a", "3");
    await pull.run();
    expect(sink.taken).toEqual(["a 1", "a 2", "a 3"]);
  });

  it("hands over again the alerts that the sink refused and all later ones, but no earlier ones", async () => {
    const cells = new TestCells("a");
    const sink = sinkOf();
    cells.raise("a", "1", "2", "3", "4");
    sink.failAt = "4";
    const pull = pullOf(cells, sink);
    await expect(pull.run()).rejects.toThrow("full");
    expect(sink.taken).toEqual(["a 1", "a 2"]);
    sink.failAt = null;
    cells.raise("a", "5");
    await pull.run();
    expect(sink.taken).toEqual(["a 1", "a 2", "a 3", "a 4", "a 5"]);
  });

  it("hands each alert over once when a replica crashes between taking and confirming", async () => {
    const cells = new TestCells("a");
    const sink = sinkOf();
    cells.raise("a", "1", "2", "3");
    const confirmed = cells.alerts.bind(cells);
    cells.alerts = async (address, ack) => {
      if (ack !== null) throw new Error("killed");
      return await confirmed(address, ack);
    };
    await expect(pullOf(cells, sink).run()).rejects.toThrow("killed");
    cells.alerts = confirmed;
    await pullOf(cells, sink).run();
    expect(sink.taken).toEqual(["a 1", "a 2", "a 3"]);
  });

  it("takes no alert twice when two replicas pull at once", async () => {
    const cells = new TestCells("a");
    const sink = sinkOf();
    cells.raise("a", "1", "2", "3");
    await pullOf(cells, sink).run();
    cells.raise("a", "4", "5", "6");
    await Promise.all([1, 2, 3].map(async () => await pullOf(cells, sink).run()));
    await pullOf(cells, sink).run();
    expect(sink.taken).toEqual(["1", "2", "3", "4", "5", "6"].map((id) => `a ${id}`));
  });

  it("confirms no alert of one storage to another storage", async () => {
    const cells = new TestCells("a");
    const sink = sinkOf();
    cells.raise("a", "1");
    const pull = pullOf(cells, sink);
    await pull.run();
    cells.ledger = "l2";
    cells.waiting.set("a", [{ sequence: 1, event: event("2") }]);
    await pull.run();
    expect({ taken: sink.taken, waiting: cells.waiting.get("a") }).toEqual({ taken: ["a 1", "a 2"], waiting: [] });
  });
});
