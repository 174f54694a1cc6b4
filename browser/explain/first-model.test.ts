import { expect, it } from "vitest";
import { firstModel } from "./first-model.ts";

const model = (name: string, health_status: string) => ({ name, health_status });

it("the first model that responds is offered, else the first", () => {
  const [down, unknown] = [model("a", "unhealthy"), model("b", "unknown")];
  expect(firstModel([down, unknown, model("c", "degraded"), model("d", "healthy")])?.name).toBe("c");
  expect(firstModel([unknown, down])?.name).toBe("b");
  expect(firstModel([])).toBeUndefined();
});
