import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { systemProblem } from "./system-problem.ts";

it("says in words what the system refuses, with its errno", async () => {
  const thrown = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  const refused = await new Promise<Error>((resolve) => connect(1, "127.0.0.1").once("error", resolve));
  expect({
    missing: systemProblem(thrown(() => readFileSync("/nowhere/file"))),
    folder: systemProblem(thrown(() => readFileSync("/"))),
    refused: systemProblem(refused),
    ofSeveral: systemProblem(new AggregateError([refused, new Error("later")])),
  }).toEqual({
    missing: "it does not exist (ENOENT)",
    folder: "it is a folder, not a file (EISDIR)",
    refused: "connection refused (ECONNREFUSED)",
    ofSeveral: "connection refused (ECONNREFUSED)",
  });
});

it.each([
  ["EROFS", -30, "the disk is read-only (EROFS)"],
  ["EACCES", -13, "no permission (EACCES)"],
  ["ENOSPC", -28, "the disk is full (ENOSPC)"],
])("%s has words of its own", (code, errno, said) => {
  expect(systemProblem(Object.assign(new Error(code), { code, errno }))).toBe(said);
});

it.each([
  [new Error("no errno")],
  [Object.assign(new Error("a code of Node"), { code: "ABORT_ERR" })],
  ["text"],
  [null],
])("has nothing to say of what is no error of the system", (error) => {
  expect(systemProblem(error)).toBeNull();
});
