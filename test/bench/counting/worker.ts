/**
 * The Worker with its billed operations counted: calls of objects (one per call of a method from outside, alarms included;
 * what is called on a returned stub belongs to the same session) and rows written (an alarm that is set counts as one). Only
 * the bench bundles it, for a run of its own; the measured gateway is the real one.
 */
import { Permit } from "../../../edge/objects/cell/permit.ts";
import worker, { Cell, Ledger, TenantBudget } from "../../../edge/worker.ts";
import type { Operations } from "./operations.ts";

/** Where the counts are read. */
const COUNTS_PATH = "/bench/operations";

let [requests, rowsWritten, objects] = [0, 0, 0];
const objectCalls: Record<string, number> = {};
const permitCalls: Record<string, number> = {};

type Method = (this: unknown, ...args: unknown[]) => unknown;
const patched = new WeakSet<object>();

/** Replaces a method, once, by one that is told of every call. */
function onCall(prototype: object, name: string, told: (answer: unknown) => void): void {
  const method = Reflect.get(prototype, name) as Method;
  Reflect.set(prototype, name, function counted(this: unknown, ...args: unknown[]): unknown {
    const answer = method.apply(this, args);
    told(answer);
    return answer;
  });
}

function countStorage(storage: DurableObjectStorage): void {
  const [sql, objectStorage] = [Object.getPrototypeOf(storage.sql) as object, Object.getPrototypeOf(storage) as object];
  if (patched.has(sql)) return;
  patched.add(sql);
  onCall(sql, "exec", (cursor) => {
    rowsWritten += (cursor as SqlStorageCursor<Record<string, SqlStorageValue>>).rowsWritten;
  });
  onCall(objectStorage, "setAlarm", () => {
    rowsWritten += 1;
  });
}

function countCalls(kind: string, prototype: object, calls = objectCalls): void {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    if (name === "constructor" || typeof Reflect.get(prototype, name) !== "function") continue;
    onCall(prototype, name, () => {
      calls[`${kind}.${name}`] = (calls[`${kind}.${name}`] ?? 0) + 1;
    });
  }
}

countCalls("Cell", Cell.prototype);
countCalls("Ledger", Ledger.prototype);
countCalls("TenantBudget", TenantBudget.prototype);
countCalls("Permit", Permit.prototype, permitCalls);

/** A class whose objects are counted when they wake. */
const counted = <Class extends new (state: DurableObjectState, env: never) => object>(Base: Class): Class =>
  new Proxy(Base, {
    construct: (target, args: [DurableObjectState, never], newTarget) => {
      objects += 1;
      countStorage(args[0].storage);
      return Reflect.construct(target, args, newTarget) as object;
    },
  });

const [CountedCell, CountedLedger, CountedBudget] = [counted(Cell), counted(Ledger), counted(TenantBudget)];

export { CountedBudget as TenantBudget, CountedCell as Cell, CountedLedger as Ledger };

export default {
  fetch: (request: Request, env: never, context: ExecutionContext): Response | Promise<Response> => {
    if (new URL(request.url).pathname === COUNTS_PATH) {
      const operations: Operations = { requests, objectCalls, permitCalls, rowsWritten, objects };
      return Response.json(operations);
    }
    requests += 1;
    return worker.fetch(request, env, context);
  },
};
