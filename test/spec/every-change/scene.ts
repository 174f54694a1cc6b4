/**
 * One cell of the table: the records that a request of one route uses, with separate copies of those that a change affects.
 * All cells share the records that no change affects: if two cells shared a record that is changed, the first change would
 * make both read it again, and the second cell would show nothing.
 */
import { randomUUID } from "node:crypto";
import type { CreatedKey } from "../../../shared/schema/api-key.ts";
import type { McpServer } from "../../../shared/schema/mcp-server.ts";
import type { Model } from "../../../shared/schema/model.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import type { Gateway } from "../../harness/gateway.ts";
import type { Witness } from "./witness.ts";

/**
 * The records that a change affects. `model with endpoint`: its only address is that of an endpoint with higher priority.
 */
export type Own = "key" | "tenant" | "group" | "model" | "model with endpoint" | "unregistered model" | "server";

/** Where a record leads: its address, and the name and the credential that the upstream gets. */
export interface Upstream {
  readonly address: string;
  readonly name: string;
  readonly secret: string;
}

/** The values with which a cell's records begin. */
export const OLD: Upstream = { address: "old", name: "name-old", secret: "of-old" };

export interface Scene {
  /** Unique; the upstream recognises the requests of this cell by it. */
  readonly id: string;
  readonly gateway: Gateway;
  readonly witness: Witness;
  readonly tenant: Tenant;
  readonly key: CreatedKey["key"];
  readonly secret: string;
  /** The fields of its records; an id that is "" has no record yet. */
  readonly model: { readonly id: string; readonly name: string };
  readonly endpointId: string;
  readonly server: McpServer;
  readonly group: string;
}

/** The fields of a model that this address serves. */
export function modelFields(witness: Witness, address: string): Readonly<Record<string, unknown>> {
  return {
    upstream_model: OLD.name,
    api_base: witness.baseOf(address),
    api_key: OLD.secret,
    input_cost_per_token: 1e-6,
    output_cost_per_token: 1e-6,
    cost_per_image: 1e-6,
    cost_per_character: 1e-6,
    energy_slots_per_node: 10,
  };
}

/** Makes cells; the shared records are made once. */
export class Scenes {
  readonly #gateway: Gateway;
  readonly #witness: Witness;
  readonly #shared = new Map<string, Promise<unknown>>();

  constructor(gateway: Gateway, witness: Witness) {
    this.#gateway = gateway;
    this.#witness = witness;
  }

  /**
   * Makes a cell. `cached`: the response cache of its model is on. `slots`: those of the model; null: as many as there are
   * requests.
   */
  async make(own: Own, cached: boolean, slots: number | null = null): Promise<Scene> {
    const id = randomUUID();
    const ownsModel = slots !== null || own.includes("model");
    const [caller, model, server] = await Promise.all([
      this.#caller(own, id),
      ownsModel
        ? this.#model(own, id, cached, slots)
        : this.#once(`model ${cached}`, () => this.#model(own, randomUUID(), cached, null)),
      own === "server" ? this.#server(id) : this.#once("server", () => this.#server(randomUUID())),
    ]);
    return { id, gateway: this.#gateway, witness: this.#witness, ...caller, ...model, server };
  }

  async #once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const known = this.#shared.get(name) as Promise<T> | undefined;
    if (known !== undefined) return await known;
    const made = make();
    this.#shared.set(name, made);
    return await made;
  }

  async #caller(own: Own, id: string): Promise<Pick<Scene, "tenant" | "key" | "secret" | "group">> {
    const group = own === "group" ? `group-${id}` : "default";
    if (own === "group") await this.#gateway.must("POST", "/fairshare/groups", { name: group, weight: 100 });
    const ownsTenant = own === "group" || own === "tenant";
    const tenant = ownsTenant
      ? await this.#tenant(id, group)
      : await this.#once("tenant", () => this.#tenant(randomUUID(), group));
    const made =
      ownsTenant || own === "key" ? await this.#key(tenant) : await this.#once("key", () => this.#key(tenant));
    return { tenant, key: made.key, secret: made.secret, group };
  }

  async #tenant(id: string, group: string): Promise<Tenant> {
    return await this.#gateway.must("POST", "/tenants", { name: `tenant-${id}`, fairshare_group: group });
  }

  async #key(tenant: Tenant): Promise<CreatedKey> {
    return await this.#gateway.must("POST", `/tenants/${tenant.id}/keys`, {});
  }

  async #model(
    own: Own,
    id: string,
    cached: boolean,
    slots: number | null,
  ): Promise<Pick<Scene, "model" | "endpointId">> {
    const name = `model-${id}`;
    if (own === "unregistered model") return { model: { id: "", name }, endpointId: "" };
    const fields = modelFields(this.#witness, own === "model with endpoint" ? "own" : OLD.address);
    const model = await this.#gateway.must<Model>("POST", "/models", {
      ...fields,
      model_name: name,
      cache_enabled: cached,
      max_in_flight: slots,
    });
    if (own !== "model with endpoint") return { model: { id: model.id, name }, endpointId: "" };
    const endpoint = await this.#gateway.must<{ id: string }>("POST", `/models/${model.id}/endpoints`, {
      name: "first",
      api_base: this.#witness.baseOf(OLD.address),
      api_key: OLD.secret,
    });
    return { model: { id: model.id, name }, endpointId: endpoint.id };
  }

  async #server(id: string): Promise<McpServer> {
    return await this.#gateway.must("POST", "/mcp-servers", {
      name: id,
      upstream_url: this.#witness.mcpUrlOf(OLD.address),
      auth_header: `Bearer ${OLD.secret}`,
    });
  }
}
