/** No package with unknown content: in the lock of this project, and in the tool's result for another lock. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isRefused, refusedFor, UNVERIFIED, verifyLock } from "./lock-integrity.mjs";
import type { Lock, LockedPackage } from "./lock-state.mjs";

const ours = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")) as Lock;
const entries = (lock: Lock): (readonly [string, LockedPackage])[] =>
  Object.entries(lock.packages ?? {}).filter(([path, entry]) => path !== "" && !entry.link);

describe("package-lock.json", () => {
  it("has for every package a digest that cannot be forged, or installs the package nowhere", () => {
    const unknown = entries(ours).filter(
      ([, entry]) => !/^sha(512|384|256)-/.test(entry.integrity ?? "") && !isRefused(entry) && entry.inBundle !== true,
    );
    expect(unknown.map(([path]) => path)).toEqual([]);
  });

  it("refuses only optional packages, and none for Linux on our processors", () => {
    const refused = entries(ours).filter(([, entry]) => isRefused(entry));
    expect(refused.filter(([, entry]) => entry.optional !== true || entry.resolved !== undefined)).toEqual([]);
    expect(refusedFor(ours, { os: "linux", cpu: "x64", libc: "glibc" })).toEqual([]);
  });
});

describe("the integrity of a lock", () => {
  const lock: Lock = {
    packages: {
      "": { version: "1.0.0" },
      "node_modules/known": { version: "1.0.0", integrity: "sha512-known" },
      "node_modules/a/node_modules/@tool/linux-x64": { version: "2.0.0", optional: true, os: ["linux"] },
      "node_modules/@tool/darwin-arm64": { version: "2.0.0", optional: true, os: ["darwin"], cpu: ["arm64"] },
      "node_modules/alias": { name: "real", version: "3.0.0", optional: true, os: [UNVERIFIED] },
    },
  };

  it("is the registry's, even for a package refused before; unknown packages are refused", () => {
    const asked: string[] = [];
    const {
      lock: verified,
      found,
      refused,
    } = verifyLock(lock, (name, version) => {
      asked.push(`${name}@${version}`);
      return name.endsWith("darwin-arm64") ? undefined : { integrity: `sha512-${name}`, resolved: "u", os: ["linux"] };
    });
    expect(asked).toEqual(["@tool/linux-x64@2.0.0", "@tool/darwin-arm64@2.0.0", "real@3.0.0"]);
    expect(verified.packages?.["node_modules/alias"]).toEqual({
      name: "real",
      version: "3.0.0",
      optional: true,
      integrity: "sha512-real",
      resolved: "u",
      os: ["linux"],
    });
    expect(verified.packages?.["node_modules/@tool/darwin-arm64"]).toEqual({
      version: "2.0.0",
      optional: true,
      os: [UNVERIFIED],
      cpu: ["arm64"],
    });
    expect({ foundCount: found.length, refused }).toEqual({
      foundCount: 2,
      refused: ["node_modules/@tool/darwin-arm64@2.0.0"],
    });
    expect(refusedFor(verified, { os: "darwin", cpu: "arm64", libc: "glibc" })).toEqual(["@tool/darwin-arm64"]);
    expect(refusedFor(verified, { os: "darwin", cpu: "x64", libc: "glibc" })).toEqual([]);
    expect(verifyLock(verified, () => undefined).lock).toEqual(verified);
  });

  it("is never missing for a package that is needed", () => {
    const needed: Lock = { packages: { "node_modules/needed": { version: "1.0.0" } } };
    expect(() => verifyLock(needed, () => undefined)).toThrow("node_modules/needed@1.0.0 has no integrity");
  });

  it("keeps npm from requesting a refused package", { tags: ["check"] }, async () => {
    const asked: string[] = [];
    const registry = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(404).end("{}");
    }).listen(0, "127.0.0.1");
    await once(registry, "listening");
    const folder = mkdtempSync(join(tmpdir(), "lock-integrity-"));
    onTestFinished(() => {
      registry.close();
      rmSync(folder, { recursive: true });
    });
    const project = { name: "p", version: "1.0.0", optionalDependencies: { thing: "1.0.0" } };
    const ci = async (name: string, thing: LockedPackage): Promise<number> => {
      const at = join(folder, name);
      mkdirSync(at);
      writeFileSync(join(at, "package.json"), JSON.stringify(project));
      const packages = { "": project, "node_modules/thing": thing };
      writeFileSync(
        join(at, "package-lock.json"),
        JSON.stringify({ ...project, lockfileVersion: 3, requires: true, packages }),
      );
      const { port } = registry.address() as AddressInfo;
      const to = ["--registry", `http://127.0.0.1:${port}/`, "--cache", join(folder, "cache")];
      const child = spawn("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", ...to], {
        cwd: at,
        stdio: "ignore",
      });
      const [code] = (await once(child, "exit")) as [number];
      return code;
    };
    const open = { version: "1.0.0", optional: true, os: [process.platform] };
    expect({ code: await ci("open", open), wasAsked: asked.length > 0 }).toEqual({ code: 0, wasAsked: true });
    asked.length = 0;
    const refused = verifyLock({ packages: { "node_modules/thing": open } }, () => undefined).lock;
    expect(await ci("refused", refused.packages?.["node_modules/thing"] ?? {})).toBe(0);
    expect(asked).toEqual([]);
  });
});
