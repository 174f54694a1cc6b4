/**
 * The Worker with counters for its billed operations: calls to objects (one per method call from outside, alarms included;
 * a call on a returned stub belongs to the same session), rows written (setting an alarm counts as one) and rows read. Also its
 * subrequests. Only the bench
 * bundles it, for a separate run; the measured gateway is the real one.
 */
import { CellObject, SessionTarget } from "../../../edge/objects/cell/cell.ts";
import { LedgerObject } from "../../../edge/objects/ledger/ledger.ts";
import { TenantBudgetObject } from "../../../edge/objects/tenant-budget/tenant-budget.ts";
import worker, { Cell, Ledger, TenantBudget } from "../../../edge/worker.ts";
import type { Operations } from "./operations.ts";

/** The path at which the counts are read. */
const COUNTS_PATH = "/bench/operations";

let [requests, rowsWritten, rowsRead, subrequests, objects] = [0, 0, 0, 0, 0];
const objectCalls: Record<string, number> = {};
const sessionCalls: Record<string, number> = {};

type Cursor = SqlStorageCursor<Record<string, SqlStorageValue>>;
type Method = (this: unknown, ...args: unknown[]) => unknown;
const patched = new WeakSet<object>();

/** Replaces a method, once, by one that calls `called` with the answer of every call. */
function onCall(prototype: object, name: string, called: (answer: unknown) => void): void {
  const method = Reflect.get(prototype, name) as Method;
  Reflect.set(prototype, name, function counted(this: unknown, ...args: unknown[]): unknown {
    const answer = method.apply(this, args);
    called(answer);
    return answer;
  });
}

function countStorage(storage: DurableObjectStorage): void {
  const [sql, objectStorage] = [Object.getPrototypeOf(storage.sql) as object, Object.getPrototypeOf(storage) as object];
  if (patched.has(sql)) return;
  patched.add(sql);
  onCall(sql, "exec", (answer) => {
    const cursor = answer as Cursor;
    rowsWritten += cursor.rowsWritten;
    rowsRead += cursor.rowsRead;
    countReads(Object.getPrototypeOf(cursor) as object);
  });
  onCall(objectStorage, "setAlarm", () => {
    rowsWritten += 1;
  });
}

/** Rows are read while a cursor is consumed, which the objects do with these two methods alone. */
function countReads(cursors: object): void {
  if (patched.has(cursors)) return;
  patched.add(cursors);
  for (const name of ["toArray", "one"]) {
    const method = Reflect.get(cursors, name) as Method;
    Reflect.set(cursors, name, function counted(this: Cursor, ...args: unknown[]): unknown {
      const before = this.rowsRead;
      const answer = method.apply(this, args);
      rowsRead += this.rowsRead - before;
      return answer;
    });
  }
}

function countCalls(kind: string, prototype: object, calls = objectCalls): void {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    if (name === "constructor" || typeof Reflect.get(prototype, name) !== "function") continue;
    onCall(prototype, name, () => {
      calls[`${kind}.${name}`] = (calls[`${kind}.${name}`] ?? 0) + 1;
    });
  }
}

countCalls("Cell", CellObject.prototype);
countCalls("Ledger", LedgerObject.prototype);
countCalls("TenantBudget", TenantBudgetObject.prototype);
countCalls("Session", SessionTarget.prototype, sessionCalls);

const fetchOutside = globalThis.fetch;
globalThis.fetch = async (...args: Parameters<typeof fetch>): Promise<Response> => {
  subrequests += 1;
  return await fetchOutside(...args);
};

/** A class that counts its objects when they wake. */
const counted = <Class extends new (state: DurableObjectState, env: never) => object>(Base: Class): Class =>
  new Proxy(Base, {
    construct: (target, args: [DurableObjectState, never], newTarget) => {
      objects += 1;
      countStorage(args[0].storage);
      return Reflect.construct(target, args, newTarget) as object;
    },
  });

const [CountedCell, CountedLedger, CountedBudget] = [counted(Cell), counted(Ledger), counted(TenantBudget)];

/** @exported The Workers runtime finds them by name. */
export { CountedBudget as TenantBudget, CountedCell as Cell, CountedLedger as Ledger };

/** @exported The Workers runtime calls it. */
export default {
  fetch: (request: Request, env: never, context: ExecutionContext): Response | Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === COUNTS_PATH) {
      const operations: Operations = {
        requests,
        objectCalls,
        sessionCalls,
        rowsWritten,
        rowsRead,
        subrequests,
        objects,
      };
      return Response.json(operations);
    }
    // Health checks and what the control service asks come at their own times, however many requests there are.
    if (pathname.startsWith("/v1/")) requests += 1;
    return worker.fetch(request, env, context);
  },
};
