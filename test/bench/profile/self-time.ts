/**
 * How a V8 CPU profile divides its time: for each function, its own time, and its time with that of the functions it
 * called. Pure.
 */

/** The parts of a profile that are read here (Chrome DevTools protocol, Profiler.Profile). */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface FunctionTime {
  readonly name: string;
  readonly selfMs: number;
  /** The time with that of the functions it called; counted once when it calls itself. */
  readonly totalMs: number;
}

/** Every function of the profile, the longest own time first. */
export function functionTimes({ nodes, samples, timeDeltas }: CpuProfile): readonly FunctionTime[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const selfOf = new Map<number, number>();
  for (const [at, id] of samples.entries()) selfOf.set(id, (selfOf.get(id) ?? 0) + (timeDeltas[at] ?? 0) / 1000);
  const times = new Map<string, { selfMs: number; totalMs: number }>();
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const node = byId.get(id);
    if (node === undefined) return 0;
    const { functionName, url, lineNumber } = node.callFrame;
    const name = `${functionName || "(anonymous)"}${url === "" ? "" : `:${lineNumber + 1}`}`;
    const time = times.get(name) ?? { selfMs: 0, totalMs: 0 };
    times.set(name, time);
    const selfMs = selfOf.get(id) ?? 0;
    const within = new Set([...above, name]);
    const totalMs = (node.children ?? []).reduce((sum, child) => sum + visit(child, within), selfMs);
    time.selfMs += selfMs;
    if (!above.has(name)) time.totalMs += totalMs;
    return totalMs;
  };
  const children = new Set(nodes.flatMap((node) => node.children ?? []));
  for (const { id } of nodes) if (!children.has(id)) visit(id, new Set());
  return [...times].map(([name, time]) => ({ name, ...time })).toSorted((a, b) => b.selfMs - a.selfMs);
}
