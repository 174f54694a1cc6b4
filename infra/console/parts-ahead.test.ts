/** @module-tag check */
import { beforeAll, describe, expect, it } from "vitest";
import { bundleConsole, type ConsoleBundle, type ConsoleFile, firstLoad } from "./bundle.ts";
import { askingAhead } from "./parts-ahead.ts";

describe("the import of a part", () => {
  const needs: Readonly<Record<string, readonly string[]>> = { "A-1.js": ["B2.js", "C3.js"] };
  const ahead = (script: string): string => askingAhead(script, (part) => needs[part] ?? []);

  it("asks first for what the part needs", () => {
    expect(ahead('let p=async()=>(await import("./A-1.js")).Page;')).toBe(
      'let p=async()=>(await (partsAhead("B2.js","C3.js"),import("./A-1.js"))).Page;',
    );
  });

  it("is left as it is where the part needs nothing, and so is every other import", () => {
    const others = 'import{a}from"./A-1.js";import("./D4.js");import("../A-1.js");importA("./A-1.js");';
    expect(ahead(others)).toBe(others);
  });
});

describe("the console's bundle", () => {
  let bundle: ConsoleBundle;
  beforeAll(async () => {
    bundle = await bundleConsole();
  });

  it("asks ahead for all that a page needs in addition to the first load, and for nothing twice", () => {
    const { files, manifest } = bundle;
    const first = firstLoad(files, manifest.script, ...manifest.preload);
    const text = files
      .filter(({ name }) => first.includes(name))
      .map(textOf)
      .join("");
    const pages = files.filter(({ entry }) => /^browser\/pages\/.*-page\.tsx$/.test(entry ?? ""));
    expect(pages.length).toBeGreaterThan(20);
    const asked = pages.map(({ name }) => {
      const call = new RegExp(`\\(partsAhead\\(([^)]*)\\),import\\("\\./${name}"\\)\\)`).exec(text);
      return JSON.parse(`[${call?.[1] ?? ""}]`) as unknown;
    });
    const needed = pages.map(({ name }) =>
      firstLoad(files, name).filter((one) => one !== name && !first.includes(one)),
    );
    expect(asked).toEqual(needed);
  });

  it("tells the schema library to make no code of texts before any file loads that library", () => {
    const { files, manifest } = bundle;
    const first = firstLoad(files, manifest.script, ...manifest.preload);
    const withText = (text: string) => files.filter((file) => textOf(file).includes(text));
    const configuring = withText("__zod_globalConfig:{jitless:");
    const library = withText("globalThis).__zod_globalConfig");
    expect({
      configuring: configuring.map(({ entry }) => entry),
      libraries: library.length,
      inFirstLoad: library.filter(({ name }) => first.includes(name)).map(({ name }) => name),
    }).toEqual({ configuring: ["browser/shell/start.tsx"], libraries: 1, inFirstLoad: [] });
  });
});

function textOf({ contents }: ConsoleFile): string {
  return new TextDecoder().decode(contents);
}
