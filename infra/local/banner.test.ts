import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { bannerLines, shellWord } from "./banner.ts";

const stack = {
  proxyUrl: "http://127.0.0.1:8080",
  adminUrl: "http://127.0.0.1:9180",
  metricsUrl: "http://127.0.0.1:9091",
  adminToken: "admin-secret",
  adminTokenMade: true,
  demo: { apiKey: "sk-1", model: "demo", made: true },
};
const paths = { adminToken: ".data/admin-token", demoKey: ".data/demo-key" };

it("shows secrets only on the start that made them", () => {
  const first = bannerLines(stack, paths).join("\n");
  expect(first).toContain("admin-secret");
  expect(first).toContain('-H "authorization: Bearer sk-1"');
  const later = bannerLines({ ...stack, adminTokenMade: false, demo: { ...stack.demo, made: false } }, paths).join(
    "\n",
  );
  expect(later).not.toMatch(/admin-secret|sk-1/);
  expect(later).toContain("Bearer $(cat .data/demo-key)");
  expect(bannerLines({ ...stack, demo: null }, paths).join("\n")).not.toContain("curl");
});

it("quotes a path so that a shell reads it back", () => {
  for (const path of ["/a b/c", "it's", "$HOME/`x`", "plain/path-1.txt"]) {
    expect(execFileSync("sh", ["-c", `printf %s ${shellWord(path)}`], { encoding: "utf8" })).toBe(path);
  }
});
