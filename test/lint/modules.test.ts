/** Every form of import and export that TypeScript has is read correctly. */
import { describe, expect, it } from "vitest";
import { EVERY_NAME, readModule } from "./modules.ts";

const importsOf = (text: string, path = "edge/a/file.ts") => readModule(path, text).imports;
const exportsOf = (text: string) => readModule("edge/a/file.ts", text).exports;

describe("imports", () => {
  it.each([
    ['import { x, type Y as Z } from "../b/c.ts";', ["x", "Y"]],
    ['import type { X } from "../b/c.ts";', ["X"]],
    ['import one, { two } from "../b/c.ts";', ["default", "two"]],
    ['import * as all from "../b/c.ts";', [EVERY_NAME]],
    ['import "../b/c.ts";', []],
    ['export { x as y } from "../b/c.ts";', ["x"]],
    ['export * from "../b/c.ts";', [EVERY_NAME]],
    ['export * as all from "../b/c.ts";', [EVERY_NAME]],
    ['const late = await import("../b/c.ts");', [EVERY_NAME]],
    ['let value: import("../b/c.ts").X;', ["X"]],
    ['type All = typeof import("../b/c.ts");', [EVERY_NAME]],
  ])("%s", (text, names) => {
    expect(importsOf(text)).toEqual([{ path: "edge/b/c.ts", names }]);
  });

  it("are read from JSDoc too", () => {
    const text = '/** @typedef {import("./lock.mjs").Lock} Lock */';
    expect(importsOf(text, "infra/file.mjs")).toEqual([{ path: "infra/lock.mjs", names: ["Lock"] }]);
  });

  it("of packages do not count, nor does text that looks like one", () => {
    expect(
      importsOf('import { z } from "zod"; const text = \'import { x } from "./c.ts"\'; // import "./d.ts"'),
    ).toEqual([]);
  });
});

describe("exports", () => {
  it.each([
    ["export const a = 1, b = 2;", ["a", "b"]],
    ["export const { a, b: [c] } = d;", ["a", "c"]],
    ["export async function a() {}", ["a"]],
    ["export abstract class A {}", ["A"]],
    ["export interface A {}\nexport type B = A;", ["A", "B"]],
    ["export const A = 1;\nexport type A = number;", ["A"]],
    ["export default class A {}", ["default"]],
    ["export default { a: 1 };", ["default"]],
    ["const a = 1;\nexport { a as b };", ["b"]],
    ['import { a } from "./b.ts";', []],
  ])("%s", (text, names) => {
    expect(exportsOf(text).map(({ name }) => name)).toEqual(names);
  });

  it.each(['import { a } from "./b.ts";\nexport { a as c };', 'export { a as c } from "./b.ts";'])(
    "that pass a name on state where it comes from: %s",
    (text) => {
      expect(exportsOf(text)).toMatchObject([{ name: "c", from: { path: "edge/a/b.ts", name: "a" } }]);
    },
  );

  it.each([
    ["export const a = 1;", false],
    ["export const a = 1;\nconst b = { a: 2 }; b.a;", false],
    ["export const a = 1;\nconst b = a;", true],
    ["export const a = 1;\nconst b = { a };", true],
    ["export interface a {}\nlet b: a;", true],
    ["export const a = 1;\nexport { a as b };", false],
  ])("know whether their module uses them: %s", (text, usedInside) => {
    expect(exportsOf(text)[0]).toMatchObject({ name: "a", usedInside });
  });
});
