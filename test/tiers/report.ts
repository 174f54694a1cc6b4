/**
 * A vitest reporter. Appends one line of JSON per vitest run to the file that TEST_REPORT names: for each test file its time and how
 * many tests passed and failed. The table at the end of a tier is made from these lines.
 */
import { appendFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/** One test file of one project. */
export interface FileReport {
  readonly project: string;
  readonly file: string;
  readonly durationMs: number;
  readonly passed: number;
  readonly failed: number;
}

export class ReportToFile implements Reporter {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    appendFileSync(this.#path, `${JSON.stringify(modules.map(reportOf))}\n`);
  }
}

function reportOf(module: TestModule): FileReport {
  const states = [...module.children.allTests()].map((test) => test.result().state);
  const { duration, collectDuration, setupDuration } = module.diagnostic();
  return {
    project: module.project.name,
    file: module.relativeModuleId,
    durationMs: duration + collectDuration + setupDuration,
    passed: states.filter((state) => state === "passed").length,
    failed: states.filter((state) => state === "failed").length + (module.errors().length > 0 ? 1 : 0),
  };
}
