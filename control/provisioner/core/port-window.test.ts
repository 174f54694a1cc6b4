import { expect, it } from "vitest";
import { PortWindows } from "./port-window.ts";

it("gives disjoint windows while there are any, whatever the model", () => {
  const windows = new PortWindows(8);
  windows.take("a", 8000);
  expect(windows.lowestFree("b", 8000)).toBe(8008);
  expect(windows.lowestFree("b", 8004)).toBe(8012);
  windows.take("b", 8008);
  expect(windows.lowestFree("a", 8000)).toBe(8016);
});

it("then gives one that the model itself does not use, then none", () => {
  const windows = new PortWindows(8);
  windows.take("a", 65_530);
  expect(windows.lowestFree("b", 65_530)).toBe(65_530);
  windows.take("b", 65_530);
  expect(windows.lowestFree("b", 65_530)).toBeNull();
});
