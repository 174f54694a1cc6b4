/** The rows of models, endpoints and MCP servers: changes of what is requested and of its address. */
import { expect } from "vitest";
import { served } from "./routes.ts";
import { modelFields, OLD, type Scene } from "./scene.ts";
import {
  type Change,
  changeOf,
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

type Fields = object | ((scene: Scene) => object);
const fieldsOf = (fields: Fields, scene: Scene) => (typeof fields === "function" ? fields(scene) : fields);
/** A write of these fields to the record at a path. */
const put =
  (path: (scene: Scene) => string) =>
  (fields: Fields) =>
  (scene: Scene): Write => ["PUT", path(scene), fieldsOf(fields, scene)];
const setEndpoint = put(endpoint);
const setServer = put(server);
const setModel = (fields: Fields) =>
  put(modelAt)((scene) => ({
    upstream_model: OLD.name,
    api_base: scene.witness.baseOf(OLD.address),
    ...fieldsOf(fields, scene),
  }));
const newAddress = ({ witness }: Scene) => ({ api_base: witness.baseOf("new") });
const NEW_PRICES = {
  input_cost_per_token: 1e-3,
  output_cost_per_token: 1e-3,
  cost_per_image: 1e-3,
  cost_per_character: 1e-3,
};
const disabled = model("403 model_disabled", "200, not listed");
const newSecret = onUpstream({ secret: "of-new" });
const ownAddress = onUpstream({ address: "own" });
const serverDisabled = only({ mcp: "403 mcp_server_disabled" });
const noServer = only({ mcp: "404 mcp_server_not_found" });

/** In the order in which the pipeline chooses an upstream. */
export const UPSTREAM_CHANGES: readonly Change[] = [
  changeOf("model: disabled", "model", setModel({ enabled: false }), disabled),
  changeOf("model: enabled", "model", setModel({ enabled: true }), withoutStoredAnswer(), {
    first: setModel({ enabled: false }),
    before: disabled,
  }),
  changeOf("model: deleted", "model", (scene) => ["DELETE", modelAt(scene)], unregistered),
  changeOf(
    "model: registered",
    "unregistered model",
    ({ model: { name }, witness }) => [
      "POST",
      "/models",
      { ...modelFields(witness, OLD.address), model_name: name, cache_enabled: true },
    ],
    // Its cache is on from the start, so that every JSON route looks for a stored answer.
    withoutStoredAnswer(),
    { before: unregistered },
  ),
  changeOf("model: address", "model", setModel(newAddress), onModel({ address: "new" })),
  changeOf("model: credential", "model", setModel({ api_key: "of-new" }), newSecret),
  changeOf("model: upstream's name", "model", setModel({ upstream_model: "name-new" }), onModel({ name: "name-new" })),
  changeOf(
    "model: cache off",
    "model",
    (scene) => ["PUT", modelAt(scene, "/cache"), { cache_enabled: false }],
    only({ cached: (route, scene) => served({ ...route, kind: "admitted" }, scene).replace("200", "200, off") }),
  ),
  changeOf("model: prices", "model", setModel(NEW_PRICES), served, {
    rows: (before, after) => expect(after.cost_usd).toBeCloseTo(before.cost_usd * 1000, 9),
  }),
  changeOf(
    "endpoint: added",
    "model",
    (scene) => ["POST", modelAt(scene, "/endpoints"), { name: "first", ...newAddress(scene), api_key: "of-new" }],
    onUpstream({ address: "new", secret: "of-new" }),
  ),
  changeOf("endpoint: address", "model with endpoint", setEndpoint(newAddress), onUpstream({ address: "new" })),
  changeOf("endpoint: credential", "model with endpoint", setEndpoint({ api_key: "of-new" }), newSecret),
  changeOf("endpoint: disabled", "model with endpoint", setEndpoint({ enabled: false }), ownAddress),
  changeOf("endpoint: deleted", "model with endpoint", (scene) => ["DELETE", endpoint(scene)], ownAddress),
  changeOf(
    "MCP server: address",
    "server",
    setServer(({ witness }) => ({ upstream_url: witness.mcpUrlOf("new") })),
    onServer({ address: "new" }),
  ),
  changeOf(
    "MCP server: credential",
    "server",
    setServer({ auth_header: "Bearer of-new" }),
    onServer({ secret: "of-new" }),
  ),
  changeOf("MCP server: disabled", "server", setServer({ enabled: false }), serverDisabled),
  changeOf("MCP server: enabled", "server", setServer({ enabled: true }), served, {
    first: setServer({ enabled: false }),
    before: serverDisabled,
  }),
  changeOf(
    "MCP server: another name",
    "server",
    setServer((scene) => ({ name: `${scene.server.name}-new` })),
    noServer,
  ),
  changeOf("MCP server: deleted", "server", (scene) => ["DELETE", server(scene)], noServer),
];
