/** What each fixed limit bounds, for docs/reference/limits.md. */
import type { LIMITS } from "../../shared/catalogues/limits.ts";

interface LimitText {
  readonly limit: string;
  readonly unit: "bytes" | "ms" | "count";
  /** The setting or parameter that sets another value; fixed when absent. */
  readonly changedBy?: string;
}

export const LIMIT_TEXTS: Readonly<Record<keyof typeof LIMITS, LimitText>> = {
  jsonBodyMemory: { limit: "memory that a JSON request body may take besides its text", unit: "bytes" },
  bodySilence: { limit: "time without a byte of a request body", unit: "ms" },
  bodyTime: { limit: "time of a request body in all", unit: "ms" },
  smallBody: { limit: "largest request body that does not count in a Worker's memory for bodies", unit: "bytes" },
  bodyMemory: { limit: "memory of a Worker for request bodies; further bodies wait", unit: "bytes" },
  tenantBodyMemory: { limit: "memory of a Worker for request bodies of one tenant", unit: "bytes" },
  answerMemory: { limit: "memory of a Worker for answers that are held whole", unit: "bytes" },
  cacheMemory: { limit: "memory of a Worker for the response cache", unit: "bytes" },
  cachedAnswer: { limit: "stored answer of the response cache", unit: "bytes" },
  queuedInCell: { limit: "requests that wait in a cell", unit: "count" },
  headroomFrom: { limit: "smallest cell that keeps headroom, in slots", unit: "count" },
  toolsOfRequest: { limit: "tools of a request with the tool loop", unit: "count" },
  toolsAtOnce: { limit: "tools that are called at once", unit: "count" },
  toolTurns: {
    limit: "turns of a request with the tool loop",
    unit: "count",
    changedBy: "fewer by `tool_loop_max_turns` of `settings/boons` (default 4)",
  },
  toolTime: { limit: "time of a tool", unit: "ms", changedBy: "`tool_loop_tool_timeout_ms` of `settings/boons`" },
  toolDiscovery: { limit: "time to find the tools", unit: "ms" },
  toolReply: { limit: "bytes of a tool's reply that are read", unit: "bytes" },
  toolText: { limit: "characters of a tool's reply that the model gets", unit: "count" },
  spillBytes: { limit: "usage rows of a cell that wait for ClickHouse", unit: "bytes" },
  spillSegments: { limit: "segments of usage rows of a cell that wait for ClickHouse", unit: "count" },
  deadLetters: { limit: "usage rows that ClickHouse refuses and a ledger keeps", unit: "count" },
  deadLetterBytes: { limit: "bytes of the usage rows that ClickHouse refuses and a ledger keeps", unit: "bytes" },
  waitingAlerts: { limit: "alerts that wait in a cell for the control service", unit: "count" },
  amount: {
    limit: "tokens, or nano-USD (9,007,199.25 USD), of a cap or cost; a larger cap or cost counts as this",
    unit: "count",
  },
  listRows: {
    limit: "rows of a list of the Management API by default",
    unit: "count",
    changedBy: "`limit` of the request",
  },
  listRowsMost: { limit: "most rows of a list of the Management API", unit: "count" },
};
