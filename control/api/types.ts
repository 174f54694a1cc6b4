/**
 * What the routes stand on.
 */
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Logger } from "pino";
import type { AnalyticsStore } from "../analytics/store.ts";
import type { Cells } from "../cells/cells.ts";
import type { Prober } from "../health/prober.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { Resync } from "../publish/resync.ts";
import type { AuthRefusals } from "./auth-refusals.ts";

export interface ApiDeps {
  readonly adminToken: string;
  /** Token of the internal routes. */
  readonly internalToken: string;
  /** What follows a wrong token of either kind. */
  readonly refusals: AuthRefusals;
  /** The context of a request by this actor. */
  readonly context: (actor: string) => VerbContext;
  readonly analytics: AnalyticsStore;
  readonly cells: Cells;
  readonly store: HotStore;
  readonly resync: Resync;
  readonly prober: Pick<Prober, "check">;
  /** Aborted when the service ends: what takes its time comes to an end. */
  readonly ending: AbortSignal;
  /** The control service's own cell. */
  readonly cell: string;
  /** Upstream of models without an address. */
  readonly upstreamBaseUrl: string;
  /** Retention of raw usage rows while none was saved. */
  readonly usageRetentionDays: number;
  /** The compression sidecar; blank url: none is configured. */
  readonly compressor: { readonly url: string; readonly timeoutMs: number };
  readonly version: { readonly version: string; readonly git_sha: string | null; readonly built_at: string | null };
  readonly log: Logger;
}

export interface ApiTypes {
  Variables: {
    ctx: VerbContext;
    /** The route is a POST whose fields are all optional: it may come without a body. */
    bodyIsOptional: boolean;
  };
}

export type Api = OpenAPIHono<ApiTypes>;
