/** What the data folder of a released version holds, and the gateways that are started on such a folder. */
import { join } from "node:path";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";

/** Base64 of 32 bytes, with which the fixtures are sealed: they hold nothing that is worth keeping. */
const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString("base64");

/** The file in the archive that says what the folder holds. */
export const CONTENTS_FILE = "contents.json";
/** The Worker of that version, as one module. */
export const WORKER_FILE = "worker.mjs";
export const DATA_FOLDER = "data";

/** What was made on the version that wrote the folder. */
export interface FixtureContents {
  readonly version: string;
  /** No request is older, ms since 1970. */
  readonly sinceMs: number;
  readonly tenant: Pick<Tenant, "id" | "name">;
  readonly key: CreatedKey["key"];
  readonly secret: string;
  readonly disabledSecret: string;
  readonly model: Pick<Model, "id" | "model_name">;
  readonly requestIds: readonly string[];
  /** What the tenant has used of its lifetime budget. */
  readonly usedTokens: number;
  readonly adminToken: string;
}

/** The environment of a gateway on the folder of an unpacked fixture, with every store embedded. */
export function fixtureEnv(folder: string, adminToken: string): Record<string, string> {
  return {
    GATEWAY_DATA_DIR: join(folder, DATA_FOLDER),
    GATEWAY_ADMIN_TOKEN: adminToken,
    GATEWAY_ENCRYPTION_KEY: ENCRYPTION_KEY,
    GATEWAY_DEMO: "0",
    GATEWAY_DASHBOARD: "0",
    GATEWAY_MODEL_HEALTH_ENABLED: "0",
    GATEWAY_PROXY_LISTEN: "127.0.0.1:0",
    GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
    GATEWAY_METRICS_LISTEN: "127.0.0.1:0",
  };
}
