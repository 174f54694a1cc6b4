/** The browser of the console's tests: a Chromium of this machine, without a window. */
import { existsSync } from "node:fs";
import { type BrowserServer, chromium } from "playwright-core";

const USUAL_PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The program. Throws one line that says how to install it. */
function chromiumPath(): string {
  const found = USUAL_PLACES.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(
    "the console's tests need Chromium: on Debian and Ubuntu `apt-get install chromium fonts-dejavu-core`, on macOS `brew install --cask chromium`",
  );
}

/** Starts the browser as a process that other processes use through its address. */
export async function launchChromium(): Promise<BrowserServer> {
  const isRoot = process.getuid?.() === 0;
  return await chromium.launchServer({
    executablePath: chromiumPath(),
    headless: true,
    // Chromium refuses to run as root with its sandbox; what is opened here is our own pages alone.
    chromiumSandbox: !isRoot,
    args: ["--force-color-profile=srgb", "--font-render-hinting=none"],
  });
}
