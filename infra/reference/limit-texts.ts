/** What each fixed limit bounds, for docs/reference/limits.md. */
import type { LIMITS } from "../../shared/catalogues/limits.ts";

interface LimitText {
  readonly limit: string;
  readonly unit: "bytes" | "ms" | "count";
  /** The setting or parameter that sets another value; fixed when absent. */
  readonly changedBy?: string;
}

export const LIMIT_TEXTS: Readonly<Record<keyof typeof LIMITS, LimitText>> = {
  jsonBodyMemory: {
    limit: "memory for the values of JSON, of a request or an answer, in addition to its text",
    unit: "bytes",
  },
  realtimeMessage: { limit: "largest message of a realtime session", unit: "bytes" },
  realtimeBacklog: { limit: "what waits for one side of a realtime session, beside one message", unit: "bytes" },
  realtimeSilence: { limit: "longest time without a message in a realtime session", unit: "ms" },
  realtimeResponses: { limit: "responses of a realtime session that are under way at once", unit: "count" },
  realtimeClientMessages: { limit: "messages of a client in a realtime session, each second", unit: "count" },
  realtimeUpstreamMessages: { limit: "messages of the upstream in a realtime session, each second", unit: "count" },
  realtimeBurst: { limit: "time for which messages of a realtime session may come at once", unit: "ms" },
  responsesFirstMessage: {
    limit: "longest time until a WebSocket of Responses has its first whole message",
    unit: "ms",
  },
  responsesSilence: { limit: "longest time without a message or a response on a WebSocket of Responses", unit: "ms" },
  responsesKept: {
    limit: "largest response that a WebSocket of Responses keeps with its input, to continue it",
    unit: "bytes",
  },
  responsesMemory: {
    limit: "memory of a Worker for requests of WebSockets of Responses, and for what these keep",
    unit: "bytes",
  },
  tenantResponsesMemory: {
    limit: "the same, for those of one tenant; as many bytes its clients may leave unread",
    unit: "bytes",
  },
  bodySilence: { limit: "longest pause while a request body arrives", unit: "ms" },
  bodyTime: { limit: "time for a whole request body to arrive", unit: "ms" },
  guardrailsScan: {
    limit: "characters that guardrails read of a request, or of an answer, after folding",
    unit: "count",
  },
  examinedBody: { limit: "largest request body that guardrails examine before the request has a slot", unit: "bytes" },
  examinedUnits: {
    limit: "most work of guardrails on a request before it has a slot, about the characters that they read",
    unit: "count",
  },
  smallBody: { limit: "largest request body that does not count towards a Worker's memory for bodies", unit: "bytes" },
  bodyMemory: { limit: "memory of a Worker for request bodies; when it is full, bodies wait", unit: "bytes" },
  tenantBodyMemory: { limit: "memory of a Worker for the request bodies of one tenant", unit: "bytes" },
  lineMemory: { limit: "memory of a Worker for the bodies of lines of batches", unit: "bytes" },
  tenantLineMemory: { limit: "the same, for those of one tenant", unit: "bytes" },
  answerMemory: { limit: "memory of a Worker for responses that are buffered whole", unit: "bytes" },
  cacheMemory: { limit: "memory of a Worker for the response cache", unit: "bytes" },
  usersKeys: { limit: "keys of a tenant up to which users of the tenant create further ones", unit: "count" },
  usersModelNames: {
    limit: "size of the lists of models of all keys of a tenant up to which its users lengthen them",
    unit: "bytes",
  },
  tenantConsoleCalls: { limit: "calls of the users of one tenant that the console has under way", unit: "count" },
  personConsoleCalls: { limit: "of these, calls of one person", unit: "count" },
  tenantConsoleWaiting: { limit: "further ones that wait for their turn", unit: "count" },
  cachedAnswer: { limit: "size of a response in the response cache", unit: "bytes" },
  capturedText: { limit: "text that is kept of each body of a captured call", unit: "bytes" },
  tenantCaptures: { limit: "captured calls of a tenant that are kept, the newest", unit: "count" },
  captureTime: { limit: "how far ahead a capture can end, and how long a captured call is kept", unit: "ms" },
  captureCalls: { limit: "calls that a Worker captures at once; a tenant's first one passes", unit: "count" },
  tenantCaptureCalls: { limit: "the same, for those of one tenant", unit: "count" },
  unsavedObjects: { limit: "memory of a Worker for stored objects that wait for the key-value store", unit: "bytes" },
  tenantUnsavedObjects: { limit: "the same, for those of one tenant", unit: "bytes" },
  queuedInCell: { limit: "waiting requests in a cell", unit: "count" },
  headroomFrom: { limit: "slots of the smallest cell that keeps headroom", unit: "count" },
  toolsOfRequest: { limit: "tools per request with the tool loop", unit: "count" },
  toolsAtOnce: { limit: "tool calls that run at once", unit: "count" },
  toolTurns: {
    limit: "turns per request with the tool loop",
    unit: "count",
    changedBy: "lowered by `tool_loop_max_turns` of `settings/boons` (default 4)",
  },
  toolTime: { limit: "time for a tool call", unit: "ms", changedBy: "`tool_loop_tool_timeout_ms` of `settings/boons`" },
  toolDiscovery: { limit: "time to list the tools of the tool servers", unit: "ms" },
  toolReply: { limit: "bytes read of a tool's reply", unit: "bytes" },
  toolText: { limit: "characters of a tool's reply that are passed to the model", unit: "count" },
  spillBytes: { limit: "usage rows of a cell waiting for ClickHouse", unit: "bytes" },
  spillSegments: { limit: "segments of usage rows of a cell waiting for ClickHouse", unit: "count" },
  deadLetters: { limit: "rejected usage rows that a Ledger keeps (dead letters)", unit: "count" },
  deadLetterBytes: { limit: "size of the rejected usage rows that a Ledger keeps", unit: "bytes" },
  waitingAlerts: { limit: "alerts of a cell waiting for the control service", unit: "count" },
  alertChannels: { limit: "channels of alerts", unit: "count" },
  amount: {
    limit: "largest cap or cost, in tokens or nano-USD (9,007,199.25 USD); a larger one counts as this",
    unit: "count",
  },
  fileBytes: { limit: "size of a file of a tenant", unit: "bytes" },
  fileLines: { limit: "lines of a batch", unit: "count" },
  filesOfTenantBytes: {
    limit: "size of all files of a tenant, and of the lines of its open batches",
    unit: "bytes",
    changedBy: "`files_bytes` of the tenant",
  },
  filesOfTenant: { limit: "files of a tenant", unit: "count" },
  openBatches: { limit: "batches of a tenant that have not ended", unit: "count" },
  endedBatches: { limit: "ended batches of a tenant that are kept, the newest", unit: "count" },
  fileCalls: {
    limit: "calls for files and batches that a Worker has under way; a tenant's first one passes",
    unit: "count",
  },
  tenantFileCalls: { limit: "the same, for those of one tenant", unit: "count" },
  batchLineBytes: { limit: "size of a line of a batch", unit: "bytes" },
  batchAnswerBytes: { limit: "size of the answer to a line of a batch", unit: "bytes" },
  batchCustomIdChars: { limit: "characters of the `custom_id` of a line of a batch", unit: "count" },
  listRows: {
    limit: "default number of rows in a list of the Management API",
    unit: "count",
    changedBy: "`limit` of the request",
  },
  listRowsMost: { limit: "maximum number of rows in a list of the Management API", unit: "count" },
  listBytes: { limit: "size of the records on a page of such a list; one record always fits", unit: "bytes" },
};
