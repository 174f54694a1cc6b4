/** How the list of batches reads a batch. */
import { expect, it } from "vitest";
import { canCancel, doneShare } from "./batch-states.ts";

it("counts lines that failed as done, and knows no share before the file was validated", () => {
  expect({
    before: doneShare({ lines_total: 0, lines_completed: 0, lines_failed: 0 }),
    half: doneShare({ lines_total: 10, lines_completed: 4, lines_failed: 1 }),
  }).toEqual({ before: null, half: 0.5 });
});

it("lets only batches be cancelled whose lines may still start", () => {
  expect(
    (["validating", "in_progress", "finalizing", "completed", "cancelling"] as const).filter((status) =>
      canCancel({ status }),
    ),
  ).toEqual(["validating", "in_progress"]);
});
