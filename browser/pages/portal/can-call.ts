/**
 * Whether a tenant's applications can call right now, in one sentence, and what to do if not. Pure. What refuses every request
 * comes first, in the order in which the data plane checks; then what will soon refuse some.
 */
import type { Records } from "../../data/api.ts";
import type { explainAccess } from "../../explain/explain-access.ts";
import { explainLoad } from "../../explain/explain-waiting.ts";
import { responds } from "../../explain/first-model.ts";
import { keyState } from "../../forms/keys/key-state.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { formatAge, instantOf } from "../../time/instants.ts";

const text = texts("portal", portalTexts);
const DAY_MS = 86_400_000;
/** What ends for good within this time is told of: a key, or the tenant's term. */
const SOON_MS = 3 * DAY_MS;
/** The end of a weekly window is told of only when it is this near: it comes every day. */
const WINDOW_SOON_MS = 3_600_000;

type Key = Pick<Records["ApiKey"], "disabled" | "expires_at">;
type Model = Pick<Records["Model"], "enabled" | "health_status">;

/** What is known of a tenant; null: not read yet, or it could not be read. */
interface CallFacts {
  readonly access: ReturnType<typeof explainAccess>;
  /** The end of the tenant's term, epoch ms; null: it has none. */
  readonly termEndMs: number | null;
  /** When a budget begins anew, in words. */
  readonly budget: { readonly state: Records["BudgetUsage"]["state"]; readonly reset: string } | null;
  readonly keys: readonly Key[] | null;
  readonly models: readonly Model[] | null;
  readonly load: Records["TenantLoad"] | null;
}

/** The answer, and where something can be done about it. */
interface CallAnswer {
  readonly tone: "good" | "warn" | "bad" | "neutral";
  readonly sentence: string;
  readonly advice: string | null;
  readonly to: "/keys" | "/portal/models" | "/portal/limits" | null;
}

/** How many keys are admitted, and when the first of these ends (epoch ms; null: none does). */
export function keyCounts(
  keys: readonly Key[],
  nowMs: number,
): { readonly admitted: number; readonly endsMs: number | null } {
  const admitted = keys.filter((key) => ["active", "ending"].includes(keyState(key, nowMs)));
  const ends = admitted.map(({ expires_at }) => instantOf(expires_at)).filter((endMs) => endMs !== null);
  return { admitted: admitted.length, endsMs: ends.length === 0 ? null : ends.reduce((a, b) => Math.min(a, b)) };
}

/** How many models can be called, and how many of these respond, fail, or are in a state that is not known. */
export function modelCounts(models: readonly Model[]): {
  readonly enabled: number;
  readonly responding: number;
  readonly failing: number;
  readonly unknown: number;
} {
  const usable = models.filter((model) => model.enabled);
  const enabled = usable.length;
  const responding = usable.filter(responds).length;
  const failing = usable.filter((model) => model.health_status === "unhealthy").length;
  return { enabled, responding, failing, unknown: enabled - responding - failing };
}

/** The first reason against it, or else the first warning, or that nothing is in the way. */
export function canCall({ access, termEndMs, budget, keys, models, load }: CallFacts, nowMs: number): CallAnswer {
  const keysNow = keys === null ? null : keyCounts(keys, nowMs);
  const modelsNow = models === null ? null : modelCounts(models);
  const no = (sentence: string, advice: string, to: CallAnswer["to"] = null): CallAnswer => ({
    tone: "bad",
    sentence,
    advice,
    to,
  });
  const soon = (sentence: string, advice: string | null, to: CallAnswer["to"] = null): CallAnswer => ({
    tone: "warn",
    sentence,
    advice,
    to,
  });
  if (!access.isServed) return no(text("noAccess", { reason: access.sentence }), access.change ?? text("askAdmin"));
  if (budget?.state === "exhausted") return no(text("noBudget"), `${budget.reset} ${text("askAdminBudget")}`);
  if (keysNow?.admitted === 0)
    return keys?.length === 0
      ? no(text("noKey"), text("createKey"), "/keys")
      : no(text("noKeyAdmitted"), text("createKey"), "/keys");
  if (modelsNow?.enabled === 0) return no(text("noModel"), text("askAdmin"));
  if (modelsNow !== null && modelsNow.failing === modelsNow.enabled)
    return no(text("noModelAnswers"), text("askAdmin"), "/portal/models");
  if (load !== null && load.queued > 0) return soon(text("yesWaits"), explainLoad(load), "/portal/limits");
  if (budget === null || keysNow === null || modelsNow === null)
    return { tone: "neutral", sentence: text("notKnown"), advice: null, to: null };
  if (termEndMs !== null && termEndMs - nowMs < SOON_MS)
    return soon(text("yesTermEnds", { age: formatAge(nowMs, termEndMs) }), text("askAdmin"));
  if (access.changeMs !== null && access.changeMs - nowMs < WINDOW_SOON_MS)
    return soon(text("yesUntil", { age: formatAge(nowMs, access.changeMs) }), access.change);
  if (budget.state === "warned") return soon(text("yesBudget"), budget.reset);
  if (keysNow.endsMs !== null && keysNow.endsMs - nowMs < SOON_MS)
    return soon(text("yesKeyEnds", { age: formatAge(nowMs, keysNow.endsMs) }), text("rotateKey"), "/keys");
  if (modelsNow.failing > 0)
    return soon(text("yesSomeFail", { count: modelsNow.failing }), text("otherModel"), "/portal/models");
  return { tone: "good", sentence: text("yes"), advice: null, to: null };
}
