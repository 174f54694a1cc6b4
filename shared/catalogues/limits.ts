/**
 * The bounds of the gateway that no variable changes (docs/reference/limits.md). The modules that hold to a bound read it here. Bounds
 * that a variable sets are with the variables.
 */
interface Limit {
  readonly limit: string;
  readonly value: number;
  readonly unit: "bytes" | "ms" | "count";
  /** The setting or parameter that sets another value; fixed when absent. */
  readonly changedBy?: string;
}

const MIB = 1024 * 1024;

export const LIMITS = {
  jsonBodyMemory: {
    limit: "memory that a JSON request body may take besides its text",
    value: 64 * MIB,
    unit: "bytes",
  },
  bodySilence: { limit: "time without a byte of a request body", value: 30_000, unit: "ms" },
  bodyTime: { limit: "time of a request body in all", value: 300_000, unit: "ms" },
  smallBody: { limit: "request body that needs none of a Worker's memory for bodies", value: 64 * 1024, unit: "bytes" },
  bodyMemory: { limit: "memory of a Worker for request bodies; further bodies wait", value: 64 * MIB, unit: "bytes" },
  tenantBodyMemory: { limit: "memory of a Worker for request bodies of one tenant", value: 32 * MIB, unit: "bytes" },
  answerMemory: { limit: "memory of a Worker for answers that are held whole", value: 32 * MIB, unit: "bytes" },
  cacheMemory: { limit: "memory of a Worker for the response cache", value: 16 * MIB, unit: "bytes" },
  cachedAnswer: { limit: "stored answer of the response cache", value: 512 * 1024, unit: "bytes" },
  queuedInCell: { limit: "requests that wait in a cell", value: 20_000, unit: "count" },
  headroomFrom: { limit: "smallest cell that keeps headroom, in slots", value: 40, unit: "count" },
  toolsOfRequest: { limit: "tools of a request with the tool loop", value: 128, unit: "count" },
  toolsAtOnce: { limit: "tools that are called at once", value: 32, unit: "count" },
  toolTurns: {
    limit: "turns of a request with the tool loop",
    value: 8,
    unit: "count",
    changedBy: "fewer by `tool_loop_max_turns` of `settings/boons`, which is 4 at first",
  },
  toolTime: {
    limit: "time of a tool",
    value: 30_000,
    unit: "ms",
    changedBy: "`tool_loop_tool_timeout_ms` of `settings/boons`",
  },
  toolDiscovery: { limit: "time to find the tools", value: 10_000, unit: "ms" },
  toolReply: { limit: "bytes of a tool's reply that are read", value: 4 * MIB, unit: "bytes" },
  toolText: { limit: "characters of a tool's reply that the model gets", value: 16_000, unit: "count" },
  spillBytes: { limit: "usage rows of a cell that wait for ClickHouse", value: 256 * MIB, unit: "bytes" },
  spillSegments: { limit: "segments of usage rows of a cell that wait for ClickHouse", value: 1024, unit: "count" },
  deadLetters: {
    limit: "usage rows of a ledger that ClickHouse refuses and that are kept",
    value: 1000,
    unit: "count",
  },
  deadLetterBytes: { limit: "bytes of usage rows of a ledger that ClickHouse refuses", value: 4 * MIB, unit: "bytes" },
  waitingAlerts: { limit: "alerts that wait in a cell for the control service", value: 1000, unit: "count" },
  amount: {
    limit: "tokens, or nano-USD (9,007,199.25 USD), of a cap or cost; a larger one counts as that",
    value: Number.MAX_SAFE_INTEGER,
    unit: "count",
  },
  listRows: {
    limit: "rows of a list on the Management API",
    value: 100,
    unit: "count",
    changedBy: "`limit` of the request",
  },
  listRowsMost: { limit: "rows of a list at most", value: 1000, unit: "count" },
} as const satisfies Record<string, Limit>;
