/**
 * The Management API behind the provisioner's port (docs/rules/provisioner.md#management-calls): the typed client, over the
 * network or straight into the application. Other answers than success become ProvisionerError, with the API's own code.
 */
import type { ModelReplica } from "../../shared/schema/model-replica.ts";
import type { GatewayClient } from "../api/client/client.ts";
import type { Spec } from "./core/job-object.ts";
import { type ManagementPort, ProvisionerError } from "./ports.ts";

interface Answer<T> {
  readonly data?: T | undefined;
  readonly error?: unknown;
  readonly response: Response;
}

const NOT_FOUND = 404;
const CONFLICT = 409;
/** A list of a thousand pages is no list of this gateway. */
const PAGES_MAX = 1000;

/** The port over a client; `holder` names this process, and no other one. */
export function managementPort(client: GatewayClient, holder: string): ManagementPort {
  const endpoints = async (modelId: string) =>
    await bodyOf("list endpoints", client.GET("/api/v1/models/{id}/endpoints", { params: { path: { id: modelId } } }));
  return {
    settings: async (last) =>
      await bodyOf(
        "settings",
        client.GET("/api/v1/settings/jobsched/resolved", {
          params: { query: { holder, ...(last === null ? {} : { outcome: last.outcome, ...errorOf(last.error) }) } },
        }),
      ),
    specs: async () =>
      await rowsOf<Spec>("list managed models", (query) => client.GET("/api/v1/managed", { params: { query } })),
    replicas: async () =>
      await rowsOf<ModelReplica>("list replicas", (query) => client.GET("/api/v1/replicas", { params: { query } })),
    createReplica: async (modelId, { intentId, portBase }) => {
      const body = { intent_id: intentId, port_base: portBase };
      const path = { id: modelId };
      const { id } = await bodyOf(
        "create replica",
        client.POST("/api/v1/models/{id}/replicas", { params: { path }, body }),
      );
      return id;
    },
    changeReplica: async (id, body) => {
      await bodyOf("change replica", client.PATCH("/api/v1/replicas/{id}", { params: { path: { id } }, body }));
    },
    deleteReplica: async (id) => {
      await orMissing(bodyOf("delete replica", client.DELETE("/api/v1/replicas/{id}", { params: { path: { id } } })));
    },
    keepEndpoint: async (modelId, { name, apiBase }) => {
      const path = { id: modelId };
      const body = { name, api_base: apiBase };
      try {
        return (
          await bodyOf("create endpoint", client.POST("/api/v1/models/{id}/endpoints", { params: { path }, body }))
        ).id;
      } catch (error) {
        if (!(error instanceof ProvisionerError) || error.status !== CONFLICT) throw error;
        const known = (await endpoints(modelId)).find((endpoint) => endpoint.name === name);
        if (known === undefined) throw error;
        if (known.api_base !== apiBase) {
          const params = { path: { id: modelId, endpoint_id: known.id } };
          await bodyOf("move endpoint", client.PUT("/api/v1/models/{id}/endpoints/{endpoint_id}", { params, body }));
        }
        return known.id;
      }
    },
    removeEndpoint: async (modelId, { id, name }) => {
      const known = id ?? (await orMissing(endpoints(modelId)))?.find((endpoint) => endpoint.name === name)?.id;
      if (known === undefined) return false;
      const params = { path: { id: modelId, endpoint_id: known } };
      const removed = client.DELETE("/api/v1/models/{id}/endpoints/{endpoint_id}", { params });
      return (await orMissing(bodyOf("remove endpoint", removed))) !== undefined;
    },
    reportError: async (modelId, error) => {
      const params = { path: { id: modelId } };
      await orMissing(
        bodyOf(
          "report error",
          client.PATCH("/api/v1/models/{id}/managed/provision-error", { params, body: { error } }),
        ),
      );
    },
  };
}

function errorOf(error: string | undefined): { readonly error?: string } {
  return error === undefined ? {} : { error };
}

/** Every row of a paged list. */
async function rowsOf<T>(
  what: string,
  page: (query: { limit: string; cursor?: string }) => Promise<Answer<readonly T[]>>,
): Promise<readonly T[]> {
  const rows: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const answer = page({ limit: "1000", ...(cursor === undefined ? {} : { cursor }) });
    for (const row of await bodyOf(what, answer)) rows.push(row);
    cursor = /[?&]cursor=([^&>]+)/.exec((await answer).response.headers.get("link") ?? "")?.[1];
    if (cursor === undefined) return rows;
  }
  throw new ProvisionerError(`management api: ${what}: the list does not end`);
}

/** The body of a successful answer; null for one without a body. */
async function bodyOf<T>(what: string, call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (error) {
    const reason = error instanceof Error && error.name === "TimeoutError" ? "timeout" : "no answer";
    throw new ProvisionerError(`management api: ${what}: ${reason}`);
  }
  const { response, data, error } = answer;
  if (response.ok) return data ?? (null as T);
  throw new ProvisionerError(`management api: ${what}: ${response.status} ${codeOf(error)}`.trim(), response.status);
}

function codeOf(error: unknown): string {
  const inner = typeof error === "object" && error !== null && "error" in error ? error.error : null;
  const code = typeof inner === "object" && inner !== null && "code" in inner ? inner.code : null;
  return typeof code === "string" && /^\w{1,60}$/.test(code) ? code : "";
}

/** What a call answers; undefined when it says that the thing is not there. */
async function orMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ProvisionerError && error.status === NOT_FOUND) return undefined;
    throw error;
  }
}
