/** What an admin sets of a key as columns of its row (docs/rules/keys.md#writes): the same for a new key and for every change. */
import type { z } from "zod";
import type { patchKeySchema } from "../../shared/schema/api-key.ts";
import type { ApiKeyRow } from "../db/schema/tenancy.ts";
import { dropUndefined } from "../kernel/parse.ts";
import { changedBudget } from "../tenants/budget-columns.ts";

/** The columns that the fields set; null: there is no row yet. */
export function keyColumns(
  { expires_at, ...given }: z.output<typeof patchKeySchema>,
  before: ApiKeyRow | null,
  now: Date,
): Partial<ApiKeyRow> {
  return {
    ...dropUndefined(given),
    ...(expires_at === undefined ? {} : { expires_at: expires_at === null ? null : new Date(expires_at) }),
    ...changedBudget(given, before, now),
  } as Partial<ApiKeyRow>;
}
