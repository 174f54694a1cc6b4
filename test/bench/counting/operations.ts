/** Operations that Cloudflare bills, as the counting Worker counts them. Pure. */

export interface Operations {
  /** Requests of applications. */
  readonly requests: number;
  /** Calls to objects, by class and method. */
  readonly objectCalls: Readonly<Record<string, number>>;
  /** Calls on sessions, by method; each belongs to the session of the call that opened it. */
  readonly sessionCalls: Readonly<Record<string, number>>;
  readonly rowsWritten: number;
  readonly rowsRead: number;
  /** Requests that the Worker or an object sends to somebody outside: upstreams and stores. The platform limits them, and bills none. */
  readonly subrequests: number;
  /** The number of objects that have been woken so far. */
  readonly objects: number;
}

/** The operations between two counts; the number of objects is that of the later count. */
export function lessOf(after: Operations, before: Operations): Operations {
  return {
    requests: after.requests - before.requests,
    objectCalls: callsLess(after.objectCalls, before.objectCalls),
    sessionCalls: callsLess(after.sessionCalls, before.sessionCalls),
    rowsWritten: after.rowsWritten - before.rowsWritten,
    rowsRead: after.rowsRead - before.rowsRead,
    subrequests: after.subrequests - before.subrequests,
    objects: after.objects,
  };
}

type Calls = Readonly<Record<string, number>>;

function callsLess(after: Calls, before: Calls): Calls {
  const calls = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  return Object.fromEntries(calls.filter(([, count]) => count > 0));
}
