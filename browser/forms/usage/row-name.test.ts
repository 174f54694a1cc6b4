/** Rows of usage are called the same on every page. */
import { expect, it } from "vitest";
import { rowName } from "./row-name.ts";

const row = {
  day: "2026-11-23",
  tenant_id: "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e",
  tenant_name: "Acme",
  key_id: "0c7f8f7e-4a39-4c8e-8f3b-3d8f0d5a6b11",
  key_name: "web",
  key_prefix: "sk-abc",
  model: "llama",
  endpoint: "gpu-1",
  end_user: "u-1",
  tag_value: "search",
};

it.each([
  ["model", {}, "llama"],
  ["model", { model: "" }, "No model"],
  ["key", {}, "web"],
  ["key", { key_name: "" }, "sk-abc…"],
  ["key", { key_name: "", key_prefix: "" }, "0c7f8f7e (deleted)"],
  ["tenant", {}, "Acme"],
  ["tenant", { tenant_name: "" }, "7a1f4c1e (deleted)"],
  ["endpoint", {}, "llama, gpu-1"],
  ["endpoint", { endpoint: "" }, "llama, own address"],
  ["endpoint", { model: "", endpoint: "" }, "No upstream call"],
  ["end_user", {}, "u-1"],
  ["end_user", { end_user: "" }, "No end user"],
  ["tag", {}, "search"],
  ["tag", { tag_value: "" }, "Without the tag"],
] as const)("by %s, with %j", (by, change, name) => {
  expect(rowName({ ...row, ...change }, by)).toBe(name);
});
