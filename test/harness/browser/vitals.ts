/**
 * How a page loads for somebody with a slow phone: what it shifts, and when its largest part is there. Times are not
 * measured, because they say more about the machine of the test than about the page: the time of the largest part is worked
 * out from what had to be loaded before it, as over a slow line (docs/rules/tests.md#pages).
 */
import type { Page } from "playwright-core";

/** A slow mobile line: 1.6 Mbit/s with 150 ms for a round trip. */
const LINE = { bytesPerMs: 200, roundTripMs: 150 } as const;
/** A delay beside which a page's own work between two requests is short. */
const DELAY_MS = 800;
/** Reads that a page tries again wait for less; what a page does without what is late waits so long. */
const LATE_MS = 3000;
/** How much slower the processor of a cheap phone is. */
const PROCESSOR_SLOWDOWN = 4;

/** A request that a page has made, in ms since its navigation. */
interface LoadedResource {
  readonly url: string;
  readonly startMs: number;
  readonly endMs: number;
  /** Compressed, with its headers. */
  readonly bytes: number;
}

/** What the browser has seen of a page's load. */
interface Vitals {
  /** Cumulative layout shift: 0 is none. */
  readonly layoutShift: number;
  /** What moved, one line for each shift. */
  readonly shifts: readonly string[];
  /** When the largest part was painted here, in ms since the navigation; null: nothing was painted. */
  readonly largestPaintMs: number | null;
  readonly resources: readonly LoadedResource[];
}

/** As the browser reports it (https://wicg.github.io/layout-instability). */
interface LayoutShift extends PerformanceEntry {
  readonly value: number;
  readonly hadRecentInput: boolean;
  readonly sources: readonly {
    readonly node: Node | null;
    readonly previousRect: DOMRectReadOnly;
    readonly currentRect: DOMRectReadOnly;
  }[];
}

interface Watched {
  layoutShift: number;
  readonly shifts: string[];
  largestPaintMs: number | null;
}

/** Collects the vitals of every page that is opened in this tab from now on. */
export async function watchVitals(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const watched: Watched = { layoutShift: 0, shifts: [], largestPaintMs: null };
    Object.assign(globalThis, { watchedVitals: watched });
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, value, sources } of list.getEntries() as LayoutShift[]) {
        if (hadRecentInput) continue;
        watched.layoutShift += value;
        const moved = sources.map(({ node, previousRect, currentRect }) => {
          const [from, to] = [previousRect, currentRect].map(({ x, y }) => `${Math.round(x)},${Math.round(y)}`);
          return `${node?.nodeName} "${node?.textContent?.slice(0, 60)}" from ${from} to ${to}`;
        });
        watched.shifts.push(`${value.toFixed(3)}: ${moved.join("; ")}`);
      }
    }).observe({ type: "layout-shift", buffered: true });
    new PerformanceObserver((list) => {
      watched.largestPaintMs = list.getEntries().at(-1)?.startTime ?? watched.largestPaintMs;
    }).observe({ type: "largest-contentful-paint", buffered: true });
  });
}

export async function vitalsOf(page: Page): Promise<Vitals> {
  return await page.evaluate(() => {
    const { watchedVitals } = globalThis as unknown as { watchedVitals: Watched };
    const timings = [
      ...performance.getEntriesByType("navigation"),
      ...performance.getEntriesByType("resource"),
    ] as PerformanceResourceTiming[];
    return {
      ...watchedVitals,
      resources: timings.map(({ name, startTime, responseEnd, transferSize }) => ({
        url: name,
        startMs: startTime,
        endMs: responseEnd,
        bytes: transferSize,
      })),
    };
  });
}

/**
 * When the largest part would be there over a slow line, in ms: a round trip for each request that had to wait for another
 * one (and two for the connection), and the time for all bytes that came before. Of a tab whose requests were delayed. What the page
 * read again before a later paint is not counted: on a busy machine that happens before the load is over.
 */
export function slowPaintMs({ largestPaintMs, resources }: Vitals): number {
  const before = resources
    .filter(({ url }, at) => resources.findIndex((other) => other.url === url) === at)
    .filter(({ endMs }) => endMs <= (largestPaintMs ?? Number.POSITIVE_INFINITY))
    .sort((a, b) => a.startMs - b.startMs);
  let waves = 0;
  let firstEndMs = 0;
  for (const { startMs, endMs } of before) {
    if (waves === 0 || startMs >= firstEndMs) {
      waves += 1;
      firstEndMs = endMs;
    } else firstEndMs = Math.min(firstEndMs, endMs);
  }
  const bytes = before.reduce((sum, resource) => sum + resource.bytes, 0);
  return (waves + 2) * LINE.roundTripMs + bytes / LINE.bytesPerMs;
}

/**
 * Makes every request of a tab take so long that those which wait for no other one are seen to run beside each other, however
 * busy this machine is: what {@link slowPaintMs} needs.
 */
export async function delayRequests(page: Page): Promise<void> {
  await emulateLine(page, DELAY_MS, -1, -1);
}

/** `downloadBytes` and `uploadBytes` in a second; -1: as many as there are. */
async function emulateLine(page: Page, latency: number, downloadBytes: number, uploadBytes: number) {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const [downloadThroughput, uploadThroughput] = [downloadBytes, uploadBytes];
  const conditions = { offline: false, latency, downloadThroughput, uploadThroughput };
  await session.send("Network.emulateNetworkConditions", conditions);
  return session;
}

/** Shorter than any time between two readings of the same by an open page. */
const AGAIN_MS = 1500;

/**
 * Counts what a tab asks for from now on, other than the files of the build: method and address. What it reads again later is not
 * counted, because how often that happens within a load says more about the machine of the test than about the page.
 */
export function countedRequests(page: Page): readonly string[] {
  const counted: string[] = [];
  const lastMs = new Map<string, number>();
  page.on("request", (request) => {
    const line = `${request.method()} ${request.url()}`;
    if (/^\w+ data:|\/assets\//.test(line)) return;
    const [nowMs, beforeMs] = [performance.now(), lastMs.get(line)];
    lastMs.set(line, nowMs);
    if (beforeMs === undefined || nowMs - beforeMs < AGAIN_MS) counted.push(line);
  });
  return counted;
}

/**
 * Keeps the pages of a tab from what they do when something is late, such as showing the parts that are there: on the line of
 * {@link slowDown} nothing is, and a busy machine must not make it so.
 */
export async function forgetLateness(page: Page): Promise<void> {
  await page.addInitScript((lateMs) => {
    const begin = globalThis.setTimeout;
    const never = 2 ** 31 - 1;
    Object.assign(globalThis, {
      setTimeout: (act: () => void, ms = 0, ...rest: readonly unknown[]) =>
        begin(act, ms >= lateMs ? never : ms, ...(rest as [])),
    });
  }, LATE_MS);
}

/** Makes the line and the processor of a tab as slow as a cheap phone's. */
export async function slowDown(page: Page): Promise<void> {
  const session = await emulateLine(page, LINE.roundTripMs, LINE.bytesPerMs * 1000, LINE.bytesPerMs * 500);
  await session.send("Emulation.setCPUThrottlingRate", { rate: PROCESSOR_SLOWDOWN });
}
