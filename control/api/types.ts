/** What every route file needs: the application's type and its dependencies. */
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Logger } from "pino";
import type { Recipe } from "../../shared/schema/recipe.ts";
import type { AnalyticsStore } from "../analytics/store.ts";
import type { Cells } from "../cells/cells.ts";
import type { Prober } from "../health/prober.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import type { ProvisionerCounters } from "../jobsched/provisioner-counters.ts";
import type { BuildInfo } from "../kernel/build-info.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { TrustedProxies } from "../kernel/trusted-proxies.ts";
import type { Resync } from "../publish/resync.ts";
import type { BenchmarkRuns } from "../services/benchmarks/benchmark-runs.ts";
import type { AuthRefusals } from "./auth-refusals.ts";

export interface ApiDeps {
  readonly adminToken: string;
  /** The token of the internal routes. */
  readonly internalToken: string;
  /** Called after a wrong token, admin or internal. */
  readonly refusals: AuthRefusals;
  /** Whose word counts about where a request comes from. */
  readonly proxies: TrustedProxies;
  /** The context of a request that this actor makes, from this address. */
  readonly context: (actor: string, address?: string) => VerbContext;
  readonly analytics: AnalyticsStore;
  readonly cells: Cells;
  readonly store: HotStore;
  readonly resync: Resync;
  readonly prober: Pick<Prober, "check">;
  readonly benchmarks: Pick<BenchmarkRuns, "start">;
  /** Aborted when the service ends, so that long work stops. */
  readonly ending: AbortSignal;
  /** The control service's own cell. */
  readonly cell: string;
  /** The upstream of models that have no address. */
  readonly upstreamBaseUrl: string;
  /** How many days raw usage rows are kept while no setting was saved. */
  readonly usageRetentionDays: number;
  /** The compression sidecar; `url` is blank when none is configured. */
  readonly compressor: { readonly url: string; readonly timeoutMs: number };
  readonly version: BuildInfo;
  /** The recipes of the folder of recipes. */
  readonly recipes: readonly Recipe[];
  /** What the metrics count of the provisioner. */
  readonly provisioner: ProvisionerCounters;
  readonly log: Logger;
}

export interface ApiTypes {
  Variables: {
    ctx: VerbContext;
  };
}

export type Api = OpenAPIHono<ApiTypes>;
