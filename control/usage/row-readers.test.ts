/** Who sees which field of a usage row is told by its description (shared/usage/usage-row.ts). */
import { expect, it } from "vitest";
import { USAGE_ROW_FIELDS } from "../../shared/usage/usage-row.ts";
import { LIVE_RULES } from "../dashboard/live/live-rules.ts";

it.each(["/usage/logs", "/usage/logs/{request_id}"])("%s shows users what the description says", (path) => {
  const { fields = [] } = LIVE_RULES.find((rule) => rule.method === "GET" && rule.path === path) ?? {};
  const shown = fields.filter((name) => Object.hasOwn(USAGE_ROW_FIELDS, name));
  const described = Object.entries(USAGE_ROW_FIELDS).flatMap(([name, { user }]) => (user ? [name] : []));
  expect(shown.toSorted()).toEqual(described.toSorted());
});
