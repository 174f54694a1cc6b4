/** Alerts that a transaction raises: they are handed over after its commit, and none is lost on the way to the sink. */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { issues } from "../../shared/alerts.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { alertOutbox } from "../db/schema/journal.ts";
import { AlertOutbox, raiseInTransaction } from "./alert-outbox.ts";
import type { AlertSink, RaisedAlert } from "./alert-sink.ts";

let control: TestControl;
let nowMs = 0;
let taken: RaisedAlert[] = [];
let failing = false;
let outbox: AlertOutbox;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  await control.connection.db.delete(alertOutbox);
  nowMs = 1_700_000_000_000;
  taken = [];
  failing = false;
  const take = async (...[alerts, also]: Parameters<AlertSink["take"]>): Promise<void> => {
    if (failing) throw new Error("away");
    if (also !== undefined) await control.connection.db.transaction(also);
    taken.push(...alerts);
  };
  outbox = new AlertOutbox(control.connection.db, { take }, "local", () => new Date(nowMs));
});

async function raise(models: readonly string[], fail = false): Promise<void> {
  await control.connection.db.transaction(async (tx) => {
    for (const model of models)
      await raiseInTransaction(tx, issues.modelHealthDown(model, 2, "http 500"), new Date(nowMs));
    if (fail) throw new Error("undone");
  });
}

const takenModels = (): readonly string[] => taken.map(({ issueKey }) => issueKey.split(":")[1] ?? "");

it("hands over what was committed, once and in order", async () => {
  const models = Array.from({ length: 25 }, (_, at) => `m${at}`);
  await raise(models);
  await expect(raise(["undone"], true)).rejects.toThrow("undone");
  await outbox.deliver();
  await outbox.deliver();
  expect(takenModels()).toEqual(models);
  expect(taken[0]).toMatchObject({
    cell: "local",
    title: "Model down",
    detail: "m0: 2 consecutive failures, last: http 500",
    atMs: nowMs,
  });
});

it("hands over again the alerts that the sink did not take", async () => {
  await raise(["a", "b"]);
  failing = true;
  await expect(outbox.deliver()).rejects.toThrow("away");
  failing = false;
  await outbox.deliver();
  expect(takenModels()).toEqual(["a", "b"]);
});

it("leaves alerts that another replica has claimed, until that replica is gone", async () => {
  await raise(["a"]);
  await control.connection.db.update(alertOutbox).set({ claimed_until: new Date(nowMs + 60_000) });
  await outbox.deliver();
  expect(takenModels()).toEqual([]);
  nowMs += 60_001;
  await outbox.deliver();
  expect(takenModels()).toEqual(["a"]);
});

it("keeps its claim on alerts that it has not handed over yet, however slow the sink is", async () => {
  await raise(["a", "b", "c", "d"]);
  const { db } = control.connection;
  const sinkOf = (before: (alert: RaisedAlert | undefined) => Promise<void>): AlertSink => ({
    take: async (alerts, also) => {
      await before(alerts[0]);
      if (also !== undefined) await db.transaction(also);
      taken.push(...alerts);
    },
  });
  const other = new AlertOutbox(
    db,
    sinkOf(async () => undefined),
    "there",
    () => new Date(nowMs),
  );
  const slow = sinkOf(async (alert) => {
    nowMs += 60_000;
    if (alert?.issueKey.endsWith(":d") === true) await other.deliver();
  });
  await new AlertOutbox(db, slow, "here", () => new Date(nowMs)).deliver();
  expect(takenModels()).toEqual(["a", "b", "c", "d"]);
});

it("hands over no alert twice when another replica took it after the claim had run out", async () => {
  await raise(["a"]);
  const { db } = control.connection;
  const late: AlertSink = {
    take: async (alerts, also) => {
      nowMs += 121_000;
      await outbox.deliver();
      if (also !== undefined) await db.transaction(also);
      taken.push(...alerts);
    },
  };
  await new AlertOutbox(db, late, "here", () => new Date(nowMs)).deliver();
  expect(takenModels()).toEqual(["a"]);
});
