import { describe, expect, it } from "vitest";
import type { FairshareLive } from "../../../shared/schema/load.ts";
import {
  editsOf,
  type TypedWeights,
  type WeightOwner,
  weightChanges,
  weightOf,
  weightOwners,
  withAcknowledged,
  withTyped,
} from "./weight-edits.ts";

const GROUP: WeightOwner = { kind: "group", id: "research", name: "research", weight: 100 };
const TENANT: WeightOwner = { kind: "tenant", id: "t1", name: "acme", weight: 5 };
const typed = (...texts: readonly (readonly [WeightOwner, string])[]): TypedWeights =>
  texts.reduce<TypedWeights>((all, [owner, text]) => withTyped(all, owner, text), new Map());

describe("a typed weight", () => {
  it.each([
    ["1", 1],
    [" 1000000 ", 1_000_000],
    ["0", null],
    ["1000001", null],
    ["1e3", null],
    ["-5", null],
    ["", null],
    ["99999999999999999999", null],
  ])("%j is %j", (text, weight) => {
    expect(weightOf(text)).toBe(weight);
  });

  it("is a change until it equals the current weight", () => {
    const once = typed([GROUP, "300"], [TENANT, "x"]);
    expect(weightChanges(once, [GROUP, TENANT])).toEqual([{ ...GROUP, newWeight: 300, base: 100 }]);
    expect([...withTyped(once, GROUP, "100").keys()]).toEqual(["tenant/t1"]);
    expect(weightChanges(once, [{ ...GROUP, weight: 300 }])).toEqual([]);
    expect(weightChanges(once, [])).toEqual([]);
  });

  it("keeps its base weight until a newer one is acknowledged", () => {
    const changed = { ...GROUP, weight: 200 };
    const once = withTyped(typed([GROUP, "30"]), changed, "300");
    const changes = weightChanges(once, [changed]);
    expect(changes).toEqual([{ ...changed, newWeight: 300, base: 100 }]);
    expect(weightChanges(withAcknowledged(once, changes), [changed])).toEqual([
      { ...changed, newWeight: 300, base: 200 },
    ]);
  });

  it("of a group is separate from that of a tenant of the same name", () => {
    const same = { ...TENANT, id: GROUP.id };
    const edits = editsOf(weightChanges(typed([GROUP, "7"], [same, "8"]), [GROUP, same]));
    expect({ groupWeights: [...edits.groupWeights], tenantWeights: [...edits.tenantWeights] }).toEqual({
      groupWeights: [["research", 7]],
      tenantWeights: [["research", 8]],
    });
  });
});

describe("the owners of weights", () => {
  it("are all groups, with the weight that the cell has, and the tenants of the cell", () => {
    const live = {
      groups: [{ name: "b", weight: 20 }],
      tenants: [{ tenant_id: "t1", name: "acme", weight: 5 }],
    } as unknown as FairshareLive;
    const groups = [
      { name: "a", weight: 1 },
      { name: "b", weight: 2 },
    ];
    expect(weightOwners(live, groups).map(({ kind, name, weight }) => [kind, name, weight])).toEqual([
      ["group", "a", 1],
      ["group", "b", 20],
      ["tenant", "acme", 5],
    ]);
  });
});
