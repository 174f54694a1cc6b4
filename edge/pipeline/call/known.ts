/**
 * The facts known about a request, step by step. Each step takes the facts so far and returns them with its own findings; a
 * value never changes after its creation. A step that fails throws a {@link StageFailure}, which carries the facts known by
 * then, so the row and the headers of a refusal are also made from a value.
 */
import type { Measure } from "../../../shared/money/cost.ts";
import type { ModelRecord, ResolvedKey, ResolvedTenant } from "../../../shared/records.ts";
import type { BoonsValue } from "../../../shared/schema/settings/boons.ts";
import type { CacheStatus } from "../../../shared/usage/usage-row.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Identity } from "../../domain/request/identity.ts";
import { NO_SESSION, type SessionId } from "../../domain/request/session-id.ts";
import type { TokenEstimate } from "../../domain/request/token-estimate.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { MemberEdits } from "../../domain/upstream/transform.ts";
import type { JsonDocument } from "../../domain/wire/json/document.ts";
import type { KnownTerms } from "../../ports.ts";
import type { OutgoingBody } from "./client-body.ts";

/** The caller: a key that may be used, and its tenant. */
export interface Principal {
  readonly key: ResolvedKey;
  readonly tenant: ResolvedTenant;
}

/** The upstream calls of a request as other steps see them; they change while attempts are under way. */
export interface UpstreamState {
  /** When the first attempt was sent, epoch ms; null: none was. */
  readonly calledMs: number | null;
  /** The model whose upstream was called last; null: none was. */
  readonly model: Pick<ModelRecord, "model_name" | "upstream_model"> | null;
  /**
   * An attempt has been sent and has not ended: a client that leaves now is billed
   * (docs/rules/settlement-and-rows.md#clients-that-leave).
   */
  readonly underWay: boolean;
  /** Status of the last answer; 0 without one. */
  readonly status: number;
  /** Name of the endpoint that was called last; "" without one. */
  readonly endpoint: string;
  /** Its base URL; "" without one. */
  readonly apiBase: string;
  /** How attempts ended so far. */
  readonly outcomes: Readonly<UpstreamOutcomes>;
}

/** No upstream has been called. */
export const NO_UPSTREAM: UpstreamState = {
  calledMs: null,
  model: null,
  underWay: false,
  status: 0,
  endpoint: "",
  apiBase: "",
  outcomes: {},
};

/** What boons did to a request and its answer (docs/rules/headers.md#response-headers). */
export interface BoonReport {
  /** Names of the boons that were applied, in order. */
  readonly applied: readonly string[];
  readonly warnings: readonly string[];
  /** A boon has failed: the next request may get another answer. */
  readonly failed: boolean;
  /** Tokens of the request before and after compression; null: it did not run. */
  readonly compression: { readonly beforeTokens: number; readonly afterTokens: number } | null;
}

/** Nothing was done. */
export const NO_BOONS: BoonReport = { applied: [], warnings: [], failed: false, compression: null };

/** The facts that may be known at any point of a request; facts not reached yet have their value in {@link NOTHING_KNOWN}. */
export interface Known {
  readonly principal: Principal | null;
  /** The identity from the caller's token; null without one. */
  readonly identity: Identity | null;
  /** The client's text of `model`; for the log, never for a row. */
  readonly modelText: string;
  readonly model: ModelRecord | null;
  /** The model that could not serve the request, so that `model` does; null if there is none. */
  readonly asked: ModelRecord | null;
  /** Null: the client has named the model, or none is chosen yet. */
  readonly auto: AutoRoute | null;
  /** The values of the headers, until the body has been read. */
  readonly session: SessionId;
  /** The tags of its header as a row has them; "": none, or not valid ones. */
  readonly tags: string;
  /** The end user that the body names; "": nobody, or it has not been read. */
  readonly endUser: string;
  readonly estimate: TokenEstimate | null;
  readonly cacheStatus: CacheStatus;
  readonly boonReport: BoonReport;
  readonly queueWaitMs: number;
  /** The Cell may hold a place, or have a row, for the request without having confirmed it. */
  readonly queueEntryUnknown: boolean;
  /** The tenant's bucket level; undefined: not read yet; null: no cap, or not known. */
  readonly level: BucketLevel | null | undefined;
  readonly upstream: UpstreamState;
  /** Name of the MCP server that was called, `unknown` when it is not registered; null for every other call. */
  readonly mcpServer: string | null;
}

