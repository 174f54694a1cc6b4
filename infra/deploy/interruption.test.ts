import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { Interrupted, listenForInterrupts } from "./interruption.ts";

it("aborts at the first interrupt, ignores repeats within a second and exits at the next", () => {
  const source = new EventEmitter();
  const ended: number[] = [];
  let nowMs = 5000;
  const { signal, exitCode } = listenForInterrupts(
    source,
    () => nowMs,
    (code) => ended.push(code),
  );
  expect({ aborted: signal.aborted, exitCode: exitCode() }).toEqual({ aborted: false, exitCode: null });
  source.emit("SIGTERM");
  expect(signal.reason).toBeInstanceOf(Interrupted);
  expect({ exitCode: exitCode(), ended }).toEqual({ exitCode: 143, ended: [] });
  nowMs += 999;
  source.emit("SIGTERM");
  source.emit("SIGINT");
  expect({ exitCode: exitCode(), ended }).toEqual({ exitCode: 143, ended: [] });
  nowMs += 1;
  source.emit("SIGINT");
  expect({ exitCode: exitCode(), ended }).toEqual({ exitCode: 143, ended: [130] });
});

it("leaves no listener behind", () => {
  const source = new EventEmitter();
  listenForInterrupts(
    source,
    () => 0,
    () => {},
  ).close();
  expect(source.eventNames()).toEqual([]);
});
