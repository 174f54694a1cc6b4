/**
 * The envelope of one request: everything that stays the same until its end. The findings of its steps are in the values that
 * they return (known.ts).
 */
import type { SsrfPolicy } from "../../../shared/network/ssrf.ts";
import type { TenantCalls } from "../../../shared/tenant-calls.ts";
import type { RouteClass } from "../../domain/request/route-class.ts";
import type { Trace } from "../../domain/trace/trace.ts";
import type { TraceContext } from "../../domain/trace/trace-context.ts";
import type { RecentFailures } from "../../domain/upstream/recent-failures.ts";
import type { Ports } from "../../ports.ts";
import type { BoonRuns } from "./boon-runs.ts";
import type { ClientBody } from "./client-body.ts";
import type { Interruption } from "./interruption.ts";
import type { Resolved } from "./known.ts";
import type { AutoRouterMemory } from "./memory/auto-router-memory.ts";
import type { MemoryBudget } from "./memory/memory-budget.ts";
import type { RequestBodyMemory } from "./memory/request-body-memory.ts";
import type { ResponseMemory } from "./memory/response-memory.ts";
import type { RunningCallers } from "./memory/running-callers.ts";
import type { ToolLists } from "./memory/tool-lists.ts";
import type { Turns } from "./memory/turns.ts";
import type { SharedTimer } from "./shared-timer.ts";

/** The part of the configuration that the pipeline needs. */
export interface PipelineConfig {
  readonly apiKeyPepper: string | undefined;
  /** Peppers that were replaced. */
  readonly apiKeyPeppersOld: readonly string[];
  readonly maxBodyBytes: number;
  readonly upstreamBaseUrl: string;
  readonly upstreamTimeoutMs: number;
  /** A client that takes nothing of an answer for this long is cut off; 0: never. */
  readonly stalledReaderMs: number;
  /** How long a realtime session lasts at most. */
  readonly realtimeMaxMs: number;
  readonly sessionIdDerivation: boolean;
  /** Whether lists of models have every registered one (docs/rules/routes.md#model-listing). */
  readonly listsAllModels: boolean;
  /** The paths that the operator has added to those that are forwarded (docs/rules/routes.md#unknown-paths). */
  readonly passthroughPaths: ReadonlySet<string>;
  /** Steering fields that pass (docs/rules/routes.md#fields-that-steer). */
  readonly passthroughFields: ReadonlySet<string>;
  /** The model of moderations whose body names none; "" if there is none. */
  readonly moderationModel: string;
  /** Whether a request ends when its key or tenant is refused meanwhile (docs/rules/keys.md#running-requests). */
  readonly endsStreamsOnRevoke: boolean;
  /** Objects of upstreams that no tenant was given may be named (docs/rules/routes.md#objects-of-upstreams). */
  readonly passesForeignObjects: boolean;
  /** Whether requests continue while their budgets cannot be read (docs/rules/budgets.md#unreachable). */
  readonly failOpen: boolean;
  /** Which addresses registered by an admin may be called (docs/rules/network-safety.md#address-policy). */
  readonly ssrf: SsrfPolicy;
}

