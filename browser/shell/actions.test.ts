/** The search finds what people want to do by the words that they type, and only what they may do. */
import { expect, it } from "vitest";
import { paletteTexts } from "../messages/en/palette.ts";
import { texts } from "../messages/texts.ts";
import { actionsOf } from "./actions.ts";

const found = (typed: string, role: "admin" | "user" = "admin", isReadOnly = false): readonly string[] =>
  actionsOf({ role, isReadOnly }, typed, texts("palette", paletteTexts)).map(({ to }) => to);

it.each([
  ["budget", ["/reports", "/tenants"]],
  ["Maintenance", ["/models"]],
  ["limits", ["/tenants", "/fairshare"]],
  ["invite", ["/users"]],
])("%j leads an admin to %j", (typed, pages) => {
  expect(found(typed)).toEqual(pages);
});

it("asks for the model of what is done on a model's page, and finds who waits", () => {
  const of = (typed: string) => actionsOf({ role: "admin", isReadOnly: false }, typed, texts("palette", paletteTexts));
  expect(of("of a model").map(({ modelTab }) => modelTab)).toEqual(["health"]);
  expect(of("endpoint").map(({ modelTab }) => modelTab)).toEqual(["connection"]);
  expect(of("who waits").map(({ to }) => to)).toEqual(["/fairshare"]);
});

it("leads nobody to what the role cannot do, and to nothing before anything is typed", () => {
  expect({
    user: found("budget", "user"),
    besideThePage: found("limits", "user"),
    othersPages: found("invite", "user"),
    viewer: found("batch", "user", true),
    untyped: found(""),
  }).toEqual({ user: ["/portal/limits"], besideThePage: [], othersPages: [], viewer: [], untyped: [] });
});
