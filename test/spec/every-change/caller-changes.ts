/** The rows of keys, tenants and groups: changes of the caller, and of what the caller may do. */
import { expect } from "vitest";
import type { FairshareLive } from "../../../shared/schema/load.ts";
import { served } from "./routes.ts";
import type { Scene } from "./scene.ts";
import { type Change, everywhere, model, only, type Verdict, type Write, withoutStoredAnswer } from "./verdicts.ts";

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

/** In the order in which the pipeline checks a caller. */
export const CALLER_CHANGES: readonly Change[] = [
  { name: "key: disabled", own: "key", change: enable(true), after: everywhere("403 api_key_disabled") },
  {
    name: "key: enabled",
    own: "key",
    first: enable(true),
    before: everywhere("403 api_key_disabled"),
    change: enable(false),
    after: withoutStoredAnswer(),
  },
  {
    name: "key: deleted",
    own: "key",
    change: (scene) => ["DELETE", key(scene)],
    after: everywhere("401 invalid_api_key"),
  },
  {
    name: "key: ended",
    own: "key",
    change: (scene) => ["PUT", key(scene), { expires_at: "2020-01-01T00:00:00Z" }],
    after: everywhere("403 api_key_expired"),
  },
  {
    name: "key: rotated without grace",
    own: "key",
    change: (scene) => ["POST", `${key(scene)}/rotate`, {}],
    after: everywhere("401 invalid_api_key"),
  },
  {
    name: "key: rotated with grace, then disabled",
    own: "key",
    first: (scene) => ["POST", `${key(scene)}/rotate`, { grace_secs: 604_800 }],
    change: enable(true),
    after: everywhere("403 api_key_disabled"),
  },
  {
    name: "key: model off its list",
    own: "key",
    change: (scene) => ["PUT", key(scene), { allowed_models: ["another"] }],
    after: model("403 model_not_permitted", "200, not listed"),
  },
  {
    name: "key: budget used up",
    own: "key",
    change: (scene) => ["PUT", key(scene), { budget_tokens: 0 }],
    after: exhausted("key_budget_exhausted"),
  },
  {
    name: "key: budget lifted",
    own: "key",
    first: (scene) => ["PUT", key(scene), { budget_tokens: 0 }],
    before: only({ admitted: "403 key_budget_exhausted", cached: "403 key_budget_exhausted" }),
    change: (scene) => ["PUT", key(scene), { budget_tokens: null }],
    after: withoutStoredAnswer(),
  },
  { name: "tenant: suspended", own: "tenant", change: status("suspended"), after: everywhere("403 tenant_not_active") },
  {
    name: "tenant: active again",
    own: "tenant",
    first: status("archived"),
    before: everywhere("403 tenant_not_active"),
    change: status("active"),
    after: withoutStoredAnswer(),
  },
  {
    name: "tenant: time over",
    own: "tenant",
    change: (scene) => ["PATCH", tenant(scene, "/schedule"), { active_until: "2020-01-01T00:00:00Z" }],
    after: everywhere("403 tenant_expired"),
  },
  {
    name: "tenant: model off its list",
    own: "tenant",
    change: allow(["another"]),
    after: model("403 model_not_permitted", "200, not listed"),
  },
  {
    name: "tenant: list lifted",
    own: "tenant",
    first: allow(["another"]),
    before: model("403 model_not_permitted", "200, not listed"),
    change: allow(null),
    after: withoutStoredAnswer(),
  },
  { name: "tenant: guardrails", own: "tenant", change: refusing, after: blocked },
  {
    name: "tenant: guardrails lifted",
    own: "tenant",
    first: refusing,
    before: blocked,
    change: guardrails(null),
    after: withoutStoredAnswer(),
  },
  {
    name: "tenant: guardrails for answers",
    own: "tenant",
    change: guardrails({ output_scanners: ["ban_keywords"], ban_keywords: ["unsaid"] }),
    // an answer that must be examined does not come from the cache
    after: only({ cached: (route, scene) => served({ ...route, kind: "admitted" }, scene).replace("200", "200, off") }),
  },
  {
    name: "tenant: deleted",
    own: "tenant",
    change: (scene) => ["DELETE", tenant(scene)],
    after: everywhere("401 invalid_api_key"),
  },
  {
    name: "tenant: quota",
    own: "tenant",
    change: (scene) => ["PUT", tenant(scene, "/quota"), { tokens_per_minute: 1_000_000 }],
    after: (route, scene) => served(route, scene).replace(/^200(, (?:hit|listed))?/, "200$1, cap 1000000"),
  },
  {
    name: "tenant: budget used up",
    own: "tenant",
    change: (scene) => [
      "PATCH",
      tenant(scene, "/budget"),
      { budget_tokens: 0, budget_cost_usd: null, budget_period: null },
    ],
    after: exhausted("tenant_budget_exhausted"),
  },
  {
    name: "tenant: weight",
    own: "tenant",
    change: (scene) => ["PATCH", tenant(scene, "/weight"), { weight: 321 }],
    after: served,
    rows: (before, after) =>
      expect({ beforeWeight: before.weight, afterWeight: after.weight }).toEqual({
        beforeWeight: 100,
        afterWeight: 321,
      }),
  },
  {
    name: "group: weight",
    own: "group",
    change: ({ group }) => ["PATCH", `/fairshare/groups/${group}/weight`, { weight: 7 }],
    after: served,
    live: async ({ gateway, group }) => {
      const { groups } = await gateway.must<FairshareLive>("GET", "/fairshare/live");
      expect(groups.find(({ name }) => name === group)?.weight).toBe(7);
    },
  },
];
