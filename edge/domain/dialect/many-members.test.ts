/** An object with more members than any honest one is not translated: each would be looked at (docs/rules/dialects.md#what-is-lost). */
import { expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { restOf } from "./lost-fields.ts";

const NONE: ReadonlySet<string> = new Set();
const withMembers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 1]));

function refusalOf(count: number, at: string): unknown {
  try {
    return Object.keys(restOf("anthropic", withMembers(count), NONE, { at })).length;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.body.error;
  }
}

it("refuses an object of more than 1,024 members by its place", () => {
  expect({ most: refusalOf(1_024, ""), more: refusalOf(1_025, ""), inside: refusalOf(1_025, "messages.0.") }).toEqual({
    most: 1_024,
    more: expect.objectContaining({ code: "untranslatable_field", param: "body" }),
    inside: expect.objectContaining({ code: "untranslatable_field", param: "messages.0" }),
  });
});
