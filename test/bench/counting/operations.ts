/** Operations that Cloudflare bills, as the counting Worker counts them. Pure. */

export interface Operations {
  /** Of the Worker, from outside. */
  readonly requests: number;
  /** By class and method. */
  readonly objectCalls: Readonly<Record<string, number>>;
  /** Calls on permits, by method; each belongs to the session of the call that gave it out. */
  readonly permitCalls: Readonly<Record<string, number>>;
  readonly rowsWritten: number;
  /** Objects that have been woken so far. */
  readonly objects: number;
}

/** What was done between two counts; the objects are those of the later one. */
export function lessOf(after: Operations, before: Operations): Operations {
  return {
    requests: after.requests - before.requests,
    objectCalls: callsLess(after.objectCalls, before.objectCalls),
    permitCalls: callsLess(after.permitCalls, before.permitCalls),
    rowsWritten: after.rowsWritten - before.rowsWritten,
    objects: after.objects,
  };
}

type Calls = Readonly<Record<string, number>>;

function callsLess(after: Calls, before: Calls): Calls {
  const calls = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  return Object.fromEntries(calls.filter(([, count]) => count > 0));
}
