/**
 * A vitest reporter. Appends one line of JSON per vitest run to the file that TEST_REPORT names: for each test file its time, how many
 * tests passed, and which failed. The tables at the end of a tier are made from these lines.
 */
import { appendFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

export interface FileReport {
  readonly project: string;
  readonly file: string;
  readonly durationMs: number;
  readonly passed: number;
  readonly failures: readonly Failure[];
}

/** A test that failed, or a file whose set-up did, with the first lines of its error. */
interface Failure {
  readonly title: string;
  readonly error: string;
}

const ERROR_LINES = 12;

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
  const results = [...module.children.allTests()].map((test) => ({ title: test.fullName, ...test.result() }));
  const { duration, collectDuration, setupDuration } = module.diagnostic();
  const ofFile = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
  return {
    project: module.project.name,
    file: module.relativeModuleId,
    durationMs: duration + collectDuration + setupDuration,
    passed: results.filter(({ state }) => state === "passed").length,
    failures: [
      ...results
        .filter(({ state }) => state === "failed")
        .map(({ title, errors }) => ({ title, error: firstLines(errors ?? []) })),
      ...(ofFile.length > 0 ? [{ title: "the file itself", error: firstLines(ofFile) }] : []),
    ],
  };
}

function firstLines(errors: readonly { readonly message: string; readonly stacks?: readonly unknown[] }[]): string {
  return errors
    .flatMap(({ message }) => message.split("\n"))
    .slice(0, ERROR_LINES)
    .join("\n");
}
