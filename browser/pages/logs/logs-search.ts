/**
 * Search parameters of the list of requests: the filters by the names that the Management API has for them
 * (docs/rules/usage-reads.md#logs), the period, and how the list is looked at.
 */
import type { AdmissionClass, CacheStatus, RequestType } from "../../../shared/usage/usage-row.ts";
import { choiceParam, flagParam, LIST_PARAMS, numberParam, searchParams, textParam } from "../../data/search-params.ts";

const NAME_MAX = 300;
/** The largest number of milliseconds that a row can have. */
const MS_MAX = 2 ** 32 - 1;
/** The API takes 15 digits. */
const INSTANT_MAX_MS = 1e15 - 1;

/** How a request ended. */
export const STATUS_TEXTS = {
  success: "success",
  error: "error",
  refused: "statusRefused",
  failed: "statusFailed",
  left: "statusLeft",
} as const;

/** Identifiers of their texts. The lists themselves stand beside schemas, which are too large for the first load. */
export const ADMISSION_TEXTS = {
  fast: "admissionFast",
  queued: "admissionQueued",
  rejected: "admissionRejected",
  boon: "admissionBoon",
  batch: "admissionBatch",
} as const satisfies Record<AdmissionClass, string>;

export const CACHE_TEXTS = {
  hit: "cacheHit",
  miss: "cacheMiss",
  off: "cacheOff",
} as const satisfies Record<CacheStatus, string>;

export const TYPE_TEXTS = {
  chat: "typeChat",
  completion: "typeCompletion",
  responses: "typeResponses",
  messages: "typeMessages",
  embedding: "typeEmbedding",
  audio: "typeAudio",
  image: "typeImage",
  rerank: "typeRerank",
  moderation: "typeModeration",
  realtime: "typeRealtime",
  mcp: "typeMcp",
  other: "typeOther",
  vision_boon: "typeVisionBoon",
  structured_output_boon: "typeStructuredOutputBoon",
  tool_loop: "typeToolLoop",
  guardrails_boon: "typeGuardrailsBoon",
  health_probe: "typeHealthProbe",
  benchmark: "typeBenchmark",
} as const satisfies Record<RequestType, string>;

const keysOf = <K extends string>(texts: Readonly<Record<K, string>>): readonly K[] => Object.keys(texts) as K[];

export const logsSearch = searchParams({
  /** `24h`, `7d`, `30d`, `month`, or days: `2026-11-01..2026-11-08`. */
  period: textParam(30),
  /** A part of the period, epoch ms, both inclusive. */
  from_ms: numberParam(0, INSTANT_MAX_MS),
  to_ms: numberParam(0, INSTANT_MAX_MS),
  zone: choiceParam(["tenant", "browser", "utc"]),
  tenant_id: textParam(40),
  key_id: textParam(40),
  model: textParam(NAME_MAX),
  status: choiceParam(keysOf(STATUS_TEXTS)),
  error_code: textParam(100),
  admission: choiceParam(keysOf(ADMISSION_TEXTS)),
  cache_status: choiceParam(keysOf(CACHE_TEXTS)),
  request_type: choiceParam(keysOf(TYPE_TEXTS)),
  cell: textParam(NAME_MAX),
  min_total_ms: numberParam(0, MS_MAX),
  min_queue_wait_ms: numberParam(0, MS_MAX),
  session_id: textParam(NAME_MAX),
  end_user: textParam(NAME_MAX),
  /** `name=value`. */
  tag: textParam(200),
  request_id: textParam(36),
  traced_only: flagParam,
  /** The gateway's own requests too. */
  include_internal: flagParam,
  /** New requests are put into the list as they come. */
  follow: flagParam,
  /** Absent: shown where there is room. */
  facets: choiceParam(["on", "off"]),
  /** Identifiers of the columns that are shown, separated by commas. */
  columns: LIST_PARAMS.columns,
  /** The request that is open beside the list. */
  open: textParam(200),
  /** Ids of the requests that are compared, separated by a comma; one of them: the other is still to be chosen. */
  compare: textParam(80),
});

/** What the address of the page says. */
export type LogsSearch = ReturnType<typeof logsSearch>;

/** Changes of an address; undefined takes a parameter away. */
export type SearchChanges = { readonly [Name in keyof LogsSearch]?: LogsSearch[Name] | undefined };
