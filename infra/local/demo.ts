/**
 * The demo seed: on the first start with a database it creates a tenant, a key and a model through the Management API, and
 * keeps key and ids in the data folder. Later it only updates the model when the demo upstream has another address. It does
 * not create again what an operator has deleted.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readPrivate } from "./secrets.ts";

/** What {@link seedDemo} needs. */
interface DemoOptions {
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** The current API base of the demo upstream. */
  readonly apiBase: string;
}

/** The demo key and model. `made`: whether they are new. */
export interface Demo {
  readonly apiKey: string;
  readonly model: string;
  readonly made: boolean;
}

const MODEL = "demo";
const state = z.object({ database: z.string(), model_id: z.string(), api_base: z.string() });
type State = z.infer<typeof state>;

/** The names of the files in the data folder. */
export const DEMO_KEY_FILE = "demo-key";
const STATE_FILE = "demo.json";

function readState(path: string): State | undefined {
  const text = readPrivate(path);
  const parsed = text === null ? undefined : state.safeParse(JSON.parse(text));
  return parsed?.success ? parsed.data : undefined;
}

/**
 * The last port of the demo upstream, for reuse; 0 if there was none. Throws if a file of the demo is not private, before any
 * part has started that would need to be stopped.
 */
export function lastDemoPort(dataDir: string): number {
  readPrivate(join(dataDir, DEMO_KEY_FILE));
  const last = readState(join(dataDir, STATE_FILE));
  return last === undefined ? 0 : Number(new URL(last.api_base).port);
}

/**
 * Creates the demo records, or finds those of an earlier start; null if the operator has deleted them. Rejects when the
 * Management API refuses.
 */
export async function seedDemo(options: DemoOptions): Promise<Demo | null> {
  const { dataDir, apiBase } = options;
  const database = createHash("sha256").update(options.databaseUrl).digest("hex").slice(0, 16);
  const statePath = join(dataDir, STATE_FILE);
  const keyPath = join(dataDir, DEMO_KEY_FILE);

  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${options.adminUrl}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${options.adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json().catch(() => null)) as unknown };
  };
  const create = async <T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T> => {
    const answer = await call("POST", path, body);
    const parsed = schema.safeParse(answer.body);
    if (parsed.success && answer.status < 300) return parsed.data;
    throw new Error(
      `the demo could not be set up: POST ${path} answered ${answer.status} ${JSON.stringify(answer.body)}`,
    );
  };
  const keep = (modelId: string) => {
    const kept: State = { database, model_id: modelId, api_base: apiBase };
    writeFileSync(statePath, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
  };
  const move = (modelId: string) => call("PUT", `/models/${modelId}`, { upstream_model: MODEL, api_base: apiBase });

  const last = readState(statePath);
  const apiKey = readPrivate(keyPath);
  if (last?.database === database && apiKey) {
    if ((await call("GET", `/models/${last.model_id}`)).status === 404) return null;
    if (last.api_base !== apiBase) {
      await move(last.model_id);
      keep(last.model_id);
    }
    return { apiKey, model: MODEL, made: false };
  }

  const withId = z.object({ id: z.string(), model_name: z.string().optional() });
  const found = z.array(withId).safeParse((await call("GET", "/models?limit=1000")).body);
  const existing = found.success ? found.data.find((model) => model.model_name === MODEL) : undefined;
  const model =
    existing ??
    (await create(
      "/models",
      {
        model_name: MODEL,
        description: "The demo upstream that the local stack brings along",
        upstream_model: MODEL,
        api_base: apiBase,
      },
      withId,
    ));
  if (existing !== undefined) await move(existing.id);
  const tenant = await create("/tenants", { name: "demo", weight: 100, tokens_per_minute: 1_000_000 }, withId);
  const key = await create(`/tenants/${tenant.id}/keys`, { name: "demo" }, z.object({ secret: z.string() }));
  writeFileSync(keyPath, `${key.secret}\n`, { mode: 0o600 });
  keep(model.id);
  return { apiKey: key.secret, model: MODEL, made: true };
}