/** Memory of an isolate that outlives a request. */
export interface IsolateMemory {
  /**
   * Until when an upstream is known to refuse a transform, epoch ms, by the transform's name, the model's id and name,
   * and the upstream's address: with another address or name it is another upstream.
   */
  readonly refusedTransforms: Map<string, number>;
  /** Whether an upstream's address may be called, by the address. */
  readonly addresses: Map<string, boolean>;
  /** Memory for large request bodies. */
  readonly bodyMemory: RequestBodyMemory;
  /** The same for lines of batches: they wait long for a slot, and nobody else waits for them. */
  readonly lineMemory: RequestBodyMemory;
  /** Memory for large answers to lines: bytes that do not fit stay upstream. */
  readonly lineAnswerMemory: RequestBodyMemory;
  /** Memory for answers to lines that are held to be kept. */
  readonly keptLineMemory: MemoryBudget;
  /** Calls for files and batches. */
  readonly fileCalls: TenantCalls;
  /** Calls that are captured, from when their upstream is called until they are kept. */
  readonly captures: TenantCalls;
  /** Memory for answers that must be held before they go to the client. */
  readonly answerMemory: MemoryBudget;
  /** Memory for answers that are held to be stored. */
  readonly cacheMemory: MemoryBudget;
  /** Memory for requests on WebSockets of Responses, and for responses that these keep to continue them. */
  readonly responseMemory: ResponseMemory;
  /** What tool servers have listed. */
  readonly toolLists: ToolLists;
  /** Endpoints that failed a short time ago. */
  readonly endpoints: RecentFailures;
  /** The auto router's data about models, and about classified texts. */
  readonly autoRouter: AutoRouterMemory;
  /** The callers of its calls at this Cell. */
  readonly callers: RunningCallers;
  /** Calls whose work is done in turns. */
  readonly turns: Turns;
  /** Ends every request of the isolate. */
  readonly interruption: Interruption;
}

/** Longest name of a model, in characters; of a longer name only this much is repeated in errors and in the log. */
export const MODEL_TEXT_MAX = 200;

/** Runs an action once per request, for any number of callers. */
export class OnceLatch {
  #taken = false;

  /** True the first time only. */
  take(): boolean {
    const first = !this.#taken;
    this.#taken = true;
    return first;
  }
}

/** A line of a batch in the form of its call. */
export interface CalledLine {
  readonly requestId: string;
  /** The hash of the key as which it runs. */
  readonly keyHash: string;
}

/** One request on its way through the pipeline. */
export interface Call {
  readonly ports: Ports;
  readonly config: PipelineConfig;
  readonly memory: IsolateMemory;
  readonly request: Request;
  /** The body of `request`. */
  readonly body: ClientBody;
  /** The path of its URL, as the client wrote it. */
  readonly path: string;
  /** The query of its URL, with its question mark; "" without a query. */
  readonly search: string;
  /** It runs on the slot of its session, and only reserves its budgets (docs/rules/realtime.md#budgets). */
  readonly sharesSlot?: true;
  /** It counts as no request of the minute. */
  readonly isUncounted?: true;
  /** A model that judges its content reserves its budgets first; nothing else is reserved for it. */
  readonly reservesJudgement?: true;
  /** Work beside the call continues after the client has left. */
  readonly isBeside?: boolean;
  /** It is a line of a batch (docs/rules/batches.md#lines). */
  readonly line?: CalledLine;
  /** The model that the path names; null: the body names it. */
  readonly deployment: string | null;
  readonly requestId: string;
  /** The request that this one is a sub-call of; null: a client sent it. */
  readonly parentId: string | null;
  readonly route: RouteClass;
  readonly arrivedMs: number;
  /** Release what steps acquired before the request is forwarded; called then, or before its refusal is answered. */
  readonly cleanups: (() => void)[];
  /** Resolved when the client of a stream has waited long enough for its head. */
  readonly headDue: PromiseWithResolvers<Resolved>;
  /** Ends it before its answer does: it has lost its slot, its caller is refused, or the gateway stops. */
  readonly interruption: Interruption;
  /** The timer that the call's waits share. */
  readonly timer: SharedTimer;
  /** Keeps the isolate alive for work that outlives the response. */
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** Breaks the client's connection off, once the work that `waitUntil` was given has ended. For sessions only. */
  readonly cutOff?: (reason: string) => void;
  /** The timing of the call; kept only for traced keys and tenants. */
  readonly trace: Trace;
  /** The call's position in a distributed trace; null without an export. */
  readonly traceContext: TraceContext | null;
  /** Taken by the first report of the call's end; every other report writes nothing (report-end.ts). */
  readonly endReport: OnceLatch;
  /** The runs of its boons. */
  readonly boonRuns: BoonRuns;
}
