/** Nobody takes the own access away, or the last admin's, without having been told. */
import { expect, it } from "vitest";
import { type Access, accessWarnings } from "./user-warnings.ts";

const ADMIN: Access = { status: "active", role: "admin", tenant_id: null };
const MEMBER: Access = { status: "active", role: "user", tenant_id: "t" };
const NOBODY: Access = { status: "pending", role: "user", tenant_id: null };

it.each([
  ["nothing of a change that takes nothing", { before: MEMBER, after: MEMBER, isSelf: false, otherAdmins: 0 }, []],
  ["of the own account", { before: ADMIN, after: MEMBER, isSelf: true, otherAdmins: 3 }, ["self"]],
  [
    "of the last admin, demoted or disabled",
    { before: ADMIN, after: { ...ADMIN, status: "disabled" }, isSelf: true, otherAdmins: 0 },
    ["self", "last_admin"],
  ],
  [
    "not of the last one while that is not known",
    { before: ADMIN, after: MEMBER, isSelf: false, otherAdmins: null },
    [],
  ],
  [
    "of a new auditor, who sees all tenants",
    { before: MEMBER, after: { ...ADMIN, role: "auditor" }, isSelf: false, otherAdmins: 1 },
    ["new_auditor"],
  ],
  [
    "not of somebody who has only further tenants",
    {
      before: NOBODY,
      after: { ...MEMBER, role: "viewer", tenant_id: null, more_tenants: ["t"] },
      isSelf: false,
      otherAdmins: 1,
    },
    [],
  ],
  ["of a new admin", { before: NOBODY, after: ADMIN, isSelf: false, otherAdmins: 1 }, ["new_admin"]],
  [
    "of a user without a tenant",
    { before: NOBODY, after: { ...MEMBER, tenant_id: null }, isSelf: false, otherAdmins: 1 },
    ["no_tenant"],
  ],
])("warns %s", (_, change, warnings) => {
  expect(accessWarnings(change)).toEqual(warnings);
});
