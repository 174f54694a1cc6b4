/** Where a session began can be distinguished, and no more than that (docs/rules/console.md#sessions). */
import { expect, it } from "vitest";
import { shortAddress, shortAgent } from "./session-origin.ts";

it.each([
  [null, ""],
  ["203.0.113.77", "203.0.113.*"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2:*"],
  ["2001:db8::5", "2001:db8:0:0:*"],
  ["::1", "0:0:0:0:*"],
])("the address %s is shown as its network: %s", (address, shown) => {
  expect(shortAddress(address)).toBe(shown);
});

const WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)";

it.each([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox 140, Linux"],
  [`Mozilla/5.0 (Windows NT 10.0) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.1`, "Edge 141, Windows"],
  [`Mozilla/5.0 (Linux; Android 15) ${WEBKIT} Chrome/141.0.0.0 Mobile Safari/537.36`, "Chrome 141, Android"],
  [
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15",
    "Safari 19, macOS",
  ],
  ["curl/8.5.0\u0007\n", "curl/8.5.0"],
  ["x".repeat(100), "x".repeat(60)],
  [undefined, ""],
])("the agent %j is shown in short", (agent, shown) => {
  expect(shortAgent(agent)).toBe(shown);
});
