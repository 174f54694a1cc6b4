/**
 * The images: each has the packages that its scripts import, and its SBOM lists only packages of the lock file.
 *
 * @module-tag check
 */
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { IMAGE_CONTENTS, IMAGES, packageFolders } from "./images.ts";
import { readLock, readProject } from "./read-project.ts";
import { sbomOf } from "./sbom.ts";

const ROOT = join(import.meta.dirname, "../..");
const lock = readLock();

/** The packages that a script and its modules import, and their rooms. */
async function importsOf(entries: readonly string[]) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...entries],
    bundle: true,
    write: false,
    metafile: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "es2024",
    outdir: "out",
    logLevel: "silent",
  });
  const inputs = Object.entries(metafile.inputs);
  const packages = inputs.flatMap(([, { imports }]) =>
    imports
      .filter(({ external, path }) => external === true && !path.startsWith("node:"))
      .map(({ path }) => path.split("/", path.startsWith("@") ? 2 : 1).join("/")),
  );
  return { packages: new Set(packages), rooms: new Set(inputs.map(([path]) => path.split("/")[0])) };
}

describe("an image", () => {
  it.each([
    // the runtime's binary and the pages of the documentation are found by their names
    ["control", ["control/main.ts", "infra/local/quick-imports.mjs", "infra/containers/start.ts"], ["swagger-ui-dist"]],
    ["edge", ["infra/local/edge-main.ts", "edge/env.ts", "infra/containers/start.ts"], ["workerd"]],
  ] as const)("%s has the packages and files that its scripts import", async (name, entries, byName) => {
    const { packages, rooms } = await importsOf(entries);
    // the bundler is loaded only where the Worker was not bundled before
    if (name === "edge") packages.delete("esbuild");
    const { packages: listed, files } = IMAGE_CONTENTS[name];
    expect([...packages, ...byName].sort()).toEqual([...(listed ?? [])].sort());
    expect([...rooms].filter((room) => !files.includes(room ?? ""))).toEqual([]);
  });

  it("has what its packages need, and nothing of development", () => {
    const folders = packageFolders(lock, "edge");
    expect(folders).toEqual(
      expect.arrayContaining(["node_modules/workerd", "node_modules/@cloudflare/workerd-linux-64", "node_modules/zod"]),
    );
    for (const name of IMAGES)
      expect(packageFolders(lock, name).filter((path) => /\/(vitest|typescript|node-linux-.*)$/.test(path))).toEqual(
        [],
      );
    expect(packageFolders(lock, "control").filter((path) => /chdb|workerd|react|esbuild/.test(path))).toEqual([]);
  });

  it("is not made when the lock has no package of that name", () => {
    expect(() => packageFolders({ packages: {} }, "edge")).toThrow(/^package-lock.json has no ioredis/);
  });
});

describe("the bill of materials", () => {
  const folders = packageFolders(lock);
  const sbom = sbomOf(lock, readProject(), folders);

  it("names every package that the gateway depends on, with version, license and hash", () => {
    const names = sbom.components.map(({ name }) => name);
    expect(Object.keys(lock.packages[""]?.dependencies ?? {}).filter((name) => !names.includes(name))).toEqual([]);
    const zod = lock.packages["node_modules/zod"];
    expect(sbom.components.find(({ name }) => name === "zod")).toMatchObject({
      "bom-ref": `pkg:npm/zod@${zod?.version}`,
      licenses: [{ license: { id: "MIT" } }],
      hashes: [{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
    });
    expect(sbom.components.find(({ name }) => name === "@hono/node-server")?.purl).toMatch(/^pkg:npm\/%40hono\/node-/);
  });

  it("has each package once, and no dependency that it does not list", () => {
    const refs = sbom.components.map((component) => component["bom-ref"]);
    expect(new Set(refs).size).toBe(refs.length);
    const named = sbom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    const whole = sbom.metadata.component["bom-ref"];
    expect(named.filter((ref) => ref !== whole && !refs.includes(ref))).toEqual([]);
    expect(whole).toBe(`pkg:npm/inference-gateway@${readProject().version}`);
  });

  it("is that of an image when it gets the packages of the image", () => {
    const edge = sbomOf(lock, readProject(), packageFolders(lock, "edge"));
    expect(edge.dependencies[0]?.dependsOn.map((ref) => ref.replace(/@[^@]*$/, ""))).toEqual(
      expect.arrayContaining(["pkg:npm/ioredis", "pkg:npm/workerd", "pkg:npm/zod"]),
    );
    expect(edge.components.some(({ name }) => name === "hono")).toBe(false);
  });
});
