import { expect, test } from "vitest";
import { type CpuProfile, functionTimes } from "./self-time.ts";

const node = (id: number, functionName: string, children: readonly number[] = []): CpuProfile["nodes"][number] => ({
  id,
  callFrame: { functionName, url: functionName.startsWith("(") ? "" : "worker.mjs", lineNumber: 9 },
  children,
});

test("self time comes from own samples; total time includes callees and counts recursion once", () => {
  const profile: CpuProfile = {
    // (root) calls a; a calls b and itself; the inner a calls b
    nodes: [node(1, "(root)", [2]), node(2, "a", [3, 4]), node(3, "b"), node(4, "a", [5]), node(5, "b")],
    samples: [2, 3, 4, 5, 5],
    timeDeltas: [1000, 2000, 3000, 4000, 5000],
  };
  expect(functionTimes(profile)).toEqual([
    { name: "b:10", selfMs: 11, totalMs: 11 },
    { name: "a:10", selfMs: 4, totalMs: 15 },
    { name: "(root)", selfMs: 0, totalMs: 15 },
  ]);
});
