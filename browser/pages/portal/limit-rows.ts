/** What limits a tenant's requests: how much is allowed, how much is left, and when it resets. Pure. */
import { RATE_FIELD_NAMES, type RateField } from "../../../shared/fields/rates.ts";
import type { Records } from "../../data/api.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { resetSentence } from "../../time/next-reset.ts";
import { formatCount, formatUsd } from "../../ui/format.ts";

const text = texts("portal", portalTexts);
const fieldText = texts("fields", fieldTexts);

type Rates = Pick<Records["Tenant"], RateField>;
type TenantLimits = Rates &
  Pick<
    Records["Tenant"],
    "max_in_flight" | "end_user_budget_tokens" | "end_user_budget_cost_usd" | "end_user_budget_period"
  >;

/** One limit in words. */
export interface LimitRow {
  readonly id: string;
  readonly name: string;
  readonly allowed: string;
  /** What is used, and what running requests hold. */
  readonly used: string;
  /** The part of what is allowed that is used or held; null: not known. */
  readonly share: number | null;
  /** What is left, or where to see that. */
  readonly left: string;
  /** When it resets, or what happens to requests beyond it. */
  readonly resets: string;
}

interface Limits {
  readonly rows: readonly LimitRow[];
  /** Names of limits that are not set. */
  readonly unset: readonly string[];
}

/** `usage` and `load` are null until they are loaded. Budgets of end users that are not set are left out. */
export function limitRows(
  tenant: TenantLimits,
  usage: Records["BudgetUsage"] | null,
  load: Records["TenantLoad"] | null,
  zone: string,
  nowMs: number,
): Limits {
  const unset: string[] = [];
  const unknown = formatCount(null);
  const resets = usage === null ? unknown : resetSentence(usage, zone, nowMs);
  const limit = (id: string, name: string, row: Omit<LimitRow, "id" | "name"> | null): readonly LimitRow[] => {
    if (row !== null) return [{ id, name, ...row }];
    unset.push(name);
    return [];
  };
  const budget = (
    id: "tokens" | "usd",
    of: "tokens" | "cost_usd",
    format: (amount: number | null | undefined) => string,
  ): readonly LimitRow[] => {
    const reserved = usage?.[`reserved_${of}`] ?? 0;
    const cap = usage?.[`budget_${of}`] ?? 0;
    const row = {
      share: cap > 0 ? ((usage?.[`used_${of}`] ?? 0) + reserved) / cap : null,
      allowed: format(usage?.[`budget_${of}`]),
      used: `${format(usage?.[`used_${of}`])}${reserved > 0 ? text("reserved", { amount: format(reserved) }) : ""}`,
      left: format(usage?.[`remaining_${of}`]),
      resets,
    };
    return limit(id, text(`limit_${id}`), usage?.[`budget_${of}`] === null ? null : row);
  };
  const ofEndUsers = (
    id: "userTokens" | "userUsd",
    cap: number | null,
    format: (amount: number) => string,
  ): readonly LimitRow[] => {
    if (cap === null) return [];
    const renewal = text(`every_${tenant.end_user_budget_period ?? "lifetime"}`);
    return limit(id, text(`limit_${id}`), {
      allowed: format(cap),
      used: unknown,
      share: null,
      left: text("leftOfUser"),
      resets: renewal,
    });
  };
  const rate = (id: RateField): readonly LimitRow[] => {
    const row = {
      allowed: formatCount(tenant[id]),
      used: unknown,
      share: null,
      left: text("leftInHeaders"),
      resets: text("refills"),
    };
    return limit(id, fieldText(id), tenant[id] === 0 ? null : row);
  };
  const { max_in_flight: slots } = tenant;
  // without a limit of its own, a tenant's requests wait for the slots that all tenants share
  const concurrency = {
    allowed: slots === null ? text("slotsShared") : text("slotsEach", { count: slots }),
    used: formatCount(load?.in_flight),
    share: load?.slots_left == null ? null : load.in_flight / Math.max(1, load.in_flight + load.slots_left),
    left: formatCount(load?.slots_left),
    resets: text("leftAsTheyEnd"),
  };
  const rows = [
    ...budget("tokens", "tokens", formatCount),
    ...budget("usd", "cost_usd", formatUsd),
    ...ofEndUsers("userTokens", tenant.end_user_budget_tokens, formatCount),
    ...ofEndUsers("userUsd", tenant.end_user_budget_cost_usd, formatUsd),
    ...RATE_FIELD_NAMES.flatMap(rate),
    ...limit("concurrency", text("limit_concurrency"), concurrency),
  ];
  return { rows, unset };
}

/** The limits per minute of a key, in words. */
export function keyRates(rates: Rates): string {
  const parts = RATE_FIELD_NAMES.filter((field) => rates[field] > 0).map(
    (field) => `${fieldText(field)}: ${formatCount(rates[field])}`,
  );
  return parts.length === 0 ? text("noLimit") : parts.join(", ");
}
