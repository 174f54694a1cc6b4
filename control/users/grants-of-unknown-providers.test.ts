/** Rows for groups of a provider that can never name a group (docs/rules/users.md#groups). */
import { expect, it, onTestFinished } from "vitest";
import type { GroupGrant } from "../../shared/schema/group-grant.ts";
import { startControl } from "../../test/harness/control.ts";

const row = (provider: string) => ({ provider, group_name: "ops", role: "auditor" });

it.each([
  ["a provider without groups", ["corp"], "crop", 1],
  ["a provider with groups", ["corp"], "corp", 0],
  ["any provider while the console runs elsewhere", undefined, "crop", 0],
])("of %s are stored, and warned of if they give nothing", async (_, groupProviders, provider, count) => {
  const control = await startControl(groupProviders === undefined ? {} : { groupProviders });
  onTestFinished(async () => await control.close());
  const { warnings = [], ...made } = await control.must<GroupGrant>("POST", "/group-grants", row(provider));
  const warning = `no provider '${provider}' of OIDC_PROVIDERS has groups_claim, so this row gives nothing`;
  expect({ warnings, listed: await control.must("GET", "/group-grants") }).toEqual({
    warnings: count === 0 ? [] : [warning],
    listed: [made],
  });
});
