/**
 * What a test leaves in the process that it shares with other test files: globals that it replaced, and running intervals. A real
 * `setTimeout` fails no test, because whether it has fired depends on the speed of the machine; it is stopped when a test fakes timers, and at the end
 * of its file.
 * Pending fake timers are ignored: they end with their clock. Servers and other open handles are not seen.
 */
import { vi } from "vitest";

const WATCHED: Readonly<Record<string, object>> = {
  globalThis,
  Date,
  Math,
  console,
  crypto,
  performance,
  "process.env": process.env,
};

/** Packages add such names when they are loaded; Hono's server replaces two classes whenever one starts. */
const OF_PACKAGES = /^(__.*|Request|Response)$/;

// Node replaces the getters of some globals by their values when they are first read
for (const name of Object.getOwnPropertyNames(globalThis)) Reflect.get(globalThis, name);

const { Request, Response } = globalThis;

/** Undoes what Hono's server did, once no server of a file runs any more. */
export function restoreWebClasses(): void {
  Object.assign(globalThis, { Request, Response });
}

/** Intervals of tests. vitest took its `setInterval` earlier, and Node's own modules take theirs elsewhere. */
const intervals = new Map<NodeJS.Timeout, string>();
const startInterval = globalThis.setInterval;
globalThis.setInterval = Object.assign((...given: Parameters<typeof startInterval>) => {
  const interval = startInterval(...given);
  intervals.set(interval, `setInterval of ${given[1]} ms`);
  return interval;
}, startInterval);

function runningIntervals(): Map<NodeJS.Timeout, string> {
  for (const interval of intervals.keys())
    if ((interval as unknown as { _destroyed: boolean })._destroyed) intervals.delete(interval);
  return new Map(intervals);
}

/** Timeouts of tests and of the code under test that have not fired. */
const timeouts = new Set<NodeJS.Timeout>();
const startTimeout = globalThis.setTimeout;
globalThis.setTimeout = Object.assign((...[run, ms, ...args]: Parameters<typeof startTimeout>) => {
  const fire = (): void => {
    timeouts.delete(timeout);
    run(...args);
  };
  const timeout = startTimeout(fire, ms);
  timeouts.add(timeout);
  return timeout;
}, startTimeout);

export function stopTimeouts(): void {
  for (const timeout of timeouts) clearTimeout(timeout);
  timeouts.clear();
}

// A timeout of an earlier test, such as a deadline of many short ticks, would continue under the clock of the test that fakes it.
const useFakeTimers = vi.useFakeTimers.bind(vi);
vi.useFakeTimers = (config) => {
  stopTimeouts();
  return useFakeTimers(config);
};

type Properties = Readonly<Record<string, PropertyDescriptor>>;

/** What is there before a test. */
export interface Found {
  readonly properties: Readonly<Record<string, Properties>>;
  readonly intervals: ReadonlyMap<NodeJS.Timeout, string>;
}

export function lookAround(): Found {
  const properties = Object.entries(WATCHED).map(([name, object]) => [name, Object.getOwnPropertyDescriptors(object)]);
  return { properties: Object.fromEntries(properties) as Found["properties"], intervals: runningIntervals() };
}

const sameProperty = (one: PropertyDescriptor | undefined, other: PropertyDescriptor | undefined): boolean =>
  one !== undefined && other !== undefined && one.get === other.get && Object.is(one.value, other.value);

/** Undoes what `vi` has done since `before`, then also the rest, and names that: what a test should have undone. */
export function cleanUp(before: Found): string[] {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  const after = lookAround();
  const left: string[] = [];
  for (const [name, object] of Object.entries(WATCHED)) {
    const [old, now] = [before.properties[name] ?? {}, after.properties[name] ?? {}];
    for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
      if (OF_PACKAGES.test(key) || sameProperty(old[key], now[key])) continue;
      left.push(`${name}.${key}`);
      if (old[key] === undefined) Reflect.deleteProperty(object, key);
      else Object.defineProperty(object, key, old[key]);
    }
  }
  for (const [interval, description] of after.intervals) {
    if (before.intervals.has(interval)) continue;
    left.push(description);
    clearInterval(interval);
  }
  return left;
}
