/** What counts of everything that somebody was given (docs/rules/users.md#roles). */
import { describe, expect, it } from "vitest";
import type { UserRow } from "../db/schema/users.ts";
import { personFrom, type TenantGrant } from "./person.ts";

const [ONE, TWO]: readonly TenantGrant[] = [
  { id: "1", name: "one", role: null },
  { id: "2", name: "two", role: "viewer" },
];
const user = (fields: Partial<UserRow>) => ({ role: "user", group_role: null, tenant_id: "1", ...fields }) as UserRow;
const seen = (fields: Partial<UserRow>, grants: readonly (TenantGrant | undefined)[], chosen: string | null = null) => {
  const given = grants.filter((grant) => grant !== undefined);
  const { role, tenant_id, tenants } = personFrom(user(fields), given, { id: "s", chosen });
  return { role, tenant_id, tenants: tenants.map((tenant) => `${tenant.name} ${tenant.role}`) };
};

describe("a person", () => {
  it.each<[Partial<UserRow>, string]>([
    [{ role: "admin" }, "admin"],
    [{ role: "auditor" }, "auditor"],
    [{ role: "user", group_role: "auditor" }, "auditor"],
    [{ role: "auditor", group_role: "admin" }, "admin"],
    [{ role: "admin", group_role: "auditor" }, "admin"],
  ])("of %j sees every tenant as %s, whatever single ones give", (fields, role) => {
    expect(seen(fields, [ONE, TWO], "2")).toEqual({ role, tenant_id: null, tenants: [] });
  });

  it("sees the first tenant until another is chosen, each with its role", () => {
    const tenants = ["one user", "two viewer"];
    expect(seen({}, [ONE, TWO])).toEqual({ role: "user", tenant_id: "1", tenants });
    expect(seen({}, [ONE, TWO], "2")).toEqual({ role: "viewer", tenant_id: "2", tenants });
    expect(seen({}, [ONE, TWO], "3")).toEqual({ role: "user", tenant_id: "1", tenants });
  });

  it("has the stronger of the roles that a tenant was given with", () => {
    const ways: readonly TenantGrant[] = [
      { id: "1", name: "one", role: "viewer" },
      { id: "2", name: "two", role: "viewer" },
      { id: "2", name: "two", role: "user" },
    ];
    expect(seen({ role: "viewer" }, ways).tenants).toEqual(["one viewer", "two user"]);
    expect(seen({ role: "user" }, ways).tenants).toEqual(["one user", "two user"]);
    expect(seen({ tenant_id: null }, ways).tenant_id).toBe("1");
  });

  it("without a tenant sees none", () => {
    expect(seen({ role: "viewer", tenant_id: null }, [])).toEqual({ role: "viewer", tenant_id: null, tenants: [] });
  });
});
