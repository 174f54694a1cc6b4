/** Operations that Cloudflare bills, as the counting Worker counts them. Pure. */

export interface Operations {
  /** Of the Worker, from outside. */
  readonly requests: number;
  /** By class and method. */
  readonly objectCalls: Readonly<Record<string, number>>;
  readonly rowsWritten: number;
  /** Objects that have been woken so far. */
  readonly objects: number;
}

/** What was done between two counts; the objects are those of the later one. */
export function lessOf(after: Operations, before: Operations): Operations {
  const calls = Object.entries(after.objectCalls).map(
    ([name, count]) => [name, count - (before.objectCalls[name] ?? 0)] as const,
  );
  return {
    requests: after.requests - before.requests,
    objectCalls: Object.fromEntries(calls.filter(([, count]) => count > 0)),
    rowsWritten: after.rowsWritten - before.rowsWritten,
    objects: after.objects,
  };
}
