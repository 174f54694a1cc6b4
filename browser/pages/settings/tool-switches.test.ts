import fc from "fast-check";
import { expect, it } from "vitest";
import { isOn, switched, toolGroups } from "./tool-switches.ts";

const tool = (name: string, path: string) => ({ name, path, title: name, method: "GET", writes: false, enabled: true });
const TOOLS = [
  tool("get_tenants", "/api/v1/tenants"),
  tool("get_models", "/api/v1/models"),
  tool("get_tenants_id", "/api/v1/tenants/{id}"),
];

it("about what has no page of its own are with the page that shows it", () => {
  const groups = toolGroups([...TOOLS, tool("put_managed", "/api/v1/managed"), tool("x", "/api/v1/replicas/{id}")], {});
  expect(groups.map(({ resource, tools }) => [resource, tools.length])).toEqual([
    ["tenants", 2],
    ["models", 1],
    ["deployments", 2],
  ]);
});

it("are grouped by resource", () => {
  expect(toolGroups(TOOLS, {}).map(({ resource, tools }) => [resource, tools.map(({ name }) => name)])).toEqual([
    ["tenants", ["get_tenants", "get_tenants_id"]],
    ["models", ["get_models"]],
  ]);
});

it("that are off and unknown come last, so that they can be switched on", () => {
  const groups = toolGroups(TOOLS, { gone: false, kept: true, get_models: false });
  expect(groups.at(-1)).toEqual({ resource: "", tools: [{ name: "gone", title: "gone", writes: false }] });
  expect(groups).toHaveLength(3);
});

it("are on unless they are switched off, whatever they are called", () => {
  for (const name of ["toString", "__proto__", "get_models"]) {
    expect(isOn({}, name)).toBe(true);
    const off = switched({}, [name], false);
    expect({ before: isOn(off, name), after: isOn(switched(off, [name], true), name) }).toEqual({
      before: false,
      after: true,
    });
  }
});

it("keep what is not switched", () => {
  const switches = fc.dictionary(fc.string(), fc.constant(false));
  fc.assert(
    fc.property(switches, fc.array(fc.string()), fc.boolean(), (before, names, isNowOn) => {
      const after = switched(before, names, isNowOn);
      for (const name of Object.keys(before)) if (!names.includes(name)) expect(isOn(after, name)).toBe(false);
      for (const name of names) expect(isOn(after, name)).toBe(isNowOn);
    }),
  );
});
