import fc from "fast-check";
import { expect, it } from "vitest";
import { unknownText, unknownVariables } from "./unknown-variables.ts";
import { VARIABLE_NAMES } from "./variable-names.ts";

it.each([
  ["GATEWAY_DATABSE_URL", "GATEWAY_DATABASE_URL"],
  ["GATEWAY_ADMIN_TOKN", "GATEWAY_ADMIN_TOKEN"],
  ["GATEWAY_ADMIN_TOKEN_FILE", "GATEWAY_ADMIN_TOKEN"],
  ["GATEWAY_MAX_BODY_BYTE", "GATEWAY_MAX_BODY_BYTES"],
  ["GATEWAY_STRICT", "GATEWAY_STRICT_ENV"],
  ["DASHBOARD_PASSWROD", "DASHBOARD_PASSWORD"],
  ["DASHBOARD_PUBLIC", "DASHBOARD_PUBLIC_URL"],
  ["GATEWAY_LISTEN", "GATEWAY_ADMIN_LISTEN or GATEWAY_PROXY_LISTEN"],
])("%s is unknown and was meant to be %s", (variable, nearest) => {
  expect(unknownVariables({ [variable]: "x", GATEWAY_CELL: "local" })).toEqual([{ variable, nearest }]);
});

it("knows the variables of all parts, and has nothing to say of names that are not the gateway's", () => {
  const others = ["PATH", "MY_GATEWAY_X", "GATEWAYS_X", "gateway_x", "GATEWAY_API_KEY", "GATEWAY_VERSION"];
  const all = Object.fromEntries([...VARIABLE_NAMES, ...others].map((name) => [name, "x"]));
  expect(unknownVariables(all)).toEqual([]);
  expect(unknownVariables({ GATEWAY_X: " ", GATEWAY_Y: undefined, GATEWAY_Z: {} })).toEqual([]);
});

it("names a known variable and never a value", () => {
  const names = fc.stringMatching(/^(GATEWAY|DASHBOARD)_[A-Z_]{1,20}[0-9]$/);
  fc.assert(
    fc.property(fc.dictionary(names, fc.constant("planted-value"), { minKeys: 1 }), (variables) => {
      const unknown = unknownVariables(variables);
      expect(unknown.map(({ variable }) => variable)).toEqual(Object.keys(variables));
      for (const name of unknown.flatMap(({ nearest }) => nearest?.split(" or ") ?? []))
        expect(VARIABLE_NAMES).toContain(name);
      expect(JSON.stringify(unknown) + unknownText(unknown)).not.toContain("planted");
    }),
  );
});
