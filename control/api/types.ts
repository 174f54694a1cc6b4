/** What every route file needs: the application's type and its dependencies. */
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Logger } from "pino";
import type { SealKey } from "../../shared/crypto/seal.ts";
import type { ListedPrice } from "../../shared/schema/price-list.ts";
import type { Recipe } from "../../shared/schema/recipe.ts";
import type { AcceptedTokens } from "../kernel/accepted-tokens.ts";
import type { Bucket } from "../kernel/bucket/bucket.ts";
import type { BuildInfo } from "../kernel/build-info.ts";
import type { Cells } from "../kernel/cells/cells.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import type { TrustedProxies } from "../kernel/trusted-proxies.ts";
import type { FillWatch } from "../publish/fill-watch.ts";
import type { Resync } from "../publish/resync.ts";
import type { AuthRefusals } from "./auth-refusals.ts";

export interface ApiDeps {
  readonly adminTokens: AcceptedTokens;
  /** Those of the internal routes. */
  readonly internalTokens: AcceptedTokens;
  /** Called after a wrong token, admin or internal. */
  readonly refusals: AuthRefusals;
  /** Whose word counts about where a request comes from. */
  readonly proxies: TrustedProxies;
  /** The context of a request that this actor makes, from this address. */
  readonly context: (actor: string, address?: string) => VerbContext;
  readonly cells: Cells;
  readonly store: HotStore;
  /** Opens captured calls; undefined: no encryption key is configured. */
  readonly captureKey: SealKey | undefined;
  /** Where contents of files are; null: in the database. */
  readonly filesBucket: Bucket | null;
  readonly resync: Resync;
  /** Called when a Worker has found the key-value store emptied. */
  readonly fill: Pick<FillWatch, "run">;
  /** Aborted when the service ends, so that long work stops. */
  readonly ending: AbortSignal;
  /** The control service's own cell. */
  readonly cell: string;
  /** Where people open the console; null: it is not known. */
  readonly consoleUrl: string | null;
  /** The ids of the console's sign-in providers that name groups; null: the console runs elsewhere. */
  readonly groupProviders: readonly string[] | null;
  /** The upstream of models that have no address. */
  readonly upstreamBaseUrl: string;
  /** How many days raw usage rows are kept while no setting was saved. */
  readonly usageRetentionDays: number;
  /** The compression sidecar; `url` is blank when none is configured. */
  readonly compressor: { readonly url: string; readonly timeoutMs: number };
  readonly version: BuildInfo;
  /** The price list of the folder of recipes. */
  readonly prices: readonly ListedPrice[];
  /** The recipes of the folder of recipes. */
  readonly recipes: readonly Recipe[];
  readonly log: Logger;
}

export interface ApiTypes {
  Variables: {
    ctx: VerbContext;
    /** The tenant of the user for whom the console asks; null: the caller may see everything. */
    tenantId: string | null;
  };
}

export type Api = OpenAPIHono<ApiTypes>;
