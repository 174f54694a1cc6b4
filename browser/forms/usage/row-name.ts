/** Rows of usage in words. Pure. */
import type { Records } from "../../data/api.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatDay } from "../../time/instants.ts";

const text = texts("usage", usageTexts);

/** What of a row says which group it is of. `endpoint`: absent for a tenant's users. */
export type GroupOfRow = Pick<
  Records["DailyUsage"],
  "tenant_id" | "tenant_name" | "key_id" | "key_name" | "key_prefix" | "model" | "end_user" | "tag_value"
> & { readonly day?: string; readonly endpoint?: string };

type RowGroup = "day" | "tenant" | "key" | "model" | "endpoint" | "end_user" | "tag";

/** What a row of a group is about; what was deleted has no name any more, and is called by its id. */
export function rowName(row: GroupOfRow, by: RowGroup): string {
  const { tenant_id, tenant_name, key_id, key_name, key_prefix, model } = row;
  switch (by) {
    case "day":
      return formatDay(row.day ?? "");
    case "tenant":
      return tenant_name === "" ? text("deleted", { id: tenant_id.slice(0, 8) }) : tenant_name;
    case "key":
      if (key_prefix === "") return text("deleted", { id: key_id.slice(0, 8) });
      return key_name === "" ? `${key_prefix}…` : key_name;
    case "model":
      return model === "" ? text("noModel") : model;
    case "endpoint":
      if (model === "") return text("noCall");
      return `${model}, ${row.endpoint === undefined || row.endpoint === "" ? text("ownAddress") : row.endpoint}`;
    case "end_user":
      return row.end_user === "" ? text("noEndUser") : row.end_user;
    case "tag":
      return row.tag_value === "" ? text("noTag") : row.tag_value;
    default:
      return by satisfies never;
  }
}
