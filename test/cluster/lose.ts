/**
 * A loss beside load: clients of several instances, what is done to one of them, and the account of every row afterwards. The
 * upstream counts the calls that run at once, so that a slot which two owners of the Cell have granted is seen.
 */
import { expect } from "vitest";
import { account, type Ended, isPromised, startLoad } from "../harness/ledger-load.ts";
import type { TestUpstream } from "../harness/test-upstream.ts";
import type { Instance } from "./cluster.ts";

/** Slots of the model. */
const CAP = 4;
const CLIENTS = 4;

/** What is done, and to whom. */
interface Loss {
  /** Its line in the table. */
  readonly fault: string;
  readonly upstream: TestUpstream;
  /** Instances with clients that must not notice. The first one also answers the reads. */
  readonly others: readonly Instance[];
  /** An instance with clients that may fail. */
  readonly lost?: Instance;
  /** What is done. `answered` resolves after that many more answers of the others. */
  readonly how: (answered: (count: number) => Promise<void>) => Promise<unknown>;
  /** Whether an answer of the others must have its row; `backAtMs`: when answers came again. Absent: every answer. */
  readonly isOwed?: (atMs: number, lostAtMs: number, backAtMs: number) => boolean;
}

/** Does it, and checks the rows and the cap. What the clients saw. */
export async function lose({ fault, upstream, others, lost, how, isOwed = () => true }: Loss) {
  const [{ gateway }] = others as readonly [Instance, ...Instance[]];
  const minted = await gateway.mint(upstream.url, "delay=20", { max_in_flight: CAP });
  const loads = others.map((each) => startLoad(each.gateway, minted, CLIENTS));
  const lostLoad = lost === undefined ? null : startLoad(lost.gateway, minted, CLIENTS);
  const all = lostLoad === null ? loads : [...loads, lostLoad];
  await Promise.all(all.map(async (each) => await each.more(20)));
  const lostAtMs = Date.now();
  const answered = async (count: number): Promise<void> =>
    void (await Promise.all(loads.map(async (each) => await each.more(count))));
  await how(answered);
  await answered(40);
  await Promise.all(all.map(async (each) => await each.stop()));
  const ended = inOrder(loads.flatMap((each) => each.ended));
  const gaps = ended.slice(1).map(({ atMs }, index) => ({ backAtMs: atMs, ms: atMs - (ended[index]?.atMs ?? atMs) }));
  const longest = gaps.reduce((a, b) => (b.ms > a.ms ? b : a));
  const [load] = loads as [(typeof loads)[number]];
  await account({
    fault,
    gateway,
    minted,
    load: { ...load, clients: CLIENTS * all.length, ended: inOrder(all.flatMap((each) => each.ended)) },
    // The memory of the lost instance ends with its runtime.
    expected: (one) =>
      lostLoad?.ended.includes(one) === true
        ? isPromised(one.atMs, lostAtMs)
        : isOwed(one.atMs, lostAtMs, longest.backAtMs),
    servedAfterMs: longest.ms,
  });
  // A call that is cut off when its runtime ends gives its slot back in the same moment, which the upstream may see later.
  const cutOff = upstream.seen(minted.mark).filter((call) => call.cutOff).length;
  expect(upstream.peak(minted.mark)).toBeGreaterThanOrEqual(CAP);
  expect(upstream.peak(minted.mark) - cutOff).toBeLessThanOrEqual(CAP);
  return {
    /** Statuses other than 200 that clients of the others got; 0: no whole answer. */
    statuses: loads.flatMap((each) => [...each.others]),
    lostStatuses: [...(lostLoad?.others ?? [])],
    /** The longest time in which no client of the others got an answer. */
    longestMs: longest.ms,
  };
}

function inOrder(ended: readonly Ended[]): readonly Ended[] {
  return ended.toSorted((a, b) => a.atMs - b.atMs);
}

/**
 * Whether the runtime of one of them has ended, as it may when a connection to an instance that ended breaks
 * (docs/cluster.md#limits): it is started again, and what it was answering is cut off.
 */
export function hasRuntimeEnded(instances: readonly Instance[]): boolean {
  return runtimeEnds(instances) > 0;
}

export function runtimeEnds(instances: readonly Instance[]): number {
  return instances.flatMap(({ lines }) => lines.filter((line) => /^stack \| workerd (?:was )?ended/.test(line))).length;
}
