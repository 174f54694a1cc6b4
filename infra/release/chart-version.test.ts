import { expect, it } from "vitest";
import { chartVersion, versionPattern } from "./chart-version.ts";

it("reads the version of a chart, quoted or not", () => {
  expect(chartVersion("version: 1.2.3\nappVersion: 1.2.3\n")).toBe("1.2.3");
  expect(chartVersion('appVersion: "1.2.3-rc.1"\n')).toBe("1.2.3-rc.1");
  expect(() => chartVersion("version: 1.2.3\n")).toThrow("appVersion is missing");
});

it("finds a version as a whole only", () => {
  const text = "tag: 3.1.0\nchart: gateway-3.1.0\nother: 13.1.0, 3.1.01, 3.1.0.2\n";
  expect(text.replace(versionPattern("3.1.0"), "3.2.0")).toBe(
    "tag: 3.2.0\nchart: gateway-3.2.0\nother: 13.1.0, 3.1.01, 3.1.0.2\n",
  );
});
