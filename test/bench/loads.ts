/**
 * The loads of the bench: which requests are sent, how many at once, to which targets. One line each; the code that runs
 * the loads does not depend on their names.
 */
import type { SliceReading } from "./slice.ts";

/**
 * The targets of a load: the upstream itself, a bare Worker, a Worker that calls an object first, the gateway past and
 * through its TCP front, the gateway for a tenant whose prompts are scanned and for one whose policies are all switched
 * off, a gateway with {@link WORKERS} Worker processes through its own front, the peers (peer.ts).
 */
export const TARGETS = [
  "direct",
  "floor",
  "one-call",
  "governed",
  "front",
  "switched-off",
  "guarded",
  "workers",
  "peer",
  "litellm",
] as const;
export type TargetName = (typeof TARGETS)[number];

/** The targets that a gateway of one process serves. */
export const OF_ONE_PROCESS: readonly TargetName[] = ["governed", "front", "switched-off", "guarded"];

/** The number of Worker processes of the `workers` target. */
export const WORKERS = 3;

/** The targets of a run that names none: LiteLLM takes a minute to install and a third of the time of a run. */
export const FULL_TARGETS: readonly TargetName[] = TARGETS.filter((name) => name !== "litellm");
export const QUICK_TARGETS: readonly TargetName[] = FULL_TARGETS.filter((name) => name !== "one-call");
/** The targets of a comparison with all peers. */
export const PEER_TARGETS: readonly TargetName[] = ["direct", "floor", "governed", "peer", "litellm"];

export interface Load {
  readonly name: string;
  readonly title: string;
  /** The behaviour of the upstream: see upstream.ts. */
  readonly behaviour: "plain" | "paced" | "long" | "unpaced" | "messages" | "slow" | "lasting";
  readonly reading: SliceReading;
  readonly concurrency: number;
  readonly bodyBytes: number;
  /** The prompt is a text as people write it; otherwise it is one letter again and again. */
  readonly prose: boolean;
  /** For streams: whether the client asks for the usage event; otherwise the gateway withholds it. */
  readonly asksUsage: boolean;
  /** Each client sends a single request, instead of one after another for a time. */
  readonly once: boolean;
  /** So many are sent in a turn, however long they take. */
  readonly leastRequests: number;
  /** The share of requests with a new text, for a model with a response cache; null: a model without one. */
  readonly freshShare: number | null;
  readonly tenants: "one" | "many";
  /** The slots of the gateway's cell; null: more than there are requests. */
  readonly slots: number | null;
  /** Needed for the summary: it runs first, and in more rounds when time is short. */
  readonly core: boolean;
  /** How long one turn takes that has no fixed length, ms; an estimate for the plan. */
  readonly onceMs: number;
  readonly targets: readonly TargetName[];
}

const BASE: Omit<Load, "name" | "title"> = {
  behaviour: "plain",
  reading: "whole",
  concurrency: 32,
  bodyBytes: 1024,
  prose: false,
  asksUsage: false,
  once: false,
  leastRequests: 0,
  freshShare: null,
  tenants: "one",
  slots: null,
  core: false,
  onceMs: 1500,
  targets: ["direct", "floor", "one-call", "governed", "peer", "litellm"],
};

/** The slots of the load whose requests wait: this many are served before them. */
const QUEUE_SLOTS = 64;

/** The slots of the load in which every other request waits, for a short time. */
const SATURATED_SLOTS = 16;

const SAME_RUNTIME: readonly TargetName[] = ["direct", "floor", "governed"];

const whole = (concurrency: number, core = false): Load => ({
  ...BASE,
  name: `c${concurrency}`,
  title: `1 KB, ${concurrency} at once`,
  concurrency,
  core,
});

const stream = (name: string, title: string, more: Partial<Load>): Load => ({
  ...BASE,
  name,
  title,
  targets: SAME_RUNTIME,
  ...more,
});

const queue = (name: string, waiters: number): Load =>
  stream(name, `${waiters} requests wait for ${QUEUE_SLOTS} slots, 100 ms each`, {
    behaviour: "slow",
    once: true,
    concurrency: waiters + QUEUE_SLOTS,
    slots: QUEUE_SLOTS,
    onceMs: 1000 + 2 * waiters,
    targets: ["floor", "governed"],
  });

const unpaced = { behaviour: "unpaced", reading: "stream", concurrency: 16 } as const;
const paced = { behaviour: "paced", reading: "timed-stream", once: true } as const;
/** The streams are so long that next to nothing of their cost is that of a request. */
const long = { ...paced, behaviour: "long", asksUsage: true, targets: ["floor", "governed"] } as const;

/** All loads, in the order in which they run unless the command line names them. */
export const LOADS: readonly Load[] = [
  // These are first, and in this order: the memory of a waiting request cannot be measured in memory that an earlier load
  // left behind.
  queue("queue-1000", 1000),
  queue("queue", 2000),
  whole(1, true),
  whole(16, true),
  whole(32, true),
  whole(64, true),
  stream("stream-asked", "64 chunks unpaced, usage asked for", { ...unpaced, asksUsage: true, core: true }),
  stream("stream-translated", "64 chunks unpaced, translated from Anthropic's API", {
    ...unpaced,
    behaviour: "messages",
    asksUsage: true,
    targets: ["governed"],
  }),
  stream("stream-withheld", "64 chunks unpaced, usage withheld", unpaced),
  whole(4),
  whole(256),
  { ...whole(32), name: "front", title: "1 KB, 32 at once, through the TCP front", targets: ["governed", "front"] },
  ...(["one", "many"] as const).map((tenants) => ({
    ...whole(32),
    name: `workers-${tenants}`,
    title: `1 KB, 32 at once, ${tenants === "one" ? "one tenant" : "many tenants"}, one process or ${WORKERS} Workers`,
    tenants,
    targets: ["front", "workers"] as const,
  })),
  {
    ...BASE,
    name: "workers-lasting",
    title: `400 streams of 1.3 s at once, many tenants, ${WORKERS} Workers`,
    behaviour: "lasting",
    reading: "stream",
    concurrency: 400,
    leastRequests: 2000,
    tenants: "many",
    targets: ["workers"],
  },
  stream("body-100k", "100 KB bodies, 16 at once", { bodyBytes: 100 * 1024, concurrency: 16 }),
  stream("body-4m", "4 MB bodies, 4 at once", { bodyBytes: 4 * 1024 * 1024, concurrency: 4 }),
  stream("cache", "20 % cache hits, 32 at once", { freshShare: 0.8 }),
  stream("saturated", `32 at once for ${SATURATED_SLOTS} slots`, { slots: SATURATED_SLOTS }),
  stream("tenants", "many tenants, 32 at once", { tenants: "many" }),
  stream("guardrails", "4 KB prompts, 16 at once, with no policy, a policy that is off, and guardrails", {
    bodyBytes: 4 * 1024,
    prose: true,
    concurrency: 16,
    targets: ["floor", "governed", "switched-off", "guarded"],
  }),
  stream("paced-asked", "20 streams, 20 ms pace, usage asked for", { ...paced, concurrency: 20, asksUsage: true }),
  stream("paced-withheld", "20 streams, 20 ms pace, usage withheld", { ...paced, concurrency: 20 }),
  stream("streams-150", "150 long streams at once, 20 ms pace", { ...long, concurrency: 150, onceMs: 6000 }),
  stream("streams-1000", "1,000 long streams at once, 20 ms pace", { ...long, concurrency: 1000, onceMs: 8000 }),
];
