/** What rows of usage are grouped by, as columns of an answer. Rows are those of `usage-source.ts`. */
import type { DailyGroup } from "../../../shared/schema/usage-reads.ts";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { ENDPOINT_PARTS } from "./expressions.ts";

const GROUP_FIELDS = ["day", "tenant_id", "key_id", "model", "endpoint", "end_user", "tag_value"] as const;
type GroupField = (typeof GROUP_FIELDS)[number];

const GROUPED: Record<DailyGroup, readonly GroupField[]> = {
  day: ["day"],
  tenant: ["tenant_id"],
  key: ["key_id"],
  model: ["model"],
  key_model: ["key_id", "model"],
  endpoint: ["model", "endpoint"],
  end_user: ["end_user", "tenant_id"],
  tag: ["tag_value"],
};

const NOTHING: Partial<Record<GroupField, string>> = { tenant_id: `'${NIL_UUID}'`, key_id: `'${NIL_UUID}'` };

interface GroupSql {
  /** Every field of a group as a column; those that are not grouped by are empty. */
  readonly columns: string;
  /** The expressions that are grouped by. */
  readonly by: readonly string[];
}

interface GroupOptions {
  /** The expression of a row's day; absent: the answer has no days. */
  readonly day?: string;
  /** By day too. */
  readonly isDaily?: boolean;
  /** A condition under which a group is named. */
  readonly isShown?: string;
}

export function groupSql(group: DailyGroup, { day, isDaily = false, isShown }: GroupOptions = {}): GroupSql {
  const expressions: Record<GroupField, string> = {
    day: day ?? "''",
    tenant_id: "toString(u.tenant_id)",
    key_id: "toString(u.key_id)",
    model: group === "endpoint" ? `${ENDPOINT_PARTS}[1]` : "u.model",
    endpoint: `${ENDPOINT_PARTS}[2]`,
    end_user: "u.label",
    tag_value: "u.label",
  };
  const grouped = isDaily ? ["day", ...GROUPED[group]] : GROUPED[group];
  const expression = (name: GroupField): string => {
    if (!grouped.includes(name)) return NOTHING[name] ?? "''";
    if (isShown === undefined || name === "day") return expressions[name];
    return `if(${isShown}, ${expressions[name]}, ${NOTHING[name] ?? "''"})`;
  };
  return {
    columns: GROUP_FIELDS.filter((name) => name !== "day" || day !== undefined)
      .map((name) => `${expression(name)} AS ${name}`)
      .join(", "),
    by: GROUP_FIELDS.filter((name) => grouped.includes(name)).map(expression),
  };
}
