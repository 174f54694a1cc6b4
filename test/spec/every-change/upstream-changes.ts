/** The rows of models, endpoints and MCP servers: changes of what is requested and of its address. */
import { expect } from "vitest";
import { served } from "./routes.ts";
import { modelFields, OLD, type Scene } from "./scene.ts";
import {
  type Change,
  model,
  only,
  onModel,
  onServer,
  onUpstream,
  unregistered,
  type Write,
  withoutStoredAnswer,
} from "./verdicts.ts";

const modelAt = ({ model: { id } }: Scene, part = ""): string => `/models/${id}${part}`;
const server = ({ server: { id } }: Scene): string => `/mcp-servers/${id}`;
const endpoint = (scene: Scene): string => modelAt(scene, `/endpoints/${scene.endpointId}`);

const setModel =
  (fields: (scene: Scene) => object) =>
  (scene: Scene): Write => [
    "PUT",
    modelAt(scene),
    { upstream_model: OLD.name, api_base: scene.witness.baseOf(OLD.address), ...fields(scene) },
  ];

/** In the order in which the pipeline chooses an upstream. */
export const UPSTREAM_CHANGES: readonly Change[] = [
  {
    name: "model: disabled",
    own: "model",
    change: setModel(() => ({ enabled: false })),
    after: model("403 model_disabled", "200, not listed"),
  },
  {
    name: "model: enabled",
    own: "model",
    first: setModel(() => ({ enabled: false })),
    before: model("403 model_disabled", "200, not listed"),
    change: setModel(() => ({ enabled: true })),
    after: withoutStoredAnswer(),
  },
  { name: "model: deleted", own: "model", change: (scene) => ["DELETE", modelAt(scene)], after: unregistered },
  {
    name: "model: registered",
    own: "unregistered model",
    before: unregistered,
    change: ({ model: { name }, witness }) => [
      "POST",
      "/models",
      { ...modelFields(witness, OLD.address), model_name: name, cache_enabled: true },
    ],
    // Its cache is on from the start, so that every JSON route looks for a stored answer.
    after: withoutStoredAnswer(),
  },
  {
    name: "model: address",
    own: "model",
    change: setModel(({ witness }) => ({ api_base: witness.baseOf("new") })),
    after: onModel({ address: "new" }),
  },
  {
    name: "model: credential",
    own: "model",
    change: setModel(() => ({ api_key: "of-new" })),
    after: onUpstream({ secret: "of-new" }),
  },
  {
    name: "model: upstream's name",
    own: "model",
    change: setModel(() => ({ upstream_model: "name-new" })),
    after: onModel({ name: "name-new" }),
  },
  {
    name: "model: cache off",
    own: "model",
    change: (scene) => ["PUT", modelAt(scene, "/cache"), { cache_enabled: false }],
    after: only({ cached: (route, scene) => served({ ...route, kind: "admitted" }, scene).replace("200", "200, off") }),
  },
  {
    name: "model: prices",
    own: "model",
    change: setModel(() => ({
      input_cost_per_token: 1e-3,
      output_cost_per_token: 1e-3,
      cost_per_image: 1e-3,
      cost_per_character: 1e-3,
    })),
    after: served,
    rows: (before, after) => expect(after.cost_usd).toBeCloseTo(before.cost_usd * 1000, 9),
  },
  {
    name: "endpoint: added",
    own: "model",
    change: (scene) => [
      "POST",
      modelAt(scene, "/endpoints"),
      { name: "first", api_base: scene.witness.baseOf("new"), api_key: "of-new" },
    ],
    after: onUpstream({ address: "new", secret: "of-new" }),
  },
  {
    name: "endpoint: address",
    own: "model with endpoint",
    change: (scene) => ["PUT", endpoint(scene), { api_base: scene.witness.baseOf("new") }],
    after: onUpstream({ address: "new" }),
  },
  {
    name: "endpoint: credential",
    own: "model with endpoint",
    change: (scene) => ["PUT", endpoint(scene), { api_key: "of-new" }],
    after: onUpstream({ secret: "of-new" }),
  },
  {
    name: "endpoint: disabled",
    own: "model with endpoint",
    change: (scene) => ["PUT", endpoint(scene), { enabled: false }],
    after: onUpstream({ address: "own" }),
  },
  {
    name: "endpoint: deleted",
    own: "model with endpoint",
    change: (scene) => ["DELETE", endpoint(scene)],
    after: onUpstream({ address: "own" }),
  },
  {
    name: "MCP server: address",
    own: "server",
    change: (scene) => ["PUT", server(scene), { upstream_url: scene.witness.mcpUrlOf("new") }],
    after: onServer({ address: "new" }),
  },
  {
    name: "MCP server: credential",
    own: "server",
    change: (scene) => ["PUT", server(scene), { auth_header: "Bearer of-new" }],
    after: onServer({ secret: "of-new" }),
  },
  {
    name: "MCP server: disabled",
    own: "server",
    change: (scene) => ["PUT", server(scene), { enabled: false }],
    after: only({ mcp: "403 mcp_server_disabled" }),
  },
  {
    name: "MCP server: enabled",
    own: "server",
    first: (scene) => ["PUT", server(scene), { enabled: false }],
    before: only({ mcp: "403 mcp_server_disabled" }),
    change: (scene) => ["PUT", server(scene), { enabled: true }],
    after: served,
  },
  {
    name: "MCP server: another name",
    own: "server",
    change: (scene) => ["PUT", server(scene), { name: `${scene.server.name}-new` }],
    after: only({ mcp: "404 mcp_server_not_found" }),
  },
  {
    name: "MCP server: deleted",
    own: "server",
    change: (scene) => ["DELETE", server(scene)],
    after: only({ mcp: "404 mcp_server_not_found" }),
  },
];
