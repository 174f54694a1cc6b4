/** The upstream that is probed: the first of failover order (docs/rules/upstream-calls.md#endpoint-order). */
import { expect, it } from "vitest";
import { type EndpointSource, loadTarget } from "./target.ts";

const ACCESS = { api_dialect: "openai", auth_scheme: "bearer" };
const model = { api_base: "http://own", api_key: "own key" };
const endpoint = (name: string, more: Partial<EndpointSource> = {}): EndpointSource => ({
  name,
  api_base: `http://${name}`,
  api_key: null,
  auth_scheme: null,
  priority: 100,
  enabled: true,
  health_status: "unknown",
  ...more,
});

it.each<[string, readonly EndpointSource[], typeof model | { api_base: ""; api_key: string | null }, object]>([
  ["the lowest priority", [endpoint("a"), endpoint("b", { priority: 1 })], model, { apiBase: "http://b" }],
  ["by name when they tie", [endpoint("b"), endpoint("a")], model, { apiBase: "http://a" }],
  [
    "not one that is off or unhealthy",
    [endpoint("a", { enabled: false }), endpoint("b", { health_status: "unhealthy" }), endpoint("c")],
    model,
    { apiBase: "http://c" },
  ],
  [
    "with a scheme of its own",
    [endpoint("a", { auth_scheme: "api-key" })],
    model,
    { access: { ...ACCESS, auth_scheme: "api-key" } },
  ],
  ["with a key of its own", [endpoint("a", { api_key: "its key" })], model, { credential: "its key" }],
  ["with the model's key otherwise", [endpoint("a", { api_key: "" })], model, { credential: "own key" }],
  [
    "the model's own when none is left",
    [endpoint("a", { health_status: "unhealthy" })],
    model,
    { apiBase: "http://own", isDefault: false },
  ],
  [
    "an unhealthy one when the model has none",
    [endpoint("a", { health_status: "unhealthy" })],
    { api_base: "", api_key: null },
    { apiBase: "http://a", credential: null },
  ],
  [
    "the default when nothing is registered",
    [],
    { api_base: "", api_key: null },
    { apiBase: "http://default", isDefault: true, credential: null },
  ],
])("is %s", (_, endpoints, owner, expected) => {
  expect(loadTarget({ ...ACCESS, ...owner }, endpoints, "http://default")).toMatchObject(expected);
});
