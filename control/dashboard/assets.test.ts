/** The console's files: handed out as they were built, and nothing else of the folder. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConsoleAssets } from "./assets.ts";

const MANIFEST = { build: "ABC", script: "main-1.js", style: "styles-1.css", preload: ["chunk-1.js"] };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "console-"));
  writeFileSync(join(folder, "main-1.js"), "import './chunk-1.js'");
  writeFileSync(join(folder, "chunk-1.js"), "export {}");
  writeFileSync(join(folder, "styles-1.css"), "a{}");
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(MANIFEST));
});
afterEach(() => rmSync(folder, { recursive: true }));

const built = (): ConsoleAssets => ConsoleAssets.read(folder) as ConsoleAssets;
const asking = (encoding?: string) =>
  new Request("http://console.test/", encoding === undefined ? {} : { headers: { "accept-encoding": encoding } });

describe("ConsoleAssets", () => {
  it("names its files in the page, scripts with the nonce", () => {
    const page = built().page("n0nce");
    expect(page).toContain('<script type="module" nonce="n0nce" src="/assets/main-1.js"></script>');
    expect(page).toContain('<link rel="modulepreload" nonce="n0nce" href="/assets/chunk-1.js">');
    expect(page).toContain('<link rel="stylesheet" href="/assets/styles-1.css">');
    expect(page.match(/<script/g)).toHaveLength(1);
  });

  it.each([
    [undefined, false],
    ["br, gzip", true],
    ["gzip;q=0", false],
    ["gzip;q=0.5", true],
    ["x-gzip-not", false],
  ])("answers accept-encoding %s", async (encoding, isGzip) => {
    const file = built().file("main-1.js", asking(encoding)) as Response;
    expect(file.headers.get("content-encoding")).toBe(isGzip ? "gzip" : null);
    expect(file.headers.get("cache-control")).toContain("immutable");
    const bytes = new Uint8Array(await file.arrayBuffer());
    expect(new TextDecoder().decode(isGzip ? gunzipSync(bytes) : bytes)).toBe("import './chunk-1.js'");
  });

  it.each(["manifest.json", "../package.json", "main-1.js.1.part", "", "main-2.js"])("has no file %s", (name) => {
    expect(built().file(name, asking())).toBeNull();
  });

  it.each([
    ["cut off", '{"build":'],
    ["of another kind", "[]"],
    ["with a script from elsewhere", JSON.stringify({ ...MANIFEST, script: "https://elsewhere.example/x.js" })],
    ["with a file that is not there", JSON.stringify({ ...MANIFEST, preload: ["chunk-2.js"] })],
    ["with markup for a build", JSON.stringify({ ...MANIFEST, build: '"><script>' })],
  ])("is not there with a manifest %s", (_, manifest) => {
    writeFileSync(join(folder, "manifest.json"), manifest);
    expect(ConsoleAssets.read(folder)).toBeNull();
  });

  it("is not there without a build", () => {
    expect(ConsoleAssets.read(join(folder, "nowhere"))).toBeNull();
  });
});
