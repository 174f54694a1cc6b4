import { expect, it } from "vitest";
import { chooseAccount } from "./account.ts";

const acme = { id: "a1", name: "Acme" };
const other = { id: "b2", name: "Other" };

it("takes the account that is named, or the only one", () => {
  expect(chooseAccount([acme], null)).toEqual({ account: acme, problem: null });
  expect(chooseAccount([acme, other], "b2")).toEqual({ account: other, problem: null });
});

it("does not choose among several, nor another than the one that is named", () => {
  expect(chooseAccount([acme, other], null).problem).toContain("Acme (a1), Other (b2): set CLOUDFLARE_ACCOUNT_ID");
  expect(chooseAccount([acme], "c3").problem).toContain("do not reach the account c3, but Acme (a1)");
  expect(chooseAccount([], "c3").problem).toBe("the credentials reach no account");
});