/** The facts about a request that has just arrived. */
export const NOTHING_KNOWN: Known = {
  principal: null,
  identity: null,
  modelText: "",
  model: null,
  asked: null,
  auto: null,
  session: NO_SESSION,
  tags: "",
  endUser: "",
  estimate: null,
  cacheStatus: "off",
  boonReport: NO_BOONS,
  queueWaitMs: 0,
  queueEntryUnknown: false,
  level: undefined,
  upstream: NO_UPSTREAM,
  mcpServer: null,
};

/** After step 2: the caller. */
export interface Authenticated extends Known {
  readonly principal: Principal;
}

/** The edits of an unchanged body. */
export const NO_EDITS: MemberEdits = new Map();

/** A body that has been read as far as its model. */
export interface ParsedCall {
  /** The JSON document, or the fields of a form; those of a form grow while its file streams. */
  readonly document: JsonDocument;
  readonly modelName: string;
  /** The client reads a stream. */
  readonly stream: boolean;
  readonly outgoing: OutgoingBody;
  /** What boons have changed of a JSON document. */
  readonly edits: MemberEdits;
  /** Once the body is estimated: takes lists that weigh more than it out of the document, and frees their memory. */
  readonly dropValues?: () => void;
}

/** The settings of boons, with their revision. */
export interface KnownBoons {
  readonly settings: BoonsValue;
  readonly rev: number;
}

/** The gateway has chosen the model (docs/rules/auto-router.md). */
interface AutoRoute {
  /** Revision of the auto router's settings by which it has chosen; null: they could not be read. */
  readonly settingsRev: number | null;
  /** The classifier was not asked, because the settings or the caller are newer than the copies by which it would have been. */
  readonly isProvisional: boolean;
  /** The names of the next candidates, the best first. */
  readonly others: readonly string[];
}

/** The objects of upstreams that a request names (docs/rules/routes.md#objects-of-upstreams). */
export interface ObjectUse {
  /** The field that names an object, by the object's id; null: the path names it. */
  readonly named: ReadonlyMap<string, string | null>;
  /** The upstreams that made them, by {@link Target.key}; unknown ones are left out. */
  readonly upstreams: readonly string[];
}

/** In step 3: the caller, and the parsed body. */
export interface Parsed extends Authenticated {
  readonly parsed: ParsedCall;
}

/** After step 3: the model that must answer. */
export interface Resolved extends Parsed {
  readonly model: ModelRecord;
  /** The energy terms of the model; null when it takes no part in energy accounting. */
  readonly energy: KnownTerms | null;
  /** The settings of boons; null when the model has no boon, or when they are not known. */
  readonly boons: KnownBoons | null;
  /** Absent until the request has a slot. */
  readonly objects?: ObjectUse;
}

/** What input guardrails have done with a request (docs/rules/guardrails.md#where-it-looks). */
interface GuardedInput {
  /** The revision of the tenant whose policy was applied. */
  readonly tenantRev: number;
  /** The body as the client sent it. */
  readonly given: OutgoingBody;
  /**
   * Examines the request in parallel; only the first call counts. A guard model is called only for an `admitted` one: its use
   * must be within the budgets. Null: nothing is examined then.
   */
  readonly beside: ((of: "admitted" | "refused" | "cached") => void) | null;
}

/** After step 4: everything that a decision needs. */
export interface Prepared extends Resolved {
  readonly estimate: TokenEstimate;
  /** The work of the tenant's input guardrails; null: they have not started yet. */
  readonly guarded: GuardedInput | null;
  /** To examine it is too much work before it has its slot. */
  readonly isLongWork?: true;
  /** The units that the route is billed by; for a form whose file is still arriving they may still change. */
  readonly measure: () => Measure;
}

/** A response, and the facts known when it was made. */
export interface CallAnswer {
  readonly response: Response;
  readonly known: Known;
}

/** The failure of a step: its cause, and the facts about the request known by then. */
export class StageFailure extends Error {
  override readonly name: string = "StageFailure";
  readonly known: Known;

  constructor(cause: unknown, known: Known) {
    super("a step failed", { cause });
    this.known = known;
  }

  /** `thrown` itself if it carries the known facts, otherwise a step's failure with `known`. */
  static of(thrown: unknown, known: Known): StageFailure {
    return thrown instanceof StageFailure ? thrown : new StageFailure(thrown, known);
  }
}

/** The failure of a request whose row has been handed in already; the client gets its cause. */
export class AlreadySettled extends StageFailure {
  override readonly name = "AlreadySettled";
}

/** The result of `work`. A rejection is thrown as a {@link StageFailure} that carries `known`. */
export async function withKnown<T>(known: Known, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw StageFailure.of(error, known);
  }
}
