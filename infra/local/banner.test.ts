import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { bannerLines, shellWord } from "./banner.ts";

const stack = {
  proxyUrl: "http://127.0.0.1:8080",
  adminUrl: "http://127.0.0.1:9180",
  metricsUrl: "http://127.0.0.1:9091",
  adminToken: "admin-secret",
  adminTokenMade: true,
  dashboard: { url: "http://127.0.0.1:3000", email: "a@b.example", password: "pass-word", passwordMade: true },
  demo: { apiKey: "sk-1", model: "demo", made: true },
};
const paths = { adminToken: ".data/admin-token", consolePassword: ".data/console-password", demoKey: ".data/demo-key" };

it("shows secrets only on the start that made them", () => {
  const first = bannerLines(stack, paths).join("\n");
  for (const part of ["admin-secret", "http://127.0.0.1:3000", "a@b.example", "pass-word"])
    expect(first).toContain(part);
  expect(first).toContain('-H "authorization: Bearer sk-1"');
  const again = {
    ...stack,
    adminTokenMade: false,
    dashboard: { ...stack.dashboard, passwordMade: false },
    demo: { ...stack.demo, made: false },
  };
  const later = bannerLines(again, paths).join("\n");
  expect(later).not.toMatch(/admin-secret|sk-1|pass-word/);
  expect(later).toContain("in .data/console-password");
  expect(later).toContain("Bearer $(cat .data/demo-key)");
  const without = bannerLines({ ...stack, dashboard: null, demo: null }, paths).join("\n");
  expect(without).not.toMatch(/curl|console/);
});

it("quotes a path so that a shell reads it back", () => {
  for (const path of ["/a b/c", "it's", "$HOME/`x`", "plain/path-1.txt"]) {
    expect(execFileSync("sh", ["-c", `printf %s ${shellWord(path)}`], { encoding: "utf8" })).toBe(path);
  }
});
