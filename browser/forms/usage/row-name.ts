/** Rows of usage in words. Pure. */
import type { Records } from "../../data/api.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatDay } from "../../time/instants.ts";

const text = texts("usage", usageTexts);

/** What a row of a group is about; what was deleted has no name any more, and is called by its id. */
export function rowName(
  {
    day,
    tenant_id,
    tenant_name,
    key_id,
    key_name,
    key_prefix,
    model,
  }: Pick<Records["DailyUsage"], "day" | "tenant_id" | "tenant_name" | "key_id" | "key_name" | "key_prefix" | "model">,
  by: "day" | "tenant" | "key" | "model",
): string {
  switch (by) {
    case "day":
      return formatDay(day);
    case "tenant":
      return tenant_name === "" ? text("deleted", { id: tenant_id.slice(0, 8) }) : tenant_name;
    case "key":
      if (key_prefix === "") return text("deleted", { id: key_id.slice(0, 8) });
      return key_name === "" ? `${key_prefix}…` : key_name;
    case "model":
      return model === "" ? text("noModel") : model;
    default:
      return by satisfies never;
  }
}
