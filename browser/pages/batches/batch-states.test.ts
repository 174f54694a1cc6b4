/** How the list of batches reads a batch. */
import { expect, it } from "vitest";
import { batchState, canCancel, doneShare } from "./batch-states.ts";

it("counts lines that failed as done, and knows no share before the file was validated", () => {
  expect({
    before: doneShare({ lines_total: 0, lines_completed: 0, lines_failed: 0 }),
    half: doneShare({ lines_total: 10, lines_completed: 4, lines_failed: 1 }),
  }).toEqual({ before: null, half: 0.5 });
});

it("is not green when lines failed, and not running while no line has a slot", () => {
  expect([
    batchState({ status: "completed", lines_failed: 1 }, false),
    batchState({ status: "completed", lines_failed: 0 }, true),
    batchState({ status: "in_progress", lines_failed: 0 }, true),
    batchState({ status: "in_progress", lines_failed: 0 }, false),
  ]).toEqual([
    { word: "withErrors", tone: "warn" },
    { word: "completed", tone: "good" },
    { word: "waits", tone: "warn" },
    { word: "in_progress", tone: "accent" },
  ]);
});

it("lets only batches be cancelled whose lines may still start", () => {
  expect(
    (["validating", "in_progress", "finalizing", "completed", "cancelling"] as const).filter((status) =>
      canCancel({ status }),
    ),
  ).toEqual(["validating", "in_progress"]);
});
