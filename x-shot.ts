import { chromium } from "playwright-core";
const b = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const [, , ...paths] = process.argv;
const url = "http://127.0.0.1:21783";
for (const scheme of ["light", "dark"] as const) for (const width of [1280, 390]) {
  if (scheme === "dark" && process.env.LIGHT) continue;
  if (width === 390 && process.env.WIDE) continue;
  const ctx = await b.newContext({ baseURL: url, viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: "reduce" });
  await ctx.request.post("/auth/local", { data: { email: "admin@example.org", password: "correct-horse" }, headers: { origin: url } });
  const p = await ctx.newPage();
  p.on("console", (m) => m.type() === "error" && console.log(m.text(), m.location().url));
  p.on("pageerror", (e) => console.log("exc", e.message));
  for (const [i, path] of paths.entries()) {
    await p.goto(path);
    await p.waitForTimeout(2500);
    const wide = await p.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) console.log("sideways", path, width, wide);
    await p.screenshot({ path: `/tmp/w/hd-${i}-${scheme}-${width}.png`, fullPage: process.env.FULL === "1" });
  }
  await ctx.close();
}
await b.close();
