import { expect, it } from "vitest";
import { chargedTokens } from "./permit-end.ts";

it.each([
  [200, 12],
  [499, 12],
  [400, 0],
  [502, 0],
  [503, 0],
])("charges a row of status %i with 12 tokens for %i", (status, tokens) => {
  expect(chargedTokens({ status_code: status, total_tokens: 12 })).toBe(tokens);
});
