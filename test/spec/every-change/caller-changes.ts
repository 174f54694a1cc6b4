/** The rows of keys, tenants and groups: changes of the caller, and of what the caller may do. */
import { expect } from "vitest";
import type { FairshareLive } from "../../../shared/schema/load.ts";
import { served } from "./routes.ts";
import type { Scene } from "./scene.ts";
import {
  type Change,
  changeOf,
  everywhere,
  model,
  only,
  type Verdict,
  type Write,
  withoutStoredAnswer,
} from "./verdicts.ts";

const key = ({ key: { id } }: Scene): string => `/keys/${id}`;
const tenant = ({ tenant: { id } }: Scene, part = ""): string => `/tenants/${id}${part}`;

const enable =
  (disabled: boolean) =>
  (scene: Scene): Write => ["PUT", `${key(scene)}/disabled`, { disabled }];
const status =
  (text: string) =>
  (scene: Scene): Write => ["PATCH", tenant(scene, "/status"), { status: text }];
const allow =
  (names: readonly string[] | null) =>
  (scene: Scene): Write => ["PATCH", tenant(scene, "/allowlist"), { allowed_models: names }];

const guardrails =
  (policy: object | null) =>
  (scene: Scene): Write => ["PATCH", tenant(scene, "/guardrails"), { policy }];
/** A policy that refuses the text of every route that sends one: a cell's id is the text of its cached chat. */
const refusing = (scene: Scene): Write =>
  guardrails({ input_scanners: ["ban_keywords"], ban_keywords: ["hello", "cat", scene.id] })(scene);
const blocked: Verdict = (route, scene) =>
  route.name === "form upload"
    ? served(route, scene)
    : only({ admitted: "400 request_blocked", cached: "400 request_blocked" })(route, scene);

const exhausted = (code: string): Verdict => only({ admitted: `403 ${code}` });
const disabled = everywhere("403 api_key_disabled");
const notActive = everywhere("403 tenant_not_active");
const offList = model("403 model_not_permitted", "200, not listed");
const keyWith =
  (fields: object) =>
  (scene: Scene): Write => ["PUT", key(scene), fields];
const rotated =
  (body: object) =>
  (scene: Scene): Write => ["POST", `${key(scene)}/rotate`, body];
const NO_BUDGET = { budget_tokens: 0, budget_cost_usd: null, budget_period: null };

/** In the order in which the pipeline checks a caller. */
export const CALLER_CHANGES: readonly Change[] = [
  changeOf("key: disabled", "key", enable(true), disabled),
  changeOf("key: enabled", "key", enable(false), withoutStoredAnswer(), { first: enable(true), before: disabled }),
  changeOf("key: deleted", "key", (scene) => ["DELETE", key(scene)], everywhere("401 invalid_api_key")),
  changeOf("key: ended", "key", keyWith({ expires_at: "2020-01-01T00:00:00Z" }), everywhere("403 api_key_expired")),
  changeOf("key: rotated without grace", "key", rotated({}), everywhere("401 invalid_api_key")),
  changeOf("key: rotated with grace, then disabled", "key", enable(true), disabled, {
    first: rotated({ grace_secs: 604_800 }),
  }),
  changeOf("key: model off its list", "key", keyWith({ allowed_models: ["another"] }), offList),
  changeOf("key: budget used up", "key", keyWith({ budget_tokens: 0 }), exhausted("key_budget_exhausted")),
  changeOf("key: budget lifted", "key", keyWith({ budget_tokens: null }), withoutStoredAnswer(), {
    first: keyWith({ budget_tokens: 0 }),
    before: only({ admitted: "403 key_budget_exhausted", cached: "403 key_budget_exhausted" }),
  }),
  changeOf("tenant: suspended", "tenant", status("suspended"), notActive),
  changeOf("tenant: active again", "tenant", status("active"), withoutStoredAnswer(), {
    first: status("archived"),
    before: notActive,
  }),
  changeOf(
    "tenant: time over",
    "tenant",
    (scene) => ["PATCH", tenant(scene, "/schedule"), { active_until: "2020-01-01T00:00:00Z" }],
    everywhere("403 tenant_expired"),
  ),
  changeOf("tenant: model off its list", "tenant", allow(["another"]), offList),
  changeOf("tenant: list lifted", "tenant", allow(null), withoutStoredAnswer(), {
    first: allow(["another"]),
    before: offList,
  }),
  changeOf("tenant: guardrails", "tenant", refusing, blocked),
  changeOf("tenant: guardrails lifted", "tenant", guardrails(null), withoutStoredAnswer(), {
    first: refusing,
    before: blocked,
  }),
  changeOf(
    "tenant: guardrails for answers",
    "tenant",
    guardrails({ output_scanners: ["ban_keywords"], ban_keywords: ["unsaid"] }),
    // an answer that must be examined does not come from the cache
    only({ cached: (route, scene) => served({ ...route, kind: "admitted" }, scene).replace("200", "200, off") }),
  ),
  changeOf("tenant: deleted", "tenant", (scene) => ["DELETE", tenant(scene)], everywhere("401 invalid_api_key")),
  changeOf(
    "tenant: quota",
    "tenant",
    (scene) => ["PUT", tenant(scene, "/quota"), { tokens_per_minute: 1_000_000 }],
    (route, scene) => served(route, scene).replace(/^200(, (?:hit|listed))?/, "200$1, cap 1000000"),
  ),
  changeOf(
    "tenant: budget used up",
    "tenant",
    (scene) => ["PATCH", tenant(scene, "/budget"), NO_BUDGET],
    exhausted("tenant_budget_exhausted"),
  ),
  changeOf("tenant: weight", "tenant", (scene) => ["PATCH", tenant(scene, "/weight"), { weight: 321 }], served, {
    rows: (before, after) =>
      expect({ beforeWeight: before.weight, afterWeight: after.weight }).toEqual({
        beforeWeight: 100,
        afterWeight: 321,
      }),
  }),
  changeOf(
    "group: weight",
    "group",
    ({ group }) => ["PATCH", `/fairshare/groups/${group}/weight`, { weight: 7 }],
    served,
    {
      live: async ({ gateway, group }) => {
        const { groups } = await gateway.must<FairshareLive>("GET", "/fairshare/live");
        expect(groups.find(({ name }) => name === group)?.weight).toBe(7);
      },
    },
  ),
];
